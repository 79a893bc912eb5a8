"""The solvers of LX planning on buffers that are laid out by hand."""

from __future__ import annotations

import pytest
import torch

from irwidget.spyre import TensorSpec, compile
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.scratchpad import LxBuffer, solve

KIB = 1024


def buffers(*rows):
    """(name, bytes, first position, end, uses[, operands whose slots it may take])."""
    return [LxBuffer(*row[:5], row[5:]) for row in rows]


GAP = buffers(("a", 4 * KIB, 0, 9, 2), ("b", 2 * KIB, 1, 3, 2), ("c", 4 * KIB, 2, 9, 2))
"""After position 3 there is a gap of exactly 2 KiB between a and c."""


def test_greedy_takes_a_gap_that_just_fits():
    options = SpyreSwitches(lx_bytes=10 * KIB)
    addresses, _ = solve([*GAP, *buffers(("d", 2 * KIB, 4, 9, 2))], options)
    assert addresses == {"a": 0, "b": 4 * KIB, "c": 6 * KIB, "d": 4 * KIB}
    too_large, _ = solve([*GAP, *buffers(("d", 2 * KIB + 128, 4, 9, 2))], options)
    assert "d" not in too_large


def test_greedy_takes_address_0_when_all_that_is_live_lies_above():
    first, second = ("a", 2 * KIB, 0, 2, 2), ("b", 2 * KIB, 1, 9, 2)
    addresses, _ = solve(buffers(first, second, ("c", 2 * KIB, 3, 9, 2)), SpyreSwitches())
    assert addresses == {"a": 0, "b": 2 * KIB, "c": 0}
    addresses, _ = solve(buffers(first, second, ("c", 2 * KIB + 128, 3, 9, 2)), SpyreSwitches())
    assert addresses["c"] == 4 * KIB


def test_greedy_begins_at_whole_sticks():
    addresses, _ = solve(buffers(("a", 100, 0, 9, 2), ("b", 100, 1, 9, 2)), SpyreSwitches())
    assert addresses == {"a": 0, "b": 128}


def test_what_waits_for_its_operand_is_placed_after_all_that_comes_before_that():
    late, other, operand = ("c", KIB, 2, 4, 9, "p"), ("x", KIB, 1, 3, 3), ("p", KIB, 0, 3, 2)
    addresses, in_place = solve(buffers(late, other, operand), SpyreSwitches(layout_solver="firstfit"))
    assert addresses == {"x": 0, "p": KIB, "c": KIB}
    assert in_place == {"c": "p"}


@pytest.mark.parametrize("solver", ["greedy", "firstfit", "bestfit"])
def test_of_several_operands_that_die_the_first_that_is_placed_gives_its_slot(solver):
    a, b, c = ("a", KIB, 0, 3, 2), ("b", KIB, 1, 3, 3), ("c", KIB, 2, 9, 2, "a", "b")
    options = SpyreSwitches(layout_solver=solver)
    assert solve(buffers(a, b, c), options)[1] == {"c": "a"}
    assert solve(buffers(b, c), options)[1] == {"c": "b"}


def test_an_operand_that_dies_gives_its_slot():
    rows = buffers(("a", KIB, 0, 2, 2), ("b", KIB, 1, 9, 2, "a"))
    for solver in ("greedy", "firstfit", "bestfit"):
        addresses, in_place = solve(rows, SpyreSwitches(layout_solver=solver))
        assert addresses == {"a": 0, "b": 0}, solver
        assert in_place == {"b": "a"}


@pytest.mark.parametrize(("solver", "address"), [("firstfit", KIB), ("bestfit", 6 * KIB)])
def test_first_and_best_fit_choose_other_gaps(solver, address):
    """While x lives, 3 KiB are free above w0 and 2 KiB above w1: c, in between, has died."""
    walls = [("w0", KIB, 0, 9, 900), ("c", 3 * KIB, 0, 2, 30), ("w1", 2 * KIB, 0, 9, 60)]
    addresses, _ = solve(
        buffers(*walls, ("x", 2 * KIB, 3, 9, 1)), SpyreSwitches(layout_solver=solver, lx_bytes=8 * KIB)
    )
    assert addresses == {"w0": 0, "c": KIB, "w1": 4 * KIB, "x": address}


def test_a_buffer_counts_its_write_and_its_reads():
    program = compile(lambda a: (torch.exp(a) + 1) * torch.exp(a), [TensorSpec((64, 128))], cores=1)
    readers = {b.name: b.uses - 1 for b in program.scratchpad.blocks.values()}
    read = {n: sum(n in {r.buffer for r in op.reads} for op in program.graph.ops) for n in readers}
    assert readers == read


def test_fit_places_the_buffer_with_more_uses_first():
    rows = buffers(("few", 6 * KIB, 0, 8, 2), ("many", 6 * KIB, 0, 8, 5))
    addresses, _ = solve(rows, SpyreSwitches(layout_solver="firstfit", lx_bytes=8 * KIB))
    assert addresses == {"many": 0}


def test_fit_counts_a_slot_to_take_over_in_favour():
    rows = buffers(("p", KIB, 0, 2, 2), ("child", 6 * KIB, 1, 5, 2, "p"), ("other", 6 * KIB, 1, 5, 2))
    addresses, _ = solve(rows[::-1], SpyreSwitches(layout_solver="firstfit", lx_bytes=8 * KIB))
    assert "child" in addresses
    assert "other" not in addresses
