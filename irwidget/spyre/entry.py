"""IBM Spyre as irwidget registers it: the front end and the IR types. Imports neither torch nor the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irwidget import spyre
from irwidget.errors import UsageError
from irwidget.frontends.base import Begun, FrontEnd, Given, KernelBegun, Made
from irwidget.frontends.undo import bounded
from irwidget.lazy import cached_property
from irwidget.registry import Target
from irwidget.spyre.hardware import MAX_CORES
from irwidget.spyre.options import SpyreSwitches, make_options
from irwidget.toolchain import run
from irwidget.trace import Trace, Verdict, not_checked

TARGETS = tuple(
    Target(name, "spyre", language, summary=summary, options=SpyreSwitches)
    for name, language, summary in (
        ("spyre_fx", "fx", "the FX graph after Spyre's decompositions"),
        ("spyre_loop_ir", "text", "loop-level IR: layouts, work division, scratchpad"),
        ("spyre_opspec", "python", "OpSpecs"),
        ("spyre_kernelspec", "python", "OpSpecs by kernel, under their older name"),
        ("spyre_superdsc", "json", "SuperDSC"),
        ("spyre_bundle", "mlir", "bundle.mlir"),
        ("spyre_host", "python", "the host module"),
    )
)


_BEFORE = ("spyre_fx", "spyre_loop_ir")
"""IR types before the program that can be executed."""


class _Program(KernelBegun):
    """A function, compiled once for all IR types."""

    def __init__(self, front_end: FrontEnd, given: Given) -> None:
        super().__init__(front_end, given)
        self._ends: dict[str, int] = {}
        """By IR type, the dump that stands for the program: a custom pipeline may go on from it."""

    @cached_property
    def _program(self) -> spyre.SpyreProgram:
        """The program; an object that is one already is given back."""
        given = self.given
        if isinstance(given.obj, spyre.SpyreProgram):
            return given.obj
        if given.kwargs:
            raise UsageError("Spyre programs take positional inputs only; bind keywords with functools.partial")
        return spyre.compile(given.obj, list(given.inputs), **given.options)

    def make(self, target: Target, options: run.Options) -> Made:
        trace = spyre.lower(self._program, (), to=target.name)
        self._ends[target.name] = len(trace.dumps) - 1
        return Made(trace, {"program": self._program})

    def verdict(self, target: Target, trace: Trace, options: run.Options, source: run.Source | None = None) -> Verdict:
        from irwidget.spyre import checked

        if source is not None:
            return not_checked(f"{target.name} is executed as it is compiled, not as it was edited")
        if target.name in _BEFORE:
            return not_checked(f"{target.name} is not executed; lower to spyre_superdsc for that")
        with bounded("--check"):
            return checked.verdict(self._program, self.given, trace, self._ends[target.name])

    def kept(self, made: Made) -> Mapping[str, Any]:
        return made.results


class Spyre(FrontEnd):
    """Takes PyTorch functions and modules, and programs that are compiled already."""

    name = "spyre"
    starts_from = "a PyTorch model, for IBM Spyre"
    packages = ("torch",)
    needs_torch = True

    def plan(self, wanted: Sequence[Target], options: Mapping[str, Any], route: str) -> list[Target]:
        make_options(options.get("cores", MAX_CORES), {name: one for name, one in options.items() if name != "cores"})
        return list(wanted)

    def begin(self, given: Given) -> Begun:
        return _Program(self, given)


FRONT_END = Spyre()
