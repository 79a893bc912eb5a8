"""What TTIR's operations on single elements compute, by NumPy: as `arith` and `math` define it, not as Python does.

Integers have no sign of their own; they are kept as NumPy's signed ones. Floats that NumPy does not have (bfloat16,
of 8 bits) are kept as float32 that hold their values, and results are rounded to them. What a definition leaves open
(an element divided by zero, shifted by its width or more, out of the range of an integer) is noted as poison.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from irwidget.toolchain.ttir_program import NotRead, Operation, Type

Function = Callable[..., Any]


class Poison:
    """Elements that have no defined value: they are given one of two, and it is noted that there were any."""

    def __init__(self, other: bool = False) -> None:
        self.other = other
        """Which of the two."""
        self.met: dict[str, None] = {}
        """What they came of."""

    def put(self, values: Any, where: Any, cause: str, kind: Type) -> Any:
        """Values, those elsewhere replaced."""
        if not np.any(where):
            return values
        self.met[cause] = None
        return np.where(where, self.value(kind), values)

    def value(self, kind: Type) -> Any:
        """A scalar without a defined value."""
        return np.array(7 if self.other else 0).astype(kind.dtype)

    def in_any_order(self, values: Any, cause: str) -> Any:
        """Values whose order is not defined: as they are, or the last one first, so that sums round alike."""
        if values.size > 1 and np.any(values != values.reshape(-1)[0]):
            self.met[cause] = None
        return np.flip(values) if self.other else values


# --- floats -------------------------------------------------------------------------------

_TORCHS = {
    "bf16": "bfloat16",
    "f8E5M2": "float8_e5m2",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E5M2FNUZ": "float8_e5m2fnuz",
}
"""Floats that NumPy does not have, by PyTorch's names."""
_WITHOUT_SIGN = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0], dtype=np.float32)
FOURS = np.concatenate([_WITHOUT_SIGN, -_WITHOUT_SIGN])
"""The values of floats of 4 bits (e2m1), by their bits."""


def is_foreign(kind: Type) -> bool:
    """Whether NumPy does not have elements of a type."""
    return kind.is_float and kind.element not in ("f16", "f32", "f64")


def from_bits(bits: Any, kind: Type) -> Any:
    """Elements as they are computed with, of their bits."""
    if kind.element == "i1":
        return np.asarray(bits).astype(np.uint8) & 1 != 0
    if not is_foreign(kind):
        return np.asarray(bits).view(kind.dtype)
    if kind.element == "bf16":
        return (np.asarray(bits).astype(np.uint32) << 16).view(np.float32)
    return _eights(_torchs(kind))[np.asarray(bits).view(np.uint8)]


def to_four(values: Any) -> Any:
    """The bits of the nearest floats of 4 bits, of the even one of two; 6 for all that is more, and for NaN."""
    size, between = np.abs(values), (_WITHOUT_SIGN[1:] + _WITHOUT_SIGN[:-1]) / 2
    below, up_to = (np.searchsorted(between, size, side=side) for side in ("left", "right"))
    nearest = np.where(below % 2 == 0, below, up_to)
    return np.where(np.isnan(values), 7, nearest | np.signbit(values) << 3)


def to_bits(values: Any, kind: Type) -> Any:
    """The bits of elements, as unsigned integers."""
    values = np.asarray(values)
    if kind.element == "i1":
        return values.astype(np.uint8)
    if not is_foreign(kind):
        return values.view(kind.bits_dtype)
    if kind.element == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    import torch

    given: Any = torch.from_numpy(np.array(values, dtype=np.float32)).to(getattr(torch, _torchs(kind)))
    return given.view(torch.uint8).numpy()


@functools.cache
def _eights(name: str) -> Any:
    """The values of all floats of 8 bits."""
    import torch

    every: Any = torch.arange(256, dtype=torch.uint8)
    return every.view(getattr(torch, name)).float().numpy()


def _torchs(kind: Type) -> str:
    if kind.element not in _TORCHS:
        raise NotImplementedError(f"{kind.element} is not computed with")
    return _TORCHS[kind.element]


