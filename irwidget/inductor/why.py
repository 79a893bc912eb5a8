"""Why a compilation came out as it did: what was fused and what not, what is called, where graphs break."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Literal

from irwidget.errors import UsageError, near
from irwidget.inductor.cures import are_steps, cure_of, cure_of_call, cure_of_steps, in_one_launch, reason_of_call
from irwidget.inductor.data import (
    CapturedCompilation,
    Direction,
    FusionRejection,
    InductorOp,
    MemoryEstimate,
    Rewrite,
)
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location

Answer = Literal["fused", "not fused", "not compared", "called"]


@dataclass(frozen=True)
class Why:
    """The answer to why two things are one kernel, or are not."""

    answer: Answer
    first: tuple[InductorOp, ...]
    second: tuple[InductorOp, ...]
    reasons: tuple[str, ...]
    """The scheduler's own words, the last first."""
    cures: tuple[str, ...]
    """What would have to change."""
    text: str

    def __str__(self) -> str:
        return self.text

    def _repr_pretty_(self, printer: object, cycle: bool) -> None:
        getattr(printer, "text")(self.text)  # noqa: B009


@dataclass(frozen=True)
class KernelLaunch:
    """A kernel in the schedule: what it runs, reads and writes."""

    kernel: str
    kind: str
    ops: tuple[InductorOp, ...]
    reads: int
    """Bytes, of buffers that others make; -1 where a size is not a number."""
    writes: int
    graph: int
    direction: Direction
    subgraph: str = ""
    """The branch, loop's body or region that it is in."""


def _lines(ops: Sequence[InductorOp]) -> set[tuple[str, int]]:
    """The user's lines that operations come from."""
    return {(place.file, place.line) for op in ops for place in op.places}


