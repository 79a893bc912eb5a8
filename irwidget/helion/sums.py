"""Long sums of floats in two steps, in a module on its way to LLVM: blocks are summed, then what they come to.

A reduction of linalg says no order, and the loops that it becomes add one element after another, each rounded beside
the sum of all before. In blocks of about the square root of n an element is part of at most 2 sqrt(n) rounded sums,
where it is part of up to n otherwise; PyTorch and Triton add in trees.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from irwidget.helion.bindings import arith, ir, linalg, memref, scf
from irwidget.helion.builder import DYNAMIC, Builder
from irwidget.toolchain.mlir_opt import in_place

SHORT = 32
"""The most elements that are summed one after another as they are."""


@dataclass(frozen=True)
class _Sum:
    """A sum of linalg on buffers, over dims of which one is walked in blocks."""

    operation: Any
    dim: int
    size: int
    block: int
    walked: list[list[int]]
    """Of each input, the dims that walk it."""


def in_blocks(module: Any) -> None:
    """Take every long sum of floats on buffers of known sizes apart, in place."""
    builder = Builder(module.context)
    for function in module.body.operations:
        if function.operation.name == "func.func" and function.regions[0].blocks:
            builder.start_function(function.regions[0].blocks[0])
            for found in list(_sums(function.operation)):
                _replace(builder, found)


def _sums(root: Any) -> Iterator[_Sum]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                if view.operation.name not in ("linalg.generic", "linalg.reduce"):
                    yield from _sums(view.operation)
                elif (found := _long_sum(view.operation)) is not None:
                    yield found


def _long_sum(operation: Any) -> _Sum | None:
    """What is to be known of a sum that is long; None for any other op."""
    types = [value.type for value in operation.operands]
    if not all(isinstance(kind, ir.MemRefType) and kind.has_static_shape for kind in types) or not _adds(operation):
        return None
    shapes = [list(kind.shape) for kind in types]
    walked, reduced = _walked(operation)
    if walked is None or not reduced:
        return None
    sizes = {dim: shape[place] for shape, dims in zip(shapes, walked, strict=False) for place, dim in enumerate(dims)}
    longest = max(reduced, key=lambda dim: sizes.get(dim, 0))
    count = math.prod(sizes.get(dim, 0) for dim in reduced)
    if count <= SHORT:
        return None
    others = count // sizes[longest]
    block = 1 << max(0, round(math.log2(math.sqrt(count) / others)))
    return _Sum(operation, longest, sizes[longest], block, walked) if block < sizes[longest] else None


def _adds(operation: Any) -> bool:
    """Whether it has one result, to which a float is added in each turn."""
    block = operation.regions[0].blocks[0]
    *_, last = block.operations
    values, so_far = list(last.operation.operands), block.arguments[len(block.arguments) - 1]
    made: Any = values[0].owner if len(values) == 1 else None
    if getattr(made, "name", "") != "arith.addf":
        return False
    return so_far in list(made.operands) and len(list(so_far.uses)) == 1


def _walked(operation: Any) -> tuple[list[list[int]] | None, list[int]]:
    """The dims that walk each input, None where that is not one for each of its own, and those that are summed over."""
    if operation.name == "linalg.reduce":
        rank = len(operation.operands[0].type.shape)
        inputs = [list(range(rank))] * (len(operation.operands) - 1)
        return inputs, [int(dim) for dim in operation.attributes["dimensions"]]
    kinds = [str(kind) for kind in operation.attributes["iterator_types"]]
    reduced = [dim for dim, kind in enumerate(kinds) if "reduction" in kind]
    *inputs, into = [attribute.value for attribute in operation.attributes["indexing_maps"]]
    if len(inputs) != len(operation.operands) - 1 or not all(one.is_projected_permutation for one in (*inputs, into)):
        return None, reduced
    return [[ir.AffineDimExpr(expression).position for expression in one.results] for one in inputs], reduced


def _replace(builder: Builder, found: _Sum) -> None:
    operation = found.operation
    into = operation.operands[len(operation.operands) - 1]
    whole = found.size - found.size % found.block
    with operation.location, ir.InsertionPoint(operation):
        zero = builder.constant(0, into.type.element_type)
        bounds = [builder.size(number) for number in (0, whole, found.block)]
        part = memref.alloc(builder.memref_type(list(into.type.shape), into.type.element_type), [], [])
        loop = scf.ForOp(*bounds)
        with ir.InsertionPoint(loop.body):
            _add_block(builder, found, loop.induction_variable, found.block, zero, part)
            scf.yield_([])
        if found.size > whole:
            _add_block(builder, found, bounds[1], found.size - whole, zero, part)
        memref.dealloc(part)
    operation.erase()


def _add_block(builder: Builder, found: _Sum, begin: ir.Value, size: int, zero: ir.Value, part: ir.Value) -> None:
    """Sum the turns from `begin` on into `part`, and add this to what the sum has come to."""
    builder.fill_into(zero, part, [])
    *inputs, into = list(found.operation.operands)
    cut = [
        _cut(builder, value, dims.index(found.dim), begin, size) if found.dim in dims else value
        for value, dims in zip(inputs, found.walked, strict=True)
    ]
    turns = found.operation.clone()
    for place, value in enumerate([*cut, part]):
        turns.operands[place] = value
    for view in list(turns.regions[0].blocks[0].operations):
        if (
            view.operation.name == "linalg.index"
            and ir.IntegerAttr(view.operation.attributes["dim"]).value == found.dim
        ):
            with ir.InsertionPoint.after(view.operation):
                moved = arith.addi(view.operation.result, begin)
            view.operation.result.replace_all_uses_except(moved, moved.owner.operation)
    identity = ir.AffineMap.get_identity(len(into.type.shape), builder.context)
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>", builder.context)
    kinds = ir.ArrayAttr.get([parallel] * len(into.type.shape), builder.context)
    joined = linalg.GenericOp([], [part], [into], [identity, identity], kinds)
    block = joined.regions[0].blocks.append(zero.type, zero.type)
    with ir.InsertionPoint(block):
        linalg.yield_([arith.addf(*block.arguments)])


def _cut(builder: Builder, buffer: ir.Value, dim: int, begin: ir.Value, size: int) -> ir.Value:
    """The elements of a buffer from `begin` on along a dim."""
    shape = list(buffer.type.shape)
    strides, _ = buffer.type.get_strides_and_offset()
    sizes = [size if place == dim else extent for place, extent in enumerate(shape)]
    kind = builder.memref_type(sizes, buffer.type.element_type, strides, DYNAMIC)
    offsets = [begin if place == dim else 0 for place in range(len(shape))]
    return builder.subview(buffer, offsets, sizes, [1] * len(shape), kind)


tool = in_place("sum-in-blocks", in_blocks)
"""The step of a pipeline that does this."""
