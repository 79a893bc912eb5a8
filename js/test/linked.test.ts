import { expect, test } from "vitest";
import type { Trace } from "../src/dumps";
import { heart, levels } from "../src/linked/choice";
import { lowering } from "./lowering";

const trace = (...steps: string[]): Trace => {
  const { traces } = lowering(...steps.map((_, i) => [`line ${i}`]));
  return { ...traces[0]!, stages: traces[0]!.stages.map((stage, i) => ({ ...stage, step: steps[i]! })) };
};

test.each([
  [9, true, [-1, 1, 2, 5, 6]],
  [3, true, [-1, 2, 6]],
  [2, true, [-1, 6]],
  [1, true, [-1, 6]],
  [2, false, [2, 6]],
] as const)("the ends of the steps are columns where there is room for %i", (room, source, expected) => {
  expect(levels(trace("a", "a", "b", "c", "c", "c", "d"), source, room)).toEqual(expected);
});

test("another language of one step is a column of its own", () => {
  const made = trace("a", "a");
  const stages = made.stages.map((stage, i) => ({ ...stage, language: i ? "ptx" : "llvm" }));
  expect(levels({ ...made, stages }, false, 5)).toEqual([0, 1]);
});

test("a step that has not changed the text is no column", () => {
  const made = trace("a", "b", "c");
  const stages = made.stages.map((stage, i) => ({ ...stage, lines: made.stages[Math.min(i, 1)]!.lines }));
  expect(levels({ ...made, stages }, true, 5)).toEqual([-1, 0, 1]);
});

test.each([
  [[], undefined],
  [[4], 4],
  [[2, 50, 51, 58, 90, 91], 50],
  [[2, 3, 50, 51], 2],
])("where most stand together: %j", (lines, expected) => {
  expect(heart(lines)).toBe(expected);
});
