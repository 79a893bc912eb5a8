/** Where a query was found in the passes of a lowering, and which hit comes next. */

import type { Stage, Trace } from "./dumps";
import { plural, thousands } from "./dom";

export interface Hit {
  readonly stage: number;
  readonly line: number;
}

export class Hits {
  /** For each stage, on how many lines. */
  readonly counts: readonly number[];
  /** Lines in all stages. */
  readonly total: number;

  /** `matches`: for each line of the table, 1 where the query occurs. */
  constructor(
    private readonly trace: Trace,
    private readonly matches: Uint8Array,
  ) {
    const seen = new Map<Int32Array, number>();
    this.counts = trace.stages.map(({ lines }) => {
      let count = seen.get(lines);
      if (count === undefined) {
        count = 0;
        for (const id of lines) count += matches[id]!;
        seen.set(lines, count);
      }
      return count;
    });
    this.total = this.counts.reduce((sum, count) => sum + count, 0);
  }

  private on({ lines }: Stage, line: number): boolean {
    return this.matches[lines[line]!] === 1;
  }

  /** The number of a hit among all, from 1; 0 for a line that is none. */
  rank({ stage, line }: Hit): number {
    const { stages } = this.trace;
    if (!stages[stage] || !this.on(stages[stage], line)) return 0;
    let rank = 1;
    for (let i = 0; i < stage; i++) rank += this.counts[i]!;
    for (let i = 0; i < line; i++) if (this.on(stages[stage], i)) rank++;
    return rank;
  }

  /** The next hit after a line, or the last before it, through all passes and around their end; null when there is none. */
  next({ stage, line }: Hit, step: 1 | -1): Hit | null {
    if (this.total === 0) return null;
    const { stages } = this.trace;
    for (let turn = 0; turn <= stages.length; turn++) {
      const at = (stage + step * turn + stages.length * 2) % stages.length;
      const { length } = stages[at]!.lines;
      if (this.counts[at] === 0) continue;
      let from = turn > 0 ? (step > 0 ? 0 : length - 1) : line + step;
      for (; from >= 0 && from < length; from += step) if (this.on(stages[at]!, from)) return { stage: at, line: from };
    }
    return null;
  }

  /** What was found, in words; `at` is the line of the reader. */
  said(at: Hit): string {
    const { stages } = this.trace;
    const here = stages.filter(({ ready }) => ready).length;
    const coming = stages.some(({ ready, lost }) => !ready && !lost);
    const seen =
      here === stages.length
        ? ""
        : `${thousands(here)} of ${plural(stages.length, "pass", "passes")} searched${coming ? ", the others are not here yet" : ""}`;
    if (this.total === 0) return seen ? `not found: ${seen}` : "in no pass";
    const first = this.counts.findIndex((count) => count > 0);
    const rank = this.rank(at);
    const found = rank ? `${thousands(rank)} of ${plural(this.total, "line")}` : plural(this.total, "line");
    const parts = [found, `${thousands(this.counts[at.stage] ?? 0)} here`];
    const certain = stages.slice(0, first).every(({ ready }) => ready);
    parts.push(`${certain ? "first" : "first of those here"} in ${first} ${stages[first]!.label}`);
    return [...parts, ...(seen ? [seen] : [])].join(" · ");
  }
}
