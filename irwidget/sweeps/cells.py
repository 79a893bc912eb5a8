"""What a sweep is made of: cases to lower, and cells that say how it went. Plain data; no torch or Parquet."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal["ok", "unsupported", "failed", "export", "tool", "usage", "timeout", "crashed", "error", "lost"]
"""`failed`: a pass rejected the IR. `tool`: a program is missing, failed or crashed inside a pass. `crashed`: the
process of the cell died. `error`: an exception that is not irwidget's. `lost`: the executor lost it repeatedly."""


@dataclass(frozen=True)
class Case:
    """Something to lower with its example inputs, for `sweep`; a tuple `(obj, *inputs)` is short for it."""

    obj: Any
    inputs: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of `lower` for this case alone: `dynamic_shapes`, `elide` ..."""


Maker = Callable[[], "Case | tuple[Any, ...]"]
"""Makes a case where it is lowered, so that a thousand models need not be in memory at once, or cross the network."""


@dataclass(frozen=True)
class Column:
    """A target of a sweep: an IR type with its options, under a name of its own."""

    name: str
    to: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Task:
    """One cell to run, as it crosses to the executor."""

    model: str
    column: Column
    payload: bytes
    """The case or its maker, by cloudpickle."""
    options: Mapping[str, Any]
    timeout: float
    """Seconds for the export and all passes together."""
    keep_dumps: bool
    key: str


@dataclass(frozen=True)
class Cell:
    """How the lowering of one model to one target went."""

    model: str
    target: str
    status: Status
    message: str = ""
    """Empty when it is complete."""
    error: str = ""
    """The type of the exception."""
    step: str = ""
    """The step that failed: a tool, a pipeline, `torch.export`."""
    pass_name: str = ""
    """The pass that failed."""
    op: str = ""
    """The op that the failure names."""
    place: str = ""
    """The user's line that the failure points at, `file:line`."""
    seconds: float = 0.0
    passes: int = 0
    """How many passes ran."""
    lines: int = 0
    """Lines of the last dump."""
    language: str = ""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])
    """Names and versions of what made it."""
    key: str = ""
    """Stands for what was asked for: the model as far as it can be told, the target, the options, the toolchain."""
    host: str = ""
    dumps: bytes = b""
    """The trace with all its dumps, as an .irtrace file; empty when they were not kept."""

    @property
    def ok(self) -> bool:
        """Whether the lowering is complete."""
        return self.status == "ok"

    @property
    def where(self) -> str:
        """The failing pass and op in short: `tosa-to-linalg: tosa.cast`."""
        return ": ".join(part for part in (self.pass_name or self.step, self.op) if part)


_OPS = (
    re.compile(r"operation '([\w.]+)'"),
    re.compile(r"'([a-z_]\w*\.[\w.]+)' op\b"),
    re.compile(r"\b((?:torch\.)?aten\.\w+(?:\.\w+)?|prims\.\w+(?:\.\w+)?)"),
    re.compile(r"torch\.ops\.([\w.]+)"),
    re.compile(r"\b(?:op|operator|operation) [`'\"]?([a-z_]\w*[.:]+[\w.]+)"),
    re.compile(r"LLVM ERROR: Cannot select: [^=]*= (\w+)"),
)


def failing_op(*texts: str) -> str:
    """The op that messages of a failure name; empty when they name none."""
    for text in texts:
        for pattern in _OPS:
            if found := pattern.search(text):
                return found[1].rstrip(".")
    return ""


def key_of(model: str, identity: str, column: Column, options: Mapping[str, Any], versions: Mapping[str, str]) -> str:
    """Sixteen hexadecimal digits for what a cell was asked; equal for equal questions to equal toolchains."""
    asked = [model, identity, column.to, _stable(column.options), _stable(options), _stable(versions)]
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]


def _stable(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return sorted((name, repr(value)) for name, value in values.items())
