"""An exported PyTorch program as a graph that can be made smaller."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from irwidget.errors import UsageError
from irwidget.reducing.graph import Code, Given, Node, Program, Ref, Tensor, shaped

if TYPE_CHECKING:
    from torch.export import ExportedProgram

_MOST = 64
"""Elements of a tensor of integers that are kept as they are: they may be indices."""


def program(exported: ExportedProgram) -> Program:
    """The program, its modules flat, its floating-point weights one number each.

    Raises UsageError for what no such graph says: dynamic shapes, control flow, inputs that are no tensors.
    """
    import torch

    signature = exported.graph_signature
    held = {**exported.state_dict, **exported.constants}
    targets = {spec.arg.name: spec.target for spec in signature.input_specs if getattr(spec.arg, "name", None)}
    given: list[Given] = []
    nodes: list[Node] = []
    for node in exported.graph.nodes:
        found = node.meta.get("val")
        if node.op == "placeholder":
            if isinstance(found, torch.Tensor):
                target = targets.get(node.name)
                given.append(_given(node.name, found, held.get(target) if target else None, weight=target is not None))
            elif node.users:
                raise _refused(f"its input {node.name} is no tensor")
        elif node.op == "call_function":
            arguments = tuple(_argument(one) for one in node.args)
            keywords = {name: _argument(one) for name, one in node.kwargs.items() if one is not None}
            nodes.append(Node(node.name, _function(node.target), arguments, keywords))
        elif node.op != "output":
            raise _refused(f"it has control flow ({node.name})")
    made = Program(tuple(given), tuple(nodes), tuple(str(one) for one in signature.user_outputs))
    known = shaped(made)
    if known is None:
        raise _refused("its calls are not those of a plain graph")
    return known


def _refused(why: str) -> UsageError:
    return UsageError(
        f"The exported program cannot be taken apart: {why}. Put it in a file: "
        "python -m irwidget reduce FILE.py --to ..."
    )


def _given(name: str, found: Any, value: Any, *, weight: bool) -> Given:
    if not all(isinstance(size, int) for size in found.shape):
        raise _refused("it has dynamic shapes")
    of = Tensor(tuple(found.shape), str(found.dtype).removeprefix("torch."))
    whole = value is not None and not of.dtype.startswith(("float", "bfloat", "complex")) and value.numel() <= _MOST
    return Given(name, of, weight, repr(value.tolist()) if value is not None and whole else "full")


def _function(target: Any) -> str:
    if getattr(operator, getattr(target, "__name__", ""), None) is target:
        return f"operator.{target.__name__}"
    name = str(target)
    if type(target).__name__ == "OpOverload":
        return f"torch.ops.{name}"
    raise _refused(f"it calls {name}")


def _argument(value: Any) -> Any:
    import torch

    if isinstance(value, torch.fx.Node):
        return Ref(value.name)
    if isinstance(value, list | tuple):
        return tuple(_argument(one) for one in value)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return Code(str(value))
    if isinstance(value, torch.device):
        return Code(f'torch.device("{value}")')
    if value is None or isinstance(value, bool | int | float | str | complex):
        return value
    raise _refused(f"an argument of a call is {value!r}")
