"""Packed small floats: two e2m1 to a byte, loads of sixteen, scaled products of them."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import emit_kernel, lower_kernel
from tests.helion.cases import difference

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
RAW = (torch.arange(48) * 37 % 256).to(torch.uint8)
GROUPS = torch.tensor([1, 0, 5, 3, 2])


def floats(packed: torch.Tensor) -> torch.Tensor:
    """What bytes stand for, the last dim twice as long."""
    low, high = E2M1[(packed & 15).long()], E2M1[(packed >> 4).long()]
    return torch.stack([low, high], -1).flatten(-2)


@helion.kernel(config=helion.Config())
def pairs(x: torch.Tensor) -> list[torch.Tensor]:
    low, high = torch.empty(x.shape), torch.empty(x.shape)
    same = torch.empty_like(x)
    for tile in hl.tile(x.size(0), block_size=16):
        low[tile], high[tile] = hl.float4_e2m1fn_x2_to_float32(x[tile])
        same[tile] = x[tile]
    return [low, high, same]


@helion.kernel(config=helion.Config())
def sixteen(x: torch.Tensor, y: torch.Tensor, groups: torch.Tensor) -> list[torch.Tensor]:
    out, wide = (torch.empty([groups.size(0), 16], dtype=torch.float16) for _ in range(2))
    for tile in hl.tile(groups.size(0), block_size=4):
        lanes = hl.load_float4_e2m1fn_x16_to_float16(x, groups[tile], extra_mask=groups[tile] != 3)
        others = hl.load_bfloat16_x16_to_float16(y, groups[tile])
        for i in hl.static_range(16):
            out[tile, i] = lanes[i]
            wide[tile, i] = others[i]
    return [out, wide]


@helion.kernel(config=helion.Config(block_sizes=[16, 16]))
def scaled_product(x: torch.Tensor, sx: torch.Tensor, y: torch.Tensor, sy: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0), y.size(1)])
    for rows, columns in hl.tile([x.size(0), y.size(1)]):
        out[rows, columns] = hl.dot_scaled(x[rows, :], sx[rows, :], "e2m1", y[:, columns], sy[columns, :], "e2m1")
    return out


def test_both_floats_of_a_byte():
    low, high, same = lower_kernel(pairs, (RAW.view(torch.float4_e2m1fn_x2),)).run(opt_level=0)
    assert torch.equal(torch.stack([low, high], -1).flatten(), floats(RAW))
    assert torch.equal(low.signbit(), (RAW & 8) != 0)
    assert torch.equal(same.view(torch.uint8), RAW)


def test_loads_of_sixteen_in_every_output_type():
    y = torch.randn(96).bfloat16()
    kernel = emit_kernel(sixteen, (RAW.view(6, 8), y, GROUPS))
    want = floats(RAW).view(6, 16)[GROUPS].half() * (GROUPS != 3)[:, None]
    for aten in ("linalg-on-tensors", "tosa", "stablehlo", "raw"):
        lowering = kernel.lower(aten, dumps=False)
        assert lowering.verify() is None
        found = lowering.run(opt_level=0, check_bounds=True)
        assert torch.equal(found[0], want)
        assert torch.equal(found[1], y.view(6, 16)[GROUPS].half())


def test_storage_that_is_not_contiguous_is_refused():
    with pytest.raises(UnsupportedError, match=r"load_float4\S+ .* pass storage\.contiguous"):
        lower_kernel(sixteen, (RAW.view(6, 8).T, torch.zeros(96).bfloat16(), GROUPS))


def test_a_scaled_product_of_four_bit_floats():
    m, k, n = 20, 64, 12
    x, y = (torch.randint(0, 256, shape, dtype=torch.uint8) for shape in ((m, k // 2), (k // 2, n)))
    sx, sy = (torch.randint(124, 130, (size, k // 32), dtype=torch.uint8) for size in (m, n))
    found = lower_kernel(scaled_product, (x, sx, y, sy)).run(opt_level=0)

    def scaled(values: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        return values * torch.exp2(scale.float() - 127).repeat_interleave(32, 1)

    assert difference(found, scaled(floats(x), sx) @ scaled(floats(y.T.contiguous()), sy).T) < 1e-4
