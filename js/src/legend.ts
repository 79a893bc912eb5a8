/** Which colour is which dialect; and what the passes cost. */

import { h, OWN_KEYS, plural } from "./dom";
import { milliseconds } from "./list";
import { type Timeline, total } from "./timeline";

/** Dialects that are named; the others have a title only. */
const NAMED = 12;

export function legend({ dialects }: Timeline): readonly HTMLElement[] {
  const named = dialects
    .slice(0, NAMED)
    .map(([name, hue]) => h("span", {}, h("i", { class: `irw-hue${hue}`, "aria-hidden": "true" }), name));
  const others = dialects.slice(NAMED).map(([name]) => name);
  return others.length > 0 ? [...named, h("span", { title: others.join(", ") }, `+${others.length}`)] : named;
}

/** The time of all passes, the switch that lists the slowest first, and the table of all that they cost. */
export function cost(
  { input, passes }: Timeline,
  byTime: boolean,
  toggle: () => void,
  table: () => void,
): readonly HTMLElement[] {
  const all = milliseconds(total(passes));
  const timed = passes.filter(({ seconds }) => seconds > 0).length;
  const some = timed < passes.length ? ` (${timed} timed)` : "";
  const before = input?.seconds ? `Before them ${input.label}: ${milliseconds(input.seconds)}` : undefined;
  const sorted = h(
    "button",
    {
      type: "button",
      "aria-pressed": String(byTime),
      title: "The slowest passes first (t)",
      ...OWN_KEYS,
      click: toggle,
    },
    "By time",
  );
  return [
    h("span", { title: before }, `${plural(passes.length, "pass", "passes")}${all ? `, ${all}${some}` : ""}`),
    ...(all || before ? [sorted] : []),
    h(
      "button",
      {
        type: "button",
        title: "Time, operations, memory, copies and arithmetic of each pass (e)",
        ...OWN_KEYS,
        click: table,
      },
      "Costs",
    ),
  ];
}
