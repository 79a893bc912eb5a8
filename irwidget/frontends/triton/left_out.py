"""Comparisons of tensors without values, which are left out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from typing import Any

from irwidget import private_torch
from irwidget.frontends.triton import failures
from irwidget.frontends.triton.scopes import replaced
from irwidget.toolchain import triton_private
from irwidget.trace import Location


def not_compared(place: Location | None, error: BaseException) -> str:
    """What there is to say of a comparison that is left out, for which there are no values."""
    why = failures.why_no_value(error) or "they have none without a GPU"
    way = failures.way_out(why, ". --run executes all launches")
    return f"not checked: {place} compares what is not known: {why}{way}"


@contextlib.contextmanager
def left_out(tell: Callable[[str], None], place: Callable[[], Location | None]) -> Generator[None]:
    """Go on after `assert_close` of tensors without values, whose shapes and types only are compared then.

    `tell` is told so. Comparisons whose result the cell gets, as `allclose`, end it as every reading of values does,
    unless only an `assert` looks at them (see `asserted`).
    """

    def without_values(compare: Callable[..., Any], otherwise: Callable[[], Any]) -> Callable[..., Any]:
        def comparing(*args: Any, **kwargs: Any) -> Any:
            try:
                return compare(*args, **kwargs)
            except Exception as error:
                if not failures.needs_values(error):
                    raise
                tell(not_compared(place(), error))
            return otherwise()

        return comparing

    testing = triton_private.testing()
    with (
        private_torch.comparisons_wrapped(lambda found: without_values(found, list)),
        replaced(testing, "assert_close", without_values(testing.assert_close, lambda: None)),
    ):
        yield
