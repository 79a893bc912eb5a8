"""One module for many configurations: tile sizes as arguments, run with each and compared with PyTorch."""

from __future__ import annotations

from typing import Any

import helion
import helion.language as hl
import pytest
import torch

import irwidget
from irwidget.errors import UsageError
from irwidget.helion import configuration, emit_kernel, lower_kernel
from irwidget.helion.binding import open_sizes
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw
from tests.helion.cases import difference, randn


@helion.kernel()
def cut(x: torch.Tensor) -> list[torch.Tensor]:
    """What depends on how the work is cut: positions, sizes and numbers of tiles, their sums."""
    n = x.size(0)
    out, starts, ends, sizes, numbers, counts = (torch.empty([n]) for _ in range(6))
    total = torch.zeros([1])
    for tile in hl.tile(n):
        out[tile] = hl.cumsum(x[tile], dim=0) + x[tile].amax(0)
        zero = torch.zeros_like(x[tile])
        starts[tile], ends[tile] = zero + tile.begin, zero + tile.end
        sizes[tile], numbers[tile], counts[tile] = zero + tile.block_size, zero + tile.id, zero + tile.count
        hl.atomic_add(total, [0], x[tile].sum(0))
    return [out, starts, ends, sizes, numbers, counts, total]


def expected(x: torch.Tensor, size: int) -> list[torch.Tensor]:
    tiles = x.split(size)
    at = torch.arange(len(x)) // size
    end = (at * size + size).clamp(max=len(x)).float()
    running = torch.cat([tile.cumsum(0) + tile.amax() for tile in tiles])
    sizes, counts = torch.full([len(x)], float(size)), torch.full([len(x)], float(len(tiles)))
    return [running, (at * size).float(), end, sizes, at.float(), counts, x.sum().reshape(1)]


@pytest.mark.parametrize("aten", ["linalg-on-tensors", "tosa"])
def test_what_depends_on_the_tiles_follows_the_argument(aten: str):
    x = -torch.arange(1.0, 22.0)
    low = lower_kernel(cut, (x,), aten, config={"block_sizes": [16]}, open_tiles=True, dumps=False)
    assert low.verify() is None
    assert "%block_size_0: index" in low.mlir
    for size in (16, 4, 8, 1):
        found = low.run(x, config={"block_sizes": [size]}, opt_level=0, check_bounds=True)
        for one, want in zip(found, expected(x, size), strict=True):
            assert torch.equal(one, want), (size, one, want)


def sums(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    return torch.stack([part.sum() for part in data.tensor_split(offsets[1:-1].tolist())])


KERNELS: tuple[tuple[Any, tuple[torch.Tensor, ...], Any, list[list[int]], str], ...] = (
    (mm.matmul, (randn(50, 33), randn(33, 40)), torch.matmul, [[32, 64, 32], [16, 32, 16], [32, 16, 16]], "flat"),
    (mm.matmul, (randn(50, 33), randn(33, 40)), torch.matmul, [[32, 32, 32], [16, 16, 16]], "persistent_blocked"),
    (mm.jagged_tile_sum, (randn(20), torch.tensor([0, 3, 3, 11, 20])), sums, [[4, 8], [2, 2], [1, 4]], "flat"),
    (pw.softmax_two_pass, (randn(7, 19),), lambda x: x.softmax(1), [[4, 16], [2, 4], [1, 8]], "flat"),
)


@pytest.mark.parametrize(("kernel", "inputs", "eager", "sizes", "pid_type"), KERNELS)
def test_one_module_runs_as_each_configuration(kernel: Any, inputs: Any, eager: Any, sizes: Any, pid_type: str):
    largest, *_ = sizes
    config = {"block_sizes": largest, "pid_type": pid_type}
    low = emit_kernel(kernel, inputs, config, open_tiles=True).lower(dumps=False)
    assert low.verify() is None
    for own in sizes:
        binding = low.binding
        chosen = configuration.choose(binding.bound, binding.kernel, {"block_sizes": own})
        assert list(open_sizes(binding, chosen).values()) == own  # Helion raises sizes that a product cannot have
        found = low.run(config={"block_sizes": own}, opt_level=0, check_bounds=True)
        assert difference(found, eager(*inputs)) < 2e-5, own


def test_larger_tiles_and_modules_of_one_configuration_are_refused():
    low = lower_kernel(cut, (randn(9),), config={"block_sizes": [4]}, open_tiles=True, dumps=False)
    with pytest.raises(UsageError, match="up to 4 lanes for block_size_0, not 8: .* the largest"):
        low.run(config={"block_sizes": [8]})
    with pytest.raises(UsageError, match="open_tiles=True"):
        lower_kernel(cut, (randn(9),), dumps=False).run(config={"block_sizes": [8]})


def test_the_option_of_lower():
    low = irwidget.lower(cut, randn(9), to="helion_mlir", open_tiles=True, config="block_sizes=[4]")
    assert "%block_size_0: index" in low.text
    assert low.kernel.programs == ()
    x = randn(9)
    assert difference(low.run(x, config={"block_sizes": [2]}, opt_level=0), expected(x, 2)) < 1e-5
    with pytest.raises(UsageError, match=r"run\(\) of a lowering to helion_mlir: .* 'configs'"):
        low.run(x, configs=0)
    with pytest.raises(UsageError, match="triton_ir has the tile sizes of one configuration"):
        irwidget.lower(cut, randn(9), to="triton_ir", open_tiles=True)
    with pytest.raises(UsageError, match="has no option 'open_tiles'"):
        irwidget.lower(cut, randn(9), to="helion_triton", open_tiles=True)


def test_of_several_types_each_takes_its_options():
    to, config = ["helion_mlir", "helion_triton", "triton_ir", "llvm_mlir"], "block_sizes=[4]"
    opened = irwidget.lower(cut, randn(9), to=to, open_tiles=True, config=config)
    assert [name for name, low in opened.items() if "block_size_0: index" in low.text] == ["helion_mlir"]
    assert "i64" in opened["llvm_mlir"].text
    for name in ("helion_triton", "triton_ir"):
        assert opened[name].text == irwidget.lower(cut, randn(9), to=name, config=config).text
