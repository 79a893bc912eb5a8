/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** What of a failed lowering can be made small. */
export interface Reducible {
  readonly trace: number;
  readonly ir: boolean;
  /** Whether what was lowered is here: a model, or a kernel with its launch. */
  readonly program: boolean;
}

/** A failure on its way to the smallest IR, or the smallest program, that still fails so. */
export interface Reduction {
  /** The lowering of the view that failed. */
  readonly trace: number;
  readonly program: boolean;
  readonly state: "running" | "done" | "stopped" | "failed";
  /** How many the best so far has. */
  readonly operations: number;
  /** How many there were; 0 until it is known. */
  readonly before: number;
  /** Candidates that were run. */
  readonly tried: number;
  /** The best so far, when all is over the text for an issue; long ones are cut. */
  readonly text: string;
  /** Why there is none. */
  readonly message: string;
}
