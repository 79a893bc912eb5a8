"""Tensors on the CPU that say that they are on `cuda:0`: fake ones, or with values."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from irwidget import private_torch
from irwidget.devices import on_cpu, on_cpu_kwargs
from irwidget.frontends.triton.gpu import CUDA
from irwidget.private_torch import DisableTorchFunction, FakeTensor, FakeTensorMode, disable_current_modes

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


@contextlib.contextmanager
def as_it_is() -> Generator[None]:
    """Within `pretend`, tensors as they really are: for code of Triton's that copies what it finds."""
    with DisableTorchFunction(), disable_current_modes():
        yield


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
    torch.Tensor.device.__get__: lambda tensor: CUDA,  # pyright: ignore[reportAttributeAccessIssue]
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


@contextlib.contextmanager
def on_a_gpu(*, values: bool) -> Generator[None]:
    """Within it, tensors say that they are on the GPU; with `values` they have some."""
    fake = _Inside() if values else fake_mode()
    device = FakeTensor.device

    def shown_device(tensor: Any) -> torch.device:
        real: torch.device = device.fget(tensor)  # pyright: ignore[reportOptionalCall, reportAttributeAccessIssue]
        return real if fake.depth or real.type != "cpu" else CUDA

    with ExitStack() as stack:
        mode = _Pretend(fake)
        stack.enter_context(replaced(BackwardCFunction, "apply", _outside(mode, BackwardCFunction.apply)))
        if isinstance(fake, _FakeMode):
            stack.enter_context(replaced(torch.nn.Module, "_apply", _apply))
            stack.enter_context(replaced(FakeTensor, "device", property(shown_device)))
            stack.enter_context(fake)
        stack.enter_context(mode)
        yield
