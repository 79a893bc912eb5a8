"""Floats rounded to 8 bits, as what Triton lowers that to on an architecture computes it, by NumPy.

From sm_89 on there is an instruction, which keeps to the largest number there is; float32 is cut to float16 before it
up to sm_89. Older GPUs add to the bits. On AMD's, Triton's own code rounds; newer ones have an instruction for some
types, whose mode is set to keep to the largest number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irwidget.toolchain.triton_archs import Arch
from irwidget.toolchain.ttir_numbers import Poison, from_bits, rounded, to_bits, towards_zero
from irwidget.toolchain.ttir_program import Operation, Type

Function = Callable[..., Any]

_LARGEST = {"f8E4M3FN": 448, "f8E5M2": 57344, "f8E4M3FNUZ": 240, "f8E5M2FNUZ": 57344}
_WITH_INSTRUCTION = {"gfx942": "FNUZ", "gfx950": "", "gfx1250": ""}
"""AMD's GPUs that have one, and how the names of its types end."""


def to_float8(op: Operation, arch: Arch, poison: Poison) -> Function | None:
    """What computes `tt.fp_to_fp` to nearest, to 8 bits; None for another operation, or a type it has no rule for."""
    if op.name != "tt.fp_to_fp" or "rtz" in op.text.partition(":")[0]:
        return None
    before, kind = op.types[0], op.made[0]
    if kind.element not in _LARGEST or before.element not in ("f32", "f16", "bf16"):
        return None
    if arch.backend == "hip":
        return _of_amd(before, kind, arch)
    cut: Function = np.asarray
    if before.element == "f32" and arch.capability < 90:
        cut = _cut
    return (lambda x: _kept(cut(x), kind)) if arch.capability >= 89 else _by_bits(before, kind, cut, poison)


def _cut(x: Any) -> Any:
    """float32 as float16 that is not further from zero."""
    return towards_zero(x, Type("f16"))


def _kept(x: Any, kind: Type) -> Any:
    """What is nearest, the largest number for what is beyond it; NaN has no sign."""
    most = np.float32(_LARGEST[kind.element])
    wide = np.asarray(x, dtype=np.float32)
    return rounded(np.where(np.isnan(wide), np.float32(np.nan), np.clip(wide, -most, most)), kind)


def _by_bits(before: Type, kind: Type, cut: Function, poison: Poison) -> Function:
    """GPUs before sm_89 have e5m2 alone: halves away from zero, and what is far too large is another number."""

    def compute(x: Any) -> Any:
        if before.element == "bf16":
            bits = to_bits(x, before).astype(np.uint32)
            size = np.clip(bits & 0x7FFF, 0x3800, 0x57E0) + 0x10 - 0x3800
            return from_bits((size >> 5 | bits >> 8 & 0x80).astype(np.uint8), kind)
        half = to_bits(cut(x), Type("f16")).astype(np.uint32)
        made = from_bits((((half & 0xFFFE) + 0x80) >> 8 & 0xFF).astype(np.uint8), kind)
        unknown = np.isnan(x) & (before.element == "f32")  # which bits NaN has as float16
        return poison.put(made, unknown, "NaN as a float of 8 bits", kind)

    return compute


def _of_amd(before: Type, kind: Type, arch: Arch) -> Function:
    alone = kind.element.endswith("FNUZ")  # NaN, without infinity
    instruction = arch.name in _WITH_INSTRUCTION and alone == bool(_WITH_INSTRUCTION[arch.name])
    between = before.element == "f16" and kind.element == "f8E4M3FN" and not instruction

    def compute(x: Any) -> Any:
        x = np.asarray(x, dtype=np.float32)
        infinite = np.isinf(x)
        if instruction and infinite.any():
            raise NotImplementedError(f"what {arch.name} makes of infinity as {kind.element} is not known")
        made = _kept(x, kind)
        if alone:
            made = np.where(infinite, np.float32(np.nan), made)
        if between:  # Triton's code for it rounds these up to what stands for NaN
            made = np.where((np.abs(x) > 464) & (np.abs(x) < 480), np.float32(np.nan), made)
        return made

    return compute
