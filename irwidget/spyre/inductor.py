"""Inductor's loop-level IR of the same function, to lay beside ours.

It runs in a process of its own, `python -m irwidget.spyre.inductor`, which reads the graph and writes the text:
Inductor's state is global and none of ours may depend on it.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import subprocess
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget.private_torch import NEEDED_TO_UNPICKLE_GRAPHS
from irwidget.toolchain import processes

if TYPE_CHECKING:
    from irwidget.spyre.capture import CapturedGraph

_SECONDS = 120


def loop_level_ir(captured: CapturedGraph) -> str:
    """The operations that Inductor lowers the captured graph to, for the CPU; or why there are none to show."""
    try:
        packed = io.BytesIO()
        inputs = [(tuple(fake.shape), fake.stride(), fake.dtype) for fake in captured.fakes]
        torch.save((captured.graph, inputs), packed)
        command = processes.command("irwidget.spyre.inductor")
        done = subprocess.run(command, input=packed.getvalue(), capture_output=True, timeout=_SECONDS, check=False)
    except Exception as error:  # a graph that cannot be sent costs this dump only
        return _none(error)
    if done.returncode:
        return _none(RuntimeError(f"Inductor's process ended with {done.returncode}"))
    return done.stdout.decode("utf-8", "replace")


def _none(error: Exception) -> str:
    kind = type(error).__name__
    return f"# torch {torch.__version__} gives no loop-level IR of this function here ({kind}: {error})\n"


def lowered(graph: torch.fx.GraphModule, inputs: Sequence[tuple[Any, Any, torch.dtype]]) -> str:
    """Inductor's operations for a graph on inputs of these shapes, strides and dtypes; or why there are none."""
    try:
        return _lowered(graph, inputs)
    except Exception as error:  # the internals move between releases
        return _none(error)


def _lowered(graph: torch.fx.GraphModule, inputs: Sequence[tuple[Any, Any, torch.dtype]]) -> str:
    from irwidget.private_torch import (
        FakeTensorMode,
        GraphLowering,
        V,
        make_fx,
        select_decomp_table,  # pyright: ignore[reportUnknownVariableType]
    )

    with torch.no_grad(), FakeTensorMode() as mode:
        fakes = [torch.empty_strided(size, stride, dtype=dtype) for size, stride, dtype in inputs]
        module = make_fx(torch.fx.Interpreter(graph).run, decomposition_table=select_decomp_table())(*fakes)
    lowering = GraphLowering(module, example_inputs=fakes)
    with V.set_graph_handler(lowering), V.set_fake_mode(mode):
        lowering.run(*fakes)
        lines = [f"# Inductor's loop-level IR, torch {torch.__version__}"]
        for operation in lowering.operations:
            lines.append(f"{operation.get_operation_name()}: {operation}")
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    with contextlib.suppress(ImportError):  # unpickling a graph uses it without importing it
        importlib.import_module(NEEDED_TO_UNPICKLE_GRAPHS)
    sent = torch.load(io.BytesIO(sys.stdin.buffer.read()), weights_only=False)  # from our own process
    sys.stdout.write(lowered(*sent))
