"""When each operation of a pipelined loop runs, and in which partition: attributes of a dump of TTGIR, as a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.errors import UsageError
from irwidget.trace import Dump, Trace

_STAGE = re.compile(r"loop\.stage = (\d+)")
_CLUSTER = re.compile(r"loop\.cluster = (\d+)")
_PARTITION = re.compile(r"ttg\.partition = array<i32: ([\d, ]+)>")
_OPERATION = re.compile(r'(?:(%[\w$.#-]+)[^=]*= )?"?([a-z_]\w*(?:\.\w+)+)"?')
_LOOP = re.compile(r"(?:%.*= )?scf\.(?:for|while)\b")


@dataclass(frozen=True)
class Scheduled:
    """An operation that has been scheduled."""

    line: int
    """Of the dump, from 1."""
    operation: str
    name: str
    """Its first result; empty where it has none."""
    loop: int
    """The line of the loop that it is in; 0 for none."""
    stage: int | None
    """In which iteration of the pipelined loop, counted from the one that begins with the first stage."""
    cluster: int | None
    """Its place in that iteration: clusters run in their order."""
    partitions: tuple[int, ...]
    """The warp partitions that run it."""


class Schedule:
    """The scheduled operations of a dump, in the order of the dump."""

    def __init__(self, dump: Dump) -> None:
        self.dump = dump
        self.operations: Sequence[Scheduled] = tuple(read(dump.text))

    def table(self) -> list[dict[str, Any]]:
        """A row for each partition, stage and cluster of each loop, in that order, with its `operations`.

        `partition`, `stage` and `cluster` are None where none is said; an operation of two partitions is in both.
        """
        rows: dict[tuple[int, int, int, int], list[Scheduled]] = {}
        for one in self.operations:
            for partition in one.partitions or (-1,):
                key = (one.loop, partition, -1 if one.stage is None else one.stage, _or(one.cluster))
                rows.setdefault(key, []).append(one)
        return [
            {
                "loop": loop,
                **{name: None if value < 0 else value for name, value in zip(_KEYS, rest, strict=True)},
                "operations": found,
            }
            for (loop, *rest), found in sorted(rows.items(), key=lambda row: row[0])
        ]

    def __repr__(self) -> str:
        lines = [f"the schedule after {self.dump.name}"]
        loop = -1
        for row in self.table():
            if row["loop"] != loop:
                loop = row["loop"]
                lines.append(f"loop at line {loop}" if loop else "outside of loops")
            said = ", ".join(f"{name} {row[name]}" for name in _KEYS if row[name] is not None)
            shown = ", ".join(f"{one.operation} {one.name}".strip() for one in row["operations"])
            lines.append(f"  {said}: {shown}")
        return "\n".join(lines)


_KEYS = ("partition", "stage", "cluster")


def _or(number: int | None) -> int:
    return -1 if number is None else number


def read(text: str) -> Iterator[Scheduled]:
    """The scheduled operations of a text."""
    loops: list[tuple[int, int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.lstrip(" ")
        depth = len(line) - len(bare)
        while bare and loops and depth <= loops[-1][0] and not (depth == loops[-1][0] and bare.startswith("}")):
            loops.pop()
        found = [pattern.search(line) for pattern in (_STAGE, _CLUSTER, _PARTITION)]
        operation = _OPERATION.match(bare)
        if any(found) and operation and not bare.startswith("}"):
            stage, cluster, partition = found
            yield Scheduled(
                number,
                operation[2],
                operation[1] or "",
                loops[-1][1] if loops else 0,
                int(stage[1]) if stage else None,
                int(cluster[1]) if cluster else None,
                tuple(int(one) for one in partition[1].split(",")) if partition else (),
            )
        if _LOOP.match(bare):
            loops.append((depth, number))


def of(trace: Trace, dump: int | Dump | None = None) -> Schedule:
    """The schedule of a dump of a trace, by its number; by default of the last that has one.

    Raises UsageError when there is none.
    """
    if dump is not None:
        if not (found := Schedule(trace.dumps[dump] if isinstance(dump, int) else dump)).operations:
            raise UsageError(f"dump {found.dump.index}, {found.dump.name}, has no scheduled operations")
        return found
    for one in reversed(trace.dumps):
        said = one.language == "mlir" and ("loop.stage" in one.text or "ttg.partition" in one.text)
        if said and (found := Schedule(one)).operations:
            return found
    raise UsageError(
        f"no dump of {trace.name or trace.target} has scheduled operations: tritongpu-schedule-loops gives them stages "
        "where Triton pipelines them (num_stages of 2 or more, loads and products in a loop)"
    )
