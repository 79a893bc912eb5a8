"""What single instructions of PTX compute, of arrays of bits: those without memory and branches.

Approximate ones (`tanh.approx`) are computed to the last bit, which a GPU's are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irwidget.toolchain.ttir_numbers import FOURS, extreme, from_bits, fused, high_product, rounded, to_bits, to_four
from irwidget.toolchain.ttir_program import Type
from irwidget.toolchain.ttir_rounding import to_whole

_FLOATS = {
    "f16": "f16",
    "bf16": "bf16",
    "f32": "f32",
    "f64": "f64",
    "e4m3": "f8E4M3FN",
    "e5m2": "f8E5M2",
    "e2m1": "f4E2M1FN",
}
_APPROXIMATE: dict[str, Callable[[Any], Any]] = {
    "ex2": np.exp2,
    "lg2": np.log2,
    "sin": np.sin,
    "cos": np.cos,
    "tanh": np.tanh,
    "rcp": lambda x: 1 / x,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "abs": np.abs,
    "neg": np.negative,
}
_OF_FLOATS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
}
_OF_BITS: dict[str, Callable[..., Any]] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_WITHOUT_SIGN = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
_WHOLE = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_PLAIN = frozenset("rn approx full ftz lo wide sat nan".split())
"""Modifiers that are heeded, or change nothing but the last bit."""


def width(kind: str) -> int:
    """The bits of a type of PTX. Raises NotImplementedError."""
    match = re.fullmatch(r"(?:[busf]|bf)(8|16|32|64)(x2)?", kind)
    if match is None:
        raise NotImplementedError(f"inline assembly is not executed: the type {kind}")
    return int(match[1]) * (2 if match[2] else 1)


def is_float(kind: str) -> bool:
    return kind.removesuffix("x2") in _FLOATS


def low(bits: Any, count: int) -> Any:
    """The lowest bits, the others 0."""
    return bits if count >= 64 else bits & np.uint64((1 << count) - 1)


def instruction(name: str, plain: str, how: Sequence[str], given: list[Any]) -> list[Any]:
    """The results of an instruction with these parts of its name. Raises NotImplementedError for one not known."""
    kind = how[-1] if how else ""
    if plain == "cvt":
        made = _converted(how, given)
    elif plain == "setp":
        return _compared(how, given)
    elif plain == "selp":
        made = np.where(given[2], given[0], given[1])
    elif kind == "pred" and plain in _OF_BITS:
        return [_OF_BITS[plain](*given)]
    elif is_float(kind) and not _unknown(how[:-1]):
        made = _by_halves(kind, given, lambda one, *parts: _floats(plain, how, one, *parts))
    else:
        made = _integers(plain, how, given)
    if made is None:
        raise NotImplementedError(f"inline assembly is not executed: {name}")
    return [made]


def _unknown(how: Sequence[str]) -> bool:
    return any(one.lower() not in _PLAIN for one in how)


def _by_halves(kind: str, given: Sequence[Any], compute: Callable[..., Any]) -> Any:
    """Bits that are computed of bits of floats, in both halves of a register where it has two."""
    one = Type(_FLOATS[kind.removesuffix("x2")])

    def part(shift: int) -> Any:
        halves = [from_bits(low(bits >> np.uint64(shift), one.bits).astype(one.bits_dtype), one) for bits in given]
        made = compute(one, *halves)
        return None if made is None else to_bits(made, one).astype(np.uint64)

    if not kind.endswith("x2"):
        return part(0)
    lower, upper = part(0), part(one.bits)
    return None if lower is None else lower | upper << np.uint64(one.bits)


def _floats(plain: str, how: Sequence[str], kind: Type, *given: Any) -> Any:
    """Floats of floats; None for an instruction that is not known."""
    if "ftz" in how:
        given = tuple(_flushed(one) for one in given)
    if plain in ("min", "max"):
        made = extreme(given[0], given[1], most=plain == "max", with_nan="NaN" in how)
    elif plain in _OF_FLOATS and len(given) == 2:
        made = rounded(_OF_FLOATS[plain](*given), kind)
    elif plain in _APPROXIMATE and len(given) == 1:
        made = rounded(_APPROXIMATE[plain](given[0]), kind)
    elif plain in ("fma", "mad") and len(given) == 3:
        made = fused(given[0], given[1], given[2], kind)
    else:
        return None
    if "sat" in how:
        made = np.fmin(np.fmax(made, 0), 1)
    return _flushed(made) if "ftz" in how else made


def _flushed(x: Any) -> Any:
    """float32 without numbers that are too small for a full fraction."""
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(0, x), x).astype(x.dtype)


def _numbers(bits: Any, kind: str) -> Any:
    """Bits as integers of a type: 64 bits wide."""
    unused = np.uint64(64 - width(kind))
    shifted = bits << unused
    return shifted.view(np.int64) >> unused.astype(np.int64) if kind[0] == "s" else shifted >> unused


def _compared(how: Sequence[str], given: Sequence[Any]) -> list[Any]:
    """Of `setp`: predicates, and the opposite ones, or those of the upper halves."""
    which, kind = how[0], how[-1]
    if not set(how[1:-1]) <= {"ftz"} or len(given) != 2:
        raise NotImplementedError(f"inline assembly is not executed: setp.{'.'.join(how)}")

    def of_floats(one: Type, shift: int) -> Any:
        x, y = (from_bits(low(bits >> np.uint64(shift), one.bits).astype(one.bits_dtype), one) for bits in given)
        if "ftz" in how:
            x, y = _flushed(x), _flushed(y)
        without = np.isnan(x) | np.isnan(y)
        if which in ("num", "nan"):
            return without == (which == "nan")
        compare = getattr(np, _COMPARISONS[which[:2]])
        return compare(x, y) | without if which[2:] == "u" else compare(x, y) & ~without

    if is_float(kind) and (which[:2] in _COMPARISONS or which in ("num", "nan")):
        one = Type(_FLOATS[kind.removesuffix("x2")])
        lower = of_floats(one, 0)
        return [lower, of_floats(one, one.bits) if kind.endswith("x2") else ~lower]
    which = _WITHOUT_SIGN.get(which, which)
    if which not in _COMPARISONS:
        raise NotImplementedError(f"inline assembly is not executed: setp.{'.'.join(how)}")
    made = getattr(np, _COMPARISONS[which])(*(_numbers(bits, kind) for bits in given))
    return [made, ~made]


def _integers(plain: str, how: Sequence[str], given: list[Any]) -> Any:
    """Bits of bits; None for an instruction that is not known."""
    kind, more = how[-1] if how else "", set(how[:-1])
    if plain in ("lop3", "prmt", "bfe", "bfi", "popc", "clz", "brev"):
        return None if more else _moving(plain, kind, given)
    if plain in ("mul", "mad"):
        return _product(plain, how, given)
    if more or kind not in {f"{sign}{bits}" for sign in "bsu" for bits in (16, 32, 64)}:
        return None
    bits = width(kind)
    if plain in _OF_BITS:
        return low(_OF_BITS[plain](*given), bits)
    if plain in ("shl", "shr"):
        value, amount = _numbers(given[0], kind), low(given[1], 32)
        by = np.minimum(amount, np.uint64(63)).astype(value.dtype)
        made = (value << by if plain == "shl" else value >> by).view(np.uint64)
        return np.where((amount >= bits) & ((plain == "shl") | (kind[0] != "s")), np.uint64(0), low(made, bits))
    numbers = [_numbers(one, kind) for one in given]
    compute: dict[str, Callable[..., Any]] = {
        "add": np.add,
        "sub": np.subtract,
        "min": np.minimum,
        "max": np.maximum,
        "abs": np.abs,
        "neg": np.negative,
    }
    return low(compute[plain](*numbers).view(np.uint64), bits) if plain in compute else None


def _product(plain: str, how: Sequence[str], given: list[Any]) -> Any:
    """Of `mul` and `mad`: the lower half, the upper one, or all of products."""
    kind, part = how[-1], how[0]
    if len(how) != 2 or part not in ("lo", "hi", "wide") or kind[0] not in "su":
        return None
    bits = width(kind)
    one, other = (_numbers(value, kind) for value in given[:2])
    if part == "hi" and bits == 64:
        made = high_product(one, other, with_sign=kind[0] == "s")
    else:
        made = one * other >> (bits if part == "hi" else 0)
    made, whole = made.view(np.uint64), bits * (2 if part == "wide" else 1)
    return low(made + given[2] if plain == "mad" else made, whole)


def _moving(plain: str, kind: str, given: list[Any]) -> Any:
    match plain:
        case "lop3":
            x, y, z, table = given
            made = np.zeros_like(x)
            for one in range(8):
                sides = [side if one >> at & 1 else ~side for side, at in ((x, 2), (y, 1), (z, 0))]
                made |= np.where(table >> np.uint64(one) & np.uint64(1), sides[0] & sides[1] & sides[2], np.uint64(0))
            return low(made, 32)
        case "prmt":
            both, made = low(given[0], 32) | low(given[1], 32) << np.uint64(32), np.zeros_like(given[0])
            for one in range(4):
                chosen = given[2] >> np.uint64(4 * one)
                byte = both >> np.uint64(8) * (chosen & np.uint64(7)) & np.uint64(255)
                sign = np.where(byte & np.uint64(128), np.uint64(255), np.uint64(0))
                made |= np.where(chosen & np.uint64(8), sign, byte) << np.uint64(8 * one)
            return made
        case "bfe" if kind == "u32":
            at, count = np.minimum(given[1] & 255, 63), np.minimum(given[2] & 255, 32)
            return low(given[0], 32) >> at & ((np.uint64(1) << count) - np.uint64(1))
        case "bfi" if kind == "b32":
            at, count = np.minimum(given[2] & 255, 63), np.minimum(given[3] & 255, 32)
            mask = low(((np.uint64(1) << count) - np.uint64(1)) << at, 32)
            return low(given[1], 32) & ~mask | given[0] << at & mask
        case "popc":
            return np.bitwise_count(low(given[0], width(kind))).astype(np.uint64)
        case _:
            return None


# --- conversions --------------------------------------------------------------------------


def _converted(how: Sequence[str], given: list[Any]) -> Any:
    """Of `cvt`; None where it is not known."""
    *ways, to, of = how
    if to.endswith("x2"):
        if not set(ways) <= {"rn", "satfinite"}:
            return None
        if of.endswith("x2"):
            shift = np.uint64(_float(of).bits)
            parts = [low(given[0], _float(of).bits), low(given[0] >> shift, _float(of).bits)]
        elif len(given) == 2:
            parts = given[::-1]
        else:
            return None
        lower, upper = (_to_float(one, of.removesuffix("x2"), to.removesuffix("x2"), ways) for one in parts)
        return lower | upper << np.uint64(_float(to).bits)
    if to == "tf32" and ways == ["rna"]:
        value = from_bits(given[0].astype(np.uint32), Type("f32"))
        return np.where(np.isfinite(value), low(given[0] + np.uint64(0x1000), 32) & np.uint64(0xFFFFE000), given[0])
    if is_float(to):
        return _to_float(given[0], of, to, ways)
    if is_float(of):
        return _to_integer(given[0], of, to, ways)
    value, bits = _numbers(given[0], of), width(to)
    if ways == ["sat"]:
        least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if to[0] == "s" else (0, (1 << bits) - 1)
        inside = [max(min(int(one), most), least) % (1 << 64) for one in value]
        return low(np.array(inside, dtype=np.uint64), bits)
    return None if ways else low(value.view(np.uint64), bits)


def _float(kind: str) -> Type:
    kind = kind.removesuffix("x2")
    if kind not in _FLOATS:
        raise NotImplementedError(f"inline assembly is not executed: the type {kind}")
    return Type(_FLOATS[kind])


def _to_float(bits: Any, of: str, to: str, ways: Sequence[str]) -> Any:
    kind, rest = _float(to), set(ways) - {"rn", "ftz", "satfinite"}
    if not is_float(of):
        return None if rest else to_bits(rounded(_numbers(bits, of), kind), kind).astype(np.uint64)
    before = _float(of)
    bits = low(bits, before.bits).astype(before.bits_dtype)
    value = FOURS[bits] if of == "e2m1" else from_bits(bits, before)
    if "ftz" in ways:
        value = _flushed(value)
    if rest <= set(_WHOLE) and len(rest) == 1:
        value, rest = _WHOLE[rest.pop()](value), set[str]()
    if rest or ("satfinite" in ways) != (kind.bits <= 8):
        return None
    if to == "e2m1":
        return to_four(value).astype(np.uint64)
    if kind.bits == 8:
        most = 448.0 if to == "e4m3" else 57344.0
        return np.where(np.isnan(value), np.uint64(127), _eight(np.clip(value, -most, most), kind))
    return to_bits(rounded(value, kind), kind).astype(np.uint64)


def _eight(value: Any, kind: Type) -> Any:
    return to_bits(rounded(np.nan_to_num(value), kind), kind).astype(np.uint64)


def _to_integer(bits: Any, of: str, to: str, ways: Sequence[str]) -> Any:
    before, rest = _float(of), set(ways) - {"ftz", "sat"}
    if len(rest) != 1 or not rest <= set(_WHOLE):
        return None
    value = _WHOLE[rest.pop()](from_bits(low(bits, before.bits).astype(before.bits_dtype), before))
    whole = to_whole(value, Type(f"i{width(to)}"), to[0] == "u", of == "f64")
    return low(whole.astype(np.int64).view(np.uint64), width(to))
