"""Functions of libraries for a GPU (CUDA's libdevice, AMD's OCML) that TTIR calls by name, by NumPy and PyTorch.

Results may differ from a GPU's by rounding, as with TTIR's own functions; those whose names say how they round are in
`ttir_rounding`. What is not in these tables is not computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from irwidget.toolchain.ttir_numbers import fused, high_product
from irwidget.toolchain.ttir_program import Type
from irwidget.toolchain.ttir_rounding import rounding_function, to_whole

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
    "norm3d": lambda x, y, z: np.hypot(np.hypot(x, y), z),
    "rnorm3d": lambda x, y, z: 1 / np.hypot(np.hypot(x, y), z),
    "erfcinv": lambda x: -_by_torch("special.ndtri")(x / 2.0) / np.sqrt(2.0),
    "sinpi": lambda x: _of_half_turns(x, 0),
    "cospi": lambda x: _of_half_turns(x, 1),
    "tgamma": lambda x: _gamma(x),
    "logb": lambda x: np.where(x == 0, -np.inf, np.where(np.isfinite(x), np.frexp(x)[1] - 1.0, np.abs(x))),
    "ilogb": lambda x: np.where(
        np.isfinite(x) & (x != 0), np.frexp(x)[1] - 1, np.where(np.isinf(x), 2**31 - 1, -(2**31))
    ),
    "llrint": lambda x: to_whole(np.rint(x), _LONG, False, x.dtype == np.float64),
    "llround": lambda x: to_whole(np.copysign(_half_away(np.abs(x)), x), _LONG, False, x.dtype == np.float64),
    "float_as_int": lambda x: x.view(np.int32),
    "float_as_uint": lambda x: x.view(np.int32),
    "double_as_longlong": lambda x: x.view(np.int64),
    "double2hiint": lambda x: x.view(np.int64) >> 32,
    "double2loint": lambda x: x.view(np.int64).astype(np.int32),
}
_LONG = Type("i64")
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
    "brev": lambda x: _backwards(x),
    "byte_perm": lambda x, y, how: _permuted(x, y, how),
    "mul24": lambda x, y: (x.astype(np.int64) << 40 >> 40) * (y.astype(np.int64) << 40 >> 40),
    "umul24": lambda x, y: (x & 0xFFFFFF).astype(np.int64) * (y & 0xFFFFFF),
    **dict.fromkeys(("umulhi", "umul64hi"), high_product),
    **dict.fromkeys(("mulhi", "mul64hi"), lambda x, y: high_product(x, y, with_sign=True)),
    "hadd": lambda x, y: (x.astype(np.int64) + y) >> 1,
    "rhadd": lambda x, y: (x.astype(np.int64) + y + 1) >> 1,
    "uhadd": lambda x, y: (_wide(x) + _wide(y)) >> 1,
    "urhadd": lambda x, y: (_wide(x) + _wide(y) + 1) >> 1,
    "sad": lambda x, y, z: np.abs(x.astype(np.int64) - y) + z,
    "usad": lambda x, y, z: np.abs(_wide(x) - _wide(y)) + z,
    "int_as_float": lambda x: x.view(np.float32),
    "uint_as_float": lambda x: x.view(np.float32),
    "longlong_as_double": lambda x: x.view(np.float64),
    "hiloint2double": lambda high, low: (high.astype(np.int64) << 32 | _wide(low)).view(np.float64),
}
_NVIDIA = re.compile(r"__nv_(?:fast_)?(\w+?)(f|d|_rn|ll)?")
_AMD = re.compile(r"__ocml_(\w+)_f(?:32|64)|__triton_hip_(?:fast_)?(\w+?)f?|__ockl_(\w+?)(?:ount)?_u(?:32|64)")


def library_function(symbol: str, kinds: list[Type], made: Type) -> Function | None:
    """What computes a function, of arrays of the operands, which have these types; None where it is not known."""
    found = _found(symbol, kinds)
    if found is None:
        return None
    wide = kinds[0].element == "f32" and "pow" in symbol

    def compute(*given: Any) -> Any:
        values = [one.astype(np.float64) if wide and one.dtype == np.float32 else one for one in given]
        return np.asarray(found(*values)).astype(made.dtype)

    return compute


def _found(symbol: str, kinds: list[Type]) -> Function | None:
    if found := rounding_function(symbol):
        return found
    for name in _names(symbol):
        if all(kind.is_integer for kind in kinds):
            if name in _INTEGERS:
                return _INTEGERS[name]
        elif name == "fma":
            return lambda x, y, z: fused(x, y, z, kinds[0])
        elif name in _NUMPYS:
            return _NUMPYS[name]
        elif name in _TORCHS:
            return _by_torch(_TORCHS[name])
    return None


def _names(symbol: str) -> list[str]:
    """What a symbol may stand for: `__nv_erff` for `erff`, or `erf` of float32."""
    if symbol.startswith("__nv_"):
        match = _NVIDIA.fullmatch(symbol)
        plain = symbol.removeprefix("__nv_").removeprefix("fast_")
        return [] if match is None else [plain, match[1]]
    match = _AMD.fullmatch(symbol)
    return [] if match is None else [{"iabs": "abs"}.get(one, one) for one in match.groups() if one]


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


def _wide(x: Any) -> Any:
    """int32 without its sign."""
    return x.astype(np.int64) & 0xFFFFFFFF


def _backwards(x: Any) -> Any:
    """The bits of each number, last one first."""
    return np.packbits(_bits(x)[..., ::-1], axis=-1).view(f">i{x.dtype.itemsize}")[..., 0]


def _bits(x: Any) -> Any:
    """The bits of each number along a last axis, the highest one first."""
    width = x.dtype.itemsize
    return np.unpackbits(np.asarray(x)[..., None].astype(f">i{width}").view(np.uint8), axis=-1)


def _permuted(x: Any, y: Any, how: Any) -> Any:
    """Four of the eight bytes of two numbers, each by three bits of a third (`__byte_perm`)."""
    both, made = _wide(x).astype(np.uint64) | _wide(y).astype(np.uint64) << np.uint64(32), np.uint64(0)
    for one in range(4):
        chosen = (_wide(how) >> (4 * one) & 7).astype(np.uint64)
        made = made | (both >> (np.uint64(8) * chosen) & np.uint64(0xFF)) << np.uint64(8 * one)
    return made


def _of_half_turns(x: Any, quarter: int) -> Any:
    """The sine of x half turns, or, a quarter turn further, the cosine: exact where it is 0 or 1."""
    x = np.asarray(x)
    wide = np.fmod(x.astype(np.float64), 2.0)  # exact, as is the rest
    near = np.rint(2 * wide)
    angle, turn = np.pi * (wide - near / 2), (np.nan_to_num(near) + quarter) % 4
    sine = np.where(turn % 2 == 0, np.sin(angle), np.cos(angle)) * np.where(turn >= 2, -1.0, 1.0)
    return np.where(sine == 0, 0.0 if quarter else np.copysign(0.0, x), sine)


def _gamma(x: Any) -> Any:
    import math

    def one(of: float) -> float:
        if of == 0:
            return math.copysign(math.inf, of)
        try:
            return math.gamma(of)
        except ValueError:  # at negative whole numbers
            return math.nan
        except OverflowError:
            return math.inf if of > 0 or math.floor(of) % 2 == 0 else -math.inf

    return np.vectorize(one, otypes=[np.float64])(x)
