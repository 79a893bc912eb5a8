"""What is sent to the browser as JSON, as types: `npm --prefix js run schema` makes js/src/schema.ts of them.

A name that is a keyword of Python ends with an underscore here, and has none in JSON.
"""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


class Failure(TypedDict):
    """Where a lowering stopped, and why."""

    step: str
    """The tool."""
    pass_: str
    message: str
    diagnostics: list[str]
    reproducer: str
    """A shell command that shows the failure again; "" where there is none."""


class ViewedStage(TypedDict):
    """What a view says of a dump, beyond what the file has of it."""

    label: str
    """The name, numbered when the trace runs the pass more than once."""
    step: str
    scope: str
    """What the pass ran on: `module`, a function or a kernel."""
    part: str
    """The function or kernel that the text shows; "" when it shows the whole module."""
    syntax: str
    """Which column of operations is that of its language; "" where there is none."""
    before: int
    """The stage that this one is compared with: the last of the same function or kernel; -1 for none."""
    check: Literal["equal", "differs", ""]
    """Whether what the stage computes equals eager PyTorch; "" where it was not executed."""


class Verdict(TypedDict):
    """What a check of a lowering has found."""

    state: Literal["equal", "differs", "not checked"]
    brief: str
    """In a few words."""
    text: str
    """In full, with numbers."""
    stage: int
    """The first wrong stage; -1 where there is none."""


class ViewedTrace(TypedDict):
    """What a view says of a lowering without the text of its dumps."""

    facts: list[tuple[str, str]]
    verdict: Verdict | None
    """null where nobody asked for a check."""
    failure: Failure | None
    diagnostics: list[str]
    stages: list[ViewedStage]


class LinkedNode(TypedDict):
    """A node of a Helion kernel's graph."""

    name: str
    """`graph.node`."""
    target: str
    text: str
    """The node as a line of code."""
    depth: int
    """How many loops and branches hold it."""
    symbolic: bool
    """Whether it only computes a size or another number."""
    row: int
    """Its row of the source, or -1."""


class LinkedStage(TypedDict):
    """A dump of a Helion kernel, line by line."""

    index: int
    """The number of the dump in the lowering."""
    name: str
    step: str
    language: str
    lines: list[int]
    """Numbers into the table of lines."""
    owners: list[int]
    """For each line, the number of its node, or -1."""


class LinkedKernel(TypedDict):
    """A Helion kernel: source, nodes, and the lines that came from each."""

    name: str
    source: list[tuple[str, int, str]]
    """File, line number and text of each line."""
    nodes: list[LinkedNode]
    table: list[str]
    stages: list[LinkedStage]


class Note(TypedDict):
    """What a reader has written on a line of a dump."""

    lowering: str
    """The name of the lowering and what it goes to, as the view says it."""
    pass_: str
    """The label of the pass."""
    line: int
    """From 1."""
    text: str
    """The line as it was."""
    note: str


class TextEdit(TypedDict):
    """The lines that an experiment has in place of some of a dump."""

    first: int
    """The first line that is another one, from 0."""
    gone: int
    """How many lines of the dump are not there."""
    lines: list[str]
    of: str
    """A digest of the dump's text."""


class ArrangedPass(TypedDict):
    """A pass that an experiment runs."""

    place: int
    """Its position among those that the lowering ran after the dump."""
    options: dict[str, str]
    """Those that have another value."""


class PlannedPass(TypedDict):
    """A pass that a lowering ran after a dump."""

    name: str
    step: str
    stage: int
    """The dump that it left; -1 for none."""
    options: dict[str, str]
    """What can be changed of it."""


class Plan(TypedDict):
    """What a page asks for before it edits a dump."""

    passes: list[PlannedPass]
    parser: bool
    """Whether something here reads the language."""


class Problem(TypedDict):
    """What the parser or the verifier says of a text."""

    line: int
    """From 1; 0 where it says none."""
    column: int
    message: str


