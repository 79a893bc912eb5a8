"""A module in MLIR's generic form, one operation a line: what is cut by text keeps its meaning."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from irwidget.toolchain import external, feeding, mlir, mlir_flags, mlir_opt, scratch
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState
from irwidget.trace import Step

_STEP = Step("generic form", "")


def step(others: Sequence[Step]) -> Step:
    """The step that prints a module which these are to run on: what they allow, it allows."""
    return replace(_STEP, arguments=mlir_flags.flags_of(others))


_UNVERIFIED = (
    "--mlir-print-op-generic",
    "--mlir-very-unsafe-disable-verifier-on-parsing",
    f"--mlir-elide-elementsattrs-if-larger={mlir.LARGE_ELEMENTS}",
    f"--mlir-elide-resource-strings-if-larger={mlir.LARGE_RESOURCE}",
)


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Print the module; large constants are left out where they are in dumps. A text that MLIR reads but its verifier
    refuses is printed by a program, which may be told to let it pass.
    """
    try:
        before = mlir_opt.as_mlir(run, state, step)
    except StepFailed:
        unverified = _unverified(state.text, step.arguments) if isinstance(state, TextState) else ""
        if not unverified:
            raise
        yield Pass(step.tool, lambda _: TextState("mlir", unverified))
        return

    def apply(_: State) -> State:
        text: str = before.module.operation.get_asm(
            print_generic_op_form=True,
            large_elements_limit=mlir.LARGE_ELEMENTS if run.request.elide else None,
            large_resource_limit=mlir.LARGE_RESOURCE if run.request.elide else None,
            assume_verified=True,
        )
        return TextState("mlir", text)

    yield Pass(step.tool, apply)


def _unverified(text: str, flags: str) -> str:
    """The generic form of a text that is not verified; empty where no program reads it."""
    for name in ("torch-mlir-opt", "mlir-opt"):
        program = external.find(name)
        if not isinstance(program, str):
            with scratch.folder() as folder, contextlib.suppress(OSError):
                fed = feeding.run([program.path, *_UNVERIFIED, *flags.split()], text.encode(), folder)
                if not fed.returncode:
                    return fed.stdout.decode()
    return ""