def _to_odd(values: Any) -> Any:
    """float64 as float32, so that rounding once more, to fewer bits, is as if it were the first time."""
    wide = np.asarray(values, dtype=np.float64)
    near = wide.astype(np.float32)
    bits = near.view(np.int32)
    inexact = (near.astype(np.float64) != wide) & np.isfinite(wide)
    above = inexact & (np.abs(near.astype(np.float64)) > np.abs(wide))
    return np.where(inexact, (bits - above) | 1, bits).astype(np.int32).view(np.float32)


def _bfloat16(values: Any) -> Any:
    """float32 rounded to nearest, to even, to what bfloat16 has."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + (np.uint32(0x7FFF) + ((bits >> 16) & 1))) & np.uint32(0xFFFF0000)
    return np.where(np.isnan(values), np.uint32(0x7FC00000), rounded).astype(np.uint32).view(np.float32)


def rounded(values: Any, kind: Type) -> Any:
    """float32 or float64 as elements of a type: to nearest, to even."""
    values = np.asarray(values)
    if kind.element == "bf16":
        return _bfloat16(_to_odd(values) if values.dtype == np.float64 else values)
    if not is_foreign(kind):
        return values.astype(kind.dtype)
    return from_bits(_eight(_to_odd(values) if values.dtype == np.float64 else values, kind), kind)


def _eight(values: Any, kind: Type) -> Any:
    """The bits of floats of 8 bits. Raises NotImplementedError for what GPUs convert differently."""
    import torch

    given: Any = torch.from_numpy(np.array(values, dtype=np.float32))
    to = getattr(torch, _torchs(kind))
    if bool((given.abs() > torch.finfo(to).max).any()):
        raise NotImplementedError(f"what is too large for {kind.element} differs from GPU to GPU")
    return given.to(to).view(torch.uint8).numpy()


def towards_zero(values: Any, kind: Type) -> Any:
    """Elements of a type that are not further from zero."""
    wide = np.asarray(values, dtype=np.float64)
    near = rounded(values, kind)
    bits = to_bits(near, kind)
    further = np.abs(near.astype(np.float64)) > np.abs(wide)
    return from_bits((bits - further.astype(bits.dtype)).astype(bits.dtype), kind)


def extreme(x: Any, y: Any, *, most: bool, with_nan: bool) -> Any:
    """The larger or the smaller one; -0 is less than 0, of which NumPy takes either."""
    choose = (np.maximum if with_nan else np.fmax) if most else (np.minimum if with_nan else np.fmin)
    made = choose(x, y)
    if not np.any(made == 0):
        return made
    zeros = (x == 0) & (y == 0)
    negative = (np.signbit(x) & np.signbit(y)) if most else (np.signbit(x) | np.signbit(y))
    return np.where(zeros, np.where(negative, np.array(-0.0, made.dtype), np.array(0.0, made.dtype)), made)


def fused(x: Any, y: Any, z: Any, kind: Type) -> Any:
    """x * y + z, rounded once."""
    if kind.element == "f64":
        return _exact_fma(x, y, z)
    product = np.asarray(x, dtype=np.float64) * np.asarray(y, dtype=np.float64)  # exact: at most 48 bits
    addend = np.asarray(z, dtype=np.float64)
    total = product + addend
    back = total - product
    error = (product - (total - back)) + (addend - back)
    odd = (total.view(np.int64) & 1) != 0
    towards = np.where(error > 0, np.inf, -np.inf)
    total = np.where((error != 0) & ~odd & np.isfinite(total), np.nextafter(total, towards), total)
    return rounded(total, kind)


@np.vectorize
def _exact_fma(x: Any, y: Any, z: Any) -> Any:
    from fractions import Fraction

    if not (np.isfinite(x) and np.isfinite(y) and np.isfinite(z)):
        return x * y + z
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    try:
        return x * y + z if exact == 0 else float(exact)
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


# --- integers -----------------------------------------------------------------------------


def unsigned(values: Any) -> Any:
    """The same bits without a sign."""
    values = np.asarray(values)
    return values if values.dtype.kind in "bu" else values.view(f"u{values.dtype.itemsize}")


def signed(values: Any) -> Any:
    """The same bits with a sign: the one bit of i1 is -1."""
    values = np.asarray(values)
    if values.dtype.kind == "i":
        return values
    return -values.astype(np.int8) if values.dtype.kind == "b" else values.view(f"i{values.dtype.itemsize}")


def _again(values: Any, kind: Type) -> Any:
    """Numbers as elements of an integer type, which they fit or wrap around in."""
    values = np.asarray(values)
    return values.astype(np.uint8) & 1 != 0 if kind.element == "i1" else values.astype(kind.dtype)


def _divide(poison: Poison, kind: Type, without_sign: bool, remainder: bool) -> Function:
    see = unsigned if without_sign else signed

    def divide(x: Any, y: Any) -> Any:
        one, other = see(x), see(y)
        undefined = other == 0
        if not without_sign:
            undefined = undefined | ((other == -1) & (one == np.iinfo(one.dtype).min))
        divisor = np.where(undefined, np.array(1, one.dtype), other)
        rest = np.fmod(one, divisor)
        made = rest if remainder else (one - rest) // divisor
        return poison.put(_again(made, kind), undefined, "a division by zero, or of the least number by -1", kind)

    return divide


def _shift(poison: Poison, kind: Type, shift: Function, see: Function) -> Function:
    def shifted(x: Any, y: Any) -> Any:
        amount = unsigned(y)
        undefined = amount >= kind.bits
        value = see(x)
        made = shift(value, np.where(undefined, 0, amount).astype(value.dtype))
        return poison.put(_again(made, kind), undefined, "a shift by all bits or more", kind)

    return shifted


def _to_integer(poison: Poison, kind: Type, without_sign: bool) -> Function:
    low, high = (0, 2**kind.bits) if without_sign else (-(2 ** (kind.bits - 1)), 2 ** (kind.bits - 1))

    def convert(x: Any) -> Any:
        whole = np.trunc(np.asarray(x, dtype=np.float64))
        undefined = ~((whole >= low) & (whole < high))
        whole = np.where(undefined, 0, whole)
        made = whole.astype(np.uint64 if without_sign and kind.bits == 64 else np.int64)
        return poison.put(_again(made, kind), undefined, f"a float that does not fit into {kind.element}", kind)

    return convert


def high_product(x: Any, y: Any, *, with_sign: bool = False) -> Any:
    """The upper half of the bits of products."""
    see = signed if with_sign else unsigned
    one, other = see(x), see(y)
    bits = one.dtype.itemsize * 8
    if bits == 64:
        made = np.vectorize(lambda a, b: (int(a) * int(b)) >> 64, otypes=[one.dtype])(one, other)
    else:
        made = (one.astype(np.uint64) * other.astype(np.uint64)) >> np.uint64(bits)  # whose lower half no sign changes
    return made.astype(one.dtype).view(np.asarray(x).dtype)


# --- operations ---------------------------------------------------------------------------

_INTEGERS: dict[str, Function] = {
    "addi": np.add,
    "subi": np.subtract,
    "muli": np.multiply,
    "andi": np.bitwise_and,
    "ori": np.bitwise_or,
    "xori": np.bitwise_xor,
}
_OF_ONE_BIT = {"addi": np.bitwise_xor, "subi": np.bitwise_xor, "muli": np.bitwise_and}
_FLOATS: dict[str, Function] = {
    "addf": np.add,
    "subf": np.subtract,
    "mulf": np.multiply,
    "divf": np.divide,
    "remf": np.fmod,
    "negf": np.negative,
    "maximumf": functools.partial(extreme, most=True, with_nan=True),
    "minimumf": functools.partial(extreme, most=False, with_nan=True),
    "maxnumf": functools.partial(extreme, most=True, with_nan=False),
    "minnumf": functools.partial(extreme, most=False, with_nan=False),
    "precise_divf": np.divide,
    "precise_sqrt": np.sqrt,
    "absf": np.abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "exp": np.exp,
    "exp2": np.exp2,
    "floor": np.floor,
    "log": np.log,
    "log2": np.log2,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sqrt": np.sqrt,
}
_COMPARISONS: dict[str, Function] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def elementwise(op: Operation, poison: Poison) -> Function | None:
    """What computes an operation on elements, of arrays of the operands; None where it is no such operation.

    Raises NotRead for what there is not, NotImplementedError for what is not computed.
    """
    home, _, name = op.name.partition(".")
    if home not in ("arith", "math", "tt") or not op.made:
        return None
    kind = op.made[0]
    if found := _by_integers(name, kind, poison) or _converting(op, name, poison):
        return found
    if name in _FLOATS and kind.is_float:
        compute = _FLOATS[name]
        return (lambda *given: rounded(compute(*given), kind)) if is_foreign(kind) else compute
    if name in ("cmpi", "cmpf"):
        return _comparison(op)
    if name == "select":
        return np.where
    if name == "fma":
        return lambda x, y, z: fused(x, y, z, kind)
    if name == "erf":
        return _erf
    if name == "mulhiui":
        return high_product
    if name == "clampf":
        with_nan = "= none" not in op.text
        return lambda x, low, high: extreme(
            extreme(x, low, most=True, with_nan=with_nan), high, most=False, with_nan=with_nan
        )
    if home != "tt":
        raise NotRead(f"{op.name} is not executed")
    return None


def _erf(x: Any) -> Any:
    import torch

    return torch.erf(torch.from_numpy(np.array(x))).numpy()


def _by_integers(name: str, kind: Type, poison: Poison) -> Function | None:
    if not kind.is_integer:
        return None
    if name in _INTEGERS:
        return (_OF_ONE_BIT if kind.bits == 1 else _INTEGERS).get(name, _INTEGERS[name])
    if name in ("divsi", "divui", "remsi", "remui"):
        return _divide(poison, kind, name[3] == "u", name.startswith("rem"))
    if name in ("shli", "shrsi", "shrui"):
        shift = np.left_shift if name == "shli" else np.right_shift
        return _shift(poison, kind, shift, signed if name == "shrsi" else unsigned)
    if name in ("maxsi", "minsi", "maxui", "minui"):
        see, choose = (unsigned if name[3] == "u" else signed), (np.maximum if name[1] == "a" else np.minimum)
        return lambda x, y: _again(choose(see(x), see(y)), kind)
    if name == "absi":
        return lambda x: np.abs(x)
    return None


def _converting(op: Operation, name: str, poison: Poison) -> Function | None:
    """What makes elements of another type."""
    kind = op.made[0]
    if name in ("extsi", "trunci"):
        return lambda x: _again(signed(x), kind)
    if name == "extui":
        return lambda x: _again(unsigned(x), kind)
    if name in ("sitofp", "uitofp"):
        see = signed if name[0] == "s" else unsigned
        wide = np.float64 if is_foreign(kind) else kind.dtype
        return lambda x: rounded(see(x).astype(wide), kind)
    if name in ("fptosi", "fptoui"):
        return _to_integer(poison, kind, name == "fptoui")
    if name in ("extf", "truncf", "fp_to_fp"):
        if "rtz" in op.text.partition(":")[0]:
            return lambda x: towards_zero(x, kind)
        return lambda x: rounded(x, kind)
    if name == "bitcast" and op.types[0] != kind:
        before = op.types[0]
        if "ptr" in (before.element, kind.element):
            return lambda x: x
        return lambda x: from_bits(to_bits(x, before), kind)
    if name == "bitcast" or name in ("int_to_ptr", "ptr_to_int"):
        return lambda x: np.asarray(x).view(kind.dtype)
    return None


def _comparison(op: Operation) -> Function:
    match = re.match(r"\s*(\w+)", op.text)
    which = match[1] if match else ""
    if op.name == "arith.cmpi":
        compare = _COMPARISONS[which[-2:]]
        see = unsigned if which.startswith("u") else signed
        return lambda x, y: compare(see(x), see(y))
    if which in ("ord", "uno"):
        return lambda x, y: (np.isnan(x) | np.isnan(y)) == (which == "uno")
    compare = _COMPARISONS[which[1:]]
    if which[0] == "u":
        return lambda x, y: compare(x, y) | np.isnan(x) | np.isnan(y)
    return lambda x, y: compare(x, y) & ~(np.isnan(x) | np.isnan(y))


def constant(text: str, kind: Type) -> Any:
    """The value of `arith.constant`, as a scalar or a tensor of one number."""
    match = re.match(r"\s*(?:dense<)?([^>:\s]+)", text)
    if match is None or match[1].startswith("["):
        raise NotRead(f"the constant {text.strip()[:60]} is not understood")
    number = match[1]
    if number in ("true", "false"):
        value: Any = np.array(number == "true")
    elif kind.is_float and number.startswith("0x"):
        value = from_bits(np.array(int(number, 16), dtype=kind.bits_dtype), kind)
    elif kind.is_float:
        value = rounded(np.array(float(number)), kind)
    else:
        value = _again(np.array(int(number, 0)), kind)
    return np.broadcast_to(value, kind.shape)
