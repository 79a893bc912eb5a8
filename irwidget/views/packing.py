"""Traces as the browser gets them: an .irtrace file that grows as dumps arrive, with what only a view needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from irwidget import private_ipython
from irwidget.errors import IRWidgetError
from irwidget.trace import WHOLE, ContentCache, Diagnostic, Dump, Failure, Trace, chunks, predecessors, syntax
from irwidget.trace.file import CHUNK, Place, Writer
from irwidget.views import columns
from irwidget.views.schema import lowerings as schema

_SIDE_BY_SIDE = 64
"""Dumps of a lowering on either side of one on the screen that are packed together, in their order."""
ATTACHED = 4_000_000
"""Bytes of attachments that go to the browser at most, in all; what is larger is only named there."""


def pack(traces: Sequence[Trace]) -> bytes:
    """Pack the dumps that are ready; the others are named, and said to be lost."""
    packer = Packer(traces)
    while packer.add():
        pass
    packer.finish()
    return packer.data


class Packer(Writer):
    """Packs traces for the browser bit by bit; what has been packed stays as it is."""

    def __init__(self, traces: Sequence[Trace], heard: Callable[[bytes], None] | None = None) -> None:
        super().__init__(traces, extra=_ForView(), attached=ATTACHED, heard=heard)

    def lacks(self, places: Iterable[Place]) -> bool:
        """Whether one of these dumps has not been packed yet."""
        return any(place in self._waiting for place in places)

    def add_nearest(self, shown: Sequence[Place]) -> bool:
        """Add a chunk with what is ready of these dumps, then of those around the last of them.

        Those side by side come one after the other, since a log's text is made from that of its neighbour. False when
        none is ready.
        """
        trace, stage = shown[-1]
        first = [at for at in shown if at in self._waiting]
        rest = sorted(self._waiting, key=lambda at: (abs(at[0] - trace), abs(at[1] - stage) // _SIDE_BY_SIDE, at))
        return self._put(self._ready(dict.fromkeys([*first, *rest]), CHUNK))


class _ForView:
    """What a view shows and a trace does not say in these words."""

    def begin(self, traces: Sequence[Trace]) -> chunks.Pieces:
        self._languages = frozenset(dump.language for trace in traces for dump in trace.dumps)
        return chunks.object_of({"traces": chunks.array_of(map(_described, traces))})

    def sections(self, shapes: bytes) -> Mapping[str, bytes]:
        return columns.of_shapes(shapes, self._languages)


def _described(trace: Trace) -> chunks.Pieces:
    """What is known of a trace without the text of its dumps, as it is shown; JSON."""
    known = {
        "facts": _facts(trace),
        "verdict": verdict_of(trace),
        "failure": failure_of(trace),
        "diagnostics": [
            _said(trace, one) for one in trace.said if not (trace.check and one.message == trace.check.message)
        ],
    }
    encoded = {name: [chunks.to_json(value)] for name, value in known.items()}
    return chunks.object_of({**encoded, "stages": chunks.array_of(_stages(trace))})


def _stages(trace: Trace) -> Iterator[chunks.Pieces]:
    """Each dump as a `schema.ViewedStage`, as JSON; what is the same of many is encoded once."""
    before, labels = predecessors(trace.dumps), repeated([dump.name for dump in trace.dumps])
    checked = {} if trace.check is None else trace.check.by_dump
    steps = dict(enumerate(map(str, trace.steps)))
    seen: dict[tuple[int, int, str, str], bytes] = {}
    for i, dump in enumerate(trace.dumps):
        key = (id(dump.scope), dump.step, dump.language, checked.get(i, ""))
        if key not in seen:
            same = {
                "step": steps.get(dump.step, ""),
                "scope": str(dump.scope),
                "part": part_of(dump),
                "syntax": syntax.syntax_of(dump.language) or "",
                "check": key[-1],
            }
            seen[key] = chunks.to_json(same)[1:]
        yield b'{"label":%b,"before":%d,' % (chunks.to_json(labels[i]), before[i]), seen[key]


def part_of(dump: Dump) -> str:
    """The function, loop or kernel that a dump shows; "" for the whole module."""
    return "" if dump.scope.whole else str(dump.scope)


def text_of(dump: Dump) -> str | None:
    """The text of a dump, waited for; None when it will never come, because the compiler that had it is gone."""
    try:
        return dump.text
    except IRWidgetError:
        return None


def facts_of(trace: Trace) -> list[tuple[str, str]]:
    """Facts as short labels and values, the verdict of a check first; nested ones are joined into one value."""
    check = [("check", trace.check.brief)] if trace.check else []
    return [*check, *_facts(trace)]


def _facts(trace: Trace) -> list[tuple[str, str]]:
    return [(str(name), _value(value)) for name, value in trace.facts.items()]


def verdict_of(trace: Trace) -> schema.Verdict | None:
    """What a check has found, as the browser gets it; None where nobody asked."""
    if (check := trace.check) is None:
        return None
    wrong = first_wrong(trace)
    stage = -1 if wrong is None else wrong
    return {
        "state": check.state, "brief": check.brief, "reference": check.reference, "text": str(check), "stage": stage,
    }  # fmt: skip


def _value(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.3g}"
        case None:
            return "none"
        case Mapping():
            return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items() if inner not in (None, ""))
        case list() | tuple():
            between = "; " if any(isinstance(inner, Mapping) for inner in value) else ", "
            return between.join(_value(inner) for inner in value)
        case _:
            return str(value)


def step_name(trace: Trace, made: Dump | Failure) -> str:
    """The step that a dump or a failure is of; empty for the input."""
    return str(trace.step_of(made) or "")


def _said(trace: Trace, diagnostic: Diagnostic) -> str:
    """A diagnostic in words, in which a cell is called by its number."""
    said = str(diagnostic)
    for file in trace.sources:
        if cell := private_ipython.cell_of(file):
            said = said.replace(f"{file}:", f"{cell} line ")
    return said


def failure_of(trace: Trace) -> dict[str, Any] | None:
    """A failure as the browser gets it."""
    failure = trace.failure
    if failure is None:
        return None
    # A refusal says its place in words; a pass says it in its diagnostic alone.
    new = [one for one in failure.diagnostics if not (trace.refused and one.message in failure.message)]
    return {
        "step": step_name(trace, failure),
        "pass": failure.pass_name,
        "message": failure.message,
        "diagnostics": [_said(trace, one) for one in new],
        "reproducer": failure.reproducer,
    }


def repeated(names: Sequence[str]) -> list[str]:
    """Number the names that occur more than once: canonicalize, canonicalize (2)."""
    seen: defaultdict[str, int] = defaultdict(int)
    labels: list[str] = []
    for name in names:
        seen[name] += 1
        labels.append(f"{name} ({seen[name]})" if seen[name] > 1 else name)
    return labels


_WITH_DEBUG_INFORMATION = 8
"""How many bytes a letter of a dump may have in a log, with the debug information that is not shown as its text."""


def letters(traces: Sequence[Trace], most: int) -> int:
    """Letters of all dumps that are here; where these are more than `most`, some number above it.

    Of a log that has so many times the bytes that its debug information cannot be most of them, none is read.
    """

    def here() -> Iterator[Dump]:
        return (dump for trace in traces for dump in trace.dumps if dump.ready)

    stored = (dump.texts.size(dump.index) for dump in here() if isinstance(dump.texts, ContentCache))
    if _sum(stored, _WITH_DEBUG_INFORMATION * most) > _WITH_DEBUG_INFORMATION * most:
        return most + 1
    return _sum((len(dump.text) for dump in here()), most)


def _sum(numbers: Iterable[int], most: int) -> int:
    """Their sum, or where that is more than `most` the first above it."""
    found = 0
    for number in numbers:
        found += number
        if found > most:
            break
    return found


def last_change(trace: Trace) -> int:
    """The last stage whose text differs from the one before of its scope; the last stage when none does."""
    last = len(trace.dumps) - 1
    return next(_changes(trace, range(last, -1, -1)), last)


def _changes(trace: Trace, among: Iterable[int]) -> Iterator[int]:
    """Those stages whose text is here and differs from the one before of their scope."""
    before = predecessors(trace.dumps)
    for i in among:
        old, new = trace.dumps[before[i]].arrived if before[i] >= 0 else None, trace.dumps[i].arrived
        if old is not None and new is not None and old != new:
            yield i


def first_wrong(trace: Trace) -> int | None:
    """The dump after which a check has found the program wrong for the first time; None where it has not."""
    wrong = trace.check and trace.check.state == "differs"
    return trace.check.index if trace.check and wrong else None


def settled(trace: Trace) -> bool:
    """Whether texts that are on their way cannot change what `opening` says."""
    if first_wrong(trace) is not None:
        return True
    needed = trace.dumps if trace.nodes else trace.dumps[opening(trace)[0] :]
    return all(dump.arrived is not None for dump in needed)


def has_graphs(traces: Sequence[Trace]) -> bool:
    """Whether a lowering has left graphs that the page can draw."""
    return any(name.endswith(".dot") for trace in traces for name in trace.attachments)


SPYRE = "spyre front end"
"""The tool of a lowering for Spyre."""
_DECIDING = ("work_distribution", "scratchpad_planning")


def first_shown(traces: Sequence[Trace]) -> int:
    """Which lowering a view opens with: of a log's, the one that failed, or that has the most passes; else the first.

    A log of several modules begins with small ones, often. Lowerings of one name are to be compared, the first with
    others. Logs do not name their tools.
    """
    if any(trace.tools for trace in traces) or len({trace.name for trace in traces}) < len(traces):
        return 0
    return max(range(len(traces)), key=lambda i: (traces[i].failure is not None, len(traces[i].dumps), -i))


def opening(trace: Trace) -> tuple[int, int]:
    """The two stages that a view opens with: the first wrong pass of a check, the last change, or the only stage twice.

    What puts all kernels together is shown by itself. A Helion kernel's last change only names its values: it
    opens with the first that a pass made of its MLIR. Of Spyre's passes, those that decide stand side by side: work
    division and scratchpad.
    """
    before = predecessors(trace.dumps)
    last = len(trace.dumps) - 1
    if (wrong := first_wrong(trace)) is not None:
        return _beside(before, wrong), wrong
    names = [dump.name for dump in trace.dumps]
    if SPYRE in trace.tools and all(name in names for name in _DECIDING):
        return names.index(_DECIDING[0]), names.index(_DECIDING[1])
    language = [dump.language for dump in trace.dumps]
    passes = [i for i, old in enumerate(before) if trace.nodes and language[old] == language[i] == "mlir"]
    right = next(_changes(trace, passes), None)
    if right is None:
        right = last if before[last] < 0 and trace.dumps[last].scope == WHOLE else last_change(trace)
    return _beside(before, right), right


def _beside(before: Sequence[int], stage: int) -> int:
    """What a stage is shown beside: the one that it is compared with, or itself where there is none."""
    return stage if before[stage] < 0 else before[stage]
