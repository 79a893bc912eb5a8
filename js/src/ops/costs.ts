/** What a dump costs, as far as its text says it exactly: operations, memory that is allocated, copies, arithmetic. */

import type { Analysis } from "../analysis";
import type { Stage } from "../dumps";
import { type Op, outline } from "./outline";

/** Lines beyond which a dump is not read for this. */
const LONG = 200_000;

export interface Cost {
  readonly ops: number;
  readonly allocations: number;
  /** Bytes of all allocations, each once. */
  readonly bytes: number;
  /** Whether the text does not say some allocation's size: it is as many bytes, or more. */
  readonly more: boolean;
  readonly copies: number;
  /** Operations on floating-point numbers when each function runs once; null where the text does not say it. */
  readonly flops: number | null;
}

const ALLOCATIONS = new Set(["memref.alloc", "memref.alloca", "gpu.alloc", "bufferization.alloc_tensor"]);
const COPIES = new Set(["memref.copy", "linalg.copy", "gpu.memcpy", "llvm.intr.memcpy", "memref.dma_start"]);
/** Arithmetic on floating-point numbers; of vectors and tensors, on each element. */
const FLOATS =
  /^(?:arith\.(?:add|sub|mul|div|rem|neg|maximum|minimum|maxnum|minnum)f|math\.(?:absf|atan2?|ceil|copysign|cosh?|erfc?|exp2?|expm1|floor|log(?:10|1p|2)?|powf|fpowi|round(?:even)?|rsqrt|sinh?|sqrt|tanh?|tan|trunc|cbrt|acosh?|asinh?|atanh))$/;
/** Dialects whose other operations do no such arithmetic, or only what is known of them by name. */
const QUIET = /^(?:arith|memref|tensor|scf|affine|func|builtin|bufferization|index|ub|ml_program)\./;
/** Operations of linalg that do none. */
const STILL = /^linalg\.(?:fill|copy|transpose|broadcast|pack|unpack|yield|index)$/;

const BITS: Readonly<Record<string, number>> = { index: 64, bf16: 16, tf32: 32 };

/** Bytes that an element takes in memory, those that nobody uses included; NaN where its type is no plain one. */
function bytesOf(element: string): number {
  const part = /^complex<(\w+)>$/.exec(element);
  if (part) return 2 * bytesOf(part[1]!);
  const plain = /^(?:f|[su]?i)(\d+)/.exec(element);
  const bits = BITS[element] ?? (plain ? Number(plain[1]) : NaN);
  return 2 ** Math.ceil(Math.log2(Math.ceil(bits / 8)));
}

/** The shaped types of a text: their dims and elements. */
function* shaped(text: string): Generator<{ dims: number[]; element: string }> {
  for (const [, inside] of text.matchAll(/(?:tensor|memref|vector)<([^<>,]*(?:(?<=complex)<\w+>)?)/g)) {
    const [, dims, element] = /^((?:[\d?*]+x)*)(.*)$/.exec(inside!.replaceAll(/[[\]\s]/g, ""))!;
    yield { dims: Array.from(dims!.matchAll(/([^x]+)x/g), ([, dim]) => Number(dim)), element: element! };
  }
}

const product = (numbers: readonly number[]): number => numbers.reduce((all, one) => all * one, 1);

/** What a stage costs; null where it is no MLIR, or not here, or too long. */
export function costOf(analysis: Analysis, stage: Stage): Cost | null {
  if (!stage.ready || stage.syntax !== "mlir" || stage.lines.length > LONG) return null;
  const ops = outline(analysis, stage, { from: 0, to: stage.lines.length });
  let [allocations, bytes, copies, more] = [0, 0, 0, false];
  for (const { line, name } of ops) {
    if (COPIES.has(name)) copies++;
    if (!ALLOCATIONS.has(name)) continue;
    allocations++;
    const type = [...shaped(analysis.text(stage.lines[line]!))].at(-1);
    const size = type ? product(type.dims) * bytesOf(type.element) : NaN;
    if (Number.isNaN(size)) more = true;
    else bytes += size;
  }
  return { ops: ops.length, allocations, bytes, more, copies, flops: flopsOf(analysis, stage, ops) };
}

function flopsOf(analysis: Analysis, stage: Stage, ops: readonly Op[]): number | null {
  const text = (line: number): string => analysis.text(stage.lines[line]!);
  const maps = aliases(stage.lines.length, text);
  const constants = new Map<string, number>();
  /** How often each operation runs when its function does. */
  const times: number[] = [];
  let flops = 0;
  for (const [number, op] of ops.entries()) {
    const line =
      op.name === "linalg.generic" ? text(op.line).replace(ALIAS, (name) => maps.get(name) ?? name) : text(op.line);
    const constant = /^\s*(%[\w$.-]+) = arith\.constant (-?\d+) : (?:index|i\d+)$/.exec(line);
    if (constant) constants.set(constant[1]!, Number(constant[2]));
    if (op.symbol) constants.clear();
    const outer = op.parent >= 0 ? times[op.parent]! : 1;
    const inside = repeated(op.name, line, constants);
    times[number] = outer * inside;
    const own = arithmetic(op.name, line);
    if (own === null) return null;
    if (own > 0) flops += own * outer;
    if (Number.isNaN(flops)) return null;
  }
  return flops;
}

