"""How fast Helion kernels become MLIR: `python benchmarks/helion.py [--table]`.

Prints, for each kernel, the milliseconds from Device IR to the finished module
(emission and passes, no dumps), per ATen node, and the ratio to lowering the
same nodes one text round trip each: import, both stages, print, inline, parse.
Then the growth of the time with the number of nodes. Both sides run warm, in
one process, in one run. `--table` prints how far each family of kernels gets.
"""

# ruff: noqa: E402 - the path comes first
from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[1])  # not the folder of this file, which is named as Helion is

import helion
import helion.language as hl
import torch

from irwidget.helion import TextBuilder, inline_torch_mlir_output, pipelines
from irwidget.helion.binding import Binding, bind, reachable_graphs
from irwidget.helion.bindings import ir
from irwidget.helion.emitter import Emitter
from irwidget.helion.lowering import run_steps
from irwidget.helion.nodes import Call
from irwidget.toolchain import mlir
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw

ATEN = "linalg-on-tensors"


@helion.kernel()
def chain(x: torch.Tensor, length: hl.constexpr) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        v = x[tile]
        for i in hl.static_range(length):  # pyright: ignore[reportArgumentType]
            v = torch.exp(v) * (0.5 + i)
        out[tile] = v
    return out


def best(run: Callable[[], Any], times: int = 5) -> float:
    """Milliseconds of processor time of the cheapest of several runs: other load on the machine does not count."""
    fastest = float("inf")
    for _ in range(times):
        started = time.process_time()
        run()
        fastest = min(fastest, time.process_time() - started)
    return fastest * 1000


class Recorder(Emitter):
    """An emitter that keeps the calls that it imports."""

    def __init__(self, binding: Binding, context: ir.Context) -> None:
        super().__init__(binding, context)
        self.calls: list[Call] = []
        importer, inner = self.importer, self.importer.call

        def call(builder: Any, made: Call) -> Any:
            self.calls.append(made)
            return inner(builder, made)

        importer.call = call  # type: ignore[method-assign]


def whole(binding: Binding, context: Any) -> Any:
    """Device IR to the finished module."""
    emission = Emitter(binding, context).emit()
    run_steps(emission.module.operation, pipelines.steps(ATEN))
    return emission


def node_by_node(calls: list[Call], context: Any) -> None:
    """The same calls, one text round trip each."""
    from torch_mlir.extras.fx_importer import FxImporter

    from irwidget.helion.nodes import AtenImporter, single_node_graph

    helper = AtenImporter(context)
    builder = TextBuilder()
    for call in calls:
        inputs = [helper.fake(tuple(value.type.shape), dtype) for value, dtype in call.operands]
        importer = FxImporter(context=context)
        graph = single_node_graph(call, inputs, helper.run_fake(call, inputs))
        importer.import_stateless_graph(graph, func_name="main")
        run_steps(importer.module.operation, pipelines.node_steps(ATEN))
        text = str(importer.module)
        inline_torch_mlir_output(text, [f"%x{i}" for i in range(len(inputs))], builder)
        mlir.parse(text, context)


def measure(name: str, kernel: Any, args: tuple[Any, ...]) -> None:
    binding = bind(kernel, args)
    context = mlir.new_context()
    recorder = Recorder(binding, context)
    emission = recorder.emit()  # kept: the calls hold values of its module
    calls = recorder.calls
    nodes = sum(len(binding.device_ir.graphs[g].graph.nodes) for g in reachable_graphs(binding.device_ir))
    took = best(lambda: whole(binding, context))
    single = best(lambda: node_by_node(calls, context), 3)
    print(
        f"{name:24} {nodes:5} nodes {len(calls):4} ATen {took:8.1f} ms {took / max(1, len(calls)):6.2f} ms/ATen node "
        f"{single:8.1f} ms node by node, ratio {single / took:5.1f}"
    )
    del emission


def main() -> None:
    if "--table" in sys.argv:
        from tests.helion import report

        raise SystemExit(report.main(["--by-family", *[a for a in sys.argv[1:] if a != "--table"]]))
    meta = torch.device("meta")

    def empty(*shape: int) -> torch.Tensor:
        return torch.empty(*shape, device=meta)

    measure("add", pw.add, (empty(1000), empty(1000)))
    measure("softmax_two_pass", pw.softmax_two_pass, (empty(512, 1000), ))
    measure("layer_norm", pw.layer_norm, (empty(512, 1024), empty(1024), empty(1024)))
    measure("matmul", mm.matmul, (empty(512, 256), empty(256, 512)))
    measure("attention", mm.attention, (empty(2, 4, 512, 64),) * 3)
    measure("jagged_softmax", mm.jagged_softmax, (torch.randn(40, 13), torch.tensor([0, 5, 20, 40])))
    print("\nTime against number of nodes (a chain of exp and mul, no two nodes alike):")
    first: tuple[int, float] | None = None
    for length in (10, 40, 160):
        binding = bind(chain, (empty(1000), length))
        context = mlir.new_context()
        nodes = Emitter(binding, context).emit().aten_nodes
        took = best(lambda binding=binding, context=context: whole(binding, context), 3)
        first = first or (nodes, took)
        print(
            f"{nodes:5} ATen nodes {took:8.1f} ms: {nodes / first[0]:5.1f} times the nodes, "
            f"{took / first[1]:5.1f} times the time"
        )


if __name__ == "__main__":
    main()
