"""Helion's own Triton program on the CPU, executed from its TTIR: the reference where eager mode runs no kernel."""

from __future__ import annotations

import contextlib
import copy
import io
import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from irwidget.checking.allowance import ExpectedResult
from irwidget.errors import IRWidgetError, UnsupportedError
from irwidget.helion import private, refusals, unwritten
from irwidget.helion.bound import Binding
from irwidget.helion.execute import host_function
from irwidget.helion.triton import device_options
from irwidget.private_torch import pytree

REFERENCE = "Helion's Triton program, executed from its TTIR,"
SECONDS = 60.0
"""What all runs of a program may take together."""
_ARCH = "sm_90"
_SAMPLES = 4
_MARGIN = 8.0
"""The widest of a few samples is exceeded by more samples, but hardly so far."""
_APART = 256.0
"""How many times further than rounding has led a result must be to be called another."""


@dataclass
class _Clock:
    """How long runs may go on."""

    ends: float

    @property
    def left(self) -> float:
        return max(1.0, self.ends - time.monotonic())


@contextlib.contextmanager
def seeded() -> Generator[None]:
    """Meanwhile, PyTorch's random numbers, of which a host function draws seeds, are the same each time."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield


def expected(binding: Binding) -> list[ExpectedResult]:
    """What the program makes of the bound arguments, and how far a right result may be from it.

    How far is measured: it runs again with every float of the arguments off by up to one place of its dtype.

    Raises:
        UnsupportedError: Helion generates no program, or it does what the CPU does not execute.
    """
    clock = _Clock(time.monotonic() + SECONDS)
    began = time.monotonic()
    with unwritten.Filled():
        wanted = _run(binding, copy.deepcopy(binding.arguments), clock)
        took = time.monotonic() - began
        count = max(1, min(_SAMPLES, int(clock.left / max(took, 0.01)) - 1))
        samples = [_run(binding, _shaken(copy.deepcopy(binding.arguments), seed), clock) for seed in range(count)]
    with unwritten.Filled(again=True):
        again = _run(binding, copy.deepcopy(binding.arguments), clock)
    margin = _MARGIN * (1 + math.sqrt(_longest(binding)) / 2)
    results = [_result(i, want, [one[i] for one in samples], margin) for i, want in enumerate(wanted)]
    return [unwritten.marked(result, other) for result, other in zip(results, again, strict=True)]


def widened(results: Sequence[ExpectedResult]) -> list[ExpectedResult]:
    """The same, with what only another program, and no rounding, leads to."""
    return [
        one if one.allowed is None else replace(one, allowed=_APART * one.allowed + _APART * _place(one))
        for one in results
    ]


def _place(result: ExpectedResult) -> float:
    """One place of the largest number of a result."""
    want = torch.as_tensor(result.want)
    largest = want.to(torch.float64).abs().nan_to_num(nan=0.0, posinf=0.0).amax() if want.numel() else 0.0
    return float(largest) * max(torch.finfo(want.dtype).eps, torch.finfo(torch.float32).eps)


def _run(binding: Binding, arguments: Any, clock: _Clock) -> tuple[torch.Tensor, ...]:
    """The tensors that the kernel returns, then those of the arguments, after it has run."""
    try:
        host = host_function(binding, binding.chosen)
        quiet = contextlib.redirect_stdout(io.StringIO())  # what it prints on the device
        with torch.no_grad(), private.pretended_gpu(), seeded(), quiet:
            returned = host(*arguments, _launcher=_executing(clock))
    except IRWidgetError as error:
        raise UnsupportedError(f"nor can its Triton program be executed: {str(error).splitlines()[0]}") from error
    except Exception as error:
        said = refusals.told(error).splitlines()[0]
        raise UnsupportedError(f"nor can its Triton program be executed: {said}") from error
    leaves: Sequence[Any] = pytree.tree_leaves((returned, arguments))
    return tuple(leaf.detach() for leaf in leaves if isinstance(leaf, torch.Tensor))


def _executing(clock: _Clock) -> Callable[..., None]:
    """A launcher that executes each launch."""
    from irwidget.frontends.triton.executing import execute
    from irwidget.frontends.triton.launch import Launch
    from irwidget.frontends.triton.programs import Program
    from irwidget.toolchain.triton_archs import find

    def launch(kernel: Any, grid: Any, *arguments: Any, **options: Any) -> None:
        kept = device_options(options, _ARCH)
        noted = Launch(kernel, arguments, kept, _ARCH, tuple(grid))
        special, source = noted.compiled(seconds=clock.left)
        program = Program(kernel, special.signature, str(source.data), find(_ARCH))
        outside: list[str] = []
        execute(program, arguments, kept, tuple(grid), None, seconds=clock.left, outside=outside.append)
        if outside:
            raise UnsupportedError(outside[0])

    return launch


def _shaken(arguments: Any, seed: int) -> Any:
    """Arguments with floats of 16 bits and more off by up to one place, in place."""
    random = torch.Generator().manual_seed(seed)
    for leaf in pytree.tree_leaves(arguments):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.dtype.itemsize > 1:
            part = torch.rand(leaf.shape, generator=random, dtype=torch.float64) * 2 - 1
            moved = (leaf.to(torch.float64) * (1 + torch.finfo(leaf.dtype).eps * part)).to(leaf.dtype)
            if all(stride or size < 2 for size, stride in zip(leaf.shape, leaf.stride(), strict=True)):
                leaf.copy_(moved)
    return arguments


def _result(number: int, want: torch.Tensor, samples: Sequence[torch.Tensor], margin: float) -> ExpectedResult:
    label = f"result {number}"
    if not want.is_floating_point():
        return ExpectedResult(label, want, others=tuple(one for one in samples if one.shape == want.shape))
    wide, info = want.to(torch.float64), torch.finfo(want.dtype)
    allowed = info.eps * wide.abs().nan_to_num(nan=0.0, posinf=0.0).clamp(max=info.max) + info.smallest_normal
    moved = [(one.to(torch.float64) - wide).abs().nan_to_num() for one in samples if one.shape == want.shape]
    return ExpectedResult(label, want, allowed=allowed + margin * torch.stack(moved).amax(0) if moved else allowed)


def _longest(binding: Binding) -> int:
    leaves: Sequence[Any] = pytree.tree_leaves(binding.arguments)
    return max((max(leaf.shape, default=1) for leaf in leaves if isinstance(leaf, torch.Tensor)), default=1)
