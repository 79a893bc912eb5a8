"""A lowering that goes on from an edited dump, or with other passes."""

from __future__ import annotations

import operator
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from irwidget import failures, pipelines
from irwidget.checking import check as checking
from irwidget.errors import UsageError
from irwidget.experiments import files, hints, passes
from irwidget.experiments.passes import Planned
from irwidget.frontends import pytorch, raw_text
from irwidget.toolchain import budget, named
from irwidget.toolchain.named import Constants, Naming
from irwidget.toolchain.run import Interrupted, Options, Progress, Source
from irwidget.trace import Diagnostic, Failure, Step, Trace, Verdict, not_checked

Judge = Callable[[Trace, Options, Source | None], Verdict]
"""The verdict on what was made of a source, or of the object itself, held against what the original lowering is of."""
_Lowering = TypeVar("_Lowering", bound=failures.Held)
_OF_A_LAUNCH = ("arch", "specialization", "grid", "launched_at", "signature")
"""Facts of how a kernel is launched, which no pass finds out: they are those of the original."""
_BY_LINE = "constants without a name are taken for those of the same lines before"
_IN_FULL = "lower with elide=False (--no-elide), and edit that"


@dataclass(frozen=True)
class Experiment(Generic[_Lowering]):
    """What `low.edit(...)` gives: a text, and the passes that are to run on it. Every change gives a new one.

    A pass is named by its name, or where it runs more than once by the number of the dump that it left in the original.
    """

    original: _Lowering
    index: int
    """The dump that it starts from."""
    text: str = field(repr=False)
    passes: tuple[Planned, ...] = field(repr=False)
    """What runs, in order."""
    make: Callable[[Trace, dict[str, Any]], _Lowering] = field(repr=False)
    options: Options = field(repr=False)
    judge: Judge | None = field(default=None, repr=False)
    constants: Constants | None = field(default=None, repr=False)
    """Those that the text may only name."""
    name: str = ""
    """What it is called beside the original; says what was changed when empty."""

    # Changes

    def named(self, name: str) -> Experiment[_Lowering]:
        """The same under a name of your own."""
        return replace(self, name=name)

    def without(self, which: str | int) -> Experiment[_Lowering]:
        """The same without a pass. Raises UsageError when there is none, or several of that name."""
        place = passes.find(self.passes, which)
        return replace(self, passes=(*self.passes[:place], *self.passes[place + 1 :]))

    def replaced(self, which: str | int, pipeline: str) -> Experiment[_Lowering]:
        """The same with a custom pipeline in place of a pass: another one, or the same with other options.

        Raises UsageError when there is no such pass, or the pipeline is none; ToolError and LoweringInterrupted where a
        program had to be asked.
        """
        place = passes.find(self.passes, which)
        return replace(self, passes=(*self.passes[:place], *self._own(pipeline), *self.passes[place + 1 :]))

    def inserted(self, pipeline: str, *, before: str | int | None = None) -> Experiment[_Lowering]:
        """The same with a custom pipeline before a pass; at the end without one.

        Raises UsageError when there is no such pass, or the pipeline is none; ToolError and LoweringInterrupted where a
        program had to be asked.
        """
        place = len(self.passes) if before is None else passes.find(self.passes, before)
        return replace(self, passes=(*self.passes[:place], *self._own(pipeline), *self.passes[place:]))

    def moved(self, which: str | int, *, before: str | int | None = None) -> Experiment[_Lowering]:
        """The same with a pass before another one; at the end without one. Raises UsageError when there is none."""
        one = self.passes[passes.find(self.passes, which)]
        rest = self.without(which)
        place = len(rest.passes) if before is None else passes.find(rest.passes, before)
        return replace(rest, passes=(*rest.passes[:place], one, *rest.passes[place:]))

    def arranged(self, order: Sequence[tuple[int, Mapping[str, object]]]) -> Experiment[_Lowering]:
        """The same with these of its passes in this order: of each its position in `passes`, and options to change.

        `experiment.arranged([(0, {}), (2, {"max-iterations": "1"})])`. Raises UsageError for a position that there is
        not or that comes twice, for an option that the pass does not have, and for what is no such list.
        """
        try:
            wanted = [(operator.index(place), dict(options)) for place, options in order]
        except (TypeError, ValueError):
            raise UsageError(
                f"arranged takes a list of positions with options, as in [(0, {{}}), (2, {{}})], not {order!r}"
            ) from None
        places = [place for place, _ in wanted]
        if len(set(places)) < len(places) or not all(0 <= place < len(self.passes) for place in places):
            raise UsageError(f"{len(self.passes)} passes come after the dump, each at most once: not {places}")
        return replace(
            self,
            passes=tuple(
                self.passes[place].changed(options) if options else self.passes[place] for place, options in wanted
            ),
        )

    def _own(self, pipeline: str) -> list[Planned]:
        steps = pipelines.parse(pipeline)
        pipelines.check(steps, self.options)
        return [Planned(str(step), step) for step in steps]

    # What it is

    @property
    def steps(self) -> tuple[Step, ...]:
        """What runs, as a lowering has it. Raises UsageError for passes that no tool runs in that order."""
        whole = passes.after(self.original.trace, self.index, self.options)
        return passes.steps_of(self.passes, self.original.trace, self.index, whole)

    @property
    def pipeline(self) -> str:
        """The same as a custom pipeline, for `--pipeline`; empty when nothing runs."""
        return pipelines.text(self.steps)

    def problems(self) -> tuple[Diagnostic, ...]:
        """What the parser and the verifier say of the text, with names near to one that they do not know.

        Empty when they take it. Text of a language that nothing here reads is not looked at: see `read`. Raises
        UsageError for text that is no Unicode.
        """
        trace = self._source(None).run(raw_text.checks(self.text, self._before), self.options)
        return (hints.hinted(_said(trace.failure), self.text, self.original.trace),) if trace.failure else ()

    @property
    def read(self) -> bool:
        """Whether something here parses and verifies text of this dump's language."""
        return self.original.trace.dumps[self.index].language in ("mlir", "llvm")

    @property
    def _before(self) -> str:
        return self.original.trace.dumps[self.index].text

    def save(self, folder: str | Path) -> Path:
        """Write the text and the commands that run the passes on it; the path of the text. See `files`.

        Raises UsageError when they cannot be written.
        """
        return files.save(
            Path(folder), self.text, self.passes, self.pipeline, self.original.trace, self.index,
            [*(["--toolchain", self.toolchain] if self.toolchain else []), *self.switches],
        )  # fmt: skip

    @property
    def switches(self) -> list[str]:
        """What a command that runs it alone has besides pipeline and toolchain, to give the same text."""
        said = {
            "--no-elide": not self.options.elide,
            "--external": any(step.program for step in self.steps),
        }
        return [word for word, holds in said.items() if holds]

    @property
    def toolchain(self) -> str:
        """The toolchain that it runs with; empty for this process's."""
        return getattr(self.original, "toolchain", "")

    # Running

    def run(
        self,
        *,
        check: bool = False,
        timeout: float | None = None,
        stop: threading.Event | None = None,
        progress: Progress | None = None,
    ) -> _Lowering:
        """Run the passes; the result shows itself beside the original.

        `stop`, set on another thread, ends it as Ctrl-C does; `progress` is called as each pass begins.
        `check=True` executes it and compares it as the original would be; a lowering that was loaded from a file is
        *not checked*. Raises what `irwidget.lower` raises, LoweringInterrupted, and UsageError where dumps lack the
        values that a pass needs; dumps before a failure are in its `lowering`.
        """
        kept = check or self.options.keep_constants
        options = replace(self.options, stop=stop, progress=progress, keep_constants=kept)
        options = replace(options, timeout=budget.limit(timeout)) if timeout is not None else options
        wanted = self.steps
        steps = wanted or raw_text.checks(self.text, self._before)
        reader = next((step for step in steps if step.tool == "mlir-translate"), None)
        if reader and self._left_out and not self.problems():  # an error of the text is told first
            raise UsageError(f"{self._left_out}, which {reader} needs: {_IN_FULL}")
        with failures.limited(options):
            source = self._source(self._naming if check or reader or self._looks else None)
            try:
                trace = source.run(steps, options, target=self.original.trace.target)
            except Interrupted as interrupted:
                raise failures.interrupted(self._made(interrupted.trace)) from None
            if not wanted and not trace.failure:  # what has only read the text is no pass
                trace = replace(trace, dumps=trace.dumps[:1], steps=())
            if trace.dumps and not self.is_edited:  # a parser's way of writing it is no difference
                same = replace(self.original.trace.dumps[self.index], step=-1, seconds=0.0)
                trace = replace(trace, dumps=(same, *trace.dumps[1:]))
            made = failures.finished(self._made(trace))
            if not check:
                return made
            with failures.keeping(made):
                return self._made(replace(trace, check=self._verdict(made.trace, options, source)))

    def _verdict(self, trace: Trace, options: Options, source: Source) -> Verdict:
        if self.judge is None:
            return not_checked("what was lowered is not here: the original was loaded from a file")
        if self._left_out:
            return not_checked(f"{self._left_out}: {_IN_FULL}")
        start = "the edited text" if self.is_edited else f"dump {self.index} of {self.original.trace.name}"
        verdict = checking.with_start(self.judge(trace, options, source), start)
        if self.is_edited and source.naming and source.naming.by_line:
            return replace(verdict, reason="; ".join(filter(None, (verdict.reason, _BY_LINE))))
        return verdict

    @property
    def _left_out(self) -> str:
        """Which values nothing here has; empty when all are in the text or known."""
        names = named.left_out(self.text, self._naming)
        return f"This text leaves out the values of {', '.join(names)}" if names else ""

    @property
    def _naming(self) -> Naming | None:
        """The constants that the text only names, as far as they are known."""
        if self.constants is None:
            return None
        passes = 0 if "original" in getattr(self.original, "results", {}) else self.index
        return named.naming(self.text, self._before, self.constants, self.original.trace.steps, passes)

    def _source(self, naming: Naming | None) -> Source:
        weights = self.constants.weights if self.constants else None
        source = raw_text.source(self.text, self.steps, self._before, naming=naming, weights=weights)
        source.name = f"{self.original.trace.dumps[self.index].name}{' (edited)' if self.is_edited else ''}"
        return source

    @property
    def is_edited(self) -> bool:
        """Whether the text is another one than the dump's."""
        return self.text != self._before

    def _made(self, trace: Trace) -> _Lowering:
        before = self.original.trace
        launched = {name: before.facts[name] for name in _OF_A_LAUNCH if name in before.facts}
        named = replace(
            trace,
            name=f"{before.name}: {self.name or self.says}",
            sources=before.sources,
            tools={**before.tools, **trace.tools},
            facts={**launched, **trace.facts},
        )
        return self.make(
            named, {"original": self.original, "edited": self.index, "lacking": bool(self._left_out and self._looks)}
        )

    @property
    def _looks(self) -> bool:
        """Whether a pass runs that may look at values of constants."""
        safe = pytorch.value_independent_steps()
        whole = self.original.trace.steps
        return any((one.step if one.of < 0 else whole[one.of]) not in safe for one in self.passes)

    @property
    def says(self) -> str:
        """What was changed, in short. Raises UsageError for a dump from which nothing can go on."""
        said = [f"dump {self.index} edited"] if self.is_edited else []
        said += [passes.difference(self.passes, passes.after(self.original.trace, self.index, self.options))]
        return "; ".join(filter(None, said)) or "run again"


