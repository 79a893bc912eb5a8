"""Kernels that reach memory in every way, several ways in one kernel, on shapes and with block sizes of any kind."""

from __future__ import annotations

import helion
import helion.language as hl
import torch


@helion.kernel()
def tiles(x: torch.Tensor, row: torch.Tensor, column: torch.Tensor, one: torch.Tensor) -> list[torch.Tensor]:
    """Tiles of both dims, of operands that may have one element there, transposed and permuted."""
    m, n = x.size()
    out = torch.empty_like(x)
    turned = torch.empty([n, m], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([m, n]):
        tile = x[rows, columns] + row[rows, columns] * column[rows, columns]
        out[rows, columns] = tile - one[rows, columns]
        turned[columns, rows] = tile.T
    return [out, turned]


@helion.kernel()
def grids(x: torch.Tensor, row: torch.Tensor) -> list[torch.Tensor]:
    """Single positions: of a grid, a tile's begin and number, an index from memory."""
    m, n = x.size()
    out = torch.empty_like(x)
    picked = torch.empty_like(x)
    for i in hl.grid(m):
        for columns in hl.tile(n):
            out[i, columns] = x[i, columns] * row[i, columns]
            picked[i, columns] = x[m - 1 - i, columns] + row[0, columns]
    return [out, picked]


@helion.kernel()
def whole(x: torch.Tensor) -> list[torch.Tensor]:
    """Whole dims, slices of them, and reductions."""
    m = x.size(0)
    total = torch.empty([m], dtype=x.dtype, device=x.device)
    largest = torch.empty([m, 1], dtype=x.dtype, device=x.device)
    centred = torch.empty_like(x)
    for rows in hl.tile(m):
        tile = x[rows, :]
        total[rows] = tile.sum(-1)
        largest[rows, :] = torch.amax(tile, 1, keepdim=True)
        centred[rows, :] = tile - tile.sum(-1)[:, None]
    return [total, largest, centred]


@helion.kernel()
def scaled(x: torch.Tensor, scale: torch.Tensor, shift: torch.Tensor) -> list[torch.Tensor]:
    """Vectors over one of two dims, broadcast along the other."""
    out = torch.empty_like(x)
    shifted = torch.empty_like(x)
    for rows, columns in hl.tile(x.size()):
        tile = x[rows, columns]
        out[rows, columns] = tile * scale[rows][:, None] + shift[columns]
        shifted[rows, columns] = tile + shift[columns][None, :]
    return [out, shifted]


@helion.kernel()
def gathers(x: torch.Tensor, index: torch.Tensor, row: torch.Tensor) -> list[torch.Tensor]:
    """Positions from memory: rows that an index names, elements, and masks."""
    m, n = index.size(0), x.size(1)
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    back = torch.zeros([x.size(0), n], dtype=x.dtype, device=x.device)
    masked = torch.zeros([m, n], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([m, n]):
        where = index[rows]
        taken = x[where, columns]
        out[rows, columns] = taken
        back[where, columns] = taken + row[rows, columns]
        inside = (rows.index % 2 == 0)[:, None] & (columns.index < n - 1)[None, :]
        hl.store(masked, [rows, columns], hl.load(row, [rows, columns], extra_mask=inside) + 1, extra_mask=inside)
    return [out, back, masked]


@helion.kernel()
def atomics(x: torch.Tensor, narrow: torch.Tensor, index: torch.Tensor) -> list[torch.Tensor]:
    """Updates: of rows, of one row at a tile's begin, of one element, at positions from memory."""
    m, n = x.size()
    total = torch.zeros([1, n], dtype=x.dtype, device=x.device)
    first = torch.zeros([1], dtype=x.dtype, device=x.device)
    added = narrow.clone()
    hits = torch.zeros([m], dtype=x.dtype, device=x.device)
    top = torch.full([1, n], -9.0, dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([m, n]):
        tile = x[rows, columns]
        hl.atomic_add(total, [rows.begin, columns], tile.sum(0))
        hl.atomic_add(first, [rows.id], tile.sum(0).sum(0))
        hl.atomic_add(added, [rows, columns], tile)
        hl.atomic_add(hits, [index[rows]], tile.sum(1))
        hl.atomic_max(top, [rows.begin, columns], torch.amax(tile, 0))
    return [total, first, added, hits, top]


@helion.kernel()
def products(x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor) -> list[torch.Tensor]:
    """A product whose sum is cut into tiles, with a bias of one row."""
    m, k = x.size()
    n = y.size(1)
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = torch.addmm(acc, x[rows, inner], y[inner, columns])
        out[rows, columns] = acc + bias[rows, columns]
    return [out]


@helion.kernel()
def jagged(x: torch.Tensor, bounds: torch.Tensor) -> list[torch.Tensor]:
    """Rows of different lengths that follow one another."""
    rows_count = bounds.size(0) - 1
    out = torch.zeros([rows_count], dtype=x.dtype, device=x.device)
    for rows in hl.tile(rows_count):
        starts = bounds[rows]
        lengths = bounds[rows.index + 1] - starts
        acc = hl.zeros([rows], dtype=x.dtype)
        for inner in hl.tile(lengths.amax()):
            mask = inner.index[None, :] < lengths[:, None]
            acc = acc + hl.load(x, [starts[:, None] + inner.index[None, :]], extra_mask=mask).sum(1)
        out[rows] = acc
    return [out]
