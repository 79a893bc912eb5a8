"""Programs that cannot be lowered, refused before any pass runs: the operator, the user's line, the next step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irwidget.errors import ExportError
from irwidget.frontends.places import node_lines, quote
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Failure, Trace

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

_NAMED = re.compile(r"(?<!\w)((?:aten|prims?|torchvision|quantized_decomposed)\.[\w.]+)")
_CONSTANT = re.compile(r"failed to legalize operation 'torch\.(?:constant|vtensor)\.")
_LEFT = re.compile(r"(?<!!)torch\.((?:aten|prims?|torchvision|quantized_decomposed)\.[\w.]+)")
_FEW = 4
_OTHERS = "compute it of other operators, or lower the rest of the model alone"


def refusal(name: str, node: Node, why: str, advice: str, operator: str = "") -> ExportError:
    """The error for a program with an operator that cannot be lowered, at the user's line."""
    place = user_line(node)
    shown, source = operator or called(node), written(node)
    if _NAMED.fullmatch(shown) and source != shown:
        shown = f"{shown}, of {source},"
    lines = [f"{name} cannot be lowered: {shown} {why}", *([quote(place)] if place else [])]
    refused = ExportError("\n".join([*lines, f"  Next step: {advice}."]))
    refused.location = place
    return refused


def user_line(node: Node) -> Any:
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


def nodes_of(program: ExportedProgram) -> list[Node]:
    """The operators of a program, also those in branches and bodies of loops."""
    import torch

    modules = [one for one in program.graph_module.modules() if isinstance(one, torch.fx.GraphModule)]
    return [node for module in modules for node in module.graph.nodes if node.op == "call_function"]


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


def check_sizes(program: ExportedProgram, name: str) -> None:
    """Raise ExportError for a program whose decompositions have taken dynamic sizes to be as in the example."""
    from irwidget.private_torch_export import equalities

    if is_dynamic(program) and (found := equalities(program)):
        conditions = " and ".join(found[:_FEW])
        raise ExportError(
            f"{name} cannot be lowered for all sizes of its dynamic dimensions: PyTorch's decomposition of one of its "
            f"operators takes it that {conditions}\n  Next step: leave these dimensions out of dynamic_shapes."
        )


def check_effects(program: ExportedProgram, name: str) -> None:
    """Raise ExportError for operators with effects, as those that raise an error on some inputs."""
    for node in nodes_of(program):
        if str(node.target) == "with_effects":
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
    for node in nodes_of(program):
        target = str(node.target).removesuffix(".default")
        if target in unknown:
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
    from irwidget.toolchain import mlir

    return [one for one in mlir.operations(module.operation) if one.name == "torch.operator"]


def _unknown(operation: Any) -> str:
    """`aten.angle` of torch-mlir's operation for what it does not know; empty for those that a pass takes."""
    named = operation.attributes["name"].value
    return "" if named.startswith("torch.quantized_decomposed.") else named.removeprefix("torch.")


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


def check_windows(program: ExportedProgram, name: str) -> None:
    """Raise ExportError for windows to TOSA along a dynamic dimension of which the last may reach behind the padding.

    TOSA wants them to end there ("TOSA 1.0", max_pool2d, conv2d). For that torch-mlir pads or slices by a remainder,
    which it computes of the number that stands for a dynamic size.
    """
    from irwidget.private_torch import statically_known_true

    for node in nodes_of(program):
        for length, kernel, stride, padding, dilation in _windows(node):
            more = 2 * padding - dilation * (kernel - 1) - 1
            if isinstance(length, int):
                continue
            if not statically_known_true((length + more) % stride == 0) or (_DYNAMIC + more) % stride:
                why = f"has windows {stride} apart in a dynamic dimension, which TOSA wants to divide it"
                advice = "export it without dynamic shapes, or lower it to stablehlo_mlir or linalg_on_tensors_mlir"
                raise refusal(name, node, why, advice)


_POOL = re.compile(r"aten\.(?:max|avg)_pool(\d)d")
_DYNAMIC = -(2**63)
"""MLIR's size of a dimension that is dynamic."""


