"""A model without complex numbers that computes what one with them does: real and imaginary parts, side by side.

torch-mlir has few operators of complex numbers, and TOSA has none. Where its passes refuse a program, it is
exported again in this form: tensors end in a dimension of two, as `torch.view_as_real` gives it.
"""

from __future__ import annotations

import contextlib
import inspect
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.fx.traceback import preserve_node_meta

from irwidget import private_torch_export
from irwidget.frontends import complex_fourier, complex_table
from irwidget.frontends.complex_math import REAL, Pair
from irwidget.frontends.refusing import refusal
from irwidget.private_torch import pytree

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.fx import Node


class Export(Protocol):
    """How a model is exported: `torch.export` of it, as the front end does it, before decompositions."""

    def __call__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], dynamic_shapes: Any) -> Any: ...


def has_complex(program: ExportedProgram) -> bool:
    """Whether there is a complex tensor in a program, or in one of its operators, as PyTorch decomposes it."""
    modules = [one for one in program.graph_module.modules() if isinstance(one, torch.fx.GraphModule)]
    return any(_complex_value(node) or _is_inside(node) for module in modules for node in module.graph.nodes)


def _is_inside(node: Node) -> bool:
    """Whether it is a Fourier transform with real results, which may be one of real numbers."""
    return _name(node.target).startswith(("fft_irfft", "fft_hfft"))


def in_signature(program: ExportedProgram) -> bool:
    """Whether inputs or results of a program are complex."""
    output = program.graph.output_node()
    given = program.graph_signature.user_inputs
    inputs = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in given]
    return any(map(_complex_value, [*inputs, *output.all_input_nodes]))


def _complex_value(node: Node) -> bool:
    values = pytree.tree_leaves(node.meta.get("val"))
    return any(isinstance(value, torch.Tensor) and value.is_complex() for value in values)


def as_real(value: Any) -> Any:
    """Values whose complex tensors end in a dimension of two."""
    return pytree.tree_map(lambda one: torch.view_as_real(one.resolve_conj()) if _is_complex(one) else one, value)


