"""Two lowerings side by side: their passes aligned, and the first after which they differ."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, ClassVar, Literal

from irwidget import display
from irwidget.errors import IRWidgetError, UsageError
from irwidget.failures import Held
from irwidget.lazy import cached_property
from irwidget.trace import Dump, Trace, debug_info, lines_of, renaming, syntax

NO_VALUES = "values that texts leave out are not compared"
_UNPRINTED = "with -print-changed a pass of only one side may have run in the other and changed nothing"
_NO_LINES = "the lines that debug information names are not compared"
_WHERE_READ = re.compile(r"; ModuleID = .*|(?:source_filename = |\s*\.file\s+)\"<(?:stdin|string)>\"")
"""Lines of LLVM's that say only how it was given the text: a library a string, a program its standard input."""
State = Literal["same", "differs", "only left", "only right", "not compared"]


@dataclass(frozen=True, slots=True)
class PassPair:
    """A pass of both lowerings, or of one that the other does not run."""

    name: str
    left: int | None
    """The number of its dump; None where that lowering does not run it."""
    right: int | None
    state: State
    """Whether the texts after it are the same apart from renumbered names.

    `not compared` where one cannot be had, and where the other lowering was refused or failed before it came so far.
    """
    renamed: str = ""
    """What it is called in the right lowering, where that is another name."""

    @property
    def label(self) -> str:
        """Its name, both where they differ."""
        return f"{self.name} -> {self.renamed}" if self.renamed else self.name


