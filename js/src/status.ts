/** The line below the panes: what the two stages have in common, and what is still on its way. */

import type { Analysis } from "./analysis";
import type { Compare } from "./compare";
import type { Extent } from "./diff";
import { comparable, type Dumps, type Stage, type Trace } from "./dumps";
import { h, plural, thousands } from "./dom";
import { absent, summary } from "./panels";

const NONE = new Int32Array(0);

/** What is said of the panes. */
type Panes = Pick<Compare, "mode" | "parts" | "symbol" | "changes" | "renumbered">;

/** What there is to say of two stages, and of the texts of their lowering. */
export function statusOf(analysis: Analysis, compare: Panes, left: Stage, right: Stage, trace: Trace): string[] {
  const { mode } = compare;
  const said = !comparable(left, right)
    ? absent(left, right)
    : mode === "alone"
      ? plural(compare.parts[1].to - compare.parts[1].from, "line")
      : mode === "linked"
        ? linked(analysis.dumps, left, right, compare.parts)
        : summary(compare.changes, compare.renumbered, analysis.follows(left, right));
  return [compare.symbol && comparable(left, right) ? `@${compare.symbol}: ${said}` : said, arriving(trace)];
}

/** What there is to say of two languages, which are not compared line by line. */
function linked({ places }: Dumps, left: Stage, right: Stage, parts: Compare["parts"]): string {
  const source = (place: number): string => `${places[place]!.file}:${places[place]!.line}`;
  const shown = ({ places }: Stage, { from, to }: Extent): Int32Array => (places ?? NONE).subarray(from, to);
  const known = (of: Int32Array): number[] => [...new Set(of)].filter((place) => place >= 0);
  const others = new Set(known(shown(left, parts[0])).map(source));
  const here = shown(right, parts[1]);
  const shared = new Set(known(here).filter((place) => others.has(source(place))));
  const common = here.reduce((sum, place) => sum + (shared.has(place) ? 1 : 0), 0);
  const tied =
    common > 0
      ? `${thousands(common)} of ${plural(here.length, "line")} linked by their source line`
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
