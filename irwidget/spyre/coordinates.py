"""From a loop's flat host index to device coordinates, the routine that everything else builds on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf

from irwidget.errors import UnsupportedError
from irwidget.spyre.expressions import Coordinate, Term
from irwidget.spyre.layout import DeviceLayout


@dataclass(frozen=True, slots=True)
class Gather:
    """A part of an index that comes out of another tensor: `step * index_tensor[...]`."""

    name: str
    """The buffer that holds the index."""
    step: int
    index: Index
    """Where in that buffer."""
    limit: int
    """The extent of the dim that is indexed."""


@dataclass(frozen=True, slots=True)
class Index:
    """A flat host index, affine in the loop variables: `sum(steps[v] * v) + offset`."""

    steps: tuple[tuple[str, int], ...] = ()
    offset: int = 0
    gathers: tuple[Gather, ...] = ()
    wraps: tuple[tuple[str, int], ...] = ()
    """Variables that begin anew after so many steps, as those of a repeated tensor do."""

    def step(self, variable: str) -> int:
        return dict(self.steps).get(variable, 0)

    def __str__(self) -> str:
        wraps = dict(self.wraps)
        named = [(f"({v} mod {wraps[v]})" if v in wraps else v, step) for v, step in self.steps if step]
        parts = [f"{step}*{v}" if step != 1 else v for v, step in named]
        parts += [f"{g.step}*{g.name}[{g.index}]" for g in self.gathers]
        if self.offset:
            parts.append(str(self.offset))
        return " + ".join(parts) or "0"


def device_coordinates(
    layout: DeviceLayout,
    index: Index,
    ranges: Mapping[str, int],
) -> tuple[Coordinate, ...]:
    """One coordinate per device dim (docs/spyre-rules.md: Device coordinates).

    Device dims of extent 1 and of no or zero stride stay 0.
    """
    size, stride = layout.device_size, layout.stride_map
    dims = [i for i in range(len(size)) if size[i] > 1 and stride[i] > 0]
    terms: list[list[Term]] = [[] for _ in size]
    offsets = [0] * len(size)
    names = [""] * len(size)
    if index.offset:
        for d in dims:
            upper = _next_stride(layout, dims, d)
            part = index.offset % upper if upper < inf else index.offset
            if stride[d] <= index.offset:
                offsets[d] = int(part) // stride[d]
        offsets[-1] = _lane(layout, index.offset)
    wraps = dict(index.wraps)
    for variable, step in index.steps:
        wrap = wraps.get(variable, 0)
        extent = min(ranges.get(variable, 1), wrap or inf)
        if extent <= 1 or not step:
            continue
        limit = int(step * extent)
        below = [d for d in dims if stride[d] <= step]
        primary = max(below, key=lambda d: stride[d], default=None)
        used = sorted((d for d in dims if d == primary or step < stride[d] < limit), key=lambda d: stride[d])
        for low, high in pairwise(used):
            if stride[high] % stride[low]:
                raise _ragged(variable, step, stride[high])
        for d in used:
            term = _term(variable, step, limit, stride[d], _next_stride(layout, dims, d))
            terms[d].append(replace(term, modulus=wrap) if wrap and not term.modulus else term)
    for gather in index.gathers:
        target = next((d for d in dims if stride[d] == gather.step and size[d] >= gather.limit), None)
        if target is None:
            raise UnsupportedError(
                f"a gather with index {gather.name} moves {gather.step} host elements a step, of {gather.limit}, and no"
                f" device dim of {layout} has that stride and extent: index the first dim that is in no stick."
            )
        names[target] = gather.name
    return tuple(Coordinate(tuple(terms[i]), offsets[i], names[i]) for i in range(len(size)))


def _next_stride(layout: DeviceLayout, dims: list[int], dim: int) -> float:
    """The smallest stride above that of `dim`."""
    return min((layout.stride_map[i] for i in dims if layout.stride_map[i] > layout.stride_map[dim]), default=inf)


def _lane(layout: DeviceLayout, offset: int) -> int:
    """Where in its stick an offset lies: also where rows are no whole sticks, so that strides do not divide."""
    stride = layout.stride_map
    if stride[-1] <= 0:
        return 0
    outer = [s for s, n in zip(stride[:-1], layout.device_size, strict=False) if n > 1 and s > stride[-1]]
    for step in sorted(outer, reverse=True):
        offset %= step
    return offset // stride[-1]


def _term(variable: str, step: int, limit: int, stride: int, upper: float) -> Term:
    """`(v*step mod upper) // stride` as num * ((v mod m) // den)."""
    modulus = int(upper) if upper < limit else 0
    if step % stride == 0:
        num = step // stride
        if modulus and modulus % step:
            raise _ragged(variable, step, modulus)
        return Term(variable, num, modulus // step if modulus else 0)
    if stride % step or (modulus and modulus % step):
        raise _ragged(variable, step, modulus or stride)
    return Term(variable, 1, modulus // step if modulus else 0, stride // step)


def _ragged(variable: str, step: int, boundary: int) -> UnsupportedError:
    return UnsupportedError(
        f"unexpected stick expression: {variable} moves {step} host elements a step, which does not meet the device"
        f" boundary at {boundary} elements. Make the tensor contiguous, or its rows a multiple of the stick."
    )


@dataclass(frozen=True, slots=True)
class Stick:
    """The last device coordinate: which variable runs inside the sticks."""

    variable: str | None
    offset: int = 0


def stick_of(coordinates: tuple[Coordinate, ...], eps: int) -> Stick:
    """The stick variable; UnsupportedError for anything but 0, v, v mod eps, each plus a constant."""
    last = coordinates[-1]
    if not last.terms and not last.indirect:
        return Stick(None, last.offset)
    if len(last.terms) == 1 and not last.indirect:
        term = last.terms[0]
        if term.num == 1 and term.den == 1 and term.modulus in (0, eps):
            return Stick(term.var, last.offset)
    raise UnsupportedError(
        f"unexpected stick expression {last}: a stick of {eps} elements holds one loop variable at step 1."
    )


def ranges_of(size: Sequence[int]) -> tuple[tuple[str, int], ...]:
    """d0, d1, ... for the dims of more than one element."""
    return tuple((f"d{n}", s) for n, s in enumerate(s for s in size if s != 1))


def index_of(size: Sequence[int], stride: Sequence[int], offset: int = 0) -> Index:
    """The flat index of a loop over `size`, whose dims of one element have no variable."""
    steps = [s for n, s in zip(size, stride, strict=True) if n != 1]
    return Index(tuple((f"d{i}", int(s)) for i, s in enumerate(steps) if s), offset)
