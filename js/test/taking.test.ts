import { expect, it } from "vitest";
import { leftOut } from "../src/taking";
import table from "../../tests/views/left_out.json"; // tests/views/test_syntax.py reads it, too

it.each(table as [string, string[]][])("%j lacks the values of %j", (text, names) => {
  expect(leftOut(text)).toBe(names.length);
});
