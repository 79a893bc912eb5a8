"""Helion's kernels as irwidget registers them: the front end, the options and the IR types. Does not import Helion."""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from irwidget import helion
from irwidget.errors import UsageError
from irwidget.frontends import base, triton
from irwidget.frontends.base import Begun, FrontEnd, Given, KernelBegun, Made
from irwidget.helion import pipelines
from irwidget.lazy import cached_property
from irwidget.registry import Target, option
from irwidget.toolchain.run import Options
from irwidget.trace import Trace

if TYPE_CHECKING:
    from irwidget.helion.binding import Binding


@dataclass(frozen=True, kw_only=True)
class HelionOptions:
    """The options of Helion's IR types."""

    aten: str | None = option(
        None,
        f"how ATen nodes end up: {', '.join(pipelines.ATEN[:-1])} or {pipelines.ATEN[-1]}",
        says="a text, as in 'linalg-on-tensors'",
    )
    config: Any = option(
        None,
        "the configuration: its number in the decorator, or fields, as block_sizes=[16,16]",
        read=str,
        flag="--config",
    )


@dataclass(frozen=True, kw_only=True)
class ModuleOptions(HelionOptions):
    """The options of the module of stock dialects."""

    open_tiles: bool = option(
        False, "tile sizes as arguments: one module for all configurations with tiles of at most these sizes"
    )


def _target(name: str, language: str, summary: str, *needs: str, options: type = HelionOptions) -> Target:
    return Target(name, "helion", language, summary=summary, options=options, needs=needs)


TARGETS = (
    _target("helion_device_ir", "fx", "Helion's Device IR graphs"),
    _target(
        "helion_mlir",
        "mlir",
        "one module of stock dialects; --aten says how ATen ends up",
        "torch-mlir",
        options=ModuleOptions,
    ),
    _target("helion_triton", "python", "the Triton program that Helion generates", "triton"),
)
_TO_LLVM = ("llvm_mlir", "llvm_ir")
_OF_MLIR = ("helion_mlir", *_TO_LLVM)
"""The IR types that are made by way of the module of stock dialects."""


class _HelionKernel(KernelBegun):
    """A kernel, bound to its arguments once for all IR types."""

    @cached_property
    def _binding(self) -> Binding:
        """Bound to its arguments in order, as it wants them."""
        from irwidget.helion.binding import bind

        given = self.given
        try:
            inputs = inspect.signature(given.obj.fn).bind(*given.inputs, **given.kwargs).args
        except TypeError:
            inputs = given.inputs
        options = given.options
        return bind(given.obj, inputs, options.get("config"), open_tiles=bool(options.get("open_tiles")))

    def _rest(self, options: Options) -> dict[str, Any]:
        """The options of an IR type that are left when it has been bound."""
        names = dict(options.target).keys() - {"config", "open_tiles"}
        return {name: value for name, value in self.given.options.items() if name in names}

    def make(self, target: Target, options: Options) -> Made:
        if not helion.is_kernel(self.given.obj):
            raise base.refuse_kind(self.given.obj, target.name, "a Helion kernel (@helion.kernel)")
        if dict(options.target).get("open_tiles") and target.name not in _OF_MLIR:
            raise UsageError(f"{target.name} has the tile sizes of one configuration; open_tiles is for helion_mlir.")
        if target.front_end == "triton":
            return Made(self._by_triton(target.name, options))
        from irwidget.helion import lowering

        how = {name: getattr(options, name) for name in ("isolate", "timeout", "dumps", "elide")} | self._rest(options)
        trace, kernel = lowering.lowered(self._binding, target.name, check=self.given.check, **how)
        return Made(trace, {"kernel": kernel} if kernel else {})

    def _by_triton(self, to: str, options: Options) -> Trace:
        """Helion's generated Triton kernel, by Triton's own route; the first of its launches."""
        from irwidget.helion import triton_lines
        from irwidget.helion.triton import launches

        rest = self._rest(options)
        recorded = launches(self._binding, str(rest.get("arch") or ("gfx" if to == "triton_amdgpu" else "")))
        if not recorded:
            raise UsageError(f"{self._binding.name} launches no Triton kernel")
        first = recorded[0]
        given = {**first.options, **rest}
        if given.pop("run", False):
            raise UsageError("run=True executes launches of Triton kernels; of a Helion kernel, low.run(*tensors) does")
        trace = triton.lower(first.kernel, *first.arguments, to=to, run=options, grid=first.grid, **given)
        said = (*self._binding.warnings, *trace.diagnostics)
        trace = replace(trace, facts={**self._binding.facts, **trace.facts}, diagnostics=said)
        return triton_lines.relocated(trace, first.file, self._binding.sources)


class Helion(FrontEnd):
    """Takes kernels: to MLIR, on to LLVM, and by its own Triton program to Triton's IR types."""

    name = "helion"
    starts_from = "a Helion kernel"
    packages = ("torch", "helion")
    needs_torch = True
    without_dynamic_shapes = "a kernel has static_shapes=False in its decorator"

    def function(self, obj: Any) -> Any:
        return obj.fn

    def recognises(self, obj: Any) -> bool:
        return helion.is_kernel(obj)

    def takes_over(self, obj: Any, target: Target) -> bool:
        return (target.name in _TO_LLVM or target.front_end == "triton") and helion.is_kernel(obj)

    def plan(self, wanted: Sequence[Target], options: Mapping[str, Any], route: str) -> list[Target]:
        planned = super().plan(wanted, options, route)
        if options.get("aten"):
            pipelines.check(options["aten"])
        return planned

    def begin(self, given: Given) -> Begun:
        return _HelionKernel(self, given)

    def claims(self, text: str) -> bool:
        return "helion.kernel" in text

    def watched(self, source: str, note: base.Note) -> AbstractContextManager[object]:
        """Where the source speaks of Helion, a kernel that is called says its inputs."""
        if "helion" not in source or not importlib.util.find_spec("helion"):
            return contextlib.nullcontext()
        from irwidget.helion import eager_mode

        return eager_mode.calls(note)

    def parameters(self, obj: Any) -> list[inspect.Parameter]:
        return base.parameters(obj.fn)


FRONT_END = Helion()
