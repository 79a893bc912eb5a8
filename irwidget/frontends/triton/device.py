"""A machine without a GPU, made to look like one with: for as long as a cell runs.

Tensors are fake ones on the CPU (shapes and types without data), or with `values` real ones there, that say they
are on `cuda:0`; Triton's driver names the architecture; `torch.cuda` answers.
Tensors that were fake CUDA ones inside would abort the process in autograd.
Everything is put back at the end.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from irwidget import private_torch
from irwidget.devices import on_cpu, on_cpu_kwargs
from irwidget.frontends.triton.failures import NotExecuted
from irwidget.private_torch import DisableTorchFunction, FakeTensor, FakeTensorMode, disable_current_modes
from irwidget.toolchain import triton_private
from irwidget.toolchain.triton_archs import Arch

_CUDA = torch.device("cuda", 0)
_missing = object()


@contextlib.contextmanager
def replaced(owner: Any, name: str, value: Any) -> Generator[None]:
    """Set an attribute for a while; what was there, or its absence, comes back."""
    before = vars(owner).get(name, _missing)
    setattr(owner, name, value)
    try:
        yield
    finally:
        if before is _missing:
            delattr(owner, name)
        else:
            setattr(owner, name, before)


class _FakeMode(FakeTensorMode):
    """A fake tensor mode that knows when it is at work itself, and keeps everything on the CPU."""

    depth = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function := private_torch.custom_op_function(func):  # an operator of the user's, which launches kernels
            return self._outside(function, args, kwargs or {})
        self.depth += 1
        try:
            return super().__torch_dispatch__(func, types, args, on_cpu_kwargs(kwargs))
        finally:
            self.depth -= 1

    def _outside(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Python of the user's, which torch calls, sees the same world as the cell."""
        depth, self.depth = self.depth, 0
        try:
            with self, _Pretend(self):
                return function(*args, **kwargs)
        finally:
            self.depth = depth


_fake: _FakeMode | None = None


def fake_mode() -> _FakeMode:
    """One mode for all captures: tensors of two modes do not mix, and a cell may use those of another."""
    global _fake
    if _fake is None:
        _fake = _FakeMode(allow_non_fake_inputs=True)
    return _fake


class _Inside:
    """How deep in torch's own code a tensor is asked."""

    depth = 0


class _Pretend(TorchFunctionMode):
    """Tensors say that they are on the GPU; what asks for the GPU gets the CPU."""

    def __init__(self, fake: _FakeMode | _Inside) -> None:
        super().__init__()
        self.fake = fake

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.fake.depth or func is torch.device:
            return func(*args, **(kwargs or {}))
        answer = _ANSWERS.get(func)
        if answer is not None:
            return answer(*args, **(kwargs or {}))
        self.fake.depth += 1  # inside torch's Python functions tensors are where they really are
        try:
            with private_torch.custom_op_wrapped(func, partial(_outside, self)):
                return func(*[on_cpu(arg) for arg in args], **on_cpu_kwargs(kwargs))
        finally:
            self.fake.depth -= 1


_ANSWERS: dict[Any, Callable[..., Any]] = {
    torch.Tensor.device.__get__: lambda tensor: _CUDA,  # pyright: ignore[reportAttributeAccessIssue]
    torch.Tensor.is_cuda.__get__: lambda tensor: True,  # pyright: ignore[reportAttributeAccessIssue]
    torch.Tensor.get_device: lambda tensor: 0,
    torch.Tensor.cuda: lambda tensor, *args, **kwargs: tensor,
    torch.Tensor.data_ptr: lambda tensor: _address(tensor),
}


def _address(tensor: torch.Tensor) -> int:
    from irwidget.frontends.triton.stand_ins import stand_in

    if not isinstance(tensor, FakeTensor):
        with as_it_is():
            return tensor.data_ptr()
    with DisableTorchFunction():
        return stand_in(tensor).address


def _outside(mode: _Pretend, function: Callable[..., Any]) -> Callable[..., Any]:
    """Python of the user's that torch calls, as a backward function, sees the same world as the cell."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        depth, mode.fake.depth = mode.fake.depth, 0
        try:
            with mode:
                return function(*args, **kwargs)
        finally:
            mode.fake.depth = depth

    return apply


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
            return _CUDA

        def get_device_capability(self, device: Any = 0) -> tuple[int, int]:
            return capability(arch)

        def get_device_interface(self) -> Any:
            return torch.cuda

        def get_empty_cache_for_benchmark(self) -> torch.Tensor:
            return torch.empty(1, dtype=torch.int)

        def clear_cache(self, cache: Any) -> None:
            pass

        def get_benchmarker(self) -> Callable[..., Any]:
            return _not_measured

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


class Unmeasured(float):
    """A time that nobody has measured: not a number, but one where code makes an integer of it, as a count of runs."""

    def __new__(cls) -> Unmeasured:
        return super().__new__(cls, "nan")

    def _with(self, other: Any) -> Unmeasured:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _with
    __floordiv__ = __rfloordiv__ = _with

    def __int__(self) -> int:
        return 1

    __trunc__ = __ceil__ = __floor__ = __int__


_measuring = 0


def measuring() -> bool:
    """Whether a benchmark is under way, whose launches are noted and not executed."""
    return _measuring > 0


def _not_measured(call: Callable[[], Any], *args: Any, quantiles: Any = None, **options: Any) -> Any:
    """Triton's do_bench without a GPU: calls once, and says no time."""
    global _measuring
    _measuring += 1
    try:
        call()
    finally:
        _measuring -= 1
    return [Unmeasured() for _ in quantiles] if quantiles and len(quantiles) > 1 else Unmeasured()


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
    device = _CUDA

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> _Event:
        return event or _Event()


