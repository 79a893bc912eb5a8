"""Why a compilation came out as it did: what was fused and what not, what is called, where graphs break."""

from __future__ import annotations

import linecache
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from irwidget.errors import UsageError, near
from irwidget.inductor.data import CapturedCompilation, Direction, FusionRejection, InductorOp
from irwidget.trace import Location

Answer = Literal["fused", "not fused", "not compared", "called"]

_CURES: tuple[tuple[str, str], ...] = (
    ("intermediate nodes between", "fuse what lies between them first, or compute it so that neither waits for it"),
    ("numel/rnumel mismatch", "give both loops the same number of elements, reduced and kept"),
    ("nodes numel", "give both loops the same number of elements, reduced and kept"),
    ("no shared data due to indexing mismatch", "have both read the buffer in the same order: make it contiguous once"),
    ("no shared data", "they share no buffer, so a common kernel would save no memory traffic"),
    ("memory deps did not match", "have the second read what the first writes element by element, in the same order"),
    ("exceeds max fusion", "raise max_fusion_size"),
    ("Fusion will increase peak memory", "nothing: it would hold more memory at once"),
    ("fusion_prevent_too_many_reads_and_writes", "raise realize_acc_reads_threshold, or split the expression"),
    ("score_fusion_memory_threshold", "lower score_fusion_memory_threshold"),
    ("tiling mismatch", "use one memory layout in both, or set triton.tiling_prevents_pointwise_fusion=False"),
    ("will create cycle", "break the circle: one of them waits for a third that waits for the other"),
    ("node1 is extern", "have it generated: max_autotune=True makes templates of matrix products and convolutions"),
    ("node2 is extern", "have it generated: max_autotune=True makes templates of matrix products and convolutions"),
    ("prologue fusion turned off", "prologue_fusion=True"),
    ("device mismatch", "compute both on one device"),
    ("node1 must go before node2", "nothing: the second makes what the first reads"),
)
"""How the scheduler's reasons begin, and what would have to change."""


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
        """The operations that a kernel's name, an operation's, a line number or a piece of a line means.

        Raises UsageError, with what there is, for what means none.
        """
        ops = self.captured.ops
        found = [op for op in ops if what in (op.kernel, op.name)]
        if not found and isinstance(what, Location):
            found = [op for op in ops if _key(what) in map(_key, op.places)]
        if not found and (isinstance(what, int) or (isinstance(what, str) and what.isdigit())):
            found = [op for op in ops if any(place.line == int(what) for place in op.places)]
            found = _ending(found, int(what)) or found
        if not found and isinstance(what, str):
            found = [op for op in ops if any(what in self._line(place) or what == place.name for place in op.places)]
            found = _calling(found, what) or [op for op in found if what in self._line(op.places[-1])] or found
        if not found:
            known = sorted({op.kernel for op in ops if op.kernel})
            raise UsageError(f"No operation of the schedule is of {what!r}. {near(str(what), known)}")
        return tuple(found)

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

    # Answers

    def _alone(self, ops: Sequence[InductorOp]) -> Why:
        lines = [self._became(op) for op in ops]
        called = all(op.kind in ("extern", "fallback") for op in ops)
        cures = tuple(dict.fromkeys(_cure_of_call(op) for op in ops if op.kind in ("extern", "fallback")))
        return Why("called" if called else "fused", tuple(ops), (), (), cures, "\n".join(lines))

    def _became(self, op: InductorOp) -> str:
        where = self._where(op)
        if op.kind in ("extern", "fallback"):
            how = "Inductor has no loops for it" if op.kind == "fallback" else "a library does it"
            return f"{op.name}{where} calls {op.kernel}: {how}; to change it: {_cure_of_call(op)}"
        beside = [one.name for one in self.captured.ops if _same_kernel(one, op) and one.name != op.name]
        others = f", with {', '.join(beside)}" if beside else ", alone"
        return f"{op.name}{where} is in {op.kernel or 'no kernel'}{others}"

    def _pair(self, first: tuple[InductorOp, ...], second: tuple[InductorOp, ...]) -> Why:
        together = [(a, b) for a in first for b in second if _same_kernel(a, b)]
        if together:
            kernel = together[0][0].kernel
            return Why("fused", first, second, (), (), f"fused: both are in {kernel}")
        called = [op for op in (*first, *second) if op.kind in ("extern", "fallback")]
        fusion_rejections = self._fusion_rejections(first, second)
        if not fusion_rejections and not called:
            text = (
                "not compared: the scheduler looks at pairs that share a buffer, and these are not one; "
                "what would have to change: have them read or write a common tensor"
            )
            return Why("not compared", first, second, (), ("have them read or write a common tensor",), text)
        reasons = tuple(dict.fromkeys(one.reason for one in reversed(fusion_rejections)))
        cures = tuple(dict.fromkeys(cure for reason in reasons if (cure := cure_of(reason))))
        lines = [f"not fused: {_kernels(first)} and {_kernels(second)}"]
        lines += dict.fromkeys(f"  {self._became(op)}" for op in called)
        for reason in reasons:
            lines.append(f"  {reason}" + (f"\n    to change it: {cure}" if (cure := cure_of(reason)) else ""))
        return Why("not fused", first, second, reasons, cures, "\n".join(lines))

    def _fusion_rejections(self, first: Sequence[InductorOp], second: Sequence[InductorOp]) -> list[FusionRejection]:
        one, two = {_id(op) for op in first}, {_id(op) for op in second}
        found: list[FusionRejection] = []
        for rejection in self.captured.fusion_rejections:
            a = {(rejection.graph, rejection.direction, name) for name in rejection.first}
            b = {(rejection.graph, rejection.direction, name) for name in rejection.second}
            if (a & one and b & two) or (a & two and b & one):
                found.append(rejection)
        return found

    # Text

    def _line(self, place: Location) -> str:
        text = self.captured.sources.get(place.file)
        lines = text.splitlines() if text else []
        return lines[place.line - 1] if 0 < place.line <= len(lines) else linecache.getline(place.file, place.line)

    def _where(self, op: InductorOp) -> str:
        if not op.places:
            return ""
        module = f", {op.places[-1].name}" if op.places[-1].name else ""
        return f" (line {op.places[-1].line}{module})"

    def report(self) -> Iterator[tuple[str, Location | None]]:
        """The schedule, what was not fused and why, what is called, graph breaks, guards and memory, line by line."""
        yield from self._report_schedule()
        yield from self._report_fusion_rejections()
        yield from self._report_rest()

    def _report_schedule(self) -> Iterator[tuple[str, Location | None]]:
        yield "schedule:", None
        for number, launch in enumerate(self.schedule()):
            part = f" [{launch.direction}]" if launch.direction else ""
            sizes = f"reads {_bytes(launch.reads)}, writes {_bytes(launch.writes)}"
            place = next((op.places[-1] for op in reversed(launch.ops) if op.places), None)
            yield f"  {number}{part} {launch.kernel or 'no code'}: {launch.kind}, {sizes}", place
            for op in launch.ops:
                targets = ", ".join(op.targets)
                yield f"      {op.name}{self._where(op)}: {targets}", op.places[-1] if op.places else None

    def _report_fusion_rejections(self) -> Iterator[tuple[str, Location | None]]:
        seen: set[tuple[str, str, str]] = set()
        ops = {_id(op): op for op in self.captured.ops}
        lines: list[tuple[str, Location | None]] = []
        for rejection in self.captured.fusion_rejections:
            a, b = (self._named(ops, rejection, names) for names in (rejection.first, rejection.second))
            if a is None or b is None or _same_kernel(a, b) or (a.kernel, b.kernel, rejection.reason) in seen:
                continue
            seen.add((a.kernel, b.kernel, rejection.reason))
            place = b.places[-1] if b.places else None
            lines.append((f"  {a.kernel} | {b.kernel}: {rejection.reason}", place))
        yield f"not fused, and why ({len(lines)}):", None
        yield from lines

    def _named(
        self, ops: dict[tuple[int, str, str], InductorOp], rejection: FusionRejection, names: Sequence[str]
    ) -> InductorOp | None:
        return next((op for name in names if (op := ops.get((rejection.graph, rejection.direction, name)))), None)

    def _report_rest(self) -> Iterator[tuple[str, Location | None]]:
        called = [op for op in self.captured.ops if op.kind in ("extern", "fallback") and op.kernel != "MultiOutput"]
        yield f"called, not generated ({len(called)}):", None
        for op in called:
            yield f"  {self._became(op)}", op.places[-1] if op.places else None
        yield f"graph breaks ({len(self.captured.breaks)}):", None
        for one in self.captured.breaks:
            yield f"  {' '.join(one.reason.split())}", one.place
        yield f"guards ({len(self.captured.guards)}):", None
        for guard in self.captured.guards:
            yield f"  {guard}", None
        for memory in self.captured.memory:
            most = max(memory.moments, key=lambda moment: moment.alive, default=None)
            at = f", at {most.step}" if most else ""
            part = f"graph {memory.graph}{', ' + memory.direction if memory.direction else ''}"
            yield f"peak memory of {part}, as Inductor estimates: {_bytes(memory.peak)}{at}", None


