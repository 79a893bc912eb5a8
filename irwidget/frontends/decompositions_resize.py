"""Images of another size, as eager PyTorch computes them: with antialiasing, and of bytes in fixed point."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from irwidget.frontends.decompositions_bytes import either, value_of, wide

aten: Any = torch.ops.aten


def _tent(of: Any, x: Any) -> Any:
    return (1 - of.abs(x)).clip(0)


def _cubic(a: float) -> Callable[[Any, Any], Any]:
    """Keys' kernel."""

    def made(of: Any, x: Any) -> Any:
        x = of.abs(x)
        inner, outer = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return of.where(x < 1, inner, of.where(x < 2, outer, 0 * x))

    return made


@dataclass(frozen=True)
class Filter:
    """What a place of the result is made of."""

    kernel: Callable[[Any, Any], Any]
    reach: int
    """Where the kernel becomes zero."""
    smooths: bool = False
    """Whether it is as wide as the step between two places of the result."""

    def weights(self, of: Any, size: int, count: int, corners: bool, scale: float | None) -> Any:
        """How much of each of `size` places is in each of `count`, as a matrix, computed by `of`: NumPy or PyTorch.

        They are float64, as in eager PyTorch.
        """
        step = 1 / scale if scale else size / count
        if corners:
            step = (size - 1) / (count - 1) if count > 1 else 0.0
        places = of.arange(size, dtype=of.float64)
        made = of.arange(count, dtype=of.float64)[:, None]
        return (self._smooth if self.smooths else self._sharp)(of, places, made, step, corners)

    def _smooth(self, of: Any, places: Any, made: Any, step: float, _: bool) -> Any:
        weights = self.kernel(of, (places - step * (made + 0.5) + 0.5) / max(step, 1.0))
        whole = weights.sum(1)[:, None]
        return weights / (whole + (whole == 0))  # what is out of the image is black

    def _sharp(self, of: Any, places: Any, made: Any, step: float, corners: bool) -> Any:
        last = places.shape[0] - 1
        source = step * made if corners else step * (made + 0.5) - 0.5
        near = of.floor(source).clip(None, last)
        beyond = (source - near).clip(None, 1)
        weights: Any = 0
        for tap in range(1 - self.reach, self.reach + 1):
            weights = weights + of.where(
                (near + tap).clip(0, last) == places, self.kernel(of, tap - beyond), 0 * places
            )
        return weights


def _bits(weights: Any) -> int:
    """How many bits are behind the point where the weights are integers of 16 bits."""
    bits = 0
    while bits < 22 and int(0.5 + weights.max() * 2 ** (bits + 1)) < 2**15:
        bits += 1
    return bits


def _along(x: Any, dim: int, chosen: Filter, count: int, *how: Any) -> Any:
    """One dimension of a tensor resized, whatever its scale; of bytes in fixed point, rounded and kept among them."""
    if x.shape[dim] == count:
        return x
    how = (x.shape[dim], count, *how)
    weights = chosen.weights(torch, *how)
    if x.dtype != torch.uint8:
        return _product(x, dim, weights.to(x.dtype))
    point = 2.0 ** _bits(chosen.weights(np, *how))
    weights = torch.floor(torch.abs(weights) * point + 0.5) * torch.sign(weights)
    rounded = torch.floor((_product(wide(x).to(torch.float64), dim, weights) + point / 2) / point)
    return rounded.clamp(0, 255).to(torch.int32).to(torch.uint8)


def _product(x: Any, dim: int, weights: Any) -> Any:
    return x @ weights.T if dim == -1 else weights @ x


def _resized(chosen: Filter, takes: Callable[..., bool]) -> Callable[..., Any]:
    """By columns, then by rows."""

    def made(x: Any, size: Any, corners: bool, *scales: Any) -> Any:
        if not takes(x, size, corners, *scales):
            return NotImplemented
        factors = scales[0] if scales and isinstance(scales[0], list | tuple) else (*scales, None, None)[:2]
        by_rows, by_columns = factors or (None, None)
        if size is None:
            size = [int(x.shape[-2] * by_rows), int(x.shape[-1] * by_columns)]
        x = _along(x, -1, chosen, size[1], corners, by_columns)
        return _along(x, -2, chosen, size[0], corners, by_rows).clone()

    return made


def _is_static(x: Any, size: Any, *_: Any, **__: Any) -> bool:
    return all(isinstance(one, int) for one in (*value_of(x).shape[-2:], *(size or ())))


def _is_of_bytes(x: Any, size: Any, *_: Any, **__: Any) -> bool:
    return value_of(x).dtype == torch.uint8 and _is_static(x, size)


def _table(takes: Callable[..., bool], **filters: Filter) -> dict[Any, Callable[..., Any]]:
    return {
        getattr(getattr(aten, name), overload): _resized(chosen, takes)
        for name, chosen in filters.items()
        for overload in ("default", "vec")
    }


_OF_BYTES = _table(_is_of_bytes, upsample_bilinear2d=Filter(_tent, 1), upsample_bicubic2d=Filter(_cubic(-0.75), 2))
TABLE = _table(
    _is_static,
    _upsample_bilinear2d_aa=Filter(_tent, 1, smooths=True),
    _upsample_bicubic2d_aa=Filter(_cubic(-0.5), 2, smooths=True),
)
"""By operator, what torch-mlir has no operation for."""
TAKES = dict.fromkeys(TABLE, _is_static)
"""Whether an operator of the table is taken apart for some arguments."""


def rounded(node: torch.fx.Node) -> Iterator[Any]:
    """The operators of bytes that a node was made of by PyTorch's decompositions, which round in another way."""
    if getattr(node.meta.get("val"), "dtype", None) == torch.uint8:
        written = {str(source.target) for source in node.meta.get("from_node") or ()}
        yield from (operator for operator in _OF_BYTES if str(operator) in written)


def of_bytes(before: Mapping[Any, Callable[..., Any]]) -> dict[Any, Callable[..., Any]]:
    """By operator of bytes; for what is none of these as in the table `before`."""
    return {name: either(made, before[name]) if name in before else made for name, made in _OF_BYTES.items()}
