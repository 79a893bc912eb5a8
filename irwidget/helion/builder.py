"""A thin builder of stock MLIR ops: one call, one op, at the current place.

Numbers may be Python ints wherever a size, offset or bound is asked for; they
become attributes where MLIR has a place for them and constants elsewhere.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion.bindings import ir

DYNAMIC = -9223372036854775808
"""How MLIR writes a size or offset that is an operand (ShapedType::kDynamic)."""

Size = Any
"""An int, or an SSA value of type index."""

_ELEMENT_TYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "i8",
    torch.bool: "i1",
    torch.uint16: "i16",
    torch.uint32: "i32",
    torch.uint64: "i64",
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e4m3fnuz: "f8E4M3FNUZ",
    torch.float8_e5m2fnuz: "f8E5M2FNUZ",
}


WIDER = {
    torch.uint8: torch.int32,
    torch.uint16: torch.int32,
    torch.uint32: torch.int64,
    torch.uint64: torch.int64,
}
"""The signed dtype that stands for an unsigned one in calculations."""


def element_type_name(dtype: torch.dtype) -> str:
    """MLIR's name for a dtype; KeyError when MLIR's stock dialects have none."""
    return _ELEMENT_TYPES[dtype]


def is_float(element: ir.Type) -> bool:
    """Whether an element type is a floating-point one."""
    return not isinstance(element, (ir.IntegerType, ir.IndexType))


def static(sizes: Sequence[Size]) -> list[int]:
    """Sizes as an attribute has them: DYNAMIC for those that are operands."""
    return [size if isinstance(size, int) else DYNAMIC for size in sizes]


def at_run_time(sizes: Sequence[Size]) -> list[ir.Value]:
    """The sizes that are operands."""
    return [size for size in sizes if not isinstance(size, int)]


class Builder:
    """Creates ops at the current insertion point of its context."""

    def __init__(self, context: ir.Context) -> None:
        self.context = context
        self.location = ir.Location.unknown(context)
        self.index = ir.IndexType.get(context)
        self.i1 = ir.IntegerType.get_signless(1, context)
        self.i64 = ir.IntegerType.get_signless(64, context)
        self.f64 = ir.F64Type.get(context)
        self._types: dict[torch.dtype, ir.Type] = {}
        self._points: list[ir.InsertionPoint] = []
        self._constants: dict[tuple[str, str], ir.Value] = {}
        self._prologue: ir.Block | None = None
        self._last_constant: ir.Operation | None = None

    # --- places -----------------------------------------------------------

    @contextmanager
    def at(self, point: ir.InsertionPoint) -> Generator[None]:
        """Create what follows at `point`."""
        self._points.append(point)
        try:
            yield
        finally:
            self._points.pop()

    @property
    def point(self) -> ir.InsertionPoint:
        """Where the next op goes."""
        return self._points[-1]

    def start_function(self, block: ir.Block) -> None:
        """Constants are kept, once each, at the start of `block`."""
        self._prologue, self._last_constant = block, None
        self._constants.clear()

    # --- types and attributes ---------------------------------------------

    def element(self, dtype: torch.dtype) -> ir.Type:
        """The element type of a dtype."""
        if dtype not in self._types:
            self._types[dtype] = ir.Type.parse(element_type_name(dtype), self.context)
        return self._types[dtype]

    def tensor_type(self, shape: Sequence[int], element: ir.Type) -> ir.Type:
        """`tensor<shape x element>`."""
        return ir.RankedTensorType.get(list(shape), element, loc=self.location)

    def memref_type(
        self,
        shape: Sequence[int],
        element: ir.Type,
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ) -> ir.Type:
        """`memref<shape x element>`, with a strided layout where `strides` are given."""
        layout = None
        if strides is not None:
            layout = ir.StridedLayoutAttr.get(offset, list(strides), self.context)
        return ir.MemRefType.get(list(shape), element, layout=layout, loc=self.location)

    def ints(self, values: Sequence[int]) -> ir.Attribute:
        """`array<i64: ...>`."""
        return ir.DenseI64ArrayAttr.get(list(values), self.context)

    def segments(self, *sizes: int) -> ir.Attribute:
        """How many operands belong to each group."""
        return ir.DenseI32ArrayAttr.get(list(sizes), self.context)

    # --- ops ----------------------------------------------------------------

    def op(
        self,
        name: str,
        operands: Sequence[ir.Value] = (),
        results: Sequence[ir.Type] = (),
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """Create an op at the current place, with the current location."""
        return ir.Operation.create(
            name,
            list(results),
            list(operands),
            attributes or {},
            None,
            regions,
            loc=self.location,
            ip=self.point,
        )

    def block(self, operation: ir.Operation, *arguments: ir.Type, region: int = 0) -> ir.Block:
        """The block of a region, which had none, with arguments of these types."""
        return operation.regions[region].blocks.append(*arguments, arg_locs=[self.location] * len(arguments))

    def value(
        self,
        name: str,
        operands: Sequence[ir.Value],
        result: ir.Type,
        attributes: dict[str, ir.Attribute] | None = None,
    ) -> ir.Value:
        """Create an op with one result, and return that."""
        return self.op(name, operands, [result], attributes).results[0]

    def constant(self, value: float | bool, element: ir.Type) -> ir.Value:
        """A scalar constant; one op per function for each value and type."""
        key = (repr(float(value) if is_float(element) else int(value)), str(element))
        if key in self._constants:
            return self._constants[key]
        if is_float(element):
            attribute: ir.Attribute = ir.FloatAttr.get(element, float(value), loc=self.location)
        else:
            width = element.width if isinstance(element, ir.IntegerType) else 64
            bits = int(value) & ((1 << width) - 1)
            signed = bits - (1 << width) if width > 1 and bits >> (width - 1) else bits
            attribute = ir.IntegerAttr.get(element, signed)
        assert self._prologue is not None, "constants need start_function"
        if self._last_constant is None:
            operations = list(self._prologue.operations)
            point = ir.InsertionPoint(operations[0]) if operations else ir.InsertionPoint(self._prologue)
        else:
            point = ir.InsertionPoint.after(self._last_constant)
        made = ir.Operation.create(
            "arith.constant",
            [element],
            [],
            {"value": attribute},
            loc=self.location,
            ip=point,
        )
        self._last_constant = made
        self._constants[key] = made.results[0]
        return made.results[0]

    def size(self, value: Size) -> ir.Value:
        """An index value for an int; SSA values pass through, widened to index."""
        if isinstance(value, (bool, int)):
            return self.constant(int(value), self.index)
        return self.to_index(value)

    def to_index(self, value: ir.Value) -> ir.Value:
        """An integer value as `index`."""
        if isinstance(value.type, ir.IndexType):
            return value
        name = "arith.index_castui" if value.type == self.i1 else "arith.index_cast"
        return self.value(name, [value], self.index)

    def binary(self, name: str, left: ir.Value, right: ir.Value) -> ir.Value:
        """An arith op whose result has the type of its operands."""
        return self.value(f"arith.{name}", [left, right], left.type)

    def compare(self, predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
        """`arith.cmpi`/`arith.cmpf` by the operands' type; `predicate` is eq, ne, lt, le, gt or ge."""
        if is_float(left.type):
            number = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}[predicate]
            name = "arith.cmpf"
        else:
            number = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}[predicate]
            name = "arith.cmpi"
        return self.value(name, [left, right], self.i1, {"predicate": ir.IntegerAttr.get(self.i64, number)})

    def select(self, condition: ir.Value, yes: ir.Value, no: ir.Value) -> ir.Value:
        """`arith.select`."""
        return self.value("arith.select", [condition, yes, no], yes.type)

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
        mapping = ir.AffineMap.get(len(dims), 0, choices, self.context)
        return self.value("affine.min", dims, self.index, {"map": ir.AffineMapAttr.get(mapping)})

    def add(self, left: Size, right: Size) -> Size:
        """Sum of two sizes, folded where both are numbers."""
        return self._arith("addi", operator.add, 0, *((right, left) if isinstance(left, int) else (left, right)))

    def subtract(self, left: Size, right: Size) -> Size:
        """Difference of two sizes, folded where both are numbers."""
        return self._arith("subi", operator.sub, 0, left, right)

    def multiply(self, left: Size, right: Size) -> Size:
        """Product of two sizes, folded where both are numbers."""
        return self._arith("muli", operator.mul, 1, *((right, left) if isinstance(left, int) else (left, right)))

    def _arith(self, name: str, compute: Callable[[int, int], int], neutral: int, left: Size, right: Size) -> Size:
        if isinstance(right, int):
            if isinstance(left, int):
                return compute(left, right)
            if right == neutral:
                return left
        return self.binary(name, self.size(left), self.size(right))

    # --- tensors --------------------------------------------------------------

    def empty(self, shape: Sequence[int], element: ir.Type) -> ir.Value:
        """A tensor with no contents yet."""
        return self.value("tensor.empty", [], self.tensor_type(shape, element))

    def fill(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A tensor that is `value` everywhere."""
        destination = self.empty(shape, value.type)
        return self.fill_into(value, destination, [destination.type]).results[0]

    def fill_into(self, value: ir.Value, destination: ir.Value, results: Sequence[ir.Type]) -> ir.Operation:
        """Fill a tensor, which is then the one of the `results`, or a buffer, which leaves none."""
        segments = {"operandSegmentSizes": self.segments(1, 1)}
        made = self.op("linalg.fill", [value, destination], results, segments, 1)
        block = self.block(made, value.type, value.type)
        with self.at(ir.InsertionPoint(block)):
            self.op("linalg.yield", [block.arguments[0]])
        return made

    def from_scalar(self, value: ir.Value) -> ir.Value:
        """A 0-d tensor that holds a scalar."""
        return self.value("tensor.from_elements", [value], self.tensor_type([], value.type))

    def extract(self, tensor: ir.Value, indices: Sequence[ir.Value] = ()) -> ir.Value:
        """One element of a tensor."""
        return self.value("tensor.extract", [tensor, *indices], tensor.type.element_type)

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
        destination = self.empty(shape, element) if start is None else self.fill(start, shape)
        rank = len(shape) + (over is not None)
        maps = [self._projection(rank, dims) for _, dims in [*inputs, (destination, range(len(shape)))]]
        kinds = ["parallel"] * len(shape) + ["reduction"] * (over is not None)
        attributes = {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(m) for m in maps], self.context),
            "iterator_types": ir.ArrayAttr.get(
                [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>", self.context) for kind in kinds], self.context
            ),
            "operandSegmentSizes": self.segments(len(inputs), 1),
        }
        made = self.op("linalg.generic", [v for v, _ in inputs] + [destination], [destination.type], attributes, 1)
        types = [value.type.element_type for value, _ in inputs] + [element]
        block = self.block(made, *types)
        indices: dict[int, ir.Value] = {}

        def index(dim: int) -> ir.Value:
            if dim not in indices:
                indices[dim] = self.value("linalg.index", [], self.index, {"dim": ir.IntegerAttr.get(self.i64, dim)})
            return indices[dim]

        with self.at(ir.InsertionPoint(block)):
            result = body(list(block.arguments)[: len(inputs) + (over is not None)], index)
            self.op("linalg.yield", [result])
        return made.results[0]

    def _projection(self, rank: int, dims: Sequence[int | None]) -> ir.AffineMap:
        results = [
            ir.AffineExpr.get_constant(0, self.context) if dim is None else ir.AffineExpr.get_dim(dim, self.context)
            for dim in dims
        ]
        return ir.AffineMap.get(rank, 0, results, self.context)

    def reshape(self, tensor: ir.Value, shape: Sequence[int]) -> ir.Value:
        """The same elements in another static shape, by collapse and expand."""
        source = list(tensor.type.shape)
        shape = list(shape)
        if source == shape:
            return tensor
        if math.prod(source) != math.prod(shape):
            raise UnsupportedError(f"a tile of the shape {source} cannot take the shape {shape}")
        groups = _reassociation(source, shape)
        if groups is None:
            flat = self.reshape(tensor, [math.prod(source)])
            return self.reshape(flat, shape)
        name = "tensor.collapse_shape" if len(source) > len(shape) else "tensor.expand_shape"
        attributes = {
            "reassociation": ir.ArrayAttr.get(
                [ir.ArrayAttr.get([ir.IntegerAttr.get(self.i64, i) for i in g], self.context) for g in groups],
                self.context,
            )
        }
        if name == "tensor.expand_shape":
            attributes["static_output_shape"] = self.ints(shape)
        return self.value(name, [tensor], self.tensor_type(shape, tensor.type.element_type), attributes)

    def broadcast(self, tensor: ir.Value, shape: Sequence[int]) -> ir.Value:
        """A tensor broadcast to `shape` by PyTorch's rule (trailing dims match or are 1)."""
        source = list(tensor.type.shape)
        if source == list(shape):
            return tensor
        shift = len(shape) - len(source)
        dims = [shift + i if size == shape[shift + i] else None for i, size in enumerate(source)]
        return self.generic([(tensor, dims)], shape, tensor.type.element_type, lambda args, _: args[0])

    def slice(
        self,
        tensor: ir.Value,
        offsets: Sequence[Size],
        sizes: Sequence[Size],
        strides: Sequence[int],
        result_shape: Sequence[int],
    ) -> ir.Value:
        """`tensor.extract_slice`; `result_shape` may leave out dims of size 1."""
        result = self.tensor_type(result_shape, tensor.type.element_type)
        return self._view("tensor.extract_slice", [tensor], offsets, sizes, strides, result)

    def insert(
        self,
        value: ir.Value,
        tensor: ir.Value,
        offsets: Sequence[Size],
        sizes: Sequence[Size],
        strides: Sequence[int],
    ) -> ir.Value:
        """`tensor.insert_slice` of `value` into `tensor`."""
        return self._view("tensor.insert_slice", [value, tensor], offsets, sizes, strides, tensor.type)

    def subview(
        self,
        buffer: ir.Value,
        offsets: Sequence[Size],
        sizes: Sequence[Size],
        strides: Sequence[int],
        result: ir.Type,
    ) -> ir.Value:
        """`memref.subview` with the given result type."""
        return self._view("memref.subview", [buffer], offsets, sizes, strides, result)

    def _view(
        self,
        name: str,
        operands: Sequence[ir.Value],
        offsets: Sequence[Size],
        sizes: Sequence[Size],
        strides: Sequence[int],
        result: ir.Type,
    ) -> ir.Value:
        attributes = {
            "static_offsets": self.ints(static(offsets)),
            "static_sizes": self.ints(static(sizes)),
            "static_strides": self.ints(list(strides)),
            "operandSegmentSizes": self.segments(
                *[1] * len(operands), len(at_run_time(offsets)), len(at_run_time(sizes)), 0
            ),
        }
        return self.value(name, [*operands, *at_run_time([*offsets, *sizes])], result, attributes)

    def convert(self, value: ir.Value, element: ir.Type, *, unsigned: bool = False) -> ir.Value:
        """A scalar as another element type, by C's rules; floats to bool by `!= 0`."""
        source = value.type
        if source == element:
            return value
        if isinstance(source, ir.IndexType):
            return self.convert(self.value("arith.index_cast", [value], self.i64), element, unsigned=unsigned)
        if isinstance(element, ir.IndexType):
            return self.to_index(value)
        if element == self.i1:
            return self.compare("ne", value, self.constant(0, source))
        unsigned = unsigned or source == self.i1
        match is_float(source), is_float(element):
            case True, True:
                return self._convert_float(value, element)
            case True, False:
                name = "arith.fptoui" if unsigned else "arith.fptosi"
            case False, True:
                name = "arith.uitofp" if unsigned else "arith.sitofp"
            case _:
                widened = "arith.extui" if unsigned else "arith.extsi"
                name = "arith.trunci" if source.width > element.width else widened
        return self.value(name, [value], element)

    def _convert_float(self, value: ir.Value, element: ir.Type) -> ir.Value:
        source, target = value.type.width, element.width
        if source == target:  # f16 <-> bf16: through f32
            return self.convert(self.value("arith.extf", [value], ir.F32Type.get(self.context)), element)
        return self.value("arith.extf" if source < target else "arith.truncf", [value], element)

    def cast_tensor(self, tensor: ir.Value, element: ir.Type, *, unsigned: bool = False) -> ir.Value:
        """A tensor with every element converted."""
        if tensor.type.element_type == element:
            return tensor
        shape = list(tensor.type.shape)
        return self.generic(
            [(tensor, list(range(len(shape))))],
            shape,
            element,
            lambda args, _: self.convert(args[0], element, unsigned=unsigned),
        )


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
