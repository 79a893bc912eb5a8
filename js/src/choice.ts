/** Which stages of which lowerings are shown, and how the next ones are chosen. */

import type { Analysis } from "./analysis";
import { besideOf, counterpart, type Dumps, type Stage, stageAt, type Trace } from "./dumps";
import type { Store } from "./model";

/** Show all functions where a line of a stage is not in the one that is shown. */
export function uncover(store: Store, lines: Analysis, stage: Stage, line: number): void {
  const { from, to } = lines.partOf(stage, store.get("symbol"));
  if (line < from || line >= to) store.set({ symbol: "" });
}

export class Choice {
  /** Whether choosing a pass leaves the left side alone. */
  pinned = false;
  /** Whether stages are set together with their lowerings. */
  private exact = false;

  /** `dumps`: those that are here now. */
  constructor(
    private readonly store: Store,
    private readonly dumps: () => Dumps,
  ) {}

  get traces(): readonly Trace[] {
    return this.dumps().traces;
  }

  get trace(): Trace {
    return this.traces[this.store.get("trace")] ?? this.traces[0]!;
  }

  /** The lowering on the left: the same one, unless two are compared. */
  get leftTrace(): Trace {
    return this.traces[this.store.get("against")] ?? this.trace;
  }

  /** Whether the left side is of another lowering. */
  get apart(): boolean {
    return this.leftTrace !== this.trace;
  }

  get left(): Stage {
    return stageAt(this.leftTrace, this.store.get("left"));
  }

  get right(): Stage {
    return stageAt(this.trace, this.store.get("right"));
  }

  /** Of a side the lowering and the number of its stage. */
  of(side: "left" | "right"): { readonly trace: Trace; readonly stage: number } {
    return { trace: side === "left" ? this.leftTrace : this.trace, stage: this.store.get(side) };
  }

  /** Show a stage beside the one that it is compared with, whatever was held on the left. */
  go(stage: number): void {
    this.pinned = false;
    this.choose(stage, "both");
  }

  /** Show a stage: with its predecessor, or as one side of a comparison. */
  choose(stage: number, which: "both" | "left" | "right"): void {
    const index = Math.min(Math.max(stage, 0), this.trace.stages.length - 1);
    const right = this.store.get("right");
    // The earlier pass is on the left, whichever was chosen first.
    if (which === "left" && index > right && !this.apart) this.store.set({ left: right, right: index });
    else if (which === "left") this.store.set({ left: index });
    else if (which === "right" || this.pinned) this.store.set({ right: index });
    else this.store.set({ left: this.beside(index), right: index });
  }

  /** What a stage is shown beside: the one before, or its counterpart in the lowering that it is compared with. */
  private beside(index: number): number {
    return this.apart ? counterpart(this.trace, index, this.leftTrace) : besideOf(this.trace, index);
  }

  /** Hold the left side where the right is, or let it follow again. */
  pin(): void {
    this.pinned = !this.pinned;
    const right = this.store.get("right");
    if (this.pinned) this.store.set({ left: right });
    else this.choose(right, "both");
  }

  /** Another lowering is shown, or compared with: its stages, unless they were set with it. */
  moved(): void {
    const follows = !this.exact;
    this.exact = false;
    if (!follows) return;
    const right = Math.min(this.store.get("right"), this.trace.stages.length - 1);
    this.store.set({ symbol: "", right, left: this.pinned ? this.store.get("left") : this.beside(right) });
  }

  /** Show a stage of a lowering beside the one before it. */
  goTo(trace: Trace, stage: number): void {
    this.pinned = false;
    const left = besideOf(trace, stage);
    this.store.set({ trace: this.traces.indexOf(trace), against: -1, right: stage, left });
  }

  /** Show the stage on the right beside the one before it in the list. */
  goBefore(): void {
    const { store } = this;
    this.pair(store.get("trace"), -1, store.get("right") - 1, store.get("right"), store.get("symbol"));
  }

  /** Show a stage of a lowering beside one of another, `against` is -1 for the same; one function of them, or all. */
  pair(trace: number, against: number, left: number, right: number, symbol = ""): void {
    this.pinned = false;
    this.exact = true;
    this.store.set({ trace, against, left, right, symbol });
    queueMicrotask(() => (this.exact = false));
  }
}
