"""What torch-mlir's passes lose of operators that are shown as it lowers them, said once for each operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch

from irwidget.frontends.refusing import nodes_of, user_line
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


def _has_number(node: Node) -> bool:
    """Whether a number becomes one of float64 that float32 may not hold, given or made by torch-mlir."""
    if getattr(node.meta.get("val"), "dtype", None) != torch.float64:
        return False
    numbers = [one for one in node.args if isinstance(one, int | float) and not isinstance(one, bool)]
    inverse = node.target in _QUOTIENTS and any(one & (one - 1) for one in numbers if isinstance(one, int))
    return node.target in _COMPOSED or inverse or any(float(one) != _in_single(one) for one in numbers)


def _in_single(number: float) -> float:
    return float(torch.tensor(number, dtype=torch.float32))


def _is_floored(node: Node) -> bool:
    """Whether a quotient that is a float is rounded down."""
    value = node.meta.get("val")
    floored = node.target in _DIVISIONS and node.kwargs.get("rounding_mode") == "floor"
    return floored and getattr(value, "dtype", None) in _FLOATS


_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_QUOTIENTS = frozenset((aten.div.Tensor, aten.div.Scalar))
_DIVISIONS = frozenset((aten.div.Tensor_mode, aten.div.Scalar_mode))
_COMPOSED = frozenset((aten.log2.default, aten.log10.default, aten.gelu.default))
_FLOORED = (_is_floored, "torch-mlir rounds the quotient first: 5 // 0.1 is 50, in eager PyTorch 49")
_LOST: dict[str, tuple[tuple[Callable[[Node], bool], str], ...]] = {
    "linalg": (
        (_of(_LIMITS, *_FLOATS), "of a NaN torch-mlir makes one of the limits in linalg, where eager PyTorch has NaN"),
        (
            _of(_LARGEST, *_FLOATS),
            "where the first of two is NaN torch-mlir has the second in linalg, and eager PyTorch NaN",
        ),
    ),
    "TOSA": (
        (
            _of(_SUMS, torch.int64),
            "torch-mlir adds integers of 64 bits in TOSA as ones of 32: larger numbers lose their high bits",
        ),
        (_has_number, "torch-mlir holds numbers beside tensors of float64 in TOSA as float32"),
        _FLOORED,
    ),
    "StableHLO": (_FLOORED,),
}
