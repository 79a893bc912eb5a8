"""A GPU that is not there, as Triton's driver describes it: what it answers for an architecture."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from irwidget.frontends.triton.failures import NotExecuted
from irwidget.frontends.triton.measuring import Unmeasured, not_measured
from irwidget.frontends.triton.tape import Tape
from irwidget.private_torch import FakeTensor
from irwidget.toolchain import triton_private
from irwidget.toolchain.device_properties import capability, threads_of_a_multiprocessor
from irwidget.toolchain.triton_archs import Arch

CUDA = torch.device("cuda", 0)


def _of_hip(arch: Arch) -> dict[str, Any]:
    """What only AMD's driver says."""
    if arch.backend == "cuda":
        return {}
    threads = threads_of_a_multiprocessor(arch)
    return {"arch": arch.name, **({"max_threads_per_sm": threads} if threads else {})}


_OF_A_BOARD = ("sm_clock_rate", "mem_clock_rate", "mem_bus_width")
"""What no architecture fixes."""


def properties(arch: Arch) -> dict[str, Any]:
    """What Triton's driver says of a device."""
    return {
        "max_shared_mem": arch.shared_memory,
        "multiprocessor_count": arch.multiprocessors,
        "max_num_regs": arch.registers,
        "warpSize": arch.warp_size,
        **_of_hip(arch),
        **dict.fromkeys(_OF_A_BOARD, Unmeasured()),
    }


def driver(arch: Arch) -> Any:
    """A driver of Triton's for a GPU that is not there."""
    base: Any = triton_private.driver_base()

    class PretendDriver(base):
        pretended = True
        utils = SimpleNamespace(
            get_device_properties=lambda device: properties(arch), unload_module=lambda module: None
        )

        @classmethod
        def is_active(cls) -> Any:
            return True

        def map_python_to_cpp_type(self, ty: str) -> str:
            return ty

        def get_current_target(self) -> Any:
            return triton_private.gpu_target(arch)

        def get_current_device(self) -> int:
            return 0

        def set_current_device(self, device: int) -> None:
            pass

        def get_current_stream(self, device: Any = None) -> int:
            return 0

        def get_active_torch_device(self) -> Any:
            return CUDA

        def get_device_capability(self, device: Any = 0) -> tuple[int, int]:
            return capability(arch)

        def get_device_interface(self) -> Any:
            return torch.cuda

        def get_empty_cache_for_benchmark(self) -> torch.Tensor:
            return torch.empty(1, dtype=torch.int)

        def clear_cache(self, cache: Any) -> None:
            pass

        def get_benchmarker(self) -> Callable[..., Any]:
            return not_measured

    return PretendDriver()


def pretending() -> bool:
    """Whether the GPU that Triton sees is one of ours."""
    active = vars(triton_private.driver_config()).get(triton_private.ACTIVE_DRIVER)
    return bool(getattr(active, "pretended", False))


def followed() -> Tape | None:
    """The tape of what happens to tensors without values; None where tensors have values."""
    tensor = torch.empty(0)
    mode: Any = tensor.fake_mode if isinstance(tensor, FakeTensor) else None
    return None if mode is None else mode.reader.tape


def forget_all(reason: str) -> bool:
    """Have nothing known of any tensor, where something unseen may have written; False where tensors have values."""
    tape = followed()
    if tape is not None:
        tape.forget(reason)
    return tape is not None


class VendorLibrary:
    """A vendor's library of products (cuBLAS, hipBLAS), which is not there without a GPU: the CPU computes products."""

    def __init__(self, name: str, tell: Callable[[str], None], *args: Any) -> None:
        self._name, self._tell = name, tell

    def matmul(self, a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> None:
        """`a` (M x K) times the transposed `b` (N x K) into `out` (M x N)."""
        self._tell(f"{self._name}.matmul is computed by PyTorch: a library's for a GPU, it has no kernel to be shown")
        out.copy_(a.float() @ b.float().t())

    def __getattr__(self, name: str) -> Callable[..., None]:
        def compute(*args: Any, **kwargs: Any) -> None:
            """Raises NotExecuted where tensors have values, for the result has none."""
            if not forget_all(f"{self._name}.{name}, a library's for a GPU, may have written it"):
                raise NotExecuted(f"{self._name}.{name} is a library's for a GPU, and there is none")
            self._tell(f"{self._name}.{name} is left out: a library's for a GPU, it has no kernel that could be shown")

        return compute


def not_compiled(tell: Callable[[str], None]) -> Callable[..., Any]:
    """torch.compile that leaves functions as they are: without a GPU it has nothing to compile for."""

    def compile(model: Any = None, **options: Any) -> Any:
        tell("torch.compile is left out: functions run as they are written, and its kernels are not shown")
        return model if model is not None else lambda function: function  # pyright: ignore[reportUnknownLambdaType]

    return compile


def no_op() -> Callable[..., None]:
    return lambda *args, **kwargs: None
