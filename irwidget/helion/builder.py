"""What takes more than one builder of `torch_mlir.dialects`, or a choice between them.

Ops go where MLIR's own context managers say: `with location, InsertionPoint(block):`. Numbers may be Python ints
wherever a size, offset or bound is asked for; they become attributes where MLIR has a place for them and constants
elsewhere.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion.bindings import affine, arith, ir, linalg, memref, tensor
from irwidget.helion.dtypes import element_type_name, is_float

DYNAMIC = -9223372036854775808
"""How MLIR writes a size or offset that is an operand (ShapedType::kDynamic)."""

Size = Any
"""An int, or an SSA value of type index."""

_FLOAT_PREDICATES = {
    "eq": arith.CmpFPredicate.OEQ,
    "ne": arith.CmpFPredicate.UNE,
    "lt": arith.CmpFPredicate.OLT,
    "le": arith.CmpFPredicate.OLE,
    "gt": arith.CmpFPredicate.OGT,
    "ge": arith.CmpFPredicate.OGE,
}
"""Python's comparisons: with NaN all are false but `!=`."""

_INTEGER_PREDICATES = {
    "eq": arith.CmpIPredicate.eq,
    "ne": arith.CmpIPredicate.ne,
    "lt": arith.CmpIPredicate.slt,
    "le": arith.CmpIPredicate.sle,
    "gt": arith.CmpIPredicate.sgt,
    "ge": arith.CmpIPredicate.sge,
}


def static(sizes: Sequence[Size]) -> list[int]:
    """Sizes as an attribute has them: DYNAMIC for those that are operands."""
    return [size if isinstance(size, int) else DYNAMIC for size in sizes]


def at_run_time(sizes: Sequence[Size]) -> list[ir.Value]:
    """The sizes that are operands."""
    return [size for size in sizes if not isinstance(size, int)]


def broadcast_dims(own: Sequence[int], wanted: Sequence[int]) -> list[int | None]:
    """For each dim of a shape, the dim of another that walks it when it is broadcast; None for one of size 1."""
    shift = len(wanted) - len(own)
    return [None if size == 1 and wanted[shift + d] != 1 else shift + d for d, size in enumerate(own)]


