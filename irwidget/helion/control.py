"""Loops and branches of the Device IR as scf ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from irwidget.errors import UnsupportedError
from irwidget.helion import configuration, private, rolling
from irwidget.helion.aten import signed
from irwidget.helion.bindings import arith, ir, scf
from irwidget.helion.builder import Size
from irwidget.helion.grid import count, tell
from irwidget.helion.handlers import register_handler
from irwidget.helion.scalars import as_bool, as_index

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter


# --- device loops ---------------------------------------------------------------------


def _carried(node: Any) -> dict[int, Any]:
    """Output index -> the node whose value it replaces, for outputs that a `_phi` joins with one."""
    carried: dict[int, Any] = {}
    for user in node.users:
        if private.target_name(user.target) != "_operator.getitem":
            continue
        for phi in user.users:
            if private.target_name(phi.target) != "_phi":
                continue
            other = phi.args[0] if phi.args[1] is user else phi.args[1]
            carried[user.args[1]] = other
    return carried


@register_handler("_for_loop")
@register_handler("_for_loop_step")
def _for_loop(emitter: Emitter, node: Any) -> list[Any]:
    info = emitter.binding.infos[node.args[0]]
    begins = [as_index(emitter, emitter.value(bound), bound) for bound in node.args[1]]
    ends = [as_index(emitter, emitter.value(bound), bound) for bound in node.args[2]]
    given = [emitter.value(step) for step in node.args[4]] if len(node.args) > 4 else [None] * len(info.block_ids)
    steps = [_step(emitter, block, step) for block, step in zip(info.block_ids, given, strict=True)]
    outer_args = list(node.args[3])
    arguments = [emitter.value(a) for a in outer_args]
    if private.is_reduction_loop(info):
        return _reduction_loop(emitter, node, info, (begins[0], ends[0], steps[0]), arguments)
    carried = _carried(node)
    inits, positions = _initial_values(emitter, node, info, carried)

    def body(values: list[ir.Value]) -> list[ir.Value]:
        outputs = emitter.run_graph(info, _current(arguments, outer_args, carried, positions, values))
        return [as_type(emitter, outputs[p], inits[i].type) for i, p in enumerate(positions)]

    saved = dict(emitter.loops)
    blocks = list(info.block_ids)
    order = configuration.loop_order(emitter.binding.env, emitter.binding.config, blocks)
    nest = [(blocks[i], begins[i], ends[i], steps[i]) for i in order]
    results = _loop_nest(emitter, node, nest, inits, body)
    emitter.loops = saved
    return _outputs(info, positions, results)


def _step(emitter: Emitter, block: int, given: Any) -> Size:
    """The step that a loop says, a number or one that only run time knows, or that of its tiles."""
    stated = given is not None and block not in emitter.block_arguments
    return given if stated else emitter.tile_step(block)


def _reduction_loop(
    emitter: Emitter, node: Any, info: Any, bounds: tuple[Size, Size, Size], arguments: Sequence[Any]
) -> list[Any]:
    """A loop over the turns in which a dim is reduced, which carries what each reduction has come to."""
    used = {user.args[1]: user for user in node.users if user.users}
    found = rolling.partials(emitter, info, used)
    inits = [one.start(emitter) for one in found.values()]
    saved = dict(emitter.loops)

    def body(values: list[ir.Value]) -> list[ir.Value]:
        joins = {one.node: one.join(value) for one, value in zip(found.values(), values, strict=True)}
        emitter.instead.update(joins)
        outputs = emitter.run_graph(info, arguments)
        return [outputs[position] for position in found]

    (block,) = info.block_ids
    results = _loop_nest(emitter, node, [(block, *bounds)], inits, body)
    emitter.loops = saved
    finished = [one.finished(emitter, value) for one, value in zip(found.values(), results, strict=True)]
    return _outputs(info, [*found], finished)


def _current(
    arguments: Sequence[Any],
    outer: Sequence[Any],
    carried: dict[int, Any],
    positions: Sequence[int],
    values: Sequence[ir.Value],
) -> list[Any]:
    """A body's arguments, those that outputs replace by what they are in this turn."""
    now = {id(carried[p]): value for p, value in zip(positions, values, strict=True) if p in carried}
    return [now.get(id(node), argument) for node, argument in zip(outer, arguments, strict=True)]


