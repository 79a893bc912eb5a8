"""Divide the iteration space of an op over the cores (docs/spyre-rules.md: Work division)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, prod

from irwidget.errors import UnsupportedError
from irwidget.spyre.coordinates import stick_of
from irwidget.spyre.costmodel import DivisionCandidate, choose_matmul
from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.hardware import SPAN_LIMIT
from irwidget.spyre.ir import Graph, Op, blaming, counted
from irwidget.spyre.layout import DeviceLayout
from irwidget.spyre.options import SpyreSwitches


@dataclass(frozen=True, slots=True)
class TensorAccess:
    """An operand or the result of an op, as work division sees it."""

    name: str
    layout: DeviceLayout
    coordinates: tuple[Coordinate, ...]
    itemsize: int
    is_index: bool = False


@dataclass(frozen=True, slots=True)
class Division:
    """The splits of one op and how they came about."""

    op: str
    units: Mapping[str, int]
    """What can be divided of each variable: sticks for stick variables, elements for the others."""
    outputs: tuple[str, ...]
    splits: Mapping[str, int]
    committed: Mapping[str, int] = field(default_factory=dict[str, int])
    """Splits that the 256 MiB span forced."""
    source: str = "default"
    """default, span, cost model, hint, or none for an op that stays on one core."""
    candidates: tuple[DivisionCandidate, ...] = ()
    """The cost model's candidates, cheapest first."""
    cores: int = 1
    idle: str = ""
    """Why cores stay idle, when some do, by the splits that are planned; `reasons` has those that are kept."""
    warnings: tuple[str, ...] = ()


def tensors_of(graph: Graph, op: Op) -> tuple[TensorAccess, ...]:
    """Inputs in read order, the result last."""
    found: list[TensorAccess] = []
    for read in op.tensor_reads:
        buffer = graph.buffers[read.buffer]
        found.append(
            TensorAccess(
                read.buffer,
                buffer.device,
                graph.read_coordinates(op, read),
                host_bytes(buffer.dtype),
                read.role == "index",
            )
        )
    out = graph.buffers[op.target]
    found.append(TensorAccess(op.target, out.device, graph.write_coordinates(op), host_bytes(out.dtype)))
    return tuple(found)


_ITEM_BYTES = {"bool": 1, "uint8": 1, "int8": 1, "int16": 2, "int32": 4, "float32": 4, "int64": 8}


def host_bytes(dtype: str) -> int:
    return 1 if dtype.startswith("float8") else _ITEM_BYTES.get(dtype, 2)


def divide(
    graph: Graph,
    options: SpyreSwitches,
    hints: Mapping[str, Mapping[str, int]],
    dynamic: Mapping[str, Mapping[str, int]] | None = None,
) -> tuple[Graph, tuple[Division, ...]]:
    """Splits for every op that runs on the cores; `hints` are splits by op name and variable.

    `dynamic` are the units of variables over dynamic dims, likewise.
    """
    divisions: list[Division] = []
    ops: list[Op] = []
    for op in graph.ops:
        if op.computed:
            with blaming(op.node):
                made = divide_op(graph, op, options, hints.get(op.name), (dynamic or {}).get(op.name, {}))
            divisions.append(made)
            op = replace(op, splits=tuple((v, made.splits.get(v, 1)) for v in op.space))
        ops.append(op)
    return graph.with_ops(ops), tuple(divisions)


def divide_op(
    graph: Graph,
    op: Op,
    options: SpyreSwitches,
    hint: Mapping[str, int] | None = None,
    dynamic: Mapping[str, int] | None = None,
) -> Division:
    """How one op is divided: span, then the hint, the cost model or the default."""
    tensors = tensors_of(graph, op)
    units = {**stick_units(op.space, tensors), **(dynamic or {})}
    outputs = output_variables(op.space, tensors[-1])
    if op.kind == "topk":
        return Division(op.name, units, outputs, {}, source="none", idle="topk always runs on one core")
    committed, warnings = reduce_span(op, tensors, units, outputs, options.cores)
    if hint is not None:
        splits = check_hint(op, hint, units, outputs, options.cores)
        lowered = [v for v, n in committed.items() if splits.get(v, 1) < n]
        notes = [f"{op.buffer}: the hint splits {v} less than the 256 MiB span asks for" for v in lowered]
        return _finish(op, units, outputs, splits, committed, "hint", (), options.cores, (*warnings, *notes))
    splits = distribute(units, outputs, op.space, committed, options.cores)
    source, candidates = ("span", ()) if committed else ("default", ())
    if op.kind == "matmul" and not committed:
        found = _cost_model(op, tensors, units, outputs, options.cores)
        candidates = found
        if found and found[0].cores >= prod(splits.values()):
            source = "cost model"
            splits = dict(found[0].splits)
    return _finish(op, units, outputs, splits, committed, source, candidates, options.cores, warnings)