def cure_of(reason: str) -> str:
    """What would have to change for a reason of the scheduler's; empty where nothing is known."""
    return next((cure for begin, cure in _CURES if reason.startswith(begin)), "")


def _cure_of_call(op: InductorOp) -> str:
    target = op.targets[-1] if op.targets else ""
    if re.search(r"aten\.(?:mm|addmm|bmm|baddbmm|convolution|_int_mm)", target):
        return "max_autotune=True makes a Triton template of it, into which what surrounds it can be fused"
    if op.kind == "fallback":
        return "write it with operations that Inductor lowers, or register a lowering or decomposition for it"
    return "nothing: it is a call by nature"


def _launch(ops: Sequence[InductorOp]) -> KernelLaunch:
    made = {name for op in ops for name in op.writes}
    reads = {name: size for op in ops for name, size in op.reads.items() if name not in made}
    writes = {name: size for op in ops for name, size in op.writes.items()}
    first = ops[0]
    return KernelLaunch(
        first.kernel, first.kind, tuple(ops), _total(reads), _total(writes), first.graph, first.direction
    )


def _total(sizes: dict[str, int]) -> int:
    return -1 if any(size < 0 for size in sizes.values()) else sum(sizes.values())


def _bytes(count: int) -> str:
    return "an unknown number of bytes" if count < 0 else f"{count} bytes"


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


def _id(op: InductorOp) -> tuple[int, str, str]:
    return op.graph, op.direction, op.name


def _same_kernel(a: InductorOp, b: InductorOp) -> bool:
    """Whether two operations are in one generated kernel, of one launch."""
    if a.kind not in ("loops", "template") or b.kind not in ("loops", "template"):
        return _id(a) == _id(b)
    return (a.graph, a.direction, a.group) == (b.graph, b.direction, b.group)
