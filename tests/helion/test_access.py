"""Every access on every shape: dims of one, none and prime sizes, tiles of one lane to more than the dim has.

The reference is plain PyTorch: where a dim of one meets a mask or an index, Helion's eager mode and the kernels that
Helion generates differ. Every run asserts that no access leaves its buffer.
"""

from __future__ import annotations

import itertools
import mmap
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.errors import UsageError
from irwidget.helion import emit_kernel, lower_kernel, outside
from irwidget.helion.check import checked
from irwidget.toolchain import mlir
from tests.helion import kernels_access as kernels
from tests.helion import kernels_idioms as idioms
from tests.helion.cases import difference, eager_slices

ATEN = ("linalg-on-tensors", "tosa", "stablehlo", "raw")
SIZES = (0, 1, 1, 2, 3, 5, 7, 8, 13)
BLOCKS = (1, 2, 4, 8, 16)
Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Shape:
    """The sizes that a program is made for; `one_row` and `one_column` shrink the operands that may be broadcast."""

    m: int
    n: int
    k: int
    one_row: bool
    one_column: bool

    @property
    def narrow(self) -> tuple[int, int]:
        return 1 if self.one_row else self.m, 1 if self.one_column else self.n


@dataclass(frozen=True)
class Program:
    kernel: Any
    blocks: int
    inputs: Callable[[Shape], Tensors]
    expected: Callable[..., list[torch.Tensor]]


def r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def eager_whole(x: torch.Tensor) -> list[torch.Tensor]:
    total = x.sum(1)
    return [total, x.amax(1, keepdim=True), x - total[:, None]]


def eager_gathers(x: torch.Tensor, index: torch.Tensor, row: torch.Tensor) -> list[torch.Tensor]:
    m, n = len(index), x.size(1)
    back = torch.zeros(len(x), n)
    back[index] = x[index] + row
    inside = (torch.arange(m) % 2 == 0)[:, None] & (torch.arange(n) < n - 1)[None, :]
    return [x[index], back, torch.where(inside, row + 1, 0.0)]


def eager_atomics(x: torch.Tensor, narrow: torch.Tensor, index: torch.Tensor) -> list[torch.Tensor]:
    hits = torch.zeros(len(x)).index_add_(0, index, x.sum(1))
    added = (
        narrow + x.sum([d for d in (0, 1) if narrow.size(d) != x.size(d)] or [], keepdim=True)
        if narrow.shape != x.shape
        else narrow + x
    )
    top = torch.cat([torch.full((1, x.size(1)), -9.0), x]).amax(0, keepdim=True)
    return [x.sum(0, keepdim=True), x.sum().reshape(1), added, hits, top]


def lengths(shape: Shape) -> Tensors:
    each = torch.randint(0, 8, (shape.m,))
    bounds = torch.cat([torch.zeros(1, dtype=torch.int64), each.cumsum(0)])
    return r(max(1, int(bounds[-1]))), bounds


def eager_jagged(x: torch.Tensor, bounds: torch.Tensor) -> list[torch.Tensor]:
    return [torch.tensor([x[a:b].sum() for a, b in itertools.pairwise(bounds)])]


PROGRAMS = {
    "tiles": Program(
        kernels.tiles, 2,
        lambda s: (r(s.m, s.n), r(s.narrow[0], s.n), r(s.m, s.narrow[1]), r(*s.narrow)),
        lambda x, row, column, one: [x + row * column - one, (x + row * column).T],
    ),
    "grids": Program(
        kernels.grids, 1,
        lambda s: (r(s.m, s.n), r(s.narrow[0], s.n)),
        lambda x, row: [x * row, x.flip(0) + row[:1]],
    ),
    "whole": Program(kernels.whole, 1, lambda s: (r(s.m, max(1, s.n)),), eager_whole),
    "scaled": Program(
        kernels.scaled, 2,
        lambda s: (r(s.m, s.n), r(s.m), r(s.n)),
        lambda x, scale, shift: [x * scale[:, None] + shift, x + shift],
    ),
    "gathers": Program(
        kernels.gathers, 2,
        lambda s: (r(max(1, s.m), s.n), torch.randperm(max(1, s.m))[: s.m], r(*s.narrow)),
        eager_gathers,
    ),
    "atomics": Program(
        kernels.atomics, 2,
        lambda s: (r(s.m, s.n), r(*s.narrow), torch.randint(0, max(1, s.m), (s.m,))),
        eager_atomics,
    ),
    "products": Program(
        kernels.products, 3,
        lambda s: (r(s.m, s.k), r(s.k, s.n), r(s.narrow[0], s.n)),
        lambda x, y, bias: [x @ y + bias],
    ),
    "jagged": Program(kernels.jagged, 2, lengths, eager_jagged),
}  # fmt: skip


