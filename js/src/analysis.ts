/** Everything that the viewer computes from dumps; results are kept, because stages are looked at again and again. */

import type { Breath } from "./codec";
import { cut, diffBySymbol, hunks as hunksOf, type Extent, origins, type Hunk, type Segment, within } from "./diff";
import { followed, type Line } from "./renaming";
import { type Doc, docOf } from "./doc";
import type { Dumps, Stage } from "./dumps";
import { Places } from "./places";
import { betweenNumbers, matcher, type Query } from "./query";
import type { Shape } from "./shape";

export interface Delta {
  readonly gone: number;
  readonly added: number;
}

/** How many diffs are kept: blame needs every neighbouring pair, and the rest is what was looked at last. */
const KEPT = 400;

/** Lines of both texts together beyond which a diff takes so long that it is made for what is looked at only. */
const COUNTED = 300_000;

/** Lines of both texts together, and letters of a line, up to which names are followed from where they are defined. */
const FOLLOWED = 10_000;

export class Analysis {
  private readonly operations = new Map<string, (string | undefined)[]>();
  private readonly segmentsOf = new WeakMap<Int32Array, Segment[]>();
  private readonly blanksOf = new WeakMap<Int32Array, Int32Array>();
  private readonly countsOf = new WeakMap<Int32Array, Map<string, number>>();
  private known: Places | null = null;
  private readonly docs = new WeakMap<Int32Array, Doc>();
  private readonly ids = new WeakMap<Int32Array, number>();
  private readonly diffs = new Map<string, Hunk[]>();
  private readonly deltas = new Map<string, Delta>();
  private nextId = 0;

  /** Replaced by dumps that go on from those known: their table begins with the lines known. */
  constructor(public dumps: Dumps) {}

  text(id: number): string {
    return this.dumps.table[id] ?? "";
  }

  /** The lines as CodeMirror keeps them; neighbouring comparisons share one side. */
  doc(lines: Int32Array): Doc {
    let doc = this.docs.get(lines);
    if (!doc) this.docs.set(lines, (doc = docOf(Array.from(lines, (id) => this.dumps.table[id]!))));
    return doc;
  }

  /** The symbol that a line defines, or "". */
  symbolOf = (id: number): string => this.shape(id).symbolOf(this.text(id));

  /** The line without the names that a pass may renumber. */
  blankOf(id: number): string {
    return this.shape(id).blankOf(this.text(id));
  }

  private shape(id: number): Shape {
    return this.dumps.shapes[this.dumps.shapeOf[id]!]!;
  }

  segments(stage: Stage): Segment[] {
    let segments = this.segmentsOf.get(stage.lines);
    if (!segments) this.segmentsOf.set(stage.lines, (segments = cut(stage.lines, this.symbolOf)));
    return segments;
  }

  /** The function of a stage with this name, or all of it where no name is given. */
  partOf(stage: Stage, symbol: string): Segment {
    if (!symbol) return { name: "", from: 0, to: stage.lines.length };
    return this.segments(stage).find(({ name }) => name === symbol) ?? { name: "", from: 0, to: 0 };
  }

  /** What lines came from. */
  get places(): Places {
    if (this.known?.dumps !== this.dumps) this.known = new Places(this.dumps);
    return this.known;
  }

  /** The lines with renumbered names blanked, as numbers of their own. */
  blanked(lines: Int32Array): Int32Array {
    let result = this.blanksOf.get(lines);
    if (!result) {
      const { blanked } = this.dumps;
      this.blanksOf.set(lines, (result = lines.map((id) => blanked[id]!)));
    }
    return result;
  }

  /** Do the long parts of showing two stages one by one, so that the page need not wait for all of them at once. */
  async prepare(left: Stage, right: Stage, breath: Breath): Promise<void> {
    for (const stage of new Set([left, right])) {
      this.segments(stage);
      await breath.take();
      this.doc(stage.lines);
      await breath.take();
      this.blanked(stage.lines);
      await breath.take();
    }
  }

  diff(left: Stage, right: Stage, ignoreRenumbering: boolean): Hunk[] {
    if (left.lines === right.lines) return [];
    const key = this.key(left, right, ignoreRenumbering);
    let hunks = this.diffs.get(key);
    if (!hunks) {
      const [a, b] = ignoreRenumbering
        ? [this.blanked(left.lines), this.blanked(right.lines)]
        : [left.lines, right.lines];
      hunks = diffBySymbol(a, b, this.segments(left), this.segments(right));
      if (ignoreRenumbering && this.follows(left, right)) hunks = this.followed(hunks, left, right);
      this.diffs.set(key, hunks);
      if (this.diffs.size > KEPT) this.diffs.delete(this.diffs.keys().next().value!);
    }
    return hunks;
  }

  /** Whether lines that differ in names only are known to be renumbered. */
  follows(left: Stage, right: Stage): boolean {
    const short = (id: number): boolean => this.text(id).length <= FOLLOWED;
    return left.lines.length + right.lines.length <= FOLLOWED && left.lines.every(short) && right.lines.every(short);
  }

