"""A compiled kernel as what the CPU can execute, with the arguments of a launch."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irwidget.frontends.triton.reached import Reached
from irwidget.toolchain import locations
from irwidget.toolchain.triton_archs import Arch
from irwidget.toolchain.ttir_interpreter import Kernel
from irwidget.toolchain.ttir_numbers import Poison
from irwidget.toolchain.ttir_steps import Refused


@dataclass(frozen=True)
class Program:
    """A kernel as it was compiled for a launch."""

    kernel: Any
    signature: Mapping[str, Any]
    """Triton's types of its arguments, by name; `constexpr` for constants."""
    ttir: str = field(repr=False)
    arch: Arch
    """What it was compiled for."""

    def run(self, arguments: Sequence[Any], keywords: Mapping[str, Any], grid: Sequence[int], reached: Reached) -> None:
        """Execute a launch on the values of its tensors, in this process, which it may crash.

        `reached` is told of each access to memory, and of results that depend on what has no defined value: such a
        launch is executed twice, with other values for that. Raises NotImplementedError for what is not executed,
        AssertionError where an assertion of the kernel's fails.
        """
        bound = self.kernel.signature.bind(
            *arguments, **{name: value for name, value in keywords.items() if name in self.signature}
        )
        bound.apply_defaults()
        values = [one for name, kind in self.signature.items() for one in _passed(kind, bound.arguments[name])]
        try:
            self._run(values, grid, reached)
        except Refused as error:
            place = locations.strip(self.ttir)[1][error.line]
            raise NotImplementedError(f"{error} (at {place})" if place else str(error)) from None

    def _run(self, values: Sequence[Any], grid: Sequence[int], reached: Reached) -> None:
        before, poison = reached.values(), Poison()
        kernel = _executable(self.ttir, self.arch)
        kernel.run(values, grid, reached, poison)
        if poison.met:
            after = reached.values()
            reached.set_values(before)
            with contextlib.redirect_stdout(io.StringIO()):
                kernel.run(values, grid, reached, Poison(other=True))
            if reached.values() != after:
                reached.doubt(f"{self.kernel.__name__} computes with {next(iter(poison.met))}")
            reached.set_values(after)


@functools.lru_cache(32)
def _executable(ttir: str, arch: Arch) -> Kernel:
    return Kernel(ttir, arch)


def _passed(kind: Any, value: Any) -> Iterator[Any]:
    """What a compiled kernel is passed for an argument: numbers and addresses."""
    if isinstance(kind, tuple):
        for one, other in zip(kind, value, strict=True):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from _passed(one, other)
    elif kind.startswith("tensordesc"):
        shape, strides = ([int(one) for one in sizes] for sizes in (value.shape, value.strides))
        yield value.base.data_ptr(), shape, strides, str(getattr(value, "padding", "zero")) == "nan"
        yield from (*shape, *strides)
    elif kind.startswith("*"):
        yield value.data_ptr() if hasattr(value, "data_ptr") else int(value or 0)
    elif kind != "constexpr":
        yield value
