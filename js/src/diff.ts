/**
 * Line diff on integers: Myers' O(ND) in linear space ("An O(ND) Difference Algorithm and Its Variations", 1986),
 * with the two shortcuts that git's xdiff takes: lines that the other side lacks are set aside first, and beyond
 * `cap` edits the furthest-reaching path is taken for good. irwidget/views/diff.py has the same, step by step;
 * tests/views/test_diff.py holds the two to the same hunks.
 */

/** Lines [a0, a1) of the left became lines [b0, b1) of the right. */
export interface Hunk {
  readonly a0: number;
  readonly a1: number;
  readonly b0: number;
  readonly b1: number;
}

/** Lines [from, to) of a dump. */
export interface Extent {
  readonly from: number;
  readonly to: number;
}

/** A top-level symbol and the lines that belong to it. */
export interface Segment extends Extent {
  readonly name: string;
}

/** Cut a dump at the lines that define symbols; what comes before the first is the segment "". */
export function cut(lines: Int32Array, symbolOf: (id: number) => string): Segment[] {
  const segments: Segment[] = [];
  let name = "";
  let from = 0;
  for (let i = 0; i < lines.length; i++) {
    const symbol = symbolOf(lines[i]!);
    if (!symbol) continue;
    if (i > from) segments.push({ name, from, to: i });
    name = symbol;
    from = i;
  }
  segments.push({ name, from, to: lines.length });
  return segments;
}

/** Segments longer than this are diffed with a cap. */
const LONG = 3000;
const CAP = 256;
const FAR = 0x7fffffff;

class Differ {
  private readonly forward: Int32Array;
  private readonly backward: Int32Array;
  private readonly origin: number;

  constructor(
    private readonly a: Int32Array,
    private readonly b: Int32Array,
    private readonly cap: number,
    private readonly mark: (side: 0 | 1, from: number, to: number) => void,
  ) {
    this.origin = b.length + 2;
    this.forward = new Int32Array(a.length + b.length + 5);
    this.backward = new Int32Array(a.length + b.length + 5);
  }

  run(a0: number, a1: number, b0: number, b1: number): void {
    const { a, b } = this;
    for (;;) {
      while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) (a0++, b0++);
      while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]) (a1--, b1--);
      if (a0 === a1 || b0 === b1) break;
      const [x, y] = this.split(a0, a1, b0, b1);
      if ((x === a0 && y === b0) || (x === a1 && y === b1)) break;
      this.run(a0, x, b0, y);
      a0 = x;
      b0 = y;
    }
    if (a0 < a1) this.mark(0, a0, a1);
    if (b0 < b1) this.mark(1, b0, b1);
  }

  /** A point on a shortest path (on a good one, beyond the cap). Diagonals are numbered x - y. */
  private split(a0: number, a1: number, b0: number, b1: number): [number, number] {
    const { a, b, forward, backward, origin } = this;
    const low = a0 - b1;
    const high = a1 - b0;
    const start = a0 - b0;
    const end = a1 - b1;
    const odd = ((start - end) & 1) !== 0;
    let [fmin, fmax, bmin, bmax] = [start, start, end, end];
    forward[origin + start] = a0;
    backward[origin + end] = a1;
    for (let cost = 1; ; cost++) {
      if (fmin > low) forward[origin + --fmin - 1] = -1;
      else fmin++;
      if (fmax < high) forward[origin + ++fmax + 1] = -1;
      else fmax--;
      for (let d = fmax; d >= fmin; d -= 2) {
        const k = origin + d;
        let x = forward[k - 1]! >= forward[k + 1]! ? forward[k - 1]! + 1 : forward[k + 1]!;
        let y = x - d;
        while (x < a1 && y < b1 && a[x] === b[y]) (x++, y++);
        forward[k] = x;
        if (odd && bmin <= d && d <= bmax && backward[k]! <= x) return [x, y];
      }
      if (bmin > low) backward[origin + --bmin - 1] = FAR;
      else bmin++;
      if (bmax < high) backward[origin + ++bmax + 1] = FAR;
      else bmax--;
      for (let d = bmax; d >= bmin; d -= 2) {
        const k = origin + d;
        let x = backward[k - 1]! < backward[k + 1]! ? backward[k - 1]! : backward[k + 1]! - 1;
        let y = x - d;
        while (x > a0 && y > b0 && a[x - 1] === b[y - 1]) (x--, y--);
        backward[k] = x;
        if (!odd && fmin <= d && d <= fmax && x <= forward[k]!) return [x, y];
      }
      if (cost >= this.cap) return this.furthest([a0, a1, b0, b1], [fmin, fmax], [bmin, bmax]);
    }
  }

  private furthest(
    [a0, a1, b0, b1]: [number, number, number, number],
    [fmin, fmax]: [number, number],
    [bmin, bmax]: [number, number],
  ): [number, number] {
    let ahead = -1;
    let aheadX = a0;
    for (let d = fmax; d >= fmin; d -= 2) {
      const x = Math.min(this.forward[this.origin + d]!, a1, b1 + d);
      if (x - a0 + (x - d) - b0 > ahead) [ahead, aheadX] = [x - a0 + (x - d) - b0, d];
    }
    let behind = -1;
    let behindX = a1;
    for (let d = bmax; d >= bmin; d -= 2) {
      const x = Math.max(this.backward[this.origin + d]!, a0, b0 + d);
      if (a1 - x + b1 - (x - d) > behind) [behind, behindX] = [a1 - x + b1 - (x - d), d];
    }
    const d = ahead >= behind ? aheadX : behindX;
    const x =
      ahead >= behind
        ? Math.min(this.forward[this.origin + d]!, a1, b1 + d)
        : Math.max(this.backward[this.origin + d]!, a0, b0 + d);
    return [x, x - d];
  }
}

