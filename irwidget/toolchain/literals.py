"""Rewrite the floating-point literals of newer LLVM IR into the spelling that LLVM 22 reads.

LLVM 23 and later print `f0x3E89545E`, `+inf`, `-qnan`, `+snan(0x1)`, and round decimals to the literal's own type;
LLVM 22 knows `0x` with the bits of a double, `0xH`, `0xR`, `0xK`, `0xL`, and decimals that
are exact ("LLVM Language Reference", section Simple Constants, of either version). The
rewriting keeps every bit, payloads of NaNs too, and leaves text that LLVM 22 wrote as it is.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache


class UnknownLiteral(ValueError):
    """A floating-point literal that no known LLVM prints, or one without a type."""


@dataclass(frozen=True, slots=True)
class Format:
    """A binary interchange format of IEEE 754, or one made like it."""

    exponent: int
    """Bits of the exponent."""
    fraction: int
    """Bits of the fraction, without the leading one."""
    explicit: bool = False
    """Whether the leading one is stored, as x87 does."""

    @property
    def stored(self) -> int:
        return self.fraction + self.explicit

    @property
    def width(self) -> int:
        return 1 + self.exponent + self.stored

    def pack(self, negative: bool, exponent: int, fraction: int) -> int:
        """The bits of a biased exponent and a fraction."""
        leading = (1 << self.fraction) if self.explicit and exponent else 0
        return (((negative << self.exponent) | exponent) << self.stored) | leading | fraction

    @property
    def all_ones(self) -> int:
        """The exponent of infinities and NaNs."""
        return (1 << self.exponent) - 1


FORMATS = {
    "half": Format(5, 10),
    "bfloat": Format(8, 7),
    "float": Format(8, 23),
    "double": Format(11, 52),
    "x86_fp80": Format(15, 63, explicit=True),
    "fp128": Format(15, 112),
}

_HEX = re.compile(r"f0x([0-9A-Fa-f]+)")
_DECIMAL = re.compile(r"[-+]?\d+\.\d*(?:[eE][-+]?\d+)?")
_SPECIAL = re.compile(r"([+-])(?:(inf)|(qnan)|(s?)nan\(0x([0-9A-Fa-f]+)\))")


def bits(literal: str, type_name: str) -> int:
    """The bits that a literal of LLVM 23 or later stands for. Raises UnknownLiteral."""
    form = FORMATS.get(type_name)
    if form is None:
        raise UnknownLiteral(f"literal {literal} of type {type_name}, which has no known spelling in LLVM 22")
    if match := _HEX.fullmatch(literal):
        if len(match[1]) != form.width // 4:
            raise UnknownLiteral(f"literal {literal} has {4 * len(match[1])} bits, but {type_name} has {form.width}")
        return int(match[1], 16)
    if match := _SPECIAL.fullmatch(literal):
        return _special(literal, match, form)
    if _DECIMAL.fullmatch(literal):
        return _nearest(literal, form)
    raise UnknownLiteral(f"unknown floating-point literal {literal} of type {type_name}")


def _special(literal: str, match: re.Match[str], form: Format) -> int:
    sign, infinity, quiet, signalling, payload = match.groups()
    quiet_bit = 1 << (form.fraction - 1)
    if infinity:
        fraction = 0
    elif quiet:
        fraction = quiet_bit
    else:
        fraction = int(payload, 16)
        if fraction >= quiet_bit or (signalling and not fraction):
            raise UnknownLiteral(f"the payload of {literal} does not fit its type")
        if not signalling:
            fraction |= quiet_bit
    return form.pack(sign == "-", form.all_ones, fraction)


def _nearest(literal: str, form: Format) -> int:
    """Round a decimal to the nearest value of a type, ties to even, in one step."""
    negative = literal.startswith("-")
    value = abs(Fraction(literal))
    bias = form.all_ones >> 1
    smallest = 1 - bias - form.fraction
    if not value:
        return form.pack(negative, 0, 0)
    scale = max(_log2(value) - form.fraction, smallest)
    mantissa = round(value / Fraction(2) ** scale)  # round() takes ties to even
    if mantissa >> (form.fraction + 1):
        mantissa >>= 1
        scale += 1
    if not mantissa >> form.fraction:  # denormal
        return form.pack(negative, 0, mantissa)
    exponent = scale + form.fraction + bias
    if exponent >= form.all_ones:
        raise UnknownLiteral(f"literal {literal} is too large for its type")
    return form.pack(negative, exponent, mantissa & ((1 << form.fraction) - 1))


def _log2(value: Fraction) -> int:
    """The largest n for which 2**n <= value."""
    n = value.numerator.bit_length() - value.denominator.bit_length()
    return n if Fraction(2) ** n <= value else n - 1


def spell(value: int, type_name: str) -> str:
    """Bits as LLVM 22 prints them."""
    if type_name == "half":
        return f"0xH{value:04X}"
    if type_name == "bfloat":
        return f"0xR{value:04X}"
    if type_name == "x86_fp80":
        return f"0xK{value:020X}"
    if type_name == "fp128":  # the low half first
        return f"0xL{value & (2**64 - 1):016X}{value >> 64:016X}"
    as_double = value if type_name == "double" else _widen(value)
    number = struct.unpack("<d", struct.pack("<Q", as_double))[0]
    decimal = f"{number:e}"
    if number - number == 0 and float(decimal) == number:
        return decimal
    return f"0x{as_double:X}" if as_double >> 60 else f"0x{as_double:016X}"


def _widen(value: int) -> int:
    """The bits of a float as those of the double that LLVM 22 writes for it."""
    single, double = FORMATS["float"], FORMATS["double"]
    negative, exponent = bool(value >> 31), (value >> single.fraction) & single.all_ones
    fraction = value & ((1 << single.fraction) - 1)
    if exponent == single.all_ones:  # a NaN stays signalling: converting it as a number would quiet it
        return double.pack(negative, double.all_ones, fraction << (double.fraction - single.fraction))
    return struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", value))[0]))[0]


_TYPE = r"half|bfloat|float|double|x86_fp80|fp128|ppc_fp128"
_TOKEN = re.compile(
    r'"[^"]*"|;.*'  # strings and comments
    r"|[%@!$#^][-\w$.]+"  # names
    rf"|(?P<type>\b(?:{_TYPE})\b(?!\s*:))"
    rf"|(?P<literal>f0x\w+|{_DECIMAL.pattern}|[-+][A-Za-z]\w*(?:\([^)]*\))?)"
    r"|(?P<number>-?\d\w*)"
    r"|[A-Za-z_.$][-\w$.]*"  # keywords and labels
)
_CANDIDATE = re.compile(r"\bf0x|\d\.\d|[-+](?:[a-z])|\d[eE]")
_PLAIN_NUMBER = re.compile(r"-?\d+|0x[HRKLM]?[0-9A-Fa-f]+")


@lru_cache(maxsize=65536)
def _rewritten(literal: str, type_name: str) -> str:
    if type_name == "double" and _DECIMAL.fullmatch(literal):
        return literal
    return spell(bits(literal, type_name), type_name)


def rewrite(text: str) -> str:
    """LLVM IR text with every floating-point literal in the spelling of LLVM 22.

    Raises UnknownLiteral, with the line, for a literal that it does not know.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if _CANDIDATE.search(line):
            try:
                lines[number] = _rewrite_line(line)
            except UnknownLiteral as error:
                raise UnknownLiteral(f"line {number + 1}: {error}") from None
    return "\n".join(lines)


def _rewrite_line(line: str) -> str:
    """A literal without a type of its own, as a second operand, has the last type before it."""
    last = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal last
        token = match[0]
        if match["type"]:
            last = token
        elif match["literal"]:
            if not last:
                raise UnknownLiteral(f"{token} has no floating-point type before it")
            return _rewritten(token, last)
        elif match["number"] and not _PLAIN_NUMBER.fullmatch(token):
            raise UnknownLiteral(f"unknown number {token}")
        return token

    return _TOKEN.sub(replace, line)
