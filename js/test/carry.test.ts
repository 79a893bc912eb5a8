import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Analysis } from "../src/analysis";
import { carried } from "../src/carry";
import type { Dumps, Stage } from "../src/dumps";
import { fragmentOf, placeOf } from "../src/links";
import { lowering } from "./lowering";

const stages = (dumps: Dumps): readonly [Stage, Stage] => dumps.traces[0]!.stages as [Stage, Stage];

describe("the place of a line in another stage", () => {
  it.each([
    ["of the same text", ["a", "b"], ["a", "b"], 1, 1],
    ["below what is new", ["a", "b"], ["x", "a", "b"], 1, 2],
    ["below what has gone", ["x", "a", "b"], ["a", "b"], 2, 1],
    ["as far into what it has become", ["a", "p", "q", "r", "b"], ["a", "x", "y", "b"], 2, 2],
    ["at the end of what it has become, when that is shorter", ["a", "p", "q", "r", "b"], ["a", "x", "b"], 3, 1],
    ["where it was taken out", ["a", "p", "b"], ["a", "b"], 1, 1],
    ["right below what is new", ["a", "b"], ["x", "a", "b"], 0, 1],
    ["right below a change", ["a", "p", "b"], ["a", "q", "r", "b"], 2, 3],
    ["below several changes", ["a", "p", "b", "q", "c"], ["a", "x", "x2", "b", "y", "y2", "c"], 4, 6],
    ["where nothing is left", ["a", "b"], [], 1, -1],
  ])("%s", (_, from, to, line, expected) => {
    const dumps = lowering(from, to);
    const [left, right] = stages(dumps);
    expect(carried(new Analysis(dumps), left, line, right)).toBe(expected);
  });

  it("is a line that there is", () => {
    const text = fc.array(fc.constantFrom("a", "b", "c", "d", "func @f"), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(text, text, fc.nat(7), (from, to, at) => {
        const dumps = lowering(from, to);
        const [left, right] = stages(dumps);
        const line = carried(new Analysis(dumps), left, at % from.length, right);
        expect(line).toBeGreaterThanOrEqual(0);
        expect(line).toBeLessThan(to.length);
      }),
    );
  });

  it("is unknown in a text that is not here", () => {
    const dumps = lowering(["a"], ["b"]);
    const [left, right] = stages(dumps);
    expect(carried(new Analysis(dumps), left, 0, { ...right, ready: false })).toBe(-1);
  });

  it("of another language comes from the same line of the source, else from the same function", () => {
    const dumps: Dumps = {
      ...lowering(
        ["func @f(%a)", "  a", "  b", "func @g(%a)", "  c", "  d"],
        ["head", "func @g(%a)", "x", "y", "func @f(%a)", "z"],
      ),
      places: [
        { file: 0, line: 7, column: 0 },
        { file: 0, line: 8, column: 0 },
        { file: 0, line: 8, column: 4 },
        { file: 0, line: 8, column: 9 },
      ],
    };
    const [left, right] = stages(dumps);
    const there = { ...right, language: "ptx" };
    const analysis = new Analysis(dumps);
    expect(carried(analysis, left, 4, there)).toBe(2);
    expect(carried(analysis, left, 0, there)).toBe(4);
    const tied = { ...left, places: Int32Array.of(-1, 0, -1, -1, 1, -1) };
    const known = { ...there, places: Int32Array.of(-1, -1, 2, 0, -1, -1) };
    expect(carried(analysis, tied, 1, known)).toBe(3);
    expect(carried(analysis, tied, 2, known)).toBe(3);
    expect(carried(analysis, tied, 4, known)).toBe(2);
    const first = { ...there, places: Int32Array.of(0, -1, -1, -1, -1, -1) };
    expect(carried(analysis, tied, 2, first)).toBe(0);
    expect(carried(analysis, { ...tied, places: Int32Array.of(-1, 2, -1, -1, 1, -1) }, 1, known)).toBe(2);
    const elsewhere = { ...there, places: Int32Array.of(-1, -1, -1, 3, -1, -1) };
    expect(carried(analysis, { ...tied, places: Int32Array.of(-1, 2, -1, -1, -1, -1) }, 1, elsewhere)).toBe(3);
    expect(carried(analysis, { ...tied, places: null }, 4, known)).toBe(2);
    expect(carried(analysis, tied, 1, { ...there, places: null })).toBe(4);
    expect(carried(analysis, { ...right, language: "llvm" }, 0, { ...right, language: "ptx" })).toBe(0);
    const other = { ...right, lines: right.lines.slice(), language: "ptx" };
    expect(carried(analysis, right, 0, other), "before all functions").toBe(-1);
  });
});

describe("a link", () => {
  it("names a place, and is read back", () => {
    const place = fc.record({
      lowering: fc.string(),
      pass: fc.nat(1e6),
      left: fc.integer({ min: -1, max: 1e6 }),
      line: fc.nat(1e6),
    });
    fc.assert(fc.property(place, (one) => void expect(placeOf(fragmentOf(one))).toEqual(one)));
    expect(fragmentOf({ lowering: "net", pass: 13, line: 83, left: 9 })).toBe("#lowering=net&pass=13&line=83&left=9");
  });

  it("says nothing of what is as usual", () => {
    expect(fragmentOf({ lowering: "", pass: 0, left: -1, line: 0 })).toBe("#pass=0");
    expect(placeOf("#pass=0")).toEqual({ lowering: "", pass: 0, left: -1, line: 0 });
  });

  it.each([["#"], [""], ["#pass=12345678901"], ["#a-heading"], ["#pass=x"], ["#pass=-1"], ["#pass=1e9"], ["#line=3"]])(
    "%j names none",
    (text) => expect(placeOf(text)).toBeNull(),
  );
});
