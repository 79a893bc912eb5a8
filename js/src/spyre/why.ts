/** Why an op is divided and placed as it is, and what the other candidates would have cost. */

import { h } from "../dom";
import { table } from "./cores";
import type { SpyreOp } from "../schema";

export function reasons(op: SpyreOp): HTMLElement {
  const out: Node[] = op.why.map(({ about, text }) =>
    h("p", { class: `irw-s-why irw-s-why-${about}` }, h("b", {}, `${about} `), text),
  );
  const division = op.division;
  if (division && division.candidates.length > 0) {
    const most = Math.max(...division.candidates.map(({ cost }) => cost));
    const rows = division.candidates.map((c, i) => {
      const parts = (
        [
          ["compute", c.compute],
          ["memory", c.memory],
          ["partial", c.partial_sums],
          ["tie", c.tie],
        ] as const
      ).map(([name, value]) => {
        const part = h("span", { class: `irw-s-term irw-s-term-${name}`, title: `${name} ${value} µs` });
        part.style.width = `${(100 * value * c.batch) / most}%`;
        return part;
      });
      return [
        `${i === 0 && division.source === "cost model" ? "✓ " : ""}${Object.entries(c.splits)
          .map(([v, n]) => `${v}/${n}`)
          .join(" ")}`,
        String(c.cores),
        `${c.cost}`,
        String(c.compute),
        String(c.memory),
        String(c.partial_sums),
        String(c.tie),
        `×${c.batch}`,
        h("span", { class: "irw-s-cost", "aria-hidden": "true" }, ...parts),
      ];
    });
    const more = division.count - division.candidates.length;
    out.push(
      table(
        "Candidates of the cost model",
        ["split", "cores", "µs", "compute", "HBM", "partial sums", "tie-break", "batch", ""],
        rows,
        "irw-s-left",
      ),
      h("p", { class: "irw-dim" }, more > 0 ? `and ${more} more candidates, none cheaper` : "these are all"),
    );
  } else if (division) {
    out.push(
      h(
        "p",
        { class: "irw-dim" },
        "The cost model speaks of matrix multiplications only; other ops take the first split that fits.",
      ),
    );
  }
  return h("div", {}, ...out);
}
