"""A module in MLIR's generic form, one operation a line: what is cut by text keeps its meaning."""

from __future__ import annotations

from collections.abc import Iterator

from irwidget.toolchain import mlir, mlir_opt
from irwidget.toolchain.tool import Pass, Run, State, TextState
from irwidget.trace import Step

STEP = Step("generic form", "")


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Print the module; large constants are left out, as in every dump."""
    before = mlir_opt.as_mlir(run, state, step)

    def apply(_: State) -> State:
        text: str = before.module.operation.get_asm(
            print_generic_op_form=True,
            large_elements_limit=mlir.LARGE_ELEMENTS,
            large_resource_limit=mlir.LARGE_RESOURCE,
            assume_verified=True,
        )
        return TextState("mlir", text)

    yield Pass(step.tool, apply)
