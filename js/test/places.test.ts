import { expect, test } from "vitest";
import type { Dumps, Place, Stage } from "../src/dumps";
import { Places } from "../src/places";
import { lowering } from "./lowering";

const CELL = "    return softmax(self.b(torch.relu(x) + é.T), -1)\n  tl.load(x_ptr)  +2";

/** A place of the cell, by the text that begins there. */
const at = (text: string, line = 1): Place => ({
  file: 0,
  line,
  column: CELL.split("\n")[line - 1]!.indexOf(text) + 1,
});

const LINE: Place = { file: 0, line: 1, column: 0 };

function places(...known: Place[]): { of: Places; stage: (...numbers: number[]) => Stage } {
  const made: Dumps = { ...lowering(["a", "b", "c"]), sources: [{ file: "cell", text: CELL }], places: known };
  const stage = made.traces[0]!.stages[0]!;
  return { of: new Places(made), stage: (...numbers) => ({ ...stage, places: Int32Array.from(numbers) }) };
}

test("what begins at a column of the source is an operation", () => {
  const known = [at("softmax"), at("b("), at("relu"), at("+"), at("é"), at("tl", 2), at("x_ptr", 2), at("+2", 2)];
  const { of } = places(...known);
  const said = (line: number) => of.operations(0, line).map(({ text, from, to }) => [text, from, to]);
  const [one, two] = CELL.split("\n") as [string, string];
  const range = (line: string, text: string) => [text, line.indexOf(text), line.indexOf(text) + text.length];
  expect(said(1)).toEqual([
    range(one, "softmax"),
    ["b", one.indexOf("b("), one.indexOf("b(") + 1],
    range(one, "relu"),
    range(one, "+"),
    range(one, "é.T"),
  ]);
  expect(said(2)).toEqual([range(two, "tl.load"), range(two, "x_ptr"), range(two, "+")]);
  expect(known.map((place) => of.said(place))).toEqual([
    ...["softmax", "b", "relu", "+", "é.T"].map((text) => `Line 1, ${text}`),
    ...["tl.load", "x_ptr", "+"].map((text) => `Line 2, ${text}`),
  ]);
});

test("a column at which nothing begins, or that is not known, is none of an operation", () => {
  const inside = { ...at("softmax"), column: at("softmax").column + 2 };
  const beyond = { ...LINE, column: 900 };
  const blank = { ...LINE, column: 2 };
  const gone = { file: 0, line: 7, column: 3 };
  const { of } = places(inside, beyond, blank, LINE, gone);
  expect([of.operations(0, 1), of.operations(0, 7)]).toEqual([[], []]);
  expect(of.said(inside)).toBe("Line 1");
});

test("a line that begins with a name is no operation by itself", () => {
  const made: Dumps = { ...lowering(["a"]), sources: [{ file: "cell", text: "x = 1" }], places: [LINE] };
  expect(new Places(made).operations(0, 1)).toEqual([]);
});

test("an operation leads to its own lines, a line to all", () => {
  const { of, stage } = places(at("softmax"), at("relu"), at("relu"), { ...LINE, line: 2 });
  const known = stage(0, 1, -1, 2, 3, 0);
  expect(of.from(known, at("relu"))).toEqual([1, 3]);
  expect(of.from(known, LINE)).toEqual([0, 1, 3, 5]);
  expect(of.from(known, at("+"))).toEqual([]);
  expect(of.from({ ...known, places: null }, LINE)).toEqual([]);
});

test("where a stage knows no columns, an operation leads to all of its line", () => {
  const { of, stage } = places(at("softmax"), LINE);
  expect(of.from(stage(1, -1, 1), at("softmax"))).toEqual([0, 2]);
  expect(of.from(stage(1, 0, 1), at("softmax"))).toEqual([1]);
});

test("neighbours in the source have numbers that follow each other", () => {
  const { of } = places(at("x_ptr", 2), at("relu"), LINE, at("softmax"), at("relu"));
  expect([LINE, at("softmax"), at("relu"), at("x_ptr", 2)].map((place) => of.numberOf(place))).toEqual([1, 2, 3, 4]);
  expect([of.numberOf(undefined), of.numberOf(at("+"))]).toEqual([0, 0]);
});
