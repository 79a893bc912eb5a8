"""Operators in terms of others for TOSA, and those that StableHLO lacks too; linalg takes all of these as they are."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.frontends import decompositions_order
from irwidget.frontends.decompositions_bytes import SHIFTS, value_of
from irwidget.frontends.decompositions_kinds import alike

aten: Any = torch.ops.aten
HALVES = (torch.float16, torch.bfloat16)
_LARGE = 1e8
"""From here on, a square root of one more or less is the number itself."""


# Functions of floats


def single(x: Any) -> Any:
    """Halves as float32, so that not every sum and product is rounded; others as they are."""
    return x.to(torch.float32) if x.dtype in HALVES else x


def in_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Halves are computed as float32, integers as eager PyTorch does."""

    def made(*args: Any) -> Any:
        kind = args[0].dtype
        for other in args[1:]:
            kind = torch.promote_types(kind, other.dtype)
        kind = kind if kind.is_floating_point else torch.get_default_dtype()
        wide = torch.float32 if kind in HALVES else kind
        return function(*(one.to(wide) for one in args)).to(kind)

    return made


def is_negative(x: Any) -> Any:
    """Also of the zero that has a sign."""
    zero = 0.0 if x.dtype.is_floating_point else 0  # with the other, torch-mlir folds what it knows wrongly
    return (x < zero) | (torch.ones_like(x) / x < 0.0)  # its reciprocal stops at a zero


def _with_sign(size: Any, x: Any) -> Any:
    return torch.where(is_negative(x), -size, size)


def _atan2(y: Any, x: Any) -> Any:
    """By the angle below 45 degrees; where both are infinite it is 45."""
    high, wide = torch.abs(y), torch.abs(x)
    least, most = torch.minimum(high, wide), torch.maximum(high, wide)
    ratio = torch.where(least == math.inf, torch.ones_like(least), least / most)
    angle = torch.atan(torch.where(most == 0, torch.zeros_like(ratio), ratio))
    angle = torch.where(high > wide, math.pi / 2 - angle, angle)
    return _with_sign(torch.where(is_negative(x), math.pi - angle, angle), y)


def _asin(x: Any) -> Any:
    return 2 * torch.atan(x / (1 + torch.sqrt((1 - x) * (1 + x))))


def _acos(x: Any) -> Any:
    return 2 * torch.atan(torch.sqrt((1 - x) / (1 + x)))


def _sinh(x: Any) -> Any:
    """Below one its series; in halves of the exponential, which does not overflow before the result does."""
    half, square = torch.exp(torch.abs(x) * 0.5), x * x
    series = x * (1 + square / 6 * (1 + square / 20 * (1 + square / 42 * (1 + square / 72))))
    return torch.where(torch.abs(x) < 1, series, _with_sign(half * 0.5 * half - 0.5 / half / half, x))


def _cosh(x: Any) -> Any:
    half = torch.exp(torch.abs(x) * 0.5)
    return half * 0.5 * half + 0.5 / half / half


def _asinh(x: Any) -> Any:
    size = torch.abs(x)
    near = torch.minimum(size, torch.full_like(size, _LARGE))
    small = torch.log1p(near + near * near / (1 + torch.sqrt(near * near + 1)))
    return _with_sign(torch.where(size > _LARGE, torch.log(size) + math.log(2), small), x)


def _acosh(x: Any) -> Any:
    near = torch.minimum(x, torch.full_like(x, _LARGE))
    small = torch.log1p(near - 1 + torch.sqrt(near - 1) * torch.sqrt(near + 1))
    return torch.where(x > _LARGE, torch.log(x) + math.log(2), small)


def _atanh(x: Any) -> Any:
    return 0.5 * torch.log1p(2 * x / (1 - x))


def copysign(x: Any, y: Any) -> Any:
    return _with_sign(torch.abs(x), y)


def fmod(x: Any, y: Any) -> Any:
    """The remainder with the sign of `x`; of floats exact where the quotient is one."""
    x, y = alike(x, y)
    if x.dtype.is_floating_point:
        return in_single(_left)(x, y)
    return x - torch.div(x, y, rounding_mode="trunc") * y


