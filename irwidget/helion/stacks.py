"""Stacks of tensors (`hl.stacktensor_like`): loads and stores through addresses, in memory as one buffer.

The buffer begins at address 0: the element at an address is at the address divided by its bytes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irwidget.errors import UnsupportedError
from irwidget.helion.bindings import arith, bufferization, ir, linalg, memref, tensor
from irwidget.helion.builder import Size
from irwidget.helion.indexing import Subscript, TensorIndex, classify
from irwidget.helion.scatter import each_lane
from irwidget.helion.values import HostTensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from irwidget.helion.emitter import Emitter


def load(emitter: Emitter, node: Any) -> ir.Value:
    """A stack's part: the same part of every tensor, behind the dims of the addresses. Masked lanes are 0."""
    builder = emitter.builder
    stack = _Stack(emitter, node)
    element = builder.element(stack.like.dtype)
    buffer = memref.alloc(builder.memref_type(stack.subscript.shape, element), [], [])
    linalg.fill(builder.constant(0, element), outs=[buffer])

    def read(_: ir.Value, where: list[ir.Value], lane: Callable[[int], ir.Value]) -> None:
        lanes = [lane(dim) for dim in range(len(stack.subscript.shape))]
        memref.store(memref.load(stack.memory.value, [stack.position(where, lane)]), buffer, lanes)

    zero = builder.fill(builder.constant(0, element), stack.subscript.shape)
    each_lane(emitter, stack.like, stack.subscript, zero, stack.mask(2), read)
    kind = builder.tensor_type(stack.subscript.shape, element)
    value = bufferization.to_tensor(kind, buffer, restrict=True, writable=True)
    wanted = emitter.shape_of(node)
    return value if stack.subscript.shape == wanted else builder.reshape(value, wanted)


def store(emitter: Emitter, node: Any, cast: Callable[[Emitter, HostTensor, Any, Subscript], ir.Value]) -> None:
    """Write each slice of a value to the tensor at its address; `cast` gives the value a dtype and shape."""
    stack = _Stack(emitter, node)

    def write(element: ir.Value, where: list[ir.Value], lane: Callable[[int], ir.Value]) -> None:
        memref.store(element, stack.memory.value, [stack.position(where, lane)])

    value = cast(emitter, stack.like, node.args[2], stack.subscript)
    each_lane(emitter, stack.like, stack.subscript, value, stack.mask(3), write)


class _Stack:
    """An access to a stack: the tensor that all are like, their addresses, and what is accessed of each."""

    def __init__(self, emitter: Emitter, node: Any) -> None:
        self.emitter, self.node = emitter, node
        like, addresses = node.args[0]
        found = emitter.value(like)
        if not isinstance(found, HostTensor):
            raise UnsupportedError("a stack is like a tensor of the host function")
        self.like = found
        self.strides = self._strides()
        self.memory = emitter.memory(self.like)
        self.addresses = emitter.tensor(addresses)
        own = list(self.addresses.type.shape)
        each = classify(emitter, self.like, node.args[1])
        if not each.regular:
            emitter.reach.point(f"reaches outside of the tensors that are like {self.like.name}, which is left out")
        self.rank = len(own)
        self.subscript = Subscript(
            [self._behind(index) if isinstance(index, TensorIndex) else index for index in each.indices],
            own + each.shape,
            [*addresses.meta["val"].shape, *each.sizes],
            {place: dim + self.rank for place, dim in each.dims.items()},
        )

    def _behind(self, index: TensorIndex) -> TensorIndex:
        """An index tensor of each tensor, behind the dims of the addresses."""
        return replace(index, dims=[None if dim is None else dim + self.rank for dim in index.dims])

    def _strides(self) -> list[int]:
        like = self.like
        strides = [math.prod(like.shape[d + 1 :]) for d in range(len(like.shape))]
        known = strides if like.strides is None else list(like.strides)
        if min([*like.shape, *known], default=0) < 0:
            raise UnsupportedError("the tensors of a stack have sizes that are known only at run time")
        return known

    def mask(self, place: int) -> ir.Value | None:
        """The extra mask of the access, its argument number `place`."""
        given = self.node.args[place] if len(self.node.args) > place else None
        return None if given is None else self.emitter.tensor(given)

    def position(self, where: list[ir.Value], lane: Callable[[int], ir.Value]) -> ir.Value:
        """Where in memory, in elements, a place of the tensor of this lane is."""
        builder = self.emitter.builder
        address = builder.to_index(tensor.extract(self.addresses, [lane(dim) for dim in range(self.rank)]))
        place: Size = arith.divui(address, builder.size(self.like.dtype.itemsize))
        for one, stride in zip(where, self.strides, strict=True):
            place = builder.add(place, builder.multiply(one, stride))
        return builder.size(place)
