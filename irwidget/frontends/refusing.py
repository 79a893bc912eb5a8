"""Programs that cannot be lowered, refused before any pass runs: the operator, the user's line, the next step."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irwidget.errors import ExportError
from irwidget.frontends.places import node_lines, quote
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Failure, Trace

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

_OPERATION = re.compile(r"'torch\.(aten\.[\w.]+)'")
_CONSTANT = re.compile(r"failed to legalize operation 'torch\.(?:constant|vtensor)\.")
_LEFT = re.compile(r"(?<!!)torch\.((?:aten|prims?|torchvision|quantized_decomposed)\.[\w.]+)")
_OTHERS = "compute it of other operators, or lower the rest of the model alone"


def refusal(name: str, node: Node, why: str, advice: str, operator: str = "") -> ExportError:
    """The error for a program with an operator that cannot be lowered, at the user's line."""
    place = _line(node)
    lines = [f"{name} cannot be lowered: {operator or node.target} {why}", *([quote(place)] if place else [])]
    refused = ExportError("\n".join([*lines, f"  Next step: {advice}."]))
    refused.location = place
    return refused


def _line(node: Node) -> Any:
    """The user's line of a node; of one that torch has put in, that of the first that uses it."""
    left, seen = [node], {node}
    while left:
        one = left.pop(0)
        places = [place for place in node_lines(one) if is_user_file(place.file)]
        if places:
            return places[-1]
        new = [user for user in one.users if user not in seen]
        seen.update(new)
        left += new
    return None


def check_layouts(program: ExportedProgram, name: str) -> None:
    """Raise ExportError for sparse tensors."""
    import torch

    from irwidget.private_torch import pytree

    for node in program.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor) and value.layout != torch.strided:
                why = f"is a sparse tensor ({value.layout}), which has no form in MLIR that torch-mlir imports"
                operator = f"input {node.name}" if node.op == "placeholder" else ""
                raise refusal(name, node, why, "lower the model with x.to_dense() in its place", operator)


def check_effects(program: ExportedProgram, name: str) -> None:
    """Raise ExportError for operators with effects, as those that raise an error on some inputs."""
    for node in program.graph.nodes:
        if node.op == "call_function" and str(node.target) == "with_effects":
            _, operator, *args = node.args
            checks = "_linalg_check_errors" in str(operator)  # whose second argument says what for
            why = "raises errors that depend on values" if checks else "has effects besides its results"
            shown = str(args[1]) if checks else str(operator).removesuffix(".default")
            raise refusal(name, node, f"{why}, which torch-mlir does not import", _OTHERS, shown)


def check_operators(module: Any, program: ExportedProgram, name: str) -> None:
    """Raise ExportError for operators of PyTorch that torch-mlir has no operation for.

    `module` is what torch-mlir has imported `program` as.
    """
    unknown = [found for found in map(_unknown, _operations(module)) if found]
    if not unknown:
        return
    for node in program.graph.nodes:
        target = str(node.target).removesuffix(".default")
        if node.op == "call_function" and target in unknown:
            why = "has no operation in torch-mlir, and PyTorch no decomposition of it that torch-mlir uses"
            raise refusal(name, node, why, _OTHERS, target)


def named(trace: Trace) -> Trace:
    """The trace, with the operators that are left in it named where a pass stops at one of their constants."""
    failure = trace.failure
    if failure is None or not trace.dumps or not _CONSTANT.match(failure.message):
        return trace
    left = sorted(set(_LEFT.findall(trace.dumps[-1].text)))
    if not left:
        return trace
    said = f"{', '.join(left)} {'is' if len(left) == 1 else 'are'} not lowered: {failure.message}"
    return replace(trace, failure=replace(failure, message=said))


def _operations(module: Any) -> list[Any]:
    found: list[Any] = []

    def visit(operation: Any) -> Any:
        if operation.name == "torch.operator":
            found.append(operation)
        return walk_on

    from irwidget.toolchain import mlir

    walk_on = mlir.ir.WalkResult.ADVANCE
    module.operation.walk(visit)
    return found


def _unknown(operation: Any) -> str:
    """`aten.angle` of torch-mlir's operation for what it does not know; empty for those of other libraries."""
    named = operation.attributes["name"].value
    return named.removeprefix("torch.") if named.startswith("torch.aten.") else ""


_CONTROL = {
    "cond": "compute both branches and choose with torch.where",
    "while_loop": "",
    "map_impl": "write the loop in Python, which unrolls it",
    "scan": "write the loop in Python, which unrolls it",
}
"""PyTorch's control flow, by the names of its operators, and what can be done without it."""


def check_control_flow(program: ExportedProgram, name: str, language: str) -> None:
    """Raise ExportError for control flow, which torch-mlir's passes to TOSA and StableHLO do not know."""
    for node in program.graph.nodes:
        advice = _CONTROL.get(str(node.target)) if node.op == "call_function" else None
        if advice is not None:
            operator = f"torch.{str(node.target).removesuffix('_impl')}"
            why = f"has no form in {language} that torch-mlir makes"
            other = "lower it to linalg_on_tensors_mlir, where it becomes scf"
            raise refusal(name, node, why, f"{other}, or {advice}" if advice else other, operator)


def is_dynamic(program: ExportedProgram) -> bool:
    """Whether a size of an input is not a number; sizes that depend on values do not count."""
    return any(str(symbol).startswith("s") for symbol in program.range_constraints)


def dynamic_refusal(program: ExportedProgram, name: str, failure: Failure) -> ExportError:
    """The error for a program with dynamic shapes that TOSA cannot say; `failure` is where a pass stopped."""
    found = _OPERATION.search(failure.message)
    wanted = found[1] if found else ""
    advice = "export it without dynamic shapes, or lower it to stablehlo_mlir or linalg_on_tensors_mlir"
    nodes = [node for node in program.graph.nodes if node.op == "call_function"]
    for node in nodes:
        target = str(node.target).removesuffix(".default").replace("aten.sym_size", "aten.size")
        if wanted and target == wanted:
            return refusal(name, node, "needs sizes as values, and TOSA's shapes are constants", advice, wanted)
    said = failure.message.split(":")[0]
    places = {(one.location.file, one.location.line) for one in failure.diagnostics if one.location}
    for node in nodes:  # of which a pass has made what it stopped at
        if places & {(place.file, place.line) for place in node_lines(node)}:
            why = f"has no form in TOSA with dynamic shapes ({said})"
            return refusal(name, node, why, advice, str(node.target).removesuffix(".default"))
    return ExportError(f"{name} cannot be lowered to TOSA with dynamic shapes: {said}\n  Next step: {advice}.")