class ComparedPass(TypedDict):
    """A pass of an experiment or of what it starts from."""

    name: str
    left: int
    """The dump of what it starts from; -1 for none."""
    right: int
    """That of the experiment."""
    state: Literal["same", "differs", "only left", "only right", "not compared"]


class ExperimentOutcome(TypedDict):
    """An experiment beside the lowering that it starts from."""

    summary: str
    passes: list[ComparedPass]
    facts: list[tuple[str, str, str]]
    """Name and both values; what was not computed says so."""


ExperimentState = Literal["kept", "running", "done", "failed", "stopped"]


class Experiment(TypedDict):
    """A lowering that goes on from an edited dump, or with other passes; kept with the notebook."""

    id: int
    """From 1."""
    name: str
    parent: int
    """The experiment whose dump it starts from; 0 for a dump of a lowering of the view."""
    lowering: int
    """Which lowering of the view it, or the first of its parents, starts from."""
    stage: int
    """The dump that it starts from, by its number there."""
    after: str
    """The pass that left that dump."""
    edit: TextEdit | None
    """null where the text is the dump's."""
    passes: list[ArrangedPass] | None
    """What runs, in order; null for what the lowering ran."""
    check: bool
    state: ExperimentState
    """`kept`: it has not run since the lowering was made."""
    trace: int
    """Its lowering among those of the view; -1 where there is none."""
    message: str
    pipeline: str
    """What runs, as a custom pipeline; "" where nothing does or it is not known."""
    outcome: ExperimentOutcome | None
    """null until all of it is there."""


class ProgressPhase(TypedDict):
    """A part of a lowering that goes on."""

    name: str
    seconds: float
    over: bool


class ProgressPass(TypedDict):
    """The pass under way."""

    pass_: str
    step: str
    seconds: float
    """Since it began."""


class ProgressBefore(TypedDict):
    """How the same lowering went the time before."""

    seconds: float
    passes: int


class Progress(TypedDict):
    """Where a lowering is; seconds are those at the time of sending."""

    name: str
    seconds: float
    phases: list[ProgressPhase]
    passes: int
    """How many passes have begun."""
    running: ProgressPass | None
    last: ProgressBefore | None


class PipelineStep(TypedDict):
    """A step of a pipeline under edit."""

    id: int
    """0 for a step of the route, which cannot be edited."""
    tool: str
    pass_: str
    label: str
    text: str
    """The arguments as they are written."""
    options: dict[str, str]
    enabled: bool
    state: Literal["", "waiting", "running", "done", "failed", "stopped"]
    seconds: float
    stage: int
    """The stage of the lowering that it left; -1 when there is none."""


class PassOption(TypedDict):
    """An option of a pass that the page may set."""

    name: str
    kind: Literal["flag", "integer", "number", "choice", "text"]
    default: str
    choices: list[str]
    help: str


class OfferedPass(TypedDict):
    """A pass that the page may pick."""

    name: str
    help: str
    options: list[PassOption]


class SweepCell(TypedDict):
    """One lowering of a sweep."""

    model: str
    target: str
    status: str
    mark: str
    """What the cell of the heat map says."""
    message: str
    step: str
    pass_: str
    op: str
    place: str
    seconds: float
    passes: int
    lines: int
    dumps: bool
    """Whether its dumps were kept."""


class SweepData(TypedDict):
    """A sweep as a heat map."""

    models: list[str]
    targets: list[str]
    cells: list[SweepCell]
    tools: list[str]


class SpyreTile(TypedDict):
    """A part of a tensor that some cores touch."""

    box: list[tuple[int, int]]
    """First and last of each host dim."""
    address: int
    bytes: int
    run: int
    """Bytes that lie together; `repeats` says how they repeat from there."""
    repeats: list[tuple[int, int]]
    """Count and distance."""
    cores: list[int]


