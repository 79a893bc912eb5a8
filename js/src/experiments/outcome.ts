/** Two lowerings side by side: what they come to, in numbers, and pass by pass. */

import { h, OWN_KEYS } from "../dom";
import type { ComparedPass, ComparisonOutcome } from "../schema";

export interface OutcomeWords {
  readonly left: string;
  readonly right: string;
  readonly states: Readonly<Record<ComparedPass["state"], string>>;
}

export const OF_EXPERIMENT: OutcomeWords = {
  left: "before",
  right: "here",
  states: {
    same: "same",
    differs: "differs",
    "only left": "not run here",
    "only right": "only here",
    "not compared": "not compared",
  },
};
export const OF_TWO: OutcomeWords = {
  left: "left",
  right: "right",
  states: { ...OF_EXPERIMENT.states, "only left": "only left", "only right": "only right" },
};

export interface OutcomeHooks {
  /** Show a pass: the dumps of both sides; -1 for none. */
  readonly pair: (left: number, right: number) => void;
  /** Whether the passes are listed, and who is told when the reader changes that. */
  readonly open: boolean;
  readonly toggled: (open: boolean) => void;
}

/** The facts of both, and how each pass compares. */
export function outcome({ facts, passes }: ComparisonOutcome, words: OutcomeWords, hooks: OutcomeHooks): HTMLElement[] {
  const head = h("tr", {}, ...["", words.left, words.right].map((text) => h("th", { scope: "col" }, text)));
  const rows = facts.map(([name, left, right]) =>
    h(
      "tr",
      { class: left === right ? "" : "irw-exp-other" },
      h("th", { scope: "row" }, name.replaceAll("_", " ")),
      h("td", {}, left),
      h("td", {}, right),
    ),
  );
  const each = passes.map(({ name, left, right, state }) =>
    h(
      "li",
      {},
      h(
        "button",
        { type: "button", ...OWN_KEYS, disabled: right < 0, click: () => hooks.pair(left, right) },
        `${left < 0 ? "–" : left} | ${right < 0 ? "–" : right} ${name}`,
      ),
      h("span", { class: state === "differs" ? "irw-exp-differs" : "irw-dim" }, ` ${words.states[state]}`),
    ),
  );
  const toggle = (event: Event): void => hooks.toggled((event.target as HTMLDetailsElement).open);
  const list = h(
    "details",
    { open: hooks.open, toggle },
    h("summary", { ...OWN_KEYS }, `Pass by pass (${passes.length})`),
    h("ol", { class: "irw-exp-passes" }, ...each),
  );
  return [h("table", {}, h("thead", {}, head), h("tbody", {}, ...rows)), list];
}

/** Where two lowerings differ, above them: a sentence, and the rest when asked for. */
export function comparison(found: ComparisonOutcome, pair: OutcomeHooks["pair"]): HTMLElement {
  const summary = found.summary.charAt(0).toUpperCase() + found.summary.slice(1);
  const [first, ...rest] = found.told.map((said) => (said === found.summary ? summary : said));
  const more = outcome(found, OF_TWO, { pair, open: true, toggled: () => undefined });
  return h(
    "details",
    { class: "irw-compared", "aria-label": "Both side by side" },
    h("summary", { ...OWN_KEYS }, first!),
    h("div", { class: "irw-exp-outcome" }, ...rest.map((said) => h("p", {}, said)), ...more),
  );
}
