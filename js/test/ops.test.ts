import { describe, expect, it } from "vitest";
import { effort } from "./effort";
import { Analysis } from "../src/analysis";
import { within as part } from "../src/diff";
import type { Stage } from "../src/dumps";
import { changes, type Compared, parsed, sentence } from "../src/ops/changes";
import { costOf } from "../src/ops/costs";
import { outline, within } from "../src/ops/outline";
import { placed, region } from "../src/ops/region";
import { lowering } from "./lowering";

function compared(before: string[], after: string[], name = "pass"): { analysis: Analysis; compared: Compared } {
  const dumps = lowering(before, after);
  const [left, right] = dumps.traces[0]!.stages as [Stage, Stage];
  const analysis = new Analysis(dumps);
  const parts = [
    { from: 0, to: before.length },
    { from: 0, to: after.length },
  ] as const;
  const hunks = part(analysis.diff(left, right, true), ...parts);
  return { analysis, compared: { left, right: { ...right, name }, parts, hunks } };
}

const MAIN = [
  "builtin.module {",
  "  func.func @f(%a) {",
  "    %0 = arith.constant 1 : i32",
  "    scf.for %i = %a to %a {",
  "      %1 = arith.addi %0, %i : i32",
  "      test.use %1 : i32",
  "    }",
  "    test.use %0 : i32",
  "  }",
  "}",
];

describe("the tree of operations", () => {
  const dumps = lowering(MAIN);
  const [stage] = dumps.traces[0]!.stages as [Stage];
  const analysis = new Analysis(dumps);
  const ops = outline(analysis, stage, { from: 0, to: MAIN.length });

  it("nests as the text does", () => {
    expect(ops.map(({ name, depth, symbol }) => [depth, name, symbol])).toEqual([
      [0, "builtin.module", ""],
      [1, "func.func", "f"],
      [2, "arith.constant", ""],
      [2, "scf.for", ""],
      [3, "arith.addi", ""],
      [3, "test.use", ""],
      [2, "test.use", ""],
    ]);
    expect(within(ops, 1).map((i) => ops[i]!.line)).toEqual([2, 3, 7]);
    expect(within(ops, -1)).toEqual([0]);
    expect(ops[3]!.end).toBe(6);
  });

  it("is a graph of what uses what, also inside", () => {
    const { nodes, edges } = region(analysis, stage, ops, 1);
    expect(nodes).toEqual([2, 3, 6]);
    expect(edges.map(([from, to]) => `${from}>${to}`).sort()).toEqual(["0>1", "0>2"]);
    expect(region(analysis, stage, ops, 3).edges).toEqual([[0, 1]]);
  });

  it("puts users below what they use, thousands of them in no time", () => {
    const edges = Array.from({ length: 5000 }, (_, i) => [Math.floor(i / 2), i] as const).filter(([a, b]) => a !== b);
    let made = placed(1, []);
    expect(effort(() => (made = placed(5000, edges)))).toBeLessThan(2000);
    const { y, width, height } = made;
    for (const [from, to] of edges) expect(y[from]!).toBeLessThan(y[to]!);
    expect(width * height).toBeGreaterThan(0);
  });
});

