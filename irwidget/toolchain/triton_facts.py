"""Numbers beside a kernel's IR: registers, spills, shared memory, how often each operation occurs."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

_OPERATION = re.compile(r'^\s*(?:%[\w:#, %]+ = )?"?([a-z_]\w*\.[\w.]+)"?(?=[\s<({])', re.M)
_INSTRUCTION = {
    "ptx": re.compile(r"^\s+(?:@!?%p\d+\s+)?([a-z][\w.:]*)[^\n]*;", re.M),
    "amdgcn": re.compile(r"^\t([a-z]\w*)(?=\s)", re.M),
    "sass": re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)", re.M),
}
_FROM_METADATA = {
    "num_warps": "num_warps",
    "num_ctas": "num_ctas",
    "num_stages": "num_stages",
    "warp_size": "warp_size",
    "shared": "shared_memory",
    "tmem_size": "tensor_memory",
    "global_scratch_size": "global_scratch",
}
_PTXAS = {
    "registers": r"Used (\d+) registers",
    "stack_frame": r"(\d+) bytes stack frame",
    "spill_stores": r"(\d+) bytes spill stores",
    "spill_loads": r"(\d+) bytes spill loads",
    "constant_memory": r"(\d+) bytes cmem\[0\]",
    "barriers": r"used (\d+) barriers",
}
_AMDHSA = {
    "registers": r"\.vgpr_count:\s+(\d+)",
    "scalar_registers": r"\.sgpr_count:\s+(\d+)",
    "accumulator_registers": r"\.agpr_count:\s+(\d+)",
    "vector_spills": r"\.vgpr_spill_count:\s+(\d+)",
    "scalar_spills": r"\.sgpr_spill_count:\s+(\d+)",
    "scratch": r"\.private_segment_fixed_size:\s+(\d+)",
    "occupancy": r"; Occupancy: (\d+)",
}


def operations(language: str, text: str) -> dict[str, int]:
    """How often each operation (`tt.load`) or instruction (`mma.sync...`, `HMMA`) occurs, the most frequent first."""
    pattern = _OPERATION if language == "mlir" else _INSTRUCTION.get(language)
    if pattern is None:
        return {}
    counts = Counter(name.rstrip(".") for name in pattern.findall(text))
    return dict(counts.most_common())


def metadata(values: dict[str, Any]) -> dict[str, int]:
    """The numbers in the metadata that Triton keeps of a kernel: warps, stages; memory in bytes."""
    return {name: values[key] for key, name in _FROM_METADATA.items() if isinstance(values.get(key), int)}


def _search(patterns: dict[str, str], text: str) -> dict[str, int]:
    found = {name: re.search(pattern, text) for name, pattern in patterns.items()}
    return {name: int(match[1]) for name, match in found.items() if match}


def ptxas(log: str) -> dict[str, int]:
    """Registers per thread, bytes of stack and spills, from what `ptxas -v` says."""
    return _search(_PTXAS, log)


_PTXAS_WARNING = re.compile(r"^ptxas(?:-\w+)? (?:warning\s*: |info\s*: (?=\())(.*)$", re.M)


def ptxas_warnings(log: str) -> tuple[str, ...]:
    """What ptxas warns of, and its numbered remarks: `(C7510) Potential Performance Loss: ...`."""
    return tuple(dict.fromkeys(_PTXAS_WARNING.findall(log)))


def amdgcn(text: str) -> dict[str, int]:
    """Registers per lane, spilled registers, bytes of scratch, from the metadata at the end of AMDGCN text."""
    return _search(_AMDHSA, text)


_PTX_LOAD = re.compile(r"^ld\.global(?:\.[\w:]+)*?(?:\.v(\d))?\.[busf](\d+)$")
_AMD_LOAD = re.compile(r"^(?:buffer|global|flat)_load_(?:(?:lds_)?(dword|b)(?:x?(\d+))?|[us](byte|short|8|16)\w*)")


def load_width(language: str, name: str) -> int | None:
    """Bits that a load from global memory reads for a thread, by its name in PTX or AMDGCN; None for what is none."""
    if language == "ptx" and (match := _PTX_LOAD.match(name)):
        return int(match[1] or 1) * int(match[2])
    if language == "amdgcn" and (match := _AMD_LOAD.match(name)):
        if match[1] == "b":
            return int(match[2])
        if match[1]:
            return 32 * int(match[2] or 1)
        return 8 if match[3] in ("byte", "8") else 16
    return None
