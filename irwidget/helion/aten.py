"""ATen nodes of the Device IR: give them back what Helion destroyed, make sizes static, and import them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import torch

from irwidget import private_torch
from irwidget.errors import UnsupportedError
from irwidget.helion import broadcasting, literals, private, scalars
from irwidget.helion.bindings import arith, ir, math
from irwidget.helion.builder import Builder
from irwidget.helion.dtypes import WIDER, is_float
from irwidget.helion.handlers import ANY_ATEN, register_handler
from irwidget.helion.nodes import AtenCall, TensorOperand

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

aten: Any = torch.ops.aten
prims: Any = torch.ops.prims

_WORD = range(-(1 << 31), 1 << 31)
"""The integers that torch-mlir takes to tosa as literals."""

_DROPPED = ("_extra_args", "_extra_deps", "pin_memory", "layout", "memory_format", "requires_grad")


def restored_arguments(node: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A node's arguments as they were before Helion prepared it for Inductor.

    Inputs that Helion replaced by None come back; where it moved an input into
    an extra node and masked it there, the masked input comes back.
    """
    saved_args, saved_kwargs = node.meta.get(private.SAVED_ARGUMENTS, (node.args, node.kwargs))
    masked = _masked_inputs(node)

    def restore(now: Any, before: Any) -> Any:
        if isinstance(before, (list, tuple)) and isinstance(now, (list, tuple)) and len(now) == len(before):
            return [restore(n, b) for n, b in zip(now, before, strict=True)]
        if now is None and before is not None:
            return masked.get(before, before) if isinstance(before, torch.fx.Node) else before
        return now

    if len(node.args) != len(saved_args):
        args = tuple(masked.get(a, a) if isinstance(a, torch.fx.Node) else a for a in saved_args)
    else:
        args = tuple(restore(now, before) for now, before in zip(node.args, saved_args, strict=True))
    kwargs = {name: restore(node.kwargs.get(name), value) for name, value in saved_kwargs.items()}
    return args, {name: value for name, value in kwargs.items() if name not in _DROPPED}


def _masked_inputs(node: Any) -> dict[Any, Any]:
    """Original input -> the `_mask_to` of it that an extra node of this node reads."""
    masked: dict[Any, Any] = {}
    pending = [*node.kwargs.get("_extra_args", ()), *node.kwargs.get("_extra_deps", ())]
    seen: set[Any] = set()
    while pending:
        extra = pending.pop()
        if not isinstance(extra, torch.fx.Node) or extra in seen:
            continue
        seen.add(extra)
        name = private.target_name(extra.target)
        if name == "_inductor_lowering_extra":
            pending += [i for i in extra.args[0] if i is not None]  # type: ignore[union-attr]
        elif name == "_mask_to":
            masked[extra.args[0]] = extra
    return masked


