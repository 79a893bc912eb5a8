"""The three steps of the mission on single nodes, under the names that users of helion-mlir know.

Normalise a node of Device IR, import it with torch-mlir, inline what came out
(`irwidget.helion.inline`). `lower_kernel` does the same on whole kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from irwidget import private_torch_mlir
from irwidget.errors import UnsupportedError, UsageError
from irwidget.helion import legalization, pipelines
from irwidget.helion.aten import restored_arguments
from irwidget.helion.nodes import AtenImporter, TensorOperand, single_node_graph
from irwidget.private_torch import FakeTensor, OpOverload, disable_current_modes
from irwidget.toolchain import mlir
from irwidget.toolchain.run import Options, Source


class NodeMetadata(dict[str, Any]):
    """The metadata of a tensor as a dict, as helion-mlir has it; read by attribute or place, too, as FX's is."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __missing__(self, key: Any) -> Any:
        if isinstance(key, int):
            return list(self.values())[key]
        raise KeyError(key)


def synthesize_tensor_meta(val: Any) -> Any:
    """A dict of shape, dtype, requires_grad, stride, memory format and quantisation of a tensor: `tensor_meta`.

    Tuples and lists are done element by element; what is no tensor gives None.
    """
    if isinstance(val, (tuple, list)):
        return type(val)(synthesize_tensor_meta(item) for item in val)
    if not isinstance(val, torch.Tensor):
        return None
    return NodeMetadata(
        shape=val.shape,
        dtype=val.dtype,
        requires_grad=val.requires_grad,
        stride=val.stride(),
        memory_format=_memory_format(val),
        is_quantized=val.is_quantized,
        qparams={},
    )


def _memory_format(val: torch.Tensor) -> torch.memory_format | None:
    for candidate in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d):
        rank = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(candidate)
        if rank is not None and val.dim() != rank:
            continue
        try:
            if val.is_contiguous(memory_format=candidate):
                return candidate
        except RuntimeError:  # sizes known only at run time
            return None
    return None


def _without_data(val: Any) -> Any:
    """A concrete tensor as a meta tensor of the same layout; fake and meta tensors as they are."""
    if isinstance(val, (tuple, list)):
        return type(val)(_without_data(item) for item in val)
    if isinstance(val, torch.Tensor) and not isinstance(val, FakeTensor) and val.device.type != "meta":
        with disable_current_modes():
            return torch.empty_strided(val.shape, val.stride(), dtype=val.dtype, device="meta")
    return val


def normalize_helion_node(node: torch.fx.Node) -> torch.fx.Node:
    """Make a Device IR node one that FX tools understand; returns the node itself.

    Concrete tensors in `meta["val"]` become meta tensors, `meta["tensor_meta"]`
    is synthesised, and the arguments that Helion destroyed are restored.
    """
    if "val" in node.meta:
        node.meta["val"] = _without_data(node.meta["val"])
        node.meta["tensor_meta"] = synthesize_tensor_meta(node.meta["val"])
    args, kwargs = restored_arguments(node)
    node.args, node.kwargs = args, kwargs
    return node