  /** The hunks, and the lines between them whose names are others rather than renumbered. */
  private followed(found: readonly Hunk[], left: Stage, right: Stage): Hunk[] {
    const known = new Map<number, Line>();
    const line = (id: number): Line => {
      let names = known.get(id);
      if (!names) known.set(id, (names = this.namesOf(id)));
      return names;
    };
    const changed = followed(found, left.lines, right.lines, line);
    return hunksOf(changed.left, changed.right);
  }

  private key(left: Stage, right: Stage, ignoreRenumbering: boolean): string {
    return `${this.id(left.lines)} ${this.id(right.lines)} ${ignoreRenumbering}`;
  }

  private id(lines: Int32Array): number {
    let id = this.ids.get(lines);
    if (id === undefined) this.ids.set(lines, (id = this.nextId++));
    return id;
  }

  /** The part of a stage that another is compared with: of a module beside one of its functions, that function. */
  beside(left: Stage, right: Stage): Segment {
    const all = { name: "", from: 0, to: left.lines.length };
    if (!right.part || left.part === right.part || left.lines === right.lines) return all;
    const [shown, ...others] = this.segments(right).filter(({ name }) => name);
    if (!shown || others.length > 0) return all;
    return this.segments(left).find(({ name }) => name === shown.name) ?? all;
  }

  /** The hunks of what is shown of two stages: all of the right, and of the left what it is compared with. */
  shown(left: Stage, right: Stage, ignoreRenumbering: boolean): readonly Hunk[] {
    const found = this.diff(left, right, ignoreRenumbering);
    const part = this.beside(left, right);
    if (part.to - part.from === left.lines.length) return found;
    return within(found, part, { from: 0, to: right.lines.length });
  }

  /** Lines that went and came, renumbering apart: those of the diff. null: too long to be counted unasked. */
  delta(left: Stage, right: Stage): Delta | null {
    if (left.lines === right.lines) return { gone: 0, added: 0 };
    const key = `${this.key(left, right, true)} ${left.part} ${right.part}`;
    let delta = this.deltas.get(key);
    if (!delta) {
      if (left.lines.length + right.lines.length > COUNTED && !this.diffs.has(this.key(left, right, true))) return null;
      this.deltas.set(key, (delta = sum(this.shown(left, right, true))));
    }
    return delta;
  }

  /** The operation on a line, in the syntax of a stage, or "". */
  operationOf(id: number, syntax: string): string {
    let known = this.operations.get(syntax);
    if (!known) this.operations.set(syntax, (known = []));
    return (known[id] ??= this.shape(id).operationOf(this.text(id), syntax));
  }

  /** The names on a line that a pass may renumber. */
  namesOf(id: number): Line {
    return this.shape(id).namesOf(this.text(id));
  }

  /** How often each operation occurs, in a part of a stage or in all of it. */
  counts(stage: Stage, { from, to }: Extent = { from: 0, to: stage.lines.length }): ReadonlyMap<string, number> {
    const all = from === 0 && to === stage.lines.length;
    const known = all && this.countsOf.get(stage.lines);
    if (known) return known;
    const counts = new Map<string, number>();
    for (let i = from; i < to; i++) {
      const op = this.operationOf(stage.lines[i]!, stage.syntax);
      if (op) counts.set(op, (counts.get(op) ?? 0) + 1);
    }
    if (all) this.countsOf.set(stage.lines, counts);
    return counts;
  }

  /** How many operations of each dialect a stage has, most first. */
  dialects(stage: Stage): [string, number][] {
    const sums = new Map<string, number>();
    for (const [op, count] of this.counts(stage)) sums.set(dialect(op), (sums.get(dialect(op)) ?? 0) + count);
    return [...sums].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  }

  /** For each line of the table, 1 when the query occurs in it. */
  matching(query: Query): Uint8Array {
    const { table, shapes, shapeOf } = this.dumps;
    const find = matcher(query);
    const found = new Uint8Array(table.length);
    if (!betweenNumbers(query)) {
      for (let i = 0; i < found.length; i++) if (find(table[i]!)) found[i] = 1;
      return found;
    }
    // Then it is the same in all lines of a shape.
    const inShape = shapes.map(({ pieces }) => pieces.some((piece) => find(piece)));
    for (let i = 0; i < found.length; i++) if (inShape[shapeOf[i]!]) found[i] = 1;
    return found;
  }

  /** For each line of a stage, the line of an earlier stage that it was, renumbering apart, or -1. */
  origins(left: Stage, right: Stage): Int32Array {
    return origins(this.diff(left, right, true), right.lines.length);
  }
}

/** How many lines went and came. */
export function sum(hunks: readonly Hunk[]): Delta {
  let [gone, added] = [0, 0];
  for (const { a0, a1, b0, b1 } of hunks) [gone, added] = [gone + a1 - a0, added + b1 - b0];
  return { gone, added };
}

/** The dialect of an operation; for languages without dialects, the operation up to its first dot. */
export function dialect(op: string): string {
  const dot = op.indexOf(".");
  return dot < 0 ? op : op.slice(0, dot);
}
