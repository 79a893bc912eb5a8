"""Look inside a step of LLVM: the passes of `opt` or `llc` that changed something, run when first asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irwidget import llvm_routes
from irwidget.errors import UsageError
from irwidget.toolchain import llvm_passes
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Dump, Trace


@dataclass(frozen=True)
class LLVMPasses:
    """The passes inside the dumps of a trace that `source` was run for."""

    source: Source
    trace: Trace
    options: Options

    def has(self, dump: Dump) -> bool:
        """Whether it is a dump of `opt` or `llc` of this very run that does not show every pass already."""
        own = self._own(dump)
        step = own and self.trace.step_of(own)
        if not step or step.tool not in ("opt", "llc"):
            return False
        return not (step.program or any(map(llvm_passes.asks, step.arguments.split())))

    def open(self, dump: Dump) -> tuple[Dump, ...]:
        """The dumps inside, in order, its own text last. The steps before are not run again.

        Raises UsageError when there are none.
        """
        own = self._own(dump)
        if own is None or not self.has(dump):
            raise UsageError(f"There are no passes to be shown inside {dump.name}: only those of opt and llc are")
        step = self.trace.steps[own.step]
        every = replace(step, arguments=f"{step.arguments} {llvm_routes.PRINT_CHANGED}")
        made = self.source.run((*self.trace.steps[: own.step], every), self.options, target=self.trace.target)
        return tuple(replace(one, step=dump.step) for one in made.dumps if one.step == own.step)

    def _own(self, dump: Dump) -> Dump | None:
        """The dump as this run numbered its step: in what goes on from it, or comes before, it has another number."""
        place = self.trace.place_of(dump)
        return None if place is None else self.trace.dumps[place]
