/** What `--check` has found, above everything else. */

import { h, OWN_KEYS } from "./dom";
import type { Trace } from "./dumps";

const SIGNS = { equal: "✓", differs: "✗", "not checked": "○" } as const;

/** The banner; null where nobody asked for a check. `show` goes to a stage. */
export function banner({ verdict, stages }: Trace, show: (stage: number) => void): HTMLElement | null {
  if (!verdict) return null;
  const { state, brief, reference, text, stage } = verdict;
  const label = stages[stage]?.label;
  const words = brief.replace(/^equal/, `equal to ${reference}`).replace(/^differs/, `differs from ${reference}`);
  const head = state === "not checked" ? text : words;
  const box = h(
    "div",
    { class: `irw-verdict irw-verdict-${state.replace(" ", "-")}`, role: "status" },
    h("b", {}, `${SIGNS[state]} ${head}`),
  );
  if (label !== undefined) {
    const title = "Show the first dump that is wrong, of those that were executed";
    const click = (): void => show(stage);
    box.append(h("button", { type: "button", title, ...OWN_KEYS, click }, `Wrong after ${stage} ${label}`));
  }
  if (text !== head) {
    box.append(h("details", {}, h("summary", { ...OWN_KEYS }, "Numbers"), h("p", {}, text)));
  }
  return box;
}
