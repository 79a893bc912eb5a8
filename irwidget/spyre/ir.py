"""The loop-level IR: one buffer per operation, immutable; passes make new graphs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from irwidget.errors import UnsupportedError
from irwidget.spyre.coordinates import Index, device_coordinates
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.hints import Hint
from irwidget.spyre.layout import DeviceLayout
from irwidget.spyre.tensorspec import Input

Ranges = tuple[tuple[str, int], ...]
"""Loop variables with their sizes, outermost first; dims of size 1 have none."""
OpKind = Literal["pointwise", "reduction", "matmul", "topk", "constant", "empty", "fallback", "multi_output"]


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor of the program: an input, a constant or what an op makes."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    kind: Literal["input", "constant", "computed", "fallback"] = "computed"
    value: float | int | bool | None = None
    """Of a constant."""
    layout: DeviceLayout | None = None
    per_tile: bool = False
    """Whether it holds one tile of a coarse-tiling loop, at the same place in every iteration."""

    @property
    def device(self) -> DeviceLayout:
        if self.layout is None:
            raise AssertionError(f"{self.name} has no device layout yet")
        return self.layout


@dataclass(frozen=True, slots=True)
class Read:
    """An operand: a buffer and where the loop reads it; a scalar literal has no buffer yet."""

    buffer: str
    index: Index = field(default_factory=Index)
    scalar: float | int | bool | None = None
    dtype: str = ""
    role: str = ""
    """`index` for the index tensor of a gather."""
    direct: bool = False
    """Whether it reads the whole buffer as it is, no view between."""
    rank: int = 0
    """Dims of a matmul's operand as upstream has it, those of one element included."""


@dataclass(frozen=True, slots=True)
class HostFunction:
    """A branch or a body that a host op is given; its name is its text."""

    name: str
    function: Any

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class External:
    """What a CPU fallback runs: an operator, and arguments with tensors replaced by View objects."""

    target: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    name: str
    several: bool = False
    """Whether it returns a sequence."""


@dataclass(frozen=True, slots=True)
class BufferView:
    """A strided window on a buffer, as PyTorch sees it."""

    buffer: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int
    dtype: str


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    """An argument of a host op whose views are of buffers with other names."""
    if isinstance(value, list | tuple):
        return type(value)(_renamed(one, names) for one in value)  # pyright: ignore
    return replace(value, buffer=names.get(value.buffer, value.buffer)) if isinstance(value, BufferView) else value


@dataclass(frozen=True, slots=True)
class SpyreTileLoop:
    """One level of a coarse-tiling loop around an op."""

    scope: int
    dim: str
    count: int
    variable: str | None = None
    """The op's loop variable that is tiled; None when the op does not have the dim."""
    tile: int = 0
    """Extent of that variable in one iteration."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of the graph."""

    name: str
    buffer: str
    """The name that it goes by; `target` is what it writes."""
    kind: OpKind
    func: str
    """OpFunc, or `copy` for a pure copy whose OpFunc is decided by the layouts."""
    ranges: Ranges = ()
    reduced: Ranges = ()
    reads: tuple[Read, ...] = ()
    write: Index = field(default_factory=Index)
    target: str = ""
    constants: tuple[tuple[str, float | bool], ...] = ()
    aten: str = ""
    """The ATen op that the buffer is taken to come from, for the scratchpad's list."""
    pointwise: bool = False
    """Whether ATen tags that op pointwise."""
    origins: tuple[str, ...] = ()
    """Names that go into the kernel's name."""
    line: tuple[str, int] = ("", 0)
    hints: tuple[Hint, ...] = ()
    rule: str = "same"
    """How layouts propagate: same, clone, constant, matmul, exx2, layernormnorm, cast, copy_into."""
    unit_batch: bool = False
    external: External | None = None
    splits: tuple[tuple[str, int], ...] = ()
    loops: tuple[SpyreTileLoop, ...] = ()
    dims: tuple[tuple[str, str], ...] = ()
    """Named dims: variable -> name."""
    node: str = ""
    """The FX node that it was lowered for."""
    module: str = ""
    """Path of the nn.Module that called it, from the outermost."""
    host_reason: str = ""
    """Of a host op: why it is one here, where upstream's front end has nothing that runs."""
    part: int = 0
    """Of a multi_output: which result of the host op before it."""

    @property
    def space(self) -> dict[str, int]:
        """The iteration space: output dims, then reduction dims."""
        return dict((*self.ranges, *self.reduced))

    def ranges_over(self, buffer: Buffer) -> dict[str, int]:
        """Ranges of its variables where it walks over a buffer: all tiles of one that outlives the loop."""
        space = self.space
        if not buffer.per_tile:
            for loop in self.loops:
                if loop.variable is not None:
                    space[loop.variable] *= loop.count
        return space

    def reading(self, names: Mapping[str, str]) -> Op:
        """The op where buffers that it reads have other names; those that are not among `names` keep theirs."""
        if not any(read.buffer in names for read in self.reads):
            return self
        reads = tuple(replace(read, buffer=names.get(read.buffer, read.buffer)) for read in self.reads)
        call = self.external
        if call is not None:
            kwargs = {key: _renamed(value, names) for key, value in call.kwargs.items()}
            call = replace(call, args=_renamed(call.args, names), kwargs=kwargs)
        return replace(self, reads=reads, external=call)

    @property
    def computed(self) -> bool:
        """Whether it runs on the cores."""
        return self.kind in ("pointwise", "reduction", "matmul", "topk")

    @property
    def tensor_reads(self) -> tuple[Read, ...]:
        return tuple(read for read in self.reads if read.buffer)

    @property
    def data_reads(self) -> tuple[Read, ...]:
        """Operands without the index tensors of gathers."""
        return tuple(read for read in self.reads if read.buffer and read.role != "index")

    @property
    def loop_scopes(self) -> tuple[int, ...]:
        """The loops around it, outermost first, by the scope that asked for them."""
        return tuple(loop.scope for loop in self.loops)

    @property
    def is_mutation(self) -> bool:
        return self.target != self.buffer

    def where(self) -> str:
        return f"\n  at {self.line[0]}:{self.line[1]}" if self.line[0] else ""


