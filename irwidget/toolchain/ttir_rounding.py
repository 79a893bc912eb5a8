"""Functions of CUDA's libdevice whose names say how they round: arithmetic, and numbers as those of another type.

What is nearest is computed by NumPy, and its difference from the exact result decides whether the neighbour is right:
float32 in float64 with its rounding error, float64 in fractions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from irwidget.toolchain.ttir_numbers import fused, signed, unsigned
from irwidget.toolchain.ttir_program import Type

Function = Callable[..., Any]

_NAME = re.compile(r"__nv_(?:([fd])(add|sub|mul|div|sqrt|rcp|rsqrt)|(fmaf?))_(r[nzud])")
_CONVERSION = re.compile(r"__nv_(float|double|u?int|u?ll)2(float|double|u?int|u?ll)_(r[nzud])")
_KINDS = {"float": "f32", "double": "f64", "int": "i32", "uint": "i32", "ll": "i64", "ull": "i64"}
_NEAREST: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}
_WHOLE: dict[str, Function] = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}


def rounding_function(symbol: str) -> Function | None:
    """What computes a function that rounds as its name says, of arrays of the operands; None for another."""
    if match := _NAME.fullmatch(symbol):
        kind, name, way = Type("f64" if match[1] == "d" or match[3] == "fma" else "f32"), match[2] or "fma", match[4]
        return None if name == "rsqrt" and way != "rn" else _arithmetic(name, kind, way)
    if match := _CONVERSION.fullmatch(symbol):
        given, made, way = match.groups()
        if _KINDS[made][0] == "i":
            return lambda x: to_whole(_WHOLE[way](x), Type(_KINDS[made]), made[0] == "u", given == "double")
        see = unsigned if given[0] == "u" else signed
        return lambda x: _converted(x if given == "double" else see(x), Type(_KINDS[made]), way)
    return None


def to_whole(whole: Any, kind: Type, without_sign: bool, of_double: bool) -> Any:
    """Whole floats as integers: the nearest that there is, and of NaN what PTX has (`cvt`)."""
    bits = kind.bits
    low, high = (0, 2**bits - 1) if without_sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    of_nan = 1 << (bits - 1) if of_double or bits == 64 else 0

    def one(x: Any) -> int:
        made = of_nan if math.isnan(x) else low if x <= low else high if x >= high else int(x)
        return made - (1 << bits) if made >= 1 << (bits - 1) else made

    return np.vectorize(one, otypes=[kind.dtype])(whole)


def _arithmetic(name: str, kind: Type, way: str) -> Function:
    def nearest(*given: Any) -> Any:
        made = fused(given[0], given[1], given[2], kind) if name == "fma" else _NEAREST[name](*given)
        return np.asarray(made).astype(kind.dtype)

    def compute(*given: Any) -> Any:
        near = nearest(*given)
        if way == "rn":
            return near
        error = _errors(name, given, near) if kind.element == "f32" else _exact_errors(name, given, near)
        made = _directed(near, error, way)
        return np.where(_cancels(name, given, near, error), np.array(-0.0, kind.dtype), made) if way == "rd" else made

    return compute


def _directed(near: Any, error: Any, way: str) -> Any:
    """What is nearest, or its neighbour, by the sign of what is exact without what is nearest."""
    down = error < 0 if way == "rd" else (error < 0) & (near > 0) if way == "rz" else np.zeros(near.shape, bool)
    up = error > 0 if way == "ru" else (error > 0) & (near < 0) if way == "rz" else np.zeros(near.shape, bool)
    end = np.array(np.inf, dtype=near.dtype)
    return np.where(down, np.nextafter(near, -end), np.where(up, np.nextafter(near, end), near))


def _cancels(name: str, given: Any, near: Any, error: Any) -> Any:
    """Where a sum is exactly zero of terms with different signs: downwards that is -0."""
    if name not in ("add", "sub", "fma"):
        return False
    *left, right = given
    one = np.signbit(left[0]) ^ (np.signbit(left[1]) if len(left) == 2 else False)
    return (near == 0) & (error == 0) & (one ^ np.signbit(right) ^ (name == "sub"))


def _errors(name: str, given: Any, near: Any) -> Any:
    """The sign of what is exact without what is nearest, for float32: 0 where there is nothing between them."""
    x, *more = (np.asarray(one, dtype=np.float64) for one in given)
    wide = near.astype(np.float64)
    if name in ("div", "rcp"):  # the remainder, which float64 has exactly
        divisor = more[0] if more else x
        left = (x if more else 1.0) - wide * divisor
        error = np.sign(left) * np.sign(divisor)
        return np.where(np.isinf(wide) & np.isfinite(x) & (divisor != 0), -np.sign(wide), _sign(error, divisor))
    if name == "sqrt":
        return _sign(x - wide * wide, x)
    product, addend = (x, more[0]) if name in ("add", "sub") else (x * more[0], more[1] if len(more) == 2 else 0.0)
    addend = -addend if name == "sub" else addend
    total = product + addend
    back = total - product
    lost = (product - (total - back)) + (addend - back)
    apart = total - wide
    return _sign(np.where(apart != 0, apart, lost), total)


def _sign(error: Any, *finite: Any) -> Any:
    """The sign of an error, none where something is not finite."""
    keep = ~np.isnan(error)
    for one in finite:
        keep = keep & np.isfinite(one)
    return np.where(keep, np.sign(error), 0)


def _exact_errors(name: str, given: Any, near: Any) -> Any:
    """As `_errors`, for float64."""

    def one(made: float, *parts: float) -> int:
        if not all(map(math.isfinite, parts)) or math.isnan(made):
            return 0
        if name in ("div", "rcp") and parts[-1] == 0:
            return 0
        if math.isinf(made):
            return -1 if made > 0 else 1
        exact, found = list(map(Fraction, parts)), Fraction(made)
        match name:
            case "add":
                left = exact[0] + exact[1] - found
            case "sub":
                left = exact[0] - exact[1] - found
            case "mul":
                left = exact[0] * exact[1] - found
            case "div":
                left = exact[0] / exact[1] - found
            case "rcp":
                left = 1 / exact[0] - found
            case "sqrt":
                left = exact[0] - found * found
            case _:
                left = exact[0] * exact[1] + exact[2] - found
        return (left > 0) - (left < 0)

    return np.vectorize(one, otypes=[np.int8])(near, *given)


def _converted(x: Any, kind: Type, way: str) -> Any:
    """Numbers as floats."""
    near = np.asarray(x).astype(kind.dtype)
    if way == "rn":
        return near

    def apart(exact: float, made: float) -> int:
        if not math.isfinite(exact):
            return 0
        if math.isinf(made):
            return -1 if made > 0 else 1
        left = Fraction(exact) - Fraction(made)
        return (left > 0) - (left < 0)

    return _directed(near, np.vectorize(apart, otypes=[np.int8])(x, near), way)