class Compilation:
    """What torch.compile did, to be asked. `captured` has all of it as data."""

    def __init__(self, captured: CapturedCompilation) -> None:
        self.captured = captured

    # Questions

    def why(self, first: str | int | Location, second: str | int | Location | None = None) -> Why:
        """Whether two things are one kernel, and if not, why: a kernel, an operation (`op3`), a line, or a piece of it.

        With one thing: what became of it. Raises UsageError for what is none of them.
        """
        one = self.find(first)
        return self._alone(one) if second is None else self._pair(one, self.find(second))

    def find(self, what: str | int | Location) -> tuple[InductorOp, ...]:
        """The operations that a name means (of a kernel, an operation, a branch, loop or region), a line number or a
        piece of a line.

        Raises UsageError, with what there is, for what means none.
        """
        ops = self.captured.ops
        found = [op for op in ops if what in (op.kernel, op.name)] or [op for op in ops if what and what == op.subgraph]
        if not found and isinstance(what, Location):
            found = [op for op in ops if _key(what) in map(_key, op.places)]
        if not found and (isinstance(what, int) or (isinstance(what, str) and what.isdigit())):
            found = [op for op in ops if any(place.line == int(what) for place in op.places)]
            found = _ending(found, int(what)) or found
        if not found and isinstance(what, str):
            found = [op for op in ops if any(what in self._line(place) or what == place.name for place in op.places)]
            found = _calling(found, what) or [op for op in found if what in self._line(op.places[-1])] or found
        if not found:
            if line := self._without_code(what):
                raise UsageError(f"Line {line} is of no operation of the schedule: it makes a view, or nothing uses it")
            known = sorted({op.kernel for op in ops if op.kernel})
            raise UsageError(f"No operation of the schedule is of {what!r}. {near(str(what), known)}")
        return tuple(found)

    def _without_code(self, what: str | int | Location) -> int:
        """The line of the program that is meant, where it makes no code; 0 for none."""
        places = [place for stage in self.captured.stages if stage.phase == "dynamo" for place in stage.content.places]
        for place in places:
            if place is None:
                continue
            if (isinstance(what, str) and not what.isdigit() and what in self._line(place)) or str(place.line) == str(
                what
            ):
                return place.line
        return 0

    def schedule(self) -> tuple[KernelLaunch, ...]:
        """The kernels in the order in which they run."""
        groups: list[tuple[tuple[str, int, str], list[InductorOp]]] = []
        for op in self.captured.ops:
            key = (op.group, op.graph, op.direction)
            group = next((ops for known, ops in groups if known == key), None)
            if group is None:
                groups.append((key, [op]))
            else:
                group.append(op)
        return tuple(_launch(ops) for _, ops in groups)

    def inside(self, memory: MemoryEstimate) -> tuple[str, ...]:
        """The branches, loops and regions of a graph, whose own memory an estimate of it leaves out."""
        ops = (op for op in self.captured.ops if (op.graph, op.direction) == (memory.graph, memory.direction))
        return tuple(dict.fromkeys(name for op in ops for name in op.runs))

    # Answers

    def between(self, first: Sequence[InductorOp], second: Sequence[InductorOp]) -> Why:
        """Whether operations are one kernel, and if not, why."""
        return self._pair(tuple(first), tuple(second))

    def _alone(self, ops: Sequence[InductorOp]) -> Why:
        lines = [self.became(op) for op in ops]
        lines += [f"  {rewritten(one)}" for one in self.rewrites(ops)]
        called = all(op.kind in ("extern", "fallback") for op in ops)
        cures = tuple(dict.fromkeys(cure_of_call(op) for op in ops if op.kind in ("extern", "fallback")))
        return Why("called" if called else "fused", tuple(ops), (), (), cures, "\n".join(lines))

    def became(self, op: InductorOp) -> str:
        """What became of an operation, in a line."""
        line = where(op)
        if op.kind in ("extern", "fallback"):
            return f"{op.name}{line} calls {op.kernel}: {reason_of_call(op)}; to change it: {cure_of_call(op)}"
        beside = [one.name for one in self.captured.ops if same_kernel(one, op) and one.name != op.name]
        alone = ", in loops of its own" if self._has_more(op) else ", alone"
        others = f", with {', '.join(beside)}" if beside else alone
        return f"{op.name}{line} is in {op.kernel or 'no kernel'}{others}"

    def _has_more(self, op: InductorOp) -> bool:
        """Whether the C++ function that an operation is in has other loops, too."""
        there = {one.group for one in self.captured.ops if one.kernel == op.kernel and one.graph == op.graph}
        return op.kernel.startswith("cpp_") and len(there) > 1

    def _pair(self, first: tuple[InductorOp, ...], second: tuple[InductorOp, ...]) -> Why:
        together = [(a, b) for a in first for b in second if a is not b and same_kernel(a, b)]
        if together:
            kernel = together[0][0].kernel
            return Why("fused", first, second, (), (), f"fused: both are in {kernel}")
        if same := [op for op in first if op in second]:
            return replace(self._alone(same), first=first, second=second)
        if apart := self._in_other_graphs(first, second) or _in_other_subgraphs(first, second):
            return apart
        called = [op for op in (*first, *second) if op.kind in ("extern", "fallback")]
        refusals = self._refusals(first, second)
        if not refusals and not called:
            return self._not_compared(first, second)
        reasons = tuple(dict.fromkeys(one.reason for one in reversed(refusals)))
        independent = not self._between(first, second) and not self._between(second, first)
        otherwise = self._otherwise(first, second) if independent else ""

        def cure(reason: str) -> str:
            said = cure_of_steps(reason) if are_steps(first, second) else cure_of(reason)
            return said + otherwise if reason.startswith("no shared data") else said

        cures = tuple(dict.fromkeys(filter(None, map(cure, reasons))))
        lines = [f"not fused: {_kernels(first)} and {_kernels(second)}"]
        lines += dict.fromkeys(f"  {self.became(op)}" for op in called)
        for reason in reasons:
            lines.append(f"  {reason}" + (f"\n    to change it: {cure(reason)}" if cure(reason) else ""))
        return Why("not fused", first, second, reasons, cures, "\n".join(lines))

    def _not_compared(self, first: tuple[InductorOp, ...], second: tuple[InductorOp, ...]) -> Why:
        ones, others = ({name for op in ops for name in (*op.reads, *op.writes)} for ops in (first, second))
        if shared := sorted(ones & others):
            cure = "raise max_fusion_buffer_group_pairwise_attempts"
            said = f"they share {', '.join(shared)}, and the scheduler did not try the pair"
        elif whole := self._concatenation(first, second) or self._concatenation(second, first):
            cure = "force_pointwise_cat=True has what reads it compute it"
            said = f"one writes a part of {whole}, a concatenation that the other reads, which is another buffer"
        elif between := self._between(first, second) or self._between(second, first):
            cure = "compute one of them without what lies between, or have that generated and fused, too"
            said = f"one waits for {', '.join(op.name for op in between)}, and that for the other"
        else:
            cure = f"have them read or write a common tensor{self._otherwise(first, second)}"
            said = "the scheduler looks at pairs that share a buffer, and these are not one"
        return Why("not compared", first, second, (), (cure,), f"not compared: {said}; to change it: {cure}")

    def _between(self, first: Sequence[InductorOp], second: Sequence[InductorOp]) -> list[InductorOp]:
        """What waits for the kernels of some operations, and for which those of others wait; these where nothing lies
        between.
        """
        here = [op for op in self.captured.ops if (op.graph, op.direction) == (first[0].graph, first[0].direction)]
        ones, others = self._mates(first), self._mates(second)
        after = _waiting(here, ones, lambda op: (op.after, op.writes.keys()))
        before = _waiting(here[::-1], others, lambda op: (op.writes.keys(), op.after))
        found = [op for op in here if op in after and op in before and op not in (*ones, *others)]
        return found or [op for op in others if any(op.after & one.writes.keys() for one in ones)]

    def _otherwise(self, first: Sequence[InductorOp], second: Sequence[InductorOp]) -> str:
        """What else has kernels that do not wait for one another be one."""
        depths = self._depths()
        ones, others = self._mates(first), self._mates(second)
        level = {depths[op.graph, op.direction, op.group] for op in (*ones, *others)}
        return in_one_launch(ones, others, side_by_side=len(level) == 1)

    def _depths(self) -> dict[tuple[int, str, str], int]:
        """How many launches each launch waits for, one after the other."""
        makers = {(op.graph, op.direction, name): op.group for op in self.captured.ops for name in op.writes}
        depths: dict[tuple[int, str, str], int] = {}
        for op in self.captured.ops:
            here = op.graph, op.direction
            before = {makers[*here, name] for name in op.after if (*here, name) in makers} - {op.group}
            depths[*here, op.group] = max(
                [depths.get((*here, op.group), 0), *(depths.get((*here, group), 0) + 1 for group in before)]
            )
        return depths

    def _mates(self, ops: Sequence[InductorOp]) -> list[InductorOp]:
        """All operations of their launches."""
        groups = {(op.graph, op.direction, op.group) for op in ops}
        return [op for op in self.captured.ops if (op.graph, op.direction, op.group) in groups]

    def _concatenation(self, makers: Sequence[InductorOp], readers: Sequence[InductorOp]) -> str:
        """The buffer of which some operations write parts and others read from; empty where there is none."""
        made = {name for op in makers for name in op.writes}
        read = {name for op in readers for name in op.reads}
        here = {(op.graph, op.direction) for op in makers}
        joins = (op for op in self.captured.ops if op.kind == "none" and (op.graph, op.direction) in here)
        return next((name for op in joins if made & op.reads.keys() for name in op.writes if name in read), "")

    def _in_other_graphs(self, first: tuple[InductorOp, ...], second: tuple[InductorOp, ...]) -> Why | None:
        """The answer for operations that no scheduler ever sees together."""
        ones, others = ({(op.graph, op.direction) for op in ops} for ops in (first, second))
        if ones & others:
            return None
        if {graph for graph, _ in ones} & {graph for graph, _ in others}:
            reason, cures = "one is of the forward graph, the other of the backward graph", ("nothing",)
        elif self.captured.recompilations and _lines(first) & _lines(second):
            reason, cures = (
                "they are of the same lines, compiled again for other inputs: no call runs both",
                ("nothing",),
            )
        else:
            reason = "they are in different graphs, and each is compiled alone"
            said = [f"{' '.join(one.reason.splitlines()[:1])} ({_at(one.place)})" for one in self.captured.breaks
                    if one.place]  # fmt: skip
            cures = (f"no graph break between them: {'; '.join(said)}" if said else "have one function call both",)
        text = f"not fused: {reason}\n    to change it: {cures[0]}"
        return Why("not fused", first, second, (reason,), cures, text)

    def rewrites(self, ops: Sequence[InductorOp]) -> tuple[Rewrite, ...]:
        """The patterns that rewrote the nodes of some operations."""
        names = {(op.graph, op.subgraph, name) for op in ops for name in op.origins}
        lines = {(op.graph, _key(place)) for op in ops for place in op.places}
        inside = {op.subgraph for op in ops}
        known = [one for one in self.captured.rewrites if one.phase != "post_grad" or one.subgraph in inside]
        return tuple(
            one
            for one in known
            if any((one.graph, one.subgraph, name) in names for name in one.names)
            or (one.place is not None and (one.graph, _key(one.place)) in lines)
        )

    def _refusals(self, first: Sequence[InductorOp], second: Sequence[InductorOp]) -> list[FusionRejection]:
        one, two = {key_of(op) for op in first}, {key_of(op) for op in second}
        found: list[FusionRejection] = []
        for refusal in self.captured.fusion_rejections:
            a = {(refusal.graph, refusal.direction, name) for name in refusal.first}
            b = {(refusal.graph, refusal.direction, name) for name in refusal.second}
            if (a & one and b & two) or (a & two and b & one):
                found.append(refusal)
        return found

    # Text

    def _line(self, place: Location) -> str:
        text = self.captured.sources.get(place.file)
        lines = text.splitlines() if text else []
        return lines[place.line - 1] if 0 < place.line <= len(lines) else linecache.getline(place.file, place.line)