@dataclass(frozen=True)
class Graph:
    """A program between two passes."""

    ops: tuple[Op, ...]
    buffers: Mapping[str, Buffer]
    inputs: tuple[Input, ...]
    outputs: tuple[BufferView | Any, ...]
    """A View per tensor output; other outputs as they are."""
    mutated: tuple[str, ...] = ()
    """Inputs that the program writes into."""
    strides: tuple[tuple[int, ...] | None, ...] = ()
    """Of each output, the strides that the function gives it; its view here may have others."""
    aliases: tuple[BufferView | None, ...] = ()
    """Of each output that has the memory of an input, as a view or as what was written there, where in it."""

    def op(self, name: str) -> Op:
        return next(op for op in self.ops if op.name == name)

    def with_ops(self, ops: Iterable[Op], buffers: Mapping[str, Buffer] | None = None) -> Graph:
        return replace(self, ops=tuple(ops), buffers=self.buffers if buffers is None else buffers)

    def map_ops(self, change: Callable[[Op], Op]) -> Graph:
        return self.with_ops(change(op) for op in self.ops)

    @property
    def output_buffers(self) -> frozenset[str]:
        return frozenset(view.buffer for view in self.outputs if isinstance(view, BufferView))

    def next_number(self) -> int:
        return 1 + max((int(op.name[2:]) for op in self.ops), default=-1)

    def read_coordinates(self, op: Op, read: Read) -> tuple[Coordinate, ...]:
        buffer = self.buffers[read.buffer]
        return device_coordinates(buffer.device, read.index, op.ranges_over(buffer))

    def write_coordinates(self, op: Op) -> tuple[Coordinate, ...]:
        buffer = self.buffers[op.target]
        return device_coordinates(buffer.device, op.write, op.ranges_over(buffer))


def counted(number: int, thing: str) -> str:
    """A number of things, of one of them, too."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


@contextmanager
def blaming(node: str) -> Generator[None]:
    """Note on what is refused inside which FX node it is about."""
    try:
        yield
    except UnsupportedError as error:
        if not getattr(error, "node", ""):
            error.node = node
        raise


class Refusals:
    """What the passes of one attempt refuse, by FX node; `collected`: they go on, so that the next attempt has all of
    it on the host at once.
    """

    def __init__(self, collected: bool) -> None:
        self.collected = collected
        self.found: dict[str, UnsupportedError] = {}

    @contextmanager
    def of(self, node: str) -> Generator[None]:
        """Keep what is refused of a node; without a node, or where nothing is collected, it is raised."""
        try:
            with blaming(node):
                yield
        except UnsupportedError as error:
            if not self.collected or not node:
                raise
            self.found.setdefault(node, error)

    def raise_first(self) -> None:
        """Raise what was refused first, if anything was."""
        for error in self.found.values():
            raise error


def users(graph: Graph) -> dict[str, list[Op]]:
    """Buffer -> ops that read it, in order; a fallback reads what its arguments view."""
    found: dict[str, list[Op]] = {}
    for op in graph.ops:
        for name in dict.fromkeys(read.buffer for read in op.tensor_reads):
            found.setdefault(name, []).append(op)
    return found
