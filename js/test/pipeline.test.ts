import { expect, test } from "vitest";
import { duration, find, sign, spoken, unpackPasses } from "../src/pipeline/data";
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
  ["l", ["lower-affine", "canonicalize", "scf-for-loop-canonicalization", "cse"]],
  ["c", ["canonicalize", "cse", "scf-for-loop-canonicalization"]],
  ["s", ["scf-for-loop-canonicalization", "cse"]],
])("passes for %j", (query, found) => expect(names(query)).toEqual(found));

test.each([
  [0, "<0.1 ms"],
  [0.0004, "0.4 ms"],
  [0.0123, "12 ms"],
  [3.21, "3.2 s"],
  [1, "1.0 s"],
  [0.01, "10 ms"],
  [0.00005, "0.1 ms"],
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
  expect(spoken({ ...step, id: 0, seconds: 0, options: {} }, 0, 1)).toBe(
    "Step 1 of 1: mlir-opt cse, part of the IR type, done, <0.1 ms",
  );
  expect(spoken({ ...step, state: "failed", seconds: 2, options: {} }, 0, 1)).toBe(
    "Step 1 of 1: mlir-opt cse, failed, 2.0 s",
  );
  const signs = (["", "waiting", "running", "done", "failed", "stopped"] as const).map((state) =>
    sign({ ...step, state }),
  );
  expect(signs).toEqual(["", "○", "●", "✓", "✗", "■"]);
  expect(sign({ ...step, enabled: false })).toBe("–");
});

test("where nothing is offered there are no passes", async () => {
  expect(await unpackPasses(null)).toEqual(new Map());
  expect(await unpackPasses(new DataView(new ArrayBuffer(0)))).toEqual(new Map());
});
