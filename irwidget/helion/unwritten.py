"""Memory that a kernel's host code makes and nothing writes: told from what is computed by what it was filled with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from irwidget.checking.allowance import ExpectedResult
from irwidget.checking.evaluate import EMPTIES
from irwidget.private_torch import TorchDispatchMode
from irwidget.trace import Verdict

_BYTES = (0xFF, 0x3C)
"""What fills memory: of floats NaN, and a number; of integers the greatest or -1, and a number."""


class Filled(TorchDispatchMode):
    """Meanwhile, what `torch.empty` and the like return is filled, in the first way or (`again`) in the second."""

    def __init__(self, *, again: bool = False) -> None:
        super().__init__()
        self._again = again

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if func.__name__.partition(".")[0] in EMPTIES and made.device.type == "cpu":
            made.untyped_storage().fill_(_byte(made.dtype, again=self._again))
        return made


def _byte(dtype: torch.dtype, *, again: bool) -> int:
    return 1 - again if dtype == torch.bool else _BYTES[again]


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of each element, as a last dim."""
    plain = tensor.detach().contiguous()
    return plain.reshape(-1).view(torch.uint8).reshape(*plain.shape, plain.element_size())


def _left(tensor: torch.Tensor, *, again: bool) -> torch.Tensor:
    """The elements that are as they were filled."""
    return (_bytes(tensor) == _byte(tensor.dtype, again=again)).all(-1)


def marked(result: ExpectedResult, again: torch.Tensor) -> ExpectedResult:
    """A result of a run in `Filled()`, of which `again` is what it is in `Filled(again=True)`.

    Elements that differ may be anything, but for those that both runs have left, which must stay as they are.
    """
    first = result.want
    if not isinstance(first, torch.Tensor) or again.shape != first.shape or again.dtype != first.dtype:
        return result
    left = _left(first, again=False) & _left(again, again=True)
    depends = (_bytes(first) != _bytes(again)).any(-1) & ~left
    opened = {"open": depends, "why_open": "they depend on memory that nothing has written"} if depends.any() else {}
    return replace(result, **opened, left=left if left.any() else None)


def said(verdict: Verdict, results: Sequence[ExpectedResult], arguments: Sequence[torch.Tensor]) -> Verdict:
    """A verdict with the elements that nothing has written; *not checked* where that is all there is to compare.

    `results` are what the kernel returns, then its `arguments`, which here are as they were before it ran.
    """
    where = {one.label: one.left for one in results if one.left is not None}
    if verdict.element is not None and verdict.element.result in where:
        written = not bool(where[verdict.element.result][verdict.element.index])
        return verdict if written else replace(verdict, reason=f"{verdict.reason}, which never writes there")
    returned, given = results[: len(results) - len(arguments)], results[len(results) - len(arguments) :]
    if verdict.state != "equal" or not any(one.left is not None or one.open is not None for one in returned):
        return verdict
    if not any(map(_compared, returned)) and not any(map(_changed, given, arguments)):
        why = "nothing that the kernel returns is computed from what is written"
        return Verdict("not checked", verdict.dump, verdict.index, why)
    parts = [f"{int(left.sum())} of {left.numel()} elements of {label}" for label, left in where.items()]
    reasons = [verdict.reason, f"nothing is written to {', '.join(parts)}" if parts else ""]
    return replace(verdict, reason="; ".join(filter(None, reasons)))


def _compared(result: ExpectedResult) -> bool:
    """Whether there is an element that is computed, and from what is known."""
    unknown = [mask for mask in (result.left, result.open) if mask is not None]
    return not unknown or not bool(torch.stack(unknown).any(0).all())


def _changed(result: ExpectedResult, before: torch.Tensor) -> bool:
    after = torch.as_tensor(result.want)
    return after.shape != before.shape or not torch.equal(_bytes(after), _bytes(before))
