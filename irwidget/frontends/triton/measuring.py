"""Benchmarks without a GPU: what they measure is called once, and no time is made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class Unmeasured(float):
    """A time or a size that nobody has measured: not a number, but 1 where code makes an integer of it."""

    def __new__(cls, *_: object) -> Unmeasured:  # a copy of one, too
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


def not_measured(
    call: Callable[[], Any], *args: Any, quantiles: Any = None, return_mode: str = "mean", **options: Any
) -> Any:
    """Triton's do_bench without a GPU: calls once, and says no time."""
    global _measuring
    _measuring += 1
    try:
        call()
    finally:
        _measuring -= 1
    if quantiles and len(quantiles) > 1:
        return [Unmeasured() for _ in quantiles]
    return [Unmeasured()] if return_mode == "all" and not quantiles else Unmeasured()


def unmeasured(attributes: Sequence[str]) -> list[Unmeasured]:
    """Triton's nvsmi without a GPU: what the driver would say of a board (clock rates, power)."""
    return [Unmeasured() for _ in attributes]
