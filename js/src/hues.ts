/** The colour of a dialect: the same in every view, whatever else is on the screen. */

/** How many colours there are; the style sheet has as many. */
export const HUES = 11;

/** Dialects that often occur together have colours of their own; of others the name decides. */
const KNOWN: readonly (readonly string[])[] = [
  ["torch", "gpu", "hir"],
  ["linalg", "tosa", "stablehlo", "tt"],
  ["arith", "spirv", "bundle"],
  ["tensor", "ttg", "nvvm"],
  ["memref", "chlo", "rocdl"],
  ["scf", "affine", "ttng"],
  ["func", "builtin", "irdl"],
  ["math", "shape", "nvgpu"],
  ["llvm", "call"],
  ["cf", "bufferization", "br"],
  ["vector", "torch_c", "ml_program", "amdgpu"],
];

const numbers = new Map(KNOWN.flatMap((names, hue) => names.map((name): [string, number] => [name, hue])));

/** The number of a dialect's colour. */
export function hueOf(dialect: string): number {
  let hue = numbers.get(dialect);
  if (hue === undefined) {
    let hash = 2166136261;
    for (let i = 0; i < dialect.length; i++) hash = Math.imul(hash ^ dialect.charCodeAt(i), 16777619);
    numbers.set(dialect, (hue = (hash >>> 0) % HUES));
  }
  return hue;
}
