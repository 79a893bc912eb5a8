"""From a kernel's raw module to an output type: the passes, and the trace of them and of all that came before."""

from __future__ import annotations

import functools
import linecache
import time
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from irwidget.helion import finishing, legalization, pipelines, whole
from irwidget.helion.bound import Binding
from irwidget.helion.passes import bytecode, shared_context
from irwidget.helion.programs import summaries
from irwidget.helion.values import Emission
from irwidget.toolchain import mlir
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Computed, Content, Dump, Step, Trace, dump, renumbered

NAMES = Step("irwidget", "name-values", "readable names")
"""The last dump: the module with `%t0`, `%blk_arg0`, ... for values and affine maps written out."""

BEFORE = (
    Step("helion", "bind", "Device IR"),
    Step("irwidget", "normalise", "normalise nodes"),
    Step("torch-mlir", "FxImporter", "import nodes"),
)
"""What comes before the passes."""


def run(binding: Binding, emission: Emission, aten: str, options: Options) -> tuple[Trace, bytes]:
    """Run the passes to the output type. Returns the trace and the module, as bytecode.

    Raises:
        UnsupportedError: torch-mlir has no rule for an op.
        PassError, ToolError: a pass refuses the module, or crashes.
    """
    raw, remarks = legalization.prepared(emission.module.operation, emission, aten)
    source = Source(bytecode(raw), name="import", seconds=emission.seconds)
    at_once = None if options.dumps else _at_once(source, raw, aten, options)
    trace, code, said = at_once or _one_by_one(source, emission, aten, options)
    return replace(
        trace,
        name=binding.name,
        sources=_sources(binding, emission),
        nodes=tuple(emission.nodes.values()),
        dumps=(
            *_dumps_before(binding, emission),
            replace(trace.dumps[0], step=2),
            *renumbered(trace.dumps[1:], len(BEFORE)),
        ),
        steps=(*BEFORE, *trace.steps),
        diagnostics=(*binding.warnings, *trace.diagnostics, *emission.remarks, *remarks, *said),
        tools={**trace.tools, **versions()},
        facts={**binding.facts, **summaries(binding), **trace.facts},
    ), code


_Passed = tuple[Trace, bytes, tuple[Any, ...]]
"""The trace of the passes, the module as bytecode, and what is to be said besides."""


def _one_by_one(source: Source, emission: Emission, aten: str, options: Options) -> _Passed:
    """The passes, each with a dump. Raises as `run`."""
    said: tuple[Any, ...] = ()
    trace = source.run(_all_steps(aten), options, target="helion_mlir")
    if trace.failure is not None and trace.failure.kind == "pass" and aten in pipelines.FALLBACK:
        said = legalization.taken_to_linalg(source, pipelines.steps(aten), options, emission.nodes, aten)
        trace = source.run(_all_steps(aten, instead=True), options, target="helion_mlir")
    if trace.failure is not None:
        raise legalization.failed(trace.failure, source, options, emission.nodes, aten)
    if aten == "raw":
        assert isinstance(source.data, bytes)
        return trace, source.data, said
    done = finishing.finished(trace.attachments)
    if done.leftovers:
        module = mlir.parse(done.bytecode, shared_context()).operation
        raise legalization.left(module, done.leftovers, source, options, emission.nodes, aten)
    last = len(trace.steps) - 1
    shown = (finishing.ACCUMULATE,) if any(one.step == last for one in trace.dumps) else ()
    trace = replace(trace, steps=(*trace.steps[:-1], *shown), attachments=finishing.others(trace.attachments))
    return trace, done.bytecode, said


def _at_once(source: Source, raw: Any, aten: str, options: Options) -> _Passed | None:
    """The same without the dumps between; None where they have to be run one by one."""
    assert isinstance(source.data, bytes)
    started = time.perf_counter()
    steps, code = pipelines.steps(aten), source.data
    name = source.name
    if aten != "raw":
        done = whole.finished(source.data, aten, options)
        if done is None or done.leftovers:
            return None
        code, name = done.bytecode, pipelines.last_pass(aten)
        if done.accumulated:
            steps, name = (*steps, finishing.ACCUMULATE), finishing.ACCUMULATE.arguments
    dumps = [Dump(source.name, -1, "mlir", Computed(lambda: _content(raw, options)), seconds=source.seconds)]
    if steps:
        last = Computed(lambda: _content(mlir.parse(code, shared_context()), options))
        dumps.append(Dump(name, len(steps) - 1, "mlir", last, seconds=time.perf_counter() - started))
    return Trace("helion_mlir", tuple(dumps), steps, every_pass=not steps), code, ()


def _content(module: Any, options: Options) -> Content:
    return mlir.MlirState(module).render(options.elide)


def _all_steps(aten: str, *, instead: bool = False) -> tuple[Step, ...]:
    last = () if aten == "raw" else (finishing.step(aten),)
    return (*pipelines.steps(aten, instead=instead), *last)


def _dumps_before(binding: Binding, emission: Emission) -> list[Dump]:
    normalised = "\n".join(emission.normalised) + "\n"
    return [
        Dump("device-ir", 0, "fx", Computed(lambda: Content(binding.device_ir_text))),
        dump("normalise", normalised, step=1, language="fx"),
    ]


def _sources(binding: Binding, emission: Emission) -> dict[str, str]:
    """The kernel's file, and those of the functions that it calls."""
    files = {node.location.file for node in emission.nodes.values() if node.location}
    texts = {file: "".join(linecache.getlines(file)) for file in sorted(files)}
    return {**binding.sources, **{file: text for file, text in texts.items() if text}}


@functools.cache
def _version(package: str) -> str:
    return version(package)


def versions() -> dict[str, str]:
    """Of the packages that a kernel goes through before the passes."""
    return {name: _version(name) for name in ("helion", "torch", "torch-mlir")}
