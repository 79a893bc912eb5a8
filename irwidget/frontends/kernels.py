"""Objects that lower by their own front ends: Triton and Helion kernels, and programs for Spyre."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from irwidget.dumps import Trace
from irwidget.errors import UsageError
from irwidget.toolchain.run import Options

if TYPE_CHECKING:
    from irwidget.helion import HelionLowering
    from irwidget.spyre import SpyreProgram


def lower(
    source: str, to: str, obj: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], run: Options,
    given: Mapping[str, Any],
) -> tuple[Trace, HelionLowering | None]:
    """Lower by the front end of `source`: `triton`, `helion` or `spyre`. `given` are the user's target options.

    Returns the trace, and what runs a Helion kernel's module where there is one.
    """
    if source == "spyre":
        return _spyre(to, obj, inputs, kwargs, given), None
    from irwidget import helion

    is_helion = helion.is_kernel(obj)
    if source == "helion":
        if not is_helion:
            raise UsageError(f"{to} starts from a Helion kernel (@helion.kernel), not from a {type(obj).__name__}")
        return _helion(to, obj, _positional(obj, inputs, kwargs), run, given)
    if is_helion:
        return _helion_to_triton(to, obj, _positional(obj, inputs, kwargs), run, given), None
    return _triton(to, obj, inputs, kwargs, run, given), None


def kind_of(obj: Any) -> str:
    """`Triton` or `Helion` for a kernel or a launch of one, empty for anything else."""
    from irwidget import helion
    from irwidget.frontends import triton

    if helion.is_kernel(obj):
        return "Helion"
    return "Triton" if triton.is_kernel(obj) or isinstance(obj, triton.Launch) else ""


def _positional(kernel: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """A Helion kernel's arguments in order, as it wants them."""
    try:
        return inspect.signature(kernel.fn).bind(*inputs, **kwargs).args
    except TypeError:
        return inputs


def _triton(
    to: str, obj: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], run: Options, given: Mapping[str, Any]
) -> Trace:
    from irwidget.frontends import triton

    if not (isinstance(obj, str) or triton.is_kernel(obj) or hasattr(obj, "compiled")):
        raise UsageError(
            f"{to} starts from a Triton kernel (@triton.jit), its launch or its text, not from a {type(obj).__name__}"
        )
    return triton.lower(obj, *inputs, to=to, run=run, **{**kwargs, **given})


def _helion(
    to: str, obj: Any, inputs: tuple[Any, ...], run: Options, given: Mapping[str, Any]
) -> tuple[Trace, HelionLowering | None]:
    from irwidget.helion import lowering

    how = {"isolate": run.isolate, "timeout": run.timeout, "dumps": run.dumps, "elide": run.elide}
    return lowering.lowered(obj, inputs, to, **how, **given)


def _helion_to_triton(to: str, obj: Any, inputs: tuple[Any, ...], run: Options, given: Mapping[str, Any]) -> Trace:
    """Helion's generated Triton kernel, by Triton's own route; the first of its launches."""
    from irwidget.frontends import triton
    from irwidget.helion.binding import bind
    from irwidget.helion.triton import launches

    rest = dict(given)
    binding = bind(obj, inputs, rest.pop("config", None))
    recorded = launches(binding)
    if not recorded:
        raise UsageError(f"{binding.name} launches no Triton kernel")
    first = recorded[0]
    return triton.lower(first.kernel, *first.arguments, to=to, run=run, grid=first.grid, **{**first.options, **rest})


def _spyre(
    to: str, obj: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], given: Mapping[str, Any]
) -> Trace:
    from irwidget import spyre

    return spyre.lower(program(obj, inputs, kwargs, given), (), to=to)


def program(obj: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], given: Mapping[str, Any]) -> SpyreProgram:
    """The Spyre program of an object; one that is a program already is given back."""
    from irwidget import spyre

    if isinstance(obj, spyre.SpyreProgram):
        return obj
    if kwargs:
        raise UsageError("Spyre programs take positional inputs only; bind keywords with functools.partial")
    return spyre.compile(obj, list(inputs), **given)
