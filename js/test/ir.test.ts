import { describe, expect, it } from "vitest";
import { colours, cut, defines, nameAt, nameBeside } from "../src/ir";

describe("cut", () => {
  it("gives each line to one symbol", () => {
    const names = ["", "a", "", "", "b", ""];
    expect(cut(Int32Array.of(0, 1, 2, 3, 4, 5), (i) => names[i]!)).toEqual([
      { name: "", from: 0, to: 1 },
      { name: "a", from: 1, to: 4 },
      { name: "b", from: 4, to: 6 },
    ]);
  });
});

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

describe("colours", () => {
  const tokens = (line: string, language: string) =>
    [...line.matchAll(colours(language))].map((match) => [
      Object.entries(match.groups!).find(([, text]) => text !== undefined)![0],
      match[0],
    ]);

  it("reads MLIR", () => {
    expect(tokens('  %0 = arith.constant dense<1.0> : tensor<2x?x3xf32> // "x"', "mlir")).toEqual([
      ["value", "%0"],
      ["op", "arith.constant"],
      ["keyword", "dense"],
      ["number", "1.0"],
      ["type", "tensor"],
      ["type", "f32"],
      ["comment", '// "x"'],
    ]);
  });
  it("takes a generic operation for one", () => {
    expect(tokens('  %0 = "tosa.const"() <{values = "a.b"}>', "mlir")).toEqual([
      ["value", "%0"],
      ["generic", '"tosa.const"'],
      ["string", '"a.b"'],
    ]);
  });
  it("reads LLVM IR", () => {
    expect(tokens("  %3 = fadd float %1, 1.0", "llvm").map(([kind]) => kind)).toEqual([
      "value",
      "op",
      "type",
      "value",
      "number",
    ]);
  });
  it("takes any line without effort", () => {
    for (const language of ["mlir", "llvm", "ptx", "python", "text"]) {
      for (const line of [
        '"'.repeat(20000),
        "%".repeat(20000),
        "a.".repeat(10000),
        "<".repeat(20000),
        "((((".repeat(5000),
      ]) {
        const started = performance.now();
        tokens(line, language);
        expect(performance.now() - started, `${language} ${line.slice(0, 4)}`).toBeLessThan(1500);
      }
    }
  });
});
