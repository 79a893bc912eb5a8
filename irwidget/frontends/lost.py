"""What torch-mlir's passes lose of operators that are shown as it lowers them, said once for each operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from irwidget.frontends.refusing import called, nodes_of, user_line, written
from irwidget.trace import Diagnostic

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_SUMS = frozenset(
    getattr(getattr(aten, name), kind) for name in ("add", "sub", "rsub") for kind in ("Tensor", "Scalar")
)
_LIMITS = frozenset((aten.clamp.default, aten.clamp.Tensor, aten.hardtanh.default))
_LARGEST = frozenset((aten.maximum.default, aten.minimum.default))


def remarks(program: ExportedProgram, language: str) -> Iterator[Diagnostic]:
    """Of a program that is lowered to `linalg`, `TOSA` or `StableHLO`: what its results lack."""
    nodes = nodes_of(program)
    for found, said in _LOST.get(language, ()):
        node = next(filter(found, nodes), None)
        if node is not None:
            yield Diagnostic("remark", f"{_called(node)}: {said}", user_line(node))


def _called(node: Node) -> str:
    return str(node.target).removesuffix(".default").removesuffix(".Tensor").removesuffix(".Scalar")


def _of(operators: frozenset[Any], *kinds: torch.dtype) -> Callable[[Node], bool]:
    return lambda node: node.target in operators and getattr(node.meta.get("val"), "dtype", None) in kinds


def _is_floored(node: Node) -> bool:
    """Whether integers of 64 bits are divided and rounded down, or what that leaves is."""
    rounded = node.target in _REMAINDERS or node.kwargs.get("rounding_mode") == "floor"
    return rounded and getattr(node.meta.get("val"), "dtype", None) == torch.int64


def _has_number(node: Node) -> bool:
    """Whether a number becomes one of float64 that float32 may not hold, given or made by torch-mlir."""
    if getattr(node.meta.get("val"), "dtype", None) != torch.float64:
        return False
    numbers = [one for one in node.args if isinstance(one, int | float) and not isinstance(one, bool)]
    inverse = node.target in _QUOTIENTS and any(one & (one - 1) for one in numbers if isinstance(one, int))
    return node.target in _COMPOSED or inverse or any(float(one) != _in_single(one) for one in numbers)


def _in_single(number: float) -> float:
    return float(torch.tensor(number, dtype=torch.float32))


def _orders_floats(node: Node) -> bool:
    """Whether floats are put in order, or the places of their largest are used; of a decomposition they are no NaN."""
    if node.target not in _ORDERS or getattr(node.all_input_nodes[0].meta.get("val"), "dtype", None) not in _FLOATS:
        return False
    places = node.target not in _PAIRS or any(user.args[1:] == (1,) for user in node.users)
    return places and written(node) == called(node)


_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_REMAINDERS = frozenset((aten.remainder.Tensor, aten.remainder.Scalar))
_QUOTIENTS = frozenset((aten.div.Tensor, aten.div.Scalar))
_PAIRS = frozenset((aten.max.dim, aten.min.dim, aten.max_pool2d_with_indices.default))
_ORDERS = _PAIRS | {aten.argmax.default, aten.argmin.default, aten.topk.default, aten.sort.default, aten.sort.stable}
_COMPOSED = frozenset((aten.log2.default, aten.log10.default, aten.gelu.default))
_ORDERED = (_orders_floats, "torch-mlir finds another place for a NaN, which eager PyTorch has as the largest number")
_LOST: dict[str, tuple[tuple[Callable[[Node], bool], str], ...]] = {
    "linalg": (
        (_of(_LIMITS, *_FLOATS), "of a NaN torch-mlir makes one of the limits in linalg, where eager PyTorch has NaN"),
        (
            _of(_LARGEST, *_FLOATS),
            "where the first of two is NaN torch-mlir has the second in linalg, and eager PyTorch NaN",
        ),
        (
            lambda node: node.target == aten.adaptive_max_pool3d.default,
            "torch-mlir begins with a number that nothing has set, minus infinity or the least of the dtype: its text "
            "may be another each time",
        ),
        _ORDERED,
    ),
    "TOSA": (
        (
            _of(_SUMS, torch.int64),
            "torch-mlir adds integers of 64 bits in TOSA as ones of 32: larger numbers lose their high bits",
        ),
        (
            _is_floored,
            "torch-mlir rounds quotients of 64 bits in TOSA by the sign of a product that has no more: larger numbers "
            "are rounded the other way",
        ),
        (_has_number, "torch-mlir holds numbers beside tensors of float64 in TOSA as float32"),
    ),
    "StableHLO": (_ORDERED,),
}
