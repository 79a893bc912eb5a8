"""Schedules of torch.compile."""

from __future__ import annotations

from typing import TypedDict


class ScheduleOp(TypedDict):
    """An operation of Inductor's that a kernel runs."""

    name: str
    targets: list[str]
    origins: list[str]
    loops: list[str]
    reduced: list[str]
    line: int
    file: str
    module: str


class ScheduleBuffer(TypedDict):
    """A buffer of a kernel's, which it `reads`, `writes` or keeps `inside`; -1 bytes: the size is not a number."""

    name: str
    bytes: int
    way: str


class ScheduleLaunch(TypedDict):
    """A kernel in the order of execution; `lines` has the user's line for each line of its text, 0 for none.

    `subgraph` is the branch, loop's body or region that it is in. What only takes a result of a call is of kind
    `result`.
    """

    kernel: str
    kind: str
    graph: int
    direction: str
    subgraph: str
    reads: int
    writes: int
    loops: list[str]
    reduced: list[str]
    buffers: list[ScheduleBuffer]
    ops: list[ScheduleOp]
    text: str
    lines: list[int]
    said: str


class ScheduleFlow(TypedDict):
    """What a kernel makes and a later one reads."""

    maker: int
    reader: int
    buffer: str
    bytes: int


class SchedulePair(TypedDict):
    """Whether two kernels could be one, and why not."""

    first: int
    second: int
    answer: str
    text: str


class ScheduleAlive(TypedDict):
    """A buffer alive at the peak."""

    name: str
    bytes: int
    line: int


class ScheduleMemory(TypedDict):
    """Bytes alive at each kernel of a graph."""

    graph: int
    direction: str
    peak: int
    unfused: int
    moments: list[int]
    alive: list[ScheduleAlive]


class Schedule(TypedDict):
    """What torch.compile runs."""

    version: int
    name: str
    device: str
    launches: list[ScheduleLaunch]
    flows: list[ScheduleFlow]
    pairs: list[SchedulePair]
    memory: list[ScheduleMemory]
