"""The end of a kernel's passes, in the worker: products accumulate, and the module itself goes back with its dumps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irwidget.helion import accumulation, tools, verify
from irwidget.toolchain import mlir
from irwidget.toolchain.mlir_opt import as_mlir
from irwidget.toolchain.tool import Pass, Run, State
from irwidget.trace import Step

ACCUMULATE = Step("irwidget", "accumulate", "accumulate products")
"""Products that are added to something start from it, as `tl.dot(a, b, acc)` does. How the step is shown."""

ACCUMULATING = ("linalg-on-tensors",)
"""The output types that have this step."""
CLEAN = Step("mlir-opt", "builtin.module(canonicalize,cse)")
"""What follows where something was accumulated."""
_MODULE, _LEFT, _FOLDED = "helion-module", "helion-leftovers", "helion-accumulated"
"""The names under which a run's results come back."""


@dataclass(frozen=True)
class Finished:
    """A finished module as bytecode, and the ops that the lowering should have replaced, sorted."""

    bytecode: bytes
    leftovers: tuple[str, ...]
    accumulated: bool
    """Whether there was a product to accumulate, as far as `hand_over` was told."""


def step(aten: str) -> Step:
    """The last step to an output type."""
    return Step(tools.FINISH, ACCUMULATE.arguments if aten in ACCUMULATING else "")


def finished(attachments: Mapping[str, bytes]) -> Finished:
    """What the last step of a run has left."""
    return Finished(attachments[_MODULE], tuple(attachments[_LEFT].decode().split()), _FOLDED in attachments)


def others(attachments: Mapping[str, bytes]) -> dict[str, bytes]:
    """What a run has left besides."""
    return {name: data for name, data in attachments.items() if name not in (_MODULE, _LEFT, _FOLDED)}


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The step of a pipeline that does this; with a dump where there is a product to accumulate."""
    before = as_mlir(run, state, step)
    module: Any = before.module

    def accumulate(_: State) -> State:
        accumulation.fold(module.operation)
        for planned in mlir.plan(CLEAN.arguments, module.context):
            mlir.run(planned, module, verify=run.request.verify)
        return before

    if step.arguments and accumulation.foldable(module.operation):
        yield Pass(ACCUMULATE.arguments, accumulate)
    hand_over(run, module)


def hand_over(run: Run, module: Any, *, accumulated: bool = False) -> None:
    """Have a run give back the module, and say what is left in it."""
    run.attachments[_MODULE] = mlir.bytecode(module)
    run.attachments[_LEFT] = " ".join(verify.leftovers(module.operation)).encode()
    if accumulated:
        run.attachments[_FOLDED] = b""
