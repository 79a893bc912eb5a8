"""Inductor's loop-level IR of the same function, to lay beside ours: the one place that touches torch's internals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from irwidget.spyre.capture import Captured


def loop_level_ir(captured: Captured) -> str:
    """The operations that Inductor lowers the captured graph to, for the CPU; or why there are none to show."""
    try:
        return _lowered(captured)
    except Exception as error:  # the internals move between releases, and nothing else may break with them
        kind = type(error).__name__
        return f"# torch {torch.__version__} gives no loop-level IR of this function here ({kind}: {error})\n"


def _lowered(captured: Captured) -> str:
    from torch._inductor.decomposition import select_decomp_table  # pyright: ignore[reportUnknownVariableType]
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V
    from torch.fx.experimental.proxy_tensor import make_fx

    fakes = list(captured.fakes)
    mode = fakes[0].fake_mode  # pyright: ignore[reportAttributeAccessIssue]
    with torch.no_grad(), mode:
        module = make_fx(torch.fx.Interpreter(captured.graph).run, decomposition_table=select_decomp_table())(*fakes)
    lowering = GraphLowering(module, example_inputs=fakes)
    with V.set_graph_handler(lowering), V.set_fake_mode(mode):
        lowering.run(*fakes)
        lines = [f"# Inductor's loop-level IR, torch {torch.__version__}"]
        for operation in lowering.operations:
            lines.append(f"{operation.get_operation_name()}: {operation}")
        return "\n".join(lines) + "\n"
