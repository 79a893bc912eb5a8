import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines, type Hunk } from "../src/diff";
import { alone, type Column, Kind, type Options, sideBySide, unified } from "../src/alignment";

const options: Options = { context: Infinity, open: new Set<number>(), firstLeft: 0, firstRight: 0 };

/** Dumps as a pass changes them, with long stretches that are equal; every third number is a renumbering of another. */
const pair = fc
  .tuple(fc.nat(99), fc.array(fc.record({ at: fc.nat(60), gone: fc.nat(3), added: fc.nat(3) }), { maxLength: 4 }))
  .map(([length, edits]) => {
    const a = Int32Array.from({ length }, (_, i) => 1000 + i);
    const b = [...a].map((line) => (line % 7 === 0 ? line + 10_000 : line));
    for (const [n, { at, gone, added }] of edits.entries()) {
      b.splice(Math.min(at, b.length), gone, ...Array.from({ length: added }, (_, i) => 5000 + 10 * n + i));
    }
    return [a, Int32Array.from(b)] as const;
  });
const blank = (lines: Int32Array): Int32Array => lines.map((line) => line % 10_000);
const compared = ([a, b]: readonly [Int32Array, Int32Array]) => diffLines(blank(a), blank(b));
const contexts = fc.constantFrom(0, 1, 3, Infinity);

/** The rows of a column from top to bottom: lines by number, gaps as ".", folds as one row. */
function rows(column: Column): string[] {
  const shown: string[] = [];
  const gap = (after: number) => {
    for (const { after: at, rows } of column.gaps) if (at === after) for (let i = 0; i < rows; i++) shown.push(".");
  };
  gap(-1);
  for (let i = 0; i < column.lines.length; i++) {
    const fold = column.folds.find(({ from, to }) => i >= from && i < to);
    if (!fold) shown.push(String(column.lines[i]));
    else if (fold.from === i) shown.push(`[${fold.to - fold.from}]`);
    gap(i);
  }
  return shown;
}

/** Which line of the left is beside which of the right, by the hunks alone: equal lines, and those of a hunk in order. */
function beside(
  hunks: readonly Hunk[],
  lengthA: number,
  lengthB: number,
): { equal: [number, number][]; changed: [number, number][] } {
  const equal: [number, number][] = [];
  const changed: [number, number][] = [];
  let [i, j] = [0, 0];
  for (const { a0, a1, b0, b1 } of [...hunks, { a0: lengthA, a1: lengthA, b0: lengthB, b1: lengthB }]) {
    while (i < a0) equal.push([i++, j++]);
    for (let k = 0; a0 + k < a1 && b0 + k < b1; k++) changed.push([a0 + k, b0 + k]);
    [i, j] = [a1, b1];
  }
  return { equal, changed };
}

/** Equal lines that may be hidden, by their distance to the nearest change or end of the dump. */
function hidden(
  hunks: readonly Hunk[],
  equal: readonly [number, number][],
  context: number,
  lengthA: number,
  lengthB: number,
): Set<number> {
  const found = new Set<number>();
  const stretch: [number, number][] = [];
  const close = (): void => {
    const [first, last] = [stretch[0], stretch.at(-1)];
    if (first && last) {
      const head = first[0] === 0 && first[1] === 0 ? 0 : context;
      const tail = last[0] === lengthA - 1 && last[1] === lengthB - 1 ? 0 : context;
      const inside = stretch.slice(head, tail === 0 ? undefined : -tail);
      if (inside.length >= 6) for (const [i] of inside) found.add(i);
    }
    stretch.length = 0;
  };
  if (hunks.length === 0 || context === Infinity) return found;
  for (const [i, j] of equal) {
    const before = stretch.at(-1);
    if (before && (before[0] !== i - 1 || before[1] !== j - 1)) close();
    stretch.push([i, j]);
  }
  close();
  return found;
}

