"""Why one-shot-bufferize gave an operand a buffer of its own: its analysis, as it annotates IR when asked to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irwidget.errors import UsageError
from irwidget.trace import Dump, Location, Trace

PASS = "one-shot-bufferize"
ANALYSIS = {"test-analysis-only": "true", "print-conflicts": "true"}
"""Options with which the pass changes nothing and says what it found."""
_INPLACE = re.compile(r"__inplace_operands_attr__ = \[([^\]]*)\]")
_ROLE = re.compile(r'"(?P<id>[CW]_\d+)\[(?P<role>DEF|READ|CONFL-WRITE|NOT-WRITABLE): (?P<what>[^\]]*)\]"')
_OPERATION = re.compile(r'(?:%[^=]*= )?"?([a-z_]\w*(?:\.\w+)+|return)\b')


@dataclass(frozen=True)
class Place:
    """An operand, result or argument of an operation of the dump before the pass."""

    line: int
    """Of that dump, from 1."""
    operation: str
    what: str
    """`operand 1`, `result 0`, or `argument 0` of a block of its."""
    location: Location | None
    """The user's line."""

    def __str__(self) -> str:
        return f"{self.what} of {self.operation}, line {self.line}"


@dataclass(frozen=True)
class BufferConflict:
    """A value that would have been overwritten before it is read, in one buffer."""

    definition: Place
    write: Place
    read: Place

    def __str__(self) -> str:
        return f"{self.write} would overwrite {self.definition}, which is still read: {self.read}"


@dataclass(frozen=True)
class OwnBuffer:
    """An operand that is not written in place."""

    operand: Place
    conflicts: tuple[BufferConflict, ...]
    """Those in which this operand is the write."""
    related: tuple[BufferConflict, ...]
    """Where there are none: those in which its operation takes part otherwise."""


class Bufferization:
    """What the analysis of one-shot-bufferize decided for a dump, and the conflicts that it found."""

    def __init__(self, dump: Dump, annotated: str) -> None:
        self.dump = dump
        """The dump before the pass, which lines are of."""
        found = list(_annotations(annotated, dump))
        self.conflicts: Sequence[BufferConflict] = tuple(_conflicts(found))
        self.not_writable: Sequence[Place] = tuple(one.place for one in found if one.role == "NOT-WRITABLE")
        """Values that nothing may write into."""
        self.own: Sequence[OwnBuffer] = tuple(
            _own(one.place, self.conflicts) for one in found if one.role == "false" and not one.id
        )
        """Operands with buffers of their own, in the order of the dump."""

    def __repr__(self) -> str:
        lines = [f"{PASS} after {self.dump.name}: {len(self.own)} operands with buffers of their own"]
        for one in self.own:
            lines.append(f"{one.operand}" + (f" ({one.operand.location})" if one.operand.location else ""))
            lines += [f"  {conflict}" for conflict in one.conflicts]
            if not one.conflicts:
                lines.append("  the analysis names no conflict in which it is the write")
                lines += [f"  its operation takes part in one: {conflict}" for conflict in one.related]
        lines += [f"not writable: {place}" for place in self.not_writable]
        return "\n".join(lines)


@dataclass(frozen=True)
class _Annotation:
    id: str
    role: str
    place: Place


def _annotations(text: str, dump: Dump) -> Iterator[_Annotation]:
    locations = dump.content.locations
    opened: list[tuple[int, int, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.lstrip(" ")
        depth = len(line) - len(bare)
        operation = _OPERATION.match(bare)
        of = (number, operation[1] if operation else "")
        if bare.startswith("}"):  # some operations have their attributes behind their regions
            while opened and opened[-1][0] > depth:
                opened.pop()
            of = opened[-1][1:] if opened and opened[-1][0] == depth else of
        elif bare.endswith("{") and operation:
            opened.append((depth, *of))
        where = locations[of[0] - 1] if of[0] <= len(locations) else None
        for found in _ROLE.finditer(line):
            role = found["role"]
            what = found["what"].replace("bbArg", "argument")
            yield _Annotation(
                found["id"], role, Place(*of, f"operand {what}" if role in ("READ", "CONFL-WRITE") else what, where)
            )
        if inplace := _INPLACE.search(line):
            for at, said in enumerate(inplace[1].split(",")):
                if said.strip() == '"false"':
                    yield _Annotation("", "false", Place(*of, f"operand {at}", where))


def _conflicts(found: Sequence[_Annotation]) -> Iterator[BufferConflict]:
    for one in dict.fromkeys(one.id for one in found if one.id.startswith("C_")):
        roles = {other.role: other.place for other in found if other.id == one}
        if roles.keys() >= {"DEF", "READ", "CONFL-WRITE"}:
            yield BufferConflict(roles["DEF"], roles["CONFL-WRITE"], roles["READ"])


def _own(operand: Place, conflicts: Sequence[BufferConflict]) -> OwnBuffer:
    direct = tuple(one for one in conflicts if one.write == operand)
    lines = {id(one): {place.line for place in (one.definition, one.write, one.read)} for one in conflicts}
    related = tuple(one for one in conflicts if operand.line in lines[id(one)])
    return OwnBuffer(operand, direct, () if direct else related)


def pass_of(trace: Trace, index: int | None) -> int:
    """The dump that the pass left; by default of the first. Raises UsageError where it did not run."""
    if index is None:
        index = next((number for number, dump in enumerate(trace.dumps) if dump.name == PASS), None)
    if index is None or not 0 < index < len(trace.dumps) or trace.dumps[index].name != PASS:
        raise UsageError(
            f"no dump of {trace.name or trace.target} is of {PASS}, which decides what is copied: lower to llvm_mlir"
            if index is None
            else f"Dump {index} is not of {PASS}"
        )
    return index
