"""The passes inside dumps that another process made, run here when asked for, by a worker of the same toolchain."""

from __future__ import annotations

from dataclasses import dataclass, replace

from irwidget.errors import UsageError
from irwidget.expand import LLVMPasses
from irwidget.frontends import raw_text
from irwidget.frontends.triton.inside import BigPasses
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Dump, Trace, syntax


@dataclass(frozen=True)
class Inside:
    """The passes inside the dumps of a trace of which only the texts are here."""

    trace: Trace
    options: Options

    def has(self, dump: Dump) -> bool:
        """Whether it is of a step that can be opened, and the text before that is here."""
        place = self.trace.place_of(dump)
        if place is None or self.trace.dumps[place].step < 0:
            return False
        return any(kind(Source("", "text"), self.trace, self.options).has(dump) for kind in (LLVMPasses, BigPasses))

    def open(self, dump: Dump) -> tuple[Dump, ...]:
        """The dumps inside, in order, its own text last: the step runs again on the text before it.

        Raises UsageError when there are none, and where that text leaves out values.
        """
        place = self.trace.place_of(dump)
        if place is None or not self.has(dump):
            raise UsageError(f"There are no passes to be shown inside {dump.name}")
        number = self.trace.dumps[place].step
        own = [one for one in self.trace.dumps if one.step == number]
        before = self.trace.dumps[(self.trace.place_of(own[0]) or 1) - 1]
        if names := syntax.left_out(before.text):
            raise UsageError(
                f"The text before {dump.name} leaves out the values of {', '.join(names)}, with which it runs: lower "
                "with elide=False (--no-elide)"
            )
        step = self.trace.steps[number]
        cut = replace(
            self.trace, steps=(step,), dumps=(replace(before, step=-1), *(replace(one, step=0) for one in own))
        )
        source = raw_text.source(before.text, (step,))
        kind = BigPasses if step.tool == "triton" else LLVMPasses
        found = kind(source, cut, self.options).open(dump)
        return tuple(replace(one, step=dump.step) for one in found)
