"""All answers to why as one text, each line with the user's line that it speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from irwidget.inductor.data import FusionRejection, InductorOp, MemoryEstimate, Moment
from irwidget.inductor.why import Compilation, key_of, rewritten, same_kernel, where
from irwidget.trace import Location

Lines = Iterator[tuple[str, Location | None]]
_WIDTH = 30
"""Characters of the longest bar."""


def report(answers: Compilation) -> Lines:
    """The schedule, what was not fused and why, calls, rewrites, breaks, guards, recompilations and memory."""
    yield from _schedule(answers)
    yield from _refusals(answers)
    yield from _called(answers)
    yield from _rewrites(answers)
    yield from _dynamo(answers)
    for memory in answers.captured.memory:
        yield from _memory(answers, memory)


def _schedule(answers: Compilation) -> Lines:
    yield "schedule:", None
    for number, launch in enumerate(answers.schedule()):
        inside = ", ".join(part for part in (launch.direction, launch.subgraph) if part)
        part = f" [{inside}]" if inside else ""
        sizes = f"reads {size(launch.reads)}, writes {size(launch.writes)}"
        yield f"  {number}{part} {launch.kernel or 'no code'}: {launch.kind}, {sizes}", _last(launch.ops)
        for op in launch.ops:
            yield f"      {op.name}{where(op)}: {', '.join(op.targets)}", op.places[-1] if op.places else None


def _last(ops: Sequence[InductorOp]) -> Location | None:
    return next((op.places[-1] for op in reversed(ops) if op.places), None)


def _refusals(answers: Compilation) -> Lines:
    seen: set[tuple[str, str, str]] = set()
    ops = {key_of(op): op for op in answers.captured.ops}
    lines: list[tuple[str, Location | None]] = []
    for refusal in answers.captured.fusion_rejections:
        a, b = (_named(ops, refusal, names) for names in (refusal.first, refusal.second))
        if a is None or b is None or same_kernel(a, b) or (a.kernel, b.kernel, refusal.reason) in seen:
            continue
        seen.add((a.kernel, b.kernel, refusal.reason))
        lines.append((f"  {a.kernel} | {b.kernel}: {refusal.reason}", b.places[-1] if b.places else None))
    yield f"not fused, and why ({len(lines)}):", None
    yield from lines


def _named(
    ops: dict[tuple[int, str, str], InductorOp], refusal: FusionRejection, names: Sequence[str]
) -> InductorOp | None:
    return next((op for name in names if (op := ops.get((refusal.graph, refusal.direction, name)))), None)


def _called(answers: Compilation) -> Lines:
    called = answers.captured.called
    yield f"called, not generated ({len(called)}):", None
    for op in called:
        yield f"  {answers.became(op)}", op.places[-1] if op.places else None


def _rewrites(answers: Compilation) -> Lines:
    rewrites = answers.captured.rewrites
    yield f"rewritten by a pattern ({len(rewrites)}):", None
    for one in rewrites:
        yield f"  {rewritten(one)}", one.place


def _dynamo(answers: Compilation) -> Lines:
    captured = answers.captured
    yield f"graph breaks ({len(captured.breaks)}):", None
    for one in captured.breaks:
        yield f"  {one.cause}", one.place
        if one.cure:
            yield f"    to change it: {one.cure}", one.place
    yield f"compiled again ({len(captured.recompilations)}):", None
    for again in captured.recompilations:
        yield f"  {again.function}: {again.cause or again.reason}", again.place
        if again.cure:
            yield f"    to change it: {again.cure}", again.place
    ours = [one for one in captured.guards if one.cause]
    yield f"guards ({len(ours)} of what is given, {len(captured.guards) - len(ours)} others):", None
    for guard in ours:
        yield f"  {guard.cause}; to change it: {guard.cure}", guard.place
    for guard in captured.guards:
        if not guard.cause:
            yield f"  {guard.text}", guard.place


def _memory(answers: Compilation, memory: MemoryEstimate) -> Lines:
    part = f"graph {memory.graph}{', ' + memory.direction if memory.direction else ''}"
    yield f"peak memory of {part}, as Inductor estimates: {size(memory.peak)}", None
    yield from _curve(memory.moments)
    if inside := answers.inside(memory):
        yield f"  without the memory inside of {', '.join(inside)}", None
    yield "  alive at the peak:", None
    for one in memory.alive:
        yield f"    {one.buffer}: {size(one.size)}, {'of ' + one.op if one.op else 'an input'}", one.place
    if memory.unfused:
        yield f"  one operation after the other, as eager PyTorch: {size(memory.unfused_peak)}", None


def _curve(moments: Sequence[Moment]) -> Lines:
    most = max((one.alive for one in moments), default=0) or 1
    for number, one in enumerate(moments):
        bar = "#" * round(one.alive * _WIDTH / most)
        yield f"  {number:3} {bar:{_WIDTH}} {one.alive:>12} bytes  {one.step}", None


def size(count: int) -> str:
    """`64 bytes`."""
    return "an unknown number of bytes" if count < 0 else f"{count} bytes"
