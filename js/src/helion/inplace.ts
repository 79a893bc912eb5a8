/** The source in one column, with the MLIR of each line folded under it. */

import { h } from "../dom";
import { coloured } from "./column";
import { openings } from "../strings";
import type { LinkedKernel, LinkedStage } from "../schema";

/** The lines of the source; a line with MLIR is a disclosure. `open` says which start unfolded. */
export function inPlace(
  kernel: LinkedKernel,
  stage: LinkedStage,
  hidden: (node: number) => boolean,
  open: (node: number) => boolean,
): HTMLElement {
  const owned = kernel.nodes.map((): number[] => []);
  for (const [line, owner] of stage.owners.entries()) owned[owner]?.push(line);
  const ever = new Set(kernel.stages.flatMap(({ owners }) => owners));
  const quoted = openings(kernel.source.map(([, , text]) => text));
  const rows = kernel.source.map(([file, number, text], row) => {
    const nodes = kernel.nodes.flatMap((node, i) => (node.row === row && ever.has(i) && !hidden(i) ? [i] : []));
    const code = h("span", { class: "irw-k-code" });
    code.append(...coloured(text, "python", quoted[row]));
    const head = [h("span", { class: "irw-k-number" }, String(number)), code];
    const count = nodes.reduce((sum, node) => sum + owned[node]!.length, 0);
    if (nodes.length === 0) return h("div", { class: "irw-k-row irw-k-plain", title: file }, ...head);
    const said = count > 0 ? `${count} ${count === 1 ? "line" : "lines"}` : "no location";
    const summary = h(
      "summary",
      { class: "irw-k-row", "data-lm-suppress-shortcuts": "true" },
      ...head,
      h("span", { class: "irw-k-count" }, said),
    );
    const body = nodes.flatMap((node) => nodeLines(kernel, stage, node, owned[node]!));
    return h("details", { open: nodes.some(open) }, summary, h("div", { class: "irw-k-under" }, ...body));
  });
  return h("div", { class: "irw-k-place" }, ...rows);
}

function nodeLines(kernel: LinkedKernel, stage: LinkedStage, node: number, lines: readonly number[]): HTMLElement[] {
  const { name, text } = kernel.nodes[node]!;
  const note = lines.length === 0 ? [h("span", { class: "irw-k-count" }, "no location")] : [];
  const least = Math.min(...lines.map((line) => indentOf(kernel.table[stage.lines[line]!]!)));
  return [
    h(
      "div",
      { class: "irw-k-row irw-k-node", title: name },
      h("span", { class: "irw-k-code" }, ...coloured(text, "python")),
      ...note,
    ),
    ...lines.map((line) => {
      const code = h("span", { class: "irw-k-code" });
      code.append(...coloured(kernel.table[stage.lines[line]!]!.slice(least), stage.language));
      return h("div", { class: "irw-k-row" }, h("span", { class: "irw-k-number" }, String(line + 1)), code);
    }),
  ];
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}
