/** Which ops the list shows, in which order; equal layers once. Nothing here draws. */

import type { SpyreOp, SpyreProgram } from "../schema";

/** A row: an op, and how often it is there; or, in place of equal layers, which of `repeats` they are. */
export type Listed =
  | { readonly op: SpyreOp; readonly times: number; readonly layers?: undefined }
  | { readonly op?: undefined; readonly times?: undefined; readonly layers: number };

/** Which equal layers an op is in, after the first of them; -1 for none. */
export function layersOf(program: SpyreProgram, op: number): number {
  return program.estimate.repeats.findIndex(
    ({ first, length, count }) => op >= first + length && op < first + length * count,
  );
}

const COSTS: Readonly<Record<string, (op: SpyreOp) => number>> = {
  us: (op) => op.time?.us ?? 0,
  idle: (op) => (op.time ? op.time.idle * op.time.us : 0),
  bytes: (op) => (op.time ? op.time.read + op.time.written + op.time.again : 0),
};

/** Whether an op has all words of a search: in OpFunc, buffer, module path, where it lies, what binds it. */
export function matches(program: SpyreProgram, op: SpyreOp, search: string): boolean {
  const place = program.buffers[op.buffer]?.place ?? "";
  const text = [op.func, op.buffer, op.module, op.aten, place, op.time?.binds ?? "", op.mark, op.unit];
  const said = text.join(" ").toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => said.includes(word));
}

/** `order` is launch, us, idle or bytes; `open` are the equal layers that are not folded. */
export function listed(program: SpyreProgram, order: string, search: string, open: ReadonlySet<number>): Listed[] {
  const cost = COSTS[order];
  const found: Listed[] = [];
  const folds = new Set<number>();
  for (const op of program.ops) {
    const layers = search.trim() ? -1 : layersOf(program, op.number);
    if (layers >= 0 && !folds.has(layers) && !cost) {
      folds.add(layers);
      found.push({ layers });
    }
    if (layers >= 0 && (cost !== undefined || !open.has(layers))) continue;
    if (!matches(program, op, search)) continue;
    const layer = program.estimate.repeats.find(
      ({ first, length }) => op.number >= first && op.number < first + length,
    );
    found.push({ op, times: cost && layer && !search.trim() ? layer.count : 1 });
  }
  if (cost) found.sort((a, b) => cost(b.op!) * b.times! - cost(a.op!) * a.times!);
  return found;
}