def _finish(
    op: Op,
    units: Mapping[str, int],
    outputs: tuple[str, ...],
    splits: Mapping[str, int],
    committed: Mapping[str, int],
    source: str,
    candidates: tuple[DivisionCandidate, ...],
    cores: int,
    warnings: tuple[str, ...],
) -> Division:
    used = prod(splits.values())
    return Division(
        op.name,
        units,
        outputs,
        dict(splits),
        dict(committed),
        source,
        candidates,
        used,
        idle_text(units, splits, committed, used, cores),
        warnings,
    )


def idle_text(
    units: Mapping[str, int],
    splits: Mapping[str, int],
    committed: Mapping[str, int],
    used: int,
    cores: int,
) -> str:
    """Why `cores` - `used` cores have nothing to do; empty when all have."""
    if used == cores:
        return ""
    parts = [f"{v}: {counted(n, 'unit')}, split {splits.get(v, 1)}" for v, n in units.items()]
    why = "a split forced by the span is not topped up; " if committed else ""
    return f"{cores - used} of {cores} cores idle: {why}splits divide evenly or not at all ({'; '.join(parts)})"


def stick_units(space: Mapping[str, int], tensors: Sequence[TensorAccess]) -> dict[str, int]:
    """Whole sticks for stick variables, by the largest stick that a tensor has for them; else elements.

    A gather's index that is no whole sticks is one unit: another core's part would begin inside a stick of it.
    """
    sticks: dict[str, int] = {}
    ragged: set[str] = set()
    for tensor in tensors:
        eps = tensor.layout.elements_per_stick
        stick = stick_of(tensor.coordinates, eps)
        if stick.variable is not None:
            sticks[stick.variable] = max(sticks.get(stick.variable, 1), eps)
            if tensor.is_index and space[stick.variable] % eps:
                ragged.add(stick.variable)
    return {v: 1 if v in ragged else -(-n // sticks[v]) if v in sticks else n for v, n in space.items()}


def output_variables(space: Mapping[str, int], result: TensorAccess) -> tuple[str, ...]:
    """Variables of the result's coordinates, its last (stick) coordinate left out."""
    seen = {v for c in result.coordinates[:-1] for v in c.variables}
    return tuple(v for v in space if v in seen)


def divisors(n: int) -> list[int]:
    small = [d for d in range(1, int(n**0.5) + 1) if n % d == 0]
    return small + [n // d for d in reversed(small) if d * d != n]


def largest_divisor(n: int, limit: int) -> int:
    return max(d for d in range(1, max(1, min(n, limit)) + 1) if n % d == 0)


# -- pass 1: span --------------------------------------------------------------------------------


def span_bytes(tensor: TensorAccess, space: Mapping[str, int], splits: Mapping[str, int]) -> int:
    """Bytes of a tensor between the first and the last that one core touches, in host element sizes."""
    ranges = {v: max(1, n // splits.get(v, 1)) for v, n in space.items()}
    size = tensor.layout.device_size
    for i, coordinate in enumerate(tensor.coordinates[:-1]):
        if coordinate.indirect:
            extent = size[i]
        else:
            low, high = coordinate.bounds(ranges)
            extent = high - low + 1
        if extent > 1:
            return extent * prod(size[i + 1 :]) * tensor.itemsize
    return tensor.itemsize


def reduce_span(
    op: Op,
    tensors: Sequence[TensorAccess],
    units: Mapping[str, int],
    outputs: Sequence[str],
    cores: int,
) -> tuple[dict[str, int], tuple[str, ...]]:
    """Splits that keep each core within 256 MiB of every tensor (docs/spyre-rules.md: Span)."""
    committed: dict[str, int] = {}
    warnings: list[str] = []
    space = op.space
    for tensor in tensors:
        if tensor.is_index:
            continue
        for coordinate in tensor.coordinates[:-1]:
            if span_bytes(tensor, space, committed) <= SPAN_LIMIT:
                break
            variables = [v for v in coordinate.variables if space[v] > 1]
            if not variables:
                continue
            committed.update(_best_span(op, tensor, variables, units, committed, cores))
            ranges = {v: max(1, n // committed.get(v, 1)) for v, n in space.items()}
            low, high = coordinate.bounds(ranges)
            if high > low:
                break
        if span_bytes(tensor, space, committed) > SPAN_LIMIT:
            warnings.append(
                f"{op.buffer}: one core's span of {tensor.name} stays above 256 MiB"
                f" ({span_bytes(tensor, space, committed)} bytes){op.where()}"
            )
    committed = {v: n for v, n in committed.items() if n > 1}
    reductions = [v for v in committed if v not in outputs and units[v] > 1]
    if len(reductions) > 1:
        raise UnsupportedError(
            f"Spyre backend does not support: the 256 MiB span of {op.buffer} needs more than one reduction split"
            f" ({', '.join(reductions)}){op.where()}"
        )
    return committed, tuple(warnings)


def _best_span(
    op: Op,
    tensor: TensorAccess,
    variables: list[str],
    units: Mapping[str, int],
    committed: Mapping[str, int],
    cores: int,
) -> dict[str, int]:
    """The combination of divisors with the largest span within the limit, else with the smallest span."""
    best: dict[str, int] | None = None
    best_key: tuple[int, float] = (2, inf)
    others = prod(n for v, n in committed.items() if v not in variables)

    def search(position: int, chosen: dict[str, int]) -> None:
        nonlocal best, best_key
        if position == len(variables):
            span = span_bytes(tensor, op.space, {**committed, **chosen})
            key = (0, -span) if span <= SPAN_LIMIT else (1, span)
            if key < best_key:
                best, best_key = dict(chosen), key
            return
        v = variables[position]
        for d in divisors(units[v]):
            if d >= committed.get(v, 1) and others * d * prod(chosen.values()) <= cores:
                search(position + 1, {**chosen, v: d})

    search(0, {})
    if best is None:
        raise UnsupportedError(
            f"Spyre backend does not support: no valid split of {', '.join(variables)} in {op.buffer}{op.where()}"
        )
    return best


# -- pass 2: matmul cost model -------------------------------------------------------------------


def _cost_model(
    op: Op,
    tensors: Sequence[TensorAccess],
    units: Mapping[str, int],
    outputs: Sequence[str],
    cores: int,
) -> tuple[DivisionCandidate, ...]:
    """Candidates of the cost model, cheapest first; none where it is not asked (docs/spyre-rules.md: Matmul costs)."""
    eps = tensors[-1].layout.elements_per_stick
    n = stick_of(tensors[-1].coordinates, eps).variable
    if n is None or n not in outputs or len(op.reduced) != 1:
        return ()
    inputs = [{v for c in t.coordinates for v in c.variables} for t in tensors[:-1]]
    rows = [v for v in outputs if v != n and sum(v in seen for seen in inputs) == 1]
    if len(rows) != 1:
        return ()
    k = op.reduced[0][0]
    batch = [v for v in outputs if v not in (n, rows[0])]
    return choose_matmul(units, batch, rows[0], n, k, cores)


# -- pass 3: default -----------------------------------------------------------------------------


def distribute(
    units: Mapping[str, int],
    outputs: Sequence[str],
    space: Mapping[str, int],
    committed: Mapping[str, int],
    cores: int,
) -> dict[str, int]:
    """Largest output variables first, then at most one reduction variable (docs/spyre-rules.md: Default)."""
    splits = {v: committed.get(v, 1) for v in space}
    left = cores
    for n in committed.values():
        left //= n
    for v in sorted((v for v in outputs if v not in committed), key=lambda v: -units[v]):
        if left <= 1:
            break
        splits[v] = largest_divisor(units[v], left)
        left //= splits[v]
    reductions = [v for v in space if v not in outputs]
    if left > 1 and not any(v in committed for v in reductions):
        best = max(
            sorted(reductions, key=lambda v: -units[v]),
            key=lambda v: largest_divisor(units[v], left),
            default=None,
        )
        if best is not None:
            splits[best] = largest_divisor(units[best], left)
    return splits


# -- hints ---------------------------------------------------------------------------------------


def check_hint(
    op: Op,
    hint: Mapping[str, int],
    units: Mapping[str, int],
    outputs: Sequence[str],
    cores: int,
) -> dict[str, int]:
    """A user's division: even, within the cores, at most one reduction dim (docs/spyre-rules.md: Hints)."""
    prefix = f"Spyre backend does not support: work_division_hint: {op.buffer}"
    reductions = [v for v, n in hint.items() if n > 1 and v not in outputs]
    if len(reductions) > 1:
        raise UnsupportedError(f"{prefix}: more than one reduction dim is split ({', '.join(reductions)}).{op.where()}")
    if prod(hint.values()) > cores:
        raise UnsupportedError(f"{prefix}: {prod(hint.values())} slices for {cores} cores (SENCORES).{op.where()}")
    for v, n in hint.items():
        if units[v] % n:
            unit = "" if units[v] == op.space[v] else f" ({units[v]} sticks)"
            raise UnsupportedError(
                f"{prefix} dim {v} size={op.space[v]}{unit} is not evenly divisible by split={n}.{op.where()}"
            )
    return {v: hint.get(v, 1) for v in op.space}


# -- what the tests of the public front end call ---------------------------------------------------


def granularity(maximum: int, minimum: int = 0) -> int:
    """The granularity of a dynamic dim: the user's minimum, else the smallest divisor >= 4 with <= 32 buckets."""
    if minimum:
        return minimum
    return next((d for d in divisors(maximum) if d >= 4 and maximum // d <= 32), maximum)


def encode_splits(
    op_splits: Mapping[str, int],
    write: Mapping[str, int],
    first_read: Mapping[str, int],
) -> tuple[dict[int, int], dict[int, int]]:
    """Splits keyed by index coefficients, as upstream stores them: of the write, and of the first read."""
    written = {write[v]: n for v, n in op_splits.items() if v in write}
    return written, {first_read[v]: n for v, n in op_splits.items() if v not in write and v in first_read}
