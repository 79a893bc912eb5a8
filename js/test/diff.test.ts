import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { among, cut, diffBySymbol, diffLines, type Hunk, origins, type Segment, within } from "../src/diff";
import pairs from "./hunks.json";

const lines = (most: number, alphabet: number) =>
  fc.array(fc.nat(alphabet), { maxLength: most }).map((numbers) => Int32Array.from(numbers));

function commonLength(a: Int32Array, b: Int32Array): number {
  const row = new Array<number>(b.length + 1).fill(0);
  for (const x of a) {
    let diagonal = 0;
    for (let j = 0; j < b.length; j++) {
      const above = row[j + 1]!;
      row[j + 1] = x === b[j] ? diagonal + 1 : Math.max(above, row[j]!);
      diagonal = above;
    }
  }
  return row[b.length]!;
}

/** Whether the hunks are in order, none empty, no two touching, and all that is outside equal; how much that is. */
function kept(a: Int32Array, b: Int32Array, hunks: readonly Hunk[]): number {
  let [i, j, count] = [0, 0, 0];
  for (const [n, { a0, a1, b0, b1 }] of hunks.entries()) {
    if (a1 - a0 + b1 - b0 <= 0 || a1 < a0 || b1 < b0) throw new Error("an empty hunk");
    if (n > 0 && a0 === i) throw new Error("two hunks that touch");
    if (a0 - i !== b0 - j) throw new Error("the lines between do not pair");
    for (; i < a0; i++, j++, count++) if (a[i] !== b[j]) throw new Error("unequal lines outside of hunks");
    [i, j] = [a1, b1];
  }
  if (a.length - i !== b.length - j) throw new Error("the lines after do not pair");
  for (; i < a.length; i++, j++, count++) if (a[i] !== b[j]) throw new Error("unequal lines after");
  return count;
}

describe("diffLines", () => {
  it("keeps as many lines as the longest common subsequence", () => {
    fc.assert(
      fc.property(fc.nat(9), fc.nat(), (alphabet, seed) => {
        const [[a, b]] = fc.sample(fc.tuple(lines(40, alphabet), lines(40, alphabet)), { seed, numRuns: 1 }) as [
          [Int32Array, Int32Array],
        ];
        return kept(a, b, diffLines(a, b)) === commonLength(a, b);
      }),
      { numRuns: 300 },
    );
  });

  it("stays a diff under any cap", () => {
    fc.assert(
      fc.property(lines(120, 9), lines(120, 9), fc.integer({ min: 1, max: 12 }), (a, b, cap) => {
        kept(a, b, diffLines(a, b, cap));
      }),
      { numRuns: 200 },
    );
  });

  it("takes numbers that are far apart", () => {
    const [a, b] = [Int32Array.of(5, 100_000, 7), Int32Array.of(100_000, 3_000_000, 7)];
    expect(diffLines(a, b)).toEqual([
      { a0: 0, a1: 1, b0: 0, b1: 0 },
      { a0: 2, a1: 2, b0: 1, b1: 2 },
    ]);
  });
});

/** Python has the same algorithm: see tests/views/test_diff.py. */
describe("the hunks that Python finds", () => {
  const coded = (text: string): Int32Array => Int32Array.from(text, (letter) => letter.charCodeAt(0) - 97);
  const segments = (cuts: readonly (string | number)[][]): Segment[] =>
    cuts.map(([name, from, to]) => ({ name: String(name), from: Number(from), to: Number(to) }));

  it.each(pairs.map((pair, i) => [i, pair] as const))("in pair %i", (_, { a, b, cap, cuts, hunks }) => {
    const sides = [coded(a), coded(b)] as const;
    const found =
      cuts.length > 0
        ? diffBySymbol(...sides, segments(cuts[0]!), segments(cuts[1]!))
        : diffLines(...sides, ...(cap ? [cap] : []));
    expect(found.map(({ a0, a1, b0, b1 }) => [a0, a1, b0, b1])).toEqual(hunks);
  });
});