describe("sideBySide", () => {
  it("has all lines of both dumps, equal ones beside each other, and hides what is far from a change", () => {
    fc.assert(
      fc.property(pair, contexts, fc.nat(5), fc.nat(5), ([a, b], context, firstLeft, firstRight) => {
        const hunks = compared([a, b]);
        const [x, y] = sideBySide(a, b, hunks, { ...options, context, firstLeft, firstRight });
        const { equal, changed } = beside(hunks, a.length, b.length);
        expect([x.lines, y.lines]).toEqual([a, b]);
        expect([...x.left]).toEqual([...a.keys()].map((i) => i + firstLeft));
        expect([...y.right]).toEqual([...b.keys()].map((i) => i + firstRight));
        expect([...x.right, ...y.left].every((n) => n === -1)).toBe(true);
        const kinds = (lines: Int32Array) => new Uint8Array(lines.length).fill(Kind.Changed);
        const [kindsX, kindsY] = [kinds(a), kinds(b)];
        const [matesX, matesY] = [a.map(() => -1), b.map(() => -1)];
        for (const [i, j] of equal) kindsX[i] = kindsY[j] = a[i] === b[j] ? Kind.Equal : Kind.Renumbered;
        for (const [i, j] of [...equal, ...changed]) [matesX[i], matesY[j]] = [b[j]!, a[i]!];
        expect([x.kinds, y.kinds, x.mates, y.mates]).toEqual([kindsX, kindsY, matesX, matesY]);
        const folded = (folds: Column["folds"]) =>
          folds.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i));
        const expected = hidden(hunks, equal, context, a.length, b.length);
        expect(folded(x.folds)).toEqual([...expected]);
        expect(folded(y.folds)).toEqual(equal.filter(([i]) => expected.has(i)).map(([, j]) => j));
        expect(x.folds.map(({ key }) => key)).toEqual(y.folds.map(({ from }) => from));
        expect(y.folds.map(({ key }) => key)).toEqual(y.folds.map(({ from }) => from));
        const [left, right] = [rows(x), rows(y)];
        expect(left.length).toBe(right.length);
        for (const [i, j] of equal) {
          if (expected.has(i)) continue;
          expect(left.indexOf(String(a[i])), `line ${a[i]} is beside itself`).toBe(right.indexOf(String(b[j])));
        }
      }),
      { numRuns: 200 },
    );
  });

  it.each([
    ["inserted", [1, 2], [1, 9, 9, 2], ["1", ".", ".", "2"], ["1", "9", "9", "2"]],
    ["at the top", [1, 2], [9, 1, 2], [".", "1", "2"], ["9", "1", "2"]],
    ["at the end", [1, 2, 9], [1, 2], ["1", "2", "9"], ["1", "2", "."]],
    ["replaced", [1, 8, 2], [1, 9, 7, 2], ["1", "8", ".", "2"], ["1", "9", "7", "2"]],
    ["from nothing", [], [1, 2], [".", "."], ["1", "2"]],
  ])("pads what has no counterpart: %s", (_, left, right, shownLeft, shownRight) => {
    const [a, b] = [Int32Array.from(left), Int32Array.from(right)];
    expect(sideBySide(a, b, diffLines(a, b), options).map(rows)).toEqual([shownLeft, shownRight]);
  });

  it("folds the same stretch on both sides, and opens it", () => {
    const equal = Array.from({ length: 30 }, (_, i) => i + 10);
    const [a, b] = [Int32Array.from([1, ...equal, 2]), Int32Array.from([3, 4, ...equal, 5])];
    const hunks = diffLines(a, b);
    const [x, y] = sideBySide(a, b, hunks, { ...options, context: 3 });
    expect(x.folds).toEqual([{ from: 4, to: 28, key: 5 }]);
    expect(y.folds).toEqual([{ from: 5, to: 29, key: 5 }]);
    expect(sideBySide(a, b, hunks, { ...options, context: 3, open: new Set([5]) })[0].folds).toEqual([]);
  });

  it("shows what is before lines that came at the very end", () => {
    const [a, b] = [Int32Array.from({ length: 20 }, (_, i) => i), Int32Array.from({ length: 21 }, (_, i) => i)];
    const fold = (context: number) => sideBySide(a, b, diffLines(a, b), { ...options, context })[1].folds;
    expect(fold(3)).toEqual([{ from: 0, to: 17, key: 0 }]);
    expect(fold(Infinity)).toEqual([]);
  });

  it("pads lines that wrap to more rows on one side, where they are in sight", () => {
    const long = (id: number, side: 0 | 1): number => (id === 3 ? 4 : id === 7 && side === 0 ? 2 : 1);
    const at = (a: number[], b: number[], hunks: Hunk[], context = Infinity) =>
      sideBySide(Int32Array.from(a), Int32Array.from(b), hunks, { ...options, context, rows: long }).map(
        ({ gaps }) => gaps,
      );
    expect(at([1, 2], [3, 2], [])).toEqual([[{ after: 0, rows: 3 }], []]);
    expect(at([7, 2], [7, 2], [])).toEqual([[], [{ after: 0, rows: 1 }]]);
    expect(at([1, 7, 7, 2], [1, 3, 2], [{ a0: 1, a1: 3, b0: 1, b1: 2 }])).toEqual([[], []]);
    expect(at([1, 7, 2], [1, 3, 3, 2], [{ a0: 1, a1: 2, b0: 1, b1: 3 }])).toEqual([[{ after: 1, rows: 6 }], []]);
    const many = [...Array.from({ length: 9 }, () => 7), 5];
    expect(
      at(many, [...many.slice(0, 9), 6], [{ a0: 9, a1: 10, b0: 9, b1: 10 }], 0),
      "hidden lines need no rows",
    ).toEqual([[], []]);
    const both = at([1, 9, 7], [3, 7], [{ a0: 1, a1: 2, b0: 1, b1: 1 }]);
    expect(both).toEqual([
      [{ after: 0, rows: 3 }],
      [
        { after: 0, rows: 1 },
        { after: 1, rows: 1 },
      ],
    ]);
  });
});

