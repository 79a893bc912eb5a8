"""The Spyre view's fallbacks in text and HTML: the same tables, short, and equal for equal programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from irwidget.views.markup import aligned, folded, joined, table, tag

Made = Mapping[str, Any]
"""What `irwidget.spyre.picture.picture` gives."""

OPS = 40
"""Rows of a table; a longer one says how many more there are."""
DETAILS = 6
"""Ops whose tiles are spelled out."""
CORES = 4
"""Cores of each such op that are."""


@dataclass(frozen=True)
class Table:
    """A titled table of strings."""

    title: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    notes: tuple[str, ...] = ()


def tables(made: Made) -> list[Table]:
    """Ops by kernel, their time, splits and tiles of the first ops, LX, device memory, and why."""
    found = [_ops(made), _time(made), *_tiles(made), _lx(made), _memory(made), _why(made)]
    return [_capped(table) for table in found]


def _capped(table: Table) -> Table:
    """At most `OPS` rows and as many notes."""
    more = len(table.rows) - OPS
    notes = table.notes[:OPS] + ((f"{len(table.notes) - OPS} more",) if len(table.notes) > OPS else ())
    return replace(table, rows=table.rows[:OPS], notes=(*((f"{more} more rows",) if more > 0 else ()), *notes))


def text(made: Made) -> str:
    """All tables as aligned columns."""
    return "\n\n".join([title(made), *(_aligned(table) for table in tables(made) if table.rows or table.notes)])


def html(made: Made) -> str:
    """All tables as HTML that reads well without styles; all but the first folded."""
    parts = [tag("p", tag("strong", title(made)))]
    for i, one in enumerate(tables(made)):
        if not (one.rows or one.notes):
            continue
        body = [table(one.head, one.rows)] if one.rows else []
        body += [tag("p", note) for note in one.notes]
        parts.append(joined(body) if i == 0 else folded(one.title, *body))
    return tag("div", *parts)


def title(made: Made) -> str:
    """One line about the program."""
    kernels = f"{len(made['kernels'])} kernel{'s' * (len(made['kernels']) != 1)}"
    ops = f"{len(made['ops'])} op{'s' * (len(made['ops']) != 1)}"
    return (
        f"{made['name']} on {made['cores']} Spyre cores: {kernels}, {ops},"
        f" {size(made['moved']['unique'])} of device memory touched, about {microseconds(made['estimate']['us'])}"
        f" (an estimate; {made['semantics']})"
    )


def size(n: int) -> str:
    """Bytes for people."""
    for unit, step in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n >= step:
            return f"{n / step:.4g} {unit}"
    return f"{n} B"


def microseconds(t: float) -> str:
    """A time for people."""
    return f"{t / 1000:.4g} ms" if t >= 1000 else f"{t:.4g} us"


def _time(made: Made) -> Table:
    """Ops by estimated time, equal layers once."""
    times = [1] * len(made["ops"])
    for repeat in made["estimate"]["repeats"]:
        for i in range(repeat["first"], repeat["first"] + repeat["length"] * repeat["count"]):
            times[i] = repeat["count"] if i < repeat["first"] + repeat["length"] else 0
    timed = [(op, n) for op, n in zip(made["ops"], times, strict=True) if n and op["time"]]
    rows = [
        (
            str(op["number"]),
            f"{op['func']} -> {op['buffer']}" + (f" x{n}" if n > 1 else ""),
            *(f"{t:.4g}" for t in (op["time"]["us"], *op["time"]["parts"].values())),
            op["time"]["binds"],
            str(op["time"]["idle"]),
            size(op["time"]["read"] + op["time"]["written"]),
            size(op["time"]["again"]),
        )
        for op, n in sorted(timed, key=lambda pair: -pair[0]["time"]["us"] * pair[1])
    ]
    return Table(
        "Time, estimated, the slowest first (us)",
        ("#", "op", "us", *made["estimate"]["bound"], "binds", "idle cores", "bytes, each once", "read again"),
        rows,
        (made["estimate"]["said"],),
    )


def spans(box: Sequence[Sequence[int]]) -> str:
    """A box of host dims: 0-31 x 64-127."""
    return " x ".join(f"{a}-{b}" if a != b else str(a) for a, b in box) or "scalar"


def _splits(op: Made) -> str:
    return " ".join(f"{d['label']}/{d['split']}" for d in op["dims"] if d["split"] > 1) or "-"


def _loops(op: Made) -> str:
    return " ".join(f"{loop['dim']} x {loop['count']}" for loop in op["loops"])


def _ops(made: Made) -> Table:
    rows = [
        (
            str(op["number"]),
            str(op["kernel"]) if op["kernel"] >= 0 else "host",
            op["func"],
            op["buffer"],
            _splits(op),
            str(op["cores"]) if op["cores"] else "-",
            op["unit"],
            place(made, op["buffer"]),
            " ".join(filter(None, [op["mark"], _loops(op)])),
            size(op["moved"]["unique"]),
            f"{op['time']['us']:.4g}" if op["time"] else "-",
        )
        for op in made["ops"]
    ]
    return Table(
        "Ops",
        ("#", "kernel", "op", "makes", "splits", "cores", "unit", "lies in", "", "bytes", "us"),
        rows,
    )


def place(made: Made, buffer: str) -> str:
    """Where a buffer lies."""
    return str(made["buffers"].get(buffer, {}).get("place", "-"))


def _tiles(made: Made) -> list[Table]:
    found: list[Table] = []
    for op in made["ops"][:DETAILS]:
        if not op["tensors"]:
            continue
        rows: list[tuple[str, ...]] = []
        for core in range(min(op["cores"], CORES)):
            for tensor in op["tensors"]:
                tile = next((t for t in tensor["tiles"] if core in t["cores"]), None)
                if tile is not None:
                    shared = f"x{len(tile['cores'])}" if len(tile["cores"]) > 1 else ""
                    rows.append(
                        (
                            str(core),
                            tensor["name"],
                            tensor["role"],
                            spans(tile["box"]),
                            tensor["place"],
                            f"{tile['address']:#x}",
                            size(tile["bytes"]),
                            shared,
                        )
                    )
        dims = ", ".join(f"{d['label']}: {d['size']} / {d['split']} = {d['tile']}" for d in op["dims"])
        more = op["cores"] - CORES
        found.append(
            Table(
                f"Tiles of {op['buffer']} = {op['func']} ({dims})",
                ("core", "tensor", "", "elements", "memory", "address", "bytes", "cores"),
                rows,
                (f"{more} more cores",) if more > 0 else (),
            )
        )
    return found


def _lx(made: Made) -> Table:
    lx = made["lx"]
    rows = [
        (
            b["name"],
            f"{b['address']}-{b['address'] + b['bytes'] - 1}",
            size(b["bytes"]),
            f"{b['first']}-{b['last']}",
            f"in place of {b['in_place']}" if b["in_place"] else "",
        )
        for b in lx["blocks"]
    ]
    missed = [f"{m['name']} is not in LX: {m['why']}" for m in lx["missed"]]
    return Table(
        f"LX of every core: peak {size(lx['peak'])} of {size(lx['capacity'])}",
        ("buffer", "addresses", "bytes", "steps", ""),
        rows,
        tuple(missed),
    )


def _memory(made: Made) -> Table:
    rows: list[tuple[str, ...]] = []
    for i, kernel in enumerate(made["kernels"]):
        for argument in kernel["arguments"]:
            rows.append(
                (
                    str(i),
                    argument["name"],
                    f"{argument['base']:#x}",
                    size(made["buffers"][argument["name"]]["bytes"]),
                    "",
                )
            )
    rows += [
        ("pool", b["name"], f"{b['offset']:#x}", size(b["bytes"]), f"steps {b['first']}-{b['last']}")
        for b in made["pool"]["blocks"]
    ]
    return Table(
        f"Device memory: pool of {size(made['pool']['bytes'])}", ("kernel", "buffer", "address", "bytes", ""), rows
    )


def _why(made: Made) -> Table:
    rows: list[tuple[str, ...]] = []
    for op in made["ops"]:
        rows += [(op["buffer"], why["about"], why["text"]) for why in op["why"]]
        division = op["division"]
        for c in division["candidates"][:3] if division else ():
            splits = " ".join(f"{v}/{n}" for v, n in c["splits"].items())
            rows.append(
                (
                    op["buffer"],
                    "candidate",
                    f"{splits}: {c['cost']} us = (compute {c['compute']} + memory"
                    f" {c['memory']} + partial sums {c['partial_sums']} + tie {c['tie']}) x {c['batch']}",
                )
            )
    return Table("Why", ("op", "about", ""), rows)


def _aligned(one: Table) -> str:
    return "\n".join([one.title, *(aligned([one.head, *one.rows]) if one.rows else ()), *one.notes])
