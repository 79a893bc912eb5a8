/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** An operand, result or argument of an operation; `line` is of the dump before the pass, from 1. */
export interface BufferPlace {
  readonly line: number;
  readonly said: string;
  /** The user's file, or empty; `place` is its line. */
  readonly user: string;
  readonly place: number;
}

/** `write` would overwrite what `definition` made before `read` has read it. */
export interface BufferConflict {
  readonly definition: BufferPlace;
  readonly write: BufferPlace;
  readonly read: BufferPlace;
}

/** An operand that is not written in place; `related` are conflicts that its operation takes part in otherwise. */
export interface OwnBuffer {
  readonly operand: BufferPlace;
  readonly conflicts: readonly BufferConflict[];
  readonly related: readonly BufferConflict[];
}

/** What the analysis found. */
export interface Bufferization {
  readonly own: readonly OwnBuffer[];
  readonly not_writable: readonly BufferPlace[];
}
