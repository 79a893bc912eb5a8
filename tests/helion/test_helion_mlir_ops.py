"""The ops that helion_mlir brings for kernels: its `broadcast` and `gather`."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch
from helion.language import _decorators

from irwidget.errors import UnsupportedError
from irwidget.helion import lower_kernel


def of_helion_mlir(fake):
    """An op of no code, as helion_mlir declares its own: it has only the shape of what it gives."""

    def declare(function):
        function.__module__ = f"helion_mlir.custom_op.{function.__name__}"
        op = _decorators.api(allow_host_tensor=False, tiles_as_sizes=True)(function)
        _decorators.register_fake(op)(fake)
        return op

    return declare


@of_helion_mlir(lambda src, dim, out_shape: src.new_empty(tuple(out_shape)))
def broadcast(src: torch.Tensor, dim: int, out_shape) -> torch.Tensor:
    raise AssertionError


@of_helion_mlir(lambda tile, src: src.new_empty((tile, *src.shape)))
def gather(tile: object, src: torch.Tensor) -> torch.Tensor:
    raise AssertionError


@helion.kernel(config=helion.Config(block_sizes=[16, 8, 16]), static_shapes=False)
def split_k(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.zeros((a.size(0), b.size(1)), dtype=a.dtype, device=a.device)
    for m, n, k in hl.tile([a.size(0), b.size(1), a.size(1)]):
        parts = gather(k, torch.mm(a[m, k], b[k, n]))
        if k.id == 0:
            out[m, n] = torch.sum(parts, 0)
    return out


@helion.kernel(config=helion.Config(block_sizes=[8, 4]))
def scaled(x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for i, j in hl.tile(x.size()):
        new, own = broadcast(columns[j], 0, [i, columns[j].size(0)]), broadcast(rows[i, :], 1, [i, j])
        out[i, j] = x[i, j] * new + own
    return out


def test_gather_stacks_the_turns_of_a_loop():
    a, b = torch.randn(32, 48), torch.randn(48, 24)
    lowering = lower_kernel(split_k, (a, b))
    assert lowering.verify() is None
    torch.testing.assert_close(lowering.run(a, b, opt_level=0, check_bounds=True), a @ b)


def test_gather_refuses_a_last_tile_that_is_not_whole():
    with pytest.raises(UnsupportedError, match="gather .* a tile size that divides the loop's extent"):
        lower_kernel(split_k, (torch.randn(32, 40), torch.randn(40, 24)))


def test_broadcast_repeats_along_a_new_dim_and_an_own_one():
    x, rows, columns = torch.randn(13, 6), torch.randn(13, 1), torch.randn(6)
    lowering = lower_kernel(scaled, (x, rows, columns))
    assert lowering.verify() is None
    torch.testing.assert_close(lowering.run(x, rows, columns, opt_level=0), x * columns + rows)


def test_ops_of_that_name_elsewhere_have_no_rule(monkeypatch):
    monkeypatch.setattr(broadcast, "__module__", "mine")
    with pytest.raises(UnsupportedError, match="broadcast .* register_handler adds one"):
        lower_kernel(scaled, (torch.randn(13, 6), torch.randn(13, 1), torch.randn(6)))