def sample(seed: int) -> tuple[str, Shape, list[int]]:
    """A program, a shape and block sizes."""
    drawn = random.Random(seed)
    name = list(PROGRAMS)[seed % len(PROGRAMS)]
    shape = Shape(*(drawn.choice(SIZES) for _ in range(3)), drawn.random() < 0.5, drawn.random() < 0.5)
    if 0 in (shape.m, shape.n):
        shape = Shape(shape.m, shape.n, shape.k, False, False)
    return name, shape, [drawn.choice(BLOCKS) for _ in range(PROGRAMS[name].blocks)]


def agree(seed: int, atens: tuple[str, ...]) -> None:
    """Lower a sample to output types, run each with its accesses checked, and compare with PyTorch."""
    name, shape, blocks = sample(seed)
    torch.manual_seed(seed)
    program = PROGRAMS[name]
    inputs = program.inputs(shape)
    expected = program.expected(*inputs)
    kernel = emit_kernel(program.kernel, inputs, {"block_sizes": blocks})
    for aten in atens:
        found = kernel.lower(aten, dumps=False).run(*inputs, opt_level=0, check_bounds=True)
        assert difference(found, expected) < 1e-4, (name, shape, blocks, aten)


@pytest.mark.parametrize("seed", range(10))
def test_accesses_of_sampled_shapes_equal_pytorch(seed: int):
    agree(seed, (ATEN[seed % len(ATEN)],))


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(1000, 1400))
def test_accesses_of_many_shapes_equal_pytorch_in_all_output_types(seed: int):
    agree(seed, ATEN)


@helion.kernel(config=helion.Config(block_sizes=[4]))
def swapped(x: torch.Tensor, expected: torch.Tensor, by: torch.Tensor) -> torch.Tensor:
    before = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        before[tile] = hl.atomic_cas(x, [tile], expected[tile], by[tile])
    return before


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
def test_what_is_as_expected_is_swapped(dtype: torch.dtype):
    x, expected, by = (torch.tensor(row).to(dtype) for row in ([1, 5, 3, 7, 2], [1, 6, 3, 0, 2], [9, 8, 7, 6, 5]))
    found = x.clone()
    before = lower_kernel(swapped, (x, expected, by), dumps=False).run(found, expected, by, opt_level=0)
    assert torch.equal(before, x)
    assert torch.equal(found, torch.where(x == expected, by, x))


