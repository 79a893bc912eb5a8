"""How fast Helion kernels become MLIR: `python benchmarks/helion.py [--table]`.

Prints, for each kernel, the milliseconds from Device IR to the finished module
(emission and passes, no dumps, verified), per ATen node. Then the ATen nodes
alone, both ways: ours, imported into one module and lowered together, against
one text round trip each: import, both stages, print, inline, parse, which
verifies. That side runs its pipelines by torch-mlir's helper, as helion-mlir
does; the figure in brackets lets it keep its pass managers, as ours does, and
verify in the parser alone. Last, the growth of the time with the number of
nodes. Both sides run warm, in one process, in turns. `--table` prints how far
each family of kernels gets.
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
from torch_mlir.compiler_utils import run_pipeline_with_repro_report
from torch_mlir.extras.fx_importer import FxImporter

from irwidget.helion import TextBuilder, inline_torch_mlir_output, pipelines
from irwidget.helion.binding import bind
from irwidget.helion.bindings import func, ir
from irwidget.helion.bound import Binding
from irwidget.helion.builder import Builder
from irwidget.helion.emitter import Emitter
from irwidget.helion.lowering import emit_kernel
from irwidget.helion.nodes import AtenCall, AtenImporter, single_node_graph
from irwidget.helion.passes import run_steps
from irwidget.toolchain import mlir
from irwidget.trace import Step
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


def best(*runs: Callable[[], Any]) -> list[float]:
    """Milliseconds of processor time of the cheapest run of each. They take turns: other load meets all alike."""
    cheapest, began, rounds = [float("inf")] * len(runs), time.perf_counter(), 0
    while rounds < 5 or time.perf_counter() - began < 1:
        for place, run in enumerate(runs):
            started = time.process_time()
            run()
            cheapest[place] = min(cheapest[place], time.process_time() - started)
        rounds += 1
    return [seconds * 1000 for seconds in cheapest]


class Recorder(Emitter):
    """An emitter that keeps the calls that it imports."""

    def __init__(self, binding: Binding, context: ir.Context) -> None:
        super().__init__(binding, context)
        self.calls: list[AtenCall] = []
        importer, inner = self.importer, self.importer.call

        def call(builder: Any, made: AtenCall) -> Any:
            self.calls.append(made)
            return inner(builder, made)

        importer.call = call  # type: ignore[method-assign]


def whole(binding: Binding, context: Any) -> Any:
    """Device IR to the finished module."""
    emission = Emitter(binding, context).emit()
    run_steps(emission.module.operation, pipelines.steps(ATEN))
    assert emission.module.operation.verify()
    return emission


def together(calls: list[AtenCall], context: Any) -> None:
    """The calls alone, as ours lowers them: in one function, whose arguments are their operands."""
    builder, importer = Builder(context), AtenImporter(context)
    with context, ir.Location.unknown(context):
        module = ir.Module.create()
        types = [value.type for call in calls for value, _ in call.operands]
        function = func.FuncOp("main", (types, []), ip=ir.InsertionPoint(module.body))
        block = function.add_entry_block()
        arguments = iter(block.arguments)
        results: list[Any] = []
        with ir.InsertionPoint(block):
            builder.start_function(block)
            for call in calls:
                operands = tuple((next(arguments), dtype) for _, dtype in call.operands)
                results += [value for value, _ in importer.call(builder, replace(call, operands=operands))]
            func.return_(results)
        kinds = [value.type for value in results]
        function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, kinds))
    run_steps(module.operation, pipelines.steps(ATEN))
    assert module.operation.verify()


def set_up_and_run(module: Any, steps: Sequence[Step]) -> None:
    """Run steps as helion-mlir does, by torch-mlir's own helper."""
    for step in steps:
        run_pipeline_with_repro_report(module, step.arguments, step.name)


def run_kept(module: Any, steps: Sequence[Step]) -> None:
    """Run steps with the pass managers that ours keeps."""
    run_steps(module.operation, steps)


def node_by_node(calls: list[AtenCall], context: Any, run: Callable[[Any, Sequence[Step]], None]) -> None:
    """The same calls, one text round trip each."""
    helper = AtenImporter(context)
    builder = TextBuilder()
    for call in calls:
        inputs = [helper.fake(tuple(value.type.shape), dtype) for value, dtype in call.operands]
        importer = FxImporter(context=context)
        graph = single_node_graph(call, inputs, helper.run_fake(call, inputs))
        importer.import_stateless_graph(graph, func_name="main")
        run(importer.module, pipelines.node_steps(ATEN))
        text = str(importer.module)
        inline_torch_mlir_output(text, [f"%x{i}" for i in range(len(inputs))], builder)
        mlir.parse(text, context)


def measure(name: str, kernel: Any, args: tuple[Any, ...]) -> tuple[float, float]:
    """Print a kernel's row. Returns the milliseconds of its ATen nodes, together and one by one."""
    binding = bind(kernel, args)
    context = mlir.new_context()
    recorder = Recorder(binding, context)
    _kept = recorder.emit()  # the calls hold values of it
    calls = recorder.calls
    nodes = sum(len(info.graph.nodes) for info in binding.graphs)
    took, ours, single, kept = best(
        lambda: whole(binding, context),
        lambda: together(calls, context),
        lambda: node_by_node(calls, context, set_up_and_run),
        lambda: node_by_node(calls, context, run_kept),
    )
    print(
        f"{name:17} {nodes:4} nodes {len(calls):3} ATen {took:6.1f} ms {took / max(1, len(calls)):5.2f} ms/ATen node; "
        f"ATen alone {ours:5.1f} ms, one by one {single:6.1f} ms, ratio {single / ours:5.1f} ({kept / ours:4.1f})"
    )
    return ours, single


def main() -> None:
    if "--table" in sys.argv:
        from tests.helion import report

        raise SystemExit(report.main(["--by-family", *[a for a in sys.argv[1:] if a != "--table"]]))
    meta = torch.device("meta")

    def empty(*shape: int) -> torch.Tensor:
        return torch.empty(*shape, device=meta)

    rows = [
        measure("add", pw.add, (empty(1000), empty(1000))),
        measure("softmax_two_pass", pw.softmax_two_pass, (empty(512, 1000),)),
        measure("layer_norm", pw.layer_norm, (empty(512, 1024), empty(1024), empty(1024))),
        measure("matmul", mm.matmul, (empty(512, 256), empty(256, 512))),
        measure("attention", mm.attention, (empty(2, 4, 512, 64),) * 3),
        measure("jagged_softmax", mm.jagged_softmax, (torch.randn(40, 13), torch.tensor([0, 5, 20, 40]))),
    ]
    ours, single = map(sum, zip(*rows, strict=True))
    print(f"the ATen nodes of all six: {ours:.1f} ms, one by one {single:.1f} ms, ratio {single / ours:.1f}")
    print("\nTime against number of nodes (a chain of exp and mul, no two nodes alike):")
    first: tuple[int, float] | None = None
    for length in (10, 40, 160):
        binding = bind(chain, (empty(1000), length))
        context = mlir.new_context()
        nodes = emit_kernel(chain, (empty(1000), length)).emission.aten_nodes
        (took,) = best(lambda binding=binding, context=context: whole(binding, context))
        first = first or (nodes, took)
        print(
            f"{nodes:5} ATen nodes {took:8.1f} ms: {nodes / first[0]:5.1f} times the nodes, "
            f"{took / first[1]:5.1f} times the time"
        )


if __name__ == "__main__":
    main()