def _is_complex(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_complex()


class RealSignature(torch.nn.Module):
    """A model that takes and gives real tensors in the place of complex ones.

    `model` is a module or function; `inputs` and `kwargs` are those of a call, which say where complex tensors are.
    """

    def __init__(self, model: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        leaves, self._structure = pytree.tree_flatten((inputs, dict(kwargs)))
        self._complex = [_is_complex(leaf) for leaf in leaves]
        self.forward = _signed(self._call, model)

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        given = [
            torch.view_as_complex(leaf) if pairs else leaf for leaf, pairs in zip(leaves, self._complex, strict=True)
        ]
        inputs, named = pytree.tree_unflatten(given, self._structure)
        return as_real(self.model(*inputs, **named))


def _signed(function: Callable[..., Any], model: Any) -> Callable[..., Any]:
    """A function with the signature of a model."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    with contextlib.suppress(TypeError, ValueError):
        forward.__signature__ = inspect.signature(getattr(model, "forward", model))  # pyright: ignore[reportFunctionMemberAccess]
    return forward


def without(
    program: ExportedProgram, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any, export: Export
) -> ExportedProgram:
    """A program of real inputs and results, with no complex number in between.

    Raises ExportError with the operator and the user's line for what has no form in parts.
    """
    program = _decomposed(program)
    _refuse(program, name)
    return export(_Parts(program), args, kwargs, shapes)


def _decomposed(program: ExportedProgram) -> ExportedProgram:
    """The program with PyTorch's own decompositions of those complex operators that `complex_table` lacks."""
    table = private_torch_export.default_decompositions()
    program = private_torch_export.decomposed(program, {})
    for _ in range(4):
        wanted = {node.target for node in _unknown(program)}
        chosen: dict[Any, Any] = {target: table[target] for target in wanted if target in table}
        if not chosen:
            break
        program = private_torch_export.decomposed(program, chosen)
    return program


def _unknown(program: ExportedProgram) -> list[Node]:
    """The nodes that have to do with complex numbers, and are not written in parts."""
    found: list[Node] = []
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            nested = module is not program.graph_module
            complex_nodes = [node for node in module.graph.nodes if node.op == "call_function" and _touches(node)]
            found += [node for node in complex_nodes if nested or not complex_table.known(_name(node.target))]
    return found


def _touches(node: Node) -> bool:
    if node.target is operator.getitem:
        return False
    values = map(_complex_value, [node, *node.all_input_nodes])
    return any(values) or _complex_number(node) or _is_inside(node)


def _complex_number(node: Node) -> bool:
    return any(isinstance(value, complex) for value in pytree.tree_leaves((node.args, node.kwargs)))


def _name(target: Any) -> str:
    """`mul` of `aten.mul.Tensor`."""
    return str(target).split(".")[1] if str(target).startswith("aten.") else str(target)


def _refuse(program: ExportedProgram, name: str) -> None:
    for node in _unknown(program):
        why = "has no form in real and imaginary parts"
        raise refusal(name, node, why, "compute it of torch.view_as_real(x), or lower the rest of the model alone")
    for node in program.graph.nodes:
        if _name(node.target) in complex_table.FOURIER:
            for length in _lengths(node):
                if not isinstance(length, int):
                    why = "is not written as a product along a dimension whose size is known at run time only"
                    raise refusal(name, node, why, "leave that dimension out of dynamic_shapes, or the transform out")
                if length > complex_fourier.LONGEST:
                    why = f"of length {length} is not written as a product (only up to {complex_fourier.LONGEST})"
                    raise refusal(name, node, why, "take shorter transforms, or leave it out of the model")


def _lengths(node: Node) -> list[Any]:
    """The lengths that a transform is taken along."""
    value: Any = node.args[0]
    shape, dims = value.meta["val"].shape, list(node.args[1])  # pyright: ignore[reportArgumentType]
    lengths = [shape[dim] for dim in dims]
    if _name(node.target) == "_fft_c2r":
        lengths[-1] = node.args[3]
    return lengths


class _Parts(torch.nn.Module):
    """Runs the graph of a program on pairs."""

    def __init__(self, program: ExportedProgram) -> None:
        super().__init__()
        self.graph_module: Any = program.module(check_guards=False)
        self._pairs = self._split(self.graph_module)
        for node in program.graph.nodes:
            if _name(node.target) in complex_table.FOURIER:
                self._keep_matrices(node)
        self.forward = _signed(self._call, self.graph_module)

    def _split(self, module: Any) -> frozenset[str]:
        """Put tensors of pairs in the place of complex ones; their names."""
        found: set[str] = set()
        for node in module.graph.nodes:
            if node.op != "get_attr" or node.target in found:
                continue
            owner, _, last = node.target.rpartition(".")
            place = module.get_submodule(owner)
            value = getattr(place, last)
            if _is_complex(value):
                parts = torch.view_as_real(value.detach().resolve_conj())
                delattr(place, last)
                place.register_buffer(last, parts, persistent=True)
                found.add(node.target)
        return frozenset(found)

    def _keep_matrices(self, node: Node) -> None:
        value: Any = node.args[0]
        given: torch.dtype = value.meta["val"].dtype
        dtype = REAL.get(given, given)
        for length in _lengths(node):
            for which, matrix in zip(("cos", "sin"), complex_fourier.matrices(length, dtype), strict=True):
                self.register_buffer(_matrix(which, length, dtype), matrix, persistent=False)

    def _matrices(self, length: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        return getattr(self, _matrix("cos", length, dtype)), getattr(self, _matrix("sin", length, dtype))

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        with preserve_node_meta():
            return _OnPairs(self.graph_module, self._pairs, self._matrices).run(*pytree.tree_leaves((args, kwargs)))


def _matrix(which: str, length: int, dtype: torch.dtype) -> str:
    return f"{which}_{length}_{str(dtype).partition('.')[2]}"


class _OnPairs(torch.fx.Interpreter):
    """Runs a graph whose complex tensors are pairs."""

    def __init__(self, module: Any, pairs: frozenset[str], matrices: complex_fourier.Matrices) -> None:
        super().__init__(module)
        self.pairs, self.matrices = pairs, matrices
        self._node: Node | None = None

    def run_node(self, n: Node) -> Any:
        self._node = n
        return super().run_node(n)

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        value = super().get_attr(target, args, kwargs)
        return Pair(value.select(-1, 0), value.select(-1, 1)) if target in self.pairs else value

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        leaves = pytree.tree_leaves((args, kwargs))
        found = any(isinstance(leaf, Pair | complex) for leaf in leaves)
        if target is operator.getitem or not (found or (self._node is not None and _complex_value(self._node))):
            return super().call_function(target, args, kwargs)
        return complex_table.apply(target, _name(target), args, kwargs, self.matrices)
