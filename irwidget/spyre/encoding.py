"""Device encodings of numbers: DL16 (1 sign, 6 exponent, 9 fraction bits) and IEEE float32."""

from __future__ import annotations

import math
import struct

DL16_BIAS = 31
DL16_MAX = 2.0**32 * (1 + 510 / 512)
"""The largest finite value when the all-ones pattern means infinity."""


def encode_dl16(value: float) -> int:
    """The 16 bits of a number in DL16, rounded to nearest even. The exact device rounding is not public."""
    sign = 1 if math.copysign(1.0, value) < 0 else 0
    magnitude = abs(value)
    if math.isnan(value):
        return 0x7FFF
    if magnitude == 0:
        return sign << 15
    if magnitude > DL16_MAX:
        return (sign << 15) | 0x7FFF
    mantissa, exponent = math.frexp(magnitude)
    biased = exponent - 1 + DL16_BIAS
    if biased <= 0:
        return sign << 15
    fraction = round((mantissa * 2 - 1) * 512)
    if fraction == 512:
        biased, fraction = biased + 1, 0
    return (sign << 15) | (biased << 9) | fraction


def encode_constant(value: float, data_format: str) -> int:
    """A constant as the unsigned integer that a SuperDSC holds."""
    if data_format == "IEEE_FP32":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    return encode_dl16(value)
