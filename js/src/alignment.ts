/** Puts the lines of two dumps side by side, or into one column: what is padded, what is folded, what has changed. */

import type { Hunk } from "./diff";

export const enum Kind {
  Equal = 0,
  Changed = 1,
  /** Equal apart from names that were renumbered. */
  Renumbered = 2,
}

/** An empty space of `rows` lines after line `after` (-1: at the top). */
export interface Gap {
  readonly after: number;
  readonly rows: number;
}

/** Lines [from, to) that are hidden; `key` is the same on both sides. */
export interface Fold {
  readonly from: number;
  readonly to: number;
  readonly key: number;
}

/** The content of one pane. */
export interface Column {
  /** For each line, its number in the table. */
  readonly lines: Int32Array;
  readonly kinds: Uint8Array;
  /** For each line, its number in the left and in the right dump, or -1. */
  readonly left: Int32Array;
  readonly right: Int32Array;
  /** For each line, the table number of the line it is compared with, or -1. */
  readonly mates: Int32Array;
  readonly gaps: readonly Gap[];
  readonly folds: readonly Fold[];
}

export interface Options {
  /** Lines of context around a change that are never folded; Infinity folds nothing. */
  readonly context: number;
  /** Folds that the reader has opened. */
  readonly open: ReadonlySet<number>;
  /** How many rows a line takes on the screen; absent when lines are not wrapped. */
  readonly rows?: (id: number, side: 0 | 1) => number;
  /** Number of the first line of each side, when only a part is shown. */
  readonly firstLeft: number;
  readonly firstRight: number;
}

/** Fewer lines than this are not worth folding. */
const WORTH_FOLDING = 6;

function range(length: number, first: number): Int32Array {
  const numbers = new Int32Array(length);
  for (let i = 0; i < length; i++) numbers[i] = first + i;
  return numbers;
}

/** One dump, by itself. */
export function alone(lines: Int32Array, first: number, side: "left" | "right" = "right"): Column {
  return column(lines, first, side);
}

/** Stretches [a, a + length) = [b, b + length) between hunks. */
function* stretches(hunks: readonly Hunk[], length: number): Generator<[a: number, b: number, length: number]> {
  let a = 0;
  let b = 0;
  for (const hunk of hunks) {
    if (hunk.a0 > a) yield [a, b, hunk.a0 - a];
    [a, b] = [hunk.a1, hunk.b1];
  }
  if (length > a) yield [a, b, length - a];
}

export function sideBySide(
  a: Int32Array,
  b: Int32Array,
  hunks: readonly Hunk[],
  options: Options,
): [left: Column, right: Column] {
  const [left, right] = [column(a, options.firstLeft, "left"), column(b, options.firstRight, "right")];
  const rows = (ids: Int32Array, side: 0 | 1, from: number, to: number): number => {
    if (!options.rows) return to - from;
    let sum = 0;
    for (let i = from; i < to; i++) sum += options.rows(ids[i]!, side);
    return sum;
  };
  const pad = (after: [number, number], difference: number): void => {
    if (difference < 0) left.gaps.push({ after: after[0], rows: -difference });
    if (difference > 0) right.gaps.push({ after: after[1], rows: difference });
  };
  for (const [fromA, fromB, length] of stretches(hunks, a.length)) {
    const folded = folds(fromA, fromB, length, a.length, b.length, hunks.length > 0, options);
    if (folded) {
      left.folds.push({ from: fromA + folded[0], to: fromA + folded[1], key: fromB + folded[0] });
      right.folds.push({ from: fromB + folded[0], to: fromB + folded[1], key: fromB + folded[0] });
    }
    for (let i = 0; i < length; i++) {
      if (a[fromA + i] !== b[fromB + i]) {
        left.kinds[fromA + i] = Kind.Renumbered;
        right.kinds[fromB + i] = Kind.Renumbered;
      }
      left.mates[fromA + i] = b[fromB + i]!;
      right.mates[fromB + i] = a[fromA + i]!;
      if (options.rows && !(folded && i >= folded[0] && i < folded[1])) {
        pad([fromA + i, fromB + i], options.rows(a[fromA + i]!, 0) - options.rows(b[fromB + i]!, 1));
      }
    }
  }
  for (const { a0, a1, b0, b1 } of hunks) {
    left.kinds.fill(Kind.Changed, a0, a1);
    right.kinds.fill(Kind.Changed, b0, b1);
    for (let i = 0; i < Math.min(a1 - a0, b1 - b0); i++) {
      left.mates[a0 + i] = b[b0 + i]!;
      right.mates[b0 + i] = a[a0 + i]!;
    }
    pad([a1 - 1, b1 - 1], rows(a, 0, a0, a1) - rows(b, 1, b0, b1));
  }
  const byPlace = (x: Gap, y: Gap): number => x.after - y.after;
  left.gaps.sort(byPlace);
  right.gaps.sort(byPlace);
  return [left, right];
}