def _outputs(info: Any, positions: Sequence[int], results: Sequence[ir.Value]) -> list[Any]:
    """The outputs of a graph, of which a loop has those at `positions` as results."""
    outputs: list[Any] = [None] * _output_count(info)
    for position, result in zip(positions, results, strict=True):
        outputs[position] = result
    return outputs


def _output_count(info: Any) -> int:
    output = next(iter(info.graph.find_nodes(op="output")))
    results = output.args[0]
    return len(results) if isinstance(results, (list, tuple)) else 0


def _initial_values(
    emitter: Emitter,
    node: Any,
    info: Any,
    carried: dict[int, Any],
) -> tuple[list[ir.Value], list[int]]:
    """Initial values of the loop's results, and which output each is.

    An output that is read after the loop without a value before it starts as zeros.
    """
    inits: list[ir.Value] = []
    positions: list[int] = []
    values = node.meta.get("val") or []
    for position in range(_output_count(info)):
        if position in carried:
            inits.append(emitter.tensor(carried[position]))
            positions.append(position)
        elif any(u.args[1] == position and u.users for u in node.users if len(u.args) > 1):
            fake = values[position]
            zero = emitter.builder.constant(0, emitter.builder.element(fake.dtype))
            shape = emitter.shape(fake.shape)
            inits.append(emitter.builder.fill(zero, shape) if shape else emitter.builder.from_scalar(zero))
            positions.append(position)
    return inits, positions


def as_type(emitter: Emitter, value: Any, kind: ir.Type) -> ir.Value:
    """A number, scalar or tensor as another type: elements converted, a tensor broadcast."""
    builder = emitter.builder
    is_tensor = isinstance(kind, ir.RankedTensorType)
    if not isinstance(value, ir.Value):
        value = builder.constant(value, kind.element_type if is_tensor else kind)
        value = builder.from_scalar(value) if is_tensor else value
    if value.type == kind:
        return value
    if is_tensor:
        value, shape = builder.cast_tensor(value, kind.element_type), list(kind.shape)
        if len(value.type.shape) > len(shape):  # Helion's combination of two elements is a tile of one
            return builder.reshape(value, shape)
        return builder.broadcast(value, shape)
    return builder.convert(value, kind)


