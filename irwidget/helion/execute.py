"""Run a lowering on the CPU, in place of Triton inside Helion's own generated host function.

Allocations, views and results come from Helion. The kernel itself runs in a
copy of the worker with a time limit, so that a wrong index cannot take the
caller down.
"""

from __future__ import annotations

import mmap
import re
import sys
import tempfile
import traceback
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from irwidget.errors import ExportError, IRWidgetError, PassError, ToolError, UsageError
from irwidget.helion import addresses, aliasing, configuration, fitting, private, refusals, tools
from irwidget.helion.binding import open_sizes
from irwidget.helion.bound import Binding
from irwidget.helion.configuration import Chosen
from irwidget.helion.values import HostScalar, HostTensor
from irwidget.toolchain import locations
from irwidget.toolchain.events import Invocation, MemRef, Value
from irwidget.toolchain.execute import CRASHED
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Step

_OUTSIDE = re.compile(
    r"^ERROR: Runtime op verification failed\n(?P<op>.*)\n\^ (?P<what>.*)\nLocation: (?P<place>.*)", re.M
)
"""What an assertion about an access says: the op, what is wrong with it, and where."""

TIMEOUT = 120.0
"""Seconds that one launch may take by default."""
_GRACE = 5.0
"""Seconds on top of it for the worker to say that it is over."""


@dataclass(frozen=True)
class Executable:
    """A kernel ready to run: a module, the steps that take it to the LLVM dialect, and what its function takes."""

    name: str
    bytecode: bytes
    steps: Sequence[Step]
    tensors: Sequence[HostTensor]
    scalars: Sequence[HostScalar]
    pointed: Sequence[str] = ()
    """The nodes for which a run counts the positions outside of what they access, in one more argument."""
    opt_level: int = 2
    """How far LLVM optimises: 0 compiles ten times faster, for kernels on little data."""


def run(
    program: Executable, binding: Binding, tensors: Sequence[Any], timeout: float = TIMEOUT, config: Any = None
) -> tuple[Any, list[int]]:
    """Call Helion's host function with our kernel as the launched one.

    Returns what the kernel returns, and for each of `program.pointed` how often a position was outside.
    With `config`, as this configuration would run, of a module whose tile sizes are open.

    Raises:
        UsageError: meta tensors, or shapes that the module is not made for.
        PassError: the module cannot be taken to the LLVM dialect.
        ToolError: the kernel crashed or ran out of time.
    """
    arguments = tuple(tensors)
    fitting.check(binding, arguments)
    chosen = binding.chosen if config is None else configuration.choose(binding.bound, binding.kernel, config)
    sizes = open_sizes(binding, chosen)
    host = host_function(binding, chosen)
    counts = torch.zeros(len(program.pointed), dtype=torch.int64)

    def launch(_kernel: Any, _grid: Any, *_args: Any, **_options: Any) -> None:
        frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
        scope = {**frame.f_globals, **frame.f_locals, **sizes}
        for block, size in binding.host_sizes.items():
            fitting.check_tile(binding, block, size, scope.get(f"_BLOCK_SIZE_{block}", size))
        found = [None if t.memory else _evaluate(t.expression, scope) for t in program.tensors]
        numbers = [_evaluate(s.expression, scope) for s in program.scalars]
        launch_once(program, found, numbers, timeout, counts)

    with private.pretended_gpu():
        try:
            return host(*arguments, _launcher=launch), counts.tolist()
        except IRWidgetError:
            raise
        except Exception as error:
            if not _of_helions(error):
                raise
            raise ExportError(
                f"The host function that Helion generates for {binding.name} in this configuration does not run: "
                f"{type(error).__name__}: {error}"
            ) from error