@helion.kernel(config=helion.Config(block_sizes=[4]))
def read_before(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    after = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        value = x[tile]
        y[tile] = value * 2
        after[tile] = value + 1
    return after


def test_what_is_read_is_read_before_memory_that_it_shares_is_written():
    """Full tiles: nothing is padded, which would copy what is read."""
    x, memory = torch.arange(12.0), torch.arange(13.0)
    for given, same in (((x, x), x), ((memory[1:], memory[:-1]), memory[:-1])):
        before = given[0].clone()
        after = lower_kernel(read_before, given, dumps=False).run(*given, opt_level=0)
        assert torch.equal(after, before + 1)
        assert torch.equal(same, before * 2)
    apart = lower_kernel(read_before, (x, memory[1:]), dumps=False)
    with pytest.raises(UsageError, match="x and y share memory, to which the kernel writes"):
        apart.run(x, x)
    array = memory.numpy()
    with pytest.raises(UsageError, match="x and y share memory"):
        apart.run(memory[1:], torch.from_numpy(array[:12]))
    both = torch.arange(24.0)
    with pytest.raises(UsageError, match="x and y share memory"):
        apart.run(both[:12], both[11:23])
    apart.run(both[:12], both[12:])
    with pytest.raises(UsageError, match=r"x has strides \(1,\); the kernel was lowered for \(2\)"):
        lower_kernel(read_before, (x[:4:2], x[:2].clone()), dumps=False).run(x[:2], x[2:4])


@pytest.mark.filterwarnings("ignore:The given buffer is not writable")
def test_memory_that_is_only_read_may_be_read_only():
    """Writing back what was there would end the process."""
    pages = mmap.mmap(-1, 4096, access=mmap.ACCESS_READ)
    x, y = torch.frombuffer(pages, dtype=torch.float32, count=12), torch.ones(12)
    assert torch.equal(lower_kernel(read_before, (x, y), dumps=False).run(x, y, opt_level=0), torch.ones(12))
    assert torch.equal(y, torch.zeros(12))


@helion.kernel(config=helion.Config(block_sizes=[4, 64]))
def unsigned(x: torch.Tensor, places: torch.Tensor, ends: torch.Tensor, top: torch.Tensor) -> list[torch.Tensor]:
    taken, first, sums = (torch.empty([places.size(0)]) for _ in range(3))
    for tile in hl.tile(places.size(0)):
        taken[tile] = x[places[tile]]
        hl.atomic_max(top, [tile], places[tile])
    for row in hl.grid(ends.size(0)):
        total = hl.zeros([])
        for inner in hl.tile(ends[row]):
            total += x[inner].sum()
        sums[row] = total
        first[row] = x[ends[row]]
    return [taken, first, sums]


def test_integers_without_sign_are_none_below_zero():
    x, top = torch.arange(65536.0), torch.tensor([2, 2, 9]).to(torch.uint16)
    places, ends = torch.tensor([1, 40000, 3]), torch.tensor([5, 200, 255], dtype=torch.uint8)
    given = (x, places.to(torch.uint16), ends, top)
    taken, first, sums = lower_kernel(unsigned, given, dumps=False).run(opt_level=0)
    assert torch.equal(taken, x[places])
    assert torch.equal(first, x[ends.long()])
    assert sums.tolist() == [sum(range(end)) for end in ends.tolist()]
    assert top.tolist() == [2, 40000, 9]


@helion.kernel(config=helion.Config(block_sizes=[4]))
def placed(x: torch.Tensor, flags: torch.Tensor, places: torch.Tensor, hits: torch.Tensor) -> list[torch.Tensor]:
    taken, masked = torch.empty([places.size(0)]), torch.empty([places.size(0)])
    truths = torch.empty([places.size(0)], dtype=torch.bool)
    for tile in hl.tile(places.size(0)):
        at = places[tile]
        taken[tile] = x[at] + 1
        masked[tile] = hl.load(x, [at], extra_mask=at >= 0) + hl.load(x, [tile], extra_mask=tile.index > 4)
        truths[tile] = flags[at - 1]
        hl.atomic_add(hits, [at], 1.0)
        x[at] = tile.index.to(torch.float32) + 1
    return [taken, masked, truths]


def arguments(*places: int) -> Tensors:
    return torch.arange(5.0), torch.arange(5) > 2, torch.tensor(places), torch.zeros(5)


@pytest.mark.filterwarnings("ignore:.* in a run, node")
def test_of_lanes_that_meet_the_first_writes_and_none_outside_which_are_counted():
    x, _, _, hits = given = arguments(-1, 2, 2, 5, 0, 0)
    lowering = lower_kernel(placed, given, dumps=False)
    with pytest.warns(RuntimeWarning, match="node root_graph_0.store_3 writes outside of x, which is left out"):
        taken, masked, truths = lowering.run(opt_level=0, check_bounds=True)
    assert (x.tolist(), hits.tolist()) == ([5, 1, 2, 3, 4], [2, 0, 2, 0, 0])
    assert taken.tolist() == [1, 3, 3, 5, 1, 1]
    assert masked.tolist() == [0, 2, 2, 4, 0, 4]
    assert truths.tolist() == [False, False, False, True, False, False]
    said = [remark.message.replace(" in a run, node root_graph_0.", " ") for remark in lowering.diagnostics]
    nearest = "and takes the nearest element inside"
    assert said == [
        f"2 times load_1 reads outside of x, {nearest}",
        f"once load_2 reads outside of x, {nearest}",
        f"once load_3 reads outside of x, {nearest}",
        f"3 times load_4 reads outside of flags, {nearest}",
        "2 times atomic_add writes outside of hits, which is left out",
        "2 times store_3 writes outside of x, which is left out",
    ]
    lowering.run(*arguments(4, 3, 2, 1, 1, 1), opt_level=0)
    assert [remark.message.partition(" reads")[0] for remark in lowering.diagnostics] == [
        "once in a run, node root_graph_0.load_3"
    ]


def test_of_the_functions_of_a_module_only_the_kernel_counts():
    """The other is as the one that frees buffers."""
    text = "func.func @kernel(%x: memref<4xf32>) { return } func.func private @other(%x: memref<4xf32>) { return }"
    module = mlir.parse(text, mlir.new_context())
    outside.count(module, "kernel", ["a", "b"])
    kernel, other = (str(function.function_type.value) for function in module.body.operations)
    assert kernel == "(memref<4xf32>, memref<2xi64>) -> ()"
    assert other == "(memref<4xf32>) -> ()"


def test_a_difference_comes_with_the_positions_that_lie_outside():
    """Eager mode counts those below zero from the end."""
    lowering = lower_kernel(placed, arguments(-1, 2, 3), dumps=False)
    found = checked(lowering.trace, lowering, each=False)
    assert found.check is not None
    assert found.check.state == "differs"
    assert [remark.severity for remark in found.diagnostics] == ["warning"] * 4 + ["error"]


@helion.kernel(config=helion.Config(block_sizes=[4]))
def beyond(x: torch.Tensor, wide: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)])
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile, 7] + x[tile, 2:99].sum(-1) + (wide[tile] > 0).to(torch.float32)
    return out


