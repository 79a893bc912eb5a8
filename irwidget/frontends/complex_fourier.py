"""Fourier transforms of complex numbers as pairs of real tensors: products with matrices of cosines and sines."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.frontends.complex_math import Pair, pair, scaled

LONGEST = 2048
"""The longest transform that is written as a product: its matrices have the square of that."""


def matrices(length: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of the turns `2 pi j k / length`: tensors of [length, length].

    What is zero is exactly that, as in PyTorch's transforms: of a number that is real, the angle is 0 or pi.
    """
    steps = torch.arange(length)
    places = steps[:, None] * steps[None, :] % length
    turns = places.to(torch.float64) * (2 * math.pi / length)
    cosine = turns.cos().masked_fill(4 * places % (2 * length) == length, 0.0)
    return cosine.to(dtype), turns.sin().masked_fill(2 * places % length == 0, 0.0).to(dtype)


Matrices = Callable[[int, torch.dtype], tuple[torch.Tensor, torch.Tensor]]


def _along(value: Any, dim: int, matrix: Any) -> Any:
    """A product with a matrix along a dimension."""
    last = value.dim() - 1
    if dim in (last, -1):
        return torch.matmul(value, matrix)
    return torch.matmul(value.transpose(dim, last), matrix).transpose(dim, last)


def _c2c_along(a: Pair, dim: int, forward: bool, of: Matrices) -> Pair:
    cosine, sine = of(a.re.shape[dim], a.re.dtype)
    real, imaginary = _along(a.re, dim, cosine), _along(a.im, dim, cosine)
    turned, other = _along(a.im, dim, sine), _along(a.re, dim, sine)
    if forward:
        return Pair(real + turned, imaginary - other)
    return Pair(real - turned, imaginary + other)


def _factor(norm: int, count: float) -> float:
    """PyTorch's numbers: 0 is not scaled, 1 by the root of the count of elements, 2 by the count."""
    return 1.0 if norm == 0 else 1 / math.sqrt(count) if norm == 1 else 1 / count


def fft_c2c(a: Any, dims: Sequence[int], norm: int, forward: bool, of: Matrices) -> Pair:
    """The transform of complex numbers along dimensions."""
    made, count = pair(a), 1
    for dim in dims:
        count *= made.re.shape[dim]
        made = _c2c_along(made, dim, forward, of)
    return scaled(made, _factor(norm, count))


def fft_r2c(x: Any, dims: Sequence[int], norm: int, onesided: bool, of: Matrices) -> Pair:
    """The transform of real numbers; one-sided is the first half of the last dimension, which says all."""
    *others, last = dims
    length = x.shape[last]
    cosine, sine = of(length, x.dtype)
    kept = length // 2 + 1 if onesided else length
    half = Pair(_along(x, last, cosine[:, :kept]), _along(x, last, -sine[:, :kept]))  # zeros stay positive
    count = length
    for dim in others:
        count *= x.shape[dim]
        half = _c2c_along(half, dim, True, of)
    return scaled(half, _factor(norm, count))


def fft_c2r(a: Any, dims: Sequence[int], norm: int, length: int, of: Matrices) -> Any:
    """The inverse of a one-sided transform: real numbers, `length` of them along the last dimension."""
    *others, last = dims
    made, count = pair(a), length
    for dim in others:
        count *= made.re.shape[dim]
        made = _c2c_along(made, dim, False, of)
    cosine, sine = of(length, made.re.dtype)
    kept = length // 2 + 1
    factor = _factor(norm, count)
    once = {0, length // 2} if length % 2 == 0 else {0}  # the others stand for two frequencies
    weights = torch.tensor([[factor if one in once else 2 * factor] for one in range(kept)], dtype=made.re.dtype)
    re, im = made.re.narrow(last, 0, kept), made.im.narrow(last, 0, kept)
    return _along(re, last, cosine[:kept] * weights) - _along(im, last, sine[:kept] * weights)