describe("unified", () => {
  it("has every line of both dumps once, what went before what came", () => {
    fc.assert(
      fc.property(pair, contexts, fc.nat(5), fc.nat(5), ([a, b], context, firstLeft, firstRight) => {
        const hunks = compared([a, b]);
        const column = unified(a, b, hunks, { ...options, context, firstLeft, firstRight });
        const { equal, changed } = beside(hunks, a.length, b.length);
        const row = (left: number, right: number, kind: Kind, mate: number) => ({
          line: right >= 0 ? b[right]! : a[left]!,
          left: left < 0 ? -1 : left + firstLeft,
          right: right < 0 ? -1 : right + firstRight,
          kind,
          mate,
        });
        const mate = new Map<string, number>(changed.map(([i, j]) => [`a${i}`, b[j]!] as const));
        for (const [i, j] of changed) mate.set(`b${j}`, a[i]!);
        const gone = [...a.keys()].filter((i) => !equal.some(([left]) => left === i));
        const came = [...b.keys()].filter((j) => !equal.some(([, right]) => right === j));
        const expected = [];
        let [i, j] = [0, 0];
        for (const [left, right] of [...equal, [a.length, b.length] as [number, number]]) {
          for (; i < left; i++) if (gone.includes(i)) expected.push(row(i, -1, Kind.Changed, mate.get(`a${i}`) ?? -1));
          for (; j < right; j++) if (came.includes(j)) expected.push(row(-1, j, Kind.Changed, mate.get(`b${j}`) ?? -1));
          if (left < a.length)
            expected.push(row(left, right, a[left] === b[right] ? Kind.Equal : Kind.Renumbered, a[left]!));
          [i, j] = [left + 1, right + 1];
        }
        const { lines, left, right, kinds, mates } = column;
        const made = Array.from(lines, (line, n) => ({
          line,
          left: left[n],
          right: right[n],
          kind: kinds[n],
          mate: mates[n],
        }));
        expect(made).toEqual(expected);
        expect(column.gaps).toEqual([]);
        const far = hidden(hunks, equal, context, a.length, b.length);
        const folded = column.folds.flatMap(({ from, to }) => made.slice(from, to).map((one) => one.left! - firstLeft));
        expect(folded).toEqual([...far]);
        for (const { from, key } of column.folds) expect(key).toBe(right[from]! - firstRight);
      }),
      { numRuns: 200 },
    );
  });
});

describe("alone", () => {
  it("is a dump by itself", () => {
    const column = alone(Int32Array.of(4, 5), 7);
    expect(column).toEqual({
      lines: Int32Array.of(4, 5),
      kinds: new Uint8Array(2),
      left: Int32Array.of(-1, -1),
      right: Int32Array.of(7, 8),
      mates: Int32Array.of(-1, -1),
      gaps: [],
      folds: [],
    });
  });
});