/** A set of line numbers that is emptied in no time: a number is in it when its entry is this round's. */
let marks = new Int32Array(1024);
let round = 0;

/** Take up the numbers of `lines`; tells afterwards whether a number is among them. */
export function among(lines: Int32Array): (line: number) => boolean {
  const current = ++round;
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!;
    if (line >= marks.length) {
      const grown = new Int32Array(Math.max(line + 1, marks.length * 2));
      grown.set(marks);
      marks = grown;
    }
    marks[line] = current;
  }
  return (line) => marks[line] === current;
}

/** Set aside the lines that the other side lacks: they are changed in any case. */
function shared(lines: Int32Array, other: Int32Array, changed: Uint8Array): Int32Array {
  const there = among(other);
  const kept = new Int32Array(lines.length);
  let count = 0;
  for (let i = 0; i < lines.length; i++) {
    if (there(lines[i]!)) kept[count++] = i;
    else changed[i] = 1;
  }
  return kept.subarray(0, count);
}

function diffSegment(a: Int32Array, b: Int32Array, changedA: Uint8Array, changedB: Uint8Array, cap: number): void {
  let head = 0;
  let tailA = a.length;
  let tailB = b.length;
  while (head < tailA && head < tailB && a[head] === b[head]) head++;
  while (tailA > head && tailB > head && a[tailA - 1] === b[tailB - 1]) (tailA--, tailB--);
  if (head === tailA) return void changedB.fill(1, head, tailB);
  if (head === tailB) return void changedA.fill(1, head, tailA);
  const middleA = a.subarray(head, tailA);
  const middleB = b.subarray(head, tailB);
  const flags: [Uint8Array, Uint8Array] = [changedA.subarray(head, tailA), changedB.subarray(head, tailB)];
  const kept: [Int32Array, Int32Array] = [shared(middleA, middleB, flags[0]), shared(middleB, middleA, flags[1])];
  const differ = new Differ(
    kept[0].map((i) => middleA[i]!),
    kept[1].map((i) => middleB[i]!),
    cap,
    (side, from, to) => {
      for (let i = from; i < to; i++) flags[side][kept[side][i]!] = 1;
    },
  );
  differ.run(0, kept[0].length, 0, kept[1].length);
}