class SpyreTensor(TypedDict):
    """An operand of an op, cut into tiles."""

    name: str
    role: Literal["in", "out", "index"]
    place: Literal["hbm", "pool", "lx"]
    base: int
    argument: int
    coordinates: list[str]
    advances: list[int]
    """What an iteration of each loop adds to the addresses."""
    shifts: list[list[int]]
    """What it adds to each dim of the boxes."""
    tiles: list[SpyreTile]


class SpyreDim(TypedDict):
    """A dim of an op's iteration space."""

    symbol: str
    variable: str
    name: str
    label: str
    size: int
    padded: int
    tile: int
    split: int
    loop: int
    reduced: bool
    units: int


class SpyreLoop(TypedDict):
    """A coarse loop around an op."""

    dim: str
    count: int


class SpyreCandidate(TypedDict):
    """A division of the work that the cost model has weighed; times in us."""

    splits: dict[str, int]
    cores: int
    cost: float
    compute: float
    memory: float
    partial_sums: float
    tie: float
    batch: float


class SpyreDivision(TypedDict):
    """How an op's work was divided."""

    source: str
    idle: str
    candidates: list[SpyreCandidate]
    count: int
    """How many candidates there were."""
    units: dict[str, int]


class SpyreMoved(TypedDict):
    """Bytes: of device memory, each once; what all cores take from it and give to it, each for itself; within LX."""

    unique: int
    device: int
    lx: int


class SpyreParts(TypedDict):
    """What an op's time is made of, in us."""

    pe: float
    sfp: float
    memory: float
    lx: float
    ring: float


class SpyreTime(TypedDict):
    """An estimate of an op's time; us and bytes."""

    us: float
    parts: SpyreParts
    binds: Literal["pe", "sfp", "memory", "lx", "ring"]
    idle: int
    """Cores of the card's without work."""
    operations: int
    intensity: float
    """Operations per byte of device memory."""
    read: int
    written: int
    again: int
    """Read from device memory once more, in the model."""
    shared: int
    """Read once and handed on to other cores."""


class SpyreRepeat(TypedDict):
    """Equal layers: `count` times `length` ops from number `first`."""

    first: int
    length: int
    count: int


class SpyreRoof(TypedDict):
    """The most that device memory (bytes/us) and the PE arrays of all cores (operations/us) do."""

    bandwidth: float
    operations: float


class SpyreConstant(TypedDict):
    """A figure of the estimate's model, and where it is from."""

    name: str
    value: float
    unit: str
    kind: str
    source: str


class SpyreEstimate(TypedDict):
    """An estimate of a program's time; us."""

    us: float
    said: str
    idle: float
    """Share of the card's time."""
    bound: SpyreParts
    """By what binds."""
    host_calls: int
    host_bytes: int
    repeats: list[SpyreRepeat]
    roof: SpyreRoof
    constants: list[SpyreConstant]


class SpyreReason(TypedDict):
    """Why something is as it is."""

    about: str
    text: str


class SpyreRead(TypedDict):
    """A tensor that a host call reads."""

    name: str
    role: Literal["in"]
    tiles: list[SpyreTile]


class SpyreOp(TypedDict):
    """An op in launch order, host calls among them."""

    number: int
    op: str
    buffer: str
    func: str
    kernel: int
    """The number of its kernel; -1 for a host call."""
    unit: str
    mark: str
    step: int
    """Its position in the loop IR, the time axis of `lx` and `pool`."""
    line: tuple[int, int]
    """File and line of the user's source; line 0 when it is not known."""
    aten: str
    dims: list[SpyreDim]
    cores: int
    slices: list[list[int]]
    """For each core, which slice of each dim it has."""
    loops: list[SpyreLoop]
    tensors: list[SpyreTensor]
    moved: SpyreMoved
    division: SpyreDivision | None
    why: list[SpyreReason]
    time: SpyreTime | None
    """None for a host call."""
    module: str
    """Path of the nn.Module that called it."""
    reads: NotRequired[list[SpyreRead]]
    """Of a host call, what it reads."""


