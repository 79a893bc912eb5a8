"""What of NumPy is used beside what it documents."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Generator
from typing import Any


def tensors(value: Any) -> Any:
    """The tensor whose memory an array is, of this type; any other value as it is."""
    numpy: Any = sys.modules.get("numpy")
    while numpy is not None and isinstance(value, numpy.ndarray):
        value = value.base
    return value


def array(value: Any) -> Any:
    """A number of NumPy's as an array of no dimensions."""
    import numpy

    return numpy.asarray(value)


@contextlib.contextmanager
def comparisons_wrapped(
    raising: Callable[[Callable[..., Any]], Callable[..., Any]],
    saying: Callable[[Callable[..., bool], str], Callable[..., bool]],
) -> Generator[None]:
    """While it lasts, what NumPy compares arrays by is what these give of it.

    `raising` is given what `numpy.testing.assert_*` compare by, however these were imported, without their operator,
    `saying` the functions `allclose` and `array_equal`.
    """
    import numpy

    home: Any = importlib.import_module("numpy.testing._private.utils")
    compare, names = home.assert_array_compare, ("allclose", "array_equal")
    before = {name: getattr(numpy, name) for name in names}

    def compared(by: Any, *args: Any, **kwargs: Any) -> Any:
        return raising(lambda one, other: compare(by, one, other, *args[2:], **kwargs))(*args[:2])

    home.assert_array_compare = compared
    for name, function in before.items():
        setattr(numpy, name, saying(function, name))
    try:
        yield
    finally:
        home.assert_array_compare = compare
        for name, function in before.items():
            setattr(numpy, name, function)
