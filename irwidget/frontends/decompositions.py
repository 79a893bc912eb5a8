"""Operators in terms of others, for programs that torch-mlir's passes refuse: its own table and PyTorch's lack them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch_mlir
from irwidget.frontends import (
    decompositions_bytes,
    decompositions_folded,
    decompositions_integers,
    decompositions_masks,
    decompositions_mixed,
    decompositions_narrow,
    decompositions_order,
    decompositions_places,
    decompositions_pools,
    decompositions_resize,
    decompositions_wrong,
)
from irwidget.frontends.decompositions_bytes import either, held, value_of, wide
from irwidget.frontends.decompositions_kinds import alike, as_row, is_single
from irwidget.frontends.erfc import erfc
from irwidget.frontends.refusing import nodes_of
from irwidget.private_torch import get_decompositions

if TYPE_CHECKING:
    from torch.export import ExportedProgram

aten: Any = torch.ops.aten
prims: Any = torch.ops.prims
_SUM, _MEAN, _MAX = 0, 1, 2
_DIVISION = aten.div.Tensor_mode
_INDEX_PUTS = (aten.index_put.default, aten._unsafe_index_put.default)


def _embedding_bag(
    weight: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: torch.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows looked up, and those of each bag chosen by a mask."""
    starts = offsets[:-1] if include_last_offset else offsets
    place = torch.arange(indices.shape[0], device=indices.device, dtype=offsets.dtype)
    bag = (place[:, None] >= starts[None, :]).to(indices.dtype).sum(1) - 1  # of each index
    bags = torch.arange(starts.shape[0], device=indices.device, dtype=indices.dtype)
    chosen = bag[None, :] == bags[:, None]
    if padding_idx >= 0:
        chosen = chosen & (indices != padding_idx)[None, :]
    rows = torch.nn.functional.embedding(indices, weight)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    count = chosen.to(indices.dtype).sum(1)
    spread = rows[None, :, :]
    if mode == _MAX:
        largest = torch.where(chosen[:, :, None], spread, torch.full_like(spread, -float("inf"))).amax(1)
        made = torch.where((count == 0)[:, None], torch.zeros_like(largest), largest)
    else:
        made = torch.where(chosen[:, :, None], spread, torch.zeros_like(spread)).sum(1)
        if mode == _MEAN:
            made = made / count.clamp(min=1)[:, None].to(made.dtype)
    return made, bag, count, torch.zeros_like(count)


def _quantize(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: torch.dtype) -> Any:
    made = (torch.round(x * (1.0 / scale)) + zero).clamp(low, high)
    if dtype == torch.uint8:  # a float becomes 127 at most where TOSA casts it to a byte
        made = made.to(torch.int32) & 255
    return made.to(dtype)


def _quantize_per_tensor(x: Any, scale: Any, zero: Any, low: int, high: int, dtype: torch.dtype) -> Any:
    return _quantize(x, scale, zero, low, high, dtype)


def _dequantize_per_tensor(
    x: Any, scale: Any, zero: Any, low: int, high: int, dtype: torch.dtype, *, out_dtype: torch.dtype | None = None
) -> Any:
    return (wide(x).to(out_dtype or torch.float32) - zero) * scale


def _along(value: Any, x: Any, axis: int) -> Any:
    shape = [1] * x.dim()
    shape[axis] = -1
    return value.reshape(shape)


def _quantize_per_channel(x: Any, scales: Any, zeros: Any, axis: int, low: int, high: int, dtype: torch.dtype) -> Any:
    return _quantize(x, _along(scales, x, axis).to(x.dtype), _along(zeros, x, axis).to(x.dtype), low, high, dtype)


def _dequantize_per_channel(
    x: Any,
    scales: Any,
    zeros: Any,
    axis: int,
    low: int,
    high: int,
    dtype: torch.dtype,
    *,
    out_dtype: torch.dtype | None = None,
) -> Any:
    kind = out_dtype or torch.float32
    offset = 0 if zeros is None else _along(zeros, x, axis).to(kind)
    return (wide(x).to(kind) - offset) * _along(scales, x, axis).to(kind)