class SpyreBuffer(TypedDict):
    """A buffer of a program, and how it lies on the device."""

    size: list[int]
    stride: list[int]
    dtype: str
    kind: str
    parameter: str
    dims: list[str]
    order: list[int] | None
    device_size: list[int]
    stride_map: list[int]
    format: str
    item: int
    """Bytes of an element."""
    tag: str
    bytes: int
    place: str


class SpyreArgument(TypedDict):
    """An argument of a kernel."""

    name: str
    base: int


class SpyreKernel(TypedDict):
    """A kernel of a program."""

    name: str
    pool: bool
    arguments: list[SpyreArgument]
    us: float
    """Estimated."""


class SpyreBlock(TypedDict):
    """A buffer in the scratchpad of every core, from its first step to its last."""

    name: str
    address: int
    bytes: int
    first: int
    last: int
    in_place: str


class SpyreMissed(TypedDict):
    """A buffer that is not in the scratchpad, and why."""

    name: str
    why: str
    bytes: int


class SpyreScratchpad(TypedDict):
    """The scratchpad of every core."""

    capacity: int
    whole: int
    peak: int
    blocks: list[SpyreBlock]
    missed: list[SpyreMissed]


class SpyrePooled(TypedDict):
    """A buffer in the pool, from its first step to its last."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int


class SpyrePool(TypedDict):
    """The part of device memory that intermediate buffers share."""

    bytes: int
    segment: int
    blocks: list[SpyrePooled]


class SpyreOptions(TypedDict):
    """The options that the view can change."""

    cores: int
    layout_solver: str
    restickify_solver: str
    choices: dict[str, list[str]]
    switches: dict[str, bool]
    orders: dict[str, list[int]]
    divisions: dict[str, dict[str, int]]


class SpyreSource(TypedDict):
    """A file of the user's."""

    name: str
    text: str


class SpyreProgram(TypedDict):
    """A program for Spyre: what `irwidget.spyre.picture.picture` gives."""

    version: int
    name: str
    semantics: str
    cores: int
    max_cores: int
    stick: int
    """Bytes of a stick."""
    steps: int
    kernels: list[SpyreKernel]
    ops: list[SpyreOp]
    buffers: dict[str, SpyreBuffer]
    lx: SpyreScratchpad
    pool: SpyrePool
    options: SpyreOptions
    named_dims: dict[str, int]
    restickify_cost: int
    moved: SpyreMoved
    estimate: SpyreEstimate
    diagnostics: list[str]
    sources: list[SpyreSource]


class SpyreBrief(TypedDict):
    """An op in a row of a comparison."""

    splits: str
    cores: int
    place: str
    unique: int
    """Bytes of device memory."""
    us: float | None
    """Estimated; None for a host call."""


class SpyreChangedOp(TypedDict):
    """An op before and after; null where there is none."""

    op: str
    before: SpyreBrief | None
    after: SpyreBrief | None
    changed: bool


class SpyreChangedOption(TypedDict):
    """An option before and after."""

    name: str
    before: str
    after: str


class SpyreTotal(TypedDict):
    """A figure of the program before and after."""

    name: str
    before: float
    after: float


class SpyreChanges(TypedDict):
    """What differs between two programs."""

    rows: list[SpyreChangedOp]
    options: list[SpyreChangedOption]
    totals: list[SpyreTotal]


class SpyreField(TypedDict):
    """A field of a SuperDSC file before and after, as text."""

    path: str
    before: str
    after: str
    cores: int
    """How many cores' values differ; those of the first are given."""


class SpyreFormer(TypedDict):
    """The program before it was compiled again, and what changed."""

    picture: SpyreProgram
    changes: SpyreChanges
    fields: dict[str, list[SpyreField]]
    """Op -> fields of its SuperDSC that differ."""


