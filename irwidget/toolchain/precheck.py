"""Read the steps of a custom pipeline without any IR: what a tool would refuse whatever it is given.

Nothing is run that could write a file: LLVM's programs read their command line and then only say their version, and
pipelines are parsed on an empty module.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from irwidget.registry import imported, tools
from irwidget.toolchain import asking, events, external
from irwidget.toolchain.tool import NeedsProgram, Pass, Run, State, StepFailed, refuse
from irwidget.trace import Step

TOOL = "read the pipeline"


def step(steps: Sequence[Step]) -> Step:
    """The step that reads these."""
    return Step(TOOL, json.dumps([[one.tool, one.arguments, one.program] for one in steps]))


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """No pass at all. Raises StepFailed for the first step that its tool refuses."""
    for name, arguments, program in json.loads(step.arguments):
        _read(run, Step(name, arguments, program=program))
    yield from ()


def _read(run: Run, step: Step) -> None:
    known = tools.get(step.tool)
    if known is None or not known.check:
        return
    if step.program and known.program:
        _read_by_program(step, None)
        return
    try:
        imported(known.check)(run, step)
    except NeedsProgram as error:
        _read_by_program(step, error)


def triton(run: Run, step: Step) -> None:
    """Read the arguments of `triton-opt` or `triton-llvm-opt`. Raises StepFailed, also where there is no Triton."""
    try:
        from irwidget.toolchain import triton_opt
    except ImportError as error:
        raise StepFailed(events.Failed("tool", f"Triton is not installed here ({error})", tool=step.tool)) from None
    triton_opt.check(step)


def triton_stage(run: Run, step: Step) -> None:
    """Read the arguments of a stage of Triton's. Raises StepFailed."""
    from irwidget.toolchain import triton_passes

    triton_passes.check(step)


def _read_by_program(step: Step, why: NeedsProgram | None) -> None:
    program = external.find(step.tool)
    if isinstance(program, str):
        hint = why.hint() if why else ""
        if hint:
            raise refuse(step, f"{why}. {hint}")
        raise StepFailed(events.Failed("tool", f"{why}; {program}" if why else program, tool=step.tool))
    if said := asking.refusal(program.path, step):
        hint = why.hint() if why and "Did you mean" not in said else ""
        raise refuse(step, f"{step.tool} refuses {step.arguments!r}: {f'{said}. {hint}' if hint else said}")
