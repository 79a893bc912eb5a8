"""The GPUs that Triton compiles for, by the names that people use: `sm_90`, `gfx942`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from irwidget.errors import UsageError, near


@dataclass(frozen=True, slots=True)
class Arch:
    """A GPU as a compilation target, with what a launch asks its driver for."""

    name: str
    shared_memory: int
    """Bytes of shared memory (LDS) that one block may use."""
    multiprocessors: int
    """Of the largest data-centre part with this architecture."""
    registers: int
    """32-bit registers of one multiprocessor."""
    warps: int = 0
    """Warps that one multiprocessor holds at most; 0 where it is not known, as on AMD."""
    blocks: int = 0
    """Blocks that it holds at most."""
    all_shared_memory: int = 0
    """Bytes of shared memory that all of its blocks have together."""

    @property
    def backend(self) -> Literal["cuda", "hip"]:
        return "hip" if self.name.startswith("gfx") else "cuda"

    @property
    def capability(self) -> int:
        """90 for sm_90; 0 for AMD."""
        return int(self.name[3:]) if self.backend == "cuda" else 0

    @property
    def id(self) -> int | str:
        """What Triton's GPUTarget calls it: 90, "gfx942"."""
        return self.capability if self.backend == "cuda" else self.name

    @property
    def banks(self) -> int:
        """Banks of 32 bits of its shared memory; 0 where that is not known, as of RDNA, whose blocks have either."""
        if self.backend == "cuda":
            return 32
        return 64 if self.name == "gfx950" else 32 if self.warp_size == 64 else 0

    @property
    def warp_size(self) -> int:
        return 64 if re.fullmatch(r"gfx9\w\w", self.name) else 32


def _nvidia(capability: int, shared_kib: int, multiprocessors: int, warps: int, blocks: int, all_kib: int) -> Arch:
    return Arch(f"sm_{capability}", shared_kib * 1024, multiprocessors, 65536, warps, blocks, all_kib * 1024)


def _amd(name: str, multiprocessors: int, shared_kib: int = 64) -> Arch:
    registers = 131072 if re.fullmatch(r"gfx9\w\w", name) else 196608
    return Arch(name, shared_kib * 1024, multiprocessors, registers)


# Shared memory, warps and blocks: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability";
# AMD: 64 KiB of LDS per workgroup, 160 KiB on CDNA 4, 320 KiB on gfx1250. All were compiled for with Triton 3.8.
_KNOWN = {
    arch.name: arch
    for arch in [
        _nvidia(70, 96, 80, 64, 32, 96),
        _nvidia(72, 96, 8, 64, 32, 96),
        _nvidia(75, 64, 72, 32, 16, 64),
        _nvidia(80, 163, 108, 64, 32, 164),
        _nvidia(86, 99, 84, 48, 16, 100),
        _nvidia(87, 163, 16, 48, 16, 164),
        _nvidia(89, 99, 142, 48, 24, 100),
        _nvidia(90, 227, 132, 64, 32, 228),
        _nvidia(100, 227, 148, 64, 32, 228),
        _nvidia(103, 227, 148, 64, 32, 228),
        _nvidia(110, 227, 20, 48, 24, 228),
        _nvidia(120, 99, 188, 48, 24, 100),
        _nvidia(121, 99, 48, 48, 24, 100),
        _amd("gfx906", 60),
        _amd("gfx908", 120),
        _amd("gfx90a", 104),
        _amd("gfx942", 304),
        _amd("gfx950", 256, 160),
        _amd("gfx1030", 40),
        _amd("gfx1100", 48),
        _amd("gfx1101", 30),
        _amd("gfx1102", 16),
        _amd("gfx1103", 6),
        _amd("gfx1150", 8),
        _amd("gfx1151", 20),
        _amd("gfx1200", 16),
        _amd("gfx1201", 32),
        _amd("gfx1250", 256, 320),
    ]
}

DEFAULT = "sm_90"


def known() -> tuple[str, ...]:
    return tuple(_KNOWN)


def find(name: str) -> Arch:
    """The architecture of a name: `sm_90`, `sm90`, `90`, `9.0`, `cuda:90`, `sm_90a`, `gfx942`, `hip:gfx942`.

    Raises UsageError, with the known ones, for anything else.
    """
    wanted = name.strip().lower().removeprefix("cuda:").removeprefix("hip:")
    if match := re.fullmatch(r"(?:sm_?)?(\d+)\.?(\d)[af]?", wanted):
        wanted = f"sm_{match[1]}{match[2]}"
    try:
        return _KNOWN[wanted]
    except KeyError:
        close = near(name, _KNOWN)
        known = "" if close.startswith("Known") else f" Known: {', '.join(_KNOWN)}."
        raise UsageError(f"unknown architecture {name!r} for a Triton kernel. {close}{known}") from None


_RESERVED = 1024
"""Bytes of shared memory that the system takes of each block, from sm_80 on."""
_PARTITIONS = 4
"""Parts of a multiprocessor, each with its share of the registers."""


TENSOR_COLUMNS = 512
"""Columns of tensor memory of a multiprocessor, where it has some."""
THREADS = 1024
"""That a block may have."""


def registers_of_a_warp(registers: int) -> int:
    """32-bit registers that a warp takes of NVIDIA's GPUs, with so many for each thread: they come 256 to a warp."""
    return -(-registers * 32 // 256) * 256


def occupancy(
    arch: Arch, *, registers: int, shared_memory: int, num_warps: int, tensor_memory: int = 0
) -> float | None:
    """How much of a multiprocessor's warps are in use when it is full of such blocks, 0 to 1; 0: none fits.

    `registers` are those of one thread, `shared_memory` is in bytes, `tensor_memory` in columns. By the rules of the
    CUDA Programming Guide: registers come 256 to a warp, shared memory in 128 bytes. None for architectures of which no
    such table is known.
    """
    if not arch.warps:
        return None
    of_warp = registers_of_a_warp(registers)
    warps = arch.registers // _PARTITIONS // of_warp * _PARTITIONS if of_warp else arch.warps
    reserved = _RESERVED if arch.capability >= 80 else 0
    unit = 128 if arch.capability >= 80 else 256
    of_block = -(-(shared_memory + reserved) // unit) * unit
    fits = [arch.blocks, arch.warps // num_warps, warps // num_warps]
    if of_block:
        fits.append(arch.all_shared_memory // of_block)
    if tensor_memory:
        fits.append(TENSOR_COLUMNS // tensor_memory)
    if shared_memory > arch.shared_memory or num_warps * 32 > THREADS:
        return 0.0
    return min(fits) * num_warps / arch.warps
