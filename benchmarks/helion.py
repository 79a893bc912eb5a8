"""How fast Helion kernels become MLIR: `python benchmarks/helion.py [--table]`.

Prints, for each kernel, the milliseconds from Device IR to the finished module
(emission and passes, no dumps, verified), per ATen node. Then the ATen nodes
alone, both ways: ours, imported into one module and lowered together, against
one text round trip each: import, both stages, print, inline, parse, which
verifies. That side sets its pass managers up for each node, as helion-mlir
does; the figure in brackets lets it keep them, as ours does. Last, the growth
of the time with the number of nodes. Both sides run warm, in one process, in
one run. `--table` prints how far each family of kernels gets.
"""

# ruff: noqa: E402 - the path comes first
from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path[0] = str(Path(__file__).resolve().parents[1])  # not the folder of this file, which is named as Helion is

import helion
import helion.language as hl
import torch
from torch_mlir.extras.fx_importer import FxImporter
from torch_mlir.passmanager import PassManager  # pyright: ignore[reportAttributeAccessIssue, reportMissingImports]

from irwidget.dumps import Step
from irwidget.helion import TextBuilder, inline_torch_mlir_output, pipelines
from irwidget.helion.binding import Binding, bind
from irwidget.helion.bindings import ir
from irwidget.helion.builder import Builder
from irwidget.helion.emitter import Emitter
from irwidget.helion.lowering import emit_kernel
from irwidget.helion.nodes import AtenImporter, Call, single_node_graph
from irwidget.helion.passes import run_steps
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


def best(run: Callable[[], Any], times: int = 9) -> float:
    """Milliseconds of processor time of the cheapest of several runs: other load on the machine does not count."""
    cheapest, spent = float("inf"), 0.0
    while times > 0 or spent < 0.3:
        started = time.process_time()
        run()
        took = time.process_time() - started
        cheapest, spent, times = min(cheapest, took), spent + took, times - 1
    return cheapest * 1000


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
    assert emission.module.operation.verify()
    return emission


def together(calls: list[Call], context: Any) -> None:
    """The calls alone, as ours lowers them: in one function, whose arguments are their operands."""
    builder, importer = Builder(context), AtenImporter(context)
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        types = [value.type for call in calls for value, _ in call.operands]
        function = ir.Operation.create("func.func", [], [], {
            "sym_name": ir.StringAttr.get("main"), "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, [])),
        }, None, 1, ip=ir.InsertionPoint(module.body))  # fmt: skip
        block = function.regions[0].blocks.append(*types)
        arguments = iter(block.arguments)
        results: list[Any] = []
        with builder.at(ir.InsertionPoint(block)):
            builder.start_function(block)
            for call in calls:
                operands = tuple((next(arguments), dtype) for _, dtype in call.operands)
                results += [value for value, _ in importer.call(builder, replace(call, operands=operands))]
            builder.op("func.return", results)
        kinds = [value.type for value in results]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, kinds))
    run_steps(module.operation, pipelines.steps(ATEN))
    assert module.operation.verify()


def set_up_and_run(module: Any, steps: Sequence[Step]) -> None:
    """Run steps with pass managers of their own."""
    for step in steps:
        manager = PassManager.parse(step.arguments, context=module.context)
        manager.enable_verifier(False)
        manager.run(module)


def node_by_node(calls: list[Call], context: Any, run: Callable[[Any, Sequence[Step]], None]) -> None:
    """The same calls, one text round trip each."""
    helper = AtenImporter(context)
    builder = TextBuilder()
    for call in calls:
        inputs = [helper.fake(tuple(value.type.shape), dtype) for value, dtype in call.operands]
        importer = FxImporter(context=context)
        graph = single_node_graph(call, inputs, helper.run_fake(call, inputs))
        importer.import_stateless_graph(graph, func_name="main")
        run(importer.module.operation, pipelines.node_steps(ATEN))
        text = str(importer.module)
        inline_torch_mlir_output(text, [f"%x{i}" for i in range(len(inputs))], builder)
        mlir.parse(text, context)


def measure(name: str, kernel: Any, args: tuple[Any, ...]) -> None:
    binding = bind(kernel, args)
    context = mlir.new_context()
    recorder = Recorder(binding, context)
    _kept = recorder.emit()  # the calls hold values of it
    calls = recorder.calls
    nodes = sum(len(info.graph.nodes) for info in binding.graphs)
    took = best(lambda: whole(binding, context))
    ours = best(lambda: together(calls, context))
    single = best(lambda: node_by_node(calls, context, set_up_and_run), 3)
    kept = best(lambda: node_by_node(calls, context, run_steps), 3)
    print(
        f"{name:17} {nodes:4} nodes {len(calls):3} ATen {took:6.1f} ms {took / max(1, len(calls)):5.2f} ms/ATen node; "
        f"ATen alone {ours:5.1f} ms, one by one {single:6.1f} ms, ratio {single / ours:5.1f} ({kept / ours:4.1f})"
    )


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
        nodes = emit_kernel(chain, (empty(1000), length)).emission.aten_nodes
        took = best(lambda binding=binding, context=context: whole(binding, context), 3)
        first = first or (nodes, took)
        print(
            f"{nodes:5} ATen nodes {took:8.1f} ms: {nodes / first[0]:5.1f} times the nodes, "
            f"{took / first[1]:5.1f} times the time"
        )


if __name__ == "__main__":
    main()
