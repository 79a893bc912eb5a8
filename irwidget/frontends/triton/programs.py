"""A compiled kernel as what the CPU can execute, with the arguments of a launch."""

from __future__ import annotations

import contextlib
import functools
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irwidget.frontends.triton.reached import FILLS, Reached
from irwidget.frontends.triton.writes import looks_at_addresses, reaches_anything
from irwidget.toolchain import locations
from irwidget.toolchain.triton_archs import Arch
from irwidget.toolchain.ttir_interpreter import Kernel
from irwidget.toolchain.ttir_numbers import Poison
from irwidget.toolchain.ttir_steps import Refused
from irwidget.trace import Location


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

        `reached` is told of each access to memory, and of results that depend on what has no defined value, or on
        what nothing has written: such a launch is executed again, with other values for that. Raises
        NotImplementedError for what is not executed, AssertionError where an assertion of the kernel's fails.
        """
        bound = self.kernel.signature.bind(
            *arguments, **{name: value for name, value in keywords.items() if name in self.signature}
        )
        bound.apply_defaults()
        by_number = reaches_anything(self.ttir) or looks_at_addresses(self.ttir)
        addressed: Callable[[int], int] = int if by_number else reached.apart
        values = [
            one for name, kind in self.signature.items() for one in _passed(kind, bound.arguments[name], addressed)
        ]
        try:
            self._run(values, grid, reached)
        except Refused as error:
            place = self._place(error.line)
            raise NotImplementedError(f"{error} (at {place})" if place else str(error)) from None

    def _run(self, values: Sequence[Any], grid: Sequence[int], reached: Reached) -> None:
        kernel, poison, before = _executable(self.ttir, self.arch), Poison(), reached.state()
        reached.where = self._place
        kernel.run(values, grid, reached, poison)
        after = reached.state()

        def depends(other: Poison, fill: int | None = None) -> bool:
            """Whether what it writes is something else with other values for what has none."""
            reached.restore(before, fill)
            try:
                with reached.executed_again(), contextlib.redirect_stdout(io.StringIO()):
                    kernel.run(values, grid, reached, other)
            except MemoryError:
                raise
            except Exception:
                return True  # it fails with these
            return reached.state().differs(after)

        name = self.kernel.__name__
        if poison.met and not reached.doubted and depends(Poison(other=True)):
            reached.doubt(f"{name} computes with {next(iter(poison.met))}")
        if reached.unwritten and not reached.doubted and any(depends(Poison(), fill) for fill in FILLS):
            reached.doubt(f"{name} reads memory that nothing has written")
        reached.restore(after)

    def _place(self, line: int) -> Location | None:
        """The place in the user's code of a line of the TTIR."""
        return locations.strip(self.ttir)[1][line]


@functools.lru_cache(32)
def _executable(ttir: str, arch: Arch) -> Kernel:
    return Kernel(ttir, arch)


def _passed(kind: Any, value: Any, place: Callable[[int], int]) -> Iterator[Any]:
    """What a compiled kernel is passed for an argument: numbers, and addresses as `place` gives them."""
    if isinstance(kind, tuple):
        for one, other in zip(kind, value, strict=True):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from _passed(one, other, place)
    elif kind.startswith("tensordesc"):
        shape, strides = ([int(one) for one in sizes] for sizes in (value.shape, value.strides))
        yield place(value.base.data_ptr()), shape, strides, str(getattr(value, "padding", "zero")) == "nan"
        yield from (*shape, *strides)
    elif kind.startswith("*"):
        yield place(value.data_ptr()) if hasattr(value, "data_ptr") else int(value or 0)
    elif kind != "constexpr":
        yield value
