"""Positions outside of a tensor, counted while a module runs, which itself keeps what it reads and writes inside."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.helion.bindings import arith, ir, memref, scf
from irwidget.helion.builder import Builder
from irwidget.toolchain.mlir_opt import as_mlir
from irwidget.toolchain.tool import Pass, Run, State
from irwidget.trace import Step

_GREATER_OR_EQUAL, _LESS = 5, 2
"""The predicates of `arith.cmpi` by which a position is inside."""


@dataclass(frozen=True)
class _Access:
    """Something that is read or written at positions which it is given."""

    node: int
    """Which of the nodes that are counted for it is of."""
    place: Any
    """The op before which all of the following is known."""
    taken: list[ir.Value]
    """Conditions of which each must hold, else it counts for nothing."""
    clamped: list[tuple[ir.Value, ir.Value]]
    """Of what is read: each position as it is given and as it is taken."""
    inside: list[ir.Value]
    """Of what is written: the conditions under which it is inside."""


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The step of a pipeline that does this to a module on buffers.

    Its arguments are the name of the kernel's function and the nodes to count for.
    """
    before = as_mlir(run, state, step)
    name, *nodes = step.arguments.split()

    def apply(_: State) -> State:
        count(before.module, name, nodes)
        return before

    yield Pass("count-outside", apply)


def count(module: Any, name: str, nodes: Sequence[str]) -> None:
    """Have the function of a name count, for each node, how often a position is outside; in place.

    It gets one more argument, a `memref` of one int64 for each node. What frees buffers is a function beside it.
    """
    builder = Builder(module.context)
    for function in module.body.operations:
        if function.operation.name == "func.func" and function.name.value == name:
            block = function.regions[0].blocks[0]
            builder.start_function(block)
            found = list(_accesses(function.operation, nodes))
            counts = block.add_argument(builder.memref_type([len(nodes)], builder.i64), function.operation.location)
            kind = ir.FunctionType.get([one.type for one in block.arguments], [], module.context)
            function.operation.attributes["function_type"] = ir.TypeAttr.get(kind, module.context)
            for access in found:
                _count(builder, access, counts)


def _accesses(root: Any, nodes: Sequence[str]) -> Iterator[_Access]:
    for region in root.regions:
        for block in region.blocks:
            for view in block.operations:
                operation = view.operation
                if operation.name in ("memref.load", "scf.if") and (node := _node(operation, nodes)) is not None:
                    access = (_read if operation.name == "memref.load" else _written)(operation, node)
                    if access is not None:
                        yield access
                yield from _accesses(operation, nodes)


def _node(operation: Any, nodes: Sequence[str]) -> int | None:
    place = str(operation.location)
    return next((number for number, name in enumerate(nodes) if f'"{name}"' in place), None)


def _read(operation: Any, node: int) -> _Access | None:
    """A load at positions that are clamped, `min(max(position, 0), last)`; what is masked is selected away."""
    clamped: list[tuple[ir.Value, ir.Value]] = []
    for position in list(operation.operands)[1:]:
        low = _made_by(position, "arith.minsi")
        whole = _made_by(low.operands[0], "arith.maxsi") if low is not None else None
        if whole is not None:
            clamped.append((whole.operands[0], position))
    if not clamped:
        return None
    value = operation.results[0]
    users = [use.owner for use in value.uses]
    only = users[0] if len(users) == 1 else operation
    if only.name == "arith.select" and only.operands[1] == value:
        return _Access(node, only, [only.operands[0]], clamped, [])
    return _Access(node, operation, [], clamped, [])


def _written(operation: Any, node: int) -> _Access | None:
    """What is done under conditions, of which some say that positions are inside."""
    taken: list[ir.Value] = []
    inside: list[ir.Value] = []
    for condition in _conditions(operation.operands[0]):
        compared = _made_by(condition, "arith.cmpi")
        predicate = ir.IntegerAttr(compared.attributes["predicate"]).value if compared is not None else -1
        bounds = compared is not None and predicate in (_GREATER_OR_EQUAL, _LESS) and _is_given(compared.operands[0])
        (inside if bounds else taken).append(condition)
    return _Access(node, operation, taken, [], inside) if inside else None


def _conditions(value: ir.Value) -> Iterator[ir.Value]:
    both = _made_by(value, "arith.andi")
    if both is None:
        yield value
    else:
        for part in both.operands:
            yield from _conditions(part)


def _is_given(value: ir.Value) -> bool:
    """Whether a position comes from a tensor of integers."""
    return any(_made_by(value, f"arith.{name}") is not None for name in ("index_cast", "index_castui"))


def _made_by(value: ir.Value, name: str) -> Any:
    """The op of a name that makes a value; None where another does, or none."""
    owner: Any = value.owner
    return owner if getattr(owner, "name", "") == name else None


def _count(builder: Builder, access: _Access, counts: ir.Value) -> None:
    with access.place.location, ir.InsertionPoint(access.place):
        outside = [builder.compare("ne", given, kept) for given, kept in access.clamped]
        bad = functools.reduce(arith.ori, outside) if outside else _not(builder, _all(access.inside))
        branch = scf.IfOp(_all([*access.taken, bad]))
        with ir.InsertionPoint(branch.then_block):
            memref.atomic_rmw(
                arith.AtomicRMWKind.addi, builder.constant(1, builder.i64), counts, [builder.size(access.node)]
            )
            scf.yield_([])


def _all(conditions: Sequence[ir.Value]) -> ir.Value:
    return functools.reduce(arith.andi, conditions)


def _not(builder: Builder, value: ir.Value) -> ir.Value:
    return arith.xori(value, builder.constant(True, builder.i1))