class _Arguments:
    """Collects tensor operands while literals are made static."""

    def __init__(self, emitter: Emitter, sizes: Sequence[Any] | None, narrow: torch.dtype | None) -> None:
        self.emitter = emitter
        self.sizes = sizes
        """Of the result, where Helion broadcasts the operands to it by their blocks."""
        self.narrow = narrow
        """What a float that only run time knows is rounded to, if not to float32."""
        self.operands: list[tuple[ir.Value, torch.dtype]] = []
        self.runtime = False
        """Whether a number became a 0-d tensor because only run time knows it."""

    def add(self, value: ir.Value, dtype: torch.dtype) -> TensorOperand:
        if dtype in WIDER:
            value, dtype = cast(self.emitter, value, dtype, WIDER[dtype]), WIDER[dtype]
        for position, (known, known_dtype) in enumerate(self.operands):
            if known == value and known_dtype == dtype:
                return TensorOperand(position)
        self.operands.append((value, dtype))
        return TensorOperand(len(self.operands) - 1)

    def convert(self, argument: Any) -> Any:
        if isinstance(argument, (list, tuple)):
            return [self.convert(item) for item in argument]
        if isinstance(argument, torch.device):
            return torch.device("cpu")
        if isinstance(argument, torch.dtype):
            return WIDER.get(argument, argument)
        if isinstance(argument, torch.fx.Node):
            return self._node(argument)
        if isinstance(argument, ir.Value):
            return self.add(argument, torch.float64)
        if isinstance(argument, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self._number(self.emitter.value(argument), argument)
        if self.sizes is not None and isinstance(argument, int) and not _WORD.start <= argument < _WORD.stop:
            self.runtime = True
            constant = self.emitter.builder.constant(argument, self.emitter.builder.i64)
            return self.add(self.emitter.builder.from_scalar(constant), torch.int64)
        return argument

    def _node(self, node: Any) -> Any:
        value = self.emitter.value(node)
        fake = node.meta.get("val")
        if isinstance(fake, torch.Tensor):
            tile = self.emitter.tensor(node)
            if self.sizes is not None:
                tile = broadcasting.aligned(self.emitter, tile, fake.shape, self.sizes)
            return self.add(tile, fake.dtype)
        return self._number(value, fake)

    def _number(self, value: Any, fake: Any) -> Any:
        if not isinstance(value, ir.Value):
            return value
        self.runtime = True
        if isinstance(value.type, ir.RankedTensorType):
            return self.add(value, torch.int64)
        builder = self.emitter.builder
        if isinstance(fake, torch.SymFloat) or value.type == builder.f64:
            dtype = torch.float32
        elif value.type == builder.i1:
            dtype = torch.bool
        else:
            dtype = torch.int64
        number = builder.convert(value, builder.element(dtype))
        if dtype == torch.float32 and self.narrow is not None:
            number, dtype = builder.convert(number, builder.element(self.narrow)), self.narrow
        return self.add(builder.from_scalar(number), dtype)


@register_handler(ANY_ATEN)
def emit_aten(emitter: Emitter, node: Any) -> Any:
    """Emit any ATen or prims node: normalise it, then import and splice it."""
    call = normalise(emitter, node)
    return finish(emitter, node, emitter.importer.call(emitter.builder, call))


def normalise(emitter: Emitter, node: Any) -> AtenCall:
    """A node as a call that stands by itself: static literals, restored tensors, CPU."""
    args, kwargs = restored_arguments(node)
    fake = node.meta.get("val")
    sizes = fake.shape if isinstance(fake, torch.Tensor) and broadcasting.by_block(node.target) else None
    if isinstance(fake, torch.Tensor) and sizes is None and broadcasting.unlike_blocks(emitter, node):
        emitter.remark(
            f"{private.target_name(node.target)} takes a tile of fewer dims for the last ones, as Triton does"
        )
    args, compared = literals.beside(private.target_name(node.target), args)
    arguments = _Arguments(emitter, sizes, compared if compared != torch.float32 else None)
    converted = tuple(arguments.convert(argument) for argument in _in_place_of_tensors(emitter, node.target, args))
    converted_kwargs = {name: arguments.convert(value) for name, value in kwargs.items()}
    target = _tensor_overload(node.target) if arguments.runtime else node.target
    call = AtenCall(target, converted, converted_kwargs, tuple(arguments.operands))
    emitter.normalised.append(f"{node.name} = {call}")
    return call


def _in_place_of_tensors(emitter: Emitter, target: Any, args: Sequence[Any]) -> Sequence[Any]:
    """Arguments with a number where a tensor belongs, beside tensors of float64, as one of float64.

    Helion's Triton has it so; torch-mlir makes a tensor of float32 of it.
    """
    fakes = [argument.meta.get("val") for argument in args if isinstance(argument, torch.fx.Node)]
    if not any(isinstance(fake, torch.Tensor) and fake.dtype == torch.float64 for fake in fakes):
        return args
    wanted = private_torch.tensor_parameters(target)
    builder = emitter.builder
    return [
        builder.from_scalar(builder.constant(argument, builder.f64)) if tensor and type(argument) is float else argument
        for argument, tensor in zip(args, wanted, strict=False)
    ]


def _tensor_overload(target: Any) -> Any:
    """The overload that takes a tensor where `target` takes a number."""
    clamps = {
        aten.clamp_min.default: aten.maximum.default,
        aten.clamp_max.default: aten.minimum.default,
        aten.pow.Scalar: aten.pow.Tensor_Tensor,
    }
    if target in clamps:
        return clamps[target]
    packet, overload = target.overloadpacket, private_torch.overload_name(target)
    swaps = {
        "Scalar": "Tensor",
        "Tensor_Scalar": "Tensor_Tensor",
        "ScalarOther": "self",
        "ScalarSelf": "self",
        "Scalar_mode": "Tensor_mode",
        "Scalar_Tensor": "Tensor",
    }
    wanted = swaps.get(overload)
    if wanted is not None and wanted in packet.overloads():
        return getattr(packet, wanted)
    return target


def finish(emitter: Emitter, node: Any, results: list[tuple[ir.Value, torch.dtype]]) -> Any:
    """Results with the dtype and shape that Helion expects of the node."""
    fake = node.meta.get("val")
    if isinstance(fake, torch.Tensor):
        return conform(emitter, *results[0], fake)
    if isinstance(fake, (list, tuple)):
        return [
            conform(emitter, value, dtype, item) if isinstance(item, torch.Tensor) else value
            for (value, dtype), item in zip(results, fake, strict=True)
        ]
    return results[0][0]


def conform(emitter: Emitter, value: ir.Value, dtype: torch.dtype, fake: torch.Tensor) -> ir.Value:
    """`value` with the dtype, and where the element counts agree the shape, of `fake`."""
    if dtype != fake.dtype:
        value = cast(emitter, value, dtype, fake.dtype)
    wanted = [emitter.static(size) for size in fake.shape]
    shape = list(value.type.shape)
    if None not in wanted and shape != wanted and prod(shape) == prod(wanted):
        return emitter.builder.reshape(value, wanted)
    return value


def aten_call(emitter: Emitter, target: Any, *args: Any, **kwargs: Any) -> tuple[ir.Value, torch.dtype]:
    """Emit an ATen call of our own; tensor arguments are (value, dtype) pairs."""
    operands: list[tuple[ir.Value, torch.dtype]] = []

    def place(argument: Any) -> Any:
        if isinstance(argument, tuple) and len(argument) == 2 and isinstance(argument[0], ir.Value):
            operands.append(argument)
            return TensorOperand(len(operands) - 1)
        if isinstance(argument, list):
            return [place(item) for item in argument]
        return argument

    placed = tuple(place(argument) for argument in args)
    call = AtenCall(target, placed, kwargs, tuple(operands))
    return emitter.importer.call(emitter.builder, call)[0]


def cast(emitter: Emitter, value: ir.Value, source: torch.dtype, target: torch.dtype) -> ir.Value:
    """A tensor converted to another dtype; torch-mlir does not know unsigned ones in all output types."""
    if source == target:
        return value
    if torch.uint64 in (source, target):
        emitter.remark(
            "uint64 is computed as int64: from 2 ** 63 on numbers compare, divide and convert as negative ones"
        )
    if source in WIDER:
        wide = emitter.builder.cast_tensor(value, emitter.builder.element(WIDER[source]), unsigned=True)
        return cast(emitter, wide, WIDER[source], target)
    if target in WIDER:
        wide = cast(emitter, value, source, WIDER[target])
        return emitter.builder.cast_tensor(wide, emitter.builder.element(target))
    return aten_call(emitter, prims.convert_element_type.default, (value, source), target)[0]


def signed(emitter: Emitter, node: Any) -> ir.Value:
    """A node's tensor, one of integers without sign as a wider one with a sign."""
    dtype: torch.dtype = node.meta["val"].dtype
    return cast(emitter, emitter.tensor(node), dtype, WIDER.get(dtype, dtype))


# --- ops that need more than their arguments made static ----------------------------


def _static_shape(position: int) -> Callable[[Emitter, Any], Any]:
    """Views and expansions: their sizes are those of Helion's result."""

    def emit(emitter: Emitter, node: Any) -> Any:
        call = normalise(emitter, node)
        shape = emitter.shape_of(node)
        args = list(call.args)
        args[position] = shape
        static = AtenCall(call.target, tuple(args), {}, call.operands)
        return finish(emitter, node, emitter.importer.call(emitter.builder, static))

    return emit


for _target in (aten.view.default, aten.reshape.default, aten._unsafe_view.default):  # pyright: ignore[reportPrivateUsage]
    register_handler(_target, _static_shape(1))


@register_handler(aten.expand.default)
def _expand(emitter: Emitter, node: Any) -> ir.Value:
    source = restored_arguments(node)[0][0]
    value = broadcasting.aligned(emitter, emitter.tensor(source), source.meta["val"].shape, node.meta["val"].shape)
    return emitter.builder.broadcast(value, emitter.shape_of(node))


def accumulation_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype that products are summed in: f32 for narrower floats, i32 for narrower integers."""
    if dtype.is_floating_point:
        return dtype if dtype in (torch.float32, torch.float64) else torch.float32
    return dtype if dtype in (torch.int32, torch.int64) else torch.int32


def matmul(
    emitter: Emitter,
    left: tuple[ir.Value, torch.dtype],
    right: tuple[ir.Value, torch.dtype],
    bias: tuple[ir.Value, torch.dtype] | None,
    result: torch.dtype,
    *,
    alpha: float = 1,
    beta: float = 1,
) -> tuple[ir.Value, torch.dtype]:
    """`beta * bias + alpha * left @ right` for 2-d or batched operands, or one of each, summed wide.

    Operands are widened first: hardware sums half-precision products in f32,
    and torch-mlir crashes on int8 products.
    """
    wide = accumulation_dtype(result)
    a, b = ((cast(emitter, value, dtype, wide), wide) for value, dtype in (left, right))
    batch = next((list(value.type.shape[:1]) for value, _ in (a, b) if len(value.type.shape) == 3), [])
    a, b = ((emitter.builder.broadcast(value, [*batch, *value.type.shape[-2:]]), dtype) for value, dtype in (a, b))
    batched = bool(batch)
    if bias is None:
        product = aten_call(emitter, aten.bmm.default if batched else aten.mm.default, a, b)
    else:
        c = (cast(emitter, bias[0], bias[1], wide), wide)
        if wide.is_floating_point:
            target = aten.baddbmm.default if batched else aten.addmm.default
            product = aten_call(emitter, target, c, a, b, beta=beta, alpha=alpha)
        else:
            plain = aten_call(emitter, aten.bmm.default if batched else aten.mm.default, a, b)
            product = aten_call(emitter, aten.add.Tensor, c, plain)
    return cast(emitter, product[0], product[1], result), result


def _matmul_node(biased: bool) -> Callable[[Emitter, Any], Any]:
    def emit(emitter: Emitter, node: Any) -> Any:
        call = normalise(emitter, node)
        tensors = [call.operands[a.position] for a in call.args if isinstance(a, TensorOperand)]
        scale = {k: v for k, v in call.kwargs.items() if k in ("alpha", "beta")}
        if any(isinstance(v, TensorOperand) for v in scale.values()):
            raise UnsupportedError("alpha and beta must be numbers")
        dtype = node.meta["val"].dtype
        bias = tensors.pop(0) if biased else None
        return finish(emitter, node, [matmul(emitter, tensors[0], tensors[1], bias, dtype, **scale)])

    return emit


for _name in ("mm", "bmm"):
    for _overload in ("default", "dtype"):
        register_handler(f"aten.{_name}.{_overload}", _matmul_node(False))
for _name in ("addmm", "baddbmm"):
    for _overload in ("default", "dtype"):
        register_handler(f"aten.{_name}.{_overload}", _matmul_node(True))


def binary(target: Any, *, alike: bool = False) -> Callable[[Emitter, Any], Any]:
    """An op that torch-mlir does not lower, as `target`, whose second operand is a tensor.

    With `alike`, it is made one of the first's dtype and shape.
    """

    def emit(emitter: Emitter, node: Any) -> Any:
        builder = emitter.builder
        call = normalise(emitter, node)
        left, second = call.operands[call.args[0].position], call.args[1]
        if isinstance(second, TensorOperand):
            right, dtype = call.operands[second.position]
        else:
            dtype = left[1]
            right = builder.from_scalar(builder.constant(second, builder.element(dtype)))
        if alike:
            right, dtype = cast(emitter, right, dtype, left[1]), left[1]
            right = right if right.type.shape else builder.broadcast(right, list(left[0].type.shape))
        return finish(emitter, node, [aten_call(emitter, target, left, (right, dtype))])

    return emit


for _name in ("bitwise_or", "bitwise_xor"):
    register_handler(f"aten.{_name}.Scalar", binary(getattr(aten, _name).Tensor))
register_handler("aten.clamp_min.Tensor", binary(aten.maximum.default))
register_handler("aten.clamp_max.Tensor", binary(aten.minimum.default))


@register_handler("aten.scalar_tensor.default")
def _scalar_tensor(emitter: Emitter, node: Any) -> Any:
    return filled(emitter, emitter.value(node.args[0]), node)


@register_handler("aten.full.default")
def _full(emitter: Emitter, node: Any) -> Any:
    return filled(emitter, emitter.value(node.args[1]), node)


@register_handler("aten.empty.memory_format")
@register_handler("aten.empty_like.default")
@register_handler("aten.empty_strided.default")
@register_handler("aten.new_empty.default")
def _empty(emitter: Emitter, node: Any) -> Any:
    """Zeros, as Helion has Triton make them."""
    return filled(emitter, 0, node)


def filled(emitter: Emitter, value: Any, node: Any) -> ir.Value:
    """A tensor of the node's shape and dtype that is `value` (a number, a scalar, a 0-d tensor) everywhere."""
    builder = emitter.builder
    element = builder.element(node.meta["val"].dtype)
    if not isinstance(value, ir.Value):
        scalar = builder.constant(value, element)
    else:
        if isinstance(value.type, ir.RankedTensorType):
            value = scalars.element(emitter, value)
        scalar = builder.convert(value, element)
    shape = emitter.shape_of(node)
    return builder.fill(scalar, shape) if shape else builder.from_scalar(scalar)


@register_handler("aten.squeeze.dims")
@register_handler("aten.squeeze.dim")
@register_handler("aten.squeeze.default")
@register_handler("aten.unsqueeze.default")
def _squeeze(emitter: Emitter, node: Any) -> ir.Value:
    return emitter.builder.reshape(emitter.tensor(restored_arguments(node)[0][0]), emitter.shape_of(node))


def _elementwise(
    compute: Callable[[Builder, list[ir.Value]], ir.Value], result: torch.dtype | None = None
) -> Callable[[Emitter, Any], Any]:
    """An op on tensors alone that arith and math have and torch-mlir does not."""

    def emit(emitter: Emitter, node: Any) -> Any:
        call, shape = normalise(emitter, node), emitter.shape_of(node)
        operands = [call.operands[argument.position] for argument in call.args]
        kind = result or operands[0][1]
        inputs = [(emitter.builder.broadcast(value, shape), list(range(len(shape)))) for value, _ in operands]
        made = emitter.builder.generic(
            inputs, shape, emitter.builder.element(kind), lambda arguments, _: compute(emitter.builder, arguments)
        )
        return finish(emitter, node, [(made, kind)])

    return emit


def _sign_bit(builder: Builder, arguments: list[ir.Value]) -> ir.Value:
    value = arguments[0]
    if is_float(value.type):
        value = arith.bitcast(ir.IntegerType.get_signless(value.type.width), value)
    return builder.compare("lt", value, builder.constant(0, value.type))


register_handler("aten.signbit.default", _elementwise(_sign_bit, torch.bool))
register_handler("aten.erfc.default", _elementwise(lambda _, a: math.erfc(*a)))


@register_handler("aten.copysign.Tensor")
def _copysign(emitter: Emitter, node: Any) -> Any:
    """In the dtype of the result, which is float32 of integers."""
    call, shape, kind = normalise(emitter, node), emitter.shape_of(node), node.meta["val"].dtype
    given = [call.operands[argument.position] for argument in call.args]
    operands = [cast(emitter, value, dtype, kind) for value, dtype in given]
    inputs = [(emitter.builder.broadcast(value, shape), list(range(len(shape)))) for value in operands]
    made = emitter.builder.generic(inputs, shape, emitter.builder.element(kind), lambda a, _: math.copysign(a[0], a[1]))
    return finish(emitter, node, [(made, kind)])


@register_handler("aten.view.dtype")
def _bitcast(emitter: Emitter, node: Any) -> ir.Value:
    builder = emitter.builder
    value = emitter.tensor(restored_arguments(node)[0][0])
    element = builder.element(node.meta["val"].dtype)
    shape = list(value.type.shape)
    if shape != emitter.shape_of(node):
        raise UnsupportedError("it reinterprets elements as ones of another size")
    if element == value.type.element_type:
        return value
    return builder.generic(
        [(value, list(range(len(shape))))],
        shape,
        element,
        lambda args, _: arith.bitcast(element, args[0]),
    )