class Builder:
    """Types, constants and idioms of several ops, in one context and one function at a time."""

    def __init__(self, context: ir.Context) -> None:
        self.context = context
        self.index = ir.IndexType.get(context)
        self.i1 = ir.IntegerType.get_signless(1, context)
        self.i64 = ir.IntegerType.get_signless(64, context)
        self.f64 = ir.F64Type.get(context)
        self._unknown = ir.Location.unknown(context)
        self._parallel, self._reduction = (
            ir.Attribute.parse(f"#linalg.iterator_type<{kind}>", context) for kind in ("parallel", "reduction")
        )
        self._types: dict[torch.dtype, ir.Type] = {}
        self._constants: dict[tuple[str, ir.Type], ir.Value] = {}
        self._prologue: ir.Block | None = None
        self._last_constant: ir.Operation | None = None

    def start_function(self, block: ir.Block) -> None:
        """Constants are kept, once each, at the start of `block`."""
        self._prologue, self._last_constant = block, None
        self._constants.clear()

    # --- types ------------------------------------------------------------------

    def element(self, dtype: torch.dtype) -> ir.Type:
        """The element type of a dtype. Raises KeyError where MLIR has none."""
        if dtype not in self._types:
            self._types[dtype] = ir.Type.parse(element_type_name(dtype), self.context)
        return self._types[dtype]

    def tensor_type(self, shape: Sequence[int], element: ir.Type) -> ir.Type:
        """`tensor<shape x element>`."""
        return ir.RankedTensorType.get(list(shape), element, loc=self._unknown)

    def memref_type(
        self,
        shape: Sequence[int],
        element: ir.Type,
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> ir.Type:
        """`memref<shape x element>`, with a strided layout where `strides` (in elements) are given."""
        layout = None
        if strides is not None:
            layout = ir.StridedLayoutAttr.get(offset, list(strides), self.context)
        return ir.MemRefType.get(list(shape), element, layout=layout, loc=self._unknown)

    def attribute(self, value: Any) -> ir.Attribute:
        """Plain data as an attribute: numbers, texts, None (as unit), lists and mappings of them."""
        match value:
            case None:
                return ir.UnitAttr.get(self.context)
            case bool():
                return ir.BoolAttr.get(value, self.context)
            case int():
                return ir.IntegerAttr.get(self.i64, value)
            case float():
                return ir.FloatAttr.get(self.f64, value)
            case list() | tuple():
                return ir.ArrayAttr.get([self.attribute(item) for item in value], self.context)
            case dict():
                return ir.DictAttr.get({str(k): self.attribute(v) for k, v in value.items()}, self.context)
            case _:
                return ir.StringAttr.get(str(value), self.context)

    # --- scalars ------------------------------------------------------------------

    def constant(self, value: float | bool, element: ir.Type) -> ir.Value:
        """A scalar constant; one op per function for each value and type."""
        key = (repr(float(value) if is_float(element) else int(value)), element)
        if key not in self._constants:
            made = arith.ConstantOp(_attribute(value, element), None, ip=self._after_constants())
            self._last_constant = made.operation
            self._constants[key] = made.result
        return self._constants[key]

    def _after_constants(self) -> ir.InsertionPoint:
        if self._last_constant is not None:
            return ir.InsertionPoint.after(self._last_constant)
        assert self._prologue is not None, "constants need start_function"
        return ir.InsertionPoint.at_block_begin(self._prologue)

    def size(self, value: Size) -> ir.Value:
        """An index value for an int; SSA values pass through, widened to index."""
        if isinstance(value, (bool, int)):
            return self.constant(int(value), self.index)
        return self.to_index(value)

    def to_index(self, value: ir.Value) -> ir.Value:
        """An integer value as `index`."""
        if isinstance(value.type, ir.IndexType):
            return value
        return (arith.index_castui if value.type == self.i1 else arith.index_cast)(self.index, value)

    def compare(self, relation: str, left: ir.Value, right: ir.Value) -> ir.Value:
        """`arith.cmpi` (signed) or `arith.cmpf` by the operands' type; `relation` is eq, ne, lt, le, gt or ge."""
        if is_float(left.type):
            return arith.cmpf(_FLOAT_PREDICATES[relation], left, right)
        return arith.cmpi(_INTEGER_PREDICATES[relation], left, right)

    def minimum(self, constants: Sequence[int], terms: Sequence[tuple[ir.Value, int]], bound: Size) -> ir.Value:
        """`min(constant, bound + sum(factor * value))` as one `affine.min`."""
        dims = [value for value, _ in terms]
        total: Any = ir.AffineExpr.get_constant(0, self.context)
        for position, (_, factor) in enumerate(terms):
            total = total + ir.AffineExpr.get_dim(position, self.context) * factor
        if isinstance(bound, int):
            total = total + bound
        else:
            total = total + ir.AffineExpr.get_dim(len(dims), self.context)
            dims = [*dims, self.to_index(bound)]
        choices = [*(ir.AffineExpr.get_constant(c, self.context) for c in constants), total]
        return affine.min(ir.AffineMap.get(len(dims), 0, choices, self.context), dims)

    def add(self, left: Size, right: Size) -> Size:
        """Sum of two sizes, folded where both are numbers."""
        operands = (right, left) if isinstance(left, int) else (left, right)
        return self._folded(operator.add, arith.addi, 0, *operands)

    def subtract(self, left: Size, right: Size) -> Size:
        """Difference of two sizes, folded where both are numbers."""
        return self._folded(operator.sub, arith.subi, 0, left, right)

    def multiply(self, left: Size, right: Size) -> Size:
        """Product of two sizes, folded where both are numbers."""
        operands = (right, left) if isinstance(left, int) else (left, right)
        return self._folded(operator.mul, arith.muli, 1, *operands)

    def _folded(
        self,
        compute: Callable[[int, int], int],
        build: Callable[[ir.Value, ir.Value], ir.Value],
        neutral: int,
        left: Size,
        right: Size,
    ) -> Size:
        if isinstance(right, int):
            if isinstance(left, int):
                return compute(left, right)
            if right == neutral:
                return left
        return build(self.size(left), self.size(right))

    def conjunction(self, *conditions: ir.Value | None) -> ir.Value | None:
        """All of the conditions, of which None always holds; None where none is left."""
        result: ir.Value | None = None
        for condition in conditions:
            if condition is not None:
                result = condition if result is None else arith.andi(result, condition)
        return result

    def convert(self, value: ir.Value, element: ir.Type, *, unsigned: bool = False) -> ir.Value:
        """A scalar as another element type, by C's rules; numbers to bool by `!= 0`."""
        source = value.type
        if source == element:
            return value
        if isinstance(source, ir.IndexType):
            return self.convert(arith.index_cast(self.i64, value), element, unsigned=unsigned)
        if isinstance(element, ir.IndexType):
            return self.to_index(value)
        if element == self.i1:
            return self.compare("ne", value, self.constant(0, source))
        unsigned = unsigned or source == self.i1
        match is_float(source), is_float(element):
            case True, True:
                return self._convert_float(value, element)
            case True, False:
                build = arith.fptoui if unsigned else arith.fptosi
            case False, True:
                build = arith.uitofp if unsigned else arith.sitofp
            case _:
                extend = arith.extui if unsigned else arith.extsi
                build = arith.trunci if source.width > element.width else extend
        return build(element, value)

    def _convert_float(self, value: ir.Value, element: ir.Type) -> ir.Value:
        source, target = value.type.width, element.width
        if source == target:  # f16 <-> bf16: through f32
            return self.convert(arith.extf(ir.F32Type.get(self.context), value), element)
        return (arith.extf if source < target else arith.truncf)(element, value)

    # --- tensors --------------------------------------------------------------

    def fill(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A tensor that is `value` everywhere."""
        destination = tensor.empty(shape, value.type)
        return self.fill_into(value, destination, [destination.type]).results[0]

    def fill_into(self, value: ir.Value, destination: ir.Value, results: Sequence[ir.Type]) -> ir.Operation:
        """Fill a tensor, which is then the one of the `results`, or a buffer, which leaves none."""
        made = linalg.FillOp(results, [value], [destination])
        linalg.fill_builtin_region(made.operation)
        return made

    def from_scalar(self, value: ir.Value) -> ir.Value:
        """A 0-d tensor that holds a scalar."""
        return tensor.from_elements(self.tensor_type([], value.type), [value])

    def generic(
        self,
        inputs: Sequence[tuple[ir.Value, Sequence[int | None]]],
        shape: Sequence[int],
        element: ir.Type,
        body: Callable[[list[ir.Value], Callable[[int], ir.Value]], ir.Value],
        *,
        over: int | None = None,
        start: ir.Value | None = None,
    ) -> ir.Value:
        """A `linalg.generic` over `shape`: element-wise, or with `over` a reduction along one more dim of that size.

        Each input comes with, for each of its dims, the dim that walks it
        (None: index 0). `body` gets the elements and a function that gives the
        current index along a dim; in a reduction, which begins with `start`,
        the result so far comes last.
        """
        destination = tensor.empty(shape, element) if start is None else self.fill(start, shape)
        kept = len(inputs) + (over is not None)
        return self._generic(inputs, [destination], over, lambda args, index: [body(args[:kept], index)])[0]

    def elementwise(
        self,
        inputs: Sequence[tuple[ir.Value, Sequence[int | None]]],
        shape: Sequence[int],
        elements: Sequence[ir.Type],
        body: Callable[[list[ir.Value]], list[ir.Value]],
    ) -> list[ir.Value]:
        """As `generic`, with a result for each of `elements`."""
        destinations = [tensor.empty(shape, element) for element in elements]
        return self._generic(inputs, destinations, None, lambda args, _: body(args[: len(inputs)]))

    def _generic(
        self,
        inputs: Sequence[tuple[ir.Value, Sequence[int | None]]],
        destinations: Sequence[ir.Value],
        over: int | None,
        body: Callable[[list[ir.Value], Callable[[int], ir.Value]], list[ir.Value]],
    ) -> list[ir.Value]:
        own = len(destinations[0].type.shape)
        rank = own + (over is not None)
        walked = [*inputs, *((destination, range(own)) for destination in destinations)]
        made = linalg.GenericOp(
            [destination.type for destination in destinations],
            [value for value, _ in inputs],
            destinations,
            [self._projection(rank, dims) for _, dims in walked],
            ir.ArrayAttr.get([self._parallel] * own + [self._reduction] * (over is not None), self.context),
        )
        block = made.regions[0].blocks.append(*(value.type.element_type for value, _ in walked))
        indices: dict[int, ir.Value] = {}

        def index(dim: int) -> ir.Value:
            if dim not in indices:
                indices[dim] = linalg.IndexOp(dim).result
            return indices[dim]

        with ir.InsertionPoint(block):
            linalg.yield_(body(list(block.arguments), index))
        return list(made.results)

    def _projection(self, rank: int, dims: Sequence[int | None]) -> ir.AffineMap:
        results = [
            ir.AffineExpr.get_constant(0, self.context) if dim is None else ir.AffineExpr.get_dim(dim, self.context)
            for dim in dims
        ]
        return ir.AffineMap.get(rank, 0, results, self.context)

    def reshape(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """The elements of a tensor in another static shape, by collapse and expand.

        Raises:
            UnsupportedError: the shapes have different numbers of elements.
        """
        source = list(value.type.shape)
        shape = list(shape)
        if source == shape:
            return value
        if math.prod(source) != math.prod(shape):
            raise UnsupportedError(f"a tile of the shape {source} cannot take the shape {shape}")
        groups = _reassociation(source, shape)
        if groups is None:
            flat = self.reshape(value, [math.prod(source)])
            return self.reshape(flat, shape)
        result = self.tensor_type(shape, value.type.element_type)
        if len(source) > len(shape):
            return tensor.collapse_shape(result, value, groups)
        return tensor.expand_shape(result, value, groups, [], shape)

    def broadcast(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A tensor broadcast to `shape` by PyTorch's rule (trailing dims match or are 1).

        Raises:
            UnsupportedError: they do not match.
        """
        source = list(value.type.shape)
        if source == list(shape):
            return value
        shift = len(shape) - len(source)
        if shift < 0 or any(size not in (1, shape[shift + dim]) for dim, size in enumerate(source)):
            raise UnsupportedError(f"a tile of shape {tuple(source)} does not broadcast to {tuple(shape)}")
        dims = [shift + i if size == shape[shift + i] else None for i, size in enumerate(source)]
        return self.generic([(value, dims)], shape, value.type.element_type, lambda args, _: args[0])

    def slice(
        self,
        value: ir.Value,
        offsets: Sequence[Size],
        sizes: Sequence[Size],
        result_shape: Sequence[int],
    ) -> ir.Value:
        """`tensor.extract_slice` of consecutive elements; `result_shape` may leave out dims of size 1."""
        result = self.tensor_type(result_shape, value.type.element_type)
        return tensor.extract_slice(result, value, *_mixed(offsets, sizes, [1] * len(offsets)))

    def insert(self, value: ir.Value, into: ir.Value, offsets: Sequence[Size], sizes: Sequence[Size]) -> ir.Value:
        """`tensor.insert_slice` of `value` as consecutive elements of `into`."""
        return tensor.insert_slice(value, into, *_mixed(offsets, sizes, [1] * len(offsets)))

    def subview(
        self,
        buffer: ir.Value,
        offsets: Sequence[Size],
        sizes: Sequence[Size],
        strides: Sequence[int],
        result: ir.Type,
    ) -> ir.Value:
        """`memref.subview` with the given result type."""
        return memref.SubViewOp(result, buffer, *_mixed(offsets, sizes, strides)).result

    def cast_tensor(self, value: ir.Value, element: ir.Type, *, unsigned: bool = False) -> ir.Value:
        """A tensor with every element converted."""
        if value.type.element_type == element:
            return value
        shape = list(value.type.shape)
        return self.generic(
            [(value, list(range(len(shape))))],
            shape,
            element,
            lambda args, _: self.convert(args[0], element, unsigned=unsigned),
        )


def _attribute(value: float | bool, element: ir.Type) -> ir.Attribute:
    """The value of a constant; integers that a type has no sign for wrap around."""
    if is_float(element):
        made = ir.FloatAttr.get(element, float(value))
        if element.width == 8 and math.isfinite(value) and not math.isfinite(made.value):
            raise UnsupportedError(f"the number {value} does not fit a {element}; PyTorch refuses it, too")
        return made
    width = element.width if isinstance(element, ir.IntegerType) else 64
    bits = int(value) & ((1 << width) - 1)
    return ir.IntegerAttr.get(element, bits - (1 << width) if width > 1 and bits >> (width - 1) else bits)


def _mixed(offsets: Sequence[Size], sizes: Sequence[Size], strides: Sequence[int]) -> tuple[Sequence[Any], ...]:
    """What builders of views take: the offsets, sizes and strides that are operands, then all as attributes."""
    return at_run_time(offsets), at_run_time(sizes), [], static(offsets), static(sizes), list(strides)


def _reassociation(source: Sequence[int], target: Sequence[int]) -> list[list[int]] | None:
    """Groups of dims of the longer shape that make up each dim of the shorter one, or None."""
    longer, shorter = (source, target) if len(source) > len(target) else (target, source)
    if len(longer) == len(shorter):
        return None
    if not shorter:
        return []
    groups: list[list[int]] = []
    position = 0
    for size in shorter:
        group, covered = [position] if position < len(longer) else [], longer[position] if position < len(longer) else 0
        position += 1
        while covered < size and position < len(longer):
            covered *= longer[position]
            group.append(position)
            position += 1
        if covered != size or not group:
            return None
        groups.append(group)
    while position < len(longer):
        if longer[position] != 1:
            return None
        groups[-1].append(position)
        position += 1
    return groups
