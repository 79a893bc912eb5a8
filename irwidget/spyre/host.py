"""The Python module that allocates device buffers and launches the kernels (docs/spyre-rules.md: Host module)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from irwidget.private_torch import ASSERT_SIZE_STRIDE, by_name, defaults
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.hardware import SEMANTICS, STICK_BYTES
from irwidget.spyre.ir import Buffer, BufferView, External, Graph, HostFunction, Op
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.opspec import LoopSpec, OpSpec

Step = SpyreKernel | HostCall


def host_module(graph: Graph, steps: Sequence[Step], pool_bytes: int) -> str:
    """A module that compiles; running it needs torch-spyre and the card."""
    inputs = [i.name for i in graph.inputs]
    lines = [
        f"# Spyre host module, {SEMANTICS}",
        "import torch",
        "from sympy import sympify",
        "from torch_spyre._C import DataFormats, SpyreTensorLayout, reinterpret_tensor, spyre_empty_with_layout",
        "from torch_spyre._inductor.op_spec import IndirectAccess, LoopSpec, OpSpec, TensorArg, spyre_constant_tensor",
        "from torch_spyre.execution.async_compile import SpyreAsyncCompile",
        "",
        f"assert_size_stride = {ASSERT_SIZE_STRIDE}",
        "async_compile = SpyreAsyncCompile()",
        "",
    ]
    for name, kernel in {step.name: step for step in steps if isinstance(step, SpyreKernel)}.items():
        lines += [f"{name} = async_compile.sdsc({name!r}, [", *kernel_source(kernel), "])", ""]
    lines += ["async_compile.wait(globals())", "del async_compile", "", "", "def call(args):"]
    body: list[str] = []
    if inputs:
        body += [f"{', '.join(inputs)}{',' if len(inputs) == 1 else ''} = args", "args.clear()"]
    body += _Calls(graph, steps, pool_bytes).lines
    lines += [f"    {line}" for line in body]
    text = "\n".join(lines) + "\n"
    if re.search(r"\b(inf|nan)\b", text):
        text = text.replace("import torch\n", "from math import inf, nan\nimport torch\n", 1)
    if "=device(" in text:
        text = text.replace("import torch\n", "import torch\nfrom torch import device\n", 1)
    if "ElementArrangement." in text:
        text = text.replace("import DataFormats,", "import DataFormats, ElementArrangement,", 1)
    return text


def kernel_source(kernel: SpyreKernel) -> list[str]:
    """The lines of a kernel's OpSpecs; kernels with equal ones are one, launched several times."""
    lines: list[str] = []
    for spec in kernel.tree:
        lines += _spec_lines(spec, "    ")
    return lines


def _spec_lines(spec: OpSpec | LoopSpec, indent: str) -> list[str]:
    if isinstance(spec, LoopSpec):
        tiled = _symbols(spec.tiled_symbols)
        lines = [f"{indent}LoopSpec(count=sympify('{spec.count}'), tiled_symbols={tiled}, body=["]
        for inner in spec.body:
            lines += _spec_lines(inner, indent + "    ")
        return [*lines, f"{indent}]),"]
    sizes = (f"sympify('{v}'): (sympify('{n}'), {split})" for v, (n, split) in spec.iteration_space.items())
    space = f"{{{', '.join(sizes)}}}"
    lines = [
        f"{indent}OpSpec(op={spec.op!r}, is_reduction={spec.is_reduction}, iteration_space={space},",
        f"{indent}    op_info={_plain(spec.op_info)}, tiled_symbols={_symbols(spec.tiled_symbols)}, args=[",
    ]
    for arg in spec.args:
        coordinates = _symbols(arg.device_coordinates)
        name = f", name={arg.name!r}" if arg.is_index else ""  # by which the gathered tensor asks for it
        lines.append(
            f"{indent}        TensorArg(is_input={arg.is_input}, arg_index={arg.arg_index},"
            f" device_dtype=DataFormats.{arg.device_dtype}, device_size={list(arg.device_size)},"
            f" device_coordinates={coordinates}, allocation={{{arg.allocation[0]!r}: {arg.allocation[1]}}}{name}),"
        )
    return [*lines, f"{indent}    ]),"]


def _symbols(expressions: Iterable[object]) -> str:
    """Expressions as SymPy reads them; the one function that it does not know is given to it."""
    known = ", locals={'IndirectAccess': IndirectAccess}"
    found: list[str] = []
    for one in map(str, expressions):
        indirect = re.fullmatch(r"IndirectAccess\((\w+)\)", one)
        given = known if "IndirectAccess" in one else ""
        found.append(f"IndirectAccess({indirect[1]!r})" if indirect else f"sympify({one!r}{given})")
    return f"[{', '.join(found)}]"


def _plain(info: Mapping[str, object]) -> str:
    """A literal that Python reads back, infinities included."""
    return repr(dict(info))