def _loop_nest(
    emitter: Emitter,
    node: Any,
    nest: Sequence[tuple[int, Size, Size, Size]],
    inits: list[ir.Value],
    body: Callable[[list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """One `scf.for` per block, each with begin, end and step, the carried values threaded through."""
    builder = emitter.builder
    (block_id, begin, end, step), *inner = nest
    parents = private.jagged_parents(emitter.binding.env, block_id)
    parent = signed(emitter, node.args[3][0]) if parents else None
    counted = step < 0 if isinstance(step, int) else block_id not in emitter.block_arguments
    bounds = (0, _turns(emitter, begin, end, step), 1) if counted else (begin, end, step)
    made = scf.ForOp(*map(builder.size, bounds), inits)
    tell(emitter, made, block_id)
    with ir.InsertionPoint(made.body):
        index = made.induction_variable
        if counted:
            index = builder.size(builder.add(builder.multiply(index, step), begin))
        emitter.enter_loop(block_id, index, begin, end, 1 if counted else step, parent, parents)
        values = list(made.inner_iter_args)
        scf.yield_(_loop_nest(emitter, node, inner, values, body) if inner else body(values))
    return list(made.results)


def _turns(emitter: Emitter, begin: Size, end: Size, step: Size) -> Size:
    """How often a loop runs that counts down or may do so, of which `scf.for` knows none; with a step of 0 not once."""
    if isinstance(step, int):
        return count(emitter, begin, end, step)
    builder = emitter.builder
    zero, by = builder.size(0), builder.size(step)
    moves = builder.compare("ne", by, zero)
    turns = count(emitter, begin, end, arith.select(moves, by, builder.size(1)))
    return arith.select(moves, builder.size(turns), zero)


# --- while ------------------------------------------------------------------------------


@register_handler("_while_loop")
def _while_loop(emitter: Emitter, node: Any) -> list[Any]:
    graphs = emitter.binding.infos
    condition, body_info = graphs[node.args[0]], graphs[node.args[1]]
    outer_args = list(node.args[2])
    carried = _carried(node)
    inits, positions = _initial_values(emitter, node, body_info, carried)
    types = [v.type for v in inits]
    arguments = [emitter.value(a) for a in outer_args]

    def current(values: Sequence[ir.Value]) -> list[Any]:
        return _current(arguments, outer_args, carried, positions, values)

    made = scf.WhileOp(types, inits)
    before = made.regions[0].blocks.append(*types)
    with ir.InsertionPoint(before):
        test = emitter.run_graph(condition, current(list(before.arguments)))
        scf.condition(as_bool(emitter, test[0]), list(before.arguments))
    after = made.regions[1].blocks.append(*types)
    with ir.InsertionPoint(after):
        outputs = emitter.run_graph(body_info, current(list(after.arguments)))
        scf.yield_([as_type(emitter, outputs[p], inits[i].type) for i, p in enumerate(positions)])
    return _outputs(body_info, positions, made.results)


# --- branches -----------------------------------------------------------------------------


@register_handler("_if")
def _if(emitter: Emitter, node: Any) -> list[Any]:
    if len(node.args) < 5:
        raise UnsupportedError("branches of Helion before 1.1 are not supported; install helion 1.2 or newer")
    test = emitter.value(node.args[0])
    graphs = emitter.binding.infos
    branches = (graphs[node.args[1]], graphs[node.args[2]])
    arguments = (list(node.args[3]), list(node.args[4]))
    entries = list(branches[0].branches_outputs or [])
    names = {
        **dict(zip(branches[0].if_arg_names or [], arguments[0], strict=False)),
        **dict(zip(branches[0].else_arg_names or [], arguments[1], strict=False)),
    }

    def run(side: int) -> list[Any]:
        outputs = emitter.run_graph(branches[side], [emitter.value(a) for a in arguments[side]])
        chosen: list[Any] = []
        for entry in entries:
            which = entry[side]
            chosen.append(outputs[which] if isinstance(which, int) else emitter.value(names[which]))
        return chosen

    if isinstance(test, (bool, int, float)):
        results = run(0 if test else 1)
        return [*results, *results]
    if isinstance(test.type, ir.RankedTensorType) and any(size != 1 for size in test.type.shape):
        raise UnsupportedError("the condition is a tensor with several elements; use torch.where")
    results = _branch(emitter, node, as_bool(emitter, test), run, len(entries))
    return [*results, *results]


def _branch(emitter: Emitter, node: Any, test: ir.Value, run: Callable[[int], list[Any]], count: int) -> list[ir.Value]:
    """One `scf.if` with a result per entry.

    The types of the results are Helion's for the outputs of the first branch.
    """
    builder = emitter.builder
    fakes = (node.meta.get("val") or [])[:count]
    types: list[ir.Type] = []
    for fake in fakes:
        if not isinstance(fake, torch.Tensor):
            raise UnsupportedError("a branch may only set tensors")
        types.append(builder.tensor_type(emitter.shape(fake.shape), builder.element(fake.dtype)))
    made = scf.IfOp(test, types, has_else=True)
    for side, block in enumerate((made.then_block, made.else_block)):
        with ir.InsertionPoint(block):
            values = run(side)
            scf.yield_([as_type(emitter, v, t) for v, t in zip(values, types, strict=True)])
    return list(made.results)


# --- joins ------------------------------------------------------------------------------------


@register_handler("_phi")
def _phi(emitter: Emitter, node: Any) -> Any:
    """The result of the loop or branch that one of the two values projects."""
    for operand in (node.args[1], node.args[0]):
        if not isinstance(operand, torch.fx.Node) or private.target_name(operand.target) != "_operator.getitem":
            continue
        source = operand.args[0]
        if isinstance(source, torch.fx.Node) and private.target_name(source.target) in _PROJECTED:
            return emitter.value(operand)
    raise UnsupportedError("it joins two values that come from no loop and no branch")


_PROJECTED = ("_for_loop", "_for_loop_step", "_if", "_while_loop")


@register_handler("_new_var")
def _new_var(emitter: Emitter, node: Any) -> Any:
    return emitter.value(node.args[0])


@register_handler("_operator.getitem")
def _getitem(emitter: Emitter, node: Any) -> Any:
    source = emitter.value(node.args[0])
    if not isinstance(source, (list, tuple)):
        raise UnsupportedError("it takes an item of something that is not a list of results")
    return source[node.args[1]]
