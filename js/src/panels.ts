/** The small parts around the panes: facts, failure, operation counts, keys. */

import { type Analysis, dialect, sum } from "./analysis";
import type { Extent, Hunk } from "./diff";
import { comparable, missing, type Stage, type Trace } from "./dumps";
import { h, OWN_KEYS, plural, thousands } from "./dom";

export function facts(trace: Trace): HTMLElement {
  const name = trace.name ? [h("b", {}, trace.name), " → "] : [];
  return h(
    "div",
    { class: "irw-facts" },
    h("span", {}, ...name, h("b", {}, trace.target)),
    ...(trace.diagnostics.length > 0 && !trace.failure ? [diagnostics(trace.diagnostics)] : []),
    ...(trace.facts.length > 0 ? [factsOf(trace.facts)] : []),
  );
}

/** As many facts as are read at a glance; more are there when asked for. */
const AT_A_GLANCE = 4;

function factsOf(facts: Trace["facts"]): HTMLElement {
  const each = facts.map(([label, value]) => h("span", { class: "irw-fact" }, `${label} `, h("b", {}, value)));
  if (facts.length <= AT_A_GLANCE) return h("span", { class: "irw-some" }, ...each);
  return h(
    "details",
    { class: "irw-fact" },
    h("summary", { ...OWN_KEYS }, plural(facts.length, "fact")),
    h("div", { class: "irw-some" }, ...each),
  );
}

/** Letters of a diagnostic that is read at a glance. */
const SHORT = 160;

function diagnostics(said: readonly string[]): HTMLElement {
  const only = said.length === 1 ? said[0]! : "";
  if (only && only.length <= SHORT && !only.includes("\n")) return h("span", { class: "irw-fact" }, only);
  return h(
    "details",
    { class: "irw-fact" },
    h("summary", { ...OWN_KEYS }, plural(said.length, "diagnostic")),
    h("pre", { tabindex: 0, "aria-label": "Diagnostics", ...OWN_KEYS }, said.join("\n")),
  );
}

export function failure(trace: Trace): HTMLElement | null {
  const failed = trace.failure;
  if (!failed) return null;
  const box = h("div", { class: "irw-failure", role: "alert" }, h("b", {}, `✗ ${failed.pass || failed.step} failed`));
  const { message, diagnostics } = failed;
  const told = diagnostics.some((line) => line.includes(message)); // with its place
  const said = [...(told ? [] : [message]), ...diagnostics.filter((line) => !message.includes(line))];
  box.append(h("pre", { tabindex: 0, "aria-label": "Diagnostics", ...OWN_KEYS }, said.join("\n")));
  if (failed.reproducer) {
    box.append(
      h(
        "details",
        {},
        h("summary", { ...OWN_KEYS }, "Command that shows it again"),
        h("pre", { tabindex: 0, ...OWN_KEYS }, failed.reproducer),
      ),
    );
  }
  return box;
}

/** Above a pane: which stage it is; `of` names its lowering when two are compared. */
export function title(side: "left" | "right", index: number, stage: Stage, of: string, ...more: Node[]): HTMLElement {
  const { label, name, step, scope, options } = stage;
  const about = [step === name ? "" : step, scope === "module" ? "" : scope, options].filter(Boolean).join(" · ");
  return h(
    "div",
    { class: `irw-title irw-${side}`, title: [step, scope, options].filter(Boolean).join("\n") },
    h("span", { class: "irw-index" }, String(index)),
    h("b", {}, label),
    ...(of ? [h("span", {}, of)] : []),
    h("span", { class: "irw-dim" }, about),
    ...(stage.ready ? [] : [h("span", { class: "irw-dim" }, missing(stage))]),
    ...more,
  );
}

/** How much has changed, in words. */
export function summary(changes: readonly Hunk[], renumbered: number, followed: boolean): string {
  const { gone, added } = sum(changes);
  const said =
    gone + added === 0
      ? "no change"
      : `−${thousands(gone)} +${plural(added, "line")}, ${plural(changes.length, "change")}`;
  // Of long texts it is known that the names differ, not that they were renumbered.
  const how = followed
    ? "only renumbered"
    : `${renumbered === 1 ? "differs" : "differ"} in names only, which were not followed`;
  return renumbered > 0 ? `${said}; ${plural(renumbered, "line")} ${how}` : said;
}