def _in_other_subgraphs(first: tuple[InductorOp, ...], second: tuple[InductorOp, ...]) -> Why | None:
    """The answer for operations of which one is in a branch, a loop or a region that the other is not in."""
    if {op.subgraph for op in first} & {op.subgraph for op in second}:
        return None
    insides = (sorted({op.subgraph for op in ops if op.subgraph}) for ops in (first, second))
    one, other = (f"in {' and '.join(names)}" if names else "outside" for names in insides)
    reason = f"one is {one}, the other {other}: each of these graphs is scheduled by itself"
    cure = "compute both in the same branch, loop or region, or both outside"
    return Why("not fused", first, second, (reason,), (cure,), f"not fused: {reason}\n    to change it: {cure}")


def rewritten(one: Rewrite) -> str:
    """What a pattern made of nodes, in a line."""
    made = "; ".join(one.after) or "nothing"
    return f"the pattern {one.pattern} ({one.phase.replace('_', '-')} passes) made of {'; '.join(one.before)}: {made}"


def _waiting(
    ops: Iterable[InductorOp],
    begin: Sequence[InductorOp],
    sides: Callable[[InductorOp], tuple[Set[str], Set[str]]],
) -> list[InductorOp]:
    """Of operations in their order, those on the way from some: one side leads to them, the other on."""
    names = {name for op in begin for name in sides(op)[1]}
    found: list[InductorOp] = []
    for op in ops:
        near, far = sides(op)
        if names & near:
            found.append(op)
            names |= far
    return found