class TorchMLIRNodeImporter:
    """Imports one FX node at a time, as a module with one function.

    Args:
        output_type: `raw`, `linalg-on-tensors`, `tosa` or `stablehlo`.
    """

    def __init__(self, output_type: str = "raw") -> None:
        pipelines.check(output_type)
        self.output_type = output_type
        self._context = mlir.new_context()

    def import_node(self, node: torch.fx.Node, input_tensors: Sequence[torch.Tensor]) -> str:
        """MLIR text of a module whose function `main` computes the node.

        `input_tensors` (concrete, fake or meta) stand for the node's tensor
        arguments in order: one for each, or one for each distinct node among
        them. The function takes as many.

        Raises:
            UsageError: their number does not fit.
            UnsupportedError: torch-mlir cannot import the op.
            PassError, ToolError: it does not lower to the output type, or crashes a pass.
        """
        args, kwargs = restored_arguments(node)
        for places in (_Places(merged=False), _Places(merged=True)):
            call_args = tuple(places.literal(a) for a in args)
            call_kwargs = {k: places.literal(v) for k, v in kwargs.items()}
            if len(places.nodes) == len(input_tensors):
                return self._lower(self._import(node, call_args, call_kwargs, input_tensors))
        count = len(_tensor_arguments(args, kwargs))
        raise UsageError(f"{node.name} has {count} tensor arguments, not {len(input_tensors)}.")

    def import_graph(self, graph: torch.fx.Graph, func_name: str = "main") -> str:
        """MLIR text of a module with one function for a whole graph, whose nodes have fake or meta tensors as `val`.

        Raises:
            UnsupportedError: torch-mlir cannot import a node.
            PassError, ToolError: it does not lower to the output type, or crashes a pass.
        """
        with self._context:
            importer = private_torch_mlir.importer().FxImporter(context=self._context)
            try:
                importer.import_stateless_graph(graph, func_name=func_name)
            except Exception as error:
                raise UnsupportedError(f"torch-mlir cannot import the graph: {error}") from error
        return self._lower(importer.module)

    def _import(self, node: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: Sequence[torch.Tensor]) -> Any:
        from irwidget.helion.nodes import AtenCall

        with self._context:
            helper = AtenImporter(self._context)
            inputs = [helper.fake(tuple(t.shape), t.dtype) for t in tensors]
            call = AtenCall(node.target, args, kwargs, ())
            graph = single_node_graph(call, inputs, helper.run_fake(call, inputs))
            importer = private_torch_mlir.importer().FxImporter(context=self._context)
            try:
                importer.import_stateless_graph(graph, func_name="main")
            except Exception as error:
                raise UnsupportedError(f"torch-mlir cannot import {node.target}: {error}") from error
        return importer.module

    def _lower(self, module: Any) -> str:
        if self.output_type == "raw":
            return str(module)
        trace = Source(mlir.bytecode(module)).run(pipelines.node_steps(self.output_type), Options(elide=False))
        if trace.failure is not None:
            raise legalization.error_of(trace.failure, f"the node does not lower to {self.output_type}")
        return trace.dumps[-1].text


class _Places:
    """The tensor nodes among a node's arguments, each as an operand; `merged` ones that are the same node."""

    def __init__(self, *, merged: bool) -> None:
        self.merged = merged
        self.nodes: list[torch.fx.Node] = []

    def literal(self, argument: Any) -> Any:
        """Tensor nodes as operands, symbolic numbers as their hints, everything else as it is."""
        if isinstance(argument, (list, tuple)):
            return [self.literal(item) for item in argument]
        if isinstance(argument, torch.device):
            return torch.device("cpu")
        if not isinstance(argument, torch.fx.Node):
            return argument
        value = argument.meta.get("val")
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise UnsupportedError(
                f"{argument.name} is a number that is known only with a configuration; use lower_kernel"
            )
        if self.merged and argument in self.nodes:
            return TensorOperand(self.nodes.index(argument))
        self.nodes.append(argument)
        return TensorOperand(len(self.nodes) - 1)


def _tensor_arguments(args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.fx.Node]:
    places = _Places(merged=False)
    for argument in (*args, *kwargs.values()):
        places.literal(argument)
    return places.nodes


def import_aten_node_to_mlir(node: torch.fx.Node, output_type: str = "raw") -> str | None:
    """MLIR text for an ATen node, its inputs taken from the `val` of its arguments, one for each of them.

    Returns None for a node that is no ATen call. Raises what
    `TorchMLIRNodeImporter.import_node` raises.
    """
    if node.op != "call_function" or not isinstance(node.target, OpOverload):
        return None
    args, kwargs = restored_arguments(node)
    tensors = [_concrete(place.meta["val"]) for place in _tensor_arguments(args, kwargs)]
    return TorchMLIRNodeImporter(output_type).import_node(node, tensors)


def _concrete(val: Any) -> torch.Tensor:
    """A meta tensor with the hinted sizes of a tensor with symbolic ones."""
    with disable_current_modes():
        sizes = [size if isinstance(size, int) else int(size.node.hint or 16) for size in val.shape]
        return torch.empty(sizes, dtype=val.dtype, device="meta")
