"""Which program computes which tile: against the arithmetic of the Triton program that Helion generates."""

from __future__ import annotations

import re
from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import programs
from irwidget.helion.binding import bind
from irwidget.helion.triton import source
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw

X, Y = torch.empty(70, 20), torch.empty(20, 50)


@helion.kernel
def increased(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = x[rows, columns] + 1
    return out


def places_of(text: str, place: list[int]) -> dict[str, Any]:
    """What program `place` of the launch's grid assigns to `pid_0`, `pid_1`, ... and `offsets`, by its own lines."""
    lines = [line.strip() for line in text.splitlines()]
    names = r"(pid_\d+|pid_flat|num_\w+|group_\w+|\w*pid\w*|inner_\w+|first_\w+|offsets_\w+|indices_\d) = "
    scope: dict[str, Any] = {
        f"_BLOCK_SIZE_{i}": int(n) for i, n in re.findall(r"_BLOCK_SIZE_(\w+) = tl.constexpr\((\d+)\)", text)
    }

    class Language:
        program_id = staticmethod(lambda axis: place[axis])
        cdiv = staticmethod(lambda a, b: -(-a // b))
        arange = staticmethod(torch.arange)

    code = re.sub(r"\.to\(tl\.\w+\)", "", "\n".join(line for line in lines if re.match(names, line)))
    code = "\n".join(line for line in code.splitlines() if "offset_" not in line)
    exec(code, {"tl": Language, "triton": Language, "min": min}, scope)
    return scope


@pytest.mark.parametrize(
    ("order", "group", "kind"),
    [([0, 1], 1, "flat"), ([1, 0], 1, "flat"), ([0, 1], 2, "flat"), ([1, 0], 4, "xyz"), ([1, 0], 1, "xyz")],
)
def test_programs_are_those_of_the_generated_triton(order: list[int], group: int, kind: str):
    config = {"block_sizes": [16, 16], "loop_orders": [order], "l2_groupings": [group], "pid_type": kind}
    binding = bind(increased, (torch.empty(70, 50),), config)
    (loop,) = programs.programs(binding)
    assert loop.tiles == (5, 4)
    assert loop.count == len(loop.of_tile) == 20
    assert loop.grid == ((4, 5) if kind == "xyz" else (20,))
    assert loop.summary.endswith("in a grid of 4 x 5, x counted first" if kind == "xyz" else "20 programs")
    text = source(binding)
    for tile, number in loop.of_tile.items():
        place = [number % loop.grid[0], number // loop.grid[0]]
        scope = places_of(text, place)
        assert [scope["pid_0"], scope["pid_1"]] == [tile[dim] for dim in order], (tile, number)


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_a_flattened_loop_is_one_row_of_its_elements(order: list[int]):
    config = {"block_sizes": [4, 2], "flatten_loops": [True], "l2_groupings": [4], "loop_orders": [order]}
    binding = bind(increased, (torch.empty(7, 5),), config)
    (loop,) = programs.programs(binding)
    assert loop.row == tuple(order[::-1])
    row = f"dim {loop.row[0]}, then {loop.row[1]} first"
    assert loop.summary == f"5 tiles of 8, 5 programs, of the elements in one row, {row}"
    for (tile,), number in loop.of_tile.items():
        scope, fastest = places_of(source(binding), [number]), loop.row[0]
        for lane, (i, j) in enumerate(zip(scope["indices_0"].tolist(), scope["indices_1"].tolist(), strict=True)):
            assert tile * 8 + lane == (i + 7 * j if fastest == 0 else j + 5 * i)


def test_the_drawing_says_the_number_of_each_tile():
    binding = bind(mm.matmul, (X, Y), {"block_sizes": [32, 32, 4], "loop_orders": [[1, 0]]})
    (loop,) = programs.programs(binding)
    assert loop.text.splitlines() == [
        "root_graph_1: 3 x 2 tiles of 32 x 32, 6 programs",
        "       0-31  32-49",
        " 0-31     0      1",
        "32-63     2      3",
        "64-69     4      5",
    ]
    assert loop._repr_svg_().count("<rect") == 6  # pyright: ignore[reportPrivateUsage]


def test_persistent_programs_take_several_tiles():
    for kind, count, program in (
        ("interleaved", 300, lambda tile: tile % 132),
        ("blocked", 300, lambda tile: tile // 3),
        ("blocked", 264, lambda tile: tile // 2),
    ):
        binding = bind(pw.exp_forward, (torch.empty(count),), {"block_sizes": [1], "pid_type": f"persistent_{kind}"})
        (loop,) = programs.programs(binding)
        assert loop.of_tile == {(tile,): program(tile) for tile in range(count)}


@helion.kernel(config=helion.Config(block_sizes=[4, 8]))
def twice(x: torch.Tensor, y: torch.Tensor) -> list[torch.Tensor]:
    out, other = torch.empty_like(x), torch.empty_like(y)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] * 2
    for tile in hl.tile(y.size(0)):
        other[tile] = y[tile] * 3
    return [out, other]


def test_programs_of_a_second_loop_follow_those_of_the_first():
    first, second = programs.programs(bind(twice, (torch.empty(10), torch.empty(20))))
    assert list(first.of_tile.values()) == [0, 1, 2]
    assert list(second.of_tile.values()) == [3, 4, 5]