def _left(x: Any, y: Any) -> Any:
    size, step = torch.abs(x), torch.abs(y)
    count = torch.floor(size / step)
    left = left_of(size, count, step)
    left = torch.where(left < 0, left + step, torch.where(left >= step, left - step, left))
    return _with_sign(torch.where((step == math.inf) & (size < math.inf), size, left), x)


def left_of(x: Any, count: Any, step: Any) -> Any:
    """Without as many steps: exact for floats, where the product is next to it."""
    return x - count * step - _lost(count, step)


def _lost(x: Any, y: Any) -> Any:
    """What rounding takes from a product (Dekker 1971); zero where it is no number."""
    (high, low), (above, below) = _halves(x), _halves(y)
    lost = high * above - x * y + high * below + low * above + low * below
    return torch.where(torch.abs(lost) < math.inf, lost, torch.zeros_like(lost))


def _halves(x: Any) -> tuple[Any, Any]:
    """Two numbers of half as many digits, of which a float is the sum."""
    scaled = x * _HALF_OF[x.dtype] + x  # a power of two, which float32 holds
    high = scaled - (scaled - x)
    return high, x - high


_HALF_OF = {torch.float32: 2.0**12, torch.float64: 2.0**27}


def _shifted(operator: Any) -> Callable[..., Any]:
    """A shift by a number as one by a tensor."""

    def made(x: Any, count: Any) -> Any:
        return operator(*alike(x, count)) if isinstance(count, int) else NotImplemented

    return made


def _nearest(x: Any, size: Any, factors: Any) -> Any:
    """Every pixel of an image of another size is one of the old ones; sizes of `x` from its third on."""
    for axis, extent in enumerate(x.shape[2:]):
        factor = factors[axis] if factors else size[axis] / extent
        wanted: Any = size[axis] if size else torch.sym_int(extent * factor)
        place = torch.arange(wanted, device=x.device, dtype=torch.float32) * (1 / factor)
        x = x.index_select(axis + 2, place.to(torch.int64).clamp(max=extent - 1))
    return x


# Writes that meet at one place: every value beside every place, and those that are not for it left out

_NEUTRAL: dict[str, Callable[[torch.dtype], Any]] = {
    "sum": lambda _: 0,
    "mean": lambda _: 0,
    "prod": lambda _: 1,
    "amax": lambda kind: -math.inf if kind.is_floating_point else torch.iinfo(kind).min,
    "amin": lambda kind: math.inf if kind.is_floating_point else torch.iinfo(kind).max,
}


def _met(meets: Any, values: Any, how: str) -> Any:
    """The values along dimension 1 as one, where `meets`: a mask and values that broadcast together."""
    chosen = torch.where(meets, values, torch.full_like(values, _NEUTRAL[how](values.dtype)))
    if how == "prod":
        return torch.prod(chosen, 1, dtype=values.dtype)
    if how in ("amax", "amin"):
        return getattr(torch, how)(chosen, 1)
    return chosen.sum(1, dtype=values.dtype)


def _joined(one: Any, other: Any, how: str) -> Any:
    if how == "prod":
        return one * other
    if how in ("amax", "amin"):
        return {"amax": torch.maximum, "amin": torch.minimum}[how](one, other)
    return one + other


def _reduced(x: Any, index: Any, values: Any, how: str, include_self: bool) -> Any:
    """`x` with the values that are for each of its places along dimension 0; `index` has the rank of `values`."""
    if not all(isinstance(extent, int) for one in (x, index, values) for extent in one.shape):
        return NotImplemented
    places = torch.arange(x.shape[0], device=x.device, dtype=index.dtype)
    meets = index[None] == places.reshape(-1, *[1] * index.dim())
    made = _met(meets, values[None].expand(x.shape[0], *values.shape), how)
    given = meets.to(torch.int64).sum(1)
    kept = x if include_self else torch.where(given > 0, torch.full_like(x, _NEUTRAL[how](x.dtype)), x)
    made = _joined(kept, made, how)
    if how != "mean":
        return made
    count = (given + (1 if include_self else 0)).clamp(min=1)
    if x.dtype.is_floating_point:
        return made / count.to(x.dtype)
    return torch.div(made, count.to(x.dtype), rounding_mode="floor")


