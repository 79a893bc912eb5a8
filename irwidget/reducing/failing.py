"""In which way something fails: the same pass, the same operation, the same class of message."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from irwidget.errors import IRWidgetError, PassError, ToolError, UsageError
from irwidget.toolchain import crashes, external
from irwidget.trace import Failure, Verdict, syntax

_OPERATION = re.compile(r"['\"]([a-z_]\w*(?:\.[\w$]+)+)['\"]")
_MACHINE_OPERATION = re.compile(r"\bintrinsic[ (][%@](llvm\.[\w.]+)|[:=] (G_(?!INTRINSIC)\w+)")
"""What LLVM's back ends cannot select: an intrinsic, or an operation of GlobalISel, behind its results."""
_IN_FUNCTION = re.compile(r" \(in function: [^()\n]*\)")
_VARIES = re.compile(
    r"%[\w$.#-]+|@[\w$.-]+|(?<!\w\+)0x[0-9a-fA-F]+|\bt\d+\b|\b(?!0x)\d[\w.]*|<[^\n]*?>+|\b(?:tensor|memref|vector)\b(?!\.)|\bi\d+\b|/[\w./-]+|\s+"
)
"""What a message has of one program rather than of its kind: names, numbers, types, files; a crash keeps its offset."""

_LISTED = re.compile(r": ((?:[a-z_]\w*(?:\.\w+)+)(?:, [a-z_]\w*(?:\.\w+)+)*)$")
"""Names of operations at the end of a message."""
_LEFT_OVER = "builtin.unrealized_conversion_cast"
"""What conversions leave around the operations that they did not take: never the cause among these."""
_LIMIT = re.compile(r"timed out \(.*")
_BROKEN = "input module is broken"
_RUNNING = re.compile(r"^\d+\.\tRunning pass '([^']+)'", re.M)
"""What LLVM's programs say, below a crash, that they were at."""
_SIGNATURE = re.compile(r"in function \S+ [^\n]*\)(?=: )")
"""How LLVM's back ends name a function: with the types of its arguments."""

_PLACE = re.compile(r"(\bkilled by SIG\w+) in ([^()\n]+?)(?=: |[)\n]|$)")
"""Where a process of ours crashed, as its end is told."""
_NOT_TOLD = re.compile(r"\bkilled by (?:SIG\w+\)*$|signal and said nothing|signal : PLEASE)")


FRONT_END = "front end"
"""Begins what a front end is called among passes."""


@dataclass(frozen=True, slots=True)
class Kind:
    """In which way a lowering fails."""

    kind: str
    """`pass`, `tool`, `usage` or `unsupported`; `differs` of a wrong result; `program` of its own error."""
    pass_name: str
    operation: str
    """The operation that the message names, of several that it lists the first; empty when it names none."""
    message: str
    """Its first line without what is of this program alone."""
    among: frozenset[str] = frozenset()
    """The operations that the message lists at its end."""
    place: str = ""
    """Of a crash, the functions that it was in, where that is known: those of the process that tries candidates."""

    @property
    def other_crashes(self) -> bool:
        """Whether it is a crash of which nothing tells where it was: another one of the same pass is taken for it."""
        return not self.place and bool(_NOT_TOLD.search(self.message))

    def is_told_as(self, other: Kind | None) -> bool:
        """Whether both are the same as far as the other's process could tell: the place of a crash apart."""
        return other is not None and replace(self, place="") == replace(other, place="")

    def includes(self, other: Kind | None) -> bool:
        """Whether something that fails in the other way fails in this one: where operations are listed, at the first,
        perhaps at others of these, and at no other.
        """
        if other is None or replace(other, among=self.among) != self:
            return False
        return other.among <= self.among and bool(other.among) == bool(self.among)

    def __str__(self) -> str:
        where = f"{self.pass_name} at {self.operation}" if self.operation else self.pass_name
        return f"{where or 'the lowering'}: {self.message}" + (f" in {self.place}" if self.place else "")


