"""From an exported program to MLIR of the torch dialect, by torch-mlir's importer, in a copy of this process.

The importer is native code on the user's objects: it may crash, and its way of reading a tensor goes through lists of
Python's numbers. Here large tensors stay where they are, and the module only names them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from irwidget import private_torch_mlir
from irwidget.errors import ExportError, ToolError, UsageError
from irwidget.frontends.places import node_lines, quote
from irwidget.frontends.torch import first_line, read_sources
from irwidget.toolchain import forked, weights
from irwidget.toolchain.locations import is_user_file
from irwidget.toolchain.named import Constants
from irwidget.toolchain.weights import Literal, Weights
from irwidget.trace import Diagnostic, Location

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram


_HIGHER_ORDER = re.compile(r"Higher-order operation '(\w+)' not implemented")


@dataclass(frozen=True)
class Imported:
    """A model as MLIR of the torch dialect, before any pass."""

    bytecode: bytes
    name: str
    remarks: tuple[Diagnostic, ...] = ()
    """What the user should know of the signature of `@main`."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Text of the user's files that locations point into."""
    weights: Weights | None = None
    """What the bytecode does not have: the values of large literals."""
    types: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of its literals that are resources, by name."""

    @property
    def constants(self) -> Constants:
        """What texts may only name."""
        return Constants(self.bytecode, self.types, self.weights)


@dataclass(frozen=True, slots=True)
class _PlacedLiteral:
    """A literal operation of the module."""

    resource: str
    type: str
    number: int | None = None
    """Of the tensor whose values are left out."""
    state: tuple[int, bytes] = (0, b"")
    """What shows that the tensor has changed since."""


def import_program(
    program: ExportedProgram,
    name: str,
    *,
    isolate: bool = True,
    seconds: float | None = None,
    memory: int | None = None,
) -> Imported:
    """Import a decomposed program with torch-mlir's FxImporter; the function is `@main`.

    Constant inputs (`k=3`, `use_cache=False`) are baked in: torch.export has
    specialised on them, so they are no arguments of `@main`. Results that are None
    are none of its results. `seconds` and `memory` (bytes) limit the importer, unless it runs here (`isolate=False`).

    Raises ExportError when the importer refuses the program, ToolError when it crashes or reaches a limit.
    """
    from irwidget.frontends import fx_literals
    from irwidget.toolchain import mlir

    large = fx_literals.large(program)
    remarks = tuple(_remarks(program))
    mlir.prepare()  # every copy begins with this context, untouched

    def work() -> tuple[bytes, list[_PlacedLiteral]]:
        return _import(program, name, large)

    try:
        bytecode, placed = forked.call(work, seconds=seconds, memory=memory) if isolate else work()
    except forked.Died as death:
        raise _failed(f"crashed on {name} (it {death}). Next step: lower the model's parts one by one") from None
    except forked.TimedOut:
        if seconds is None:
            raise  # by the budget of the lowering, which says so
        raise _failed(f"timed out on {name} (after {seconds:g} s)") from None
    except MemoryError:
        raise _failed(f"ran out of memory on {name}. Next step: give it more, with memory=") from None
    types = {one.resource: one.type for one in placed if one.resource}
    return Imported(bytecode, name, remarks, _sources(program), _weights(name, large, placed, isolate), types)


def _failed(how: str) -> ToolError:
    return ToolError(f"torch-mlir's importer {how}", tool="torch-mlir", pass_name="import")


def _import(program: ExportedProgram, name: str, large: list[torch.Tensor]) -> tuple[bytes, list[_PlacedLiteral]]:
    """The bytecode, and its literal operations in the order of a walk.

    The program is changed. Raises ExportError with the user's line.
    """
    from irwidget.frontends import fx_control, fx_literals, fx_symbols, refusing
    from irwidget.toolchain import mlir

    refusing.check_effects(program, name)
    _restore_buffers(program)
    _drop_constant_inputs(program)
    _drop_none_results(program)
    fx_symbols.name_functions(program)
    tracker = fx_literals.Tracker(large, opaque=fx_control.has_while(program))
    importer = fx_literals.FxImporter(
        context=mlir.new_context(), py_attr_tracker=tracker, graph_node_importer_cls=fx_control.NodeImporter
    )
    private_torch_mlir.place_nodes(importer, node_lines)
    try:
        importer.import_frozen_program(program, func_name="main")
    except Exception as error:
        raise _explained(error, name) from error
    refusing.check_operators(importer.module, program, name)
    placed: list[_PlacedLiteral] = []
    for operation in weights.literals(importer.module):
        try:
            value = operation.attributes["value"]
        except TypeError:  # of complex numbers, which MLIR's bindings do not know: the bytecode has them
            placed.append(_PlacedLiteral("", "", None, (0, b"")))
            continue
        number = tracker.numbers.get(resource := fx_literals.resource(value))
        state = (0, b"") if number is None else fx_literals.state(large[number])
        placed.append(_PlacedLiteral(resource, str(value.type), number, state))
    return mlir.bytecode(importer.module), placed


def _weights(name: str, large: list[torch.Tensor], placed: list[_PlacedLiteral], isolate: bool) -> Weights | None:
    """What the bytecode leaves out, while it is the user's."""
    from irwidget.frontends import fx_literals

    tensors = {one.resource: large[one.number] for one in placed if one.number is not None}
    if not tensors:
        return None
    literals = {
        one.resource: Literal(
            one.resource, one.type, tensor.element_size(), fx_literals.size(tensor), fx_literals.is_read(tensor)
        )
        for one in placed
        if (tensor := tensors.get(one.resource)) is not None
    }
    before = {one.resource: one.state for one in placed}

    def values(resource: str) -> memoryview:
        if fx_literals.state(tensors[resource]) != before[resource]:
            raise UsageError(f"The weights of {name} have changed since it was exported: lower it again")
        return fx_literals.memory(tensors[resource])

    order = tuple(one.resource if one.resource in tensors else "" for one in placed)
    return Weights(literals, order, values, isolate)