def _scatter_reduce(x: Any, dim: int, index: Any, values: Any, how: str, *, include_self: bool = True) -> Any:
    if not x.dim() or how not in _NEUTRAL:
        return NotImplemented
    if 0 in index.shape:
        return x.clone()
    x, index, values = (one.movedim(dim, 0) for one in (x, index, values))
    values = values[tuple(slice(0, extent) for extent in index.shape)]
    part = x[(slice(None), *(slice(0, extent) for extent in index.shape[1:]))]
    made = _reduced(part, index, values, how, include_self)
    if made is NotImplemented:
        return made
    for axis, extent in enumerate(index.shape[1:], 1):  # what the index does not reach stays
        if extent < x.shape[axis]:
            rest = x[tuple(slice(0, size) if at > axis else slice(None) for at, size in enumerate(made.shape))]
            made = torch.cat([made, rest.narrow(axis, extent, x.shape[axis] - extent)], axis)
    return made.movedim(0, dim)


def _scatter_add(x: Any, dim: int, index: Any, values: Any) -> Any:
    return _scatter_reduce(x, dim, index, values, "sum")


def _index_put(x: Any, indices: Sequence[Any], values: Any, accumulate: bool = False) -> Any:
    """Values added at indices of the first dimensions, as one index of all of these.

    Those at indices of later dimensions alone, added or not, are written with these first.
    """
    dims = _later(indices)
    if dims and all(isinstance(extent, int) for extent in x.shape):
        given = torch.broadcast_tensors(*(indices[dim] for dim in dims))
        values = values.expand(*x.shape[: dims[0]], *given[0].shape, *x.shape[dims[-1] + 1 :]).movedim(dims[0], 0)
        front = [*range(len(dims))]
        made = aten.index_put.default(x.movedim(dims, front), [*given], values, accumulate)
        return made.movedim(front, dims)
    if not _is_sum_at_first(indices, accumulate):
        return NotImplemented
    count = len(indices)
    ahead, rest = x.shape[:count], x.shape[count:]
    if not all(isinstance(extent, int) for extent in x.shape):
        return NotImplemented
    place: Any = 0
    for index, extent in zip(torch.broadcast_tensors(*indices), ahead, strict=True):
        index = index.to(torch.int64)
        place = place * extent + torch.where(index < 0, index + extent, index)
    values = values.expand(*place.shape, *rest).reshape(-1, *rest)
    index = place.reshape(-1, *[1] * len(rest))
    made = _reduced(x.reshape(-1, *rest), index, values, "sum", True)
    return made if made is NotImplemented else made.reshape(x.shape)


def _is_sum_at_first(indices: Any, accumulate: Any) -> bool:
    """Whether an `index_put` adds, at integer indices of the first dimensions."""
    return bool(accumulate) and all(index is not None and _dtype(index) != torch.bool for index in indices)


def _later(indices: Any) -> list[int]:
    """The dimensions of the indices, vectors of integers, one behind the other, behind dimensions without; or none."""
    dims = [dim for dim, one in enumerate(indices) if one is not None]
    values = [value_of(indices[dim]) for dim in dims]
    if dims[0] == 0 or dims[-1] - dims[0] >= len(dims) or any(one.dtype == torch.bool for one in values):
        return []
    return dims if all(one.dim() == 1 for one in values) else []


def _dtype(index: Any) -> Any:
    return getattr(value_of(index), "dtype", None)


# Along dimensions


def _running_product(x: Any, dim: int, *, dtype: Any = None) -> Any:
    """Of elements, of pairs of these, of four."""
    kind = dtype or (x.dtype if x.dtype.is_floating_point else torch.int64)
    if not x.dim():
        return x.to(kind)
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    made = x.to(kind).movedim(dim, 0)
    step = 1
    while step < made.shape[0]:
        made = torch.cat([made[:step], made[step:] * made[:-step]])
        step *= 2
    return made.movedim(0, dim)


def _diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """By the places of its elements in rows and columns laid out as one dimension."""
    x = x.movedim((dim1, dim2), (-2, -1))
    rows, columns = x.shape[-2:]
    if not (isinstance(rows, int) and isinstance(columns, int)):
        return NotImplemented
    first = max(offset, 0) - min(offset, 0) * columns
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    places = torch.arange(count, device=x.device) * (columns + 1) + first
    return x.flatten(-2).index_select(-1, places)