def _said(failure: Failure) -> Diagnostic:
    return failure.diagnostics[0] if failure.diagnostics else Diagnostic("error", failure.message)


def number_of(trace: Trace, index: int) -> int:
    """The number of a dump that is counted from either end. Raises UsageError when there is none."""
    count = len(trace.dumps)
    if not isinstance(index, int) or not -count <= index < count:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"There is no dump {index!r}: this lowering has the dumps 0 to {count - 1}")
    return index % count


def begin(
    original: _Lowering,
    index: int,
    text: str | None,
    make: Callable[[Trace, dict[str, Any]], _Lowering],
    options: Options,
    judge: Judge | None,
    constants: Constants | None = None,
) -> Experiment[_Lowering]:
    """An experiment that starts from a dump of a lowering, numbered as `low.dumps` are; -1 is the last.

    Raises UsageError when there is no such dump, or when nothing can go on from there.
    """
    if not isinstance(text, str | None) or not isinstance(index, int):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"edit takes the number of a dump and a text, not {index!r} and a {type(text).__name__}")
    index = number_of(original.trace, index)
    planned = tuple(filter(passes.runs, passes.after(original.trace, index, options)))
    return Experiment(
        original, index, original.trace.dumps[index].text if text is None else text, planned, make, options, judge,
        constants,
    )  # fmt: skip