@dataclass(frozen=True)
class Comparison:
    """What `irwidget.compare(left, right)` gives."""

    left: Held
    right: Held
    start: tuple[int, int] = (0, 0)
    """The dumps of both that are compared first: an experiment is held against the dump that it starts from."""
    found: tuple[str, ...] = ()
    """Why these two are shown, in sentences; empty where they were asked for."""
    view: ClassVar[str] = "comparison"
    """The registered view that shows it."""

    @cached_property
    def passes(self) -> tuple[PassPair, ...]:
        """The input and every pass of both, aligned by name and order. Waits for the texts."""
        left, right = self.left.trace, self.right.trace
        if self._refused:
            return (*_alone(left, of_left=True), *_alone(right, of_left=False))
        pairs = list(_aligned(left.dumps, right.dumps, self.start, self._lines, renamed=self._of_releases))
        lost = (left.failure is not None, right.failure is not None)
        reached = _unreached(pairs, left=lost[0], right=lost[1])
        return tuple(_unkept(reached, left=not left.every_pass, right=not right.every_pass))

    def _lines(self, dump: Dump) -> list[str]:
        """What is compared of a text."""
        return ["" if _WHERE_READ.fullmatch(line) else line for line in self._without_debug(dump)]

    def _without_debug(self, dump: Dump) -> list[str]:
        """The lines of a text. What begins as MLIR, whose text names no lines of a source, is compared without
        those to its end: what is edited there has lines of its own.
        """
        if "llvm" in (one.trace.dumps[0].language for one in (self.left, self.right)):
            return lines_of(dump.text)
        return debug_info.without(dump.language, dump.text)

    @property
    def _of_releases(self) -> bool:
        """Whether a pass may have another name in each: not where all tools that both have are of the same version."""
        old, new = self.left.trace.tools, self.right.trace.tools
        both = [(version, new[name]) for name, version in old.items() if name in new]
        return not both or any(version != other for version, other in both)

    @property
    def _refused(self) -> str:
        """Which of both a front end refused, so that there is no pass of it to compare; empty where none."""
        sides = (("left", self.left.trace), ("right", self.right.trace))
        return " and the ".join(f"{side} one" for side, trace in sides if trace.refused)

    @cached_property
    def first(self) -> PassPair | None:
        """The first pass of both after which the texts differ; None when there is none."""
        return next((pair for pair in self.passes if pair.state == "differs"), None)

    @cached_property
    def again(self) -> PassPair | None:
        """The first pass of both after which texts that differed before are the same again; None when there is none."""
        at = self.passes.index(self.first) if self.first else len(self.passes)
        return next((pair for pair in self.passes[at:] if pair.state == "same"), None)

    @cached_property
    def last(self) -> PassPair | None:
        """The first pass of both after which the texts differ and are not the same again; None when there is none.

        It is `first`, unless there is an `again`: passes may undo a difference, as inlining does one of names.
        """
        start = max((i for i, pair in enumerate(self.passes) if pair.state == "same"), default=-1)
        return next((pair for pair in self.passes[start + 1 :] if pair.state == "differs"), None)

    @cached_property
    def inserted(self) -> tuple[PassPair, ...]:
        """The passes that only one of both runs, directly before the first difference, and that changed something."""
        return self._inserted(self.first)

    def _inserted(self, difference: PassPair | None) -> tuple[PassPair, ...]:
        if difference is None:
            return ()
        at = self.passes.index(difference)
        start = next((i for i in reversed(range(at)) if self.passes[i].state == "same"), -1)
        return tuple(pair for pair in self.passes[start + 1 : at] if self._changes(pair))

    def _changes(self, pair: PassPair) -> bool:
        trace, number = self._alone_in(pair)
        try:
            return bool(trace.dumps[number].changed)
        except IRWidgetError:
            return False

    def _alone_in(self, pair: PassPair) -> tuple[Trace, int]:
        """The trace that has a pass of one side, and its number there."""
        return (self.left.trace, pair.left) if pair.left is not None else (self.right.trace, pair.right or 0)

    @cached_property
    def ends_the_same(self) -> bool | None:
        """Whether both leave the same text apart from renumbered names; None when that cannot be told.

        It cannot where a lowering failed, and where equal texts leave out the values of constants.
        """
        if self._end == "not compared":
            return None
        return None if self._end == "same" and self.values_left_out else self._end == "same"

    @cached_property
    def values_left_out(self) -> bool:
        """Whether texts of either leave out values of constants, which then are not compared; `elide=False` has all."""
        return any(pair.state != "not compared" and self._lacks_values(pair) for pair in self.passes)

    def _lacks_values(self, pair: PassPair) -> bool:
        sides = ((self.left.trace, pair.left), (self.right.trace, pair.right))
        texts = (trace.dumps[number].text for trace, number in sides if number is not None)
        return any(name not in self._known for text in texts for name in syntax.left_out(text))

    @cached_property
    def _known(self) -> Collection[str]:
        """Names of constants that are the same in both: what goes on from a dump has those of the original."""
        one, other = (getattr(getattr(side, "origin", None), "constants", None) for side in (self.left, self.right))
        return one.types if one is not None and one is other else ()

    @cached_property
    def _end(self) -> State:
        if self.left.trace.failure or self.right.trace.failure:
            return "not compared"
        return _state(self.left.trace.dumps[-1], self.right.trace.dumps[-1], self._lines)

    @cached_property
    def costs(self) -> dict[str, tuple[Any, Any]]:
        """What the results cost, left and right: lines, operations, facts (registers, shared memory ...).

        Only what both have; facts that are the same in both are left out.
        """
        left, right = self.left.trace, self.right.trace
        found: dict[str, tuple[Any, Any]] = {}
        if left.dumps[-1].language == right.dumps[-1].language and self._end != "not compared":
            found["lines"] = len(self._lines(left.dumps[-1])), len(self._lines(right.dumps[-1]))
            if (count := _operations(left.dumps[-1])) is not None:
                found["operations"] = count, _operations(right.dumps[-1])
        for name in (name for name in left.facts if name in right.facts):
            if isinstance(left.facts[name], int | float | str) and left.facts[name] != right.facts[name]:
                found[name] = left.facts[name], right.facts[name]
        return found

    @property
    def seconds(self) -> tuple[float, float]:
        """How long the passes of each took, as measured where they ran."""
        left, right = (sum(dump.seconds for dump in one.trace.dumps[1:]) for one in (self.left, self.right))
        return left, right

    @property
    def tools(self) -> dict[str, tuple[str, str]]:
        """The tools whose versions differ: left and right, `-` for absent."""
        old, new = self.left.trace.tools, self.right.trace.tools
        names = dict.fromkeys([*old, *new])
        return {name: (old.get(name, "-"), new.get(name, "-")) for name in names if old.get(name) != new.get(name)}

    @property
    def summary(self) -> str:
        """One sentence: whether and where they differ."""
        if self._refused:
            were, have = ("were", "they have") if " and " in self._refused else ("was", "it has")
            return f"not compared: the {self._refused} {were} refused before the first pass, so {have} none"
        counts = Counter(pair.state for pair in self.passes[1:])
        said = (
            f"the same after the {_passes(counts['same'])} that both run" if counts["same"] else "they start the same"
        )
        if self.first is not None:
            said = "they start differently"
            if self.first is not self.passes[0]:
                said = f"they first differ after {self._place(self.first)}"
            if self.again:
                said += f"; the same again after {self.again.label} (dumps {self.again.left} and {self.again.right})"
            if self.again and self.last:
                said += f"; last begin to differ after {self._place(self.last)}"
        elif self.passes[0].state == "not compared":
            said = "what they start from is not compared"
        elif counts["same"] and counts["not compared"]:
            said = f"the same after {_passes(counts['same'])}"
        said += self._beside_nothing
        if counts["only left"] or counts["only right"]:
            said += f"; {_passes(counts['only left'])} only left, {counts['only right']} only right"
        end = {True: "the results are the same", False: "the results differ", None: "the results are not compared"}
        return "; ".join([said, end[self.ends_the_same], *self._left_out])

    def _place(self, pair: PassPair) -> str:
        """A pass after which they differ, with what only one of both runs before it."""
        said = f"{pair.label} (dumps {pair.left} and {pair.right})"
        if inserted := self._inserted(pair):
            said += f", after {', '.join(f'{one.name} ({one.state})' for one in inserted)}"
        return said

    @property
    def _left_out(self) -> list[str]:
        """What of the texts is not compared, and why that may be all that differs."""
        ends = [trace.dumps[-1] for trace in (self.left.trace, self.right.trace)]
        named = self._end != "not compared" and any(self._without_debug(end) != lines_of(end.text) for end in ends)
        sides = (("left", self.left), ("right", self.right))
        lacking = [side for side, one in sides if getattr(one, "results", {}).get("lacking", False)]
        return [
            *([_NO_LINES] if named else []),
            *(f"the {side} one ran without values, which its passes may look at" for side in lacking),
            *([NO_VALUES] if self.values_left_out else []),
            *([_UNPRINTED] if self._unprinted else []),
        ]

    @property
    def _unprinted(self) -> bool:
        """Whether a pass of only one side is of a step whose passes leave a dump only where they change something."""
        alone = [self._alone_in(pair) for pair in self.passes if pair.state in ("only left", "only right")]
        steps = [trace.steps[trace.dumps[number].step] for trace, number in alone if trace.dumps[number].step >= 0]
        return any("-print-changed" in step.arguments for step in steps)

    @property
    def told(self) -> tuple[str, ...]:
        """All that is said in sentences: why these two are shown, and the summary unless that has it."""
        own = (self.summary,) if not (self.found and self.found[0].endswith(self.summary)) else ()
        return (*self.found, *own)

    @property
    def _beside_nothing(self) -> str:
        """How many passes are not compared, and why, as a part of a sentence; empty for none."""
        missing = [pair for pair in self.passes[1:] if pair.state == "not compared"]
        lost = sum(None not in (pair.left, pair.right) for pair in missing)
        said = f"; {_passes(lost)} not compared" if lost else ""
        for one, low, other, count in (
            ("left", self.left, "right", sum(pair.left is None for pair in missing)),
            ("right", self.right, "left", sum(pair.right is None for pair in missing)),
        ):
            why = "failed before" if low.trace.every_pass else "kept only its last dump (dumps=False), beside"
            said += f"; the {one} one {why} {_passes(count)} of the {other} one" if count else ""
        return said

    def to_html(self, path: Any = None) -> str:
        """One offline page with both, opened at the first difference; written to `path` when given.

        Raises UsageError when it cannot be written.
        """
        return display.page([self], f"{self.left.trace.name} and {self.right.trace.name}", path)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return display.mimebundle([self])

    def __str__(self) -> str:
        return display.text([self])

    def __repr__(self) -> str:
        return f"<Comparison: {self.summary}>"