def _of_helions(error: Exception) -> bool:
    """Whether an error comes from Triton or Helion, and not from what the kernel's author wrote for the host."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in ("helion", "triton")


def host_function(binding: Binding, chosen: Chosen) -> Callable[..., Any]:
    """Helion's generated host function for a configuration, generated once."""
    asked = str(chosen.config)
    if asked in binding.host_functions:
        return binding.host_functions[asked]
    try:
        made = binding.host_functions[asked] = private.host_function(binding.bound, chosen.config)
        return made
    except Exception as error:
        raise ExportError(
            f"{refusals.place(binding.kernel, error)}: Helion cannot generate the host function of {binding.name}, "
            f"in which the module runs: {refusals.told(error)}"
        ) from error


def _evaluate(expression: str, scope: dict[str, Any]) -> Any:
    """An expression of Helion's own over the host function's variables."""
    return eval(expression, scope)


@dataclass
class _Region:
    """Where a storage lies in the shared memory."""

    start: int
    storage: Any
    written: bool = False
    """Whether the kernel may write to it: what it does not is left as it is, and may be read-only."""
    table: Any = None
    """What the kernel gets in its place, and may not write: addresses in the shared memory."""


def launch_once(
    program: Executable,
    tensors: Sequence[torch.Tensor | None],
    numbers: Sequence[Any],
    timeout: float,
    counts: torch.Tensor,
) -> None:
    """Run the kernel on `tensors`, in place; None stands for all of memory. Adds to `counts` what it counts."""
    aliasing.check(program.tensors, tensors)
    regions: dict[int, _Region] = {}
    size = 64
    for host, tensor in zip(program.tensors, tensors, strict=True):
        if tensor is None:
            continue
        storage = tensor.untyped_storage()
        key = storage.data_ptr()
        if key not in regions:
            regions[key] = _Region(size, storage)
            size += (storage.nbytes() + 127) // 64 * 64
        regions[key].written |= host.written
    pointed = _pointed(program, tensors, regions, size)
    size = pointed.size
    arguments: list[Value | MemRef] = []
    for host, tensor in zip(program.tensors, tensors, strict=True):
        if tensor is None:
            arguments.append(MemRef(0, (size // host.dtype.itemsize,), (1,)))
            continue
        _check_layout(host, tensor)
        region = regions[tensor.untyped_storage().data_ptr()]
        start = region.start + int(tensor.storage_offset()) * tensor.element_size()
        arguments.append(MemRef(start, tuple(tensor.shape), tensor.stride()))
    for scalar, number in zip(program.scalars, numbers, strict=True):
        arguments.append(float(number) if str(scalar.value.type) == "f64" else int(number))
    stored = pointed.copied if any(host.memory and host.written for host in program.tensors) else []
    if program.pointed:
        counted = _Region((pointed.size + 63) // 64 * 64, counts.untyped_storage(), written=True)
        regions[counts.data_ptr()] = counted
        pointed.size = counted.start + counted.storage.nbytes()
        arguments.append(MemRef(counted.start, (len(counts),), (1,)))
    _in_shared_memory(program, arguments, regions.values(), pointed, stored, timeout)


def _pointed(
    program: Executable, tensors: Sequence[torch.Tensor | None], regions: dict[int, _Region], size: int
) -> addresses.Pointed:
    """What the addresses among the arguments point to; these are moved to where it is in the shared memory.

    Of a kernel that reads tensors by address, every tensor of addresses' dtype holds addresses.
    """
    known = [addresses.Piece(key, region.storage.nbytes(), region.start) for key, region in regions.items()]
    reach = max((host.reach for host in program.tensors if host.memory), default=0)
    if not reach:
        return addresses.Pointed(known, 0, [], size)
    pairs = zip(program.tensors, tensors, strict=True)
    tables = [(host, table) for host, table in pairs if table is not None and table.dtype == torch.uint64]
    found: list[int] = []
    for host, table in tables:
        if host.written:
            raise UsageError(f"{host.name} holds addresses, and the kernel writes to it: that cannot be run.")
        found += table.view(torch.int64).flatten().tolist()
    pointed = addresses.pointed(found, reach, known, size)
    for _, table in tables:
        region = regions[table.untyped_storage().data_ptr()]
        region.table = region.table or region.storage.clone()
        moved = torch.tensor([], dtype=torch.int64).set_(
            region.table, table.storage_offset(), table.shape, table.stride()
        )
        moved.copy_(moved.clone().apply_(pointed.place))
    return pointed


def _check_layout(host: HostTensor, tensor: torch.Tensor) -> None:
    expected = host.strides
    if expected is None:
        if not tensor.is_contiguous():
            raise UsageError(f"{host.name} must be contiguous, as it was when the kernel was lowered.")
    elif any(s != e and n > 1 and e >= 0 for s, e, n in zip(tensor.stride(), expected, tensor.shape, strict=True)):
        made_for = ", ".join(str(e) if e >= 0 else "?" for e in expected)
        raise UsageError(f"{host.name} has strides {tensor.stride()}; the kernel was lowered for ({made_for}).")


def _in_shared_memory(
    program: Executable,
    arguments: Sequence[Value | MemRef],
    regions: Collection[_Region],
    pointed: addresses.Pointed,
    stored: Sequence[addresses.Piece],
    timeout: float,
) -> None:
    with tempfile.NamedTemporaryFile(prefix="irwidget-") as file:
        file.truncate(pointed.size)
        with mmap.mmap(file.fileno(), pointed.size) as memory:
            for region in regions:
                _bytes_of(region.storage if region.table is None else region.table, memory, region.start, write=True)
            for piece in pointed.copied:
                addresses.read(piece, memory)
            _launch(
                program, Invocation((tuple(arguments),), (), timeout, -1, program.name, file.name, program.opt_level)
            )
            for region in regions:
                if region.written and region.table is None:
                    _bytes_of(region.storage, memory, region.start, write=False)
            for piece in stored:
                addresses.write(piece, memory)


def _bytes_of(storage: Any, mapped: mmap.mmap, start: int, *, write: bool) -> None:
    """Copy a storage into the shared memory, or back."""
    count = storage.nbytes()
    if not count:
        return
    own = torch.tensor([], dtype=torch.uint8).set_(storage, 0, (count,), (1,))
    shared = torch.frombuffer(mapped, dtype=torch.uint8, count=count, offset=start)
    if write:
        shared.copy_(own)
    else:
        own.copy_(shared)
    del shared


def _launch(program: Executable, invocation: Invocation) -> None:
    """Compile and call the kernel in a copy of the worker."""
    source = Source(program.bytecode)
    source.key = "helion"  # one entry among those that the worker keeps: no launch takes up what another has left
    options = Options(timeout=invocation.seconds + _GRACE, dumps=False, verify=False, invocation=invocation)
    failure = source.run(_steps(program), options).failure
    if failure is None:
        return
    if failure.kind == "pass":
        place = next((f"{said.location}: " for said in failure.diagnostics if said.location), "")
        raise PassError(f"{place}{failure.pass_name}: {failure.message}", tool="mlir-opt", pass_name=failure.pass_name)
    for said in failure.diagnostics:
        if found := _OUTSIDE.search(said.message):
            place = next(locations.frames(found["place"]), None)
            where = f"{place}: " if place else ""
            node = f"node {place.name}" if place and place.name else program.name
            raise ToolError(f"{where}{node} reaches outside of a buffer: {found['what']}: {found['op']}", tool="jit")
    failed = "" if failure.pass_name == CRASHED else "failed: "
    raise ToolError(f"Running {program.name} on the CPU {failed}{failure.message}", tool="jit")


def _steps(program: Executable) -> tuple[Step, ...]:
    """The way to the LLVM dialect; the last four steps take tensors to buffers and buffers to LLVM."""
    *first, narrow, to_buffers, digits, to_llvm = program.steps
    others = [Step(tool, "") for tool in (tools.PRODUCTS, tools.SUMS)]
    outside = (Step(tools.OUTSIDE, " ".join((program.name, *program.pointed))),) if program.pointed else ()
    return (*first, narrow, to_buffers, *outside, *others, digits, to_llvm, Step("execute", ""))
