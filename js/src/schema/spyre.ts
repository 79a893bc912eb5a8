/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

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
