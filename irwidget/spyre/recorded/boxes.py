"""Tiles of a recorded op: device ranges from its coordinates, addresses from its SuperDSC, host dims by the layout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from irwidget.spyre.expressions import Coordinate
from irwidget.spyre.ir import Buffer
from irwidget.spyre.layout import DeviceLayout, row_major
from irwidget.spyre.opspec import TensorArg
from irwidget.spyre.superdsc import SuperDscPlan, start_addresses
from irwidget.spyre.tiles import Span, TensorTile, digits, memory, ranges


def tiles(
    buffer: Buffer, plan: SuperDscPlan, number: int, addresses: Mapping[int, int] | None
) -> tuple[TensorTile, ...]:
    """The distinct tiles of an argument over the cores; `addresses` are those of its SuperDSC, or ours where None."""
    tensor = plan.tensors[number]
    arg = tensor.arg
    used = {v for coordinate in arg.device_coordinates for v in coordinate.variables}
    found: dict[tuple[object, ...], TensorTile] = {}
    cores = range(plan.cores)
    at = addresses or dict(zip(cores, start_addresses(plan, tensor, cores, gathered=False), strict=True))
    for core in cores:
        spans = ranges(plan.spec, plan, core)
        if spans is None:
            continue
        key = (at[core], *(span for v, span in spans.items() if v in used))
        if key in found:
            found[key] = replace(found[key], cores=(*found[key].cores, core))
        else:
            found[key] = TensorTile(_box(buffer, arg, spans), at[core], *memory(arg, spans), (core,))
    return tuple(found.values())


def _box(buffer: Buffer, arg: TensorArg, spans: Mapping[str, Span]) -> tuple[Span, ...]:
    """First and last of each host dim of the buffer."""
    held = [_held(n, c, spans) for n, c in zip(arg.device_size, arg.device_coordinates, strict=True)]
    layout = buffer.device
    device = carried(held, row_major(arg.device_size), layout.device_size, layout.strides)
    dims = [(span, step) for span, step in zip(device, layout.stride_map, strict=True) if step > 0]
    host = carried([s for s, _ in dims], [s for _, s in dims], buffer.size, buffer.stride)
    return tuple((min(a, n - 1), min(b, n - 1)) for (a, b), n in zip(host, buffer.size, strict=True))


def _held(size: int, coordinate: Coordinate, spans: Mapping[str, Span]) -> Span:
    """First and last position of a device dim that a tile takes."""
    if coordinate.indirect:
        return 0, size - 1
    low = high = coordinate.offset
    for term in coordinate.terms:
        first, last = spans.get(term.var, (0, 0))
        if term.modulus and first // term.modulus != last // term.modulus:
            high += term.num * ((term.modulus - 1) // term.den)
        else:
            low, high = low + term.at(first), high + term.at(last)
    return low, min(high, size - 1)


def carried(spans: Sequence[Span], steps: Sequence[int], sizes: Sequence[int], strides: Sequence[int]) -> list[Span]:
    """Ranges of dims that move `steps` elements each, in other dims of `sizes` and `strides` over the same elements."""
    found: list[Span] = []
    for size, stride in zip(sizes, strides, strict=True):
        low = high = 0
        for span, step in zip(spans, steps, strict=True):
            if size > 1 and stride > 0:
                first, last = digits(step, span, stride, size)
                low, high = low + first, high + last
        found.append((low, min(high, size - 1)))
    return found


def own_layout(arg: TensorArg) -> tuple[tuple[int, ...], tuple[int, ...], DeviceLayout]:
    """Size, strides and layout of a tensor that nothing is known of but an argument: its device dims, sticks joined."""
    *outer, eps = arg.device_size
    stick = next((i for i, c in enumerate(arg.device_coordinates[:-1]) if arg.stick and arg.stick in c.variables), None)
    kept = [i for i in range(len(outer)) if i != stick and outer[i] > 1]
    sticks = outer[stick] if stick is not None else 1
    size = (*(outer[i] for i in kept), sticks * eps)
    stride = row_major(size)
    steps = {i: stride[k] for k, i in enumerate(kept)}
    if stick is not None:
        steps[stick] = eps
    strides = (*(steps.get(i, -1) for i in range(len(outer))), 1)
    return size, stride, DeviceLayout(arg.device_size, strides, arg.format, arg.tag)
