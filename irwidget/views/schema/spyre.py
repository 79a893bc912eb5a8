"""Programs for Spyre."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


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
