import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Analysis, dialect } from "../src/analysis";
import { Breath } from "../src/codec";
import { diffBySymbol } from "../src/diff";
import type { Dumps, Stage } from "../src/dumps";
import { facts, lowering } from "./lowering";

const line = fc.constantFrom(
  "func @f(%a)",
  "func @g(%b)",
  "  %1 = a.x %2",
  "  %3 = a.x %4",
  "  %5 = b.y 12",
  "  c.Z",
  "  }",
  "",
);
/** A text has a line at least, be it empty. */
const text = fc.array(line, { minLength: 1, maxLength: 14 });
const blank = (line: string): string => line.replace(/%\w+/g, "%");
const staged = (dumps: Dumps) => dumps.traces[0]!.stages as Stage[];

/** A stage that shows only a function. */
function part(dumps: Dumps, index: number, name: string): void {
  staged(dumps)[index] = { ...staged(dumps)[index]!, part: name };
}

describe("how two stages differ", () => {
  it("counts the lines that the diff shows as gone and as new", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const dumps = lowering(a, b);
        const [left, right] = staged(dumps) as [Stage, Stage];
        const analysis = new Analysis(dumps);
        const hunks = left.lines === right.lines ? [] : analysis.diff(left, right, true);
        const expected = {
          gone: hunks.reduce((sum, { a0, a1 }) => sum + a1 - a0, 0),
          added: hunks.reduce((sum, { b0, b1 }) => sum + b1 - b0, 0),
        };
        expect(analysis.delta(left, right)).toEqual(expected);
        expect(analysis.delta(left, right), "the same when asked again").toEqual(expected);
      }),
    );
  });

  it("counts a line whose name is another value's, and not one that is renumbered", () => {
    const dumps = lowering(
      ["func @f(%a)", "  %1 = a.x %a", "  %2 = a.y %a", "  %3 = b.y %1"],
      ["func @f(%a)", "  %5 = a.x %a", "  %6 = a.y %a", "  %7 = b.y %6"],
    );
    const [left, right] = staged(dumps) as [Stage, Stage];
    expect(new Analysis(dumps).delta(left, right)).toEqual({ gone: 1, added: 1 });
  });

  it("counts no lines of what is too long until it is looked at", () => {
    const many = (name: string): string[] => Array.from({ length: 160_000 }, () => name);
    const dumps = lowering([...many("  a.x"), "  c.Z"], [...many("  a.x"), "  b.y"]);
    const [left, right] = staged(dumps) as [Stage, Stage];
    const analysis = new Analysis(dumps);
    expect(analysis.delta(left, right)).toBe(null);
    analysis.diff(left, right, true);
    expect(analysis.delta(left, right)).toEqual({ gone: 1, added: 1 });
  });

  it("is said with renumbering ignored, or not", () => {
    const dumps = lowering(["  %1 = a.x %2", "  c.Z"], ["  %3 = a.x %4", "  c.Z"]);
    const [left, right] = staged(dumps) as [Stage, Stage];
    const analysis = new Analysis(dumps);
    expect(analysis.diff(left, right, true)).toEqual([]);
    expect(analysis.diff(left, right, false)).toEqual([{ a0: 0, a1: 1, b0: 0, b1: 1 }]);
    expect(analysis.diff(left, right, true), "each is kept by itself").toEqual([]);
    expect(analysis.diff(right, left, false)).toBe(analysis.diff(right, left, false));
    expect(analysis.diff(left, left, false)).toEqual([]);
  });

  it("is looked for symbol by symbol", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        const dumps = lowering(a, b);
        const [left, right] = staged(dumps) as [Stage, Stage];
        const analysis = new Analysis(dumps);
        const cuts = [analysis.segments(left), analysis.segments(right)] as const;
        expect(analysis.diff(left, right, false)).toEqual(
          left.lines === right.lines ? [] : diffBySymbol(left.lines, right.lines, ...cuts),
        );
        const origins = analysis.origins(left, right);
        for (const [j, i] of origins.entries()) if (i >= 0) expect(blank(a[i]!)).toBe(blank(b[j]!));
      }),
    );
  });

  it("forgets the diffs that were looked at least lately, and none of the last 400", () => {
    const dumps = lowering(...Array.from({ length: 402 }, (_, i) => [`  a.x ${"i".repeat(i)}`]));
    const stages = staged(dumps);
    const analysis = new Analysis(dumps);
    const first = analysis.diff(stages[0]!, stages[1]!, true);
    for (let i = 1; i < 400; i++) analysis.diff(stages[i]!, stages[i + 1]!, true);
    expect(analysis.diff(stages[0]!, stages[1]!, true)).toBe(first);
    analysis.diff(stages[400]!, stages[401]!, true);
    expect(analysis.diff(stages[0]!, stages[1]!, true)).not.toBe(first);
  });
});

