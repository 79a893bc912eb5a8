"""From what a reader has found in a log to traces: one for each compilation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from irwidget.readers import banners, ending, leaving, repeating
from irwidget.readers.composing import Composer
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.grouping import Groups, LoggedCompilation, Piece
from irwidget.readers.log import Log, decoded
from irwidget.readers.planning import planned
from irwidget.readers.stages import LoggedStage, Told, stages
from irwidget.trace import ContentCache, Diagnostic, Dump, Failure, Location, Step, Trace

_MOST_SAID = 1000
"""Diagnostics of one compilation at most."""
_TORN = (
    "{} dumps are cut off where another begins on their line: several threads or processes have printed at once. "
    "What stands in these texts may not be theirs, and a dump may be compared with another module's: have one print "
    "at a time (rustc -C codegen-units=1, make -j1)"
)
_IN_TURN = (
    "The dumps of several modules come in turn, {} times, as of processes that print at once: each stretch of one is a "
    "lowering of its own, whose first dump is compared with nothing (make -j1 has them one after the other)"
)
_NAMELESS = "The log ends within the line that names a pass: what that made is not in it"
_TOLD = ("mlir", "llvm", "mir")
"""The languages of which a text tells whether it is all there."""
_LINE = 1 << 12
_TAIL = 1 << 16
"""Bytes of what was printed last that are read for a crash."""


def assembled(log: Log, found: Iterable[PrintedDump | Said], name: str, tool: str = "") -> list[Trace]:
    """The compilations of a log as traces; `tool` is what printed it, where that is known."""
    groups = Groups(log)
    groups.take(found)
    apart = [part for one in groups.all if one.pieces for part in repeating.apart(log, one)]
    compilations = leaving.with_outputs(log, apart)
    end = _end(log)
    torn = [sum(piece.printed.cut and piece.printed.stop < end for piece in one.pieces) for one in compilations]
    made: list[Trace | None] = []
    for one, own in zip(compilations, torn, strict=True):
        called = _called(one, name, several=len(compilations) > 1)
        made.append(_trace(log, one, called, tool, own if one.pieces[0].printed.group else sum(torn)))
    number, ends = _ends_open(log, compilations)
    if ends and (trace := made[number]) is not None:
        said = Diagnostic("remark", ends, _place(log, log.size - 1))
        made[number] = replace(trace, diagnostics=(*trace.diagnostics, said))
    traces = [trace for trace in made if trace is not None]
    if (turns := _turns(compilations)) > 1:
        said = Diagnostic("warning", _IN_TURN.format(turns))
        traces = [replace(trace, diagnostics=(*trace.diagnostics, said)) for trace in traces]
    if traces and banners.TORN.match(log.read(max(log.size - _LINE, 0), log.size).rpartition(b"\n")[2]):
        said = Diagnostic("warning", _NAMELESS, _place(log, log.size - 1))
        traces[-1] = replace(traces[-1], diagnostics=(*traces[-1].diagnostics, said))
    return traces


def _end(log: Log) -> int:
    """Where a log ends, but for blanks."""
    start = max(log.size - _LINE, 0)
    return start + len(log.read(start, log.size).rstrip())


def _turns(compilations: Sequence[LoggedCompilation]) -> int:
    """How often the log goes on with a module that it had left for another: passes do not begin again with it."""
    first: dict[str, Piece] = {}
    before, count = frozenset[str](), 0
    for one in compilations:
        if one.module is None or one.pieces[0].printed.group:
            continue
        defines, begins = one.module.defines, one.pieces[0]
        known = next((first[symbol] for symbol in sorted(defines) if symbol in first), None)
        if known is not None and not defines & before:
            count += (known.printed.name, known.printed.when) != (begins.printed.name, begins.printed.when)
        for symbol in defines:
            first.setdefault(symbol, begins)
        before = defines
    return count


def _size(stage: LoggedStage) -> int:
    return stage.piece.printed.stop - stage.piece.printed.start


def _trace(log: Log, compilation: LoggedCompilation, name: str, tool: str, torn: int) -> Trace | None:
    """One compilation as a trace; `torn` dumps are cut off by others, of this one where the log says whose they are."""
    told = stages(log, compilation)
    if not told.stages:
        return None
    plans = planned(log, told)
    told = plans.told
    texts = ContentCache(Composer(log, plans.texts).content, size=lambda index: _size(plans.texts[index].stage))
    whole, file = tool or "log", log.name.rpartition("/")[2]
    steps = list(dict.fromkeys(stage.piece.printed.step or whole for stage in told.stages if stage.step >= 0)) or [
        whole
    ]
    dumps = tuple(
        Dump(
            plan.stage.name,
            steps.index(plan.stage.piece.printed.step or whole) if plan.stage.step >= 0 else -1,
            plan.language,
            texts,
            index,
            plan.stage.options,
            plan.stage.piece.printed.seconds,
            plan.scope,
        )
        for index, plan in enumerate(plans.texts)
    )
    said, failure = _said(log, compilation, told)
    if again := repeating.doubt(compilation):
        said.append(Diagnostic("remark", again))
    if torn:
        said.append(Diagnostic("warning", _TORN.format(torn)))
    end = _end(log)
    cut = next((one.printed for one in compilation.pieces if one.printed.cut and one.printed.stop >= end), None)
    if cut is not None:
        ends = f"The log ends in the middle of the IR {cut.when} {cut.name}: the text is what is there"
        said.append(Diagnostic("warning", ends, _place(log, max(log.size - 1, 0))))
    return Trace(
        dumps[-1].language,
        dumps,
        tuple(Step(whole, file, "" if one == whole else one) for one in steps),
        diagnostics=(*said, *told.remarks, *plans.remarks),
        failure=failure,
        name=name,
    )


def _ends_open(log: Log, compilations: Sequence[LoggedCompilation]) -> tuple[int, str]:
    """What to say, and of which compilation, of a log that ends without a line break where nothing tells that its last
    text is whole; nothing where something does.
    """
    dumps = [(one.printed.stop, i, one) for i, part in enumerate(compilations) for one in part.pieces if one.digest]
    stop, number, last = max(dumps, key=lambda one: one[0], default=(0, 0, None))
    if last is None or last.printed.cut or last.printed.language in _TOLD or log.read(log.size - 1, log.size) == b"\n":
        return 0, ""
    where = f", in the IR {last.printed.when} {last.printed.name}" if stop >= _end(log) else ""
    return number, f"The log ends without a line break{where}: there may have been more of it"


def _called(compilation: LoggedCompilation, otherwise: str, *, several: bool) -> str:
    """What a compilation is of: the module's name, or the one function that it has; of several, the one that stays."""
    if group := compilation.pieces[0].printed.group:
        return group
    modules = [piece for piece in compilation.pieces if piece.whole and piece.digest]
    for piece in modules[:1]:
        if piece.symbol:
            return piece.symbol
        if len(piece.defines) == 1:
            return next(iter(piece.defines))
        if piece.module and piece.module not in ("LLVMDialectModule", "<stdin>", "-"):
            return Path(piece.module).name
    if several and modules and len(stay := frozenset.intersection(*(piece.defines for piece in modules))) == 1:
        return next(iter(stay))
    functions = {piece.printed.scope.function for piece in compilation.pieces if not piece.whole}
    return functions.pop() if len(functions) == 1 and not modules else otherwise


