"""The passes that a lowering ran after one of its dumps, as steps that can be run again, left out or moved."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from irwidget import pipelines
from irwidget.errors import UsageError, near
from irwidget.registry import tools
from irwidget.toolchain import mlir_flags, option_values
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Dump, Step, Trace

_BODY = re.compile(r"((?:[\w.]+\()*[\w-]+)\{([^{}]*)\}(\)*)")
"""A textual pipeline of one pass that has options: `builtin.module(func.func(canonicalize{top-down=true}))`."""
_ARGUMENT = "--pass-pipeline="
GENERIC = "mlir-print-op-generic"
"""The option of mlir-opt with which it prints what any other reads."""
_MOST_NAMES = 3
"""Passes that are named in a title."""
_EMPTY = "module { func.func @f() { return } }"
"""What a pipeline is run on to see which passes it has."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A pass that is to run, or a step that cannot be taken apart into passes."""

    name: str
    step: Step
    """What runs just this."""
    of: int = -1
    """The step of the original lowering that it is a part of; -1 for one of the user's own."""
    index: int = -1
    """The dump that it left in the original lowering; -1 for none."""

    @property
    def options(self) -> dict[str, str]:
        """The options that `changed` takes, with their values: none that names a file, a program or other passes."""
        found = _BODY.fullmatch(textual(self.step.arguments))
        pairs = (pair.partition("=") for pair in (found[2] or "").split()) if found else ()
        return {
            name: value for name, sign, value in pairs if sign and value and not option_values.REACHES_OUT.search(name)
        }

    def changed(self, options: Mapping[str, object]) -> Planned:
        """The same pass with other values of some of its options. Raises UsageError."""
        now = self.options
        body = self.step.arguments
        for name, given in options.items():
            value = str(given).lower() if isinstance(given, bool) else str(given)
            if name not in now:
                has = near(name, now) if now else "It has none."
                raise UsageError(f"{self.name} has no option {name!r} to set here. {has}")
            option_values.check(name, option_values.kind_of(now[name]), value)
            body = re.sub(rf"(?<=[{{ ]){re.escape(name)}=[^\s{{}}]*", f"{name}={value}", body, count=1)
        return replace(self, step=replace(self.step, arguments=body))


def after(trace: Trace, index: int, options: Options) -> tuple[Planned, ...]:
    """What the lowering runs after dump `index`, pass by pass where its tools have passes.

    Of a step in which the lowering failed, the passes after the failure are those that its tool runs on an empty
    function; a step of which dumps were not kept is a whole. Raises UsageError where the dump
    is in the middle of a step that cannot be begun there, or before one that
    takes no text.
    """
    begun = trace.dumps[index].step
    _takes_text(trace, index)
    found: list[Planned] = []
    for number in range(max(begun, 0), len(trace.steps)):
        of_step = [i for i, dump in enumerate(trace.dumps) if dump.step == number]
        later = [i for i in of_step if i > index]
        done = trace.failure is None or trace.failure.step > number
        if number == begun and not later and done:
            continue
        count = len(of_step) - len(later)
        parts = _passes(trace, number, later, count, options, complete=done) if trace.every_pass else None
        if parts is None:
            if number == begun:
                raise UsageError(_not_here(trace, index))
            parts = [Planned(str(trace.steps[number]), trace.steps[number], number, later[-1] if later else -1)]
        found += parts
    _begins(trace, index, found)
    return tuple(found)


def _begins(trace: Trace, index: int, planned: Sequence[Planned]) -> None:
    """Raise UsageError where a stage of Triton's compiler would have to go on from LLVM IR or PTX."""
    dump = trace.dumps[index]
    if dump.language == "mlir" or not any(one.of >= 0 and trace.steps[one.of].tool == "triton" for one in planned):
        return
    ends = [
        i for i in range(index) if trace.dumps[i].language == "mlir" and trace.dumps[i].step < trace.dumps[i + 1].step
    ]
    before = max(ends, default=0)
    raise UsageError(
        f"Nothing goes on from dump {index} ({dump.name}): stages of Triton begin with TTIR or TTGIR. "
        f"Edit dump {before} ({trace.dumps[before].name}), the last of these"
    )


def _passes(
    trace: Trace, number: int, later: Sequence[int], done: int, options: Options, *, complete: bool
) -> list[Planned] | None:
    """The passes of a step that come after its first `done`; None where it cannot be taken apart."""
    if complete:
        return _planned([(i, trace.dumps[i]) for i in later], trace.steps[number], number)
    own = [dump for dump in trace.dumps if dump.step == number]
    listed = Source(_EMPTY).run((trace.steps[number],), replace(options, timeout=None))
    every = [dump for dump in listed.dumps if dump.step == 0]
    if listed.failure or [dump.name for dump in every[: len(own)]] != [dump.name for dump in own]:
        return None
    numbered = [(later[0] + i if later and i < len(later) else -1, dump) for i, dump in enumerate(every[done:])]
    return _planned(numbered, trace.steps[number], number)


def _planned(dumps: Sequence[tuple[int, Dump]], step: Step, number: int) -> list[Planned] | None:
    if not all(dump.pipeline for _, dump in dumps):
        return None
    parts: list[Planned] = []
    for index, dump in dumps:
        try:
            (one,) = pipelines.parse(dump.pipeline)
        except (UsageError, ValueError):  # no pipeline says what this pass does
            return None
        parts.append(Planned(dump.name, replace(one, name=dump.name, program=step.program), number, index))
    return parts


