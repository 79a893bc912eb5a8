"""Convolutions that torch-mlir's passes refuse, or make invalid IR of, in terms of those that they take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How
from irwidget.frontends.decompositions_narrow import single
from irwidget.frontends.decompositions_pads import padded

aten: Any = torch.ops.aten
_MOST_GROUPS = 31
"""Groups of a convolution in two dimensions that the conversion to TOSA takes."""
_MOST_TAPS = 64
"""Places of a kernel that are multiplied one by one."""

_Takes = Callable[..., bool]


def _in_linalg(
    x: Any, weight: Any, _: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, more: Any, groups: int
) -> bool:
    """Of one channel for each group: transposed, or in three dimensions."""
    shape = value_of(weight).shape
    return groups > 1 and shape[1] == 1 and shape[0] == groups and (transposed or len(shape) == 5)


def _in_tosa(
    x: Any, weight: Any, _: Any, stride: Any, padding: Any, dilation: Sequence[int], transposed: bool, more: Any,
    groups: int,
) -> bool:  # fmt: skip
    """Transposed in groups or spread out; in groups of three dimensions, or in many."""
    shape = value_of(weight).shape
    if transposed:
        return groups > 1 or any(one != 1 for one in dilation)
    return groups > 1 and (len(shape) == 5 or (groups > _MOST_GROUPS and shape[1] > 1))


def _in_stablehlo(
    x: Any, weight: Any, _: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, more: Sequence[int],
    groups: int,
) -> bool:  # fmt: skip
    """Transposed with more elements behind one dimension than another, which are then swapped."""
    return transposed and len({*more}) > 1


def _convolution(takes: _Takes) -> Callable[..., Any]:
    def made(
        x: Any,
        weight: Any,
        bias: Any,
        stride: Any,
        padding: Any,
        dilation: Any,
        transposed: bool,
        more: Any,
        groups: int,
    ) -> Any:
        if not takes(x, weight, bias, stride, padding, dilation, transposed, more, groups):
            return NotImplemented
        if transposed:
            return _turned(x, weight, bias, stride, padding, dilation, more, groups)
        if weight.shape[1] == 1 and math.prod(weight.shape[2:]) <= _MOST_TAPS:
            return _summed(single(x), single(weight), bias, stride, padding, dilation).to(x.dtype)
        biases = [None] * groups if bias is None else bias.chunk(groups)
        rest = (stride, padding, dilation, False, more, 1)
        parts = zip(x.chunk(groups, 1), weight.chunk(groups), biases, strict=True)
        return torch.cat([aten.convolution.default(*part, *rest) for part in parts], 1)

    return made


def _turned(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, more: Any, groups: int) -> Any:
    """A transposed one: that of the elements with zeros between them, by the kernel turned round."""
    rank = weight.dim() - 2
    for dim, step, before, kernel, spread, behind in zip(
        range(2, rank + 2), stride, padding, weight.shape[2:], dilation, more, strict=True
    ):
        x = _apart(x, dim, step)
        reach = spread * (kernel - 1) - before
        x = _beside(x, dim, reach, reach + behind)
    rows, columns, *kernel = weight.shape
    turned = weight.reshape(groups, rows // groups, columns, *kernel).transpose(1, 2)
    turned = turned.reshape(groups * columns, rows // groups, *kernel).flip(list(range(2, rank + 2)))
    none = [0] * rank
    return aten.convolution.default(x, turned, bias, [1] * rank, none, dilation, False, none, groups)


def _apart(x: Any, dim: int, step: int) -> Any:
    """With zeros between the elements of a dimension, so that they are a step apart."""
    if step == 1:
        return x
    near = x.unsqueeze(dim + 1)
    shape = list(near.shape)
    shape[dim + 1] = step - 1
    spread = torch.cat([near, near.new_zeros(shape)], dim + 1).flatten(dim, dim + 1)
    return spread.narrow(dim, 0, spread.shape[dim] - (step - 1))


def _beside(x: Any, dim: int, before: int, behind: int) -> Any:
    """With so many zeros before and behind a dimension; without as many elements where that is negative."""
    return padded(x, [0, 0] * (x.dim() - 1 - dim) + [before, behind])


def _summed(x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Of one channel for each group: for each place of the kernel a product, and their sum."""
    kernel = weight.shape[2:]
    for dim, pad in enumerate(padding, 2):
        x = _beside(x, dim, pad, pad)
    if weight.shape[0] != x.shape[1]:
        x = x.repeat_interleave(weight.shape[0] // x.shape[1], 1)
    counts = [
        (size - spread * (taps - 1) - 1) // step + 1
        for size, taps, step, spread in zip(x.shape[2:], kernel, stride, dilation, strict=True)
    ]
    made = None
    for place in itertools.product(*map(range, kernel)):
        seen = x
        for dim, (at, spread, count, step) in enumerate(zip(place, dilation, counts, stride, strict=True), 2):
            start = at * spread
            seen = aten.slice.Tensor(seen, dim, start, start + (count - 1) * step + 1, step)
        tap = weight[(slice(None), 0, *place)]
        product = seen * tap.reshape(1, -1, *[1] * len(kernel))
        made = product if made is None else made + product
    return made if bias is None else made + bias.reshape(1, -1, *[1] * len(kernel))


IN_LINALG: dict[Any, How] = {aten.convolution.default: (_in_linalg, _convolution(_in_linalg))}
IN_TOSA: dict[Any, How] = {aten.convolution.default: (_in_tosa, _convolution(_in_tosa))}
IN_STABLEHLO: dict[Any, How] = {aten.convolution.default: (_in_stablehlo, _convolution(_in_stablehlo))}
