"""Look inside a step of LLVM: the passes of `opt` or `llc` that changed something, run when first asked for."""

from __future__ import annotations

from dataclasses import replace

from irwidget import llvm_routes
from irwidget.errors import UsageError
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Dump, Step, Trace


def openable(source: Source, trace: Trace, options: Options) -> Trace:
    """The trace with `Dump.inside` on every dump that has passes inside."""

    def opened(index: int, dump: Dump) -> Dump:
        step = _step_of(trace, index)
        if step is None or step.program or llvm_routes.PRINT_CHANGED in step.arguments:
            return dump
        return replace(dump, inside=lambda: expand(source, trace, index, options))

    return replace(trace, dumps=tuple(opened(index, dump) for index, dump in enumerate(trace.dumps)))


def _step_of(trace: Trace, index: int) -> Step | None:
    """The step of LLVM that a dump is of."""
    step = next((step for step in trace.steps if str(step) == trace.dumps[index].step), None)
    return step if step and step.tool in ("opt", "llc") else None


def expand(source: Source, trace: Trace, index: int, options: Options) -> tuple[Dump, ...]:
    """The dumps inside dump `index` of a trace that `source` was run for, in order, its own text last.

    The steps before it are not run again. Raises UsageError when the dump is not of `opt` or `llc`.
    """
    name = trace.dumps[index].step
    step = _step_of(trace, index)
    if step is None:
        raise UsageError(f"Dump {index} is of {name}: only dumps of opt and llc have passes inside")
    if llvm_routes.PRINT_CHANGED in step.arguments:
        raise UsageError(f"Dump {index} is of a run that shows every pass already")
    inside = replace(step, arguments=f"{step.arguments} {llvm_routes.PRINT_CHANGED}")
    made = source.run((*trace.steps[: trace.steps.index(step)], inside), options, target=trace.target)
    return tuple(dump for dump in made.dumps if dump.step == name)