class _Calls:
    """The statements of `call`, in the order in which torch-spyre's Inductor writes them."""

    def __init__(self, graph: Graph, steps: Sequence[Step], pool_bytes: int) -> None:
        self.graph, self.pool_bytes = graph, pool_bytes
        self.lines: list[str] = []
        self.made: set[str] = set()
        self.inputs = {given.name: given for given in graph.inputs}
        self.pieces = _buffers_of_pieces(graph, steps)
        last = _last_uses(graph, steps, self.pieces)
        self.waiting = _made_outside(graph, steps, last)
        for number, step in enumerate(steps):
            taken: list[str] = []
            self._make(number)
            if isinstance(step, HostCall):
                taken = self._host(step)
                if taken and number < len(steps) - 1:
                    taken.append(f"del {step.op.buffer}")
            else:
                self._launch(number, step)
            dead = sorted(n for n, at in last.items() if at == number and n in self.made)
            # After a last launch, what only the function holds ends with it.
            ends = number == len(steps) - 1 and isinstance(step, SpyreKernel)
            self.lines += [f"del {name}" for name in dead if not ends or name in self.inputs]
            self.lines += taken
        self._make(len(steps))
        if pool_bytes:
            self.lines.append("del _pool")
        self._allocate(view.buffer for view in graph.outputs if isinstance(view, BufferView))  # what is empty
        outputs = [_output(view, graph) for view in graph.outputs]
        self.lines.append(f"return ({', '.join(outputs)}{',' if len(outputs) == 1 else ''})")

    def _make(self, number: int) -> None:
        """What stands before a step and is part of none: constants, and buffers that its loops fill tile by tile."""
        for op in self.waiting.get(number, ()):
            if op.kind == "empty":
                self._allocate([op.target])
                continue
            buffer = self.graph.buffers[op.target]
            value, dtype = _number(buffer.value), f"torch.{buffer.dtype}"
            self.lines.append(f"{op.target} = spyre_constant_tensor({value}, torch.device('spyre:0'), {dtype})")
            self.made.add(op.target)

    def _check(self, names: Iterable[str]) -> None:
        """Check the inputs that are used for the first time."""
        for name in names:
            if name in self.inputs and name not in self.made:
                given = self.inputs[name]
                self.lines.append(f"assert_size_stride({name}, {given.size}, {given.stride})")
                self.made.add(name)

    def _launch(self, number: int, step: SpyreKernel) -> None:
        self._allocate(self.pieces.get(number, ()))
        self._check(arg.name for spec in step.specs for arg in spec.args)
        self._allocate(step.arguments)
        if step.has_pool and "_pool" not in self.made:
            self.lines.append(f"_pool = {_pool(self.pool_bytes)}")
            self.made.add("_pool")
        launch = ["_pool"] if step.has_pool else []
        self.lines.append(f"{step.name}.run({', '.join([*launch, *step.arguments])})")

    def _allocate(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.made and name not in self.inputs:
                self.lines.append(f"{name} = {_allocation(self.graph.buffers[name])}")
                self.made.add(name)

    def _host(self, step: HostCall) -> list[str]:
        """The call; what takes its results out of it comes after the frees."""
        self._check(read.buffer for read in step.op.tensor_reads)
        self.lines += _external(step, self.graph)
        self.made |= {result.target for result in step.results}
        several = step.op.external is not None and step.op.external.several
        return [f"{result.target} = {step.op.buffer}[{result.part}]" for result in step.results] if several else []


def _made_outside(graph: Graph, steps: Sequence[Step], last: Mapping[str, int]) -> dict[int, list[Op]]:
    """Step -> constants that are used, and buffers outside of the pool that loops fill, which stand before it."""
    step_of = _kernel_of(steps) | {step.op.name: n for n, step in enumerate(steps) if isinstance(step, HostCall)}
    given = {name for step in steps if isinstance(step, SpyreKernel) for name in step.arguments}
    filled = {op.target for op in graph.ops if op.loops} & given
    found: dict[int, list[Op]] = {}
    at = len(steps)
    for op in reversed(graph.ops):
        at = step_of.get(op.name, at)
        tiles = op.kind == "empty" and op.rule == "tile" and op.target in filled
        if tiles or (op.kind == "constant" and op.target in last):
            found.setdefault(at, []).insert(0, op)
    return found


def _kernel_of(steps: Sequence[Step]) -> dict[str, int]:
    """Op -> the kernel that it is part of, by its number among the steps."""
    return {spec.source: n for n, step in enumerate(steps) if isinstance(step, SpyreKernel) for spec in step.specs}


def _buffers_of_pieces(graph: Graph, steps: Sequence[Step]) -> dict[int, list[str]]:
    """Step -> buffers that are allocated before it because they are put together of pieces.

    Such a one is allocated even where its pieces lie in the pool, as torch-spyre does.
    """
    step_of = _kernel_of(steps)
    found: dict[int, list[str]] = {}
    waiting: list[str] = []
    for op in graph.ops:
        if op.kind == "empty" and op.rule != "tile":
            waiting.append(op.target)
        elif op.name in step_of and waiting:
            found.setdefault(step_of[op.name], []).extend(waiting)
            waiting = []
    return found


def _pool(size: int) -> str:
    sticks = -(-size // STICK_BYTES)
    layout = f"SpyreTensorLayout(device_size=[{sticks}, 1, 1], stride_map =[1, 1, 1], device_dtype=DataFormats.SENINT8)"
    return f"spyre_empty_with_layout(({sticks},), (1,), torch.uint8, {layout})"


def _last_uses(graph: Graph, steps: Sequence[Step], pieces: Mapping[int, Sequence[str]]) -> dict[str, int]:
    last: dict[str, int] = {}
    allocated = {name for names in pieces.values() for name in names}
    ops = {op.name: op for op in graph.ops}
    for number, step in enumerate(steps):
        if isinstance(step, SpyreKernel):
            parts = [ops[spec.source] for spec in step.specs]
            inside = [name for op in parts for name in (op.target, *(r.buffer for r in op.tensor_reads))]
            names = [*step.arguments, *(name for name in inside if name in allocated)]
        else:
            names = [r.buffer for r in step.op.tensor_reads]
        for name in names:
            last[name] = number
    for name in graph.output_buffers:
        last[name] = len(steps)
    return last


def _number(value: float | int | bool | None) -> str:
    return repr(value)  # inf and nan as the module imports them


def _allocation(buffer: Buffer) -> str:
    return f"spyre_empty_with_layout({buffer.size}, {buffer.stride}, torch.{buffer.dtype}, {buffer.device})"


def _external(step: HostCall, graph: Graph) -> list[str]:
    call = step.op.external
    assert call is not None
    statements = getattr(call.target, "statements", None)
    if statements is not None:  # of a `HostRegion`
        return statements([_argument(value, graph) for value in call.args], step.results[0].target)
    made = f"{_callee(call)}({_arguments(call, graph)})"
    name = step.op.buffer if call.several or not step.results else step.results[0].target
    return [f"{name} = {made}"]


def _callee(call: External) -> str:
    if call.name == "bits":
        return "torch.ops.aten.view.dtype"
    if any(isinstance(value, HostFunction) for value in call.args):
        return f"torch.ops.higher_order.{call.name}"
    target = str(call.target)
    namespace, _, rest = target.partition(".")
    namespace = "spyre" if namespace == "irwidget_spyre" else namespace
    return f"torch.ops.{namespace}.{rest}"


_PASSED_BY_NAME: dict[str, tuple[str, ...]] = {
    "aten.bucketize.Tensor": ("out_int32", "right"),
    "aten.cummax.default": ("dim",),
    "aten.cummin.default": ("dim",),
    "aten.cumprod.default": ("dim", "dtype"),
    "aten.logcumsumexp.default": ("dim",),
    "aten.kthvalue.default": (),
    "aten.median.dim": (),
    "aten.mode.default": (),
    "aten.searchsorted.Tensor": ("out_int32", "right", "side", "sorter"),
    "aten.sort.stable": ("stable", "dim", "descending"),
}
"""Operators of which Inductor has lowerings that pass every argument on, these by name."""


def _arguments(call: External, graph: Graph) -> str:
    given = (call.args[0], call.args[2]) if call.name == "bits" else call.args
    kwargs = dict(call.kwargs)
    named = _PASSED_BY_NAME.get(str(call.target))
    if named is not None:
        whole = by_name(call.target, given, kwargs)
        given = [value for name, value in whole.items() if name not in named]
        kwargs = {name: whole[name] for name in named}
    parts = [_argument(a, graph) for a in given]
    if str(call.target).startswith("irwidget_spyre"):  # Inductor names what a custom operator has by default
        kwargs = {**defaults(call.target, len(given)), **kwargs}
    parts += [f"{k}={_argument(v, graph)}" for k, v in kwargs.items()]
    return ", ".join(parts)


def _argument(value: object, graph: Graph) -> str:
    if isinstance(value, BufferView):
        return _output(value, graph)
    if isinstance(value, list | tuple):
        inner = ", ".join(_argument(v, graph) for v in value)
        return f"[{inner}]"
    if isinstance(value, float):
        return _number(value)
    text = repr(value)
    return text if not text.startswith("device(") else "device(type='spyre', index=0)"


def _output(view: object, graph: Graph) -> str:
    """A buffer, or a view of one where it is not the whole of it as it lies."""
    if not isinstance(view, BufferView):
        return repr(view)
    whole = graph.buffers[view.buffer]
    if (tuple(view.size), tuple(view.stride), view.offset) == (tuple(whole.size), tuple(whole.stride), 0):
        return view.buffer
    return f"reinterpret_tensor({view.buffer}, {view.size}, {view.stride}, {view.offset})"