def _index_put(x: Any, indices: list[Any], values: Any, accumulate: bool = False) -> Any:
    """By indices of int64: torch-mlir's list has one type, which is that of the dimensions without an index.

    And of one dimension where they have none, and in front where they are apart, which torch-mlir's passes refuse.
    """
    if not _puts_at_places(indices):
        return NotImplemented
    dims = [dim for dim, one in enumerate(indices) if one is not None]
    apart = _are_apart(indices)
    if _is_one_place(indices):
        values = values.expand([size for dim, size in enumerate(x.shape) if dim not in dims])
        values = values.unsqueeze(0 if apart else dims[0])
        indices = [one if one is None else one.reshape(1) for one in indices]
    if not apart:
        return aten.index_put.default(x, _wide(indices), values, accumulate)
    front, given = [*range(len(dims))], [indices[dim] for dim in dims]
    return aten.index_put.default(x.movedim(dims, front), _wide(given), values, accumulate).movedim(front, dims)


def _index(x: Any, indices: list[Any]) -> Any:
    """The same."""
    return aten.index.Tensor(x, _wide(indices)) if _has_narrow(indices) else NotImplemented


def _wide(indices: list[Any]) -> list[Any]:
    return [one.to(torch.int64) if _is_narrow(one) else one for one in indices]


def _puts_elsewhere(x: Any, indices: Any, *how: Any, **named: Any) -> bool:
    return _puts_at_places(indices) or decompositions_masks.puts(x, indices, *how, **named)


def _puts_at_places(indices: list[Any]) -> bool:
    return _has_narrow(indices) or _is_one_place(indices) or _are_apart(indices)


def _are_apart(indices: list[Any]) -> bool:
    """Whether there is a dimension without an index between those with indices that are no masks."""
    values = [None if one is None else value_of(one) for one in indices]
    dims = [dim for dim, one in enumerate(values) if one is not None]
    return dims[-1] - dims[0] >= len(dims) and all(one is None or one.dtype != torch.bool for one in values)


def _is_narrow(index: Any) -> bool:
    value = value_of(index)
    return isinstance(value, torch.Tensor) and value.dtype == torch.int32


def _is_one_place(indices: list[Any]) -> bool:
    """Whether the indices are integers of no dimensions."""
    values = [value_of(one) for one in indices if one is not None]
    return bool(values) and all(one.dim() == 0 and one.dtype != torch.bool for one in values)


def _has_narrow(indices: list[Any]) -> bool:
    return any(map(_is_narrow, indices))


def _reads_elsewhere(x: Any, indices: Any) -> bool:
    return _has_narrow(indices) or decompositions_masks.follows(x, indices)


def _roll(x: Any, shifts: Any, dims: Any = ()) -> Any:
    """Two parts of a dimension in the other order; torch-mlir's own asks the sizes of parts, which TOSA cannot say."""
    if not dims:
        return _roll(x.reshape(-1), shifts, [0]).reshape(x.shape)
    for shift, dim in zip(_listed(shifts), _listed(dims), strict=True):
        length = x.shape[dim]
        if not isinstance(length, int):
            return NotImplemented
        first = length - shift % length if length else 0
        if first % max(length, 1):
            x = torch.cat([x.narrow(dim, first, length - first), x.narrow(dim, 0, first)], dim)
    return x.clone()


def _unfold(x: Any, dim: int, size: int, step: int) -> Any:
    """Windows gathered; of torch-mlir's own, StableHLO is left with a number."""
    if not x.dim():
        return x.reshape(1).clone() if size else torch.zeros_like(x.reshape(1)[:0])
    if not isinstance(x.shape[dim], int):
        return NotImplemented
    dim %= x.dim()
    count = (x.shape[dim] - size) // step + 1
    places = torch.arange(count, device=x.device)[:, None] * step + torch.arange(size, device=x.device)
    rows = x.index_select(dim, places.reshape(-1))
    return rows.reshape(*x.shape[:dim], count, size, *x.shape[dim + 1 :]).movedim(dim + 1, -1)


def _with_tensor(operator: Any) -> Callable[..., Any]:
    """An operator of a tensor and a number as one of two tensors."""
    return lambda x, number: operator(*alike(x, number))


def _of_number(operator: Any) -> Callable[..., Any]:
    """An operator of a number and a tensor as one of two tensors."""
    return lambda number, x, **how: (
        NotImplemented if isinstance(number, torch.Tensor) else operator(*alike(number, x), **how)
    )


def _begins_with_number(x: Any, *_: Any, **__: Any) -> bool:
    return not isinstance(value_of(x), torch.Tensor)