/** What has changed on each side, as hunks. */
export function hunks(changedA: Uint8Array, changedB: Uint8Array): Hunk[] {
  const found: Hunk[] = [];
  let i = 0;
  let j = 0;
  while (i < changedA.length || j < changedB.length) {
    const a0 = i;
    const b0 = j;
    while (i < changedA.length && changedA[i]) i++;
    while (j < changedB.length && changedB[j]) j++;
    if (i > a0 || j > b0) found.push({ a0, a1: i, b0, b1: j });
    while (i < changedA.length && j < changedB.length && !changedA[i] && !changedB[j]) (i++, j++);
  }
  return found;
}

/** Diff two lists of line numbers. `cap` bounds the edits looked for; without it the result is minimal. */
export function diffLines(a: Int32Array, b: Int32Array, cap = FAR): Hunk[] {
  const changedA = new Uint8Array(a.length);
  const changedB = new Uint8Array(b.length);
  diffSegment(a, b, changedA, changedB, cap);
  return hunks(changedA, changedB);
}

/** Pair the segments of the two sides by name, in order, and diff each pair by itself. */
export function diffBySymbol(a: Int32Array, b: Int32Array, cutA: readonly Segment[], cutB: readonly Segment[]): Hunk[] {
  const names = new Map<string, number>();
  const number = (segment: Segment): number => {
    const known = names.get(segment.name);
    if (known !== undefined) return known;
    names.set(segment.name, names.size);
    return names.size - 1;
  };
  const changedA = new Uint8Array(a.length);
  const changedB = new Uint8Array(b.length);
  const pair = (left: Segment | undefined, right: Segment | undefined): void => {
    const [from, to] = [left?.from ?? 0, left?.to ?? 0];
    const [start, end] = [right?.from ?? 0, right?.to ?? 0];
    const cap = Math.max(to - from, end - start) > LONG ? CAP : FAR;
    diffSegment(
      a.subarray(from, to),
      b.subarray(start, end),
      changedA.subarray(from, to),
      changedB.subarray(start, end),
      cap,
    );
  };
  let i = 0;
  let j = 0;
  const both = (until: number): void => {
    while (i < until) pair(cutA[i++], cutB[j++]);
  };
  for (const hunk of diffLines(Int32Array.from(cutA, number), Int32Array.from(cutB, number))) {
    both(hunk.a0);
    // One symbol in the place of one other: it was probably renamed.
    const renamed = hunk.a1 - hunk.a0 === 1 && hunk.b1 - hunk.b0 === 1;
    if (renamed) both(hunk.a1);
    while (i < hunk.a1) pair(cutA[i++], undefined);
    while (j < hunk.b1) pair(undefined, cutB[j++]);
  }
  both(cutA.length);
  // What closes the module belongs to no symbol, though it stands in the last one's segment.
  for (let [x, y] = [a.length - 1, b.length - 1]; changedA[x] && changedB[y] && a[x] === b[y]; x--, y--)
    changedA[x] = changedB[y] = 0;
  return hunks(changedA, changedB);
}

/** What of the hunks is in a part of each side, counted from the first lines of these. */
export function within(hunks: readonly Hunk[], left: Extent, right: Extent): Hunk[] {
  const clamped = (line: number, { from, to }: Extent): number => Math.min(Math.max(line, from), to) - from;
  return hunks
    .map(({ a0, a1, b0, b1 }) => ({
      a0: clamped(a0, left),
      a1: clamped(a1, left),
      b0: clamped(b0, right),
      b1: clamped(b1, right),
    }))
    .filter(({ a0, a1, b0, b1 }) => a1 > a0 || b1 > b0);
}

/** For each line of the right, the line of the left that it was, or -1. */
export function origins(found: readonly Hunk[], length: number): Int32Array {
  const from = new Int32Array(length);
  let i = 0;
  let j = 0;
  for (const hunk of [...found, { a0: FAR, a1: FAR, b0: length, b1: length }]) {
    while (j < hunk.b0) from[j++] = i++;
    from.fill(-1, hunk.b0, hunk.b1);
    i = hunk.a1;
    j = hunk.b1;
  }
  return from;
}
