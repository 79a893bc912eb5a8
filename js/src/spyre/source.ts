/** The user's lines; those that ops come from are buttons. */

import { h, OWN_KEYS } from "../dom";
import type { SpyreOp, SpyreProgram } from "../schema";

const AROUND = 3;
const MOST = 120;

export function source(program: SpyreProgram, op: SpyreOp, chosen: (op: number) => void): HTMLElement {
  const [file, line] = op.line;
  const found = program.sources[file];
  if (!found || !found.text)
    return h(
      "p",
      { class: "irw-dim" },
      line ? `line ${line} of a file that is not here` : "This op has no line of its own.",
    );
  const lines = found.text.split("\n");
  const used = new Map<number, number[]>();
  for (const one of program.ops)
    if (one.line[0] === file) used.set(one.line[1], [...(used.get(one.line[1]) ?? []), one.number]);
  const numbers = [...used.keys()].filter((n) => Math.abs(n - line) < MOST);
  const first = Math.max(1, Math.min(...numbers) - AROUND);
  const last = Math.min(lines.length, Math.max(...numbers) + AROUND);
  const list = h("div", { class: "irw-s-source", role: "group", "aria-label": "Source" });
  for (let n = first; n <= last; n++) {
    const ops = used.get(n);
    const text = [h("span", { class: "irw-dim" }, String(n).padStart(4)), ` ${lines[n - 1] ?? ""}`];
    const lit = n === line ? "irw-s-line irw-s-lit" : "irw-s-line";
    if (!ops) list.append(h("div", { class: lit }, ...text));
    else
      list.append(
        h(
          "button",
          {
            type: "button",
            ...OWN_KEYS,
            class: lit,
            "aria-pressed": String(n === line),
            "data-key": `line ${n}`,
            click: () => chosen(ops[(ops.indexOf(op.number) + 1) % ops.length]!),
          },
          ...text,
          h("span", { class: "irw-dim" }, `  ${ops.length > 1 ? `${ops.length} ops` : "1 op"}`),
        ),
      );
  }
  return list;
}
