"""The text of every dump: how the structures of the passes are printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irwidget.garbage import uncollected
from irwidget.spyre.bundlemlir import bundle_mlir
from irwidget.spyre.bundling import HostCall, KernelBundle
from irwidget.spyre.candidates import Propagation
from irwidget.spyre.division import Division
from irwidget.spyre.hardware import SEMANTICS
from irwidget.spyre.host import host_module
from irwidget.spyre.ir import Graph, Op, counted
from irwidget.spyre.jsontext import indented
from irwidget.spyre.kernel import SpyreKernel
from irwidget.spyre.notes import custom
from irwidget.spyre.opspec import LoopSpec, OpSpec
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.pool import Pool
from irwidget.spyre.restickify import LayoutChoice
from irwidget.spyre.scratchpad import Scratchpad
from irwidget.trace import Computed, Content, Diagnostic, Dump, Location

Printed = tuple[str, tuple[Location | None, ...]]
"""A text and, for each line, the user's line that it came from."""


def lazy_dump(
    name: str,
    step: int,
    language: str,
    show: Callable[[], Printed],
    before: Dump | None,
    *,
    options: str,
    seconds: float,
) -> Dump:
    """A dump whose text is made when somebody reads it."""

    def make() -> Content:
        text, places = show()
        same = before is not None and before.language == language and before.text == text
        return Content(text, not same, places)

    return Dump(name, step, language, Computed(make), 0, options, seconds)


class _Lines:
    def __init__(self, comment: str = "# ") -> None:
        self.lines: list[str] = [f"{comment}Spyre front end, {SEMANTICS}"] if comment else []
        self.places: list[Location | None] = [None] * len(self.lines)

    def add(self, text: str, line: tuple[str, int] = ("", 0)) -> None:
        place = Location(line[0], line[1]) if line[0] else None
        for part in text.split("\n"):
            self.lines.append(part)
            self.places.append(place)

    def shown(self) -> Printed:
        return "\n".join(self.lines) + "\n", tuple(self.places)


# -- FX --------------------------------------------------------------------------------------------


def captured(value: Any) -> Printed:
    return fx(value.graph)


def fx(module: Any) -> Printed:
    """FX nodes with shapes, strides and the hints around them."""
    out = _Lines()
    for node in module.graph.nodes:
        note = custom(node)
        value = node.meta.get("val")
        kind = f"  # {_tensor(value)}" if hasattr(value, "shape") else ""
        hints = note.get("hints")
        if hints:
            kind += "  hint " + "; ".join(
                ", ".join(f"{k}={dict(v)}" for k, v in (("work_div", h.work_div), ("slices", h.slices)) if v)
                + (f" named_dims={list(h.named_dims)}" if h.named_dims else "")
                for h in hints
            )
        if node.op == "call_function":
            args = ", ".join([*(str(a) for a in node.args), *(f"{k}={v}" for k, v in node.kwargs.items())])
            text = f"%{node.name} = {node.target}({args})"
        elif node.op == "output":
            text = f"return {node.args[0]}"
        else:
            text = f"%{node.name} = {node.op}"
        out.add(text + kind, note.get("line", ("", 0)))
    return out.shown()


def _tensor(value: Any) -> str:
    dtype = str(value.dtype).removeprefix("torch.")
    strides = tuple(int(s) for s in value.stride())
    return f"{dtype}{[int(n) for n in value.shape]} strides {list(strides)}"


# -- loop IR ---------------------------------------------------------------------------------------


def graph(value: Graph) -> Printed:
    """The loop IR: inputs, ops with their loops and accesses, outputs."""
    out = _Lines()
    for given in value.inputs:
        buffer = value.buffers[given.name]
        label = f" ({given.parameter})" if given.parameter else ""
        out.add(f"{given.name}: input {buffer.dtype}{list(buffer.size)}{label}  {given.layout}")
    for op in value.ops:
        out.add(_op(value, op), op.line)
    out.add("return " + ", ".join(_view(v) for v in value.outputs))
    return out.shown()


def _view(view: Any) -> str:
    if not hasattr(view, "buffer"):
        return repr(view)
    return f"{view.buffer} as {list(view.size)} strides {list(view.stride)} offset {view.offset}"


