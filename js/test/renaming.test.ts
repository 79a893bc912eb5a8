import { describe, expect, it } from "vitest";
import { Analysis } from "../src/analysis";
import type { Hunk } from "../src/diff";
import type { Stage } from "../src/dumps";
import { followed, type Line, type Name, nameOf, roleOf } from "../src/renaming";
import { lowering } from "./lowering";

/** The lines of the right that count as changed while renumbering is ignored. */
function changed(from: readonly string[], to: readonly string[]): string[] {
  const dumps = lowering(from, to);
  const [left, right] = dumps.traces[0]!.stages as [Stage, Stage];
  const found = new Analysis(dumps).diff(left, right, true);
  return found.flatMap(({ b0, b1 }) => to.slice(b0, b1));
}

const head = "func @f(%a: i32, %b: i32)";

describe("a line whose names differ", () => {
  it.each([
    [
      "is renumbered where they follow from their definitions",
      [head, "  %0 = a.x %a", "  a.y %0"],
      [head, "  %7 = a.x %a", "  a.y %7"],
      [],
    ],
    ["is another where operands are exchanged", [head, "  a.y %a, %b"], [head, "  a.y %b, %a"], ["  a.y %b, %a"]],
    [
      "is another where it uses another value",
      [head, "  %0 = a.x %a", "  a.ret %0"],
      [head, "  a.ret %a"],
      ["  a.ret %a"],
    ],
    [
      "is another though its text is the same, where the value is",
      [head, "  %0 = a.x %a", "  %1 = a.z %a", "  a.ret %0"],
      [head, "  %0 = a.z %a", "  %1 = a.x %a", "  a.ret %0"],
      ["  %1 = a.x %a", "  a.ret %0"],
    ],
    [
      "begins anew in the next function",
      [head, "  %0 = a.x %a", "func @g(%a: i32)", "  %0 = a.x %a"],
      [head, "  %5 = a.x %a", "func @g(%a: i32)", "  %9 = a.x %a"],
      [],
    ],
  ])("%s", (_, from, to, expected) => {
    const lines = changed(from, to);
    if (expected.length === 0) expect(lines).toEqual([]);
    else expect(lines).toEqual(expect.arrayContaining([expected.at(-1)]));
  });

  it("is not followed in a long text", () => {
    const dumps = lowering([head, "  a.y %a, %b"], [head, "  a.y %b, %a"]);
    const [left, right] = dumps.traces[0]!.stages as [Stage, Stage];
    const analysis = new Analysis(dumps);
    expect(analysis.follows(left, right)).toBe(true);
    const long = { ...left, lines: new Int32Array(6000) };
    expect(analysis.follows(long, long)).toBe(false);
    expect(changed([`a.y %a, %b ${"x".repeat(10_000)}`], [`a.y %b, %a ${"x".repeat(10_000)}`])).toEqual([]);
  });
});

describe("what a name is where it stands", () => {
  it.each([
    ["  %", " = a.x", "%", true],
    ["  (%", ', %1#1, %"a b") = a.x', "%", true],
    ["  %", " == 1", "%", false],
    ["func @f(%", ": i32)", "%", true],
    ["  a.y %", " : i32", "%", false],
    ["define i32 @f(i32 %", ")", "%", true],
    ["  call @define(%", ")", "%", false],
    ["  ^", "(%a: i32):", "^", true],
    ["  cf.br ^", "(%a : i32)", "^", false],
    ["#", " = affine_map<>", "#", true],
    ["  a.y {m = #", "}", "#", false],
    ["!", " = !b.z", "!", true],
    ["$", ":", "$", true],
    ["  bra $", ";", "$", false],
    ["", ":", "", true],
    ["  label ", ", x", "", true],
  ])("%s|%s", (before, rest, sigil, defined) => {
    expect(roleOf(before, rest)).toEqual({ sigil, defined });
  });

  it.each([
    ["", "3", false, { text: "%3", defined: true, results: 0 }],
    ["%", "3", false, { text: "%3", defined: false, results: 0 }],
    ["%", "3:2", true, { text: "%3", defined: true, results: 2 }],
    ["^", "bb1:2", true, { text: "^bb1:2", defined: true, results: 0 }],
  ])("%s%s", (sigil, text, defined, name) => {
    expect(nameOf(sigil, text, defined)).toEqual(name);
  });
});

