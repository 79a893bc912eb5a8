/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** One lowering of a sweep. */
export interface SweepCell {
  readonly model: string;
  readonly target: string;
  readonly status: string;
  /** What the cell of the heat map says. */
  readonly mark: string;
  readonly message: string;
  readonly step: string;
  readonly pass: string;
  readonly op: string;
  readonly place: string;
  readonly seconds: number;
  readonly passes: number;
  readonly lines: number;
  /** Whether its dumps were kept. */
  readonly dumps: boolean;
}

/** A sweep as a heat map. */
export interface SweepData {
  readonly models: readonly string[];
  readonly targets: readonly string[];
  readonly cells: readonly SweepCell[];
  readonly tools: readonly string[];
}