describe("what a function is compared with", () => {
  const module = ["m.head", "func @f(%a)", "  a.x", "  }", "func @g(%a)", "  a.y", "  }"];
  const g = ["func @g(%a)", "  b.z", "  }"];
  it.each([
    ["the function in the module", module, g, ["", "g"], [4, 7]],
    ["all, where a whole module is shown", module, g, ["", ""], [0, 7]],
    ["all, where the function itself was shown before", module, g, ["g", "g"], [0, 7]],
    ["all, where the function is new", module, ["func @h()"], ["", "h"], [0, 7]],
    ["all, where several are shown", module, [...g, "func @f(%a)"], ["", "g"], [0, 7]],
    ["all, where no symbol is shown", module, ["  a.x"], ["", "g"], [0, 7]],
    ["all, where the text is the same", module.slice(4), module.slice(4), ["", "g"], [0, 3]],
  ] as const)("is %s", (_, before, after, parts, [from, to]) => {
    const dumps = lowering([...before], [...after]);
    for (const [i, name] of parts.entries()) part(dumps, i, name);
    const [left, right] = staged(dumps) as [Stage, Stage];
    expect(new Analysis(dumps).beside(left, right)).toMatchObject({ from, to });
  });

  it("is counted by itself, also beside another stage of the same text", () => {
    const dumps = lowering(module, g, g);
    part(dumps, 1, "g");
    const [all, one, other] = staged(dumps) as [Stage, Stage, Stage];
    const analysis = new Analysis(dumps);
    expect(analysis.delta(all, one)).toEqual({ gone: 1, added: 1 });
    expect(analysis.delta(all, other)).toEqual({ gone: 5, added: 1 });
  });
});

describe("what is known of lines", () => {
  const dumps = lowering(["func @f(%a)", "  %1 = a.x %2", "  %3 = a.x %4", "  b.y", "  }", "  ab.y"]);
  const [stage] = staged(dumps) as [Stage];
  const analysis = new Analysis(dumps);

  it("is their text, symbol, operation and what they are without names", () => {
    expect(analysis.text(1)).toBe("  %1 = a.x %2");
    expect(analysis.text(99)).toBe("");
    expect([0, 1].map(analysis.symbolOf)).toEqual(["f", ""]);
    expect([1, 4].map((id) => analysis.operationOf(id, "mlir"))).toEqual(["a.x", ""]);
    expect(analysis.operationOf(1, "llvm")).toBe("");
    expect(analysis.blankOf(1)).toBe("  % = a.x %");
    expect([...analysis.blanked(stage.lines)]).toEqual([0, 1, 1, 2, 3, 4]);
    expect(analysis.blanked(stage.lines)).toBe(analysis.blanked(stage.lines));
  });

  it("is counted by operation and by dialect, the most frequent first, then by name", () => {
    expect(analysis.counts(stage)).toEqual(
      new Map([
        ["a.x", 2],
        ["b.y", 1],
        ["ab.y", 1],
      ]),
    );
    expect(analysis.counts(stage)).toBe(analysis.counts(stage));
    expect(analysis.dialects(stage)).toEqual([
      ["a", 2],
      ["ab", 1],
      ["b", 1],
    ]);
    expect(["arith.addf", "load", "ld.param.u64"].map(dialect)).toEqual(["arith", "load", "ld"]);
  });

  it("is the text that a pane shows, made once", () => {
    const doc = analysis.doc(stage.lines);
    expect(doc.text.toString()).toBe(dumps.table.join("\n"));
    expect([...doc.starts.slice(0, 3)]).toEqual([0, 12, 26]);
    expect(analysis.doc(stage.lines)).toBe(doc);
    expect(analysis.segments(stage)).toBe(analysis.segments(stage));
  });

  it("can be prepared", async () => {
    await analysis.prepare(stage, stage, new Breath());
    expect(analysis.segments(stage).map(({ name }) => name)).toEqual(["f"]);
  });
});

it("takes what these tests say of lines for what Python says", () => {
  expect(facts("  %ab = a.x")).toEqual({
    renumbered: [{ from: 3, to: 5 }],
    symbol: null,
    operations: new Map([["mlir", { from: 8, to: 11, dialect: "" }]]),
  });
});
