import { describe, expect, it } from "vitest";
import { defines, nameAt, nameBeside, wordIn } from "../src/names";

describe("the name under the cursor", () => {
  it.each([
    ["  %12 = f %3, %4#1", 11, { name: "%3", from: 10 }],
    ["  %12 = f %3, %4#1", 2, { name: "%12", from: 2 }],
    ["  %12 = f %3, %4#1", 5, { name: "%12", from: 2 }],
    ["  %12 = f %3, %4#1", 6, null],
    ["  %12 = f %3, %4#1", 1, null],
    ["  %12 = f %3, %4#1", 16, { name: "%4", from: 14 }],
    ["  cf.br ^bb3(%1 : i64)", 10, { name: "^bb3", from: 8 }],
    ["  call @f(%1)", 8, { name: "@f", from: 7 }],
    ["  call @f(%1)", 3, null],
    ['  call @"a b"(%"c d", %e.1-x$)', 9, { name: '@"a b"', from: 7 }],
    ['  call @"a b"(%"c d", %e.1-x$)', 14, { name: '%"c d"', from: 14 }],
    ['  call @"a b"(%"c d", %e.1-x$)', 29, { name: "%e.1-x$", from: 22 }],
    ["", 0, null],
  ])("of %s at %i", (line, column, name) => expect(nameAt(line, column)).toEqual(name));
});

describe("where a name is defined", () => {
  it.each([
    ["  %1 = arith.addf %2, %3 : f32", "%1", true],
    ["  %1 = arith.addf %2, %3 : f32", "%2", false],
    ["  %1 = arith.addf %2, %3 : f32", "%9", false],
    ["  %1:2 = scf.if %2", "%1", true],
    ["  %11 = f %1", "%1", false],
    ["  %1, %2 = f %3", "%2", true],
    ["  x.y %1 {a = 3}", "%1", false],
    ["= %1", "%1", false],
    ["%1", "%1", false],
    ["  func.func @main(%arg0: f32, %arg1: f32) {", "%arg1", true],
    ["  func.func @main( %arg0: f32) {", "%arg0", true],
    ["  func.func @main(%arg0:f32) {", "%arg0", false],
    ["  x.y %arg0: f32", "%arg0", false],
    ["  func.func @main(%arg0: f32) {", "@main", true],
    ["  func.func @main(%arg0: f32) {", "@mai", false],
    ["  call @main(%1)", "@main", false],
    ["  ^bb1(%5: i64):", "%5", true],
    ["  ^bb1(%5: i64):", "^bb1", true],
    ["  cf.br ^bb1(%5 : i64)", "^bb1", false],
    ["  cf.br ^bb1(%5 : i64)", "%5", false],
    ["define void @f(ptr %0, i32 %1) {", "%0", true],
    ["define void @f(ptr %0, i32 %1 ) {", "%1", true],
    ["define void @f(ptr %0 x) {", "%0", false],
    ["  call void @define(ptr %0)", "%0", false],
    ["xdefine void @f(ptr %0)", "%0", false],
  ])("%s defines %s: %s", (line, name, expected) => {
    expect(defines(line, name, /func @(\w+)/.exec(line)?.[1] ?? "")).toBe(expected);
  });
});

it.each([
  ["  %1 = f %2, %3", 13, "  %7 = f %8, %9", "%9"],
  ["  cf.br ^bb1(%2)", 8, "  cf.br ^bb4(%2)", "^bb4"],
  ["  f %1", 4, "  f", null],
  ["  f %1", 5, "  f %2", null],
])("%s at %i is beside %s", (line, from, other, name) => expect(nameBeside(line, from, other)).toBe(name));

it.each([
  ["%1 %11", "%1", true],
  ["%11", "%1", false],
  ["%11, %1", "%1", true],
  ["%1.x %1-y %1$", "%1", false],
  ["a%1", "%1", true],
  ["", "%1", false],
])("%j has the whole word %s: %s", (line, name, expected) => expect(wordIn(line, name)).toBe(expected));