def _place(log: Log, at: int) -> Location:
    return Location(*log.place(at))


def _said(log: Log, compilation: LoggedCompilation, told: Told) -> tuple[list[Diagnostic], Failure | None]:
    """What stands between the dumps, as diagnostics; and the failure that the log tells of."""
    found: list[Diagnostic] = []
    crash: ending.Crash | None = None
    crashed_after = -1
    left = 0
    for count, said in compilation.said:
        stage = told.numbers[count - 1] if 0 < count <= len(told.numbers) else -1
        text = decoded(log.read(said.start, min(said.stop, said.start + ending.MOST + 4)))
        text += (
            f"\n... {said.stop - said.start - ending.MOST} bytes more"
            if said.stop - said.start > ending.MOST + 4
            else ""
        )
        short = said.stop - said.start <= ending.MOST
        tail = text if short else decoded(log.read(max(said.start, said.stop - _TAIL), said.stop))
        if told_of := ending.crash(tail):
            crash, crashed_after = told_of, stage
        if text.strip() and len(found) >= _MOST_SAID:
            left += 1
        elif text.strip():
            place = _place(log, said.start + len(text) - len(text.lstrip()))
            after = (
                f"printed after {told.stages[stage].name}, dump {stage}"
                if stage >= 0
                else "printed before the first dump"
            )
            found += ending.diagnostics(text, place, (Diagnostic("note", after),))
    failure = _failure(told, crash, crashed_after, found)
    if left:
        found.append(Diagnostic("remark", f"The log says more between its dumps: {left} remarks that are not listed"))
    return found, failure


def _failure(told: Told, crash: ending.Crash | None, after: int, said: list[Diagnostic]) -> Failure | None:
    errors = tuple(one for one in said if one.severity == "error")
    if told.failed is not None:
        message = errors[0].message if errors else "the log says that it failed"
        return Failure(0, told.failed.printed.name, message, errors)
    if crash is not None:
        name = crash.pass_name or told.running
        where = f"; the last dump is {after}, {told.stages[after].name}" if after >= 0 else ""
        return Failure(0, name, f"{crash.message}{where}", errors, kind="tool")
    return None
