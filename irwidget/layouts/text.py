"""Layouts as text: who owns which element."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from irwidget.layouts.placement import Layout

MOST_ROWS, MOST_COLUMNS = 16, 16


def described(layout: Layout) -> str:
    """A layout in a line."""
    return repr(layout).strip("<>").removeprefix("layout of ")


def drawn(layout: Layout) -> str:
    """The owners of a layout's first elements as a table: `warp:lane:register`, or offset and bank in memory."""
    if layout.linear is None:
        return described(layout)
    shape = layout.linear.shape
    grid = [_owner(layout, index) for index in np.ndindex(*shape[:-2], *_corner(shape))]
    columns = _corner(shape)[-1]
    width = max(map(len, grid), default=1)
    rows = [" ".join(one.rjust(width) for one in grid[at : at + columns]) for at in range(0, len(grid), columns)]
    cut = "" if _corner(shape) == shape[-2:] else f"; the first {' x '.join(map(str, _corner(shape)))} of each matrix"
    return "\n".join([f"{described(layout)} ({_legend(layout)}{cut})", *rows[: MOST_ROWS * 4]])


def _corner(shape: tuple[int, ...]) -> tuple[int, ...]:
    most = (MOST_ROWS, MOST_COLUMNS)[-len(shape[-2:]) :]
    return tuple(min(size, limit) for size, limit in zip(shape[-2:], most, strict=True))


def _legend(layout: Layout) -> str:
    if layout.type.memory == "shared":
        return "offset in elements @ bank" if layout.banks else "offset in elements"
    return "row:column" if layout.type.memory else "warp:lane:register"


def _owner(layout: Layout, element: tuple[int, ...]) -> str:
    places = layout.owners(*element)
    return "|".join(_written(layout, places[:2])) + ("|.." if len(places) > 2 else "")


def _written(layout: Layout, places: list[dict[str, int]]) -> Iterator[str]:
    for place in places:
        block = f"b{place['block']}:" if layout.known.sizes.get("block", 1) > 1 else ""
        if layout.type.memory == "shared":
            yield f"{block}{place['offset']}" + (f"@{place['bank']}" if "bank" in place else "")
        elif layout.type.memory:
            yield f"{place['row']}:{place['col']}"
        else:
            yield f"{block}{place['warp']}:{place['lane']}:{place['register']}"
