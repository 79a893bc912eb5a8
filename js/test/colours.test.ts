import { describe, expect, it } from "vitest";
import { effort } from "./effort";
import { colouredParts, colours } from "../src/colours";
import { openings } from "../src/strings";

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
  it.each([
    ["mlir", "  %2 = torch.prim.ListConstruct %a, %b", ["torch.prim.ListConstruct"]],
    ["mlir", "      torch_tensor_3_torch.float32: 5", []],
    ["mlir", "  %2 = call @erff(%1)", ["call"]],
    ["mlir", "  call_indirect %f()", ["call_indirect"]],
    ["sass", "        /*00a0*/              @!P0 LDG.E R8, [R2.64] ;", ["LDG.E"]],
    ["sass", "        /*0080*/                   EXIT ;", ["EXIT"]],
    ["spirv", "\t%61 = OpFunction %18 None %19", ["OpFunction"]],
    ["ptx", "\tcp.async.bulk.shared::cluster.global [%r1];", ["cp.async.bulk.shared::cluster.global"]],
  ])("has the operations of %s: %s", (language, line, found) => {
    expect(tokens(line, language).flatMap(([kind, text]) => (kind === "op" ? [text] : []))).toEqual(found);
  });
  it("gives a class to all that has a colour", () => {
    const read = (line: string, language: string) =>
      colouredParts(line, language).map(({ from, to, class: name }) => [name, line.slice(from, to)]);
    expect(read('%0 = "tosa.add"(%1) : tensor<4xbf16>', "mlir")).toEqual([
      ["irw-op", '"tosa.add"'],
      ["irw-type", "tensor"],
      ["irw-type", "bf16"],
    ]);
    expect(read('%0 = arith.addf "a" 1', "of nobody")).toEqual([["irw-string", '"a"']]);
  });
  it("reads Python's strings of several lines", () => {
    const lines = [
      'def f(x):  # not """',
      '    r"""Take x and',
      '    return it, with \'quotes\' and \\""" in it.',
      '    """',
      '    a = "it\'s", \'"""\'; return a',
      "    b = '''one''' + '''two",
      "is''' if x else None",
    ];
    const open = openings(lines);
    expect(open).toEqual(["", "", '"""', '"""', "", "", "'''"]);
    const read = lines.map((line, i) =>
      colouredParts(line, "python", open[i]).map(({ from, to, class: name }) => [name.slice(4), line.slice(from, to)]),
    );
    expect(read).toEqual([
      [
        ["op", "def"],
        ["comment", '# not """'],
      ],
      [["string", 'r"""Take x and']],
      [["string", lines[2]]],
      [["string", '    """']],
      [
        ["string", '"it\'s"'],
        ["string", '\'"""\''],
        ["op", "return"],
      ],
      [
        ["string", "'''one'''"],
        ["string", "'''two"],
      ],
      [
        ["string", "is'''"],
        ["op", "if"],
        ["op", "else"],
        ["keyword", "None"],
      ],
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
        const spent = effort(() => tokens(line, language));
        expect(spent, `${language} ${line.slice(0, 4)}`).toBeLessThan(1500);
      }
    }
  });
});
