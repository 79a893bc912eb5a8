import { describe, expect, it } from "vitest";
import { Analysis } from "../src/analysis";
import type { Stage } from "../src/dumps";
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
