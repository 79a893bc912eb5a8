"""`check=True` of kernels whose result depends on their tiles, or on lanes that eager mode does not have."""

from __future__ import annotations

from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import beyond, by_triton
from irwidget.helion.aten import emit_aten
from irwidget.helion.handlers import _handlers
from irwidget.lowering import lower
from tests.helion.cases import CASES
from tests.helion.test_check import _a_sixteenth_more, added_in_pairs, of_a_tile, sum_of_maxima, with_a_ticket

X = torch.randn(20, 30, generator=torch.Generator().manual_seed(0))


def added(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return left + right


def highest(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return torch.maximum(left, right)


@helion.kernel()
def scanned(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = hl.associative_scan(added, x[rows, columns], dim=1)
    return out


@helion.kernel()
def of_parts(x: torch.Tensor) -> torch.Tensor:
    """What a loop carries depends on its tiles."""
    out = torch.empty_like(x[:, 0])
    for rows in hl.tile(x.size(0)):
        total = hl.zeros([rows])
        for columns in hl.tile(x.size(1)):
            total = total * 0.5 + x[rows, columns].sum(1) + columns.begin
        out[rows] = total
    return out


@helion.kernel()
def numbered(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = x[rows, columns].sum(1)[:, None] * (rows.id + 1) + columns.end
    return out


@helion.kernel()
def backwards(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = hl.associative_scan(highest, x[rows, columns], dim=1, reverse=True)
    return out


@helion.kernel()
def backwards_over_all(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows, :] = hl.associative_scan(added, torch.exp(x[rows, :]), dim=1, reverse=True)
    return out


@helion.kernel()
def reduced(x: torch.Tensor) -> list[torch.Tensor]:
    top, total = torch.empty_like(x[:, 0]), torch.empty_like(x[:, 0])
    for rows in hl.tile(x.size(0)):
        total[rows] = hl.reduce(added, x[rows, :], dim=1)
        top[rows] = hl.reduce(highest, x[rows, :], dim=1, other=float("-inf"))
    return [top, total]


@helion.kernel()
def reduced_with_zeros(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x[:, 0])
    for rows in hl.tile(x.size(0)):
        out[rows] = hl.reduce(highest, x[rows, :], dim=1)
    return out


@helion.kernel()
def rows_scaled(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = x[rows, columns] * scale[rows]
    return out


@helion.kernel()
def rows_added(x: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        out[rows, columns] = x[rows, columns] + more[rows].expand_as(x[rows, columns])
    return out


def the_first(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return left


@helion.kernel()
def firsts(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x[:, 0])
    for rows in hl.tile(x.size(0)):
        out[rows] = hl.reduce(the_first, x[rows, :], dim=1)
    return out


def verdict(kernel: Any, *given: Any, **options: Any) -> Any:
    return lower(kernel, *given, to="helion_mlir", check=True, **options).check


def test_eager_mode_is_asked_again_tile_by_tile():
    """Of several tiles, of the last of which has fewer lanes, in loops that do and do not carry something."""
    for kernel in (of_a_tile, scanned, of_parts, numbered):
        assert verdict(kernel, X, config={"block_sizes": [8, 8]}).state == "equal", kernel
    places = torch.arange(20) % 4
    assert verdict(added_in_pairs, X[:, 0], places, places, config={"block_sizes": [8]}).state == "equal"
    case = next(c for c in CASES if str(c) == "branches")
    assert verdict(case.kernel, *case.inputs(), config=case.config).state == "equal"
    for kernel in (with_a_ticket, sum_of_maxima):  # which atomics add up tile by tile
        assert verdict(kernel, X[:, 0].contiguous().repeat(3)).state == "equal"


def test_a_wrong_module_differs_tile_by_tile_too(monkeypatch: pytest.MonkeyPatch):
    exact = _handlers.get("aten.sum.dim_IntList", emit_aten)
    monkeypatch.setitem(_handlers, "aten.sum.dim_IntList", lambda e, n: _a_sixteenth_more(e, exact(e, n)))
    assert verdict(of_parts, X, config={"block_sizes": [8, 8]}).state == "differs"
    said = verdict(numbered, X, config={"block_sizes": [8, 8]})  # a tile's number is another one in eager mode
    assert (said.state, said.reason) == (
        "not checked",
        "eager mode takes each loop as one tile, and this kernel's result depends on its tiles",
    )


def test_more_tiles_than_eager_mode_is_asked_for_are_not_compared():
    for kernel in (of_a_tile, scanned):
        said = verdict(kernel, torch.randn(2, 1001), config={"block_sizes": [2, 1]})
        assert (said.state, "depends on its tiles" in said.reason) == ("not checked", True)


def test_lanes_beyond_the_end_that_triton_combines_are_named():
    below = -torch.rand(6, 11) - 1
    assert verdict(backwards, below, config={"block_sizes": [4, 16]}).reason == (
        "Helion's Triton combines the lanes of a tile that lie beyond the end of its loop with the others, "
        "which eager mode has not"
    )
    assert verdict(backwards, torch.rand(8, 16), config={"block_sizes": [4, 8]}).state == "equal"
    for kernel, op in ((backwards_over_all, "a reversed scan"), (reduced_with_zeros, "hl.reduce")):
        for width, said in ((11, 1), (8, 0)):
            found = lower(kernel, below[:, :width].contiguous(), to="helion_mlir").diagnostics
            wanted = f"{op} of Helion's Triton takes the 16 lanes to which it pads a dim of 11, which may change what "
            assert [one.message for one in found] == [wanted + "it comes to"] * said
    assert lower(reduced, below, to="helion_mlir").diagnostics == ()
    assert len(lower(firsts, below, to="helion_mlir").diagnostics) == 1  # Triton does not say which comes first


def test_functions_that_cannot_be_tried_may_take_lanes_beyond_the_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(beyond, "OpOverload", str)
    assert len(lower(reduced, -torch.rand(6, 11), to="helion_mlir").diagnostics) == 2


def test_a_tile_that_goes_to_the_dims_of_its_blocks_is_not_compared_with_the_last_ones():
    x, given = torch.randn(8, 8), torch.randn(8)
    for kernel, wanted in ((rows_scaled, x * given[:, None]), (rows_added, x + given[:, None])):
        low = lower(kernel, x, given, to="helion_mlir", check=True, config={"block_sizes": [4, 8]})
        assert low.check.state == "not checked"
        assert "broadcasts a tile of fewer dims to the dims of its own blocks" in low.check.reason
        assert torch.equal(low.run(x, given), wanted)


@helion.kernel()
def fading(x: torch.Tensor) -> torch.Tensor:
    """What each tile has, and half of what came before: what a loop hands on depends on how it is cut."""
    out = torch.empty([x.size(0)])
    for rows in hl.tile(x.size(0)):
        acc = hl.zeros([rows], dtype=torch.float32)
        for columns in hl.tile(x.size(1)):
            acc = torch.maximum(acc * 0.5, torch.exp(x[rows, columns]).amax(-1))
        out[rows] = acc
    return out


@pytest.mark.parametrize(
    ("sizes", "reference"), [([2, 4], "eager PyTorch"), ([1, 1], by_triton.REFERENCE)], ids=["130 tiles", "1,010 tiles"]
)
def test_what_a_loop_hands_on_is_compared_tile_by_tile(
    monkeypatch: pytest.MonkeyPatch, sizes: list[int], reference: str
):
    """Eager mode runs several times; of more tiles than it takes in one, the Triton program says what is right."""
    x = torch.randn(10, 100, generator=torch.Generator().manual_seed(0))
    right = lower(fading, x, to="helion_mlir", config={"block_sizes": sizes}, check=True, dumps=False).check
    assert (right.state, right.reference) == ("equal", reference)
    monkeypatch.setitem(_handlers, "aten.exp.default", lambda e, n: e.tensor(n.args[0]))
    wrong = lower(fading, x, to="helion_mlir", config={"block_sizes": sizes}, check=True, dumps=False).check
    assert (wrong.state, wrong.reference) == ("differs", reference)
