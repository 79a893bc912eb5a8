"""Functions of libraries for a GPU (CUDA's libdevice, AMD's OCML) that TTIR calls by name, by NumPy and PyTorch.

Results may differ from a GPU's by rounding, as with TTIR's own functions. What is rounded in a direction, or is not in
this table, is not computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from irwidget.toolchain.ttir_program import Type

Function = Callable[..., Any]

_NUMPYS: dict[str, Function] = {
    **{name: getattr(np, name) for name in "cbrt ceil cos cosh exp exp2 expm1 floor fmod hypot".split()},
    **{name: getattr(np, name) for name in "copysign log log10 log1p log2 nextafter rint sin sinh".split()},
    **{name: getattr(np, name) for name in "sqrt tan tanh trunc isinf isnan signbit".split()},
    **{"a" + name: getattr(np, "arc" + name) for name in "cos cosh sin sinh tan tanh tan2".split()},
    "abs": np.abs,
    "fabs": np.abs,
    "finite": np.isfinite,
    "isfinite": np.isfinite,
    "nearbyint": np.rint,
    "pow": np.power,
    "round": lambda x: np.copysign(_half_away(np.abs(x)), x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "exp10": lambda x: np.power(np.asarray(10, dtype=x.dtype), x),
    "fdim": lambda x, y: np.where(np.isnan(x) | np.isnan(y), np.nan, np.fmax(x - y, 0)),
    "saturate": lambda x: np.fmin(np.fmax(x, 0), 1),
    "fdivide": np.divide,
    "ldexp": np.ldexp,
    "scalbn": np.ldexp,
    "powi": lambda x, n: np.power(x, n.astype(np.float64)),
    "pown": lambda x, n: np.power(x, n.astype(np.float64)),
    "remainder": lambda x, y: _ieee_remainder(x, y),
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
}
_TORCHS = {
    "erf": "erf",
    "erfc": "erfc",
    "erfcx": "special.erfcx",
    "erfinv": "erfinv",
    "lgamma": "lgamma",
    "normcdf": "special.ndtr",
    "normcdfinv": "special.ndtri",
    "j0": "special.bessel_j0",
    "j1": "special.bessel_j1",
    "y0": "special.bessel_y0",
    "y1": "special.bessel_y1",
    "i0": "special.i0",
    "i1": "special.i1",
    "cyl_bessel_i0": "special.i0",
    "cyl_bessel_i1": "special.i1",
}
"""Functions that NumPy does not have, by PyTorch's names."""
_INTEGERS: dict[str, Function] = {
    "popc": lambda x: np.bitwise_count(x.view(f"u{x.dtype.itemsize}")),
    "clz": lambda x: x.dtype.itemsize * 8 - _bit_length(x),
    "ffs": lambda x: np.where(x == 0, 0, _bit_length(x & -x)),
    "abs": np.abs,
    "llabs": np.abs,
}
_NVIDIA = re.compile(r"__nv_(?:fast_)?(\w+?)(f|d|_rn|ll)?")
_AMD = re.compile(r"__ocml_(\w+)_f(?:32|64)|__triton_hip_(?:fast_)?(\w+?)f?|__ockl_(\w+?)(?:ount)?_u(?:32|64)")
_ROUNDED = {f"{kind}{what}": what for kind in "fd" for what in ("add", "sub", "mul", "div", "sqrt", "rcp", "rsqrt")}
"""Arithmetic with a rounding of its own (`__nv_fadd_rn`), by its operation."""
_ARITHMETIC: dict[str, Function] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda x: 1 / x,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


def library_function(symbol: str, kinds: list[Type], made: Type) -> Function | None:
    """What computes a function, of arrays of the operands, which have these types; None where it is not known."""
    found = _found(symbol, all(kind.is_integer for kind in kinds))
    if found is None:
        return None
    wide = kinds[0].element == "f32" and "pow" in symbol

    def compute(*given: Any) -> Any:
        values = [one.astype(np.float64) if wide and one.dtype == np.float32 else one for one in given]
        return np.asarray(found(*values)).astype(made.dtype)

    return compute


def _found(symbol: str, of_integers: bool) -> Function | None:
    for name in _names(symbol):
        if of_integers:
            if name in _INTEGERS:
                return _INTEGERS[name]
        elif name in _NUMPYS:
            return _NUMPYS[name]
        elif name in _TORCHS:
            return _by_torch(_TORCHS[name])
        elif symbol.endswith("_rn") and name in _ROUNDED:
            return _ARITHMETIC[_ROUNDED[name]]
    return None


def _names(symbol: str) -> list[str]:
    """What a symbol may stand for: `__nv_erff` for `erff`, or `erf` of float32."""
    if symbol.startswith("__nv_"):
        match = _NVIDIA.fullmatch(symbol)
        plain = symbol.removeprefix("__nv_").removeprefix("fast_")
        return [] if match is None else [plain, match[1]]
    match = _AMD.fullmatch(symbol)
    return [] if match is None else [{"iabs": "abs", "llrint": ""}.get(one, one) for one in match.groups() if one]


def _by_torch(name: str) -> Function:
    def compute(*given: Any) -> Any:
        import torch

        found: Any = torch
        for part in name.split("."):
            found = getattr(found, part)
        return found(*(torch.from_numpy(np.array(one)) for one in given)).numpy()

    return compute


def _half_away(x: Any) -> Any:
    whole = np.floor(x)
    return whole + (x - whole >= 0.5)


def _ieee_remainder(x: Any, y: Any) -> Any:
    import math

    def one(a: float, b: float) -> float:
        return math.nan if math.isnan(a) or math.isnan(b) or math.isinf(a) or b == 0 else math.remainder(a, b)

    return np.vectorize(one, otypes=[np.float64])(x, y)


def _bit_length(x: Any) -> Any:
    """How many bits a number has up to its highest one, without a sign."""
    return np.vectorize(lambda one: int(one).bit_length(), otypes=[np.int32])(x.view(f"u{x.dtype.itemsize}"))
