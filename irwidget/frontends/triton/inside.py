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
        return dump.name in triton_inside.PASSES and self._step(dump) is not None

    def open(self, dump: Dump) -> tuple[Dump, ...]:
        """The dumps inside, in order, the pass's own last. Raises UsageError when there are none."""
        step = self._step(dump)
        if step is None or not self.has(dump):
            raise UsageError(f"{dump.name} has no steps inside: {', '.join(sorted(triton_inside.PASSES))} have")
        every = triton_passes.opened(self.trace.steps[step])
        made = self.source.run((*self.trace.steps[:step], every), self.options, target=self.trace.target)
        if made.failure and not any(one.step == step for one in made.dumps):
            raise UsageError(f"{dump.name} cannot be opened: {made.failure.message}")
        turn = [one.name for one in self.trace.dumps if one.step == step][: self._place(dump, step)].count(dump.name)
        found: list[Dump] = []
        seen = -1
        for one in made.dumps:
            if one.step == step and one.name == dump.name:
                seen += 1
            if seen == turn and one.name.startswith(f"{dump.name}: "):
                found.append(one)
        return (*(replace(one, step=dump.step) for one in found), dump)

    def _place(self, dump: Dump, step: int) -> int:
        own = [id(one.texts) for one in self.trace.dumps if one.step == step]
        indexes = [one.index for one in self.trace.dumps if one.step == step]
        return next(i for i, key in enumerate(zip(own, indexes, strict=True)) if key == (id(dump.texts), dump.index))

    def _step(self, dump: Dump) -> int | None:
        """The step of this trace that made a dump, which may have another number in what goes on from it."""
        for one in self.trace.dumps:
            if one.texts is dump.texts and one.index == dump.index and one.step >= 0:
                return one.step
        return None
