"""Who is right where a test of Helion's and our module differ: the same kernel in Helion's eager mode, in float64."""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch

from irwidget.private_torch import TorchDispatchMode, pytree

_NARROW = (torch.float16, torch.bfloat16, torch.float32)
_TOLERANCES = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
}  # fmt: skip
"""Those of `torch.testing.assert_close`, relative and absolute, where a test gives none."""
_LIMIT = 2**29
"""Bytes of arguments of a launch that are kept."""


class Launch:
    """A kernel, the arguments that it was given as they were before, and what our module returned."""

    def __init__(self, kernel: Any, config: Any, arguments: tuple[Any, ...]) -> None:
        self.kernel, self.config, self.arguments = kernel, config, arguments
        small = sum(tensor.nbytes for tensor in _tensors(arguments)) < _LIMIT
        self.before = _copied(arguments) if small else None
        self.returned: Any = None

    def leaves_its_tensors(self) -> bool:
        """Whether Helion's eager mode ends at an index that lies outside of a tensor."""
        try:
            self._eager(copy.deepcopy(self.before))
        except (IndexError, RuntimeError) as error:
            return "out of bounds" in str(error)
        return False

    def nearer(self, close: Any, actual: Any, expected: Any, tolerances: dict[str, Any]) -> bool:
        """Whether `actual` is a result of this launch that is close to the kernel's in float64, and `expected` is not.

        `close` raises AssertionError for what is not, as `torch.testing.assert_close` with its tolerances.
        """
        if not isinstance(actual, torch.Tensor) or not isinstance(expected, torch.Tensor):
            return False
        ours = [*_tensors((self.returned, self.arguments))]
        for place, result in enumerate(ours):
            if result.shape != actual.shape or not torch.equal(result.to(actual.dtype).double(), actual.double()):
                continue
            if self._wide is None or place >= len(self._wide) or self._wide[place].shape != actual.shape:
                continue
            if tolerances["rtol"] is None:
                rtol, atol = zip(*(_TOLERANCES.get(one.dtype, (0.0, 0.0)) for one in (actual, expected)), strict=True)
                tolerances = {"rtol": max(rtol), "atol": max(atol)}
            wide = self._wide[place].double()
            near, theirs = (_holds(close, one, wide, tolerances) for one in (actual, expected))
            if near and not theirs:
                return True
        return False

    def unlike(self, close: Any, made: Any, tolerances: dict[str, float] | None = None) -> str:
        """How what another module for this launch returned and left of its arguments differs; empty where it does not.

        Alike is what is close, and what is at most twice as far from the kernel in float64.
        """
        ours, others = [*_tensors((self.returned, self.arguments))], [*_tensors(made)]
        if len(ours) != len(others):
            return f"{len(others)} tensors and not {len(ours)}"
        for place, (one, other) in enumerate(zip(ours, others, strict=True)):
            try:
                close(other, one, equal_nan=True, **_both(tolerances or {}))
            except AssertionError as error:
                wide = self._wide
                if wide is None or place >= len(wide) or wide[place].shape != one.shape:
                    return str(error)
                far, farther = ((value.double() - wide[place]).abs().max().item() for value in (one, other))
                if not farther <= 2 * far:  # also where one is NaN
                    return f"{farther:.3g} from float64, and {far:.3g}: {error}"
        return ""

    @functools.cached_property
    def _wide(self) -> list[torch.Tensor] | None:
        """The tensors that the kernel returns and its arguments after it in float64; None where eager mode fails."""
        widened = pytree.tree_map(_widen, copy.deepcopy(self.before))
        default = torch.get_default_dtype()
        try:
            torch.set_default_dtype(torch.float64)
            with _Widening():
                return [*_tensors((self._eager(widened), widened))]
        except Exception as error:
            print(f"no float64: {type(error).__name__}: {error}")
            return None
        finally:
            torch.set_default_dtype(default)

    def _eager(self, arguments: Any) -> Any:
        from irwidget import devices
        from irwidget.helion import eager_mode

        if arguments is None:
            raise ValueError("the arguments are too large to keep")
        with torch.no_grad(), devices.without_gpu():
            return eager_mode.kernel(self.kernel, [self.config])(*arguments)


def _both(tolerances: dict[str, float]) -> dict[str, float]:
    """`assert_close` takes a relative and an absolute tolerance, or neither."""
    return {"rtol": 0.0, "atol": 0.0, **tolerances} if tolerances else {}


def _copied(arguments: Any) -> Any:
    """A copy of arguments that PyTorch does not differentiate, of which those that share memory share it."""
    plain = pytree.tree_map(lambda one: one.detach() if isinstance(one, torch.Tensor) else one, arguments)
    return copy.deepcopy(plain)


class _Widening(TorchDispatchMode):
    """Every op that makes narrower floats makes float64."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = pytree.tree_map(_wide_dtype, (args, kwargs or {}))
        return function(*args, **kwargs)


def _wide_dtype(value: Any) -> Any:
    return torch.float64 if isinstance(value, torch.dtype) and value in _NARROW else value


def _widen(value: Any) -> Any:
    return value.double() if isinstance(value, torch.Tensor) and value.dtype in _NARROW else value


def _tensors(values: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _holds(close: Any, value: torch.Tensor, wide: torch.Tensor, tolerances: dict[str, Any]) -> bool:
    try:
        close(value.double(), wide, **tolerances)
    except AssertionError:
        return False
    return True
