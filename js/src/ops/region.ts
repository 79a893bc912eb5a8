/** The operations directly inside of one as a graph: who uses what whom has made. */

import type { Analysis } from "../analysis";
import type { Stage } from "../dumps";
import { type Op, within } from "./outline";

export interface Region {
  /** Numbers of operations. */
  readonly nodes: readonly number[];
  /** From the position of a node that makes a value to that of one that uses it, or holds one that does. */
  readonly edges: readonly (readonly [from: number, to: number])[];
}

export function region(analysis: Analysis, stage: Stage, ops: readonly Op[], parent: number): Region {
  const nodes = within(ops, parent);
  const at = new Int32Array(ops.length).fill(-1);
  for (const [position, number] of nodes.entries()) at.fill(position, number, ops[number]!.end);
  /** Name -> the node that makes it; names are used again where one scope has ended, so the last one counts. */
  const made = new Map<string, number>();
  const edges = new Set<number>();
  const awaited: [name: string, user: number][] = [];
  const edge = (from: number, to: number): void => {
    if (from >= 0 && from !== to) edges.add(from * nodes.length + to);
  };
  let from = parent < 0 ? 0 : parent + 1;
  const end = parent < 0 ? ops.length : ops[parent]!.end;
  const last = end < ops.length ? ops[end]!.line : stage.lines.length;
  for (let line = ops[from]?.line ?? last; line < last; line++) {
    while (from + 1 < end && ops[from + 1]!.line <= line) from++;
    const user = at[from]!;
    const { names } = analysis.namesOf(stage.lines[line]!);
    for (const { text, defined } of names) {
      if (!text.startsWith("%") || defined) continue;
      const name = text.replace(/#\d+$/, "");
      const maker = made.get(name);
      if (maker === undefined) awaited.push([name, user]);
      else edge(maker, user);
    }
    // What a block takes nobody here has made.
    const maker = ops[from]!.line === line ? user : -1;
    for (const { text, defined } of names) if (defined && text.startsWith("%")) made.set(text, maker);
  }
  // A block may stand before the one that it comes after.
  for (const [name, user] of awaited) edge(made.get(name) ?? -1, user);
  return { nodes, edges: [...edges].map((key) => [Math.floor(key / nodes.length), key % nodes.length] as const) };
}

export interface Placed {
  readonly x: Float32Array;
  readonly y: Float32Array;
  readonly width: number;
  readonly height: number;
}

/** Pixels of a node, and between two. */
export const BOX = { width: 168, height: 30, across: 14, down: 30 } as const;
const SWEEPS = 6;
/** Nodes of one layer that are put side by side before the layer goes on below. */
const ABREAST = 60;

/** Put nodes into layers, each below those that it uses, near to these. */
export function placed(count: number, edges: Region["edges"]): Placed {
  const [before, after] = [lists(count), lists(count)];
  for (const [from, to] of edges) {
    // What comes earlier in the text is above, so that there is no way around in a circle.
    const [a, b] = from < to ? [from, to] : [to, from];
    after[a]!.push(b);
    before[b]!.push(a);
  }
  const layer = new Int32Array(count);
  for (let i = 0; i < count; i++) for (const j of before[i]!) layer[i] = Math.max(layer[i]!, layer[j]! + 1);
  // Constants stand above who uses them, not all at the top.
  for (let i = count - 1; i >= 0; i--) {
    if (before[i]!.length === 0 && after[i]!.length > 0) layer[i] = Math.min(...after[i]!.map((j) => layer[j]!)) - 1;
  }
  const layers: number[][] = lists(layer.reduce((most, one) => Math.max(most, one), 0) + 1);
  for (let i = 0; i < count; i++) layers[layer[i]!]!.push(i);
  const order = new Float32Array(count);
  const number = (nodes: readonly number[]): void => nodes.forEach((node, i) => (order[node] = i - nodes.length / 2));
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const down = sweep % 2 === 0;
    const near = down ? before : after;
    const middle = new Float32Array(count);
    for (const nodes of down ? layers : [...layers].reverse()) {
      for (const node of nodes) {
        const there = near[node]!;
        middle[node] = there.length > 0 ? there.reduce((sum, j) => sum + order[j]!, 0) / there.length : order[node]!;
      }
      nodes.sort((a, b) => middle[a]! - middle[b]!);
      number(nodes);
    }
  }
  const [x, y] = [new Float32Array(count), new Float32Array(count)];
  let [top, width] = [0, 0];
  for (const nodes of layers) {
    for (let from = 0; from < nodes.length; from += ABREAST) {
      const row = nodes.slice(from, from + ABREAST);
      const wide = row.length * (BOX.width + BOX.across) - BOX.across;
      width = Math.max(width, wide);
      row.forEach((node, i) => {
        x[node] = i * (BOX.width + BOX.across) - wide / 2;
        y[node] = top;
      });
      top += BOX.height + BOX.down;
    }
  }
  for (let i = 0; i < count; i++) x[i]! += width / 2;
  return { x, y, width, height: Math.max(0, top - BOX.down) };
}

function lists(count: number): number[][] {
  return Array.from({ length: count }, () => []);
}
