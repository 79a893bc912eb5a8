import { expect, test } from "vitest";
import { duration, find, spoken } from "../src/pipeline/data";
import type { OfferedPass, PipelineStep } from "../src/schema";

const passes = new Map(
  ["cse", "canonicalize", "scf-for-loop-canonicalization", "lower-affine"].map((name): [string, OfferedPass] => [
    name,
    { name, help: name === "cse" ? "Eliminate common sub-expressions" : "", options: [] },
  ]),
);
const names = (query: string) => find(passes, query).map(({ name }) => name);

test.each([
  ["canon", ["canonicalize", "scf-for-loop-canonicalization"]],
  ["loop canon", ["scf-for-loop-canonicalization"]],
  ["Eliminate", ["cse"]],
  ["", ["canonicalize", "cse", "lower-affine", "scf-for-loop-canonicalization"]],
  ["[.*", []],
])("passes for %j", (query, found) => expect(names(query)).toEqual(found));

test.each([
  [0, "<0.1 ms"],
  [0.0004, "0.4 ms"],
  [0.0123, "12 ms"],
  [3.21, "3.2 s"],
])("%d s", (seconds, text) => {
  expect(duration(seconds)).toBe(text);
});

const step: PipelineStep = {
  id: 3,
  tool: "mlir-opt",
  pass: "cse",
  label: "cse",
  text: "--cse",
  options: { a: "1" },
  enabled: true,
  state: "done",
  seconds: 0.0004,
  stage: 2,
};

test("a step is told in words", () => {
  expect(spoken(step, 1, 4)).toBe("Step 2 of 4: mlir-opt cse, a 1, done, 0.4 ms");
  expect(spoken({ ...step, enabled: false, state: "", seconds: 0 }, 0, 1)).toBe(
    "Step 1 of 1: mlir-opt cse, a 1, disabled",
  );
});
