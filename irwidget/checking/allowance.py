"""What a result may be: how far each element may be from eager PyTorch's, or from the exact value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

_MARGIN = 4.0
"""The widest of a few samples is exceeded by more samples, but hardly so far."""
_UNKNOWN = 8.0
"""Of a float64 program: how much wider than a few samples its rounding, which nothing wider measures, may be."""
_ULPS = 2.0


class Unchecked(Exception):
    """There is nothing to compare with; the message says why."""


@dataclass(frozen=True)
class ExpectedResult:
    """One result of a program."""

    label: str
    """`result 0`, `buffer 'seen'`, `input 'x'`."""
    want: torch.Tensor | int | float | bool
    """Eager PyTorch's."""
    exact: torch.Tensor | None = None
    """In float64 (or complex128); None for integers, and where float64 does not agree with eager."""
    allowed: torch.Tensor | None = None
    """For each element, how far a right result may be from `exact` (from `want` where that is None)."""
    others: tuple[torch.Tensor, ...] = ()
    """Values of integers and booleans that another rounding before them gives."""
    open: torch.Tensor | None = None
    """Which elements may be anything, because PyTorch does not say what they are."""
    why_open: str = "PyTorch leaves them open"
    left: torch.Tensor | None = None
    """Which elements nothing has written: they must be as the memory was filled before."""


def result_of(
    label: str,
    want: Any,
    exact: Any,
    samples: Sequence[Any],
    written: Callable[[], Any] = lambda: None,
    shaken: Callable[[], Sequence[Any]] = lambda: (),
) -> ExpectedResult:
    """A result with what it may be.

    `exact` and `samples` are of the program whose operators were taken apart. Where they say something else than eager
    PyTorch, and no rounding does, `written` is asked for the exact result of the program before that: what was taken
    apart wrongly must not be the measure. If it is the same, eager PyTorch may be what is inexact, as a kernel for
    bfloat16 is that becomes operators of float32: `shaken` has the results of that program with rounding noise.
    """
    import torch

    if not isinstance(want, torch.Tensor):
        if not isinstance(want, bool | int | float):
            raise Unchecked(f"{label} is a {type(want).__name__}, which compiled code cannot return")
        return _number(label, want, exact, samples, written)
    want = want.detach().cpu().contiguous().clone()
    if not isinstance(exact, torch.Tensor) or exact.shape != want.shape:
        return ExpectedResult(label, want)
    if not (want.is_floating_point() or want.is_complex()):
        settled = torch.stack([sample == exact for sample in samples]).all(0)
        wrong = _wrong(settled & (exact != want), want, exact, written)
        others = (torch.where(wrong, want, sample.to(want.dtype)) for sample in (exact, *samples))
        return ExpectedResult(label, want, others=tuple(one for one in others if not torch.equal(one, want)))
    most = torch.finfo(want.dtype).max
    noise = torch.stack([_distance(_within(sample, most), _within(exact, most)) for sample in samples]).amax(0)
    exact = _held(exact, most)
    if torch.finfo(want.dtype).bits == 64:
        noise = _UNKNOWN * noise  # the float64 evaluation is no more exact than the result, and its own error unseen
    floor = _floor(want, exact)
    own = _distance(want, exact)
    if not (_trusted(own, noise, floor) or _trusted(own, _as_written(exact, noise, floor, written, shaken), floor)):
        return ExpectedResult(label, want, None, _MARGIN * noise + floor)
    wrong = _wrong(~_explained(own, noise, floor), want, exact, written)
    allowed = torch.maximum(_MARGIN * noise, torch.where(wrong, 0.0, 2 * own)) + floor
    return ExpectedResult(label, want, torch.where(wrong, want.to(exact.dtype), exact), allowed)


def _as_written(
    exact: torch.Tensor,
    noise: torch.Tensor,
    floor: torch.Tensor,
    written: Callable[[], Any],
    shaken: Callable[[], Sequence[Any]],
) -> torch.Tensor:
    """How far rounding may lead of the program as it was written; `noise` where that is another program."""
    import torch

    meant = written()
    if not isinstance(meant, torch.Tensor) or meant.shape != exact.shape:
        return noise
    if not bool((_distance(meant.to(exact.dtype), exact) <= _MARGIN * noise + floor).all()):
        return noise
    return torch.stack([noise, *(_distance(one.to(exact.dtype), exact) for one in shaken())]).amax(0)


def _wrong(doubtful: torch.Tensor, want: torch.Tensor, exact: torch.Tensor, written: Callable[[], Any]) -> torch.Tensor:
    """Of doubtful elements those where the program as it was written is nearer to eager PyTorch than to `exact`."""
    import torch

    meant = written() if bool(doubtful.any()) else None
    if not isinstance(meant, torch.Tensor) or meant.shape != exact.shape:
        return torch.zeros_like(doubtful)
    wide = torch.complex128 if exact.is_complex() else torch.float64
    meant = meant.to(wide)
    return doubtful & (_distance(want.to(wide), meant) < _distance(exact.to(wide), meant))


def _number(
    label: str, want: bool | int | float, exact: Any, samples: Sequence[Any], written: Callable[[], Any]
) -> ExpectedResult:
    """A number, judged as an element of a tensor is."""
    import torch

    kind = torch.float64 if isinstance(want, float) else torch.bool if isinstance(want, bool) else torch.int64

    def tensor(value: Any) -> Any:
        return None if value is None else torch.tensor(value, dtype=kind)

    made = result_of(label, tensor(want), tensor(exact), list(map(tensor, samples)), lambda: tensor(written()))
    return replace(made, want=want)


def _within(value: torch.Tensor, most: float) -> torch.Tensor:
    """Numbers that are too large for the dtype as its largest; infinities as they are."""
    import torch

    return value if value.is_complex() else torch.where(value.isinf(), value, value.clamp(-most, most))


def _held(exact: torch.Tensor, most: float) -> torch.Tensor:
    """The same as infinities, which they are in the dtype."""
    import torch

    return exact if exact.is_complex() else torch.where(exact.abs() > most, exact * math.inf, exact)


def _distance(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Between elements, as float64; 0 where both are the same infinity or NaN, infinite where only one is."""
    import torch

    one, other = one.to(other.dtype) if one.dtype != other.dtype else one, other
    same = (one == other) | (one.isnan() & other.isnan())
    far = (one - other).abs().to(torch.float64)
    return torch.where(same, 0.0, far.nan_to_num(nan=math.inf, posinf=math.inf))


def _floor(want: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """A few units in the last place, and what underflows."""
    import torch

    info = torch.finfo(want.dtype)
    size = exact.abs().to(torch.float64).nan_to_num(nan=0.0, posinf=0.0)
    return _ULPS * info.eps * size.clamp(max=info.max) + info.smallest_normal


def _trusted(own: torch.Tensor, noise: torch.Tensor, floor: torch.Tensor) -> bool:
    """Whether eager is as close to the float64 evaluation as rounding explains: then both are the same program."""
    return not own.numel() or bool(_explained(own, noise, floor).double().mean() >= 0.98)


def _explained(own: torch.Tensor, noise: torch.Tensor, floor: torch.Tensor) -> torch.Tensor:
    """The elements whose distance from the float64 evaluation rounding explains."""
    return own <= 16 * _MARGIN * noise + 16 * floor