describe("what a pass did", () => {
  it("is said operation by operation", () => {
    const { analysis, compared: pair } = compared(
      [
        "func @f(%a)",
        "  %0 = a.x %a {k = 1 : i32, u} : f32",
        "  b.y %0",
        "  c.z %0",
        "  d.w",
        "  e.e",
        "  f.f",
        "  e.e2",
      ],
      [
        "func @f(%a)",
        "  %0 = a.x %a {k = 2 : i32, v} : f64",
        "  c.z %a",
        "  d.w",
        "  f.f",
        "  e.e2",
        "  e.e",
        "  g.new",
      ],
    );
    expect(changes(analysis, pair).map(({ kind, op, what }) => [kind, op, what])).toEqual([
      [
        "changed",
        "a.x",
        ["attribute k: 1 : i32 → 2 : i32", "attribute u removed: unit", "attribute v added: unit", "type: f32 → f64"],
      ],
      ["changed", "c.z", ["operands"]],
      ["removed", "b.y", []],
      ["moved", "e.e", []],
      ["added", "g.new", []],
    ]);
  });

  it("shows of long texts the part that differs", () => {
    const said = (before: string, after: string): string => {
      const { analysis, compared: pair } = compared([`  a.x {k = ${before}}`], [`  a.x {k = ${after}}`]);
      return changes(analysis, pair)[0]!.what[0]!.replace("attribute k: ", "");
    };
    const long = "0123456789".repeat(9);
    expect(said(`"${long}a"`, `"${long}b"`)).toBe('…567890123456789a" → …567890123456789b"');
    expect(said(`"a${long}"`, `"b${long}"`)).toBe(`"a${long.slice(0, 55)}… → "b${long.slice(0, 55)}…`);
    expect(said('"0123456789012345678901234567890123456789a"', '"0123456789012345678901234567890123456789b"')).toBe(
      '"0123456789012345678901234567890123456789a" → "0123456789012345678901234567890123456789b"',
    );
  });

  it("is of one function and the operations in it, where the lines have only a symbol, too", () => {
    const dumps = lowering(["func @f {", "  a.x", "  b.y", "}", "func @g {", "  a.x", "}"]);
    const [stage] = dumps.traces[0]!.stages as [Stage];
    const ops = outline(new Analysis(dumps), stage, { from: 0, to: 7 });
    expect(ops.map(({ name, symbol, parent, depth, end }) => [name, symbol, parent, depth, end])).toEqual([
      ["func", "f", -1, 0, 3],
      ["a.x", "", 0, 1, 2],
      ["b.y", "", 0, 1, 3],
      ["func", "g", -1, 0, 5],
      ["a.x", "", 3, 1, 5],
    ]);
    expect([-1, 0, 1, 3].map((parent) => within(ops, parent))).toEqual([[0, 3], [1, 2], [], [4]]);
  });

  it("is not said to have changed where nothing tells which became which", () => {
    const told = (before: string[], after: string[]): unknown[] => {
      const { analysis, compared: pair } = compared(before, after);
      return changes(analysis, pair).map(({ kind, op, what }) => [kind, op, ...what]);
    };
    expect(told(["  a.x 1"], ["  a.x 2", "  a.x 3"])).toEqual([
      ["removed", "a.x"],
      ["added", "a.x"],
      ["added", "a.x"],
    ]);
    expect(told(["  a.x one"], ["  a.x two"])).toEqual([["changed", "a.x", "text"]]);
  });

  it("reads attributes and types past strings and brackets", () => {
    const { attributes, types } = parsed(
      '%0 = a.b(%x) {m = affine_map<(d0) -> (d0)>, s = "}, x = 1", n = {a = 1}} : (f32) -> f32 {',
    );
    expect([...attributes]).toEqual([
      ["m", "affine_map<(d0) -> (d0)>"],
      ["s", '"}, x = 1"'],
      ["n", "{a = 1}"],
    ]);
    expect(types).toBe("(f32) -> f32");
  });

  it("takes the signature of a function for its type", () => {
    const types = (line: string): string => parsed(line).types;
    expect(
      types("  func.func private @f(%arg0: tensor<2x3xf32>, %arg1: i1) -> (f32, i1) attributes {a = 1 : i32} {"),
    ).toBe("(tensor<2x3xf32>, i1) -> (f32, i1)");
    expect(types('llvm.func @"a b"(!llvm.ptr, ...) -> i32')).toBe("(!llvm.ptr, ...) -> i32");
    expect(types("  %0 = func.call @g(%1) : (f32) -> f32")).toBe("(f32) -> f32");
  });

  const said = (before: string[], after: string[], name?: string): string => {
    const { analysis, compared: pair } = compared(before, after, name);
    return sentence(analysis, pair);
  };
  const generic = (...held: string[]): string[] => [
    "  linalg.generic {",
    ...held.map((op) => `    ${op} %b`),
    "    linalg.yield",
    "  }",
  ];

  it("is said in a sentence of what there is more and less of", () => {
    expect(said(["  a.x", "  a.x", "  b.y"], ["  b.y", "  b.y", "  c.z"])).toBe("removed 2 a.x; added 1 b.y, 1 c.z");
    const many = ["  a.a", "  a.b", "  a.c", "  a.d", "  a.e", "  a.e", "  a.e"];
    expect(said(many, ["  b.y"])).toBe("removed 3 a.e, 1 a.a, 1 a.b and 2 ops of 2 other kinds; added 1 b.y");
    expect(said([...many, "  a.c", "  a.d"], [])).toBe("removed 3 a.e, 2 a.c, 2 a.d and 2 ops of 2 other kinds");
    expect(said([...many, ...many], [])).toBe("removed 6 a.e, 2 a.a, 2 a.b and 4 ops of 2 other kinds");
    expect(said(many.slice(0, 4), []), "one more is named").toBe("removed 1 a.a, 1 a.b, 1 a.c, 1 a.d");
    expect(said(["  a.x"], ["  a.x"])).toBe("");
    expect(said(["  a.x", "  scf.yield"], ["  a.x"])).toBe("");
  });

  it("does not count what the text of a named operation hides", () => {
    expect(said(["  linalg.matmul"], generic("arith.mulf", "arith.addf"))).toBe(
      "removed 1 linalg.matmul; added 1 linalg.generic; arith not counted",
    );
    expect(said(generic("arith.mulf"), ["  arith.mulf", "  scf.for"])).toBe(
      "removed 1 linalg.generic; added 1 scf.for",
    );
    const named = ["  linalg.fill", "  linalg.matmul", "  math.exp"];
    expect(said(["  arith.mulf", ...named], named.slice(0, 1))).toBe(
      "removed 1 linalg.matmul; arith, math not counted",
    );
  });

  it("speaks of fusion only where all bodies are in the fewer ones, and the pass is one for that", () => {
    const [two, one] = [
      [...generic("arith.addf"), ...generic("arith.mulf"), "  tensor.empty"],
      generic("arith.addf", "arith.mulf"),
    ];
    expect(said(two, one, "linalg-fuse-elementwise-ops")).toBe("fused 2 linalg.generic into 1; removed 1 tensor.empty");
    expect(said(two, one, "canonicalize")).toBe("removed 1 linalg.generic, 1 tensor.empty");
    expect(said(two, generic("arith.addf"), "linalg-fuse-elementwise-ops")).toBe(
      "removed 1 arith.mulf, 1 linalg.generic, 1 tensor.empty",
    );
    expect(said([...two, ...generic()], one, "linalg-fuse-elementwise-ops"), "an empty one may just have gone").toBe(
      "removed 2 linalg.generic, 1 tensor.empty",
    );
  });
});