def _passes(count: int) -> str:
    return "1 pass" if count == 1 else f"{count} passes"


def _alone(trace: Trace, *, of_left: bool) -> Iterator[PassPair]:
    """What a lowering has beside one that a front end refused."""
    for number, dump in enumerate(() if trace.refused else trace.dumps):
        yield PassPair(dump.name, number if of_left else None, None if of_left else number, "not compared")


def _unreached(pairs: Sequence[PassPair], *, left: bool, right: bool) -> Iterator[PassPair]:
    """The pairs, where it is open whether a lowering that failed would have run what only the other has after the last
    pass of both; `left` and `right` say which failed.
    """
    last = max(i for i, pair in enumerate(pairs) if None not in (pair.left, pair.right))
    for i, pair in enumerate(pairs):
        unknown = i > last and ((left and pair.left is None) or (right and pair.right is None))
        yield replace(pair, state="not compared") if unknown else pair


def _unkept(pairs: Iterable[PassPair], *, left: bool, right: bool) -> Iterator[PassPair]:
    """The pairs, where it is open whether one that kept its last dump only ran what only the other has."""
    for pair in pairs:
        unknown = (left and pair.left is None) or (right and pair.right is None)
        yield replace(pair, state="not compared") if unknown else pair


_Lines = Callable[[Dump], list[str]]
"""What is compared of a dump."""


