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
  /** Since it began. */
  readonly seconds: number;
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

/** A part of a tensor that some cores touch. */
export interface SpyreTile {
  /** First and last of each host dim. */
  readonly box: readonly (readonly [number, number])[];
  readonly address: number;
  readonly bytes: number;
  /** Bytes that lie together; `repeats` says how they repeat from there. */
  readonly run: number;
  /** Count and distance. */
  readonly repeats: readonly (readonly [number, number])[];
  readonly cores: readonly number[];
}

/** An operand of an op, cut into tiles. */
export interface SpyreTensor {
  readonly name: string;
  readonly role: "in" | "out" | "index";
  readonly place: "hbm" | "pool" | "lx";
  readonly base: number;
  readonly argument: number;
  readonly coordinates: readonly string[];
  /** What an iteration of each loop adds to the addresses. */
  readonly advances: readonly number[];
  /** What it adds to each dim of the boxes. */
  readonly shifts: readonly (readonly number[])[];
  readonly tiles: readonly SpyreTile[];
}

/** A dim of an op's iteration space. */
export interface SpyreDim {
  readonly symbol: string;
  readonly variable: string;
  readonly name: string;
  readonly label: string;
  readonly size: number;
  readonly padded: number;
  readonly tile: number;
  readonly split: number;
  readonly loop: number;
  readonly reduced: boolean;
  readonly units: number;
}

/** A coarse loop around an op. */
export interface SpyreLoop {
  readonly dim: string;
  readonly count: number;
}

/** A division of the work that the cost model has weighed; times in us. */
export interface SpyreCandidate {
  readonly splits: Readonly<Record<string, number>>;
  readonly cores: number;
  readonly cost: number;
  readonly compute: number;
  readonly memory: number;
  readonly partial_sums: number;
  readonly tie: number;
  readonly batch: number;
}

/** How an op's work was divided. */
export interface SpyreDivision {
  readonly source: string;
  readonly idle: string;
  readonly candidates: readonly SpyreCandidate[];
  /** How many candidates there were. */
  readonly count: number;
  readonly units: Readonly<Record<string, number>>;
}

/** Bytes: of device memory, each once; what all cores take from it and give to it, each for itself; within LX. */
export interface SpyreMoved {
  readonly unique: number;
  readonly device: number;
  readonly lx: number;
}

/** What an op's time is made of, in us. */
export interface SpyreParts {
  readonly pe: number;
  readonly sfp: number;
  readonly memory: number;
  readonly lx: number;
  readonly ring: number;
}

/** An estimate of an op's time; us and bytes. */
export interface SpyreTime {
  readonly us: number;
  readonly parts: SpyreParts;
  readonly binds: "pe" | "sfp" | "memory" | "lx" | "ring";
  /** Cores of the card's without work. */
  readonly idle: number;
  readonly operations: number;
  /** Operations per byte of device memory. */
  readonly intensity: number;
  readonly read: number;
  readonly written: number;
  /** Read from device memory once more, in the model. */
  readonly again: number;
  /** Read once and handed on to other cores. */
  readonly shared: number;
}

/** Equal layers: `count` times `length` ops from number `first`. */
export interface SpyreRepeat {
  readonly first: number;
  readonly length: number;
  readonly count: number;
}

/** The most that device memory (bytes/us) and the PE arrays of all cores (operations/us) do. */
export interface SpyreRoof {
  readonly bandwidth: number;
  readonly operations: number;
}

/** A figure of the estimate's model, and where it is from. */
export interface SpyreConstant {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly kind: string;
  readonly source: string;
}

/** An estimate of a program's time; us. */
export interface SpyreEstimate {
  readonly us: number;
  readonly said: string;
  /** Share of the card's time. */
  readonly idle: number;
  /** By what binds. */
  readonly bound: SpyreParts;
  readonly host_calls: number;
  readonly host_bytes: number;
  readonly repeats: readonly SpyreRepeat[];
  readonly roof: SpyreRoof;
  readonly constants: readonly SpyreConstant[];
}

/** Why something is as it is. */
export interface SpyreReason {
  readonly about: string;
  readonly text: string;
}

/** A tensor that a host call reads. */
export interface SpyreRead {
  readonly name: string;
  readonly role: "in";
  readonly tiles: readonly SpyreTile[];
}

