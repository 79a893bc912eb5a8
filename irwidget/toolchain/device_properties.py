"""What `torch.cuda.get_device_properties` says of a GPU that is not there: what its architecture fixes, no more."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from irwidget.errors import UnsupportedError
from irwidget.toolchain.triton_archs import Arch

_CDNA = ("gfx90a", "gfx942", "gfx950")
_CDNA_THREADS = 2048


class NotThere(UnsupportedError, AttributeError):
    """What only a GPU could say; `hasattr` finds that it is not there."""


class DeviceProperties(SimpleNamespace):
    """What is known; anything else raises NotThere."""

    def __getattr__(self, name: str) -> Any:
        raise NotThere(f"Only a GPU could say its {name}, and there is none")


def capability(arch: Arch) -> tuple[int, int]:
    """(9, 0) for sm_90, (9, 4) for gfx942: what torch.cuda.get_device_capability says."""
    if arch.capability:
        return divmod(arch.capability, 10)
    digits = arch.name.removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)


def device_name(arch: Arch) -> str:
    """What torch.cuda.get_device_name says."""
    return f"{arch.name} (irwidget, no GPU)"


def bfloat16_supported(arch: Arch, including_emulation: bool = True) -> bool:
    """What torch.cuda.is_bf16_supported says."""
    return including_emulation or arch.backend == "hip" or arch.capability >= 80


def threads_of_a_multiprocessor(arch: Arch) -> int:
    """That it holds at most; 0 where it is not known."""
    return _CDNA_THREADS if arch.name in _CDNA else arch.warps * arch.warp_size


def device_properties(arch: Arch, **more: Any) -> DeviceProperties:
    """The properties of an architecture, shared memory in bytes, and what else is given."""
    threads = threads_of_a_multiprocessor(arch)
    major, minor = capability(arch)
    return DeviceProperties(
        name=device_name(arch),
        major=major,
        minor=minor,
        gcnArchName=arch.name,
        multi_processor_count=arch.multiprocessors,
        warp_size=arch.warp_size,
        shared_memory_per_block=arch.shared_memory if arch.backend == "hip" else 48 << 10,
        shared_memory_per_block_optin=arch.shared_memory,
        shared_memory_per_multiprocessor=arch.all_shared_memory or arch.shared_memory,
        regs_per_multiprocessor=arch.registers,
        max_threads_per_block=1024,
        is_integrated=False,
        is_multi_gpu_board=False,
        **more,
        **({"max_threads_per_multi_processor": threads} if threads else {}),
    )
