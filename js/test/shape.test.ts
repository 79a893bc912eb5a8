import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { varints } from "../src/codec";
import { type Facts, factsOf } from "../src/columns";
import type { Extent } from "../src/diff";
import { Shape } from "../src/shape";

/** A line in pieces: text, and numbers as they are cut out of it; the extents are of pieces. */
const words = fc.array(fc.constantFrom("%", " = ", "é", "ÿ", "007", "x", "", "𝄞 ", "-"), { maxLength: 3 });
const line = fc.array(
  fc.tuple(
    words.map((all) => `.${all.join("")}.`),
    fc.option(fc.nat(1_000_000_000 - 1), { nil: null }),
  ),
  { maxLength: 5 },
);

function pieces(parts: readonly (readonly [string, number | null])[]): { text: string; number: boolean }[] {
  return parts.flatMap(([text, number]) => [
    { text, number: false },
    ...(number === null ? [] : [{ text: String(number), number: true }]),
  ]);
}

function bytesOf(all: readonly { text: string; number: boolean }[]): { bytes: Uint8Array; starts: number[] } {
  const encoded = all.map(({ text, number }) => (number ? [255] : [...new TextEncoder().encode(text)]));
  const starts = [0];
  for (const bytes of encoded) starts.push(starts.at(-1)! + bytes.length);
  return { bytes: Uint8Array.from(encoded.flat()), starts };
}

/** Some of the pieces, as extents of bytes; those next to each other are one. */
function extents(chosen: readonly boolean[], starts: readonly number[]): Extent[] {
  const found: Extent[] = [];
  for (const [i, yes] of chosen.entries()) {
    if (!yes || starts[i] === starts[i + 1]) continue;
    const last = found.at(-1);
    if (last && last.to === starts[i]) found[found.length - 1] = { from: last.from, to: starts[i + 1]! };
    else found.push({ from: starts[i]!, to: starts[i + 1]! });
  }
  return found;
}

const NOTHING: Facts = { renumbered: [], symbol: null, operations: new Map() };

describe("Shape", () => {
  it("finds the parts of a line that are parts of its shape", () => {
    fc.assert(
      fc.property(line, fc.infiniteStream(fc.boolean()), fc.nat(9), fc.nat(9), (parts, coins, one, other) => {
        const all = pieces(parts);
        const { bytes, starts } = bytesOf(all);
        const chosen = all.map(() => coins.next().value!);
        const [from, to] = [Math.min(one, other), Math.max(one, other)].map((n) => Math.min(n, all.length)) as [
          number,
          number,
        ];
        const part = { from: starts[from]!, to: starts[to]! };
        const shape = new Shape(Uint8Array.of(255, 1, ...bytes, 255), 2, bytes.length + 2, {
          renumbered: extents(chosen, starts),
          symbol: part,
          operations: new Map([["mlir", { ...part, dialect: "func." }]]),
        });
        const whole = all.map(({ text }) => text).join("");
        const inside = all
          .slice(from, to)
          .map(({ text }) => text)
          .join("");
        const blank = all
          .filter((_, i) => !chosen[i])
          .map(({ text }) => text)
          .join("");
        expect(shape.symbolOf(whole)).toBe(inside);
        expect(shape.operationOf(whole, "mlir")).toBe(`func.${inside}`);
        expect(shape.operationOf(whole, "mlir"), "when asked again").toBe(`func.${inside}`);
        expect(shape.operationOf(whole, "llvm")).toBe("");
        expect(shape.blankOf(whole)).toBe(blank);
        const between = all
          .map(({ text, number }) => (number ? "\0" : text))
          .join("")
          .split("\0");
        expect(shape.pieces).toEqual(between);
        const values = Int32Array.from([7, 7, ...all.filter(({ number }) => number).map(({ text }) => Number(text))]);
        const ids = new Map([["another", 0]]);
        const id = shape.blankId(values, 2, ids);
        expect([...ids]).toEqual([
          ["another", 0],
          [blank, 1],
        ]);
        expect(id).toBe(1);
      }),
      { numRuns: 300 },
    );
  });

  it("numbers lines by what is left of them", () => {
    const bytes = Uint8Array.from([37, 255, 32, 255]); // %1 2
    const shape = new Shape(bytes, 0, 4, { ...NOTHING, renumbered: [{ from: 1, to: 2 }] });
    const ids = new Map<string, number>();
    const numbers = [
      [1, 5],
      [2, 5],
      [2, 6],
      [1, 5],
    ].map((values) => shape.blankId(Int32Array.from(values), 0, ids));
    expect(numbers).toEqual([0, 0, 1, 0]);
    expect([...ids.keys()]).toEqual(["% 5", "% 6"]);
    const again = new Shape(bytes, 0, 4, { ...NOTHING, renumbered: [{ from: 1, to: 2 }] });
    expect(again.blankId(Int32Array.of(9, 6), 0, ids)).toBe(1);
  });

  it("has no symbol and no operation where Python found none", () => {
    const shape = new Shape(Uint8Array.of(97), 0, 1, { ...NOTHING, operations: new Map([["mlir", null]]) });
    expect([shape.symbolOf("a"), shape.operationOf("a", "mlir")]).toEqual(["", ""]);
  });
});

describe("the columns of a chunk", () => {
  const coded = (...values: number[]): Uint8Array =>
    Uint8Array.from(values.flatMap((value) => (value < 128 ? [value] : [(value & 127) | 128, value >> 7])));

  it("give the facts of one shape after the other", () => {
    const next = factsOf(
      new Map([
        ["shape.renumbered", coded(2, 3, 4, 1, 200, 0)],
        ["shape.symbol", coded(0, 6, 2)],
        ["shape.op.mlir", coded(1, 3, 2, 0)],
        ["shape.op.asm", coded(0, 300, 1, 0)],
        ["shapes", coded(1)],
      ]),
    );
    expect(next()).toEqual({
      renumbered: [
        { from: 3, to: 7 },
        { from: 8, to: 208 },
      ],
      symbol: null,
      operations: new Map([
        ["mlir", { from: 0, to: 3, dialect: "func." }],
        ["asm", null],
      ]),
    });
    expect(next()).toEqual({
      renumbered: [],
      symbol: { from: 5, to: 7 },
      operations: new Map([
        ["mlir", null],
        ["asm", { from: 299, to: 300, dialect: "" }],
      ]),
    });
    expect(varints(coded(300, 5))).toEqual(Uint32Array.of(300, 5));
  });

  it("know nothing where there are none", () => {
    expect(factsOf(new Map())()).toEqual(NOTHING);
  });

  it("name the dialects that MLIR leaves out", () => {
    const next = factsOf(new Map([["shape.op.mlir", coded(1, 6, 1, 1, 6, 2, 1, 6, 0)]]));
    expect([0, 1, 2].map(() => next().operations.get("mlir")!.dialect)).toEqual(["builtin.", "func.", ""]);
  });
});