def _windows(node: Node) -> list[tuple[Any, int, int, int, int]]:
    """For each dimension of a convolution or pool: its length, the window's, their distance, padding and dilation."""
    operator = called(node)
    given: tuple[Any, ...] = (*node.args, *(None,) * 9)
    kernel: Any
    if operator == "aten.convolution" and not given[6]:
        kernel, (stride, padding, dilation) = list(given[1].meta["val"].shape[2:]), given[3:6]
        rank = len(kernel)
    elif pool := _POOL.match(operator):
        kernel, stride, padding = given[1], given[2] or given[1], given[3] or 0
        dilation, rank = (given[4] or 1) if "max" in operator else 1, int(pool[1])
    else:
        return []
    shape, given_sizes = given[0].meta["val"].shape, (kernel, stride, padding, dilation)
    sizes: list[list[int]] = [list(one) if isinstance(one, Sequence) else [one] for one in given_sizes]
    return list(zip(shape[-rank:], *(one * (rank // len(one)) for one in sizes), strict=True))


def is_dynamic(program: ExportedProgram) -> bool:
    """Whether a size of an input is not a number; sizes that depend on values do not count.

    Ranges do not say it: a view of another tensor, as `reshape` gives, leaves those of that one's sizes there.
    """
    import torch

    inputs = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    sizes = [size for value in inputs for size in getattr(value, "shape", (value,))]
    return any(isinstance(size, torch.SymInt) for size in sizes)


_NOWHERE = (
    "multinomial unique_consecutive nonzero_static resize linalg_qr view.dtype stft cumprod repeat_interleave.Tensor"
)
_POOLS = "adaptive_max_pool1d adaptive_max_pool2d adaptive_avg_pool1d"
_OF_VALUES = "nonzero bincount"
_PLACES = "max_pool2d_with_indices max_pool3d_with_indices"
_ALWAYS = f"{_NOWHERE} {_POOLS} erfinv"
_DOUBTFUL = {
    "linalg": f"{_ALWAYS} linalg_det linalg_slogdet _linalg_det _linalg_slogdet",
    "TOSA": f"{_ALWAYS} {_OF_VALUES} avg_pool3d sort topk kthvalue argmax argmin any.dims Float.Tensor pow.Scalar "
    "_adaptive_avg_pool3d max_pool3d_with_indices",
    "StableHLO": f"{_ALWAYS} {_OF_VALUES} argmax argmin diagonal isclose _adaptive_avg_pool3d kthvalue {_PLACES}",
}
"""Operators of torch-mlir's that its passes lower not at all, or not for all inputs."""


_SUMS = frozenset(f"aten.{name}.{kind}" for name in ("add", "sub", "rsub") for kind in ("Tensor", "Scalar"))


def _doubtful(language: str) -> frozenset[str]:
    return frozenset(f"aten.{name}" for name in _DOUBTFUL.get(language, "").split())


def is_doubtful(program: ExportedProgram, language: str) -> bool:
    """Whether passes to `linalg`, `TOSA` or `StableHLO` may stop: it is found out before they are shown."""
    names = _doubtful(language)
    nodes = nodes_of(program)
    if any(called(node) in names for node in nodes):
        return True
    if language == "StableHLO":
        return any(_sorts_open(node) for node in nodes)
    stops = (_beyond_tosa, _returns_places, _has_narrow, _is_too_wide)
    beyond = any(stop(node) for node in nodes for stop in stops)
    return language == "TOSA" and (is_dynamic(program) or beyond)


def _sorts_open(node: Node) -> bool:
    """Whether a node sorts what is dynamic: of its places torch-mlir makes StableHLO that takes known sizes alone."""
    import torch

    values = [one.meta["val"] for one in node.all_input_nodes if called(node) in ("aten.sort", "aten.topk")]
    return any(isinstance(size, torch.SymInt) for value in values for size in getattr(value, "shape", ()))


def _returns_places(node: Node) -> bool:
    """Whether the places of the largest in a pool are used: of its values there is a form in TOSA."""
    return called(node) == "aten.max_pool2d_with_indices" and uses_places(node)


def uses_places(node: Node) -> bool:
    """Whether the second result of a node is used: where the largest are, beside what they are."""
    return any(user.args[1:] == (1,) for user in node.users)


def _has_narrow(node: Node) -> bool:
    """Whether a node takes or makes integers of which torch-mlir refuses constants, or products, to TOSA."""
    import torch

    kinds = (torch.uint8, torch.int16)
    return any(getattr(one.meta.get("val"), "dtype", None) in kinds for one in (node, *node.all_input_nodes))


def _is_too_wide(node: Node) -> bool:
    """Whether a node is a convolution of int64, or a sum with a number of more than the 32 bits that it has in TOSA."""
    import torch

    if called(node) == "aten.convolution":
        return node.meta["val"].dtype == torch.int64
    numbers = [one for one in (*node.args, *node.kwargs.values()) if isinstance(one, int)]
    return called(node) in _SUMS and any(not -(2**31) <= one < 2**31 for one in numbers)


def called(node: Node) -> str:
    """The name of a node's operator."""
    return str(node.target).removesuffix(".default")


def written(node: Node) -> str:
    """The operator of the program that a node came from when that was taken apart, or its own."""
    sources: list[str] = [str(source.target).removesuffix(".default") for source in node.meta.get("from_node") or ()]
    return sources[-1] if sources and _NAMED.fullmatch(sources[-1]) else called(node)


def _one_of(nodes: Sequence[Node]) -> str:
    """The operators of a line, of which it is not known which one is meant."""
    *others, last = dict.fromkeys(written(node) for node in nodes)
    return " or ".join(filter(None, (", ".join(others), last))) if len(others) < _FEW else "an operator of this line"


def _beyond_tosa(node: Node) -> str:
    """What a node takes or makes that TOSA's specification has not; empty where it is nothing of the kind."""
    import torch

    values = [one.meta.get("val") for one in (node, *node.all_input_nodes)]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    sizes: list[Any] = [size for value in tensors for size in value.shape]
    if any(isinstance(size, int) and size == 0 for size in sizes):  # one that is a symbol is not asked
        return "tensors of no elements"
    return "float64" if any(value.dtype == torch.float64 for value in tensors) else ""


def stopped(program: ExportedProgram, name: str, failure: Failure, language: str) -> ExportError:
    """The error for a program of which a pass has been found to stop, at the operator and the line it stops at."""
    import torch

    dynamic = language == "TOSA" and is_dynamic(program)
    kind = f"{language} with dynamic shapes" if dynamic else language
    advice = "export it without dynamic shapes, or lower it to stablehlo_mlir or linalg_on_tensors_mlir"
    advice = advice if dynamic else _OTHERS
    nodes = nodes_of(program)
    wanted, doubtful = _NAMED.findall(failure.message), _doubtful(language)
    said = failure.message.split(":")[0].split(" that was ")[0]
    names = {node: called(node).replace("aten.sym_size", "aten.size") if dynamic else called(node) for node in nodes}
    found = [node for node in nodes if names[node] in wanted]
    beyond = {node: _beyond_tosa(node) for node in found} if language == "TOSA" else {}
    for node in sorted(found, key=lambda node: (not beyond.get(node), called(node) not in doubtful)):
        what = f"{kind}, which has no {beyond[node]}" if beyond.get(node) else f"{kind} here ({said})"
        sizes = "needs sizes as values, and TOSA's shapes are constants"
        return refusal(name, node, sizes if dynamic else f"has no form in {what}", advice, names[node])
    places = {(one.location.file, one.location.line) for one in failure.diagnostics if one.location}
    tensors = [node for node in nodes if isinstance(node.meta.get("val"), torch.Tensor | tuple | list)]
    there = [node for node in tensors if places & {(place.file, place.line) for place in node_lines(node)}]
    if there:  # of which a pass has made what it stopped at
        tosa = language == "TOSA"
        there = [node for node in there if called(node) in doubtful or (tosa and _is_too_wide(node))] or there
        return refusal(name, there[0], f"has no form in {kind} ({said})", advice, _one_of(there))
    return ExportError(f"{name} cannot be lowered to {kind}: {said}\n  Next step: {advice}.")
