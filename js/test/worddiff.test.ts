import { expect, it } from "vitest";
import { differingWords } from "../src/worddiff";

it.each([
  ["arith.addf %1, %2 : f32", "arith.mulf %1, %2 : f32", ["arith.addf"]],
  ["f %1, %2", "f %1, %3", ["%2"]],
  ["same line", "same line", []],
  ["f(a, b, c)", "f(a, b)", [", c"]],
  ["%4 = memref.load %3[%a] : memref<8xf32>", "%5 = arith.cmpi slt, %4, %c16 : index", []],
  ["nothing alike here", "%1 = llvm.load : i64", []],
  ["f(a, b, c, d)", "f(a)", []],
  ["f(a, b, c)", "f(a)", [", b, c"]],
  ["abcdef xy", "k xy", []],
  ["abcdef       y", "k       y", []],
  [`${"x ".repeat(74)}z `, "x ".repeat(100), []],
  [`${"x ".repeat(74)}z `, "x ".repeat(75), ["z"]],
  [`${"c".repeat(2000)} a`, `${"c".repeat(2000)} b`, []],
  [`${"c".repeat(1990)} a`, `${"c".repeat(1990)} b`, ["a"]],
])("%s | %s", (line, other, words) => {
  expect(differingWords(line, other).map(({ from, to }) => line.slice(from, to))).toEqual(words);
});