/** What there is to say instead of a comparison of two stages that are not both here. */
export function absent(left: Stage, right: Stage): string {
  return [...new Set([left, right])]
    .filter(({ ready }) => !ready)
    .map((stage) => `${stage.label} is ${missing(stage)}`)
    .join("; ");
}

/** Two stages, and the part of each that is shown. */
interface Counted {
  readonly analysis: Analysis;
  readonly left: Stage;
  readonly right: Stage;
  readonly parts: readonly Extent[];
}

/** Operations of the parts that are shown, before and after, by dialect; only what differs unless nothing does. */
export function operations({ analysis, left, right, parts }: Counted): HTMLElement {
  if (!comparable(left, right)) return h("div", { class: "irw-operations" }, h("p", {}, absent(left, right)));
  const [before, after] = [analysis.counts(left, parts[0]), analysis.counts(right, parts[1])];
  const rows = [...new Set([...before.keys(), ...after.keys()])].sort((a, b) =>
    dialect(a) === dialect(b) ? (a < b ? -1 : 1) : dialect(a) < dialect(b) ? -1 : 1,
  );
  const body = h("tbody");
  for (const op of rows) {
    const [a, b] = [before.get(op) ?? 0, after.get(op) ?? 0];
    if (left !== right && a === b) continue;
    const change = b - a;
    body.append(
      h(
        "tr",
        {},
        h("th", { scope: "row" }, op),
        h("td", {}, thousands(a)),
        h("td", {}, thousands(b)),
        h(
          "td",
          { class: change < 0 ? "irw-less" : change > 0 ? "irw-more" : "" },
          change < 0 ? `−${thousands(-change)}` : change > 0 ? `+${thousands(change)}` : "",
        ),
      ),
    );
  }
  const head = h(
    "tr",
    {},
    ...["operation", "before", "after", "change"].map((title) => h("th", { scope: "col" }, title)),
  );
  const same = rows.length - body.children.length;
  return h(
    "div",
    { class: "irw-operations" },
    h("table", {}, h("thead", {}, head), body),
    ...(same > 0 ? [h("p", {}, `${plural(same, "other operation")} with the same count`)] : []),
  );
}

const KEYS: readonly (readonly [string, string])[] = [
  ["↑ ↓ Home End", "pass (in the list)"],
  ["Shift + ↑ ↓", "keep the left side"],
  ["L, Shift + click", "hold the left side here; again: let go"],
  ["n p", "next, previous change"],
  ["/ Enter Shift+Enter", "search all passes; next, previous hit"],
  ["f", "choose a function"],
  ["b", "ignore renumbering"],
  ["s", "side by side or one column"],
  ["z w", "fold equal lines, wrap long ones"],
  ["a", "blame: which pass last changed each line"],
  ["[", "follow the line back to the pass before"],
  ["i", "the passes inside a step of LLVM, one by one"],
  ["d u", "definition, next use of the name at the cursor"],
  ["o", "operations: what the pass did to them, tree, graph"],
  ["k", "columns: the source and dumps side by side, linked by source line"],
  ["c", "operation counts"],
  ["Tab", "list → left → right → source"],
  ["r", "the list of passes as a narrow rail"],
  ["e", "what each pass costs: time, memory, copies, arithmetic"],
  ["m", "write a note on the line; all notes"],
  ["x", "edit the dump or the passes after it, and go on"],
  ["t", "the slowest passes first"],
  ["Esc", "back to the list, then to the notebook"],
];

export function help(close: () => void): HTMLDialogElement {
  const dialog = h(
    "dialog",
    { class: "irw-help", "aria-label": "Keys", ...OWN_KEYS },
    h(
      "table",
      {},
      h(
        "tbody",
        {},
        ...KEYS.map(([key, what]) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              ...key
                .split(" ")
                .map((part) => (/^[\w↑↓/[?+-]+,?$/.test(part) && !["click"].includes(part) ? h("kbd", {}, part) : part))
                .flatMap((part) => [part, " "]),
            ),
            h("td", {}, what),
          ),
        ),
      ),
    ),
    h("button", { type: "button", ...OWN_KEYS, click: close }, "Close"),
  );
  return dialog;
}
