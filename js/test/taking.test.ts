import { expect, it } from "vitest";
import { leftOut } from "../src/taking";

it.each([
  ["", 0],
  ["%0 = arith.constant dense_resource<__elided__> : tensor<4xf32>", 1],
  ["%0 = x dense_resource<a>\n%1 = x dense_resource<b>\n%2 = x dense_resource<a>", 2],
  ['%0 = x dense_resource<a>\n%1 = x dense_resource<b>\n{-#\n  builtin: {\n      a: "0x04"\n  }\n#-}\n', 1],
  ["@w = external constant [9 x float]\n@v = constant float 1.0\n@u = external constant float", 2],
])("%j has %i constants without values", (text, count) => {
  expect(leftOut(text)).toBe(count);
});