def _fmod(x: Any, number: Any) -> Any:
    """By a number: torch-mlir has an operation, and no form of it below."""
    kind = torch.result_type(x, number)
    x = wide(x.to(kind))
    return aten.fmod.Tensor(x, torch.full_like(x, held(number, kind))).to(kind)


def _diagonal_scatter(x: Any, values: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """A mask of the diagonal, and every value along the other dimension."""
    rows, columns = x.shape[dim1], x.shape[dim2]
    if not isinstance(rows, int) or not isinstance(columns, int):
        return NotImplemented
    row, column = torch.arange(rows, device=x.device), torch.arange(columns, device=x.device)
    place = (row if offset >= 0 else column).clamp(max=max(values.shape[-1] - 1, 0))
    spread = values.index_select(-1, place).unsqueeze(-1 if offset >= 0 else -2)
    on_it = column[None] - row[:, None] == offset
    return torch.where(on_it, spread, x.movedim((dim1, dim2), (-2, -1))).movedim((-2, -1), (dim1, dim2)).clone()


def hypot(x: Any, y: Any) -> Any:
    """The length of a vector, without an overflow of its square."""
    x, y = torch.abs(x), torch.abs(y)
    most = torch.maximum(x, y)
    ratio = torch.minimum(x, y) / most
    made = most * torch.sqrt(1 + ratio * ratio)
    made = torch.where((most == 0) | torch.isnan(x + y), x + y, made)
    return torch.where((x == math.inf) | (y == math.inf), torch.full_like(x, math.inf), made)


def _distances(x: Any, y: Any, p: float, compute_mode: Any = None) -> Any:
    """Between every row of one and every row of the other."""
    apart = torch.abs(x[..., :, None, :] - y[..., None, :, :])
    if p == 0:
        return (apart != 0).to(x.dtype).sum(-1)
    if p == math.inf:
        return apart.amax(-1)
    if p == 1:
        return apart.sum(-1)
    return torch.sqrt((apart * apart).sum(-1)) if p == 2 else (apart**p).sum(-1) ** (1 / p)


def _sum_of_products(x: Any, left: Any, right: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    made = torch.bmm(left, right).sum(0, dtype=x.dtype)
    return (
        aten.add.Tensor(x * beta, made, alpha=alpha) if x.dtype.is_floating_point else x * int(beta) + made * int(alpha)
    )


def _only_nonzero(x: Any) -> Any:
    """Of one number: a row without places, or none."""
    return NotImplemented if x.dim() else aten.nonzero.default(x.reshape(1))[:, :0]


def _is_finite(x: Any) -> Any:
    return torch.abs(x) < math.inf if x.dtype.is_floating_point else torch.ones_like(x, dtype=torch.bool)


def _angle(x: Any) -> Any:
    """Of real numbers: half a turn for negative ones."""
    if x.dtype.is_complex:
        return NotImplemented
    kind = x.dtype if x.dtype.is_floating_point else torch.get_default_dtype()
    made = torch.where(x < 0, torch.full_like(x, math.pi, dtype=kind), torch.zeros_like(x, dtype=kind))
    return torch.where(torch.isnan(x), x, made) if x.dtype.is_floating_point else made


def _normal(mean: Any, deviation: Any, generator: Any = None) -> Any:
    shaped = mean if isinstance(mean, torch.Tensor) else deviation
    return mean + deviation * torch.randn_like(shaped + 0 * deviation)


def _norm(x: Any, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    """Of vectors or of matrices; torch-mlir keeps the operator whole."""
    rank = x.dim() if dim is None else len(_listed(dim))
    if ord is None or (rank == 1 and not isinstance(ord, str)):
        return torch.linalg.vector_norm(x, 2 if ord is None else ord, dim, keepdim, dtype=dtype)
    return torch.linalg.matrix_norm(x, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)


def _any(x: Any, dims: Any = None, keepdim: bool = False) -> Any:
    """Along dimensions one after the other: TOSA has no more at once, and an empty list is none of them."""
    dims = list(range(x.dim())) if dims is None else list(dims)
    found = x.bool()
    for dim in dims:
        found = found.any(dim, keepdim=True)
    kind = torch.uint8 if x.dtype == torch.uint8 else torch.bool
    return (found if keepdim else found.squeeze(dims)).to(kind)


def _has_gradients(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> bool:
    """Whether a look-up says how its gradients are, of which StableHLO's form has nothing."""
    return scale_grad_by_freq or sparse


def _look_up(weight: Any, indices: Any, *how: Any, **named: Any) -> Any:
    return aten.embedding.default(weight, indices) if _has_gradients(weight, indices, *how, **named) else NotImplemented


def _extreme(operator: Any) -> Callable[..., Any]:
    """The number of two where one is NaN; torch-mlir's own does not broadcast."""

    def made(x: Any, y: Any) -> Any:
        if not torch.result_type(x, y).is_floating_point:
            return operator(x, y)
        return torch.where(torch.isnan(x), y, torch.where(torch.isnan(y), x, operator(x, y)))

    return made


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, int) else value


_OF_PYTORCH = (
    *(aten.addmv, aten._addmm_activation, aten.dist, aten.norm, aten.narrow_copy, aten.all.dims),
    *(aten.upsample_bicubic2d, aten.upsample_trilinear3d),
    *(aten._batch_norm_with_update_functional, aten._batch_norm_no_update),
    *(aten.permute_copy, aten.unbind_copy, aten.view_copy.default),
    *(aten.cauchy, aten.geometric, aten.log_normal),
)
"""What PyTorch itself has a decomposition of in operators that torch-mlir takes, and torch-mlir's table has not."""


_OF_NUMBERS = "remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift".split()
_TABLE: dict[Any, Callable[..., Any]] = {
    aten._embedding_bag.default: _embedding_bag,
    aten._embedding_bag_forward_only.default: _embedding_bag,
    aten._neg_view.default: torch.neg,
    aten.roll.default: _roll,
    aten.unfold.default: _unfold,
    aten.erfc.default: decompositions_narrow.in_single(erfc),
    aten.hypot.default: hypot,
    aten._cdist_forward.default: _distances,
    aten.addbmm.default: _sum_of_products,
    aten.fmod.Scalar: _fmod,
    **{getattr(aten, name).Scalar_Tensor: _of_number(getattr(aten, name).Tensor) for name in _OF_NUMBERS},
    prims.scalar_tensor.default: lambda number, **how: torch.full((), number, **how),
    aten.diagonal_scatter.default: _diagonal_scatter,
    aten.nonzero.default: _only_nonzero,
    **dict.fromkeys((aten.linalg_norm.default, aten.linalg_norm.ord_str), _norm),
    aten.isfinite.default: _is_finite,
    aten.any.dims: _any,
    aten.embedding.default: _look_up,
    aten.angle.default: _angle,
    **dict.fromkeys((aten.normal.Tensor_Tensor, aten.normal.Tensor_float, aten.normal.float_Tensor), _normal),
    aten.fmax.default: _extreme(torch.maximum),
    aten.fmin.default: _extreme(torch.minimum),
    aten.copysign.Tensor: decompositions_narrow.in_single(decompositions_narrow.copysign),
    aten.copysign.Scalar: _with_tensor(aten.copysign.Tensor),
    aten.signbit.default: decompositions_narrow.is_negative,
    aten.empty_strided.default: lambda size, _, **how: torch.empty(size, **how),
    aten.new_empty_strided.default: lambda x, size, _, **how: x.new_empty(size, **how),
    aten.bitwise_or.Scalar: _with_tensor(aten.bitwise_or.Tensor),
    aten.bitwise_xor.Scalar: _with_tensor(aten.bitwise_xor.Tensor),
    **decompositions_bytes.TABLE,
    **decompositions_integers.TABLE,
    **decompositions_order.TABLE,
    **decompositions_places.TABLE,
    **decompositions_pools.TABLE,
    **decompositions_resize.TABLE,
    **get_decompositions(_OF_PYTORCH),
    aten.index.Tensor: either(decompositions_masks.open_index, _index),
    **dict.fromkeys(_INDEX_PUTS, either(_index_put, decompositions_masks.own_put)),
    _DIVISION: either(decompositions_bytes.TABLE[_DIVISION], _of_number(_DIVISION)),
}


_ROWS: dict[Any, Callable[..., Any]] = {
    operator: as_row(operator)
    for operator in (
        *(aten.amax.default, aten.amin.default, aten.argmax.default, aten.argmin.default, aten.any.dim, aten.all.dim),
        *(aten.sum.dim_IntList, aten.mean.dim, aten.prod.dim_int, aten.cumsum.default, aten.cumprod.default),
        *(aten.var.correction, aten.var_mean.correction, aten.linalg_vector_norm.default, aten.max.dim, aten.min.dim),
        aten.kthvalue.default,
    )
}
"""Along a dimension of a single number, which torch-mlir's passes refuse, or crash on."""


def _of_libraries() -> dict[Any, Callable[..., Any]]:
    """By operator; they are there once a quantiser, or a mixture of experts of transformers, has been imported."""
    table: dict[Any, Callable[..., Any]] = {}
    quantised: Any = torch.ops.quantized_decomposed
    for library, name, function in (
        (quantised, "quantize_per_tensor", _quantize_per_tensor),
        (quantised, "dequantize_per_tensor", _dequantize_per_tensor),
        (quantised, "quantize_per_channel", _quantize_per_channel),
        (quantised, "dequantize_per_channel", _dequantize_per_channel),
        (torch.ops.transformers, "grouped_mm_fallback", decompositions_order.grouped_mm),
    ):
        packet = getattr(library, name, None)
        if packet is not None:
            table.update(
                {getattr(packet, overload): function for overload in packet.overloads() if "out" not in overload}
            )
    return table


_SOMETIMES: dict[Any, Callable[..., bool]] = {
    aten.index.Tensor: _reads_elsewhere,
    **dict.fromkeys(_INDEX_PUTS, _puts_elsewhere),
    aten.nonzero.default: is_single,
    aten.embedding.default: _has_gradients,
    **decompositions_bytes.TAKES,
    **decompositions_integers.TAKES,
    **decompositions_order.TAKES,
    **decompositions_places.TAKES,
    **decompositions_pools.TAKES,
    **decompositions_resize.TAKES,
    _DIVISION: lambda x, y, **how: _begins_with_number(x) or decompositions_bytes.TAKES[_DIVISION](x, y, **how),
}
"""Operators that are taken apart for some arguments only, and whether they are for these."""


@dataclass(frozen=True)
class Chosen:
    """The operators of a program that are taken apart."""

    refused: tuple[Any, ...]
    """Those that torch-mlir's passes may refuse."""
    wrong: tuple[Any, ...]
    """Those that torch-mlir lowers to something else."""
    table: Mapping[Any, Callable[..., Any]]
    """What they become, by operator; what is in that may be in it, too."""


def of(program: ExportedProgram, language: str) -> Chosen:
    """What of a program is taken apart; `language`, `TOSA` or `StableHLO`, has fewer operators itself."""
    nodes = nodes_of(program)
    narrow, table = decompositions_narrow.table(language), _whole(language, len(_of_libraries()))
    takes = {**dict.fromkeys({**_TABLE, **_of_libraries()}, _always), **_SOMETIMES}
    refused = {node.target for node in nodes if takes.get(node.target, _never)(*node.args, **node.kwargs)}
    refused |= {node.target for node in nodes if node.target in _ROWS and is_single(*node.args)}
    refused |= {node.target for node in nodes if node.target in narrow and decompositions_narrow.takes(node)}
    wrong = {node.target for node in nodes if decompositions_wrong.takes(node, language)}
    wrong |= {operator for node in nodes for operator in decompositions_resize.rounded(node)}
    wrong |= decompositions_folded.operators(program)
    placed = decompositions_pools.placed(nodes, language)
    refused |= set(placed)
    table = {**table, **{one: decompositions_bytes.either(made, table[one]) for one, made in placed.items()}}
    mixed = decompositions_mixed.operators(nodes, language)
    wrong |= mixed
    table = {**table, **{one: decompositions_mixed.in_one(one, table.get(one)) for one in mixed}}
    first, second = (tuple(one for one in table if one in chosen) for chosen in (refused - wrong, wrong))
    return Chosen(first, second, table)


def _always(*_: Any, **__: Any) -> bool:
    return True


def _never(*_: Any, **__: Any) -> bool:
    return False


@functools.cache
def _whole(language: str, _: int) -> dict[Any, Callable[..., Any]]:
    """All tables; of what is in several, the first that takes the arguments. Made once for as many quantised ones."""
    table = decompositions_wrong.table(language)
    for more in (_ROWS, {**_TABLE, **_of_libraries()}, decompositions_narrow.table(language)):
        both = {name: either(table[name], function) for name, function in more.items() if name in table}
        table = {**table, **more, **both}
    return {**table, **decompositions_resize.of_bytes({**private_torch_mlir.decompositions(), **table})}
