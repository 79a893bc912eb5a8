/** What the list of passes shows of each stage, computed little by little. */

import type { Analysis } from "./analysis";
import { comparable, missing, type Stage, type Trace } from "./dumps";
import { hueOf } from "./hues";
import { type Entry, milliseconds, type Row } from "./list";
import { fuzzy } from "./query";

export class Timeline {
  private done = 0;
  private readonly totals = new Map<string, number>();
  /** For each stage the share and colour of its dialects; once all are known. */
  private strips: readonly Row["strip"][] = [];
  /** The largest number of lines that went or came in one pass. */
  most = 1;

  constructor(
    private readonly analysis: Analysis,
    private readonly trace: Trace,
  ) {}

  /** Compute the next few stages; true when all are done. */
  advance(milliseconds: number): boolean {
    const { stages } = this.trace;
    const until = performance.now() + milliseconds;
    if (this.done >= stages.length) return true;
    do {
      const i = this.done;
      const stage = stages[i]!;
      const before = stages[stage.before];
      if (before && comparable(before, stage) && before.language === stage.language) {
        const delta = this.analysis.delta(before, stage);
        if (delta) this.most = Math.max(this.most, delta.gone, delta.added);
      }
      if (!before || before.lines !== stage.lines) {
        for (const [name, count] of this.analysis.dialects(stage))
          this.totals.set(name, (this.totals.get(name) ?? 0) + count);
      }
      this.done++;
    } while (this.done < stages.length && performance.now() < until);
    if (this.done < stages.length) return false;
    this.strips = stages.map((stage) =>
      this.analysis.dialects(stage).map(([name, count]) => [name, count, hueOf(name)] as const),
    );
    return true;
  }

  /** The dialects of all stages, the most frequent first, with the colour of each; once all are known. */
  get dialects(): readonly (readonly [name: string, hue: number])[] {
    if (this.strips.length === 0) return [];
    return [...this.totals].sort((a, b) => b[1] - a[1]).map(([name]) => [name, hueOf(name)] as const);
  }

  /** Seconds of all that is listed. */
  private get seconds(): number {
    return total(this.trace.stages);
  }

  /** What the passes start from: the first dump, where no pass has made it. */
  get input(): Stage | null {
    return inputOf(this.trace);
  }

  /** The dumps that passes have made. */
  get passes(): readonly Stage[] {
    return this.input ? this.trace.stages.slice(1) : this.trace.stages;
  }

  rows(hits: readonly number[]): Row[] {
    const { stages, failure, verdict } = this.trace;
    const all = this.seconds;
    const rows = stages.map((stage, i): Row => {
      const known = i < this.done;
      const before = stages[stage.before];
      const state = stateOf(stage, before);
      const delta = known && before && state === "changed" ? this.analysis.delta(before, stage) : null;
      const title = [
        stage.label,
        stage.step && `step ${stage.step}`,
        stage.scope && `on ${stage.scope}`,
        stage.options,
        missing(stage),
        known && before && state === "changed" && !delta && "lines not counted: a long text, counted once it is shown",
        stage.check === "differs" && "differs from eager PyTorch",
        state === "translated" && `from ${before!.language} to ${stage.language}: not compared line by line`,
        stage.seconds &&
          all &&
          `${milliseconds(stage.seconds)}, ${percent(stage.seconds / all)} of ${milliseconds(all)}`,
      ];
      return {
        stage: i,
        label: stage.label,
        title: title.filter(Boolean).join("\n"),
        seconds: stage.seconds,
        state,
        delta,
        strip: this.strips[i] ?? [],
        hits: hits[i] ?? 0,
        check: verdict?.stage === i ? "first wrong" : stage.check,
        share: all ? stage.seconds / all : 0,
      };
    });
    if (failure) {
      const label = failure.pass || failure.step;
      rows.push({
        stage: stages.length,
        label,
        title: failure.message,
        seconds: 0,
        state: "failed",
        delta: null,
        strip: [],
        hits: 0,
        check: "",
        share: 0,
      });
    }
    return rows;
  }
}

/** The first dump, where no pass has made it. */
export function inputOf({ stages }: Trace): Stage | null {
  const [first] = stages;
  return first && (first.step === "" || first.name === "input") ? first : null;
}

/** Seconds of stages together. */
export function total(stages: readonly Stage[]): number {
  return stages.reduce((sum, { seconds }) => sum + seconds, 0);
}

/** A share in words. */
export function percent(share: number): string {
  return share > 0 && share < 0.001 ? "<0.1 %" : `${(share * 100).toFixed(1)} %`;
}

function stateOf({ ready, lost, changed, language }: Stage, before: Stage | undefined): Row["state"] {
  if (!ready) return lost ? "lost" : "pending";
  if (before && before.language !== language && before.ready) return "translated";
  return changed === null ? "unknown" : changed ? "changed" : "same";
}

/** The rows whose names have the text in them, or, where none has, its letters in this order. */
function named(rows: readonly Row[], wanted: string): readonly Row[] {
  const whole = rows.filter(({ label }) => label.toLowerCase().includes(wanted));
  return whole.length > 0 ? whole : rows.filter(({ label }) => fuzzy(label.toLowerCase(), wanted));
}

/** The rows that are listed: those that match, the slowest first or with runs of passes that change nothing folded. */
export function entries(
  rows: readonly Row[],
  filter: string,
  open: ReadonlySet<number>,
  chosen: readonly number[],
  byTime = false,
): Entry[] {
  const wanted = filter.trim().toLowerCase();
  const matching = wanted ? named(rows, wanted) : rows;
  if (byTime) return [...matching].sort((a, b) => b.seconds - a.seconds);
  if (wanted) return [...matching];
  const listed: Entry[] = [];
  for (let i = 0; i < rows.length;) {
    let end = i;
    while (end < rows.length && rows[end]!.state === "same" && !chosen.includes(rows[end]!.stage) && !rows[end]!.hits)
      end++;
    if (end - i > 1 && !open.has(i)) {
      listed.push({ stages: rows.slice(i, end).map(({ stage }) => stage), key: i });
      i = end;
      continue;
    }
    listed.push(...rows.slice(i, Math.max(end, i + 1)));
    i = Math.max(end, i + 1);
  }
  return listed;
}