def test_what_a_module_does_in_another_way_is_a_remark():
    x, wide = torch.arange(20.0).reshape(4, 5), torch.ones(4, dtype=torch.uint64)
    lowering = lower_kernel(beyond, (x, wide), dumps=False)
    assert torch.equal(lowering.run(opt_level=0, check_bounds=True), x[:, 4] + x[:, 2:].sum(-1) + 1)
    said = [remark.message for remark in lowering.diagnostics]
    assert said[0] == "7 lies outside of dim 1 of x, of 5: taken for 4"
    assert said[1].startswith("uint64 is computed as int64")


def test_lanes_past_the_end_of_a_loop_are_zeros_in_sums():
    """Those of a dim of one element, and of what a mask of the kernel's own takes element by element."""

    @helion.kernel(static_shapes=True, config=helion.Config(block_sizes=[4, 4]))
    def sums(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        out = torch.empty([2, x.size(0)])
        for rows in hl.tile(x.size(0)):
            once, masked = hl.zeros([rows]), hl.zeros([rows])
            for columns in hl.tile(x.size(1)):
                once = once + w[rows, columns].sum(1)
                masked = masked + hl.load(x, [rows, columns], extra_mask=(columns.index >= 2)[None, :]).sum(1)
            out[0, rows] = once
            out[1, rows] = masked
        return out

    x, w = torch.randn(5, 6), torch.randn(5, 1)
    made = lower_kernel(sums, (x, w), dumps=False).run(x, w, opt_level=0)
    torch.testing.assert_close(made, torch.stack([6 * w[:, 0], x[:, 2:].sum(1)]))


def test_a_range_that_counts_down():
    @helion.kernel(static_shapes=False, config=helion.Config(block_sizes=[4]))
    def digits(x: torch.Tensor, n: int) -> torch.Tensor:
        out = torch.empty([3, x.size(0)])
        for rows in hl.tile(x.size(0)):
            each, second, open_ = hl.zeros([rows]), hl.zeros([rows]), hl.zeros([rows])
            for i in range(5, -1, -1):
                each = each * 2 + x[rows, i]
            for i in range(5, 0, -2):
                second = second * 2 + x[rows, i]
            for i in range(n, 0, -3):
                open_ = open_ * 2 + x[rows, i]
            out[0, rows] = each
            out[1, rows] = second
            out[2, rows] = open_
        return out

    x = torch.randn(5, 6)
    made = lower_kernel(digits, (x, 5), dumps=False).run(x, 5, opt_level=0)
    wanted = [x @ torch.tensor([1.0, 2, 4, 8, 16, 32]), x[:, 1] + 2 * x[:, 3] + 4 * x[:, 5], x[:, 2] + 2 * x[:, 5]]
    torch.testing.assert_close(made, torch.stack(wanted))


def test_an_expanded_argument_has_one_element_for_all_of_a_dim():
    x = torch.randn(7, 5)
    for scale, shift in ((torch.randn(1).expand(7), torch.randn(5)), (torch.randn(7), torch.randn(1).expand(5))):
        low = lower_kernel(kernels.scaled, (x, scale, shift), config={"block_sizes": [4, 2]}, dumps=False)
        assert low.verify() is None
        got = low.run(opt_level=0, check_bounds=True)
        assert difference(got, [x * scale[:, None] + shift, x + shift]) < 1e-6


def test_a_slice_has_the_last_position_that_its_steps_reach():
    x = torch.randn(20, 32, generator=torch.Generator().manual_seed(1))
    low = lower_kernel(idioms.strided_slices, (x,), dumps=False)
    torch.testing.assert_close(low.run(opt_level=0), eager_slices(x))