describe("names of two texts", () => {
  /** A line from `+%0:2` (defined, with two results), `%0#1` (used), `@` (a function begins). */
  function line(text: string): Line {
    const words = text.split(" ").filter(Boolean);
    const name = (word: string): Name => {
      const [, plus, of, results] = /^(\+?)(.*?)(?::(\d+))?$/.exec(word)!;
      return { text: of!, defined: plus === "+", results: Number(results ?? 0) };
    };
    return { names: words.filter((word) => word !== "@").map(name), symbol: words.includes("@") };
  }

  it.each<[string, string[], string[], Hunk[], number[], number[]]>([
    ["follow from where they are defined", ["+%0", "%0"], ["+%1", "%1"], [], [], []],
    ["become one other only", ["+%0", "+%1", "%0 %1"], ["+%2", "+%3", "%3 %2"], [], [2], [2]],
    ["do not become one that another became", ["%0", "%1"], ["%2", "%2"], [], [1], [1]],
    ["are another once defined again", ["+%0", "%0", "+%0", "%0"], ["+%1", "%1", "+%2", "%2"], [], [], []],
    ["no longer are what was before", ["+%0", "+%0", "%0"], ["+%1", "+%2", "%1"], [], [2], [2]],
    ["are defined on both sides", ["+%0"], ["%0"], [], [0], [0]],
    ["have as many results", ["+%0:2"], ["+%1:3"], [], [0], [0]],
    ["are those of each result", ["+%0:2", "%0#0 %0#1"], ["+%1:2", "%1#0 %1#1"], [], [], []],
    ["are not those of another result", ["+%0:2", "%0#0", "%0#1"], ["+%1:2", "%1#1", "%1#0"], [], [1, 2], [1, 2]],
    ["are all looked at on a line", ["+%0 +%1:2", "%0", "%1#1"], ["+%5 +%6:3", "%5", "%6#1"], [], [0], [0]],
    ["may be used ahead", ["^1", "+^1", "^1"], ["^2", "+^2", "^2"], [], [], []],
    ["ahead are held to what was said", ["^1", "+^1"], ["^2", "+^3"], [], [1], [1]],
    ["ahead are held to it on the other side", ["^1", "+^2"], ["^3", "+^3"], [], [1], [1]],
    ["defined since are not ahead", ["+%0", "%0", "+%0"], ["+%1", "%1", "+%2"], [], [], []],
    ["defined once since are free", ["^0", "+^0", "+^0"], ["^1", "+^1", "+^2"], [], [], []],
    [
      "ahead stay past a definition of one text",
      ["^0", "+^0", "^0"],
      ["^1", "^2"],
      [{ a0: 1, a1: 2, b0: 1, b1: 1 }],
      [1, 2],
      [1],
    ],
    [
      "defined in one text are not ahead",
      ["+%0", "%0", "+%0"],
      ["%1", "+%2"],
      [{ a0: 0, a1: 1, b0: 0, b1: 0 }],
      [0],
      [],
    ],
    ["are all looked at in a use", ["+%0", "+%1", "%0 %1"], ["+%2", "+%3", "%3 %3"], [], [2], [2]],
    ["are all looked at in a definition", ["%0#0", "+%0:3"], ["%1#1", "+%1:3"], [], [1], [1]],
    ["are ahead again in the next function", ["+%0", "@", "%0", "+%0"], ["+%1", "@", "%2", "+%3"], [], [3], [3]],
    ["begin anew with a function", ["+%0", "@ +%0", "%0"], ["+%1", "@ +%2", "%2"], [], [], []],
    ["begin anew with a function of one side", ["+%0", "@", "%0"], ["+%1", "", "%2"], [], [], []],
    ["begin anew with one of the other side", ["+%0", "", "%0"], ["+%1", "@", "%2"], [], [], []],
    ["ahead begin anew too", ["%0", "@ +%1", "%0"], ["%2", "@ +%3", "%4"], [], [], []],
    ["of attributes stay", ["+#0", "@", "#0"], ["+#1", "@", "#2"], [], [2], [2]],
    ["of metadata stay", ["+!0", "@", "!0"], ["+!1", "@", "!2"], [], [2], [2]],
    ["of one text only are free again", ["+%0", "+%0", "%0"], ["+%1", "%1"], [{ a0: 1, a1: 2, b0: 1, b1: 1 }], [1], []],
    [
      "that are free on one side bind anew",
      ["+%0", "+%0", "%0", "%0"],
      ["+%1", "%2", "%1"],
      [{ a0: 1, a1: 2, b0: 1, b1: 1 }],
      [1, 3],
      [2],
    ],
    ["ahead stay where one text defines", ["^0", "+^0", "^0"], ["^1", "^1"], [{ a0: 1, a1: 2, b0: 1, b1: 1 }], [1], []],
    ["of results are let go", ["+%0", "+%0:2", "%0#1"], ["+%1", "%2"], [{ a0: 1, a1: 2, b0: 1, b1: 1 }], [1], []],
    ["used on one side bind nothing", ["%0", "%0"], ["%1"], [{ a0: 0, a1: 1, b0: 0, b1: 0 }], [0], []],
    ["after the last hunk count", ["", "+%0", "%0"], ["+%1", "%2"], [{ a0: 0, a1: 1, b0: 0, b1: 0 }], [0, 2], [1]],
  ])("%s", (_, old, fresh, hunks, left, right) => {
    const all = [...old, ...fresh].map(line);
    const [a, b] = [[...old.keys()], fresh.map((_, j) => old.length + j)];
    const marks = (marked: Uint8Array) => [...marked.keys()].filter((i) => marked[i]);
    const found = followed(hunks, a, b, (id) => all[id]!);
    expect([marks(found.left), marks(found.right)]).toEqual([left, right]);
    const swapped = hunks.map(({ a0, a1, b0, b1 }) => ({ a0: b0, a1: b1, b0: a0, b1: a1 }));
    const back = followed(swapped, b, a, (id) => all[id]!);
    expect([marks(back.right), marks(back.left)]).toEqual([left, right]);
  });
});