class SpyrePlan(TypedDict):
    """One way to divide a program that a search has found and compiled."""

    us: float
    """Estimated."""
    lx: int
    """Bytes of a core's scratchpad at its peak."""
    today: bool
    differences: list[str]
    hints: list[str]
    divisions: dict[str, dict[str, int]]


class SpyreSearch(TypedDict):
    """What a search has found."""

    method: str
    proven: bool
    plans: list[SpyrePlan]


class SpyreFile(TypedDict):
    """A SuperDSC file."""

    kernel: str
    op: str
    iteration: list[int]
    name: str
    text: str


class SpyreTexts(TypedDict):
    """OpSpecs by op, bundle.mlir by kernel, and the SuperDSC files of every execution."""

    opspec: dict[str, str]
    bundle: dict[str, str]
    files: list[SpyreFile]


class ScheduleOp(TypedDict):
    """An operation of Inductor's that a kernel runs."""

    name: str
    targets: list[str]
    origins: list[str]
    loops: list[str]
    reduced: list[str]
    line: int
    file: str
    module: str


class ScheduleBuffer(TypedDict):
    """A buffer of a kernel's, which it `reads`, `writes` or keeps `inside`; -1 bytes: the size is not a number."""

    name: str
    bytes: int
    way: str


class ScheduleLaunch(TypedDict):
    """A kernel in the order of execution; `lines` has the user's line for each line of its text, 0 for none."""

    kernel: str
    kind: str
    graph: int
    direction: str
    reads: int
    writes: int
    loops: list[str]
    reduced: list[str]
    buffers: list[ScheduleBuffer]
    ops: list[ScheduleOp]
    text: str
    lines: list[int]
    said: str


class ScheduleFlow(TypedDict):
    """What a kernel makes and a later one reads."""

    maker: int
    reader: int
    buffer: str
    bytes: int


class SchedulePair(TypedDict):
    """Whether two kernels could be one, and why not."""

    first: int
    second: int
    answer: str
    text: str


class ScheduleAlive(TypedDict):
    """A buffer alive at the peak."""

    name: str
    bytes: int
    line: int


class ScheduleMemory(TypedDict):
    """Bytes alive at each kernel of a graph."""

    graph: int
    direction: str
    peak: int
    unfused: int
    moments: list[int]
    alive: list[ScheduleAlive]


class Schedule(TypedDict):
    """What torch.compile runs."""

    version: int
    name: str
    device: str
    launches: list[ScheduleLaunch]
    flows: list[ScheduleFlow]
    pairs: list[SchedulePair]
    memory: list[ScheduleMemory]


class TensorLayout(TypedDict):
    """The layout of one type of a dump."""

    type: str
    encoding: str
    """The layout's attribute, written out."""
    memory: str
    """`shared` or `tensor` for memory; "" for registers."""
    bits: int
    """Of an element."""
    shape: list[int]
    """What is laid out, in elements."""
    bases: dict[str, list[list[int]]]
    """By the name of an input (`register`, `lane`, `offset` ...): the element that each bit leads to, by xor."""
    padding: list[list[int]]
    """Of shared memory: after each interval of so many elements, so many are left out."""
    why: str
    """Why there are no bases; "" where there are."""


class LayoutValue(TypedDict):
    """A value with a layout at a line."""

    name: str
    """"" where a line names a type without a value."""
    layout: int


class LayoutMove(TypedDict):
    """An operation that takes a tensor from one layout to another."""

    line: int
    source: int
    result: int
    summary: str


class LayoutLine(TypedDict):
    """A line of the dump."""

    text: str
    values: list[LayoutValue]
    move: int
    """The number of the move that the line is; -1 for none."""


class LayoutsData(TypedDict):
    """A dump with the layouts of its tensors."""

    title: str
    lines: list[LayoutLine]
    layouts: list[TensorLayout]
    moves: list[LayoutMove]
