"""Comparisons that torch-mlir computes itself, of a tensor that it knows and a number, in terms of others.

Of two kinds of numbers it reads the bits of one as if they were of the other: half is less than zero, true is not
one, and an integer beside a float ends the process.
"""

from __future__ import annotations

from collections.abc import Container
from typing import TYPE_CHECKING, Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import COMPARISONS, How

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node

aten: Any = torch.ops.aten
_FILLS = frozenset(
    getattr(aten, name).default
    for name in "full full_like zeros zeros_like ones ones_like new_full new_zeros new_ones scalar_tensor".split()
)


def operators(program: ExportedProgram) -> set[Any]:
    """The comparisons of a program of which a tensor is the same number throughout, of another kind than the other."""
    signature = program.graph_signature
    held = {
        *signature.inputs_to_parameters,
        *signature.inputs_to_buffers,
        *signature.inputs_to_lifted_tensor_constants,
    }
    known: set[Node] = set()
    found: set[Any] = set()
    modules = [one for one in program.graph_module.modules() if isinstance(one, torch.fx.GraphModule)]
    for node in (node for module in modules for node in module.graph.nodes):
        if _is_known(node, held, known):
            known.add(node)
        if node.target in COMPARISONS and node.args[0] in known and _is_mixed(*node.args):
            found.add(node.target)
    return found


def _is_known(node: Node, held: Container[str], known: set[Node]) -> bool:
    """Whether a node is of one number throughout, whatever the inputs; of some operators it may be of several."""
    if node.op == "placeholder":
        return node.name in held and value_of(node).numel() == 1
    return node.target in _FILLS or (bool(node.all_input_nodes) and known.issuperset(node.all_input_nodes))


def _is_mixed(x: Any, number: Any) -> bool:
    """Whether a tensor and a number are not both floats, or both integers."""
    kind = value_of(x).dtype
    return not kind.is_complex and (
        kind == torch.bool or kind.is_floating_point != isinstance(number, float | torch.SymFloat)
    )


def _compared(operator: Any) -> How:
    def made(x: Any, number: Any) -> Any:
        if not _is_mixed(x, number):
            return NotImplemented
        kind = torch.result_type(x, number)
        if kind.is_floating_point:
            return operator(x.to(kind), torch.sym_float(number))
        return operator(x.to(torch.int64), torch.sym_int(number))

    return lambda *_: False, made


IN_ALL = {operator: _compared(operator) for operator in COMPARISONS}
"""By operator: how it is taken apart; whether it is, `operators` says of a program."""