def _triangle(bounds: Callable[[int, int], tuple[int, int]]) -> Callable[..., Any]:
    """Places of a triangle row by row: PyTorch's and torch-mlir's are of parts that may have no elements.

    `bounds` says from which column to which a row goes, by the column at which the diagonal meets it and their number.
    """

    def made(rows: int, columns: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **_: Any) -> Any:
        parts = [(row, *bounds(min(max(row + offset, -1), columns), columns)) for row in range(rows)]
        parts = [(row, first, end) for row, first, end in parts if first < end]
        if not 0 < len(parts) <= _MOST_ROWS:
            return NotImplemented
        how: dict[str, Any] = {"dtype": dtype or torch.int64, "device": device}
        at_rows = torch.cat([torch.full((end - first,), row, **how) for row, first, end in parts])
        return torch.stack([at_rows, torch.cat([torch.arange(first, end, **how) for _, first, end in parts])])

    return made


_MOST_ROWS = 256


def _kth_value(x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not x.dim() or not decompositions_order.is_short(x, dim):
        return NotImplemented
    found = (one.narrow(dim, k - 1, 1) for one in decompositions_order.sorted_by_rank(x, dim))
    return tuple(found) if keepdim else tuple(one.squeeze(dim) for one in found)


def _average_pool(x: Any, sizes: Sequence[int]) -> Any:
    """Of parts of the last dimensions that differ by one element, one dimension after the other."""
    if not all(isinstance(extent, int) for extent in x.shape):
        return NotImplemented
    for dim, size in zip(range(-len(sizes), 0), sizes, strict=True):
        ends = even_parts(x.shape[dim], size)
        x = torch.cat([x.narrow(dim, first, end - first).mean(dim, keepdim=True) for first, end in ends], dim)
    return x


def even_parts(extent: int, count: int) -> list[tuple[int, int]]:
    """Where each of as many parts of a dimension begins and ends, which may overlap by an element."""
    return [(part * extent // count, -(-(part + 1) * extent // count)) for part in range(count)]


_FOR_BOTH: dict[Any, Callable[..., Any]] = {
    aten.cumprod.default: _running_product,
    aten.kthvalue.default: _kth_value,
    aten._adaptive_avg_pool3d.default: _average_pool,
    aten.scatter_reduce.two: _scatter_reduce,
    **{getattr(aten, f"upsample_nearest{rank}d").vec: _nearest for rank in (1, 2, 3)},
    **{name: _shifted(operator) for name, operator in SHIFTS.items()},
}
_FOR_TOSA: dict[Any, Callable[..., Any]] = {
    **{
        getattr(aten, name).default: in_single(function)
        for name, function in {
            "atan2": _atan2,
            "asin": _asin,
            "acos": _acos,
            "sinh": _sinh,
            "cosh": _cosh,
            "asinh": _asinh,
            "acosh": _acosh,
            "atanh": _atanh,
        }.items()
    },
    aten.copysign.Tensor: in_single(copysign),
    aten.fmod.Tensor: fmod,
    aten.fmod.Scalar: fmod,
    aten.scatter_add.default: _scatter_add,
    aten.tril_indices.default: _triangle(lambda column, columns: (0, min(column + 1, columns))),
    aten.triu_indices.default: _triangle(lambda column, columns: (max(column, 0), columns)),
    **dict.fromkeys((aten.index_put.default, aten._unsafe_index_put.default), _index_put),
    **_FOR_BOTH,
}


def table(language: str) -> dict[Any, Callable[..., Any]]:
    """By operator, for `TOSA` or `StableHLO`; empty for others."""
    return {"TOSA": _FOR_TOSA, "StableHLO": {aten.diagonal.default: _diagonal, **_FOR_BOTH}}.get(language, {})


def takes(node: torch.fx.Node) -> bool:
    """Whether a node of an operator of the table is taken apart; some `index_put` are lowered as they are."""
    if "index_put" not in str(node.target):
        return True
    indices: Any = node.args[1]
    return bool(_later(indices)) or _is_sum_at_first(indices, (*node.args[3:4], False)[0])
