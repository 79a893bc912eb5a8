"""The Python module that allocates device buffers and launches the kernels (docs/spyre-rules.md: Host module)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from irwidget.private_torch import ASSERT_SIZE_STRIDE
from irwidget.spyre.bundling import HostCall
from irwidget.spyre.hardware import SEMANTICS, STICK_BYTES
from irwidget.spyre.ir import Buffer, BufferView, External, Graph
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
        "from torch_spyre._C import DataFormats, SpyreTensorLayout, spyre_empty_with_layout",
        "from torch_spyre._inductor.op_spec import IndirectAccess, LoopSpec, OpSpec, TensorArg, spyre_constant_tensor",
        "from torch_spyre.execution.async_compile import SpyreAsyncCompile",
        "",
        f"assert_size_stride = {ASSERT_SIZE_STRIDE}",
        "async_compile = SpyreAsyncCompile()",
        "",
    ]
    for step in steps:
        if isinstance(step, SpyreKernel):
            lines += [f"{step.name} = async_compile.sdsc({step.name!r}, ["]
            lines += _kernel_body(step)
            lines += ["])", ""]
    lines += ["async_compile.wait(globals())", "del async_compile", "", "", "def call(args):"]
    body: list[str] = []
    if inputs:
        body.append(f"{', '.join(inputs)}{',' if len(inputs) == 1 else ''} = args")
    body.append("args.clear()")
    for given in graph.inputs:
        body.append(f"assert_size_stride({given.name}, {given.size}, {given.stride})")
    body += _calls(graph, steps, pool_bytes)
    lines += [f"    {line}" for line in body]
    return "\n".join(lines) + "\n"


def _kernel_body(kernel: SpyreKernel) -> list[str]:
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
        lines.append(
            f"{indent}        TensorArg(is_input={arg.is_input}, arg_index={arg.arg_index},"
            f" device_dtype=DataFormats.{arg.device_dtype}, device_size={list(arg.device_size)},"
            f" device_coordinates={coordinates}, allocation={{{arg.allocation[0]!r}: {arg.allocation[1]}}}),"
        )
    return [*lines, f"{indent}    ]),"]


def _symbols(expressions: Iterable[object]) -> str:
    """Expressions as SymPy reads them; the one function that it does not know is given to it."""
    known = ", locals={'IndirectAccess': IndirectAccess}"
    found = (f"sympify({one!r}{known if 'IndirectAccess' in one else ''})" for one in map(str, expressions))
    return f"[{', '.join(found)}]"


def _plain(info: Mapping[str, object]) -> str:
    """A literal that Python reads back, infinities included."""
    return repr(dict(info)).replace("-inf", "float('-inf')").replace(" inf", " float('inf')")


def _calls(graph: Graph, steps: Sequence[Step], pool_bytes: int) -> list[str]:
    lines: list[str] = []
    last = _last_uses(graph, steps)
    made: set[str] = {i.name for i in graph.inputs}
    for op in graph.ops:
        if op.kind == "constant" and op.target in last:
            buffer = graph.buffers[op.target]
            lines.append(f"{op.target} = spyre_constant_tensor({_number(buffer.value)}, 'spyre', torch.{buffer.dtype})")
            made.add(op.target)
    if pool_bytes:
        sticks = pool_bytes // STICK_BYTES
        layout = (
            f"SpyreTensorLayout(device_size=[{sticks}, 128], stride_map =[128, 1], device_dtype=DataFormats.SENINT8)"
        )
        lines.append(f"_pool = spyre_empty_with_layout(({sticks},), (1,), torch.uint8, {layout})")
    for number, step in enumerate(steps):
        if isinstance(step, HostCall):
            lines += _external(step)
            made |= {result.target for result in step.results}
        else:
            for name in step.arguments:
                if name not in made:
                    lines.append(f"{name} = {_allocate(graph.buffers[name])}")
                    made.add(name)
            launch = ["_pool"] if step.has_pool else []
            lines.append(f"{step.name}.run({', '.join([*launch, *step.arguments])})")
        dead = [n for n, at in last.items() if at == number and n in made]
        lines += [f"del {name}" for name in dead]
    if pool_bytes:
        lines.append("del _pool")
    outputs = [_output(view) for view in graph.outputs]
    lines.append(f"return ({', '.join(outputs)}{',' if len(outputs) == 1 else ''})")
    return lines


def _last_uses(graph: Graph, steps: Sequence[Step]) -> dict[str, int]:
    last: dict[str, int] = {}
    for number, step in enumerate(steps):
        names = step.arguments if isinstance(step, SpyreKernel) else [r.buffer for r in step.op.tensor_reads]
        for name in names:
            last[name] = number
    for name in graph.output_buffers:
        last[name] = len(steps)
    return last


def _number(value: float | int | bool | None) -> str:
    text = repr(value)
    return f"float({text!r})" if text in ("inf", "-inf", "nan") else text


def _allocate(buffer: Buffer) -> str:
    return f"spyre_empty_with_layout({buffer.size}, {buffer.stride}, torch.{buffer.dtype}, {buffer.device})"


def _external(step: HostCall) -> list[str]:
    call = step.op.external
    assert call is not None
    made = f"{_callee(call)}({_arguments(call)})"
    if len(step.results) == 1 and not step.results[0].part:
        return [f"{step.results[0].target} = {made if not call.several else f'{made}[0]'}"]
    taken = [f"{result.target} = {step.op.buffer}[{result.part}]" for result in step.results]
    return [f"{step.op.buffer} = {made}", *taken]


def _callee(call: External) -> str:
    target = str(call.target)
    namespace, _, rest = target.partition(".")
    namespace = "spyre" if namespace == "irwidget_spyre" else namespace
    return f"torch.ops.{namespace}.{rest}"


def _arguments(call: External) -> str:
    parts = [_argument(a) for a in call.args]
    parts += [f"{k}={_argument(v)}" for k, v in call.kwargs.items()]
    return ", ".join(parts)


def _argument(value: object) -> str:
    if isinstance(value, BufferView):
        return _output(value)
    if isinstance(value, list | tuple):
        inner = ", ".join(_argument(v) for v in value)
        return f"[{inner}]"
    if isinstance(value, float):
        return _number(value)
    text = repr(value)
    return text if not text.startswith("device(") else "'cpu'"


def _output(view: object) -> str:
    if not isinstance(view, BufferView):
        return repr(view)
    return f"torch.as_strided({view.buffer}, {view.size}, {view.stride}, {view.offset})"
