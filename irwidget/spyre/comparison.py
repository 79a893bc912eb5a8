"""Two programs side by side, down to the fields of their SuperDSC files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from irwidget.spyre.estimate_data import us
from irwidget.spyre.program import SpyreProgram

FIELDS = 24
"""Fields of an op that the text spells out."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a SuperDSC file that differs; None where there is none. Fields that differ core by core are one."""

    path: str
    before: Any
    after: Any
    cores: int = 1
    """How many cores' values differ; those of the first are given."""


@dataclass(frozen=True)
class SpyreComparison:
    """Two programs: what differs between them, op by op."""

    before: SpyreProgram
    after: SpyreProgram
    fields: Mapping[str, tuple[Field, ...]]
    """Op ("buf0 = add", the second of a name "buf0 = add (2)") -> fields of its SuperDSC that differ."""
    gone: tuple[str, ...]
    new: tuple[str, ...]

    @property
    def equal(self) -> bool:
        """Whether the SuperDSC files say the same."""
        return not (self.gone or self.new or any(self.fields.values()))

    def __str__(self) -> str:
        a, b = self.before.estimate().us, self.after.estimate().us
        lines = [f"{self.before.name}: estimated {us(a)}; {self.after.name}: {us(b)}"]
        lines += [f"only before: {name}" for name in self.gone]
        lines += [f"only after: {name}" for name in self.new]
        for name, fields in self.fields.items():
            if not fields:
                continue
            lines.append(name)
            for one in fields[:FIELDS]:
                more = f" (core 0; {one.cores} cores differ)" if one.cores > 1 else ""
                lines.append(f"  {one.path}: {_said(one.before)} -> {_said(one.after)}{more}")
            lines += [f"  {len(fields) - FIELDS} more fields"] if len(fields) > FIELDS else []
        equal = sum(not fields for fields in self.fields.values())
        return "\n".join([*lines, f"{equal} ops have equal SuperDSC files"]) + "\n"


def compare(before: SpyreProgram, after: SpyreProgram) -> SpyreComparison:
    """Compare two programs op by op; ops are matched by the buffer that they make and their OpFunc.

    Where one of them was not compiled here, whose buffers have names of their own, by OpFunc and order alone.
    """
    by_order = bool(before.recorded or after.recorded)
    old, new = _files(before, by_order), _files(after, by_order)
    fields = {name: tuple(differing(old[name], new[name])) for name in old if name in new}
    return SpyreComparison(
        before, after, fields, tuple(n for n in old if n not in new), tuple(n for n in new if n not in old)
    )


def told(made: SpyreComparison) -> dict[str, list[dict[str, Any]]]:
    """The fields that differ, for the view: values as text, ops without any left out."""
    return {
        op: [{"path": f.path, "before": _said(f.before), "after": _said(f.after), "cores": f.cores} for f in fields]
        for op, fields in made.fields.items()
        if fields
    }


def _files(program: SpyreProgram, by_order: bool) -> dict[str, Any]:
    """The first SuperDSC of each op, without the number in its name."""
    targets = {op.name: op.target for op in program.graph.ops}
    found: dict[str, Any] = {}
    seen: set[str] = set()
    for kernel in program.kernels:
        for execution in kernel.executions:
            source = execution.spec.source
            if source in seen:
                continue
            seen.add(source)
            name = first = execution.spec.op if by_order else f"{targets[source]} = {execution.spec.op}"
            number = 1
            while name in found:
                number += 1
                name = f"{first} ({number})"
            ((_, top),) = kernel.superdsc(execution).items()
            found[name] = top
    return found


_CORE = re.compile(r"\[\d+, 0, 0\]|^\d+$")
_PER_CORE = ("coreIdToWkSlice_", "coreIdToDsc_", "coreIdToDscSchedule", "startAddressCoreCorelet_")


def differing(before: Any, after: Any) -> Iterator[Field]:
    """The leaves of two files that differ, each once for all cores."""
    old, new = dict(_leaves(before, ())), dict(_leaves(after, ()))
    found: dict[str, Field] = {}
    for path in dict.fromkeys((*old, *new)):
        if old.get(path) == new.get(path):
            continue
        shown = _path(path)
        if shown in found:
            one = found[shown]
            found[shown] = Field(shown, one.before, one.after, one.cores + 1)
        else:
            found[shown] = Field(shown, old.get(path), new.get(path))
    yield from found.values()


def _leaves(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, Mapping) and value:
        entries: Mapping[Any, Any] = value
        for key, inner in entries.items():
            yield from _leaves(inner, (*path, str(key)))
    elif isinstance(value, list) and any(isinstance(inner, Mapping) for inner in value):  # pyright: ignore[reportUnknownVariableType]
        items: list[Any] = value
        for i, inner in enumerate(items):
            name = inner.get("name_") or inner.get("dsName_") if isinstance(inner, Mapping) else None  # pyright: ignore
            yield from _leaves(inner, (*path, str(name or i)))
    else:
        yield path, value


def _path(path: tuple[str, ...]) -> str:
    """A path for people; of what is said core by core, the core is left out."""
    inside = next((i for i, part in enumerate(path) if part in _PER_CORE), len(path))
    return ".".join(part for i, part in enumerate(path) if i <= inside or not _CORE.search(part))


def _said(value: Any) -> str:
    return "none" if value is None else str(value)
