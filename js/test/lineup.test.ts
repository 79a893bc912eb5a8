import { describe, expect, it } from "vitest";
import { diffLines } from "../src/diff";
import { type Column, Kind, sideBySide, unified } from "../src/lineup";

const options = { context: Infinity, open: new Set<number>(), firstLeft: 0, firstRight: 0 };

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

describe("sideBySide", () => {
  it.each([
    ["inserted", [1, 2], [1, 9, 9, 2]],
    ["at the top", [1, 2], [9, 1, 2]],
    ["at the end", [1, 2, 9], [1, 2]],
    ["replaced", [1, 8, 2], [1, 9, 9, 2]],
    ["from nothing", [], [1, 2]],
  ])("keeps equal lines beside each other: %s", (_, left, right) => {
    const [a, b] = [Int32Array.from(left), Int32Array.from(right)];
    const [x, y] = sideBySide(a, b, diffLines(a, b), options).map(rows);
    expect(x!.length).toBe(y!.length);
    for (const line of [1, 2].map(String)) if (x!.includes(line)) expect(x!.indexOf(line)).toBe(y!.indexOf(line));
  });

  it("folds the same stretch on both sides, and opens it", () => {
    const equal = Array.from({ length: 30 }, (_, i) => i + 10);
    const [a, b] = [Int32Array.from([1, ...equal, 2]), Int32Array.from([3, 4, ...equal, 5])];
    const hunks = diffLines(a, b);
    const [x, y] = sideBySide(a, b, hunks, { ...options, context: 3 });
    expect(rows(x)).toContain("[24]");
    expect(rows(x).length).toBe(rows(y).length);
    const key = x.folds[0]!.key;
    expect(sideBySide(a, b, hunks, { ...options, context: 3, open: new Set([key]) })[0].folds).toEqual([]);
  });

  it("pads lines that wrap to more rows on one side", () => {
    const [a, b] = [Int32Array.of(1, 2), Int32Array.of(3, 2)];
    const [x, y] = sideBySide(a, b, [], { ...options, rows: (id) => (id === 3 ? 4 : 1) });
    expect(x.gaps).toEqual([{ after: 0, rows: 3 }]);
    expect(y.gaps).toEqual([]);
  });

  it("tells renumbered lines from equal ones", () => {
    const [x] = sideBySide(Int32Array.of(1, 2), Int32Array.of(1, 3), [], options);
    expect([...x.kinds]).toEqual([Kind.Equal, Kind.Renumbered]);
  });
});

describe("unified", () => {
  it("has every line of both dumps once, in order", () => {
    const [a, b] = [Int32Array.of(1, 2, 3, 4), Int32Array.of(1, 5, 3, 6, 7)];
    const column = unified(a, b, diffLines(a, b), options);
    expect([...column.lines]).toEqual([1, 2, 5, 3, 4, 6, 7]);
    expect([...column.left].filter((n) => n >= 0)).toEqual([0, 1, 2, 3]);
    expect([...column.right].filter((n) => n >= 0)).toEqual([0, 1, 2, 3, 4]);
  });
});
