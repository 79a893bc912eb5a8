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


def places_of(text: str, number: int) -> list[int]:
    """`pid_0`, `pid_1`, ... of program `number`, computed by the lines of the program that assign them."""
    lines = [line.strip() for line in text.splitlines()]
    kept = [line for line in lines if re.match(r"(pid_\d+|num_\w+|group_\w+|\w*pid\w*|inner_\w+|first_\w+) = ", line)]
    scope: dict[str, Any] = {
        f"_BLOCK_SIZE_{i}": int(n) for i, n in re.findall(r"_BLOCK_SIZE_(\d+) = tl.constexpr\((\d+)\)", text)
    }

    class Language:
        program_id = staticmethod(lambda _axis: number)
        cdiv = staticmethod(lambda a, b: -(-a // b))
        minimum = staticmethod(min)

    code = "\n".join(kept).replace(".to(tl.int64)", "")
    exec(code, {"tl": Language, "triton": Language, "min": min}, scope)
    return [scope[f"pid_{dim}"] for dim in range(sum(f"pid_{d}" in scope for d in range(3)))]


@pytest.mark.parametrize(("order", "group"), [([0, 1], 1), ([1, 0], 1), ([0, 1], 2), ([1, 0], 4)])
def test_programs_are_those_of_the_generated_triton(order: list[int], group: int):
    config = {"block_sizes": [16, 16, 16], "loop_orders": [order], "l2_groupings": [group]}
    binding = bind(mm.matmul, (X, Y), config)
    (loop,) = programs.programs(binding)
    assert loop.tiles == (5, 4)
    assert loop.count == len(loop.of_tile) == 20
    text = source(binding)
    for tile, number in loop.of_tile.items():
        assert places_of(text, number) == [tile[dim] for dim in order], (tile, number)


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
