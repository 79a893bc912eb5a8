/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** The lines that an experiment has in place of some of a dump. */
export interface TextEdit {
  /** The first line that is another one, from 0. */
  readonly first: number;
  /** How many lines of the dump are not there. */
  readonly gone: number;
  readonly lines: readonly string[];
  /** A digest of the dump's text. */
  readonly of: string;
}

/** A pass that an experiment runs. */
export interface ArrangedPass {
  /** Its position among those that the lowering ran after the dump. */
  readonly place: number;
  /** Those that have another value. */
  readonly options: Readonly<Record<string, string>>;
}

/** A pass that a lowering ran after a dump. */
export interface PlannedPass {
  readonly name: string;
  readonly step: string;
  /** The dump that it left; -1 for none. */
  readonly stage: number;
  /** What can be changed of it. */
  readonly options: Readonly<Record<string, string>>;
}

/** What a page asks for before it edits a dump. */
export interface Plan {
  readonly passes: readonly PlannedPass[];
  /** Whether something here reads the language. */
  readonly parser: boolean;
}

/** What the parser or the verifier says of a text. */
export interface Problem {
  /** From 1; 0 where it says none. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

/** A pass of two lowerings, or of one. */
export interface ComparedPass {
  readonly name: string;
  /** Its dump in the left one, for an experiment in what it starts from; -1 for none. */
  readonly left: number;
  /** That in the right one, the experiment. */
  readonly right: number;
  readonly state: "same" | "differs" | "only left" | "only right" | "not compared";
}

/** Two lowerings side by side: an experiment and what it starts from, or any other two. */
export interface ComparisonOutcome {
  /** All that is said above both: of two that a search found, what that says before the summary. */
  readonly told: readonly string[];
  /** Where they differ, in a sentence. */
  readonly summary: string;
  readonly passes: readonly ComparedPass[];
  /** Name and both values; what was not computed says so. */
  readonly facts: readonly (readonly [string, string, string])[];
}

/** A lowering that goes on from an edited dump, or with other passes; kept with the notebook. */
export interface Experiment {
  /** From 1. */
  readonly id: number;
  readonly name: string;
  /** The experiment whose dump it starts from; 0 for a dump of a lowering of the view. */
  readonly parent: number;
  /** Which lowering of the view it, or the first of its parents, starts from. */
  readonly lowering: number;
  /** The dump that it starts from, by its number there; -1 for the cell, with another text. */
  readonly stage: number;
  /** The pass that left that dump. */
  readonly after: string;
  /** null where the text is the dump's. */
  readonly edit: TextEdit | null;
  /** What runs, in order; null for what the lowering ran. */
  readonly passes: readonly ArrangedPass[] | null;
  readonly check: boolean;
  /** `kept`: it has not run since the lowering was made. */
  readonly state: "kept" | "running" | "done" | "failed" | "stopped";
  /** Its lowering among those of the view; -1 where there is none. */
  readonly trace: number;
  readonly message: string;
  /** What runs, as a custom pipeline; "" where nothing does or it is not known. */
  readonly pipeline: string;
  /** The other releases that it runs with; "" for those of the kernel. */
  readonly toolchain: string;
  /** What it has besides in a command of its own: `--no-elide`, `--external`. */
  readonly switches: readonly string[];
  /** The options of its magic, of one that starts from the cell; "" for others. */
  readonly cell: string;
  /** null until all of it is there. */
  readonly outcome: ComparisonOutcome | null;
}
