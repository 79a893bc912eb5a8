/** Which dumps are shown as columns at first, and which of their lines is brought into sight. */

import type { Trace } from "../dumps";

/** The number that stands for the source among those of dumps. */
export const SOURCE = -1;

/** Lines between two that belong together all the same. */
const APART = 8;

/** The first of those lines that stand together in the greatest number; lines in order, undefined where there is none. */
export function heart(lines: readonly number[]): number | undefined {
  let [best, most] = [lines[0], 0];
  let [from, count] = [0, 0];
  lines.forEach((line, i) => {
    if (i > 0 && line - lines[i - 1]! > APART) [from, count] = [i, 0];
    if (++count > most) [best, most] = [lines[from], count];
  });
  return best;
}

/** The source, where it is here, and the last dump of each step, thinned out until there are as many as there is room for. */
export function levels({ stages }: Trace, source: boolean, room: number): number[] {
  const last = stages.flatMap(({ step, language }, i) => {
    const next = stages[i + 1];
    return next && next.step === step && next.language === language ? [] : [i];
  });
  // A step that leaves the text as it is, as an assembler does, is no level of its own.
  const ends = last.filter((stage, i) => i === 0 || stages[stage]!.lines !== stages[last[i - 1]!]!.lines);
  const most = Math.max(1, room - (source ? 1 : 0));
  // The last always, and the others as evenly as may be.
  const picked = ends.filter(
    (_, i) => Math.floor(((i + 1) * most) / ends.length) > Math.floor((i * most) / ends.length),
  );
  return [...(source ? [SOURCE] : []), ...picked];
}
