/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** A step of a pipeline under edit. */
export interface PipelineStep {
  /** 0 for a step of the route, which cannot be edited. */
  readonly id: number;
  readonly tool: string;
  readonly pass: string;
  readonly label: string;
  /** The arguments as they are written. */
  readonly text: string;
  readonly options: Readonly<Record<string, string>>;
  readonly enabled: boolean;
  readonly state: "" | "waiting" | "running" | "done" | "failed" | "stopped";
  readonly seconds: number;
  /** The stage of the lowering that it left; -1 when there is none. */
  readonly stage: number;
}

/** An option of a pass that the page may set. */
export interface PassOption {
  readonly name: string;
  readonly kind: "flag" | "integer" | "number" | "choice" | "text";
  readonly default: string;
  readonly choices: readonly string[];
  readonly help: string;
}

/** A pass that the page may pick. */
export interface OfferedPass {
  readonly name: string;
  readonly help: string;
  readonly options: readonly PassOption[];
}
