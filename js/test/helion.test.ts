import { describe as suite, expect, test } from "vitest";
import { describe, linesOf, ranges } from "../src/helion/data";
import type { LinkedKernel } from "../src/schema";

const kernel: LinkedKernel = {
  name: "k",
  source: [
    ["k.py", 7, "a = x + y"],
    ["k.py", 8, "out[t] = a"],
  ],
  nodes: [
    { name: "root.a", target: "aten.add.Tensor", text: "a = aten.add.Tensor(x, y)", depth: 2, symbolic: false, row: 0 },
    { name: "root.store", target: "store", text: "store = store(out, a)", depth: 2, symbolic: false, row: 1 },
    { name: "root.n", target: "_get_symnode", text: "n = _get_symnode('n')", depth: 2, symbolic: true, row: -1 },
  ],
  table: ["a", "b", "c", "d"],
  stages: [
    { index: 2, name: "import", step: "", language: "mlir", lines: [0, 1, 2, 3], owners: [-1, 0, 0, 1] },
    { index: 3, name: "cse", step: "", language: "mlir", lines: [0, 1], owners: [-1, 0] },
  ],
  programs: [],
};

suite("what a group is in words", () => {
  test.each([
    [[0], 0, "root.a (aten.add.Tensor): source line 7, lines 2–3 of import"],
    [[0, 1], 0, "2 nodes: source lines 7–8, lines 2–4 of import"],
    [[1], 1, "root.store (store): source line 8, no location in cse"],
    [[2], 1, "root.n (_get_symnode): no source line, no MLIR of its own"],
    [[], 0, ""],
  ])("nodes %j in stage %i", (nodes, stage, words) => {
    expect(describe(kernel, kernel.stages[stage]!, new Set(nodes))).toBe(words);
  });
  test("lines count from 1", () => expect(linesOf(kernel.stages[0]!, new Set([0]))).toEqual([2, 3]));
  test("ranges", () => expect(ranges([3, 5, 6, 7, 9])).toBe("3, 5–7, 9"));
});
