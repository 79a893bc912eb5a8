"""The GPUs that LLVM generates code for, by the names that people use, and what each needs."""

from __future__ import annotations

import re

NVPTX = (
    *("sm_30", "sm_32", "sm_35", "sm_37", "sm_50", "sm_52", "sm_53", "sm_60", "sm_61", "sm_62", "sm_70", "sm_72"),
    *("sm_75", "sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_100f"),
    *("sm_101", "sm_101a", "sm_101f", "sm_103", "sm_103a", "sm_103f", "sm_110", "sm_110a", "sm_110f"),
    *("sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"),
)
"""NVIDIA's, as `llc -mtriple=nvptx64 -mcpu=help` of LLVM 22 lists them, without Fermi."""

AMDGPU = (
    *("gfx600", "gfx601", "gfx602", "gfx700", "gfx701", "gfx702", "gfx703", "gfx704", "gfx705"),
    *("gfx801", "gfx802", "gfx803", "gfx805", "gfx810", "gfx900", "gfx902", "gfx904", "gfx906", "gfx908", "gfx909"),
    *("gfx90a", "gfx90c", "gfx942", "gfx950", "gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    *("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    *("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
    *("gfx1200", "gfx1201", "gfx1250", "gfx1251"),
)
"""AMD's, as `llc -mtriple=amdgcn -mcpu=help` of LLVM 22 lists them, without the generic ones."""

NVPTX_TRIPLE = "nvptx64-nvidia-cuda"
AMDGPU_TRIPLE = "amdgcn-amd-amdhsa"
SPIRV_TRIPLE = "spirv64-unknown-unknown"

DEFAULT_NVPTX = "sm_80"
DEFAULT_AMDGPU = "gfx942"


def ptx_version(arch: str) -> int:
    """The oldest PTX version from 8.0 on that knows an architecture, as LLVM's features number it: 80 for 8.0.

    "PTX ISA", release notes: sm_100 and sm_101 came with 8.6, sm_120 with 8.7,
    sm_103 and sm_121 and the family variants (`f`) with 8.8, sm_88 and sm_110 with 9.0.
    """
    number = int(re.sub(r"\D", "", arch.removeprefix("sm_")))
    if number in (88, 110):
        return 90
    if number in (103, 121) or arch.endswith("f"):
        return 88
    if number == 120:
        return 87
    return 86 if number >= 100 else 80
