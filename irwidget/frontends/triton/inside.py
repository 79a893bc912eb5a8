"""Look inside the pipeliner and warp specialisation: their steps as dumps, run when first asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irwidget.errors import UsageError
from irwidget.toolchain import triton_inside, triton_passes
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Dump, Trace


@dataclass(frozen=True)
class BigPasses:
    """The steps inside the dumps of a trace that `source` was run for."""

    source: Source
    trace: Trace
    options: Options

    def has(self, dump: Dump) -> bool:
        """Whether it is of a pass that prints its steps."""
        return dump.name in triton_inside.PASSES and self._own(dump) is not None

    def open(self, dump: Dump) -> tuple[Dump, ...]:
        """The dumps inside, in order, the pass's own last. Raises UsageError when there are none."""
        own = self._own(dump)
        if own is None or not self.has(dump):
            raise UsageError(f"{dump.name} has no steps inside: {', '.join(sorted(triton_inside.PASSES))} have")
        place, step = own
        every = triton_passes.opened(self.trace.steps[step])
        made = self.source.run((*self.trace.steps[:step], every), self.options, target=self.trace.target)
        if made.failure and not any(one.step == step for one in made.dumps):
            raise UsageError(f"{dump.name} cannot be opened: {made.failure.message}")
        turn = [one.name for one in self.trace.dumps[:place] if one.step == step].count(dump.name)
        found: list[Dump] = []
        seen = -1
        for one in made.dumps:
            if one.step == step and one.name == dump.name:
                seen += 1
            if seen == turn and one.name.startswith(f"{dump.name}: "):
                found.append(one)
        return (*(replace(one, step=dump.step) for one in found), dump)

    def _own(self, dump: Dump) -> tuple[int, int] | None:
        """The positions of a dump and of its step in this trace; in what goes on from it the step has another."""
        place = self.trace.place_of(dump)
        if place is None or self.trace.dumps[place].step < 0:
            return None
        return place, self.trace.dumps[place].step
