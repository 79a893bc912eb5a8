"""Tiles of fewer dims go to the dims of the same blocks, as in the Triton that Helion generates."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

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
