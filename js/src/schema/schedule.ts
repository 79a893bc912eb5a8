/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

/** An operation of Inductor's that a kernel runs. */
export interface ScheduleOp {
  readonly name: string;
  readonly targets: readonly string[];
  readonly origins: readonly string[];
  readonly loops: readonly string[];
  readonly reduced: readonly string[];
  readonly line: number;
  readonly file: string;
  readonly module: string;
}

/** A buffer of a kernel's, which it `reads`, `writes` or keeps `inside`; -1 bytes: the size is not a number. */
export interface ScheduleBuffer {
  readonly name: string;
  readonly bytes: number;
  readonly way: string;
}

/** A kernel in the order of execution; `lines` has the user's line for each line of its text, 0 for none. `subgraph` is the branch, loop's body or region that it is in. What only takes a result of a call is of kind `result`. */
export interface ScheduleLaunch {
  readonly kernel: string;
  readonly kind: string;
  readonly graph: number;
  readonly direction: string;
  readonly subgraph: string;
  readonly reads: number;
  readonly writes: number;
  readonly loops: readonly string[];
  readonly reduced: readonly string[];
  readonly buffers: readonly ScheduleBuffer[];
  readonly ops: readonly ScheduleOp[];
  readonly text: string;
  readonly lines: readonly number[];
  readonly said: string;
}

/** What a kernel makes and a later one reads. */
export interface ScheduleFlow {
  readonly maker: number;
  readonly reader: number;
  readonly buffer: string;
  readonly bytes: number;
}

/** Whether two kernels could be one, and why not. */
export interface SchedulePair {
  readonly first: number;
  readonly second: number;
  readonly answer: string;
  readonly text: string;
}

/** A buffer alive at the peak. */
export interface ScheduleAlive {
  readonly name: string;
  readonly bytes: number;
  readonly line: number;
}

/** Bytes alive at each kernel of a graph. */
export interface ScheduleMemory {
  readonly graph: number;
  readonly direction: string;
  readonly peak: number;
  readonly unfused: number;
  readonly moments: readonly number[];
  readonly alive: readonly ScheduleAlive[];
}

/** What torch.compile runs. */
export interface Schedule {
  readonly version: number;
  readonly name: string;
  readonly device: string;
  readonly launches: readonly ScheduleLaunch[];
  readonly flows: readonly ScheduleFlow[];
  readonly pairs: readonly SchedulePair[];
  readonly memory: readonly ScheduleMemory[];
}
