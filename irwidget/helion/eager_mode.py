"""Helion kernels in Helion's own eager mode, op by op, for machines without a GPU."""

from __future__ import annotations

import contextlib
import copy
import functools
import importlib
from collections.abc import Callable, Generator
from typing import Any

import torch

from irwidget import devices, private_torch
from irwidget.helion import private
from irwidget.private_torch import TorchDispatchMode


def kernel(of: Any, configs: list[Any]) -> Any:
    """A copy of a Helion kernel that runs in eager mode."""
    _cpu_ops()
    settings = copy.deepcopy(of.settings)
    settings.ref_mode = private.eager_mode()
    return private.kernel_type()(of.fn, configs=configs, settings=settings)


@contextlib.contextmanager
def calls(note: Callable[[Any, tuple[Any, ...], dict[str, Any]], None]) -> Generator[None]:
    """Meanwhile, tell `note` of every call `kernel(*args, **kwargs)`.

    Without a GPU, eager mode answers it, and `device="cuda"` is the CPU.
    """
    kind = private.kernel_type()
    eager = private.eager_mode()
    original = kind.__call__

    def call(called: Any, *args: Any, **kwargs: Any) -> Any:
        if called.settings.ref_mode != eager:
            note(called, args, kwargs)
            if not torch.cuda.is_available():
                called = kernel(called, called.configs)
        return original(called, *args, **kwargs)

    kind.__call__ = call
    try:
        with devices.without_gpu():
            yield
    finally:
        kind.__call__ = original


@functools.cache
def _cpu_ops() -> Any:
    """Products with a result type, which Helion's eager mode calls and PyTorch has for CUDA only.

    PyTorch releases them with the library object, so it is kept.
    """
    library: Any = importlib.import_module("torch.library").Library("aten", "IMPL")

    def product(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return a.to(dtype) @ b.to(dtype)

    def added(
        c: torch.Tensor, a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, *, beta: float = 1, alpha: float = 1
    ) -> torch.Tensor:
        return beta * c.to(dtype) + alpha * product(a, b, dtype)

    for name, function in {"mm": product, "bmm": product, "addmm": added, "baddbmm": added}.items():
        if not private_torch.has_cpu_kernel(f"aten::{name}.dtype"):
            library.impl(f"{name}.dtype", function, "CPU")
    return library


@contextlib.contextmanager
def as_lowered() -> Generator[None]:
    """Meanwhile, what eager mode leaves open is as in the module: the order of equals, lanes that meet in an atomic."""
    with private.eager_atomics(_lane_by_lane), _EqualsAsTheyStand():
        yield


def _lane_by_lane(update: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """An atomic of eager mode, `update(target, index, value, op)`, in which lanes that meet in an element all count."""

    def updated(target: torch.Tensor, index: Any, value: Any, op: Callable[..., torch.Tensor]) -> torch.Tensor:
        places = update(torch.arange(target.numel()).reshape(target.shape), index, 0, lambda old, _: old)
        if places.unique().numel() == places.numel():
            return update(target, index, value, op)
        values = torch.as_tensor(value, dtype=target.dtype).expand(places.shape).reshape(-1)
        before = target.new_empty(places.numel())
        for lane, place in enumerate(places.reshape(-1)):
            where = torch.unravel_index(place, target.shape)
            before[lane] = target[where]
            target[where] = op(before[lane], values[lane])
        return before.reshape(places.shape)

    return updated


class _EqualsAsTheyStand(TorchDispatchMode):
    """Meanwhile, what is sorted keeps equal elements in their order, which PyTorch otherwise leaves open."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func not in (torch.ops.aten.sort.default, torch.ops.aten.topk.default):
            return func(*args, **(kwargs or {}))
        largest = func is torch.ops.aten.topk.default
        (x, *given), count = args, None
        if largest:
            count, *given = given
        said = dict(zip(("dim", "largest" if largest else "descending"), given, strict=False)) | (kwargs or {})
        dim, descending = said.get("dim", -1), said.get("largest" if largest else "descending", largest)
        found = torch.ops.aten.sort.stable(x, stable=True, dim=dim, descending=descending)
        return found if count is None else tuple(one.narrow(dim, 0, count) for one in found)