def kind_of(failure: Failure, name: str = "") -> Kind:
    """In which way a lowering failed; `name` is what was lowered, which the refusal of a front end may name first."""
    said = failure.message
    if name and failure.pass_name.startswith(FRONT_END):
        said = re.sub(rf"(?<![\w.'\"]){re.escape(name)}(?![\w.])", "it", said, count=1)
    below = failure.diagnostics[0].message if failure.diagnostics else ""
    if _BROKEN in said:  # what is broken stands below
        said = f"{said} {below}"
    if at := _RUNNING.findall(below):
        said = f"{said.split(crashes.ASKS)[0]} in {at[-1]}"
    place = crashes.places(below) if external.KILLED in said else ""
    if place:
        said = said.replace(f" in {crashes.place(below)}", "", 1)
    kind = _kind(failure.kind, failure.pass_name, said)
    kind = replace(kind, place=place or kind.place)
    return replace(kind, operation=kind.operation or _shown(said) or _current(failure))


_CURRENT = re.compile(r"see current operation: *\n?(?:%[^=\n]*= )?\"?([a-zA-Z_][\w$]*(?:\.[\w$]+)*)")
_NEXT_ERROR = re.compile(r"^(?:\S+: )?error: ", re.M)


def _current(failure: Failure) -> str:
    """The operation that a note to the first error shows, where its message names none."""
    notes: list[str] = []
    for one in failure.diagnostics[:1]:
        first = _NEXT_ERROR.search(one.message)  # of a program, all that it said
        following = _NEXT_ERROR.search(one.message, first.end()) if first else None
        notes = [one.message[: following.start() if following else None], *(note.message for note in one.notes)]
    return next((found[1] for note in notes if (found := _CURRENT.search(note))), "")


_SHOWN = re.compile(r"\n  at line \d+, column \d+:\n([^\n]*)\n( *)\^")
"""The line of IR below a message of the parser, and where it points."""
_VALUE = re.compile(r"%[\w$.-]+")


def _shown(said: str) -> str:
    """The operation on the line that a message shows, with the value that is not known there: where others are taken
    out, as many are as are left.
    """
    rules = syntax.syntax_of("mlir")
    found = _SHOWN.search(said)
    if found is None or rules is None:
        return ""
    operation = syntax.operation(found[1], rules)
    value = _VALUE.match(found[1], len(found[2]))
    if not value or "undeclared" not in said:
        return operation
    return f"{operation} of {value[0]}" if operation else value[0]


def of_error(error: BaseException) -> Kind:
    """In which way something failed that is no pass: an export, an import, a kernel's front end."""
    kind = class_of(error) if isinstance(error, IRWidgetError) else type(error).__name__
    return _kind(kind, str(getattr(error, "pass_name", "")), str(error))


def class_of(error: IRWidgetError) -> Literal["usage", "pass", "tool", "unsupported"]:
    """The kind of failure that an error is; what a front end does not take is unsupported."""
    match error:
        case UsageError():
            return "usage"
        case PassError():
            return "pass"
        case ToolError():
            return "tool"
        case _:
            return "unsupported"


def of_verdict(verdict: Verdict) -> Kind | None:
    """In which way a result is wrong: after which pass; None where it is not known to be wrong."""
    if verdict.state != "differs":
        return None
    return Kind("differs", verdict.dump, "", f"the result differs from {verdict.reference}")


def timed_out(kind: Kind | None) -> bool:
    """Whether it took too long."""
    return kind is not None and kind.kind == "tool" and "timed out" in kind.message


def _kind(kind: str, pass_name: str, message: str) -> Kind:
    said = _SIGNATURE.sub("in function", _IN_FUNCTION.sub("", message.strip().split("\n")[0]))
    said = _LIMIT.sub("timed out", said)
    place = _PLACE.search(said)
    said = _PLACE.sub(r"\1", said)
    listed = _LISTED.search(said)
    among = listed[1].split(", ") if listed else []
    said = said[: listed.start()] if listed else said
    named = _OPERATION.search(said) or _MACHINE_OPERATION.search(said)
    operation = (
        named[named.lastindex or 0] if named else next((one for one in among if one != _LEFT_OVER), "".join(among[:1]))
    )
    head = said.partition(": %")[0].partition(': "')[0]
    told = " ".join(_VARIES.sub(" ", head).split())
    return Kind(kind, pass_name, operation, told, frozenset(among), place[2] if place else "")
