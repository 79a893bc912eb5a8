/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** A part of a lowering that goes on. */
export interface ProgressPhase {
  readonly name: string;
  readonly seconds: number;
  readonly over: boolean;
}

/** The pass under way. */
export interface ProgressPass {
  readonly pass: string;
  readonly step: string;
  /** Since it began; where it is `over`, since it ended. */
  readonly seconds: number;
  /** Whether only passes that have ended are told of: which one runs is not known. */
  readonly over: boolean;
}

/** How the same lowering went the time before. */
export interface ProgressBefore {
  readonly seconds: number;
  readonly passes: number;
}

/** Where a lowering is; seconds are those at the time of sending. */
export interface Progress {
  readonly name: string;
  readonly seconds: number;
  readonly phases: readonly ProgressPhase[];
  /** How many passes have begun. */
  readonly passes: number;
  readonly running: ProgressPass | null;
  readonly last: ProgressBefore | null;
}
