"""Look inside a step of LLVM: the passes of `opt` or `llc` that changed something, run when first asked for."""

from __future__ import annotations

from dataclasses import replace

from irwidget import llvm_routes
from irwidget.dumps import Dump, Trace
from irwidget.errors import UsageError
from irwidget.toolchain.run import Options, Source


def expand(source: Source, trace: Trace, index: int, options: Options) -> tuple[Dump, ...]:
    """The dumps inside dump `index` of a trace that `source` was run for, in order, its own text last.

    The steps before it are not run again. Raises UsageError when the dump is not of `opt` or `llc`.
    """
    name = trace.dumps[index].step
    number = next((i for i, step in enumerate(trace.steps) if str(step) == name), None)
    step = trace.steps[number] if number is not None else None
    if number is None or step is None or step.tool not in ("opt", "llc"):
        raise UsageError(f"Dump {index} is of {name}: only dumps of opt and llc have passes inside")
    if llvm_routes.PRINT_CHANGED in step.arguments:
        raise UsageError(f"Dump {index} is of a run that shows every pass already")
    inside = replace(step, arguments=f"{step.arguments} {llvm_routes.PRINT_CHANGED}")
    made = source.run((*trace.steps[:number], inside), options, target=trace.target)
    return tuple(dump for dump in made.dumps if dump.step == name)