/** An op in launch order, host calls among them. */
export interface SpyreOp {
  readonly number: number;
  readonly op: string;
  readonly buffer: string;
  readonly func: string;
  /** The number of its kernel; -1 for a host call. */
  readonly kernel: number;
  readonly unit: string;
  readonly mark: string;
  /** Its position in the loop IR, the time axis of `lx` and `pool`. */
  readonly step: number;
  /** File and line of the user's source; line 0 when it is not known. */
  readonly line: readonly [number, number];
  readonly aten: string;
  readonly dims: readonly SpyreDim[];
  readonly cores: number;
  /** For each core, which slice of each dim it has. */
  readonly slices: readonly (readonly number[])[];
  readonly loops: readonly SpyreLoop[];
  readonly tensors: readonly SpyreTensor[];
  readonly moved: SpyreMoved;
  readonly division: SpyreDivision | null;
  readonly why: readonly SpyreReason[];
  /** None for a host call. */
  readonly time: SpyreTime | null;
  /** Path of the nn.Module that called it. */
  readonly module: string;
  /** Of a host call, what it reads. */
  readonly reads?: readonly SpyreRead[];
}

/** A buffer of a program, and how it lies on the device. */
export interface SpyreBuffer {
  readonly size: readonly number[];
  readonly stride: readonly number[];
  readonly dtype: string;
  readonly kind: string;
  readonly parameter: string;
  readonly dims: readonly string[];
  readonly order: readonly number[] | null;
  readonly device_size: readonly number[];
  readonly stride_map: readonly number[];
  readonly format: string;
  /** Bytes of an element. */
  readonly item: number;
  readonly tag: string;
  readonly bytes: number;
  readonly place: string;
}

/** An argument of a kernel. */
export interface SpyreArgument {
  readonly name: string;
  readonly base: number;
}

/** A kernel of a program. */
export interface SpyreKernel {
  readonly name: string;
  readonly pool: boolean;
  readonly arguments: readonly SpyreArgument[];
  /** Estimated. */
  readonly us: number;
}

/** A buffer in the scratchpad of every core, from its first step to its last. */
export interface SpyreBlock {
  readonly name: string;
  readonly address: number;
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
  readonly in_place: string;
}

/** A buffer that is not in the scratchpad, and why. */
export interface SpyreMissed {
  readonly name: string;
  readonly why: string;
  readonly bytes: number;
}

/** The scratchpad of every core. */
export interface SpyreScratchpad {
  readonly capacity: number;
  readonly whole: number;
  readonly peak: number;
  readonly blocks: readonly SpyreBlock[];
  readonly missed: readonly SpyreMissed[];
}

/** A buffer in the pool, from its first step to its last. */
export interface SpyrePooled {
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
}

/** The part of device memory that intermediate buffers share. */
export interface SpyrePool {
  readonly bytes: number;
  readonly segment: number;
  readonly blocks: readonly SpyrePooled[];
}