def _aligned(
    left: Sequence[Dump], right: Sequence[Dump], start: tuple[int, int], lines: _Lines, *, renamed: bool
) -> Iterator[PassPair]:
    """What both start from, then the passes.

    `start` are the numbers of the first dumps that are compared; `renamed`: a pass may have another name in the right
    one.
    """
    i, j = start
    both = ((left, i), (right, j))
    names = [[("", ""), *((one.name, str(one.scope)) for one in dumps[first + 1 :])] for dumps, first in both]
    for block in SequenceMatcher(None, *names, autojunk=False).get_matching_blocks():
        a, b = start[0] + block.a, start[1] + block.b
        yield from _between(left, right, range(i, a), range(j, b), lines, renamed=renamed)
        i, j = a + block.size, b + block.size
        for one, other in zip(range(a, i), range(b, j), strict=True):
            yield PassPair(left[one].name, one, other, _state(left[one], right[other], lines))


_ALIKE = 0.8
"""How much of two names of passes must be equal for one to be the other's new name."""


def _between(
    left: Sequence[Dump], right: Sequence[Dump], gone: range, new: range, lines: _Lines, *, renamed: bool
) -> Iterator[PassPair]:
    """Passes of one lowering between those of both; one whose name is nearly that of another may have been renamed."""
    at = new.start
    for a in gone:
        b = next((b for b in range(at, new.stop) if renamed and _is_renamed(left[a], right[b])), None)
        if b is None:
            yield PassPair(left[a].name, a, None, "only left")
            continue
        for skipped in range(at, b):
            yield PassPair(right[skipped].name, None, skipped, "only right")
        yield PassPair(left[a].name, a, b, _state(left[a], right[b], lines), right[b].name)
        at = b + 1
    for b in range(at, new.stop):
        yield PassPair(right[b].name, None, b, "only right")


def _is_renamed(left: Dump, right: Dump) -> bool:
    names = ["".join(filter(str.isalnum, dump.name.lower())) for dump in (left, right)]
    return (left.language, left.name != right.name) == (right.language, True) and (
        SequenceMatcher(None, *names, autojunk=False).ratio() >= _ALIKE
    )


def _state(left: Dump, right: Dump, lines: _Lines) -> State:
    try:
        old, new = lines(left), lines(right)
    except IRWidgetError:
        return "not compared"
    if old == new:
        return "same"
    if left.language != right.language or syntax.syntax_of(left.language) is None:
        return "differs"
    return "same" if renaming.equal(old, new) else "differs"


def _operations(dump: Dump) -> int | None:
    how = syntax.syntax_of(dump.language)
    return None if how is None else sum(bool(syntax.operation(line, how)) for line in dump.text.splitlines())


def compare(left: Held, right: Held) -> Comparison:
    """Hold two lowerings side by side: which passes both run, and after which one they first differ.

    `left` and `right` are `irwidget.Lowering`s of any origin: two models, two options, two files (`irwidget.load`), an
    experiment and its original. Texts are compared apart from the names that passes renumber: `differs` is another
    operation, another operand, another attribute or another order. Raises UsageError for what is no lowering.
    """
    for one in (left, right):
        if not isinstance(getattr(one, "trace", None), Trace):
            what = type(one).__name__
            hint = ": choose one of its lowerings" if isinstance(one, Mapping) else ""
            raise UsageError(f"compare takes two lowerings, as irwidget.lower gives them, and this is a {what}{hint}")
    return Comparison(left, right, (_started_from(right, left), _started_from(left, right)))


def _started_from(experiment: Held, original: Held) -> int:
    """The dump of a lowering that an experiment on it starts from; 0 where it is none on it."""
    results: Mapping[str, Any] = getattr(experiment, "results", {})
    return results.get("edited", 0) if results.get("original") is original else 0