def _op(value: Graph, op: Op) -> str:
    buffer = value.buffers.get(op.target)
    if op.kind == "constant" and buffer is not None:
        return f"{op.target} = constant {buffer.value} : {buffer.dtype}"
    if op.kind == "fallback":
        mark = f"  # {op.host_reason}" if op.host_reason else ""
        return f"{op.target} = host {op.func}({', '.join(r.buffer for r in op.reads)}){mark}"
    indent = "  " * len(op.loops)
    loops = "".join(
        f"{'  ' * i}loop {loop.count} over {loop.dim} ({loop.variable}: {loop.tile})\n"
        for i, loop in enumerate(op.loops)
    )
    splits = dict(op.splits)
    space = ", ".join(f"{v} < {n}" + (f" / {splits[v]}" if splits.get(v, 1) > 1 else "") for v, n in op.ranges)
    reduced = ", ".join(f"{v} < {n}" + (f" / {splits[v]}" if splits.get(v, 1) > 1 else "") for v, n in op.reduced)
    body = ", ".join(f"{r.buffer}[{r.index}]" if r.buffer else repr(r.scalar) for r in op.reads)
    constants = "".join(f", {k}={v}" for k, v in op.constants)
    over = f" for {space}" if space else ""
    over += f" reduce {reduced}" if reduced else ""
    layout = f"  {buffer.layout}" if buffer is not None and buffer.layout is not None and not op.is_mutation else ""
    dtype = f": {buffer.dtype}{list(buffer.size)}" if buffer is not None else ""
    made = f"{op.name}: {op.target}[{op.write}]{dtype}"
    return f"{loops}{indent}{made} = {op.func}({body}{constants}){over}{layout}"


def candidates(made: tuple[Graph, Propagation]) -> Printed:
    out = _Lines()
    graph, found = made
    for op in graph.ops:
        rule = found.rules.get(op.name)
        if rule is None:
            continue
        required = f" required {list(rule.required)}" if rule.required else ""
        out.add(f"{op.target} = {op.func}: {rule.kind}{required}", op.line)
        for layout in rule.candidates:
            out.add(f"    {layout}", op.line)
    return out.shown()


def layouts(value: Graph) -> Callable[[LayoutChoice], Printed]:
    def show(choice: LayoutChoice) -> Printed:
        out = _Lines()
        out.add(layouts_text(value, choice))
        return out.shown()

    return show


def layouts_text(value: Graph, choice: LayoutChoice) -> str:
    """The committed layouts and what each operand costs."""
    lines = [f"total cost {choice.cost} device elements; {choice.states} states kept"]
    for op in value.ops:
        layout = choice.layouts.get(op.target)
        if layout is not None:
            lines.append(f"{op.target}: {layout}")
    lines += [
        f"restickify operand {edge.operand} ({edge.buffer}) of {edge.op}: {int(edge.cost)} device elements"
        for edge in choice.edges
        if edge.restickified
    ]
    return "\n".join(lines)


def divided(value: tuple[Graph, Sequence[Division]]) -> Printed:
    out = _Lines()
    out.add(division_text(value[0], value[1]))
    return out.shown()


def division_text(value: Graph, divisions: Sequence[Division]) -> str:
    """Splits, what chose them, the cost model's best candidates, and why cores stay idle."""
    lines: list[str] = []
    by_name = {op.name: op for op in value.ops}
    for d in divisions:
        op = by_name[d.op]
        taken = dict(op.splits)
        splits = ", ".join(f"{v}: {n} ({counted(d.units[v], 'unit')}) / {taken.get(v, 1)}" for v, n in op.space.items())
        lines.append(f"{op.target} = {op.func}: {splits or 'one element'}; {counted(d.cores, 'core')}, by {d.source}")
        for candidate in d.candidates[:3]:
            t = candidate.terms
            lines.append(
                f"    {dict(candidate.splits)}: {candidate.cost:.3f} us = (compute {t.compute:.3f}"
                f" + memory {t.memory:.3f} + partial sums {t.partial_sums:.3f} + tie {t.tie:.1f})"
                f" * {t.batch_factor:.3f}, {candidate.cores} cores"
            )
        if d.idle:
            lines.append(f"    {d.idle}")
        lines += [f"    warning: {w}" for w in d.warnings]
    return "\n".join(lines)


def scratchpad(value: Graph) -> Callable[[Scratchpad], Printed]:
    def show(plan: Scratchpad) -> Printed:
        out = _Lines()
        out.add(scratchpad_text(value, plan))
        return out.shown()

    return show


def scratchpad_text(value: Graph, plan: Scratchpad) -> str:
    """Addresses per buffer, lives, and why the others are not in LX."""
    lines: list[str] = []
    for op in value.ops:
        if op.target in plan.addresses:
            block = plan.blocks[op.target]
            parent = plan.in_place.get(op.target)
            slot = f", in place of {parent}" if parent else ""
            lines.append(
                f"{op.target}: lx {plan.addresses[op.target]}, {block.size} bytes per core,"
                f" live [{block.start}, {block.end}){slot}"
            )
        elif op.target in plan.reasons:
            lines.append(f"{op.target}: device memory: {plan.reasons[op.target]}")
    return "\n".join(lines)


# -- kernels ---------------------------------------------------------------------------------------


