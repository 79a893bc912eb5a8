"""Tensors that a kernel reads and writes by their addresses."""

from __future__ import annotations

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UnsupportedError, UsageError
from irwidget.helion import HelionLowering, lower_kernel


@helion.kernel(config=helion.Config(block_sizes=[4, 2, 8]))
def moved(addresses: torch.Tensor, like: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """What the tensors at some addresses have, and their doubles at other addresses; partial tiles in every dim."""
    count, (rows, columns) = addresses.size(0), like.size()
    out = torch.empty([count, rows, columns], dtype=like.dtype)
    for row, column, some in hl.tile([rows, columns, count]):
        values = hl.stacktensor_like(like, addresses[some])[row, column]  # pyright: ignore[reportArgumentType]
        out[some, row, column] = values
        written = hl.stacktensor_like(like, other[some])
        written[row, column] = values + values  # pyright: ignore[reportArgumentType]
    return out


def table(tensors: list[torch.Tensor]) -> torch.Tensor:
    return torch.tensor([one.data_ptr() for one in tensors], dtype=torch.uint64)


@pytest.fixture(scope="module")
def lowered() -> HelionLowering:
    return lower_kernel(moved, _arguments(*_tensors()), dumps=False)


def _tensors() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    whole = torch.randn(40, 7)  # some lie side by side in one storage, of which the kernel gets another part
    read = [torch.randn(5, 7), torch.randn(5, 7), whole[5:10], whole[10:15], torch.randn(5, 7)]
    return [*read, whole[:5]], [torch.zeros(5, 7), *(torch.zeros(20, 7)[5 * n : 5 * n + 5] for n in range(4))]


def _arguments(read: list[torch.Tensor], written: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return table(read[:5]), read[5], table(written)


def test_every_tensor_is_read_and_written(lowered: HelionLowering):
    read, written = _tensors()
    before, tables = [one.clone() for one in read], _arguments(read, written)
    kept = [one.clone() for one in tables]
    out = lowered.run(*tables, opt_level=0, check_bounds=True)
    assert torch.equal(out, torch.stack(read[:5]))
    assert torch.equal(torch.stack(written), 2 * torch.stack(read[:5]))
    assert all(map(torch.equal, read, before))
    assert all(map(torch.equal, tables, kept))


def test_the_module_has_memory_as_a_buffer(lowered: HelionLowering):
    assert "%memory_float32: memref<?xf32>" in lowered.mlir
    assert lowered.verify() is None


def test_what_is_no_address_is_refused_and_nothing_dies(lowered: HelionLowering):
    read, written = _tensors()
    addresses, like, other = _arguments(read, written)
    for wrong in (0, 8, 1 << 62):
        addresses.view(torch.int64)[3] = wrong
        with pytest.raises(UsageError, match=f"{wrong:#x} is the address of no 140 bytes"):
            lowered.run(addresses, like, other, opt_level=0)
    assert not torch.stack(written).any()


@helion.kernel(config=helion.Config(block_sizes=[2, 8]))
def renewed(addresses: torch.Tensor, like: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Tiles are whole, so that nothing but the order of accesses keeps what is read before the write."""
    out = torch.empty_like(x)
    for some, column in hl.tile([addresses.size(0), like.size(0)]):
        before = x[some, column]
        stack = hl.stacktensor_like(like, addresses[some])
        stack[column] = 2 * before + 1
        out[some, column] = x[some, column] - before
    return out


def test_an_argument_may_be_written_by_address():
    x = torch.arange(32.0).reshape(4, 8)
    before = x.clone()
    arguments = table(list(x)), torch.empty(8), x
    out = lower_kernel(renewed, arguments, dumps=False).run(*arguments, opt_level=0, check_bounds=True)
    assert torch.equal(x, 2 * before + 1)
    assert torch.equal(out, before + 1)


def test_stacks_of_several_sizes_are_refused():
    @helion.kernel()
    def both(addresses: torch.Tensor, short: torch.Tensor, long: torch.Tensor) -> torch.Tensor:
        out = torch.empty([2, addresses.size(0)], dtype=short.dtype)
        for some in hl.tile(addresses.size(0)):
            out[0, some] = hl.stacktensor_like(short, addresses[some])[1]
            out[1, some] = hl.stacktensor_like(long, addresses[some])[1]
        return out

    tensors = [torch.randn(8), torch.randn(8)]
    with pytest.raises(UnsupportedError, match=r"_stacks.py:\d+: load.*stacks of tensors of several sizes"):
        lower_kernel(both, (table(tensors), torch.randn(4), torch.randn(8)))
