"""From what was found to a program: ops, buffers, where they lie and when they live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from irwidget.errors import UnsupportedError
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.formats import DeviceFormat
from irwidget.spyre.hardware import MAX_CORES, SEGMENT_BYTES
from irwidget.spyre.ir import Buffer, Graph, Op, OpKind, Read
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.layout import DeviceLayout, device_layout
from irwidget.spyre.opspec import OpSpec, TensorArg
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.pool import Pool
from irwidget.spyre.recorded.boxes import own_layout
from irwidget.spyre.recorded.data import FoundArg, FoundBuffer, FoundCall, FoundHost, FoundKernel, FoundOp, Named
from irwidget.spyre.recorded.plans import ReadFile, read_file
from irwidget.spyre.recorded.program import RecordedKernel, RecordedProgram
from irwidget.spyre.recorded.terms import coordinate
from irwidget.spyre.restickify import Edge, LayoutChoice
from irwidget.spyre.scratchpad import LxBuffer, Scratchpad
from irwidget.spyre.tensorspec import Input
from irwidget.trace import Diagnostic, Trace

_DTYPES = {
    "SEN169_FP16": "float16",
    "IEEE_FP32": "float32",
    "IEEE_INT32": "int32",
    "SENINT8": "int8",
    "SENINT16": "int16",
    "SENUINT32": "uint8",
    "SEN143_FP8": "float8_e4m3fn",
    "SEN152_FP8": "float8_e5m2fnuz",
}
"""A dtype that has the format; several may."""


@dataclass
class _Assembly:
    """The program as it grows, op by op."""

    host: FoundHost
    named: Sequence[Named] = ()
    """The buffers that the ops make, in order; empty where they are not known."""
    ops: list[Op] = field(default_factory=list[Op])
    buffers: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    steps: list[SpyreKernel | HostCall] = field(default_factory=list[SpyreKernel | HostCall])
    holds: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    """What lies at an address of the pool or of LX now."""
    placed: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    lives: dict[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    read: set[str] = field(default_factory=set[str])
    notes: list[str] = field(default_factory=list[str])


def assemble(
    host: FoundHost,
    *,
    name: str,
    source: str,
    semantics: str,
    trace: Trace,
    named: Sequence[Named] = (),
) -> RecordedProgram:
    """The program that a host module with its kernels stands for; `named` are the buffers of its ops, where known."""
    specs = [op for kernel in host.kernels for op in kernel.ops]
    made = _Assembly(host, named if len(named) == len(specs) else ())
    kernels = {kernel.name: kernel for kernel in host.kernels}
    calls = host.calls or tuple(FoundCall(kernel.name) for kernel in host.kernels)
    for call in calls:
        if call.kernel and kernels[call.kernel].unimplemented:
            missing = kernels[call.kernel].unimplemented
            _host(made, replace(call, text=f"{missing} (no OpFunc: the kernel raises)"))
        elif call.kernel:
            _kernel(made, kernels[call.kernel], call.arguments)
        else:
            _host(made, call)
    return _program(made, name, source, semantics, trace)


# -- kernels ---------------------------------------------------------------------------------------


def _kernel(made: _Assembly, kernel: FoundKernel, arguments: Sequence[str]) -> None:
    pool = bool(arguments) and arguments[0] == "_pool"
    arguments = [_known(made, text) for text in (arguments[1:] if pool else arguments)]
    pool = pool or any(arg.place == "pool" for op in kernel.ops for arg in op.args)
    reads = {name: read_file(f"{kernel.name}/{name}", file) for name, file in kernel.files.items()}
    specs: list[OpSpec] = []
    for op in kernel.ops:
        specs.append(_op(made, op, arguments))
    sources = _sources(kernel, specs)
    specs = [_advanced(spec, [reads[n] for n, of in sources.items() if of == spec.source]) for spec in specs]
    used = {arg.name: arg.allocation[1] for spec in specs for arg in spec.args if arg.arg_index >= 0}
    names = [n for n in arguments if n] or list(used)
    bases = {n: used.get(n, (i + pool) * SEGMENT_BYTES) for i, n in enumerate(names)}
    for n in names:
        if n not in made.buffers:
            made.buffers[n] = Buffer(n, (), (), "")
    lines = {op.name: op.line for op in made.ops}
    made.steps.append(
        RecordedKernel(
            kernel.name, tuple(specs), tuple(names), bases, pool, False, True, lines, kernel.bundle or None,
            found=kernel.files, reads=reads, sources=sources,
        )
    )  # fmt: skip


def _sources(kernel: FoundKernel, specs: Sequence[OpSpec]) -> dict[str, str]:
    """File -> op: in the order in which they run, loops unrolled where there are as many files."""
    if not kernel.files:
        return {}
    flat = SpyreKernel(kernel.name, tuple(specs), (), {}, False, False, True)
    runs = [spec.source for spec, _ in flat.unrolled]
    if len(runs) != len(kernel.files):
        runs = [spec.source for spec in specs]
    return dict(zip(kernel.files, runs, strict=False))


def _advanced(spec: OpSpec, files: Sequence[ReadFile]) -> OpSpec:
    """The OpSpec with the bytes that one iteration of each loop moves its tensors, as its files have them."""
    if len(files) != prod(spec.loops) or not spec.loops:
        return spec
    steps = [prod(spec.loops[level + 1 :]) for level in range(len(spec.loops))]

    def start(run: int, tensor: int) -> int:
        addresses = files[run].tensors[tensor]["addresses"]
        return next(iter(addresses.values()))

    def advances(tensor: int) -> tuple[int, ...]:
        runs = zip(steps, spec.loops, strict=True)
        return tuple(start(step, tensor) - start(0, tensor) if count > 1 else 0 for step, count in runs)

    return replace(spec, args=tuple(replace(arg, advances=advances(i)) for i, arg in enumerate(spec.args)))


def _known(made: _Assembly, text: str) -> str:
    """The buffer that an argument of a launch names; views of it are it."""
    if text.isidentifier():
        found = made.host.buffers.get(text)
        return found.name if found else text
    words = text.replace("(", " ").replace(",", " ").split()
    return next((word for word in words if word in made.host.buffers), text)


def _op(made: _Assembly, found: FoundOp, arguments: Sequence[str]) -> OpSpec:
    number = len(made.ops)
    known = made.named[sum(op.computed for op in made.ops)] if made.named else None
    parsed = [_parsed(made, arg, found) for arg in found.args]
    indirect = {c.indirect for coordinates in parsed for c in coordinates if c.indirect}
    args: list[TensorArg] = []
    for arg, coordinates in zip(found.args, parsed, strict=True):
        name = _name(made, arg, arguments, known if not arg.is_input else None)
        form = DeviceFormat(arg.format, arg.device_size[-1])
        one = TensorArg(
            arg.is_input, arg.arg_index, arg.format, arg.device_size, coordinates, (arg.place, arg.address), name, form,
            _DTYPES.get(arg.format, ""), is_index=arg.is_input and name in indirect, stride_map=arg.strides,
        )  # fmt: skip
        args.append(one)
        _seen(made, one, number, known if not arg.is_input else None)
    out = args[-1]
    shown = {v for c in out.device_coordinates for v in c.variables}
    space = {v: (n, split) for v, n, split in found.space}
    reduced = tuple(v for v, _, _ in found.space if v not in shown and found.is_reduction)
    made.ops.append(
        Op(
            f"op{number}", out.name, _kind(found), found.op,
            tuple((v, n) for v, n, _ in found.space if v not in reduced),
            tuple((v, space[v][0]) for v in reduced),
            tuple(Read(arg.name, role="index" if arg.is_index else "") for arg in args[:-1]),
            target=out.name, aten=known.aten if known else "", line=known.line if known else ("", 0),
            module=known.module if known else "",
        )
    )  # fmt: skip
    return OpSpec(
        found.op, found.is_reduction, space, tuple(args), found.info, found.tiled, _kind(found),
        tuple(n for _, n in found.loops), tuple(scope for scope, _ in found.loops), (None,) * len(found.loops),
        tuple(space), f"op{number}", reduced, {v: (v,) for v in space},
    )  # fmt: skip


def _parsed(made: _Assembly, arg: FoundArg, found: FoundOp) -> tuple[Coordinate, ...]:
    try:
        return tuple(coordinate(text) for text in arg.coordinates)
    except UnsupportedError as error:
        made.notes.append(f"{found.op}: {error}; the tensor is shown as if each core touched its first stick")
        return (Coordinate(),) * len(arg.device_size)


def _kind(found: FoundOp) -> OpKind:
    if "matmul" in found.op:
        return "matmul"
    if found.op.startswith("topk"):
        return "topk"
    return "reduction" if found.is_reduction else "pointwise"


# -- buffers ---------------------------------------------------------------------------------------


def _name(made: _Assembly, arg: FoundArg, arguments: Sequence[str], known: Named | None) -> str:
    """The buffer of an argument: by its number, by the front end, or by what was last written at its place."""
    if 0 <= arg.arg_index < len(arguments):
        return arguments[arg.arg_index]
    if known is not None:
        return known.name
    if arg.name:
        return arg.name
    place = (arg.place, arg.address)
    holder = made.holds.get(place)
    if holder is not None and (arg.is_input or (holder not in made.read and _sized(made, holder, arg))):
        return holder
    count = sum(name.startswith(f"{arg.place}_{arg.address:x}") for name in made.buffers)
    return f"{arg.place}_{arg.address:x}" + (f"_{count}" if count else "")


def _sized(made: _Assembly, name: str, arg: FoundArg) -> bool:
    layout = made.buffers[name].layout
    return layout is not None and layout.elements == prod(arg.device_size)


def _seen(made: _Assembly, arg: TensorArg, step: int, known: Named | None) -> None:
    """Note a buffer, with the layout that it has, where it lies and that it lives."""
    name = arg.name
    if arg.is_input:
        made.read.add(name)
    if name not in made.buffers or made.buffers[name].layout is None:
        made.buffers[name] = _buffer(made, arg, known)
    if arg.arg_index < 0:
        made.holds[arg.allocation] = name
        made.placed.setdefault(name, arg.allocation)
    first, _ = made.lives.get(name, (step, step))
    made.lives[name] = (first, step)


def _buffer(made: _Assembly, arg: TensorArg, known: Named | None) -> Buffer:
    found = made.host.buffers.get(arg.name)
    kind = found.kind if found else "computed"
    size, stride, layout, dtype = (), (), None, arg.dtype
    if known is not None:
        size, stride, layout, dtype = known.size, known.stride, known.layout, known.dtype
    elif found is not None and (found.size or found.layout):
        size, stride, dtype = found.size, found.stride, found.dtype or dtype
        layout = found.layout or _guessed(found, arg)
    if layout is None or layout.elements != prod(arg.device_size):
        size, stride, layout = own_layout(arg)
    return Buffer(arg.name, tuple(size), tuple(stride), dtype or arg.dtype, kind, layout=layout)  # pyright: ignore[reportArgumentType]


def _guessed(found: FoundBuffer, arg: TensorArg) -> DeviceLayout | None:
    """Of an input, whose layout a host module does not say: the one of the usual two that fits, if only one does."""
    orders: list[tuple[int, ...] | None] = [None, (1, 0)] if len(found.size) == 2 else [None]
    fitting: list[DeviceLayout] = []
    for order in orders:
        layout = device_layout(found.size, arg.dtype or "float16", order, found.stride)
        same = [n for n in layout.device_size if n > 1] == [n for n in arg.device_size if n > 1]
        if same and _steps(layout.device_size, layout.stride_map) >= _steps(arg.device_size, arg.stride_map):
            fitting.append(layout)
    return fitting[0] if len(fitting) == 1 else None


def _steps(size: Sequence[int], strides: Sequence[int]) -> set[tuple[int, int]]:
    """(Extent, stride) of the device dims outside of the sticks."""
    return {(n, s) for n, s in zip(size[:-1], strides[:-1], strict=False) if n > 1 and s > 0}


def _host(made: _Assembly, call: FoundCall) -> None:
    words = call.text.replace("(", " ").replace(",", " ").replace(")", " ").replace("[", " ").replace("]", " ").split()
    operands = [made.host.buffers[w].name for w in words if w in made.host.buffers]
    number, target = len(made.ops), call.makes or f"host{len(made.ops)}"
    reads = tuple(Read(name) for name in dict.fromkeys(operands))
    op = Op(f"op{number}", target, "fallback", call.text.partition("(")[0], reads=reads, target=target)
    made.ops.append(op)
    made.steps.append(HostCall(op, (op,) if call.makes else ()))
    for name in (*operands, target):
        if name not in made.buffers:
            found = made.host.buffers.get(name, FoundBuffer(name, (), ()))
            made.buffers[name] = Buffer(name, found.size, found.stride, found.dtype, layout=found.layout)


# -- the whole -------------------------------------------------------------------------------------


def _program(made: _Assembly, name: str, source: str, semantics: str, trace: Trace) -> RecordedProgram:
    steps = [_transferred(made, step) if isinstance(step, HostCall) else step for step in made.steps]
    cores = max((p.cores for k in steps if isinstance(k, SpyreKernel) for p in k.plans.values()), default=1)
    inputs = tuple(
        Input(b.name, b.size, b.stride, b.dtype, None, b.layout)
        for b in made.buffers.values()
        if b.kind == "input" and b.layout is not None
    )
    graph = Graph(tuple(made.ops), made.buffers, inputs, ())
    lx = {n: a for n, (place, a) in made.placed.items() if place == "lx"}
    pool = {n: a for n, (place, a) in made.placed.items() if place == "pool"}
    top = max((a + made.buffers[n].device.bytes for n, a in pool.items()), default=0)
    moved = sum(
        made.buffers[op.target].device.elements for op in made.ops if op.func == "ReStickifyOpHBM"
    )  # what the copies hold
    program = RecordedProgram(
        name, SpyreSwitches(cores=max(1, min(cores, MAX_CORES)), semantics=semantics), graph, tuple(steps), (),
        LayoutChoice({}, moved, tuple[Edge, ...](), 0, {}), Scratchpad(lx, {}, {}, {}),
        Pool(pool, top, {n: made.lives[n] for n in pool}),
        replace(trace, diagnostics=(*trace.diagnostics, *(Diagnostic("warning", n) for n in made.notes))),
        {}, recorded=source, text=made.host.text,
    )  # fmt: skip
    return replace(program, scratchpad=Scratchpad(lx, _blocks(made, program), {}, {}))


def _transferred(made: _Assembly, call: HostCall) -> HostCall:
    """A host call, with a word on the tensors whose sizes are written nowhere."""
    known = tuple(r for r in call.op.reads if made.buffers[r.buffer].layout is not None)
    results = tuple(r for r in call.results if made.buffers[r.target].layout is not None)
    if len(known) == len(call.op.reads) and len(results) == len(call.results):
        return call
    unknown = [r.buffer for r in call.op.reads if r not in known] + [r.target for r in call.results if r not in results]
    op = replace(
        call.op, reads=known, host_reason=f"the host module calls it (sizes not written: {', '.join(unknown)})"
    )
    made.ops[made.ops.index(call.op)] = op
    return HostCall(op, tuple(op for _ in results))


def _blocks(made: _Assembly, program: RecordedProgram) -> Mapping[str, LxBuffer]:
    """What each buffer takes of every scratchpad: the largest tile of it."""
    bytes_of: dict[str, int] = {}
    for _, op in program.tiled:
        for tensor in op.tensors:
            if tensor.arg.allocation[0] == "lx":
                sizes = (tile.bytes for tile in tensor.tiles)
                bytes_of[tensor.arg.name] = max(bytes_of.get(tensor.arg.name, 0), *sizes, 0)
    lives = made.lives
    return {n: LxBuffer(n, size, lives[n][0], lives[n][1] + 1, 0) for n, size in bytes_of.items()}
