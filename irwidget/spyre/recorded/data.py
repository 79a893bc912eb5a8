"""What is found of a run: kernels with their OpSpecs and SuperDSC files, buffers, and calls in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irwidget.spyre.layout import DeviceLayout

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FoundArg:
    """A TensorArg as it is written."""

    is_input: bool
    arg_index: int
    format: str
    device_size: tuple[int, ...]
    coordinates: tuple[str, ...]
    place: str
    """hbm, pool or lx; what other commits call it is kept."""
    address: int
    name: str = ""
    strides: tuple[int, ...] = ()
    """Host elements that a step along each device dim moves, where they are written; the last entry says nothing."""


@dataclass(frozen=True, slots=True)
class FoundOp:
    """An OpSpec as it is written."""

    op: str
    is_reduction: bool
    space: tuple[tuple[str, int, int], ...]
    """Symbol, size, split; outermost first."""
    args: tuple[FoundArg, ...]
    info: Json
    loops: tuple[tuple[int, int], ...] = ()
    """Number and count of each enclosing loop, outermost first."""
    tiled: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundKernel:
    """A kernel: its ops, and what was written for the back end, where it was."""

    name: str
    ops: tuple[FoundOp, ...]
    files: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """SuperDSC files by name, in order."""
    bundle: str = ""
    unimplemented: str = ""
    """An op that there is no OpFunc for: the kernel raises when it is called."""


@dataclass(frozen=True, slots=True)
class FoundBuffer:
    """A tensor of the host module."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str = ""
    layout: DeviceLayout | None = None
    kind: str = "computed"
    """input, constant, computed or fallback."""


@dataclass(frozen=True, slots=True)
class FoundCall:
    """What the host does, in order: a launch (`kernel`) or a call of its own (`text`)."""

    kernel: str = ""
    arguments: tuple[str, ...] = ()
    text: str = ""
    makes: str = ""


@dataclass(frozen=True)
class FoundHost:
    """A host module."""

    text: str
    kernels: tuple[FoundKernel, ...]
    buffers: Mapping[str, FoundBuffer]
    calls: tuple[FoundCall, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Named:
    """What the front end knew of the buffer that an op makes, where it ran here."""

    name: str
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: str
    layout: DeviceLayout | None
    line: tuple[str, int] = ("", 0)
    module: str = ""
    aten: str = ""
