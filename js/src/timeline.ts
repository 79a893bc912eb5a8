/** What the list of passes shows of each stage, computed little by little. */

import type { Analysis } from "./analysis";
import { comparable, missing, type Stage, type Trace } from "./dumps";
import type { Entry, Row } from "./list";

/** Dialects beyond these share a grey. */
const HUES = 7;

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
      if (before && comparable(before, stage)) {
        const { gone, added } = this.analysis.delta(before, stage);
        this.most = Math.max(this.most, gone, added);
      }
      if (!before || before.lines !== stage.lines) {
        for (const [name, count] of this.analysis.dialects(stage))
          this.totals.set(name, (this.totals.get(name) ?? 0) + count);
      }
      this.done++;
    } while (this.done < stages.length && performance.now() < until);
    if (this.done < stages.length) return false;
    const common = [...this.totals].sort((a, b) => b[1] - a[1]).slice(0, HUES);
    const hues = new Map(common.map(([name], i) => [name, i]));
    this.strips = stages.map((stage) =>
      this.analysis.dialects(stage).map(([name, count]) => [name, count, hues.get(name) ?? HUES] as const),
    );
    return true;
  }

  rows(hits: readonly number[]): Row[] {
    const { stages, failure } = this.trace;
    const rows = stages.map((stage, i): Row => {
      const known = i < this.done;
      const before = stages[stage.before];
      const delta = known && before && stage.changed ? this.analysis.delta(before, stage) : null;
      const title = [
        stage.label,
        stage.step && `step ${stage.step}`,
        stage.scope && `on ${stage.scope}`,
        stage.options,
        missing(stage),
        stage.check === "differs" && "differs from eager PyTorch",
      ];
      return {
        stage: i,
        label: stage.label,
        title: title.filter(Boolean).join("\n"),
        seconds: stage.seconds,
        state: stateOf(stage),
        delta,
        strip: this.strips[i] ?? [],
        hits: hits[i] ?? 0,
        check: stage.check,
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
      });
    }
    return rows;
  }
}

function stateOf({ ready, lost, changed }: Stage): Row["state"] {
  if (!ready) return lost ? "lost" : "pending";
  return changed === null ? "unknown" : changed ? "changed" : "same";
}

/** The rows that are listed: those that match, with runs of passes that change nothing folded. */
export function entries(
  rows: readonly Row[],
  filter: string,
  open: ReadonlySet<number>,
  chosen: readonly number[],
): Entry[] {
  const wanted = filter.trim().toLowerCase();
  if (wanted) return rows.filter(({ label, title }) => `${label}\n${title}`.toLowerCase().includes(wanted));
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