def leavable(trace: Trace) -> set[int]:
    """The dumps whose passes can be left out, from some dump before on: those that `after` lists by themselves.

    What a step in which the lowering failed would have run is not asked here.
    """
    found: set[int] = set()
    for number, step in enumerate(trace.steps):
        own = [i for i, dump in enumerate(trace.dumps) if dump.step == number]
        alone = len(own)
        while alone and trace.every_pass and _planned([(own[alone - 1], trace.dumps[own[alone - 1]])], step, number):
            alone -= 1
        found |= set(own[alone:])
        failed = trace.failure is not None and trace.failure.step == number
        if runs(Planned(str(step), step)) and not failed:  # all of it
            found |= set(own[-1:])
    return found


def runs(one: Planned) -> bool:
    """Whether a tool runs it on text; a front end did what none does, with the objects that it had."""
    return bool(one.step.program) or tools.get(one.step.tool) is not None


def _takes_text(trace: Trace, index: int) -> None:
    """Raise UsageError where no tool runs on text what comes after a dump, unless that comes at the very end."""
    dump = trace.dumps[index]
    unfinished = {one.step for one in trace.dumps[index + 1 :]} | ({trace.failure.step} if trace.failure else set())
    left = [number for number in range(len(trace.steps)) if number > dump.step or number in unfinished]
    lost = [number for number in left if not _is_run(trace, number)]
    blocked = [number for number in lost if any(later not in lost for later in left if later > number)]
    if not blocked and (not lost or dump.language in ("mlir", "llvm")):
        return
    first = max((i for i, one in enumerate(trace.dumps) if one.step <= max(blocked)), default=0) if blocked else 0
    said = f"Nothing goes on from dump {index} ({dump.name}): no tool here runs {trace.steps[lost[0]]} on text. "
    if first > index:
        raise UsageError(f"{said}Dumps from {first} ({trace.dumps[first].name}) on can be edited")
    raise UsageError(f"{said}A %%lower cell that it was made in can be edited: low.edit(source=...)")


def _is_run(trace: Trace, number: int) -> bool:
    """Whether a tool runs a step, or each of its passes, on text."""
    step = trace.steps[number]
    own = [dump for dump in trace.dumps if dump.step == number]
    return runs(Planned(str(step), step)) or bool(own and all(dump.pipeline for dump in own))


def textual(arguments: str) -> str:
    """The textual pipeline of a tool's arguments, where these are no other passes."""
    flags = others(arguments)
    words = [word for word in shlex.split(arguments) if word not in flags]
    return words[0].removeprefix(_ARGUMENT) if len(words) == 1 and words[0].startswith(_ARGUMENT) else arguments


def others(arguments: str) -> list[str]:
    """The words that are no passes, but of all of them."""
    return [word for word in shlex.split(arguments) if word.lstrip("-") in (mlir_flags.UNREGISTERED, GENERIC)]


def with_flags(arguments: str, flags: Sequence[str]) -> str:
    """Arguments behind such words."""
    said = f"{_ARGUMENT}{shlex.quote(arguments)}" if flags and arguments.startswith("builtin.module(") else arguments
    return " ".join([*flags, said])


def _not_here(trace: Trace, index: int) -> str:
    step = trace.dumps[index].step
    others = [i for i, dump in enumerate(trace.dumps) if dump.step != step or i + 1 == len(trace.dumps)]
    before = max((i for i in others if i < index), default=0)
    return (
        f"Dump {index} is in the middle of {trace.steps[step]}, which cannot be begun there. "
        f"Edit dump {before} ({trace.dumps[before].name}), the last before that step"
    )


def steps_of(planned: Sequence[Planned], trace: Trace, index: int, whole: Sequence[Planned]) -> tuple[Step, ...]:
    """What to run after dump `index`: a step of the original lowering where all of it comes after that and stands as it
    was, else its passes.
    """
    begun = {dump.step for dump in trace.dumps[: index + 1]}
    steps: list[Step] = []
    for of, group in groupby(planned, key=lambda one: one.of):
        parts = list(group)
        original = [one for one in whole if one.of == of]
        complete = of >= 0 and of not in begun and parts == original
        steps += [trace.steps[of]] if complete else [one.step for one in parts]
    return tuple(steps)


def find(planned: Sequence[Planned], which: str | int) -> int:
    """The place of a pass: by name, or by the number of the dump that it left. Raises UsageError."""
    places = [i for i, one in enumerate(planned) if which in (one.name, one.index)] if which != -1 else []
    if len(places) == 1:
        return places[0]
    if not places:
        known = [one.name for one in planned]
        raise UsageError(f"No pass {which!r} comes after the edited dump. {near(str(which), known)}")
    numbers = ", ".join(str(planned[i].index) for i in places)
    raise UsageError(f"{which!r} runs {len(places)} times: say which by the number of its dump, one of {numbers}")


def difference(planned: Sequence[Planned], whole: Sequence[Planned]) -> str:
    """What is other in some passes than in those of the lowering, in short; "" for nothing."""
    before = {(one.of, one.index, one.name): one for one in whole if one.of >= 0}
    kept = {(one.of, one.index, one.name): one for one in planned if one.of >= 0}
    gone = [one.name for place, one in before.items() if place not in kept]
    new = [one.name for one in planned if one.of < 0]
    said = [f"without {_named(gone)}"] if gone else []
    said += [f"with {_named(new)}"] if new else []
    for place, one in kept.items():
        if place in before and before[place] != one:
            was = before[place].options
            values = " ".join(f"{name}={value}" for name, value in one.options.items() if was.get(name) != value)
            said.append(f"{one.name} with {values}")
    if not said and [*kept] != [*before]:
        said.append("passes in another order")
    return "; ".join(said)


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} passes"
