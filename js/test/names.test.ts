import { describe, expect, it } from "vitest";
import { defines, nameAt, nameBeside, wordIn } from "../src/names";

describe("names", () => {
  it.each([
    ["  %12 = f %3, %4#1", 11, "%3"],
    ["  %12 = f %3, %4#1", 2, "%12"],
    ["  cf.br ^bb3(%1 : i64)", 10, "^bb3"],
    ["  call @f(%1)", 8, "@f"],
    ["  call @f(%1)", 3, undefined],
  ])("%s at %i", (line, column, name) => expect(nameAt(line, column)?.name).toBe(name));

  it.each([
    ["  %1 = arith.addf %2, %3 : f32", "%1", true],
    ["  %1 = arith.addf %2, %3 : f32", "%2", false],
    ["  %1:2 = scf.if %2", "%1", true],
    ["  %11 = f %1", "%1", false],
    ["  func.func @main(%arg0: f32, %arg1: f32) {", "%arg1", true],
    ["  func.func @main(%arg0: f32) {", "@main", true],
    ["  ^bb1(%5: i64):", "%5", true],
    ["  ^bb1(%5: i64):", "^bb1", true],
    ["  cf.br ^bb1(%5 : i64)", "^bb1", false],
    ["  cf.br ^bb1(%5 : i64)", "%5", false],
  ])("%s defines %s: %s", (line, name, expected) =>
    expect(defines(line, name, /func @(\w+)/.exec(line)?.[1] ?? "")).toBe(expected),
  );
});

it.each([
  ["  %1 = f %2, %3", 13, "  %7 = f %8, %9", "%9"],
  ["  cf.br ^bb1(%2)", 8, "  cf.br ^bb4(%2)", "^bb4"],
])("%s at %i is beside %s", (line, from, other, name) => expect(nameBeside(line, from, other)).toBe(name));