describe("diffBySymbol", () => {
  const f = (from: number, to: number) => ({ name: "f", from, to });
  const g = (from: number, to: number) => ({ name: "g", from, to });

  it("never compares lines of different symbols", () => {
    const [a, b] = [Int32Array.of(1, 2, 3, 9, 1, 2, 3), Int32Array.of(9, 1, 2, 3)];
    expect(diffBySymbol(a, b, [f(0, 3), g(3, 7)], [g(0, 4)])).toEqual([{ a0: 0, a1: 3, b0: 0, b1: 0 }]);
  });

  it("compares one symbol in the place of one other", () => {
    const [a, b] = [Int32Array.of(1, 2, 3), Int32Array.of(1, 4, 3)];
    expect(diffBySymbol(a, b, [f(0, 3)], [g(0, 3)])).toEqual([{ a0: 1, a1: 2, b0: 1, b1: 2 }]);
  });

  it("caps the diff of a symbol of more than 3000 lines, and of no other", () => {
    // Under the cap, a path of 256 edits is taken for good where the shortest is longer.
    const made = (length: number) => {
      const side = (seed: number) =>
        Int32Array.from({ length }, (_, i) =>
          i < length - 1000 ? 1000 + i : (Math.imul(i * i + seed, 0x9e3779b1) >>> 17) % 30,
        );
      const [a, b, whole] = [side(1), side(77), [f(0, length)]];
      return [a, b, diffBySymbol(a, b, whole, whole)] as const;
    };
    const [a, b, found] = made(3000);
    expect(found).toEqual(diffLines(a, b));
    const [long, other, capped] = made(3001);
    expect(capped).toEqual(diffLines(long, other, 256));
    expect(capped).not.toEqual(diffLines(long, other));
  });
});

describe("origins", () => {
  it("says where each line was", () => {
    const [a, b] = [Int32Array.of(1, 2, 3, 4), Int32Array.of(1, 5, 3, 4, 6)];
    expect([...origins(diffLines(a, b), b.length)]).toEqual([0, -1, 2, 3, -1]);
  });

  it("is a line less than it, by what the hunks before it added", () => {
    fc.assert(
      fc.property(lines(30, 5), lines(30, 5), (a, b) => {
        const hunks = diffLines(a, b);
        const expected = Array.from(b, (_, j) => {
          if (hunks.some(({ b0, b1 }) => b0 <= j && j < b1)) return -1;
          const before = hunks.filter(({ b1 }) => b1 <= j);
          return before.reduce((line, { a0, a1, b0, b1 }) => line - (b1 - b0) + (a1 - a0), j);
        });
        expect([...origins(hunks, b.length)]).toEqual(expected);
        for (const [j, i] of expected.entries()) if (i >= 0) expect(a[i]).toBe(b[j]);
      }),
    );
  });
});

describe("within", () => {
  const part = { from: 5, to: 10 };
  it.each([
    ["before", [0, 3, 0, 3], null],
    ["over the start of one side", [4, 6, 4, 5], [0, 1, 0, 0]],
    ["inside", [6, 7, 6, 8], [1, 2, 1, 3]],
    ["over the end", [9, 20, 9, 9], [4, 5, 4, 4]],
    ["of what was moved here", [12, 12, 6, 9], [5, 5, 1, 4]],
    ["of what was moved away", [6, 9, 2, 2], [1, 4, 0, 0]],
  ])("keeps what touches: %s", (_, [a0, a1, b0, b1], shown) => {
    const found = within([{ a0: a0!, a1: a1!, b0: b0!, b1: b1! }], part, part);
    expect(found.map((one) => [one.a0, one.a1, one.b0, one.b1])).toEqual(shown ? [shown] : []);
  });
});

describe("among", () => {
  it("knows the numbers of its own lines only", () => {
    fc.assert(
      fc.property(lines(20, 3000), lines(20, 3000), (a, b) => {
        for (const set of [a, b]) {
          const there = among(set);
          for (const line of [...a, ...b]) expect(there(line)).toBe(set.includes(line));
        }
      }),
    );
  });
});

describe("cut", () => {
  const of = (names: readonly string[]) => cut(Int32Array.from(names.keys()), (i) => names[i]!);
  it.each([
    [
      ["", "a", "", "", "b", ""],
      ["", 0, 1],
      ["a", 1, 4],
      ["b", 4, 6],
    ],
    [
      ["a", "b"],
      ["a", 0, 1],
      ["b", 1, 2],
    ],
    [
      ["", ""],
      ["", 0, 2],
    ],
    [[], ["", 0, 0]],
  ] as [string[], ...[string, number, number][]][])("gives each line of %j to one symbol", (names, ...expected) => {
    expect(of(names).map(({ name, from, to }) => [name, from, to])).toEqual(expected);
  });
});