class _Library:
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


class _Generator(torch.Generator):
    """torch.Generator, on the CPU."""

    def __new__(cls, device: Any = "cpu") -> _Generator:
        return super().__new__(cls, on_cpu(device))  # pyright: ignore[reportCallIssue]


def _not_compiled(tell: Callable[[str], None]) -> Callable[..., Any]:
    """torch.compile that leaves functions as they are: without a GPU it has nothing to compile for."""

    def compile(model: Any = None, **options: Any) -> Any:
        tell("torch.compile is left out: functions run as they are written, and its kernels are not shown")
        return model if model is not None else lambda function: function  # pyright: ignore[reportUnknownLambdaType]

    return compile


def _apply(module: torch.nn.Module, function: Callable[[Any], Any], recurse: bool = True) -> torch.nn.Module:
    """Module._apply (`cuda`, `to`, `half` ...) for fake parameters, which cannot be changed in place."""
    for child in module.children() if recurse else ():
        _apply(child, function)
    for name, parameter in module.named_parameters(recurse=False):
        changed = torch.nn.Parameter(function(parameter.detach()), parameter.requires_grad)
        module.register_parameter(name, changed)
    for name, buffer in module.named_buffers(recurse=False):
        setattr(module, name, function(buffer))
    return module


def _no_op() -> Callable[..., None]:
    return lambda *args, **kwargs: None


def _nothing() -> Callable[..., Any]:
    return lambda *args, **kwargs: contextlib.nullcontext()


def _torch_cuda(arch: Arch) -> dict[str, Any]:
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
        shared_memory_per_block_optin=arch.shared_memory,
        shared_memory_per_multiprocessor=arch.shared_memory,
        regs_per_multiprocessor=arch.registers,
        max_threads_per_multi_processor=2048,
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
        **{name: _no_op() for name in quiet},  # each of its own: Dynamo knows functions by identity
    }


@contextlib.contextmanager
def as_it_is() -> Generator[None]:
    """Within `pretend`, tensors as they really are: for code of Triton's that copies what it finds."""
    with DisableTorchFunction(), disable_current_modes():
        yield


@contextlib.contextmanager
def machine(arch: Arch, tell: Callable[[str], None] = lambda _: None) -> Generator[None]:
    """Triton and `torch.cuda` say that there is a GPU of this architecture; tensors are as they are.

    `tell` is told what is left out of what code asks for.
    """
    with ExitStack() as stack:
        stack.enter_context(private_torch.plain_triton_kernels())
        for name in ("range_push", "range_pop", "mark"):
            stack.enter_context(replaced(torch.cuda.nvtx, name, _no_op()))
        stack.enter_context(replaced(triton_private.driver_config(), triton_private.ACTIVE_DRIVER, driver(arch)))
        for name, value in _torch_cuda(arch).items():
            stack.enter_context(replaced(torch.cuda, name, value))
        stack.enter_context(replaced(torch, "set_default_device", lambda device: None))
        stack.enter_context(replaced(torch, "Generator", _Generator))
        stack.enter_context(replaced(torch, "compile", _not_compiled(tell)))
        for module, name in triton_private.vendor_libraries():
            stack.enter_context(replaced(module, name, partial(_Library, name, tell)))
        for name in ("do_bench", "do_bench_cudagraph"):
            stack.enter_context(replaced(triton_private.testing(), name, _not_measured))
        stack.enter_context(replaced(torch.version, "hip", "6.4" if arch.backend == "hip" else None))
        stack.enter_context(replaced(torch.version, "cuda", None if arch.backend == "hip" else "13.0"))
        yield


@contextlib.contextmanager
def pretend(arch: Arch, *, values: bool = False, tell: Callable[[str], None] = lambda _: None) -> Generator[None]:
    """Run the body as on a machine with a GPU of this architecture; with `values`, its tensors have some."""
    fake = _Inside() if values else fake_mode()
    device = FakeTensor.device

    def shown_device(tensor: Any) -> torch.device:
        real: torch.device = device.fget(tensor)  # pyright: ignore[reportOptionalCall, reportAttributeAccessIssue]
        return real if fake.depth or real.type != "cpu" else _CUDA

    with ExitStack() as stack:
        stack.enter_context(machine(arch, tell))
        mode = _Pretend(fake)
        stack.enter_context(replaced(BackwardCFunction, "apply", _outside(mode, BackwardCFunction.apply)))
        if isinstance(fake, _FakeMode):
            stack.enter_context(replaced(torch.nn.Module, "_apply", _apply))
            stack.enter_context(replaced(FakeTensor, "device", property(shown_device)))
            stack.enter_context(fake)
        stack.enter_context(mode)
        yield