def pool(value: Graph) -> Callable[[Pool], Printed]:
    def show(plan: Pool) -> Printed:
        out = _Lines()
        out.add(f"pool of {plan.bytes} bytes")
        for name, offset in plan.offsets.items():
            first, last = plan.lives[name]
            out.add(f"{name}: pool {offset}, {value.buffers[name].device.bytes} bytes, steps {first} to {last}")
        return out.shown()

    return show


def bundles(steps: Sequence[KernelBundle | HostCall]) -> Printed:
    out = _Lines()
    for step in steps:
        if isinstance(step, HostCall):
            out.add(f"host {step.op.func} -> {_results(step)}", step.op.line)
            continue
        out.add(f"kernel {step.name}({', '.join(f'{n} @ {step.bases[n]}' for n in step.arguments)})")
        for op in step.ops:
            out.add(f"    {op.name}: {op.func} -> {op.target}", op.line)
    return out.shown()


def _results(step: HostCall) -> str:
    return ", ".join(result.target for result in step.results) or "nothing that is read"


def opspecs(steps: Sequence[SpyreKernel | HostCall]) -> Printed:
    return kernelspecs(steps, flat=True)


def kernelspecs(steps: Sequence[SpyreKernel | HostCall], flat: bool = False) -> Printed:
    """Per kernel its list of OpSpecs: what older documents call a KernelSpec."""
    out = _Lines()
    for step in steps:
        if isinstance(step, HostCall):
            out.add(f"# host call: {step.op.func} -> {_results(step)}", step.op.line)
            continue
        head = f"# kernel {step.name}" if flat else f"KernelSpec({step.name!r}, arguments={list(step.arguments)}, ops=["
        out.add(head)
        for spec in step.tree:
            _add_spec(out, step, spec, "" if flat else "    ")
        if not flat:
            out.add("])")
    return out.shown()


def _add_spec(out: _Lines, kernel: SpyreKernel, spec: OpSpec | LoopSpec, indent: str) -> None:
    if isinstance(spec, LoopSpec):
        out.add(f"{indent}LoopSpec(count={spec.count}, tiled_symbols={list(spec.tiled_symbols)}, body=[")
        for inner in spec.body:
            _add_spec(out, kernel, inner, indent + "    ")
        out.add(f"{indent}])")
        return
    out.add("\n".join(indent + line for line in str(spec).split("\n")), kernel.lines.get(spec.source, ("", 0)))


@uncollected()
def superdscs(steps: Sequence[SpyreKernel | HostCall]) -> Printed:
    """Every SuperDSC file, by kernel and file name."""
    files = {step.name: dict(step.files()) for step in steps if isinstance(step, SpyreKernel)}
    text = indented({"semantics": SEMANTICS, "kernels": files}, known={}) + "\n"
    return text, ()


def bundle_mlirs(steps: Sequence[SpyreKernel | HostCall]) -> Printed:
    out = _Lines("// ")
    for step in steps:
        if isinstance(step, SpyreKernel):
            out.add(f"// kernel {step.name}: bundle.mlir, as mlir-opt --allow-unregistered-dialect reads it")
            out.add(bundle_mlir(step, generic=True).rstrip("\n"))
            out.add("// -----")
    return out.shown()


def host(value: Graph, pool_bytes: int) -> Callable[[Sequence[SpyreKernel | HostCall]], Printed]:
    def show(steps: Sequence[SpyreKernel | HostCall]) -> Printed:
        return host_module(value, steps, pool_bytes), ()

    return show


def diagnostics(
    value: Graph,
    divisions: Sequence[Division],
    options: SpyreSwitches,
) -> tuple[Diagnostic, ...]:
    """What the user should know: spans over the limit, ops that only we run on the host, narrowed integers, loops."""
    found: list[Diagnostic] = []
    for d in divisions:
        found += [Diagnostic("warning", w) for w in d.warnings]
    for op in value.ops:
        if op.host_reason:
            place = Location(*op.line) if op.line[0] else None
            found.append(Diagnostic("warning", f"{op.func} runs on the host: {op.host_reason}", place))
    if any(op.loops for op in value.ops) and not (options.unroll_loops or options.bundle_symbolic_args):
        found.append(
            Diagnostic(
                "warning",
                "loops are neither unrolled nor have symbolic addresses: in bundle.mlir, as torch-spyre writes it, each"
                " iteration is launched at the addresses of the first. bundle_symbolic_args=True has them move. Tiles,"
                " estimate and execution here follow the loops",
            )
        )
    wide = [b.name for b in value.buffers.values() if b.dtype == "int64"]
    if wide:
        found.append(Diagnostic("warning", f"int64 is narrowed to 32 bits on the device: {', '.join(wide)}"))
    return tuple(found)
