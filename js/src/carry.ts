/** Where the reader's place is when another pair of stages is shown. */

import type { Analysis } from "./analysis";
import type { Stage } from "./dumps";

/** Beyond this many lines a diff only to keep the place would cost more than it is worth. */
const LONG = 30_000;

/** The line of another stage where a line of this one is, or comes nearest; -1 when nothing leads there. */
export function carried(analysis: Analysis, from: Stage, line: number, to: Stage): number {
  if (!to.ready) return -1;
  if (from.lines === to.lines) return line;
  if (from.language === to.language && Math.max(from.lines.length, to.lines.length) < LONG)
    return byDiff(analysis, from, line, to);
  const place = byPlace(analysis, from, line, to);
  return place >= 0 ? place : byFunction(analysis, from, line, to);
}

function byDiff(analysis: Analysis, from: Stage, line: number, to: Stage): number {
  let shift = 0;
  for (const { a0, a1, b0, b1 } of analysis.diff(from, to, true)) {
    if (line < a0) break;
    // Inside of a change: as far into what it has become.
    if (line < a1) return Math.min(b0 + Math.min(line - a0, Math.max(b1 - b0 - 1, 0)), to.lines.length - 1);
    shift = b1 - a1;
  }
  return line + shift;
}

/** The first line of the other stage that came from the same operation or line of the source; lines above may know one. */
function byPlace({ dumps, places }: Analysis, from: Stage, line: number, to: Stage): number {
  if (!from.places) return -1;
  for (let i = line; i >= Math.max(0, line - 40); i--) {
    const place = dumps.places[from.places[i]!];
    if (place) return places.from(to, place)[0] ?? places.from(to, { ...place, column: 0 })[0] ?? -1;
  }
  return -1;
}

/** As far into the function of the same name. */
function byFunction(analysis: Analysis, from: Stage, line: number, to: Stage): number {
  const here = analysis.segments(from).find((segment) => line >= segment.from && line < segment.to);
  const there = here?.name ? analysis.segments(to).find(({ name }) => name === here.name) : undefined;
  if (!here || !there) return -1;
  const share = (line - here.from) / Math.max(1, here.to - here.from);
  return there.from + Math.floor(share * (there.to - there.from));
}
