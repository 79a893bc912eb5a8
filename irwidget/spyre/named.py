"""Names of dims: from the inputs through the ops, and to the variables that hints speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from irwidget.errors import UnsupportedError, UsageError, near
from irwidget.spyre.division import granularity
from irwidget.spyre.ir import Graph, Op
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.tensorspec import Input


def propagate_names(graph: Graph) -> Graph:
    """Give each op's variables the names of the dims that they walk over."""
    names: dict[str, tuple[str, ...]] = {i.name: _names(i) for i in graph.inputs if i.dims or i.dynamic}
    ops: list[Op] = []
    for op in graph.ops:
        found = _said(graph, op)
        for read in () if found else op.tensor_reads:
            buffer = graph.buffers[read.buffer]
            for dim, name in enumerate(names.get(read.buffer, ())):
                for v, step in read.index.steps:
                    if name and step == buffer.stride[dim] and buffer.size[dim] != 1:
                        found.setdefault(v, name)
        if found and op.target in graph.buffers:
            out = graph.buffers[op.target]
            by_step = {step: v for v, step in op.write.steps}
            names[op.target] = tuple(
                found.get(by_step.get(s, ""), "") if n != 1 else "" for n, s in zip(out.size, out.stride, strict=True)
            )
        ops.append(replace(op, dims=tuple(found.items())))
    return graph.with_ops(ops)


def _said(graph: Graph, op: Op) -> dict[str, str]:
    """What the hints around an op call the dims of its result, by variable."""
    said = next((hint.named_dims for hint in op.hints if hint.named_dims), ())
    if not said or not op.computed:
        return {}
    out = graph.buffers[op.target]
    if len(said) != len(out.size):
        raise UsageError(
            f"spyre_hint(named_dims={list(said)}) names {len(said)} dims, and {op.buffer} ({op.func}) has"
            f" {len(out.size)}.{op.where()}"
        )
    by_step = {step: v for v, step in op.write.steps}
    sized = [(name, step) for name, n, step in zip(said, out.size, out.stride, strict=True) if n != 1]
    return {by_step[step]: name for name, step in sized if step in by_step}


def _names(given: Input) -> tuple[str, ...]:
    """The user's names of an input's dims; dynamic dims without one get `input.dim`."""
    dynamic = {dim for dim, _, _ in given.dynamic}
    dims = given.dims or ("",) * len(given.size)
    return tuple(name or (f"{given.name}.{d}" if d in dynamic else "") for d, name in enumerate(dims))


def granularities(graph: Graph) -> dict[str, int]:
    """What dynamic dims are divided by, by name."""
    return {_names(given)[dim]: granularity(high, low) for given in graph.inputs for dim, low, high in given.dynamic}


def dynamic_units(graph: Graph) -> Mapping[str, Mapping[str, int]]:
    """Units of the dynamic variables of each op: splits divide the granularity."""
    by_name = granularities(graph)
    found: dict[str, dict[str, int]] = {}
    for op in graph.ops:
        units = {v: by_name[name] for v, name in op.dims if name in by_name}
        if units and op.kind == "matmul":
            raise UnsupportedError(
                f"Spyre backend does not support: symbolic matmul: {op.buffer} has the dynamic dim"
                f" {', '.join(units)}{op.where()}"
            )
        if units:
            found[op.name] = units
    return found


def check_hint_names(graph: Graph) -> None:
    """Refuse hints over dims that no input names."""
    known = [*named_sizes(graph), *(name for op in graph.ops for hint in op.hints for name in hint.named_dims)]
    for op in graph.ops:
        for hint in op.hints:
            for name, _ in (*hint.work_div, *hint.slices):
                if name not in known:
                    raise UsageError(
                        f"spyre_hint speaks of dim {name!r}, which no input has. Name dims with TensorSpec(dims=...)"
                        " or, of a tensor that is made inside, with spyre_hint(named_dims=[...])."
                        f" {near(name, known)}{op.where()}"
                    )


def given_divisions(graph: Graph, options: SpyreSwitches) -> Mapping[str, Mapping[str, int]]:
    """Splits of `Options.divisions`, by op and variable."""
    found: dict[str, Mapping[str, int]] = {}
    by_buffer = {op.target: op for op in graph.ops if op.computed}
    for buffer, splits in options.divisions.items():
        op = by_buffer.get(buffer)
        if op is None:
            raise UsageError(f"divisions names {buffer!r}, which no op makes. {near(buffer, by_buffer)}")
        for v, n in splits.items():
            if v not in op.space:
                raise UsageError(f"divisions: {buffer} = {op.func} has no loop variable {v!r}. {near(v, op.space)}")
            if not isinstance(n, int) or isinstance(n, bool) or n < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UsageError(f"divisions: {buffer} {v}={n!r} is no positive whole number.")
        found[op.name] = splits
    return found


def hinted_divisions(graph: Graph) -> Mapping[str, Mapping[str, int]]:
    """Splits that users ask for, by op and variable."""
    found: dict[str, dict[str, int]] = {}
    for op in graph.ops:
        wanted = {name: n for hint in op.hints for name, n in hint.work_div}
        if not wanted or not op.computed:
            continue
        by_name = {name: v for v, name in op.dims}
        splits = {by_name[name]: n for name, n in wanted.items() if name in by_name}
        if splits:
            found[op.name] = splits
    return found


def named_sizes(graph: Graph) -> dict[str, int]:
    """Sizes of the dims that the inputs name."""
    return {name: n for i in graph.inputs for name, n in zip(i.dims, i.size, strict=False) if name}