def _explained(error: Exception, name: str) -> ExportError:
    place = _line_of(error)
    lines = [f"torch-mlir cannot import {name}: {_cause(error)}", *([quote(place)] if place else [])]
    explained = ExportError("\n".join(lines))
    explained.location = place
    return explained


def _cause(error: Exception) -> str:
    """Why, in words: a dtype that it has no type for is a KeyError of its tables."""
    import torch

    if hop := _HIGHER_ORDER.search(str(error)):
        return (
            f"it does not import the higher-order operator {hop[1]}. Next step: lower the model without it, or its "
            "parts one by one"
        )
    if "Cannot copy out of meta tensor" in str(error):
        return (
            "its weights, or a tensor that it makes, are on the meta device, where they have no values. Next step: "
            "model.to_empty(device='cpu') gives them memory, to be loaded or initialised"
        )
    missing = error.args[0] if isinstance(error, KeyError) and error.args else None
    if not isinstance(missing, torch.dtype):
        return first_line(error)
    integer = not (missing.is_floating_point or missing.is_complex)
    return f"it has no type for {missing}" + (". Next step: take a signed or a wider type" if integer else "")


def _line_of(error: Exception) -> Location | None:
    """The user's line of the node that the importer was at."""
    from torch.fx import Node

    frame = error.__traceback__
    found: Location | None = None
    while frame is not None:
        node = frame.tb_frame.f_locals.get("node")
        if isinstance(node, Node):
            users = [place for place in node_lines(node) if is_user_file(place.file)]
            found = users[-1] if users else found
        frame = frame.tb_next
    return found


def _restore_buffers(program: ExportedProgram) -> None:
    """Non-persistent buffers are not in an exported program's state, where the importer looks."""
    for buffer in program.graph_signature.inputs_to_buffers.values():
        if buffer not in program.state_dict and buffer in program.constants:
            program.state_dict[buffer] = program.constants[buffer]


def _drop_constant_inputs(program: ExportedProgram) -> None:
    from torch.export.graph_signature import ConstantArgument

    signature = program.graph_signature
    constant = {spec.arg.name for spec in signature.input_specs if isinstance(spec.arg, ConstantArgument)}
    for node in list(program.graph.nodes):
        if node.op == "placeholder" and node.name in constant and not node.users:
            program.graph.erase_node(node)
            signature.input_specs[:] = [spec for spec in signature.input_specs if spec.arg.name != node.name]


def _drop_none_results(program: ExportedProgram) -> None:
    """No backend has a type for None."""
    output = program.graph.output_node()
    returned: Any = output.args[0]
    results = list(zip(returned, program.graph_signature.output_specs, strict=True))
    kept = [(result, spec) for result, spec in results if result is not None]
    output.args = (tuple(result for result, _ in kept),)
    program.graph_signature.output_specs[:] = [spec for _, spec in kept]


def _remarks(program: ExportedProgram) -> Iterator[Diagnostic]:
    from torch.export.graph_signature import ConstantArgument, OutputKind

    from irwidget.frontends import refusing

    users = [spec for spec in program.graph_signature.output_specs if spec.kind == OutputKind.USER_OUTPUT]
    for index, spec in enumerate(users):
        if isinstance(spec.arg, ConstantArgument) and spec.arg.value is None:
            yield Diagnostic("remark", f"result {index} of the model is None, and none of @main's results")
    for index, spec in enumerate(program.graph_signature.output_specs):
        if spec.kind == OutputKind.BUFFER_MUTATION:
            yield Diagnostic("remark", f"result {index} of @main is the new value of buffer {spec.target!r}")
        elif spec.kind == OutputKind.USER_INPUT_MUTATION:
            yield Diagnostic("remark", f"result {index} of @main is the new value of input {spec.target!r}")
    if node := next((node for node in program.graph.nodes if str(node.target) == "aten.reciprocal.default"), None):
        yield Diagnostic("remark", _ABORTS, refusing.user_line(node))


_ABORTS = (
    "aten.reciprocal: what torch-mlir makes of it in linalg ends the process at a zero, where eager PyTorch returns "
    "infinity; torch.ones_like(x) / x returns that"
)


def _sources(program: ExportedProgram) -> dict[str, str]:
    """The text of each user file in the stack traces of the graph's nodes."""
    return read_sources(place.file for node in program.graph.nodes for place in node_lines(node))
