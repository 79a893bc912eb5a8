/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** Where a lowering stopped, and why. */
export interface Failure {
  /** The tool. */
  readonly step: string;
  readonly pass: string;
  readonly message: string;
  readonly diagnostics: readonly string[];
  /** A shell command that shows the failure again; "" where there is none. */
  readonly reproducer: string;
}

/** What a view says of a dump, beyond what the file has of it. */
export interface ViewedStage {
  /** The name, numbered when the trace runs the pass more than once. */
  readonly label: string;
  readonly step: string;
  /** What the pass ran on: `module`, a function or a kernel. */
  readonly scope: string;
  /** The function or kernel that the text shows; "" when it shows the whole module. */
  readonly part: string;
  /** Which column of operations is that of its language; "" where there is none. */
  readonly syntax: string;
  /** The stage that this one is compared with: the last of the same function or kernel; -1 for none. */
  readonly before: number;
  /** Whether what the stage computes equals eager PyTorch; "" where it was not executed. */
  readonly check: "equal" | "differs" | "";
}

/** What a check of a lowering has found. */
export interface Verdict {
  readonly state: "equal" | "differs" | "not checked";
  /** In a few words. */
  readonly brief: string;
  /** What it was compared with. */
  readonly reference: string;
  /** In full, with numbers. */
  readonly text: string;
  /** The first wrong stage; -1 where there is none. */
  readonly stage: number;
}

/** What a view says of a lowering without the text of its dumps. */
export interface ViewedTrace {
  readonly facts: readonly (readonly [string, string])[];
  /** null where nobody asked for a check. */
  readonly verdict: Verdict | null;
  readonly failure: Failure | null;
  readonly diagnostics: readonly string[];
  readonly stages: readonly ViewedStage[];
}

/** A node of a Helion kernel's graph. */
export interface LinkedNode {
  /** `graph.node`. */
  readonly name: string;
  readonly target: string;
  /** The node as a line of code. */
  readonly text: string;
  /** How many loops and branches hold it. */
  readonly depth: number;
  /** Whether it only computes a size or another number. */
  readonly symbolic: boolean;
  /** Its row of the source, or -1. */
  readonly row: number;
}

/** A dump of a Helion kernel, line by line. */
export interface LinkedStage {
  /** The number of the dump in the lowering. */
  readonly index: number;
  readonly name: string;
  readonly step: string;
  readonly language: string;
  /** Numbers into the table of lines. */
  readonly lines: readonly number[];
  /** For each line, the number of its node, or -1. */
  readonly owners: readonly number[];
}

/** What one of Triton's steps made of a Helion kernel, line by line. */
export interface LinkedProgram {
  readonly name: string;
  readonly language: string;
  /** Numbers into the table of lines. */
  readonly lines: readonly number[];
  /** For each line, its row of the source, or -1. */
  readonly rows: readonly number[];
}

/** A Helion kernel: source, nodes, and the lines that came from each. */
export interface LinkedKernel {
  readonly name: string;
  /** File, line number and text of each line. */
  readonly source: readonly (readonly [string, number, string])[];
  readonly nodes: readonly LinkedNode[];
  readonly table: readonly string[];
  readonly stages: readonly LinkedStage[];
  /** What the fourth column can show, in the order of a lowering; empty where there is none. */
  readonly programs: readonly LinkedProgram[];
}

/** What a reader has written on a line of a dump. */
export interface Note {
  /** The name of the lowering and what it goes to, as the view says it. */
  readonly lowering: string;
  /** The label of the pass. */
  readonly pass: string;
  /** From 1. */
  readonly line: number;
  /** The line as it was. */
  readonly text: string;
  readonly note: string;
}