const ALIAS = /#[\w$.-]+/g;

/** The affine maps that are written once, above the module, by name. */
function aliases(lines: number, text: (line: number) => string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (let line = 0; line < lines; line++) {
    const [, name, map] = /^(#[\w$.-]+) = (affine_map<.*>)\s*$/.exec(text(line)) ?? [];
    if (name) found.set(name, map!);
  }
  return found;
}

/** How often what is inside of an operation runs when it does; NaN where the text does not say it. */
function repeated(name: string, line: string, constants: ReadonlyMap<string, number>): number {
  const value = (word: string | undefined): number =>
    word === undefined ? NaN : /^-?\d+$/.test(word) ? Number(word) : (constants.get(word) ?? NaN);
  const trips = (from: number, to: number, step: number): number => Math.max(0, Math.ceil((to - from) / step));
  switch (name) {
    case "builtin.module":
    case "func.func":
      return 1;
    case "scf.for":
    case "affine.for": {
      const found = /= ([%\w$.-]+) to ([%\w$.-]+)(?: step ([%\w$.-]+))?/.exec(line);
      return found ? trips(value(found[1]), value(found[2]), found[3] ? value(found[3]) : 1) : NaN;
    }
    case "scf.parallel": {
      const found = /= \(([^)]*)\) to \(([^)]*)\) step \(([^)]*)\)/.exec(line);
      if (!found) return NaN;
      const [from, to, step] = found.slice(1).map((list) => list.split(",").map((word) => value(word.trim())));
      return product(from!.map((first, i) => trips(first, to![i]!, step![i]!)));
    }
    case "linalg.generic":
      return points(line);
    default:
      return NaN;
  }
}

/** How many points the iteration space of a linalg.generic has: each dim from an operand that it indexes by itself. */
function points(line: string): number {
  const maps = [...line.matchAll(/affine_map<\(([^)]*)\)(?:\[[^\]]*\])? -> \(([^)]*)\)>/g)];
  const operands = /\bins\((.*)$/.exec(line)?.[1] ?? /\bouts\((.*)$/.exec(line)?.[1] ?? "";
  const types = [...typesOf(operands)].slice(0, maps.length);
  if (maps.length === 0 || types.length < maps.length) return NaN;
  const dims = maps[0]![1]!.split(",").map((dim) => dim.trim());
  const sizes = new Map<string, number>();
  for (const [i, [, , results]] of maps.entries()) {
    const indexed = results!.split(",").map((result) => result.trim());
    for (const [j, result] of indexed.entries()) if (dims.includes(result)) sizes.set(result, types[i]!.dims[j] ?? NaN);
  }
  return product(dims.map((dim) => (dim === "" ? 1 : (sizes.get(dim) ?? NaN))));
}

/** The types of the operands of ins(...) and outs(...), in order; scalars have no dims. */
function* typesOf(operands: string): Generator<{ dims: number[] }> {
  for (const [, list] of operands.matchAll(
    /:\s*((?:(?:tensor|memref|vector)<(?:[^<>]|<[^<>]*>)*>|[a-z]\w*)(?:, (?:(?:tensor|memref|vector)<(?:[^<>]|<[^<>]*>)*>|[a-z]\w*))*)\)/g,
  ))
    for (const [one] of list!.matchAll(/(?:tensor|memref|vector)<(?:[^<>]|<[^<>]*>)*>|[a-z]\w*/g))
      yield [...shaped(one)][0] ?? { dims: [] };
}

/** The arithmetic that an operation does by itself, each time; null where its name and text do not say it. */
function arithmetic(name: string, line: string): number | null {
  if (FLOATS.test(name) || name === "math.fma") {
    const type = [...shaped(line)].at(-1);
    return (name === "math.fma" ? 2 : 1) * (type ? product(type.dims) : 1);
  }
  if (STILL.test(name) || name === "linalg.generic") return 0;
  if (name === "func.call") return null;
  if (QUIET.test(name)) return 0;
  if (/^linalg\.(?:batch_)?matmul(?:_transpose_[ab])?$/.test(name)) {
    const [a, , c] = [...shaped(line)];
    if (!a || !c || line.includes("indexing_maps") || !/^b?f\d/.test(c.element)) return null;
    const inner = name.endsWith("_a") ? a.dims.at(-2)! : a.dims.at(-1)!;
    return 2 * inner * product(c.dims);
  }
  return null;
}
