"""Which program of a launch computes which tile of a top-level loop, as numbers, as text and drawn. No MLIR here.

The numbers are those of the Triton program that Helion generates for the configuration, with its loop order and its
groups for the L2 cache.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.helion import configuration, private
from irwidget.helion.bound import Binding
from irwidget.helion.symbols import static_value

MOST = 4096
"""Tiles of a loop beyond which it is not said which program computes each."""
_DRAWN = 24
"""Rows and columns of tiles that text shows."""
_CELL = 28
"""Pixels of a tile in the drawing."""
_HUES = ("#cfe3f5", "#f8d9c0", "#cdeadd", "#f3d3e6", "#fbf0c4", "#d9d9ee", "#e3e3e3", "#cfeef5")


@dataclass(frozen=True)
class Programs:
    """A top-level loop: its tiles, and the program that computes each."""

    name: str
    """The loop's, as its node has it."""
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    sizes: tuple[int, ...]
    """Lanes of a tile along each dim, in the order of the kernel's loop."""
    grid: tuple[int, ...]
    """How many programs run it, along each axis of the launch; more than one axis has `pid_type="xyz"` alone."""
    of_tile: Mapping[tuple[int, ...], int]
    """Where a tile stands along each dim -> its program, the first axis of the grid counted first; empty for more than
    `MOST` tiles."""
    row: tuple[int, ...] = ()
    """The dims of the kernel's loop, the fastest first, where `flatten_loops` makes one row of all its elements:
    `begins`, `ends` and `sizes` are then of that row."""

    @property
    def count(self) -> int:
        """How many programs run it."""
        return math.prod(self.grid)

    @property
    def tiles(self) -> tuple[int, ...]:
        """How many tiles there are along each dim."""
        each = zip(self.begins, self.ends, self.sizes, strict=True)
        return tuple(max(0, -(-(end - begin) // size)) for begin, end, size in each)

    @property
    def summary(self) -> str:
        """In a line: `3 x 2 tiles of 16 x 16, 6 programs`."""
        tiles, sizes = (" x ".join(map(str, numbers)) for numbers in (self.tiles, self.sizes))
        found = f"{tiles} tiles of {sizes}, {self.count} program{'s' * (self.count != 1)}"
        if len(self.grid) > 1:
            found += f" in a grid of {' x '.join(map(str, self.grid))}, x counted first"
        if self.row:
            found += f", of the elements in one row, dim {', then '.join(map(str, self.row))} first"
        return found

    @property
    def text(self) -> str:
        """The summary, and for each tile of the first two dims the number of its program."""
        lines = [f"{self.name}: {self.summary}"]
        if not self.of_tile:
            return "\n".join([*lines, *([f"more than {MOST} tiles: not drawn"] if math.prod(self.tiles) else [])])
        if len(self.tiles) > 2:
            lines.append(f"tile 0 of dim {', '.join(map(str, range(2, len(self.tiles))))}")
        rows, columns = self._plane
        table = [["", *(self._lanes(-1, column) for column in range(columns))]] if len(self.tiles) > 1 else []
        table += [[self._lanes(0, row), *(str(self._at(row, c)) for c in range(columns))] for row in range(rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines += ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
        left = [total - shown for total, shown in zip((*self.tiles, 1)[:2], (rows, columns), strict=True)]
        return "\n".join([*lines, *([f"{left[0]} more rows, {left[1]} more columns"] if any(left) else [])])

    @property
    def _plane(self) -> tuple[int, int]:
        rows, columns = (*self.tiles, 1)[:2]
        return min(rows, _DRAWN), min(columns, _DRAWN)

    def _at(self, row: int, column: int) -> int:
        return self.of_tile[(row, column, *[0] * len(self.tiles))[: len(self.tiles)]]

    def _lanes(self, dim: int, tile: int) -> str:
        """Which elements a tile of the first (0) or second (-1) dim has: `16-31`."""
        dim = 0 if dim == 0 else 1
        first = self.begins[dim] + tile * self.sizes[dim]
        last = min(first + self.sizes[dim], self.ends[dim]) - 1
        return str(first) if first == last else f"{first}-{last}"

    def _repr_svg_(self) -> str:
        """The same drawn: a square for each tile, in the colour of its program."""
        rows, columns = self._plane if self.of_tile else (0, 0)
        parts = [f"<title>{self.name}: {self.summary}</title>"]
        for row in range(rows):
            for column in range(columns):
                number, x, y = self._at(row, column), column * _CELL, row * _CELL
                parts.append(
                    f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{_HUES[number % len(_HUES)]}" '
                    f'stroke="#666"/><text x="{x + _CELL // 2}" y="{y + 18}" text-anchor="middle" '
                    f'font-size="11" font-family="sans-serif" fill="#111">{number}</text>'
                )
        parts.append(f'<text y="{rows * _CELL + 16}" font-size="12" font-family="sans-serif">{self.summary}</text>')
        width, height = max(columns * _CELL, 360), rows * _CELL + 24
        inside = "".join(parts)
        return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}">{inside}</svg>'

    def __str__(self) -> str:
        return self.text


def programs(binding: Binding) -> tuple[Programs, ...]:
    """The top-level loops of a bound kernel, as far as their bounds and tile sizes are numbers.

    Persistent programs that run several loops are left out: how they share them is Helion's.
    """
    return tuple(_loops(binding, most=MOST))


def _loops(binding: Binding, most: int) -> Iterator[Programs]:
    """The same, with the program of each tile where there are at most so many tiles."""
    before = 0
    device_ir = binding.device_ir
    persistent = configuration.persistent(binding.config)
    if (persistent and len(device_ir.root_ids) > 1) or binding.open_blocks:
        return
    with binding.entered():
        for position, graph_id in enumerate(device_ir.root_ids):
            name = str(device_ir.graphs[graph_id].name)
            loop = _loop(binding, name, device_ir.grid_block_ids[position], binding.ranges(position), before, most)
            if loop is None:
                return  # where the programs of later loops begin is not known
            before += loop.count
            yield loop


def summaries(binding: Binding) -> dict[str, str]:
    """A line for each of `programs`, by the name of its fact."""
    return {f"grid of {loop.name}": loop.summary for loop in _loops(binding, most=0)}


def _loop(
    binding: Binding, name: str, blocks: Sequence[int], ranges: Sequence[Any], before: int, most: int
) -> Programs | None:
    bounds = [(static_value(binding, r.begin), static_value(binding, r.end)) for r in ranges]
    sizes = [binding.block_sizes.get(block) for block in blocks]
    numbers = [number for pair in bounds for number in pair] + sizes
    if not all(isinstance(number, int) for number in numbers):
        return None
    begins, ends = zip(*bounds, strict=True)
    loop = Programs(name, begins, ends, tuple(int(size or 1) for size in sizes), (0,), {})
    order = configuration.grid_order(binding.env, binding.config, blocks)
    if configuration.flattened(binding.env, binding.config, blocks):
        extents = [end - begin for begin, end in zip(begins, ends, strict=True)]
        loop = Programs(name, (0,), (math.prod(extents),), (math.prod(loop.sizes),), (0,), {}, tuple(order))
        order = [0]
    counts = [loop.tiles[dim] for dim in order]  # the dim that runs fastest first
    group = configuration.l2_grouping(binding.env, binding.config, sorted(blocks))
    grid, program = _numbering(binding.config, counts, before)
    of_tile: dict[tuple[int, ...], int] = {}
    total = math.prod(counts)
    for number in range(total if total <= most else 0):
        place = _place(number, counts, group)
        of_tile[tuple(place[order.index(dim)] for dim in range(len(order)))] = program(number)
    return dataclasses.replace(loop, grid=grid, of_tile=of_tile)


def _numbering(config: Any, counts: Sequence[int], before: int) -> tuple[tuple[int, ...], Callable[[int], int]]:
    """The grid of a launch that runs so many tiles along each dim, and the program of the tile of a number."""
    kind, total = configuration.persistent(config), math.prod(counts)
    if kind:
        count = private.PROCESSORS * int(config.config.get("num_sm_multiplier") or 1)
        share = -(-total // count)
        return (count,), (lambda tile: tile % count) if kind == "interleaved" else (lambda tile: tile // share)
    axes = tuple(counts) if config.config.get("pid_type") == "xyz" else (total,)
    return axes, functools.partial(int.__add__, before)


def _place(number: int, counts: Sequence[int], group: int) -> list[int]:
    """Where tile `number` stands along each dim, the fastest first."""
    places: list[int] = []
    rest = number
    for count in counts[:-1]:
        places.append(rest % count)
        rest //= count
    places.append(rest)
    if group > 1:
        inner = number if len(counts) == 2 else number % (counts[0] * counts[1])
        first = inner // (counts[1] * group) * group
        size = min(counts[0] - first, group)
        within = inner % (counts[1] * group)
        places[:2] = [first + within % size, within // size]
    return places
