"""Objects that lower by their own front ends: Triton and Helion kernels, and programs for Spyre."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from irwidget.errors import UsageError
from irwidget.lazy import cached_property
from irwidget.toolchain.run import Options
from irwidget.trace import Trace

if TYPE_CHECKING:
    from irwidget.helion import HelionLowering
    from irwidget.helion.binding import Binding
    from irwidget.spyre import SpyreProgram


class Kernel:
    """An object with a front end of its own, and its inputs: bound or compiled once for all IR types.

    `given` are the user's target options.
    """

    def __init__(self, obj: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], given: Mapping[str, Any]) -> None:
        self.obj, self.inputs, self.kwargs, self.given = obj, inputs, kwargs, given

    def lower(
        self, source: str, to: str, run: Options, check: bool | Literal["each"]
    ) -> tuple[Trace, HelionLowering | None]:
        """Lower by the front end of `source`: `triton`, `helion` or `spyre`.

        Returns the trace, and what runs a Helion kernel's module where there is one.
        """
        from irwidget import helion

        if source == "spyre":
            from irwidget import spyre

            return spyre.lower(self.program, (), to=to), None
        if helion.is_kernel(self.obj):
            return self._helion(to, run, check) if source == "helion" else (self._helion_to_triton(to, run), None)
        if source == "helion":
            raise UsageError(f"{to} starts from a Helion kernel (@helion.kernel), not from a {type(self.obj).__name__}")
        return self._triton(to, run), None

    @cached_property
    def program(self) -> SpyreProgram:
        """The Spyre program; an object that is one already is given back."""
        from irwidget import spyre

        if isinstance(self.obj, spyre.SpyreProgram):
            return self.obj
        if self.kwargs:
            raise UsageError("Spyre programs take positional inputs only; bind keywords with functools.partial")
        return spyre.compile(self.obj, list(self.inputs), **self.given)

    @cached_property
    def _binding(self) -> Binding:
        """The Helion kernel bound to its arguments in order, as it wants them."""
        from irwidget.helion.binding import bind

        try:
            inputs = inspect.signature(self.obj.fn).bind(*self.inputs, **self.kwargs).args
        except TypeError:
            inputs = self.inputs
        return bind(self.obj, inputs, self.given.get("config"))

    def _helion(self, to: str, run: Options, check: bool | Literal["each"]) -> tuple[Trace, HelionLowering | None]:
        from irwidget.helion import lowering

        how = {"isolate": run.isolate, "timeout": run.timeout, "dumps": run.dumps, "elide": run.elide}
        return lowering.lowered(self._binding, to, check=check, **how, **self._rest)

    @property
    def _rest(self) -> dict[str, Any]:
        """The options that are left when a Helion kernel has been bound."""
        return {name: value for name, value in self.given.items() if name != "config"}

    def _helion_to_triton(self, to: str, run: Options) -> Trace:
        """Helion's generated Triton kernel, by Triton's own route; the first of its launches."""
        from irwidget.frontends import triton
        from irwidget.helion.triton import launches

        recorded = launches(self._binding)
        if not recorded:
            raise UsageError(f"{self._binding.name} launches no Triton kernel")
        first = recorded[0]
        options = {**first.options, **self._rest}
        return triton.lower(first.kernel, *first.arguments, to=to, run=run, grid=first.grid, **options)

    def _triton(self, to: str, run: Options) -> Trace:
        from irwidget.frontends import triton

        if not (isinstance(self.obj, str) or triton.is_kernel(self.obj) or hasattr(self.obj, "compiled")):
            kind = type(self.obj).__name__
            raise UsageError(f"{to} starts from a Triton kernel (@triton.jit), its launch or text, not from a {kind}")
        return triton.lower(self.obj, *self.inputs, to=to, run=run, **{**self.kwargs, **self.given})


def kind_of(obj: Any) -> str:
    """`Triton` or `Helion` for a kernel or a launch of one, empty for anything else."""
    from irwidget import helion
    from irwidget.frontends import triton

    if helion.is_kernel(obj):
        return "Helion"
    return "Triton" if triton.is_kernel(obj) or isinstance(obj, triton.Launch) else ""