describe("what a dump costs", () => {
  const cost = (...lines: string[]) => {
    const dumps = lowering(lines);
    return costOf(new Analysis(dumps), dumps.traces[0]!.stages[0]!)!;
  };

  it("is memory, where sizes are in the text", () => {
    const known = "  %0 = memref.alloc() {alignment = 64 : i64} : memref<8x4xf32>";
    const open = "  %1 = memref.alloc(%n) : memref<?x4xf32>";
    expect(cost(known, "  memref.copy %0, %1 : memref<8x4xf32> to memref<8x4xf32>")).toMatchObject({
      allocations: 1,
      bytes: 128,
      more: false,
      copies: 1,
    });
    expect(cost(known, open)).toMatchObject({ allocations: 2, bytes: 128, more: true });
    const copies = ["memref.copy", "linalg.copy", "gpu.memcpy", "memref.dma_start", "linalg.fill"];
    expect(cost(...copies.map((op, i) => `  ${op} %${i}, %${i + 1}`)).copies).toBe(4);
  });

  it("is arithmetic, as often as the loops around it run", () => {
    const loop = ["    scf.for %i = %c0 to %c8 step %c2 {", "      %1 = arith.mulf %0, %0 : f32", "    }"];
    const bounds = [0, 8, 2].map((n) => `    %c${n} = arith.constant ${n} : index`);
    expect(cost("func.func @f(%a) {", ...bounds, ...loop, "}").flops).toBe(4);
    expect(cost("func.func @f(%a) {", ...bounds.slice(1), ...loop, "}").flops, "a bound that is not known").toBe(null);
    expect(cost("  %1 = arith.addf %0, %0 : vector<4x2xf32>").flops).toBe(8);
  });

  it("is that of linalg, from its shapes", () => {
    const types = "ins(%0, %1 : tensor<8x16xf32>, tensor<16x4xf32>) outs(%2 : tensor<8x4xf32>) -> tensor<8x4xf32>";
    expect(cost(`  %3 = linalg.matmul ${types}`).flops).toBe(2 * 8 * 16 * 4);
    expect(cost(`  %3 = linalg.matmul ${types.replaceAll("f32", "i32")}`).flops).toBe(null);
    const maps = "indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>]";
    const reduce = [
      `  linalg.generic {${maps}} ins(%0 : tensor<8x16xf32>) outs(%1 : tensor<8xf32>) {`,
      "    %4 = arith.addf %in, %out : f32",
      "    linalg.yield %4 : f32",
      "  } -> tensor<8xf32>",
    ];
    expect(cost(...reduce).flops).toBe(8 * 16);
    expect(cost(...reduce.map((line) => line.replace("8x16", "?x16"))).flops, "8 is known from the other").toBe(8 * 16);
    expect(cost(...reduce.map((line) => line.replaceAll("16", "?"))).flops).toBe(null);
    const named = ["#map = affine_map<(d0, d1) -> (d0, d1)>", "#map1 = affine_map<(d0, d1) -> (d0)>"];
    const aliased = reduce.map((line) => line.replace(maps, "indexing_maps = [#map, #map1]"));
    expect(cost(...named, ...aliased).flops).toBe(8 * 16);
    expect(cost(...aliased).flops, "maps that are written nowhere").toBe(null);
    expect(cost("  %0 = torch.aten.mm %a, %b : f32").flops, "of a dialect that is not known").toBe(null);
  });

  it.each([
    ["memref<4xbf16>", 8],
    ["memref<3xui8>", 3],
    ["memref<3xsi16>", 6],
    ["memref<9xi1>", 9],
    ["memref<3xi4>", 3],
    ["memref<5xi24>", 20],
    ["memref<2xf80>", 32],
    ["memref<5xcomplex<f32>>", 40],
    ["memref<2xindex>", 16],
    ["memref<f64>", 8],
    ["memref<[4]x2xf32>", 32],
    ["memref<2 x 3 x f32>", 24],
  ])("counts the bytes of a %s", (type, bytes) => {
    expect(cost(`  %0 = memref.alloc() : ${type}`)).toMatchObject({ ops: 1, allocations: 1, bytes, more: false });
  });

  it.each([["!some"], ["memref<4x!some>"], ["memref<4xcomplex>"], ["memref<*xf32>"], ["memref<4x?xf32>"]])(
    "does not know those of a %s",
    (type) => {
      expect(cost(`  %0 = memref.alloc() : ${type}`)).toMatchObject({ allocations: 1, bytes: 0, more: true });
    },
  );

  it("takes what is allocated from the end of the line", () => {
    const copied = "  %0 = bufferization.alloc_tensor() copy(%a : tensor<2xf32>) : tensor<8xf32>";
    expect(cost(copied)).toMatchObject({ allocations: 1, bytes: 32 });
  });

  it("is known of MLIR that is here alone", () => {
    const dumps = lowering(["  a.b"]);
    const stage = dumps.traces[0]!.stages[0]!;
    const of = (more: object) => costOf(new Analysis(dumps), { ...stage, ...more });
    expect([of({}) === null, of({ syntax: "llvm" }), of({ ready: false })]).toEqual([false, null, null]);
  });

  const constants = [0, 7, 2].map((n) => `    %c${n} = arith.constant ${n} : index`);
  const body = "      %1 = arith.mulf %0, %0 : f32";
  it.each([
    ["an incomplete round counts", "scf.for %i = %c0 to %c7 step %c2 {", 4],
    ["a loop that does not run", "scf.for %i = %c7 to %c2 step %c2 {", 0],
    ["bounds in the text", "affine.for %i = 1 to 5 {", 4],
    ["a step in the text", "affine.for %i = 0 to 5 step 2 {", 3],
    ["several at once", "scf.parallel (%i, %j) = (%c0, %c2) to (%c2, %c7) step (%c2, %c2) {", 3],
    ["a condition", "scf.if %c {", null],
    ["a loop that nothing counts", "scf.while (%a = %b) : (i32) -> i32 {", null],
    ["a call", "func.call @g() : () -> ()", null],
    ["what is not known", "gpu.launch {", null],
  ])("of loops: %s", (_, head, flops) => {
    expect(cost("func.func @f(%a) {", ...constants, `    ${head}`, body, "    }", "}").flops).toBe(flops);
  });

  it("of loops in loops is the product, and a function has its own constants", () => {
    const inner = ["    affine.for %i = 0 to 3 {", "      affine.for %j = 0 to 5 {", `    ${body}`, "      }", "    }"];
    expect(cost("func.func @f(%a) {", ...inner, "}").flops).toBe(15);
    const loop = ["    scf.for %i = %c0 to %c7 step %c2 {", body, "    }", "}"];
    const second = ["func.func @g(%c7) {", ...[0, 2].map((at) => constants[at === 0 ? 0 : 2]!), ...loop];
    expect(cost("func.func @f(%a) {", ...constants, ...loop, ...second).flops).toBe(null);
  });

  it("is none in what nobody counts where there is none", () => {
    for (const head of ["scf.if %c {", "scf.while (%a = %b) : (i32) -> i32 {"])
      expect(cost(`  ${head}`, "    %1 = arith.addi %0, %0 : i32", "  }", "  arith.addf %0, %0 : f32").flops).toBe(1);
  });

  it("of single operations is by their kind and shape", () => {
    const flops = (line: string): number | null => cost(`  %3 = ${line}`).flops;
    expect(flops("math.fma %0, %1, %2 : vector<4xf32>")).toBe(8);
    expect(flops("math.exp %0 : f32")).toBe(1);
    expect(flops("arith.addi %0, %1 : i32")).toBe(0);
    expect(flops("linalg.fill ins(%0 : f32) outs(%1 : tensor<8xf32>) -> tensor<8xf32>")).toBe(0);
    expect(flops("func.call @g() : () -> ()")).toBe(null);
    const a = "ins(%0, %1 : tensor<16x8xf32>, tensor<16x4xf32>) outs(%2 : tensor<8x4xf32>)";
    expect(flops(`linalg.matmul_transpose_a ${a}`)).toBe(2 * 8 * 16 * 4);
    const b = "ins(%0, %1 : tensor<8x16xf32>, tensor<4x16xf32>) outs(%2 : tensor<8x4xf32>)";
    expect(flops(`linalg.matmul_transpose_b ${b}`)).toBe(2 * 8 * 16 * 4);
    expect(flops(`linalg.matmul indexing_maps = [#map, #map1, #map2] ${b}`), "maps may turn it").toBe(null);
    const batch = "ins(%0, %1 : tensor<3x8x16xf16>, tensor<3x16x4xf16>) outs(%2 : tensor<3x8x4xf32>)";
    expect(flops(`linalg.batch_matmul ${batch}`)).toBe(2 * 3 * 8 * 16 * 4);
  });

  it("of an operation without loops is once, and without types for its maps is not known", () => {
    const generic = (maps: string, types: string): (number | null)[] => [
      cost(`  linalg.generic {indexing_maps = [${maps}]} ${types} {`, "    %4 = arith.addf %in, %out : f32", "  }")
        .flops,
    ];
    const one = "affine_map<() -> ()>";
    expect(generic(`${one}, ${one}`, "ins(%0 : tensor<f32>) outs(%1 : tensor<f32>)")).toEqual([1]);
    const row = "affine_map<(d0) -> (d0)>";
    expect(generic(`${row}, ${row}`, "outs(%1 : tensor<8xf32>)")).toEqual([null]);
    expect(generic(row, "outs(%1 : tensor<8xf32>)")).toEqual([8]);
  });
});
