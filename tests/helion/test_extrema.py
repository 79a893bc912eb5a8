"""NaN and infinities in comparisons, maxima and minima, in every output type."""

from __future__ import annotations

import math

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import emit_kernel

X = torch.tensor([math.nan, math.inf, -math.inf, 0.5, 1.0, math.nan, -2.0, 7.0])
Y = torch.tensor([1.0, math.nan, 2.0, math.nan, -math.inf, math.nan, 3.0, 7.0])
ROWS = torch.tensor(
    [
        [1.0, math.nan, 3.0],
        [-math.inf] * 3,
        [math.inf] * 3,
        [math.inf, -math.inf, 1.0],
        [2.0, 5.0, 5.0],
        [math.nan, 7.0, math.nan],
        [3.0, -1.0, -1.0],
    ]
)


@helion.kernel(config=helion.Config(block_sizes=[8, 4]))
def extrema(x: torch.Tensor, y: torch.Tensor, rows: torch.Tensor) -> list[torch.Tensor]:
    out, ends = torch.empty([10, x.size(0)], dtype=x.dtype), torch.empty([2, rows.size(0)], dtype=x.dtype)
    places = torch.empty([3, rows.size(0)], dtype=torch.int64)
    same = torch.empty([x.size(0)], dtype=torch.bool)
    for tile in hl.tile(x.size(0)):
        a, b = x[tile], y[tile]
        out[0, tile], out[1, tile] = torch.maximum(a, b), torch.minimum(a, b)
        out[2, tile], out[3, tile] = torch.clamp(a, -1.0, 1.0), torch.relu(a)
        out[4, tile], out[5, tile] = torch.clamp_min(a, 0.5), torch.clamp_max(a, 0.5)
        out[6, tile], out[7, tile] = torch.sqrt(a), a**0.5
        out[8, tile], out[9, tile] = a * 0, torch.nn.functional.softshrink(0.0 * b + a)
        same[tile] = a == a
    for tile in hl.tile(rows.size(0)):
        ends[0, tile], ends[1, tile] = rows[tile, :].amax(1), rows[tile, :].amin(1)
        places[0, tile], places[1, tile] = rows[tile, :].argmax(1), rows[tile, :].argmin(1)
        places[2, tile] = rows[tile, :].argmax(-1, keepdim=True).sum(1)
    return [out, ends, same, places]


def expected(x: torch.Tensor, y: torch.Tensor, rows: torch.Tensor) -> list[torch.Tensor]:
    each = [x.maximum(y), x.minimum(y), x.clamp(-1, 1), x.relu(), x.clamp_min(0.5), x.clamp_max(0.5), x.sqrt(), x**0.5]
    each += [x * 0, torch.nn.functional.softshrink(y * 0 + x)]
    places = torch.stack([rows.argmax(1), rows.argmin(1), rows.argmax(1)])
    return [torch.stack(each), torch.stack([rows.amax(1), rows.amin(1)]), ~x.isnan(), places]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_nan_and_infinities_are_as_in_pytorch(dtype: torch.dtype):
    inputs = (X.to(dtype), Y.to(dtype), ROWS.to(dtype))
    kernel = emit_kernel(extrema, inputs)
    for aten in ("linalg-on-tensors", "tosa", "stablehlo", "raw"):
        found = kernel.lower(aten, dumps=False).run(opt_level=0)
        for one, want in zip(found, expected(*inputs), strict=True):
            assert torch.equal(one.nan_to_num(99, 77, -77), want.nan_to_num(99, 77, -77)), (aten, one, want)


@helion.kernel(config=helion.Config(block_sizes=[4]))
def running(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for _ in hl.grid(1):
        carry = hl.zeros([1], dtype=x.dtype)
        for tile in hl.tile(x.size(0)):
            part = hl.cumsum(x[tile], dim=0)
            out[tile] = part + carry
            carry = carry + x[tile].sum(0, keepdim=True)
    return out


def test_a_scan_along_the_only_dim_of_a_tile():
    x = torch.arange(13.0)
    assert torch.equal(emit_kernel(running, (x,)).lower(dumps=False).run(opt_level=0), x.cumsum(0))
