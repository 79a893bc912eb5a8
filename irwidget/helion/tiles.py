"""Ops on tiles: sizes and positions, constants, masks, reshapes, and products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import private, scalars, symbols
from irwidget.helion.aten import aten, aten_call, cast, conform, filled, matmul, restored_arguments
from irwidget.helion.bindings import arith, ir, tensor
from irwidget.helion.handlers import mark_unsupported, register_handler
from irwidget.helion.indexing import SliceIndex, Subscript
from irwidget.helion.values import TileLoop

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

# --- symbols -------------------------------------------------------------------------

_OPERATORS = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "floordiv": "floordiv",
    "mod": "mod",
    "truediv": "truediv",
    "lshift": "lshift",
    "rshift": "rshift",
    "and_": "and",
    "or_": "or",
    "xor": "xor",
}
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")


@register_handler("_get_symnode")
@register_handler("aten.sym_size.int")
@register_handler("aten.sym_numel.default")
def _symbol(emitter: Emitter, node: Any) -> Any:
    return scalars.scalar(emitter, node.meta["val"])


def _operator(name: str) -> Callable[[Emitter, Any], Any]:
    """Python's operators on symbolic numbers: by the symbol's value, else by the operands'."""

    def emit(emitter: Emitter, node: Any) -> Any:
        value = node.meta.get("val")
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            try:
                return scalars.scalar(emitter, value)
            except UnsupportedError:
                pass  # a fresh symbol: compute it from the operands below
        operands = [_number(emitter, emitter.value(a)) for a in node.args]
        if all(isinstance(v, (bool, int, float)) for v in operands):
            return node.target(*operands)
        if name in _COMPARISONS:
            left, right = scalars.promote(emitter, *operands)
            return emitter.builder.compare(name, left, right)
        if name == "neg":
            return scalars.arithmetic(emitter, "sub", 0, operands[0])
        return scalars.arithmetic(emitter, _OPERATORS[name], *operands)

    return emit


def _number(emitter: Emitter, value: Any) -> Any:
    if isinstance(value, ir.Value) and isinstance(value.type, ir.RankedTensorType):
        return scalars.as_index(emitter, value)
    return value


for _name in (*_OPERATORS, *_COMPARISONS, "neg"):
    register_handler(f"_operator.{_name}", _operator(_name))
for _name in (
    *("sym_min", "sym_max", "sym_float", "sym_int", "sym_not", "_operator.pow", "_operator.abs"),
    *("math.ceil", "math.floor", "math.trunc", "builtins.round"),
):
    register_handler(_name, _symbol)


@register_handler("_and")
@register_handler("_or")
def _connective(emitter: Emitter, node: Any) -> Any:
    left, right = (emitter.value(a) for a in node.args)
    both = node.target.__name__ == "_and"
    for value, other in ((left, right), (right, left)):
        if isinstance(value, (bool, int, float)):
            return other if bool(value) == both else value
    operands = [scalars.as_bool(emitter, v) for v in (left, right)]
    return (arith.andi if both else arith.ori)(*operands)


@register_handler("_not")
def _not(emitter: Emitter, node: Any) -> Any:
    value = emitter.value(node.args[0])
    if isinstance(value, (bool, int, float)):
        return not value
    one = emitter.builder.constant(1, emitter.builder.i1)
    return arith.xori(scalars.as_bool(emitter, value), one)


# --- tiles ------------------------------------------------------------------------------


def _tile_block(emitter: Emitter, node: Any) -> int:
    operand = node.args[0]
    value = operand.meta.get("val") if isinstance(operand, torch.fx.Node) else operand
    block_id = emitter.block_of(value)
    if block_id is None:
        raise UnsupportedError("its argument is not a tile")
    return block_id


def _tile_scalar(origin: str) -> Callable[[Emitter, Any], Any]:
    return lambda emitter, node: scalars.tile_property(emitter, origin, _tile_block(emitter, node))


register_handler("tile_begin", _tile_scalar("TileBeginOrigin"))
register_handler("tile_end", _tile_scalar("TileEndOrigin"))
register_handler("tile_id", _tile_scalar("TileIdOrigin"))
register_handler("tile_count", _tile_scalar("TileCountOrigin"))


@register_handler("tile_block_size")
def _tile_block_size(emitter: Emitter, node: Any) -> Any:
    return emitter.tile_step(_tile_block(emitter, node))


