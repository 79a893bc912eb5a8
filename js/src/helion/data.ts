/** Reads what `irwidget.views.helion.pack` writes. */

import type { LinkedKernel, LinkedStage } from "../schema";

/** Lines of a stage that came from any of some nodes, counted from 1. */
export function linesOf(stage: LinkedStage, nodes: ReadonlySet<number>): number[] {
  return stage.owners.flatMap((owner, i) => (nodes.has(owner) ? [i + 1] : []));
}

/** Numbers as ranges: 3, 10-11. */
export function ranges(numbers: readonly number[]): string {
  const parts: string[] = [];
  for (let i = 0; i < numbers.length;) {
    let end = i;
    while (numbers[end + 1] === numbers[end]! + 1) end++;
    parts.push(end > i ? `${numbers[i]!}\u2013${numbers[end]!}` : String(numbers[i]!));
    i = end + 1;
  }
  return parts.join(", ");
}

/** What a group is, in words: its source lines, nodes, and lines of a stage. */
export function describe(kernel: LinkedKernel, stage: LinkedStage, group: ReadonlySet<number>): string {
  if (group.size === 0) return "";
  const nodes = [...group].map((node) => kernel.nodes[node]!);
  const rows = [...new Set(nodes.map(({ row }) => row).filter((row) => row >= 0))].sort((a, b) => a - b);
  const source = rows.map((row) => kernel.source[row]![1]);
  const lines = linesOf(stage, group);
  const subject = nodes.length === 1 ? `${nodes[0]!.name} (${nodes[0]!.target})` : `${nodes.length} nodes`;
  const where = source.length === 0 ? "no source line" : `source line${source.length > 1 ? "s" : ""} ${ranges(source)}`;
  const there =
    lines.length > 0
      ? `line${lines.length > 1 ? "s" : ""} ${ranges(lines)} of ${stage.name}`
      : absent(kernel, stage, group);
  return `${subject}: ${where}, ${there}`;
}

/** Why a group has no lines in a stage: the pass lost the locations, or the nodes never had any. */
export function absent(kernel: LinkedKernel, stage: LinkedStage, group: ReadonlySet<number>): string {
  const somewhere = kernel.stages.some((other) => other.owners.some((owner) => group.has(owner)));
  return somewhere ? `no location in ${stage.name}` : "no MLIR of its own";
}