def _launch(ops: Sequence[InductorOp]) -> KernelLaunch:
    made = {name for op in ops for name in op.writes}
    reads = {name: op.together.get(name, size) for op in ops for name, size in op.reads.items() if name not in made}
    writes = {
        name: op.together.get(name, size) for op in ops for name, size in op.writes.items() if name not in op.inside
    }
    first = ops[0]
    inside = first.graph, first.direction, first.subgraph
    return KernelLaunch(first.kernel, first.kind, tuple(ops), _total(reads), _total(writes), *inside)


def _total(sizes: dict[str, int]) -> int:
    return -1 if any(size < 0 for size in sizes.values()) else sum(sizes.values())


def _calling(ops: Sequence[InductorOp], piece: str) -> list[InductorOp]:
    """Of the operations of a line, those that compute what a piece of the line calls."""
    names = re.findall(r"(\w+)\s*\(", piece) or ([piece] if piece.isidentifier() else [])
    return [op for op in ops if any(name in target for name in names for target in op.targets)]


def _ending(ops: Sequence[InductorOp], line: int) -> list[InductorOp]:
    """Of the operations that a line has part in, those that compute just that line in the end."""
    return [op for op in ops if op.places[-1].line == line]


def _kernels(ops: Sequence[InductorOp]) -> str:
    return ", ".join(dict.fromkeys(op.kernel or op.name for op in ops))


def _key(place: Location) -> tuple[str, int]:
    return place.file, place.line


def key_of(op: InductorOp) -> tuple[int, str, str]:
    """What an operation is known by: its name is its graph's only."""
    return op.graph, op.direction, op.name


def where(op: InductorOp) -> str:
    """` (line 3, layers.0)`: the user's line that an operation computes last, or a library's, with its module."""
    if not op.places:
        return ""
    module = f", {op.places[-1].name}" if op.places[-1].name else ""
    return f" ({_at(op.places[-1])}{module})"


def _at(place: Location) -> str:
    """`line 3` of the user's, `linear.py:134` of a library's."""
    return f"line {place.line}" if is_user_file(place.file) else f"{PurePath(place.file).name}:{place.line}"


def same_kernel(a: InductorOp, b: InductorOp) -> bool:
    """Whether two operations are in one generated kernel, of one launch."""
    if a.kind not in ("loops", "template") or b.kind not in ("loops", "template"):
        return key_of(a) == key_of(b)
    return (a.graph, a.direction, a.group) == (b.graph, b.direction, b.group)
