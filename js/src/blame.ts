/**
 * Which pass last changed each line, renumbering apart, and where the line was before. A pass that makes another
 * language makes every line of it, a brace that both have included.
 */

import type { Analysis } from "./analysis";
import { comparable, missing, type Trace } from "./dumps";
import { differingWords } from "./worddiff";

export interface Version {
  readonly stage: number;
  readonly line: number;
}

export class Blame {
  private readonly known: Int32Array[] = [];

  constructor(
    private readonly analysis: Analysis,
    private readonly trace: Trace,
  ) {}

  /** For each line of a stage the stage that last changed it, -1 where a text that is not here would say it; undefined until `compute` has been there. */
  at(stage: number): Int32Array | undefined {
    return this.known[stage];
  }

  /** Compute up to a stage, a little at a time, so that the page stays alive. */
  async compute(stage: number, alive: () => boolean): Promise<void> {
    let started = performance.now();
    for (let s = this.known.length; s <= stage; s++) {
      if (performance.now() - started > 30) {
        await new Promise((resolve) => setTimeout(resolve));
        if (!alive()) return;
        started = performance.now();
        s = this.known.length;
        if (s > stage) return;
      }
      this.known[s] = this.next(s);
    }
  }

  private next(stage: number): Int32Array {
    const now = this.trace.stages[stage]!;
    const before = this.known[now.before];
    if (!before) return new Int32Array(now.lines.length).fill(stage);
    const old = this.trace.stages[now.before]!;
    if (!comparable(old, now)) return new Int32Array(now.lines.length).fill(-1);
    if (old.language !== now.language) return new Int32Array(now.lines.length).fill(stage);
    if (now.lines === old.lines) return before;
    return this.analysis.origins(old, now).map((line) => (line < 0 ? stage : before[line]!));
  }

  /** The line at the stage that last changed it; null when a text that is not here would say which that is. */
  private origin({ stage, line }: Version): Version | null {
    for (;;) {
      const now = this.trace.stages[stage]!;
      const old = this.trace.stages[now.before];
      if (old && !comparable(old, now)) return null;
      const before = old?.language === now.language ? this.analysis.origins(old, now)[line]! : -1;
      if (before < 0) break;
      line = before;
      stage = now.before;
    }
    return { stage, line };
  }

  /** One step back: to the pass that last changed the line, and from there to the line that it replaced. */
  back(version: Version): Version | null {
    const origin = this.origin(version);
    if (!origin || origin.stage < version.stage) return origin;
    const right = this.trace.stages[origin.stage]!;
    const left = this.trace.stages[right.before];
    if (left?.language !== right.language) return null;
    const hunk = this.analysis.diff(left, right, true).find(({ b0, b1 }) => origin.line >= b0 && origin.line < b1);
    if (!hunk || hunk.a0 === hunk.a1) return null;
    const text = this.analysis.blankOf(right.lines[origin.line]!);
    let best = hunk.a0;
    let least = Infinity;
    // Only the neighbourhood: a replaced line is near its place in the hunk.
    const middle = hunk.a0 + Math.round(((origin.line - hunk.b0) * (hunk.a1 - hunk.a0)) / (hunk.b1 - hunk.b0));
    for (let line = Math.max(hunk.a0, middle - 50); line < Math.min(hunk.a1, middle + 50); line++) {
      const cost = distance(text, this.analysis.blankOf(left.lines[line]!)) + Math.abs(line - middle) / 1000;
      if (cost < least) [best, least] = [line, cost];
    }
    return this.origin({ stage: right.before, line: best });
  }
}

/** Why a line of a stage leads to no earlier one. */
export function noEarlier({ stages }: Trace, stage: number): string {
  for (let old = stages[stages[stage]!.before]; old; old = stages[old.before]) {
    if (!old.ready) return `Which pass last changed this line is not known: ${old.label} is ${missing(old)}`;
  }
  return "This line has no earlier version: it is in the input or new in this pass";
}

/** For a line of a side the stage that last changed it; null where that is not known yet. */
export type Blamed = (side: "left" | "right", line: number) => { readonly stage: number; readonly name: string } | null;

interface BlamedSide {
  readonly trace: Trace;
  readonly stage: number;
}

/** The blame of each lowering, for the two stages that are shown. */
export class Blames {
  private readonly kept = new Map<Trace, Blame>();

  constructor(private readonly analysis: Analysis) {}

  of(trace: Trace): Blame {
    let blame = this.kept.get(trace);
    if (!blame) this.kept.set(trace, (blame = new Blame(this.analysis, trace)));
    return blame;
  }

  known(sides: Readonly<Record<"left" | "right", BlamedSide>>): boolean {
    return Object.values(sides).every(({ trace, stage }) => this.of(trace).at(stage));
  }

  /** Whether all of it could be computed before it was no longer wanted. */
  async compute(sides: Readonly<Record<"left" | "right", BlamedSide>>, alive: () => boolean): Promise<boolean> {
    await Promise.all(Object.values(sides).map(({ trace, stage }) => this.of(trace).compute(stage, alive)));
    return alive() && this.known(sides);
  }

  last({ trace, stage }: BlamedSide, line: number): ReturnType<Blamed> {
    const last = this.of(trace).at(stage)?.[line];
    return last === undefined || last < 0 ? null : { stage: last, name: trace.stages[last]!.label };
  }
}

/** Share of a line that is not in another; 1 when they have little in common. */
function distance(a: string, b: string): number {
  if (a === b) return 0;
  const spans = differingWords(a, b);
  if (spans.length === 0) return 1;
  return spans.reduce((sum, { from, to }) => sum + to - from, 0) / Math.max(1, a.length);
}
