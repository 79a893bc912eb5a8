import { describe, expect, it } from "vitest";
import { diffBySymbol, diffLines, type Hunk, origins } from "../src/diff";

/** Small numbers that repeat a lot: the hard case for a line diff. */
function random(seed: number): () => number {
  return () => {
    seed = (seed * 1103515245 + 12345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
}

function lines(next: () => number, most: number, alphabet: number): Int32Array {
  return Int32Array.from({ length: Math.floor(next() * most) }, () => Math.floor(next() * alphabet));
}

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

/** What is outside of the hunks must be equal on both sides; returns how many lines that are. */
function kept(a: Int32Array, b: Int32Array, hunks: readonly Hunk[]): number {
  let [i, j, count] = [0, 0, 0];
  for (const hunk of [...hunks, { a0: a.length, a1: a.length, b0: b.length, b1: b.length }]) {
    expect(hunk.a0 - i).toBe(hunk.b0 - j);
    while (i < hunk.a0) {
      expect(a[i++]).toBe(b[j++]);
      count++;
    }
    [i, j] = [hunk.a1, hunk.b1];
  }
  return count;
}

describe("diffLines", () => {
  it("keeps as many lines as the longest common subsequence", () => {
    const next = random(7);
    for (let round = 0; round < 600; round++) {
      const alphabet = 1 + Math.floor(next() * 12);
      const [a, b] = [lines(next, 40, alphabet), lines(next, 40, alphabet)];
      expect(kept(a, b, diffLines(a, b))).toBe(commonLength(a, b));
    }
  });

  it("stays a diff under any cap", () => {
    const next = random(11);
    for (let round = 0; round < 400; round++) {
      const [a, b] = [lines(next, 200, 20), lines(next, 200, 20)];
      kept(a, b, diffLines(a, b, 1 + Math.floor(next() * 20)));
    }
  });
});

describe("diffBySymbol", () => {
  const whole = (lines: Int32Array) => [{ name: "", from: 0, to: lines.length }];

  it("never compares lines of different symbols", () => {
    const a = Int32Array.of(1, 2, 3, 9, 1, 2, 3);
    const b = Int32Array.of(9, 1, 2, 3);
    const hunks = diffBySymbol(
      a,
      b,
      [
        { name: "f", from: 0, to: 3 },
        { name: "g", from: 3, to: 7 },
      ],
      [{ name: "g", from: 0, to: 4 }],
    );
    expect(hunks).toEqual([{ a0: 0, a1: 3, b0: 0, b1: 0 }]);
  });

  it("is a diff, whatever the cuts", () => {
    const next = random(5);
    const cutUp = (lines: Int32Array) => {
      const at = [
        0,
        ...Array.from({ length: 4 }, () => Math.floor(next() * lines.length)).sort((x, y) => x - y),
        lines.length,
      ];
      return at.slice(1).map((to, i) => ({ name: "abcd"[Math.floor(next() * 4)]!, from: at[i]!, to }));
    };
    for (let round = 0; round < 300; round++) {
      const [a, b] = [lines(next, 60, 8), lines(next, 60, 8)];
      kept(a, b, diffBySymbol(a, b, cutUp(a), cutUp(b)));
      expect(kept(a, b, diffBySymbol(a, b, whole(a), whole(b)))).toBe(commonLength(a, b));
    }
  });
});

describe("origins", () => {
  it("says where each line was", () => {
    const [a, b] = [Int32Array.of(1, 2, 3, 4), Int32Array.of(1, 5, 3, 4, 6)];
    expect([...origins(diffLines(a, b), b.length)]).toEqual([0, -1, 2, 3, -1]);
  });
});
