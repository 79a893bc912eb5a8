"""What a user writes: the GPU that code is for, and settings of torch._inductor.config."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from irwidget.errors import UsageError, near
from irwidget.toolchain import triton_archs

TRITON = {
    "inductor_triton": "",
    "inductor_ttgir": "triton_gpu_ir",
    "inductor_ptx": "triton_nvptx",
    "inductor_amdgcn": "triton_amdgpu",
    "inductor_sass": "triton_sass",
}
"""Those that are for a GPU, with the IR type of Triton's that they go on to."""
_MAKERS = {"inductor_ptx": "cuda", "inductor_sass": "cuda", "inductor_amdgcn": "hip"}


def arch_of(target: str, options: Mapping[str, Any]) -> str | None:
    """The GPU that an IR type is made for; None for the CPU. Raises UsageError for one that it cannot be made for."""
    given = options.get("arch")
    if target == "inductor_cpp":
        if given:
            raise UsageError(f"inductor_cpp is for the CPU, and --arch {given} is a GPU: lower to inductor_triton")
        return None
    if target not in TRITON:
        return triton_archs.find(given).name if given else None
    arch = triton_archs.find(given or ("gfx942" if target == "inductor_amdgcn" else triton_archs.DEFAULT))
    if _MAKERS.get(target, arch.backend) != arch.backend:
        other = "inductor_amdgcn" if arch.backend == "hip" else "inductor_ptx or inductor_sass"
        raise UsageError(f"{target} cannot be made for {arch.name}: lower to {other}")
    return arch.name


Patches = Mapping[str, Any]
_SETTING = re.compile(r"\s*([\w.]+)\s*=\s*(.*?)\s*$", re.S)


def patches(given: str | Patches | None) -> dict[str, Any]:
    """`"epilogue_fusion=False, triton.max_tiles=2"` as settings by name. Raises UsageError for what is none."""
    if not given:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    found: dict[str, Any] = {}
    for part in re.split(r",(?![^(\[{]*[)\]}])", given):
        setting = _SETTING.match(part)
        if setting is None:
            raise UsageError(f"patches are settings by name, as in 'epilogue_fusion=False', not {part.strip()!r}")
        try:
            found[setting[1]] = ast.literal_eval(setting[2])
        except (ValueError, SyntaxError):
            found[setting[1]] = setting[2]
    return found


def check_names(given: Patches, config: Any) -> None:
    """Raises UsageError for a setting that torch._inductor.config does not have."""
    known = config.get_config_copy()
    for name in given:
        if name not in known:
            raise UsageError(f"torch._inductor.config has no setting {name!r}. {near(name, known)}")