/** The options that the view can change. */
export interface SpyreOptions {
  readonly cores: number;
  readonly layout_solver: string;
  readonly restickify_solver: string;
  readonly choices: Readonly<Record<string, readonly string[]>>;
  readonly switches: Readonly<Record<string, boolean>>;
  readonly orders: Readonly<Record<string, readonly number[]>>;
  readonly divisions: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** A file of the user's. */
export interface SpyreSource {
  readonly name: string;
  readonly text: string;
}

/** A program for Spyre: what `irwidget.spyre.picture.picture` gives. */
export interface SpyreProgram {
  readonly version: number;
  readonly name: string;
  readonly semantics: string;
  readonly cores: number;
  readonly max_cores: number;
  /** Bytes of a stick. */
  readonly stick: number;
  readonly steps: number;
  readonly kernels: readonly SpyreKernel[];
  readonly ops: readonly SpyreOp[];
  readonly buffers: Readonly<Record<string, SpyreBuffer>>;
  readonly lx: SpyreScratchpad;
  readonly pool: SpyrePool;
  readonly options: SpyreOptions;
  readonly named_dims: Readonly<Record<string, number>>;
  readonly restickify_cost: number;
  readonly moved: SpyreMoved;
  readonly estimate: SpyreEstimate;
  readonly diagnostics: readonly string[];
  readonly sources: readonly SpyreSource[];
}

/** An op in a row of a comparison. */
export interface SpyreBrief {
  readonly splits: string;
  readonly cores: number;
  readonly place: string;
  /** Bytes of device memory. */
  readonly unique: number;
  /** Estimated; None for a host call. */
  readonly us: number | null;
}

/** An op before and after; null where there is none. */
export interface SpyreChangedOp {
  readonly op: string;
  readonly before: SpyreBrief | null;
  readonly after: SpyreBrief | null;
  readonly changed: boolean;
}

/** An option before and after. */
export interface SpyreChangedOption {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** A figure of the program before and after. */
export interface SpyreTotal {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

/** What differs between two programs. */
export interface SpyreChanges {
  readonly rows: readonly SpyreChangedOp[];
  readonly options: readonly SpyreChangedOption[];
  readonly totals: readonly SpyreTotal[];
}

/** A field of a SuperDSC file before and after, as text. */
export interface SpyreField {
  readonly path: string;
  readonly before: string;
  readonly after: string;
  /** How many cores' values differ; those of the first are given. */
  readonly cores: number;
}

/** The program before it was compiled again, and what changed. */
export interface SpyreFormer {
  readonly picture: SpyreProgram;
  readonly changes: SpyreChanges;
  /** Op -> fields of its SuperDSC that differ. */
  readonly fields: Readonly<Record<string, readonly SpyreField[]>>;
}

/** One way to divide a program that a search has found and compiled. */
export interface SpyrePlan {
  /** Estimated. */
  readonly us: number;
  /** Bytes of a core's scratchpad at its peak. */
  readonly lx: number;
  readonly today: boolean;
  readonly differences: readonly string[];
  readonly hints: readonly string[];
  readonly divisions: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

/** What a search has found. */
export interface SpyreSearch {
  readonly method: string;
  readonly proven: boolean;
  readonly plans: readonly SpyrePlan[];
}

/** A SuperDSC file. */
export interface SpyreFile {
  readonly kernel: string;
  readonly op: string;
  readonly iteration: readonly number[];
  readonly name: string;
  readonly text: string;
}

/** OpSpecs by op, bundle.mlir by kernel, and the SuperDSC files of every execution. */
export interface SpyreTexts {
  readonly opspec: Readonly<Record<string, string>>;
  readonly bundle: Readonly<Record<string, string>>;
  readonly files: readonly SpyreFile[];
}

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

/** A kernel in the order of execution; `lines` has the user's line for each line of its text, 0 for none. */
export interface ScheduleLaunch {
  readonly kernel: string;
  readonly kind: string;
  readonly graph: number;
  readonly direction: string;
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

/** The layout of one type of a dump. */
export interface TensorLayout {
  readonly type: string;
  /** The layout's attribute, written out. */
  readonly encoding: string;
  /** `shared` or `tensor` for memory; "" for registers. */
  readonly memory: string;
  /** Of an element. */
  readonly bits: number;
  /** Of the GPU's shared memory, of 32 bits; 0 where that is not known. */
  readonly banks: number;
  /** What is laid out, in elements. */
  readonly shape: readonly number[];
  /** By the name of an input (`register`, `lane`, `offset` ...): the element that each bit leads to, by xor. */
  readonly bases: Readonly<Record<string, readonly (readonly number[])[]>>;
  /** Of shared memory: after each interval of so many elements, so many are left out. */
  readonly padding: readonly (readonly number[])[];
  /** Why there are no bases; "" where there are. */
  readonly why: string;
}

/** A value with a layout at a line. */
export interface LayoutValue {
  /** "" where a line names a type without a value. */
  readonly name: string;
  readonly layout: number;
}

/** An operation that takes a tensor from one layout to another. */
export interface LayoutMove {
  readonly line: number;
  readonly source: number;
  readonly result: number;
  readonly summary: string;
}

/** A line of the dump. */
export interface LayoutLine {
  readonly text: string;
  readonly values: readonly LayoutValue[];
  /** The number of the move that the line is; -1 for none. */
  readonly move: number;
}

/** A dump with the layouts of its tensors. */
export interface LayoutsData {
  readonly title: string;
  readonly lines: readonly LayoutLine[];
  readonly layouts: readonly TensorLayout[];
  readonly moves: readonly LayoutMove[];
}
