"""What was found, as the last passes of a trace: OpSpecs, SuperDSC files, bundles and the host module."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget.spyre.bundlemlir import bundle_mlir
from irwidget.spyre.jsontext import indented
from irwidget.spyre.printing import Printed, lazy_dump
from irwidget.spyre.recorded.program import RecordedKernel, RecordedProgram
from irwidget.trace import Diagnostic, Dump, Step, Trace

STEPS = (
    Step("torch-spyre", "FX graph: decompositions, rewrites", "fx"),
    Step("torch-spyre", "loop IR: layouts, padding, tiling, core division, scratchpad", "loop-ir"),
    Step("torch-spyre", "kernels: pool, bundling", "scheduler"),
    Step("torch-spyre", "OpSpec, SuperDSC, bundle.mlir, host module", "codegen"),
)
CODEGEN = 3


def empty(
    name: str, semantics: str, facts: Mapping[str, Any], dumps: Sequence[Dump] = (), notes: Sequence[str] = ()
) -> Trace:
    """A trace without what the code generator writes."""
    return Trace(
        "spyre_host",
        tuple(dumps),
        STEPS,
        tools={"torch-spyre": semantics},
        name=name,
        facts={"semantics": semantics, **facts},
        diagnostics=tuple(Diagnostic("remark", note) for note in notes),
    )


def written(program: RecordedProgram) -> RecordedProgram:
    """The program with the dumps of what was written; texts are made when they are read."""
    semantics, trace = program.options.semantics, program.trace
    files = any(kernel.found for kernel in program.kernels if isinstance(kernel, RecordedKernel))
    named: list[tuple[str, str, Callable[[], Printed]]] = [("opspec", "python", lambda: _opspecs(program, semantics))]
    if files:
        named.append(("superdsc", "json", lambda: _superdscs(program, semantics)))
        named.append(("bundle_mlir", "mlir", lambda: _bundles(program)))
    if program.text:
        named.append(("host_module", "python", lambda: (program.text, ())))
    dumps = list(trace.dumps)
    for name, language, show in named:
        dumps.append(lazy_dump(name, CODEGEN, language, show, dumps[-1] if dumps else None, options="", seconds=0.0))
    facts = {
        **trace.facts,
        "cores": program.options.cores,
        "kernels": len(program.kernels),
        "pool_bytes": program.pool.bytes,
    }
    return replace(program, trace=replace(trace, dumps=tuple(dumps), facts=facts))


def _opspecs(program: RecordedProgram, semantics: str) -> Printed:
    lines = [f"# {semantics}"]
    for kernel in program.kernels:
        lines.append(f"# kernel {kernel.name}")
        lines += [line for spec in kernel.specs for line in str(spec).split("\n")]
    return "\n".join(lines) + "\n", ()


def _superdscs(program: RecordedProgram, semantics: str) -> Printed:
    files = {kernel.name: dict(kernel.files()) for kernel in program.kernels}
    return indented({"semantics": semantics, "kernels": files}, known={}) + "\n", ()


def _bundles(program: RecordedProgram) -> Printed:
    lines = [f"// kernel {kernel.name}\n{bundle_mlir(kernel).rstrip()}\n// -----" for kernel in program.kernels]
    return "\n".join(lines) + "\n", ()
