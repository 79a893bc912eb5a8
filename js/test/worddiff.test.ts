import { expect, it } from "vitest";
import { differingWords } from "../src/worddiff";

it.each([
  ["arith.addf %1, %2 : f32", "arith.mulf %1, %2 : f32", ["arith.addf"]],
  ["f %1, %2", "f %1, %3", ["%2"]],
  ["same line", "same line", []],
  ["f(a, b, c)", "f(a, b)", [", c"]],
  ["%4 = memref.load %3[%a] : memref<8xf32>", "%5 = arith.cmpi slt, %4, %c16 : index", []],
  ["nothing alike here", "%1 = llvm.load : i64", []],
])("%s | %s", (line, other, words) => {
  expect(differingWords(line, other).map(({ from, to }) => line.slice(from, to))).toEqual(words);
});
