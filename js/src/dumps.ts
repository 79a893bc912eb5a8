/** What a lowering is on this side: a table of distinct lines, and line numbers into it for each stage. */

import type { ViewedStage, ViewedTrace } from "./schema";
import type { Shape } from "./shape";

export interface Place {
  readonly file: number;
  readonly line: number;
  readonly column: number;
}

export interface Stage extends ViewedStage {
  readonly name: string;
  readonly language: string;
  readonly options: string;
  readonly seconds: number;
  /** False while the text is still on its way from the compiler. */
  readonly ready: boolean;
  /** Whether the text will never come: who should have printed it is gone. */
  readonly lost: boolean;
  /** False when the text is that of the stage `before`; null while one of the two is not here. */
  readonly changed: boolean | null;
  /** For each line, its number in the table. */
  readonly lines: Int32Array;
  /** For each line, its number in the list of places, or -1; null when nothing is known. */
  readonly places: Int32Array | null;
}

export interface Source {
  readonly file: string;
  /** Null of a file that lines come from and whose text is not here. */
  readonly text: string | null;
}

/** A file that the lowering left: a graph, machine code. */
export interface Attachment {
  readonly name: string;
  /** Bytes; `data` is null when it was too large to be sent. */
  readonly size: number;
  readonly data: Uint8Array<ArrayBuffer> | null;
}

export interface Trace extends Omit<ViewedTrace, "stages"> {
  readonly name: string;
  readonly target: string;
  /** What it is called where there are others: no two of a view have one title. */
  readonly title: string;
  readonly stages: readonly Stage[];
  readonly attachments: readonly Attachment[];
}

export interface Dumps {
  readonly table: readonly string[];
  /** For each line of the table, a number that it shares with those that differ in renumbered names only. */
  readonly blanked: Int32Array;
  /** For each line of the table, its shape. */
  readonly shapeOf: Int32Array;
  readonly shapes: readonly Shape[];
  readonly traces: readonly Trace[];
  readonly sources: readonly Source[];
  readonly places: readonly Place[];
}

/** Why a stage has no text; empty when it has. */
export function missing({ ready, lost }: Stage): string {
  return ready ? "" : lost ? "not available: it could not be printed or sent" : "not here yet";
}

/** Whether there is anything to say of how two stages differ. */
export function comparable(left: Stage, right: Stage): boolean {
  return left.ready && right.ready;
}

/** The stage with this number, or the nearest that there is. */
export function stageAt({ stages }: Trace, index: number): Stage {
  return stages[Math.min(Math.max(index, 0), stages.length - 1)]!;
}

/** The stage that a stage is shown beside: the one that it is compared with, or itself where there is none. */
export function besideOf({ stages }: Trace, index: number): number {
  const { before } = stages[index]!;
  return before < 0 ? index : before;
}

/** The titles of lowerings that are shown together: those that would be the same are numbered from the second on. */
export function titled(traces: readonly Pick<Trace, "name" | "target">[]): string[] {
  const seen = new Map<string, number>();
  return traces.map(({ name, target }) => {
    const title = `${name || "input"} → ${target}`;
    const times = (seen.get(title) ?? 0) + 1;
    seen.set(title, times);
    return times > 1 ? `${title} (${times})` : title;
  });
}

/** The stage of another lowering that a stage belongs beside: the pass of the same name, or the one that comes nearest. */
export function counterpart(trace: Trace, index: number, other: Trace): number {
  if (index >= trace.stages.length - 1) return other.stages.length - 1;
  for (let i = index; i > 0; i--) {
    const { label } = trace.stages[i]!;
    const found = other.stages.findIndex((stage) => stage.label === label);
    if (found >= 0) return found;
  }
  return 0;
}
