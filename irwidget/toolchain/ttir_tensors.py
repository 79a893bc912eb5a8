"""What TTIR's operations on whole tensors compute, by NumPy: shapes, products, histograms."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from irwidget.toolchain.ttir_numbers import FOURS, Poison, rounded, unsigned
from irwidget.toolchain.ttir_program import NotRead, Operation, Type

Function = Callable[..., Any]


def on_tensors(op: Operation, poison: Poison) -> Function | None:
    """What computes an operation, of arrays of the operands; None where it is no such operation."""
    kind = op.made[0] if op.made else Type("i1")
    shape = kind.shape
    match op.name:
        case "tt.splat":
            return _splat(shape)
        case "tt.broadcast":
            return lambda x: np.broadcast_to(x, shape)
        case "tt.unsplat":
            return lambda x: x if x.size > 1 else x.reshape(-1)[0]  # of many elements at once, see `_splat`
        case "tt.expand_dims":
            where = (*(slice(None) for _ in range(number(op, "axis"))), None)
            return lambda x: _of_shape(x[where], shape)
        case "tt.reshape" if " allow_reorder" in op.text:
            return lambda x: poison.in_any_order(x, "tl.view or can_reorder, which keep no order of elements").reshape(
                shape
            )
        case "tt.reshape":
            return lambda x: x.reshape(shape)
        case "tt.trans":
            order = numbers(op, "order")
            return lambda x: np.transpose(x, order)
        case "tt.cat":
            return lambda x, y: poison.in_any_order(np.concatenate([x, y]), "tl.cat, which keeps no order of elements")
        case "tt.join":
            return lambda x, y: np.stack([x, y], axis=-1)
        case "tt.split":
            return lambda x: (x[..., 0], x[..., 1])
        case "tt.gather":
            axis = number(op, "axis")
            return lambda x, indices: _gathered(x, indices, axis, poison, kind)
        case "tt.make_range":
            made = np.arange(number(op, "start"), number(op, "end"), dtype=np.int32)
            return lambda: made
        case "tt.histogram":
            return lambda x, mask=None: _histogram(x, mask, kind, poison)
        case "tt.dot":
            short = re.search(r"inputPrecision = tf32\b", op.text) is not None
            return lambda x, y, z: _dot(x, y, z, kind, short)
        case "tt.dot_scaled":
            return _scaled(op)
        case _:
            return None


def _splat(shape: tuple[int, ...]) -> Function:
    """A tensor of one value.

    In a function of single elements, which is computed for many at once, the value is an array of as many: a tensor of
    one element is then that array, and one of several elements is not executed.
    """
    strides, single = (0,) * len(shape), math.prod(shape) == 1

    def splat(x: Any) -> Any:
        if x.ndim and x.size > 1:
            if not single:
                raise NotImplementedError("tt.splat to several elements, in a function that combines single ones")
            return x
        return np.ndarray(shape, x.dtype, np.asarray(x), 0, strides)  # np.broadcast_to takes ten times as long

    return splat


def _of_shape(value: Any, shape: tuple[int, ...]) -> Any:
    """A value that has the shape that its type says, as all have but in functions that combine single elements."""
    if value.shape != shape:
        raise NotImplementedError("a tensor with dims of one, in a function that combines single elements")
    return value


def number(op: Operation, name: str) -> int:
    """An attribute of an operation."""
    if match := re.search(rf"\b{name} = (-?\d+)", op.text):
        return int(match[1])
    raise NotRead(f"{op.name} has no {name}")


def numbers(op: Operation, name: str) -> list[int]:
    """An attribute that is a list."""
    if match := re.search(rf"\b{name} = array<i\d+: ([^>]*)>", op.text):
        return [int(one) for one in match[1].split(",")]
    raise NotRead(f"{op.name} has no {name}")


def _gathered(x: Any, indices: Any, axis: int, poison: Poison, kind: Type) -> Any:
    outside = (indices < 0) | (indices >= x.shape[axis])
    made = np.take_along_axis(x, np.where(outside, 0, indices).astype(np.int64), axis=axis)
    return poison.put(made, outside, "tl.gather from outside of a tensor", kind)


def _histogram(x: Any, mask: Any, kind: Type, poison: Poison) -> Any:
    (bins,) = kind.shape
    chosen = unsigned(x if mask is None else x[mask]).reshape(-1)
    outside = chosen >= bins
    made = np.bincount(chosen[~outside].astype(np.int64), minlength=bins).astype(kind.dtype)
    return poison.put(made, outside.any(), "tl.histogram of what lies in none of its bins", kind)


def _dot(x: Any, y: Any, z: Any, kind: Type, short: bool) -> Any:
    """A product; of `short` floats a GPU's tensor cores leave out the last 13 of 23 bits (TF32)."""
    if kind.is_integer:  # exact in float64: products have 16 bits
        return (np.matmul(x.astype(np.float64), y.astype(np.float64)).astype(np.int64) + z).astype(kind.dtype)
    wide = np.float64 if kind.element == "f64" else np.float32
    sides: list[Any] = [one.astype(wide) for one in (x, y)]
    if short and wide is np.float32:
        sides = [(one.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32) for one in sides]
    return rounded(np.matmul(*sides) + z.astype(wide), kind)


# --- products of narrow floats with scales ------------------------------------------------


def _scaled(op: Operation) -> Function:
    match = re.search(r"lhs = (\w+) rhs = (\w+)", op.text)
    if match is None:
        raise NotRead("tt.dot_scaled has no types")
    text = op.text.partition(" lhs = ")[0]
    here = re.fullmatch(r"\s*%[^ ,]+( scale %[^ ,]+)?, %[^ ,]+( scale %[^ ,]+)?, %\S+", text)
    if here is None:
        raise NotRead("the operands of tt.dot_scaled are not understood")
    with_scales = [one is not None for one in here.groups()]
    formats = match.groups()
    packed_along_k = ["lhs_k_pack = false" not in op.text, "rhs_k_pack = false" not in op.text]

    def compute(*given: Any) -> Any:
        *left, accumulator = given
        sides: list[Any] = []
        for side in (0, 1):
            values, scale = left.pop(0), left.pop(0) if with_scales[side] else None
            if formats[side] == "e2m1":
                along = -1 if side == 0 else -2
                values = _unpacked(values, along if packed_along_k[side] else -3 - along)
            values = np.asarray(values, dtype=np.float32)
            sides.append(values if scale is None else values * _spread(scale, values, side))
        return rounded(np.matmul(*sides) + accumulator, op.made[0])

    return compute


def _unpacked(bits: Any, axis: int) -> Any:
    """Two floats of 4 bits of each byte, along an axis."""
    bits = np.moveaxis(bits.view(np.uint8), axis, -1)
    pairs = np.stack([bits & 15, bits >> 4], axis=-1).reshape(*bits.shape[:-1], -1)
    return np.moveaxis(FOURS[pairs], -1, axis)


def _spread(scale: Any, values: Any, side: int) -> Any:
    """A factor for each element: scales are powers of two, or floats, for equal parts of the inner axis."""
    if scale.dtype == np.int8:
        exponents = scale.view(np.uint8).astype(np.int32)
        scale = np.where(exponents == 255, np.nan, np.ldexp(1.0, exponents - 127)).astype(np.float32)
    inner = values.shape[-1 if side == 0 else -2]
    scale = np.repeat(scale, inner // scale.shape[-1], axis=-1)
    return scale if side == 0 else np.swapaxes(scale, -1, -2)
