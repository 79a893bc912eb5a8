/** What `irwidget.spyre.picture` sends, and what is worked out from it: nothing here draws. */

import { readJson } from "../gzip";
import type { SpyreBuffer, SpyreOp, SpyreProgram, SpyreTensor, SpyreTexts, SpyreTile } from "../schema";

const VERSION = 2;

export async function unpack<T>(bytes: unknown): Promise<T | null> {
  const view = bytes as DataView<ArrayBuffer> | Uint8Array<ArrayBuffer> | string | null;
  if (!view || (typeof view === "string" ? view.length : view.byteLength) === 0) return null;
  // An offline page has bytes in base64.
  if (typeof view === "string") return unpack<T>(Uint8Array.from(atob(view), (char) => char.charCodeAt(0)));
  return readJson<T>(view);
}

/** What is sent of a program: tiles and slices by number, each in `shared` once. */
interface Sent {
  readonly shared: readonly unknown[];
  readonly ops: { slices: unknown; tensors: { tiles: unknown }[] }[];
}

/** Put what is shared where it belongs. */
export function whole(made: SpyreProgram): SpyreProgram {
  const { shared, ops } = made as unknown as Sent;
  for (const op of ops) {
    op.slices = shared[op.slices as number];
    for (const tensor of op.tensors) tensor.tiles = shared[tensor.tiles as number];
  }
  return made;
}

/** The texts, their SuperDSC files put together again. */
export async function texts(bytes: unknown): Promise<SpyreTexts | null> {
  const made = await unpack<SpyreTexts>(bytes);
  if (!made) return null;
  const { pieces } = made as unknown as { pieces: readonly string[] };
  for (const file of made.files as unknown as { text: unknown }[])
    file.text = (file.text as number[]).map((piece) => pieces[piece]).join("");
  return made;
}

export async function program(bytes: unknown): Promise<SpyreProgram> {
  const made = await unpack<SpyreProgram>(bytes);
  if (!made) throw new Error("There is no program: run the cell again.");
  if (made.version !== VERSION)
    throw new Error(`This program has format ${made.version} and the view reads ${VERSION}: run the cell again.`);
  return whole(made);
}

/** Which iteration of each loop, outermost first, a number among all of them is. */
export function iterationOf(op: SpyreOp, number: number): number[] {
  const found: number[] = [];
  for (const { count } of [...op.loops].reverse()) {
    found.unshift(number % count);
    number = Math.floor(number / count);
  }
  return found;
}

export function iterations(op: SpyreOp): number {
  return op.loops.reduce((all, { count }) => all * count, 1);
}

export function tileOf(tensor: SpyreTensor, core: number): SpyreTile | undefined {
  return tensor.tiles.find(({ cores }) => cores.includes(core));
}

/** Where a tile is in an iteration of the loops around its op. */
export function at(
  tensor: SpyreTensor,
  tile: SpyreTile,
  iteration: readonly number[],
): { box: [number, number][]; address: number } {
  const box = tile.box.map(([low, high], dim): [number, number] => {
    const shift = iteration.reduce((sum, i, level) => sum + i * (tensor.shifts[level]?.[dim] ?? 0), 0);
    return [low + shift, high + shift];
  });
  return {
    box,
    address: tile.address + iteration.reduce((sum, i, level) => sum + i * (tensor.advances[level] ?? 0), 0),
  };
}

/** The host element in a lane of a stick; null where there is padding. */
export function elementAt(buffer: SpyreBuffer, stick: number, lane: number): number[] | null {
  const sizes = buffer.device_size;
  const position = new Array<number>(sizes.length).fill(0);
  position[sizes.length - 1] = lane;
  for (let i = sizes.length - 2, rest = stick; i >= 0; i--) {
    position[i] = rest % sizes[i]!;
    rest = Math.floor(rest / sizes[i]!);
  }
  const found = buffer.size.map(() => 0);
  for (const [i, stride] of buffer.stride_map.entries()) {
    const where = position[i]!;
    if (where === 0) continue;
    const dim = dimOf(buffer, stride);
    if (dim < 0) return null;
    found[dim]! += (where * stride) / buffer.stride[dim]!;
  }
  return found.every((n, dim) => n < buffer.size[dim]!) ? found : null;
}

/** The host dim that a step of so many host elements moves along: the outermost whose stride is not larger. */
function dimOf(buffer: SpyreBuffer, step: number): number {
  let best = -1;
  for (const [dim, stride] of buffer.stride.entries()) {
    if (buffer.size[dim]! > 1 && stride <= step && step % stride === 0 && (best < 0 || stride > buffer.stride[best]!))
      best = dim;
  }
  return best;
}

/** The host dim that runs inside the sticks; -1 when none does. */
export function stickDim(buffer: SpyreBuffer): number {
  const inner = buffer.stride_map.at(-1)!;
  return inner > 0 ? buffer.stride.findIndex((stride, dim) => buffer.size[dim]! > 1 && stride === inner) : -1;
}

export function bytes(n: number): string {
  for (const [unit, step] of [
    ["GiB", 2 ** 30],
    ["MiB", 2 ** 20],
    ["KiB", 2 ** 10],
  ] as const) {
    if (n >= step) return `${Number((n / step).toPrecision(4))} ${unit}`;
  }
  return `${n} B`;
}

export function hex(n: number): string {
  return `0x${n.toString(16)}`;
}

export function span([low, high]: readonly [number, number]): string {
  return low === high ? String(low) : `${low}–${high}`;
}

export function splitsOf(op: SpyreOp): string {
  return (
    op.dims
      .filter(({ split }) => split > 1)
      .map(({ label, split }) => `${label}/${split}`)
      .join(" ") || "–"
  );
}

/** Which slice of each split dim a core has. */
export function slicesOf(op: SpyreOp, core: number): string {
  const slices = op.slices[core];
  return slices
    ? op.dims
        .map(({ label, split }, i) => (split > 1 ? `${label} ${slices[i]} of ${split}` : ""))
        .filter(Boolean)
        .join(", ")
    : "idle";
}

export interface Colour {
  hue: "a" | "b" | "n";
  /** 0 light to 1 strong. */
  depth: number;
}

/** The colour of each core: two hues for the axis with fewer slices, lightness for the others. */
export function coreColours(op: SpyreOp): Colour[] {
  const axes = op.dims.map((dim, i) => ({ i, split: dim.split })).filter(({ split }) => split > 1);
  axes.sort((x, y) => x.split - y.split);
  const first = axes[0];
  return op.slices.map((slices) => {
    if (!first) return { hue: "a", depth: 0.5 };
    if (axes.length === 1) {
      const half = Math.ceil(first.split / 2);
      const slice = slices[first.i]!;
      return { hue: slice < half ? "a" : "b", depth: half > 1 ? (slice % half) / (half - 1) : 0.5 };
    }
    let index = 0;
    let count = 1;
    for (const { i, split } of axes.slice(1)) {
      index = index * split + slices[i]!;
      count *= split;
    }
    return { hue: slices[first.i]! % 2 ? "b" : "a", depth: count > 1 ? index / (count - 1) : 0.5 };
  });
}

/** Of a tile: that of its core; of several cores, their common hue, or none. */
export function tileColour(tile: SpyreTile, colours: readonly Colour[]): Colour {
  const mine = tile.cores.map((core) => colours[core]!).filter(Boolean);
  const depth = mine.reduce((sum, colour) => sum + colour.depth, 0) / Math.max(1, mine.length);
  const hue = mine[0]?.hue ?? "n";
  return { hue: mine.every((colour) => colour.hue === hue) ? hue : "n", depth };
}