@register_handler("tile_index")
def _tile_index(emitter: Emitter, node: Any) -> ir.Value:
    builder = emitter.builder
    loop = emitter.loop_of(_tile_block(emitter, node))
    element = builder.element(node.meta["val"].dtype)
    shape = emitter.shape_of(node)

    def body(_: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
        position = index(0) if loop is None else arith.addi(loop.index, index(0))
        return builder.convert(position, element)

    return builder.generic([], shape, element, body)


@register_handler("prims.iota.default")
def _iota(emitter: Emitter, node: Any) -> ir.Value:
    builder = emitter.builder
    _, kwargs = restored_arguments(node)
    start = emitter.value(kwargs.get("start", 0))
    step = emitter.value(kwargs.get("step", 1))
    element = builder.element(node.meta["val"].dtype)

    def body(_: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
        position = builder.multiply(index(0), scalars.as_index(emitter, step))
        return builder.convert(builder.size(builder.add(position, scalars.as_index(emitter, start))), element)

    return builder.generic([], emitter.shape_of(node), element, body)


# --- constants -----------------------------------------------------------------------------


@register_handler("full")
def _full(emitter: Emitter, node: Any) -> ir.Value:
    return filled(emitter, emitter.value(node.args[1]), node)


@register_handler("_constant_tensor")
def _constant_tensor(emitter: Emitter, node: Any) -> ir.Value:
    element = emitter.builder.element(node.args[1])
    return emitter.builder.from_scalar(emitter.builder.constant(node.args[0], element))


# --- masks -----------------------------------------------------------------------------------


def ragged_loops(emitter: Emitter, sizes: Sequence[Any]) -> dict[int, TileLoop]:
    """Dims of a tile whose lanes may lie past the end of their loop: dim -> loop."""
    found: dict[int, TileLoop] = {}
    for dim, size in enumerate(sizes):
        block = emitter.block_of(size)
        loop = emitter.loop_of(block) or _padding(emitter, block)
        if loop is not None and loop.ragged:
            found[dim] = loop
    return found


def _padding(emitter: Emitter, block: int | None) -> TileLoop | None:
    """A full dim that Helion padded, as a loop of one tile."""
    if block is None:
        return None
    extent, size = symbols.extent(emitter.binding, block), emitter.binding.block_sizes.get(block)
    if extent is None or size is None or extent == size:
        return None
    zero = emitter.builder.size(0)
    return TileLoop(block, zero, 0, extent, size, emitter.builder.size(extent), size)


def slice_mask(
    emitter: Emitter,
    subscript: Subscript,
    index: Callable[[int], ir.Value],
    mask: ir.Value | None,
) -> ir.Value | None:
    """`mask` and whether the current lane lies inside the slices that fill only part of a padded tile."""
    builder = emitter.builder
    for position, item in enumerate(subscript.indices):
        if isinstance(item, SliceIndex) and item.valid != item.size:
            inside = builder.compare("lt", index(subscript.dims[position]), builder.size(item.valid))
            mask = builder.conjunction(mask, inside)
    return mask


def parent_dims(emitter: Emitter, loop: TileLoop, sizes: Sequence[Any]) -> list[int]:
    """The tile dims that the parent of a jagged tile runs over."""
    blocks = [emitter.block_of(size) for size in sizes]
    dims: list[int] = []
    for parent in loop.parent_blocks:
        if parent not in blocks:
            raise UnsupportedError("a jagged tile is used without the tile it depends on")
        dims.append(blocks.index(parent))
    return dims


def lane_mask(
    emitter: Emitter,
    loops: dict[int, TileLoop],
    sizes: Sequence[Any],
    index: Callable[[int], ir.Value],
) -> ir.Value | None:
    """Whether the current lane lies inside all its loops; None where every lane does."""
    builder = emitter.builder
    mask: ir.Value | None = None
    for dim, loop in loops.items():
        if loop.parent is not None:
            where = [index(d) for d in parent_dims(emitter, loop, sizes)]
            length = builder.to_index(tensor.extract(loop.parent, where))
            inside = builder.compare("lt", arith.addi(loop.index, index(dim)), length)
            if loop.open:
                inside = arith.andi(inside, builder.compare("lt", index(dim), builder.size(loop.step)))
        else:
            inside = builder.compare("lt", index(dim), builder.size(loop.valid))
        mask = builder.conjunction(mask, inside)
    return mask


@register_handler("_mask_to")
def _mask_to(emitter: Emitter, node: Any) -> ir.Value | None:
    builder = emitter.builder
    if emitter.value(node.args[0]) is None:  # an intermediate of Inductor's, see _extra
        return None
    tile, fill = emitter.tensor(node.args[0]), emitter.value(node.args[1])
    sizes = node.meta["val"].shape
    loops = ragged_loops(emitter, sizes)
    shape = list(tile.type.shape)
    if not loops:
        return tile
    if len(shape) != len(sizes):
        raise UnsupportedError("the masked tile has another rank than Helion says")
    element = tile.type.element_type
    other = builder.constant(fill, element)

    def body(args: list[ir.Value], index: Callable[[int], ir.Value]) -> ir.Value:
        mask = lane_mask(emitter, loops, sizes, index)
        return args[0] if mask is None else arith.select(mask, args[0], other)

    return builder.generic([(tile, list(range(len(shape))))], shape, element, body)


# --- shapes ----------------------------------------------------------------------------------


@register_handler("subscript")
def _subscript(emitter: Emitter, node: Any) -> ir.Value:
    if any(not (i is None or (isinstance(i, slice) and i == slice(None))) for i in node.args[1]):
        raise UnsupportedError("a tile can only be indexed with None and `:`")
    builder, value, shape = emitter.builder, emitter.tensor(node.args[0]), emitter.shape_of(node)
    known, kept = list(value.type.shape), [size for size, i in zip(shape, node.args[1], strict=True) if i is not None]
    if known != kept:  # Helion has padded the dim meanwhile; the lanes beyond are masked
        padded = builder.fill(builder.constant(0, value.type.element_type), kept)
        value = builder.insert(value, padded, [0] * len(known), known)
    return builder.reshape(value, shape)


@register_handler("split")
def _split(emitter: Emitter, node: Any) -> list[ir.Value]:
    tile = emitter.tensor(node.args[0])
    shape = list(tile.type.shape)
    halves: list[ir.Value] = []
    for half in range(2):
        offsets = [0] * (len(shape) - 1) + [half]
        halves.append(emitter.builder.slice(tile, offsets, [*shape[:-1], 1], shape[:-1]))
    return halves


@register_handler("join")
def _join(emitter: Emitter, node: Any) -> ir.Value:
    dtype = node.meta["val"].dtype
    shape = emitter.shape_of(node)[:-1]
    parts = [(emitter.builder.broadcast(emitter.tensor(a), shape), dtype) for a in node.args[:2]]
    return aten_call(emitter, aten.stack.default, parts, -1)[0]


@register_handler("_pre_broadcast_tile")
def _pre_broadcast(emitter: Emitter, node: Any) -> ir.Value:
    return emitter.builder.broadcast(emitter.tensor(node.args[0]), emitter.shape_of(node))


# --- products and activations ----------------------------------------------------------------


@register_handler("dot")
def _dot(emitter: Emitter, node: Any) -> ir.Value:
    left, right = node.args[0], node.args[1]
    acc = node.args[2] if len(node.args) > 2 else None
    fake = node.meta["val"]
    pair = [(emitter.tensor(n), n.meta["val"].dtype) for n in (left, right)]
    bias = None if acc is None else (emitter.tensor(acc), acc.meta["val"].dtype)
    value, dtype = matmul(emitter, pair[0], pair[1], bias, fake.dtype)
    return conform(emitter, value, dtype, fake)


def _gelu(approximate: str) -> Callable[[Emitter, Any], Any]:
    def emit(emitter: Emitter, node: Any) -> ir.Value:
        operand = (emitter.tensor(node.args[0]), node.args[0].meta["val"].dtype)
        value, dtype = aten_call(emitter, aten.gelu.default, operand, approximate=approximate)
        return cast(emitter, value, dtype, node.meta["val"].dtype)

    return emit


register_handler("_gelu_erf", _gelu("none"))
register_handler("_gelu_tanh_approx", _gelu("tanh"))


@register_handler("_inductor_lowering_extra")
def _extra(emitter: Emitter, node: Any) -> None:
    """An intermediate of Inductor's; the op it belongs to is emitted whole."""


@register_handler("barrier")
def _barrier(emitter: Emitter, node: Any) -> None:
    """Top-level loops run one after the other here."""


mark_unsupported(
    "it is written in Triton or in assembly; --to helion_triton and what follows it show it, and a rule of your own, "
    "register_handler, lowers it",
    "inline_asm_elementwise",
    "inline_triton",
    "triton_kernel",
)
mark_unsupported(
    "its values come from the device's random number generator; hl.rand(shape, seed=...) and hl.randint lower",
    "rand",
    "rand4x",
    "randint",
    "aten.rand.default",
    "aten.randn.default",
    "aten.rand_like.default",
    "aten.randn_like.default",
    "aten.bernoulli.p",
    "aten.native_dropout.default",
    "aten.randint.low",
    "prims.inductor_random.default",
    "prims.inductor_seed.default",
)
mark_unsupported(
    "it talks to other devices",
    "remote_barrier",
    "make_async_remote_copy",
    "start_async_remote_copy_descriptor",
    "wait_async_remote_copy",
    "wait_send_async_remote_copy",
    "wait_recv_async_remote_copy",
)


@register_handler("device_print")
def _device_print(emitter: Emitter, node: Any) -> None:
    emitter.remark("device_print is left out: MLIR's stock dialects do not print tiles")


@register_handler("_rng_seed")
def _rng_seed(emitter: Emitter, node: Any) -> ir.Value:
    """A seed that the host function draws, as a number that it passes to the kernel."""
    builder = emitter.builder
    seed = emitter.host_scalar(private.seed_expression(node.args[0]), builder.index)
    return builder.from_scalar(builder.convert(seed, builder.element(node.meta["val"].dtype)))


mark_unsupported("it only exists on the device", "pdl_wait", "pdl_launch_dependents", "breakpoint")
