/** The line below the panes: what the two stages have in common, and what is still on its way. */

import type { Analysis } from "./analysis";
import type { Compare } from "./compare";
import { comparable, type Dumps, type Stage, type Trace } from "./dumps";
import { h, plural, thousands } from "./dom";
import { absent, summary } from "./panels";

/** What there is to say of two stages, and of the texts of their lowering. */
export function statusOf(analysis: Analysis, compare: Compare, left: Stage, right: Stage, trace: Trace): string[] {
  const { mode } = compare;
  const said = !comparable(left, right)
    ? absent(left, right)
    : mode === "alone"
      ? plural(right.lines.length, "line")
      : mode === "linked"
        ? linked(analysis.dumps, left, right)
        : summary(compare.changes, compare.renumbered, analysis.follows(left, right));
  return [said, arriving(trace)];
}

/** What there is to say of two languages, which are not compared line by line. */
function linked({ places }: Dumps, left: Stage, right: Stage): string {
  const source = (place: number): string => `${places[place]!.file}:${places[place]!.line}`;
  const known = (stage: Stage): number[] => [...new Set(stage.places ?? [])].filter((place) => place >= 0);
  const others = new Set(known(left).map(source));
  const shared = new Set(known(right).filter((place) => others.has(source(place))));
  const common = right.places?.reduce((sum, place) => sum + (shared.has(place) ? 1 : 0), 0) ?? 0;
  const tied =
    common > 0
      ? `${thousands(common)} of ${plural(right.lines.length, "line")} linked by their source line`
      : right.places
        ? "no source line in common"
        : "no line of it knows its source line";
  return `${left.language} → ${right.language}: another language, not diffed; ${tied}`;
}

/** How far the texts of a lowering have come, as a bar; null when all are here. */
export function coming({ stages }: Trace): HTMLElement | null {
  const here = stages.filter(({ ready, lost }) => ready || lost).length;
  return here < stages.length ? h("progress", { value: here, max: stages.length, "aria-label": "Texts" }) : null;
}

/** How many texts are here while others are on their way. */
function arriving({ stages }: Trace): string {
  const coming = stages.filter(({ ready, lost }) => !ready && !lost).length;
  return coming > 0
    ? `${stages.length - coming} of ${plural(stages.length, "text")} here, the others on their way`
    : "";
}
