"""A GPU that is not there, as Triton's driver and `torch.cuda` describe it: what they answer for an architecture."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch

from irwidget.devices import on_cpu
from irwidget.frontends.triton.failures import NotExecuted
from irwidget.frontends.triton.measuring import Unmeasured, not_measured
from irwidget.private_torch import FakeTensor
from irwidget.toolchain import triton_private
from irwidget.toolchain.triton_archs import Arch

CUDA = torch.device("cuda", 0)


def properties(arch: Arch) -> dict[str, Any]:
    """What Triton's driver says of a device."""
    return {
        "max_shared_mem": arch.shared_memory,
        "multiprocessor_count": arch.multiprocessors,
        "max_num_regs": arch.registers,
        "warpSize": arch.warp_size,
        "sm_clock_rate": 1_500_000,
        "mem_clock_rate": 1_500_000,
        "mem_bus_width": 5120,
        "arch": arch.name,
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


def capability(arch: Arch) -> tuple[int, int]:
    """(9, 0) for sm_90, (9, 4) for gfx942: what torch.cuda.get_device_capability says."""
    if arch.capability:
        return divmod(arch.capability, 10)
    digits = arch.name.removeprefix("gfx")
    return int(digits[:-2]), int(digits[-2], 16)


class _Event:
    """torch.cuda.Event without a GPU: no time passes that could be measured."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, stream: Any = None) -> None:
        pass

    def wait(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Any) -> float:
        return Unmeasured()


class _Stream(_Event):
    """torch.cuda.Stream without a GPU."""

    cuda_stream = 0
    device = CUDA

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> _Event:
        return event or _Event()


class VendorLibrary:
    """A vendor's library of products (cuBLAS, hipBLAS), which is not there without a GPU: computes nothing."""

    def __init__(self, name: str, tell: Callable[[str], None], *args: Any) -> None:
        self._name, self._tell = name, tell

    def __getattr__(self, name: str) -> Callable[..., None]:
        def compute(*args: Any, **kwargs: Any) -> None:
            """Raises NotExecuted where tensors have values, for the result has none."""
            if not isinstance(torch.empty(0), FakeTensor):
                raise NotExecuted(f"{self._name}.{name} is a library's for a GPU, and there is none")
            self._tell(f"{self._name}.{name} is left out: a library's for a GPU, it has no kernel that could be shown")

        return compute


class _CudaGraph:
    """torch.cuda.CUDAGraph without a GPU: what is launched while it is captured is launched, once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def replay(self) -> None:
        """Does nothing where tensors have no values. Raises NotExecuted where they have."""
        if not isinstance(torch.empty(0), FakeTensor):
            raise NotExecuted("a CUDA graph is not replayed without a GPU")

    def capture_begin(self, *args: Any, **kwargs: Any) -> None:
        pass

    capture_end = reset = capture_begin

    def pool(self) -> tuple[int, int]:
        return 0, 0


def _captured(graph: Any = None, *args: Any, **kwargs: Any) -> contextlib.AbstractContextManager[Any]:
    """torch.cuda.graph without a GPU."""
    return contextlib.nullcontext(graph)


class Generator(torch.Generator):
    """torch.Generator, on the CPU."""

    def __new__(cls, device: Any = "cpu") -> Generator:
        return super().__new__(cls, on_cpu(device))  # pyright: ignore[reportCallIssue]


def not_compiled(tell: Callable[[str], None]) -> Callable[..., Any]:
    """torch.compile that leaves functions as they are: without a GPU it has nothing to compile for."""

    def compile(model: Any = None, **options: Any) -> Any:
        tell("torch.compile is left out: functions run as they are written, and its kernels are not shown")
        return model if model is not None else lambda function: function  # pyright: ignore[reportUnknownLambdaType]

    return compile


def no_op() -> Callable[..., None]:
    return lambda *args, **kwargs: None


def _nothing() -> Callable[..., Any]:
    return lambda *args, **kwargs: contextlib.nullcontext()


def torch_cuda(arch: Arch) -> dict[str, Any]:
    """What `torch.cuda` answers."""
    name = f"{arch.name} (irwidget, no GPU)"
    shown = SimpleNamespace(
        name=name,
        major=capability(arch)[0],
        minor=capability(arch)[1],
        gcnArchName=arch.name,
        multi_processor_count=arch.multiprocessors,
        total_memory=80 << 30,
        warp_size=arch.warp_size,
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=arch.shared_memory,
        shared_memory_per_multiprocessor=arch.shared_memory,
        regs_per_multiprocessor=arch.registers,
        max_threads_per_multi_processor=2048,
        max_threads_per_block=1024,
        is_integrated=False,
        is_multi_gpu_board=False,
        L2_cache_size=50 << 20,
    )

    quiet = [
        "synchronize",
        "empty_cache",
        "set_device",
        "init",
        "reset_peak_memory_stats",
        "manual_seed",
        "manual_seed_all",
        "set_stream",
        "ipc_collect",
    ]
    return {
        "is_available": lambda: True,
        "is_initialized": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_name": lambda device=None: name,
        "get_device_capability": lambda device=None: capability(arch),
        "get_device_properties": lambda device=None: shown,
        "is_bf16_supported": lambda *a, **k: True,
        "current_stream": lambda device=None: _Stream(),
        "default_stream": lambda device=None: _Stream(),
        "memory_allocated": lambda device=None: 0,
        "max_memory_allocated": lambda device=None: 0,
        "mem_get_info": lambda device=None: (80 << 30, 80 << 30),
        "device": _nothing(),
        "device_of": _nothing(),
        "stream": _nothing(),
        "Stream": _Stream,
        "CUDAGraph": _CudaGraph,
        "graph": _captured,
        "Event": _Event,
        **{name: no_op() for name in quiet},  # each of its own: Dynamo knows functions by identity
    }
