"""The three steps of the mission on single nodes, under the names that users of helion-mlir know.

Normalise a node of Device IR, import it with torch-mlir, inline what came out
(`irwidget.helion.inline`). `lower_kernel` does the same on whole kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.passes.shape_prop import TensorMetadata
from torch.utils._python_dispatch import _disable_current_modes  # pyright: ignore[reportPrivateUsage]

from irwidget.errors import UnsupportedError, UsageError
from irwidget.helion import legalization, pipelines
from irwidget.helion.aten import restored_arguments
from irwidget.helion.nodes import AtenImporter, TensorOperand, single_node_graph
from irwidget.toolchain import mlir
from irwidget.toolchain.run import Options, Source


class NodeMetadata(TensorMetadata):
    """FX's `tensor_meta`, whose fields can be read by name too, as those of helion-mlir's: `meta["shape"]`."""

    def __getitem__(self, key: Any) -> Any:
        return getattr(self, key) if isinstance(key, str) else super().__getitem__(key)


def synthesize_tensor_meta(val: Any) -> Any:
    """Shape, dtype, requires_grad, stride, memory format and quantisation of a tensor, as FX's `tensor_meta`.

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
        with _disable_current_modes():
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
        arguments, one for each distinct node among them, in order.

        Raises:
            UsageError: their number does not fit.
            UnsupportedError: torch-mlir cannot import the op.
            PassError, ToolError: it does not lower to the output type, or crashes a pass.
        """
        args, kwargs = restored_arguments(node)
        places: dict[torch.fx.Node, TensorOperand] = {}
        call_args = tuple(_literal(a, places) for a in args)
        call_kwargs = {k: _literal(v, places) for k, v in kwargs.items()}
        if len(places) != len(input_tensors):
            raise UsageError(f"{node.name} has {len(places)} tensor arguments, not {len(input_tensors)}.")
        return self._lower(self._import(node, call_args, call_kwargs, input_tensors))

    def _import(self, node: Any, args: tuple[Any, ...], kwargs: dict[str, Any], tensors: Sequence[torch.Tensor]) -> Any:
        from torch_mlir.extras.fx_importer import FxImporter

        from irwidget.helion.nodes import AtenCall

        with self._context:
            helper = AtenImporter(self._context)
            inputs = [helper.fake(tuple(t.shape), t.dtype) for t in tensors]
            call = AtenCall(node.target, args, kwargs, ())
            graph = single_node_graph(call, inputs, helper.run_fake(call, inputs))
            importer = FxImporter(context=self._context)
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


def _literal(argument: Any, places: dict[torch.fx.Node, TensorOperand]) -> Any:
    """Tensor nodes as operands, symbolic numbers as their hints, everything else as it is."""
    if isinstance(argument, (list, tuple)):
        return [_literal(item, places) for item in argument]
    if isinstance(argument, torch.device):
        return torch.device("cpu")
    if isinstance(argument, torch.fx.Node):
        value = argument.meta.get("val")
        if isinstance(value, (bool, int, float)):
            return value
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise UnsupportedError(
                f"{argument.name} is a number that is known only with a configuration; use lower_kernel"
            )
        return places.setdefault(argument, TensorOperand(len(places)))
    return argument


def import_aten_node_to_mlir(node: torch.fx.Node, output_type: str = "raw") -> str | None:
    """MLIR text for an ATen node, its inputs taken from the `val` of its arguments.

    Returns None for a node that is no ATen call. Raises what
    `TorchMLIRNodeImporter.import_node` raises.
    """
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):  # pyright: ignore[reportPrivateUsage]
        return None
    args, kwargs = restored_arguments(node)
    places: dict[torch.fx.Node, TensorOperand] = {}
    for argument in (*args, *kwargs.values()):
        _literal(argument, places)
    tensors = [_concrete(place.meta["val"]) for place in places]
    return TorchMLIRNodeImporter(output_type).import_node(node, tensors)


def _concrete(val: Any) -> torch.Tensor:
    """A meta tensor with the hinted sizes of a tensor with symbolic ones."""
    with _disable_current_modes():
        sizes = [size if isinstance(size, int) else int(size.node.hint or 16) for size in val.shape]
        return torch.empty(sizes, dtype=val.dtype, device="meta")
