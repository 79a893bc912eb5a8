"""Tiles of fewer dims go to the dims of the same blocks, as in the Triton that Helion generates."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import lower_kernel


@helion.kernel()
def rows_scaled(x: torch.Tensor, scale: torch.Tensor, inner: torch.Tensor) -> list[torch.Tensor]:
    product = torch.empty_like(x)
    expanded = torch.empty_like(x)
    middle = torch.empty_like(x)
    for a, b, c in hl.tile(x.size()):
        tile = x[a, b, c]
        product[a, b, c] = tile * scale[a] + inner[b, c]
        expanded[a, b, c] = scale[a].expand_as(tile)
        middle[a, b, c] = torch.maximum(tile, inner[b, c]) - scale[a]
    return [product, expanded, middle]


@helion.kernel()
def chosen(x: torch.Tensor, flags: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        tile = x[rows, columns]
        out[rows, columns] = torch.where(flags[rows] > 0, tile, -tile)
    return out


@pytest.mark.parametrize("blocks", [[4, 4, 4], [2, 8, 4]])
def test_a_tile_is_broadcast_along_the_dims_that_it_has_not(blocks: list[int]):
    x, scale, inner = torch.randn(8, 8, 8), torch.randn(8), torch.randn(8, 8)
    lowering = lower_kernel(rows_scaled, (x, scale, inner), config={"block_sizes": blocks})
    first = scale[:, None, None]
    wanted = [x * first + inner, first.expand_as(x), torch.maximum(x, inner) - first]
    for found, want in zip(lowering.run(opt_level=0), wanted, strict=True):
        torch.testing.assert_close(found, want)


def test_where_is_tritons_and_says_so():
    """Helion hands `torch.where` to Triton as it is, which takes a vector for a row of each tile."""
    x, flags = torch.randn(8, 8), torch.tensor([1.0, -1] * 4)
    lowering = lower_kernel(chosen, (x, flags), config={"block_sizes": [4, 4]})
    assert torch.equal(lowering.run(opt_level=0), torch.where(flags > 0, x, -x))
    assert "takes a tile of fewer dims for the last ones" in str(lowering.diagnostics[0])


@helion.kernel()
def to_whole_rows(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    for columns in hl.tile(x.size(1)):
        for rows in hl.tile(x.size(0)):
            out[:, columns] = x[rows, columns]
    return out


def test_a_tile_that_is_stored_to_a_whole_dim_has_the_lanes_that_triton_pads_it_to():
    x = torch.randn(3, 15)
    lowering = lower_kernel(to_whole_rows, (x,), config={"block_sizes": [4, 4]})
    assert torch.equal(lowering.run(opt_level=0, check_bounds=True), x)


def test_tiles_that_do_not_fit_are_refused():
    """Triton refuses them, too."""
    with pytest.raises(UnsupportedError, match=r"shape \(4, 4\) does not broadcast to \(7, 4\)"):
        lower_kernel(to_whole_rows, (torch.randn(7, 15),), config={"block_sizes": [4, 4]})


@helion.kernel(config=helion.Config(block_sizes=[1, 4]))
def projected(x: torch.Tensor, weight: torch.Tensor, ones: torch.Tensor) -> torch.Tensor:
    batch, rows, inner = weight.size(0), x.size(0), x.size(1)
    out = torch.empty([batch, rows, weight.size(2)])
    for heads, tile in hl.tile([batch, rows]):
        out[heads, tile, :] = hl.dot(x[tile, :], weight[heads, :, :])
        places = hl.arange(inner)
        hl.store(ones, [places], torch.ones([inner]), extra_mask=places < 4)
    return out


def test_a_matrix_is_multiplied_with_each_of_several_and_a_tile_is_cut_to_the_positions_it_goes_to():
    x, weight, ones = torch.randn(6, 5), torch.randn(3, 5, 7), torch.zeros(5)
    torch.testing.assert_close(lower_kernel(projected, (x, weight, ones), dumps=False).run(opt_level=0), x @ weight)
    assert ones.tolist() == [1, 1, 1, 1, 0]