function column(lines: Int32Array, first: number, side: "left" | "right") {
  const none = new Int32Array(lines.length).fill(-1);
  const numbers = range(lines.length, first);
  return {
    lines,
    kinds: new Uint8Array(lines.length),
    left: side === "left" ? numbers : none,
    right: side === "right" ? numbers : none,
    mates: new Int32Array(lines.length).fill(-1),
    gaps: [] as Gap[],
    folds: [] as Fold[],
  };
}

/** Which part of an equal stretch is hidden, counted from its start. */
function folds(
  fromA: number,
  fromB: number,
  length: number,
  lengthA: number,
  lengthB: number,
  anyChange: boolean,
  options: Options,
): [number, number] | null {
  if (!anyChange) return null;
  const head = fromA === 0 && fromB === 0 ? 0 : options.context;
  const tail = fromA + length === lengthA && fromB + length === lengthB ? 0 : options.context;
  if (length - head - tail < WORTH_FOLDING || options.open.has(fromB + head)) return null;
  return [head, length - tail];
}

/** Both dumps in one column: what went, then what came. */
export function unified(a: Int32Array, b: Int32Array, hunks: readonly Hunk[], options: Options): Column {
  let total = a.length;
  for (const hunk of hunks) total += hunk.b1 - hunk.b0;
  const lines = new Int32Array(total);
  const kinds = new Uint8Array(total);
  const left = new Int32Array(total).fill(-1);
  const right = new Int32Array(total).fill(-1);
  const mates = new Int32Array(total).fill(-1);
  const folded: Fold[] = [];
  let at = 0;
  const copy = (fromA: number, fromB: number, length: number): void => {
    const hidden = folds(fromA, fromB, length, a.length, b.length, hunks.length > 0, options);
    if (hidden) folded.push({ from: at + hidden[0], to: at + hidden[1], key: fromB + hidden[0] });
    for (let i = 0; i < length; i++, at++) {
      lines[at] = b[fromB + i]!;
      left[at] = options.firstLeft + fromA + i;
      right[at] = options.firstRight + fromB + i;
      mates[at] = a[fromA + i]!;
      if (a[fromA + i] !== b[fromB + i]) kinds[at] = Kind.Renumbered;
    }
  };
  let [i, j] = [0, 0];
  for (const { a0, a1, b0, b1 } of hunks) {
    copy(i, j, a0 - i);
    for (i = a0; i < a1; i++, at++) {
      lines[at] = a[i]!;
      left[at] = options.firstLeft + i;
      kinds[at] = Kind.Changed;
      if (i - a0 < b1 - b0) mates[at] = b[b0 + i - a0]!;
    }
    for (j = b0; j < b1; j++, at++) {
      lines[at] = b[j]!;
      right[at] = options.firstRight + j;
      kinds[at] = Kind.Changed;
      if (j - b0 < a1 - a0) mates[at] = a[a0 + j - b0]!;
    }
  }
  copy(i, j, a.length - i);
  return { lines, kinds, left, right, mates, gaps: [], folds: folded };
}
