"""What becomes of nodes that torch-mlir does not lower to the chosen output type, and what is said of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget.errors import IRWidgetError, PassError, ToolError, UnsupportedError
from irwidget.helion import crashes, extrema, pipelines, wide_numbers
from irwidget.helion.values import Emission
from irwidget.toolchain import locations, mlir
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Diagnostic, Failure, Location, Node, Step

_REFUSED = re.compile(r"failed to legalize operation '((?:torch|tm_tensor)\.[\w.]+)'")
_NODE_OP = re.compile(r'(?:^|= )"?(torch\.(?:aten|prims|operator)[\w.]*)')

_EXACT = frozenset(
    "abs add.Tensor amax amin ceil cos div.Tensor eq.Tensor exp floor ge.Tensor gt.Tensor le.Tensor log logical_not "
    "lt.Tensor maximum minimum mul.Tensor ne.Tensor neg ones_like reciprocal relu sin sqrt sub.Tensor sum.dim_IntList "
    "tanh where.self zeros_like broadcast_to expand permute reshape slice.Tensor squeeze.dim transpose.int unsqueeze "
    "view".split()
)
"""ATen ops whose tosa form has no constants but 0 and 1."""


def prepared(module: Any, emission: Emission, aten: str) -> tuple[Any, tuple[Diagnostic, ...]]:
    """A raw module (an operation) as the passes to `aten` take it, and a remark for each node that is changed.

    The module is the emission's, or one that was made of it and has no other ops.
    """
    nodes = emission.nodes
    if aten == "linalg-on-tensors":
        if not extrema.LINALG & emission.ops:
            return module, ()
        changed = module.clone()
        extrema.to_linalg(changed)
        return changed, ()
    if aten != "tosa":
        return module, ()
    changed = module.clone()
    extrema.to_tosa(changed)
    places = [next(locations.frames(place), None) for place in wide_numbers.to_linalg(changed)]
    named = dict.fromkeys(place.name for place in places if place and place.name in nodes)
    said = dict.fromkeys(named, "of 64-bit integers became linalg: torch-mlir's tosa form has 32 bits")
    of_doubles = "of float64 may have the digits of float32: torch-mlir's tosa form rounds constants to it"
    said |= dict.fromkeys(_of_doubles(changed, nodes), of_doubles)
    return changed, tuple(
        Diagnostic("remark", f"{nodes[n].target} {why}", nodes[n].location) for n, why in said.items()
    )


def _of_doubles(module: Any, nodes: Mapping[str, Node]) -> set[str]:
    """The nodes whose ATen op has a tensor of float64, and constants in its tosa form."""
    found: set[str] = set()
    for operation in mlir.operations(module):
        types = [str(value.type) for value in (*operation.operands, *operation.results)]
        name = operation.name.removeprefix("torch.aten.")
        owners = [getattr(value.owner, "name", "") for value in operation.operands]
        exact = name == operation.name or (name in _EXACT and "torch.constant.float" not in owners)
        if exact or not any(kind.endswith(",f64>") for kind in types):
            continue
        place = locations.user_location(str(operation.location))
        if place and place.name in nodes:
            found.add(place.name)
    return found


def taken_to_linalg(
    source: Source, steps: Sequence[Step], options: Options, nodes: Mapping[str, Node], aten: str
) -> tuple[Diagnostic, ...]:
    """A remark for each node that a refused lowering to `aten` leaves as it was imported."""
    trace = source.run(steps, replace(options, dumps=True), target="helion_mlir")
    content = trace.dumps[-1].content
    found: dict[str, str] = {}
    for line, place in zip(content.text.splitlines(), content.locations, strict=False):
        op = _NODE_OP.search(line.strip())
        if op and place and place.name in nodes:
            found.setdefault(place.name, op[1])
    said = f"has no {aten} form in torch-mlir: it became linalg"
    refused = [nodes[name] for name in found]
    return tuple(Diagnostic("remark", f"{node.target} {said}", node.location) for node in refused)


def failed(failure: Failure, source: Source, options: Options, nodes: Mapping[str, Node], aten: str) -> IRWidgetError:
    """The error for a pass that refused the module: names the node where it is known."""
    first = failure.diagnostics[0] if failure.diagnostics else None
    if failure.kind == "tool" and " crashed" in failure.message:
        return _crashed(failure, source, options, nodes, aten)
    refused = _REFUSED.search(failure.message)
    if refused is None or first is None or first.location is None:
        return error_of(failure, f"the kernel does not lower to {aten}")
    return _unsupported(refused[1], nodes.get(first.location.name), str(first.location), source, options, aten)


def _crashed(failure: Failure, source: Source, options: Options, nodes: Mapping[str, Node], aten: str) -> IRWidgetError:
    """The error for a pass that ended its process: names the node over which it does, where that is one alone."""
    at = locations.user_location(crashes.place(source, pipelines.steps(aten), options))
    node = nodes.get(at.name) if at else None
    what = f"{node.target} (node {node.name})" if node else "the kernel"
    return error_of(failure, f"{what} does not lower to {aten}", at)


def left(
    module: Any, names: Sequence[str], source: Source, options: Options, nodes: Mapping[str, Node], aten: str
) -> UnsupportedError:
    """The error for ops that every pass passed over."""
    place = _first_location(module, names[0])
    user = locations.user_location(place) if place else None
    return _unsupported(names[0], nodes.get(user.name if user else ""), str(user or ""), source, options, aten)


def error_of(failure: Failure, what: str, at: Location | None = None) -> PassError | ToolError:
    """A failure as an exception; without a place, at the first that a diagnostic names."""
    at = at or next((said.location for said in failure.diagnostics[:1]), None)
    place = f"{at}: " if at else ""
    message = f"{place}{what}: {failure.pass_name}: {failure.message}"
    if failure.kind == "tool":
        return ToolError(message, tool=failure.tool, pass_name=failure.pass_name, reproducer=failure.reproducer)
    return PassError(
        message,
        tool=failure.tool,
        pass_name=failure.pass_name,
        diagnostics=failure.diagnostics,
        reproducer=failure.reproducer,
    )


def _unsupported(
    op: str, node: Node | None, place: str, source: Source, options: Options, aten: str
) -> UnsupportedError:
    where = f"{place}: " if place else ""
    what = f"{node.target} (node {node.name})" if node else op
    others = ", ".join(_working(source, options, aten))
    rule = "it" if op == "torch.operator" else op
    return UnsupportedError(
        f"{where}{what} cannot be lowered to {aten}: torch-mlir has no rule for {rule}. The kernel lowers to: {others}."
    )


def _working(source: Source, options: Options, aten: str) -> list[str]:
    """The output types that take the kernel: raw always does."""
    fits = ["raw"]
    for other in pipelines.ATEN:
        if other in ("raw", aten):
            continue
        trace = source.run(pipelines.steps(other, instead=True), replace(options, dumps=False))
        text = "" if trace.failure else trace.dumps[-1].text
        if text and not any(f" {left}" in text or f'"{left}' in text for left in pipelines.LEFTOVERS):
            fits.append(other)
    return fits


def _first_location(operation: Any, name: str) -> str | None:
    return next((str(found.location) for found in mlir.operations(operation) if found.name == name), None)
