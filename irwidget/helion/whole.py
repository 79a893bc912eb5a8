"""All passes to an output type as one, where nobody asks for the dumps between them. Does not import Helion.

The worker runs them in a context that it keeps, with pass managers that are set up once: most of what the passes of a
small kernel cost is setting up. They are the same passes in the same order. Where they fail, end the worker or print
something, nothing is taken of it: the passes are run one by one, which tells which of them it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from irwidget.helion import accumulation, finishing, passes, pipelines, tools, verify
from irwidget.helion.finishing import Finished
from irwidget.toolchain import mlir
from irwidget.toolchain.run import Options, Source
from irwidget.toolchain.tool import Pass, Run, State, TextState
from irwidget.trace import Step

_LANGUAGE = "mlir-bytecode"
"""Of what goes to the worker and back as text, a character for each byte: no module is parsed or printed for it."""


def finished(bytecode: bytes, aten: str, options: Options) -> Finished | None:
    """A raw module (bytecode) after all passes to an output type; None where that has to be seen pass by pass."""
    step = Step(tools.WHOLE, aten)
    source = Source(bytecode.decode("latin-1"), _LANGUAGE)
    trace = source.run((step,), replace(options, dumps=False, progress=None))
    if trace.failure is not None or trace.diagnostics:
        return None
    return finishing.finished(trace.attachments)


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The step of a pipeline that does this."""
    text = state.text if isinstance(state, TextState) else ""

    def apply(_: State) -> State:
        module = mlir.parse(text.encode("latin-1"), passes.shared_context())
        passes.run_steps(module.operation, pipelines.steps(step.arguments))
        folded = step.arguments in finishing.ACCUMULATING and accumulation.fold(module.operation) > 0
        if folded:
            passes.run_steps(module.operation, (finishing.CLEAN,))
        if run.request.verify and (wrong := verify.complaint(module.operation)):
            raise mlir.PassFailed(wrong[0], ())
        finishing.hand_over(run, module, accumulated=folded)
        return TextState(_LANGUAGE, "")

    yield Pass(step.arguments, apply)
