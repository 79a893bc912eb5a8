"""Bring the tensors of an op to common dims, one variable per device dim (docs/spyre-rules.md: OpSpec)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, pairwise
from math import gcd

from irwidget.errors import UnsupportedError
from irwidget.spyre.coordinates import stick_of
from irwidget.spyre.expressions import ZERO, Coordinate, Term
from irwidget.spyre.layout import DeviceLayout


@dataclass(frozen=True, slots=True)
class Access:
    """A tensor and its device coordinates, before or after normalisation."""

    name: str
    layout: DeviceLayout
    coordinates: tuple[Coordinate, ...]
    is_index: bool = False
    wraps: tuple[tuple[str, int], ...] = ()
    """Variables that begin anew after so many steps."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """A tensor's extents and coordinates after normalisation."""

    size: tuple[int, ...]
    coordinates: tuple[Coordinate, ...]


@dataclass(frozen=True)
class Normalized:
    """Iteration space and tensors of an op with one variable per dim."""

    space: Mapping[str, tuple[int, int]]
    tensors: tuple[Aligned, ...]
    segments: Mapping[str, tuple[str, ...]]
    """Original symbol -> the symbols that it was split into, innermost first."""


Dim = tuple[int, Coordinate]


@dataclass(frozen=True, slots=True)
class _Segment:
    name: str
    low: int
    high: int
    """The digits of the original variable that it holds: (v mod high) // low."""


def normalize(space: Mapping[str, tuple[int, int]], accesses: Sequence[Access]) -> Normalized:
    """Split variables at the boundaries where tensors cut them, split and drop dims, pad to a common rank."""
    fused = [_fuse(access) for access in accesses]
    namer = _Namer()
    wraps = [wrap for access in accesses for wrap in access.wraps]
    segments = {v: _segments(v, space[v][0], fused, {n for w, n in wraps if w == v}, namer) for v in space}
    divided = _divide(space, segments, accesses)
    tensors: list[tuple[list[Dim], list[Dim]]] = []
    skipped = _Skipped(namer)
    for access, dims in zip(accesses, fused, strict=True):
        tensors.append(_rebuild(access, dims, segments, skipped.begin()))
    for _, dims in tensors:
        missing = [z for z in skipped.names if not any(z in c.variables for _, c in dims)]
        dims[:0] = [(1, Coordinate((Term(z),))) for z in reversed(missing)]
    rank = max(len(outer) + len(dims) for outer, dims in tensors)
    aligned = [_padded(outer, dims, rank) for outer, dims in tensors]
    full = {**divided, **dict.fromkeys(skipped.names, (1, 1))}
    return Normalized(full, tuple(aligned), {v: tuple(s.name for s in segments[v]) for v in space})


def _padded(outer: list[Dim], dims: list[Dim], rank: int) -> Aligned:
    """The dims in one row; those of one element that fill the rank lie inside of an outer stick dim, if any."""
    fill: list[Dim] = [(1, ZERO)] * (rank - len(outer) - len(dims))
    row = [*fill, *outer, *dims] if outer[:1] == [(1, ZERO)] else [*outer, *fill, *dims]
    return Aligned(tuple(n for n, _ in row), tuple(c for _, c in row))


class _Namer:
    def __init__(self) -> None:
        self.count = 0

    def next(self) -> str:
        self.count += 1
        return f"z{self.count - 1}"


class _Skipped:
    """Names for the dims that tensors only stand on: each tensor takes them from the first."""

    def __init__(self, namer: _Namer) -> None:
        self.namer = namer
        self.names: list[str] = []

    def begin(self) -> Iterator[str]:
        """The names for one tensor."""
        for position in count():
            if position == len(self.names):
                self.names.append(self.namer.next())
            yield self.names[position]


def _fuse(access: Access) -> list[Dim]:
    """One dim per term; those of one element are dropped, and neighbours that together run over one variable joined."""
    dims: list[Dim] = []
    size = access.layout.device_size
    for i in range(len(size) - 1):
        if size[i] == 1 and access.coordinates[i].is_zero:
            continue
        for here in _split_dim(size[i], access.coordinates[i], not dims):
            before = _joined(dims[-1], here) if dims else None
            if before is not None:
                dims[-1] = before
            else:
                dims.append(here)
    return [*dims, (size[-1], access.coordinates[-1])]


def _joined(outer: Dim, inner: Dim) -> Dim | None:
    (n, a), (m, b) = outer, inner
    if len(a.terms) != 1 or len(b.terms) != 1 or a.offset or b.offset or a.indirect or b.indirect:
        return None
    s, t = a.terms[0], b.terms[0]
    if s.var != t.var or s.num != 1 or t.num != 1 or not t.modulus or t.modulus != s.den or t.modulus != t.den * m:
        return None
    return n * m, Coordinate((Term(s.var, 1, s.modulus, t.den),))


def _segments(
    v: str, extent: int, tensors: Sequence[list[Dim]], wraps: set[int], namer: _Namer
) -> tuple[_Segment, ...]:
    """Cut a variable where some tensor does or begins anew, but at a tensor's own sticks only if it begins anew."""
    cuts = {n for n in wraps if 1 < n < extent}
    for dims in tensors:
        eps, last = dims[-1]
        own = eps if v in last.variables and not wraps else 0
        for _, coordinate in dims:
            for term in coordinate.terms:
                if term.var == v:
                    cuts |= {b for b in (term.den, term.modulus) if 1 < b < extent and b != own}
    bounds = sorted(cuts)
    for low, high in pairwise(bounds):
        if high % low:
            raise UnsupportedError(f"unexpected stick expression: {v} is cut at {low} and at {high} elements")
    if bounds and extent % bounds[-1]:
        raise UnsupportedError(f"unexpected stick expression: {v} of {extent} elements is cut at {bounds[-1]}")
    edges = [1, *bounds, extent]
    names = [v, *(namer.next() for _ in bounds)]
    return tuple(_Segment(n, a, b) for n, a, b in zip(names, edges, edges[1:], strict=False))


def _divide(
    space: Mapping[str, tuple[int, int]],
    segments: Mapping[str, tuple[_Segment, ...]],
    accesses: Sequence[Access],
) -> dict[str, tuple[int, int]]:
    """Hand a variable's split out over its segments, from the outermost in."""
    sticks = {
        stick_of(a.coordinates, a.layout.elements_per_stick).variable: a.layout.elements_per_stick for a in accesses
    }
    made: dict[str, tuple[int, int]] = {}
    for v, (extent, split) in space.items():
        parts = segments[v]
        if len(parts) == 1:
            made[v] = (extent, split)
            continue
        shares: dict[str, int] = {}
        left = split
        for part in reversed(parts):
            size = part.high // part.low
            units = -(-size // sticks[v]) if part.low == 1 and v in sticks else size
            shares[part.name] = gcd(left, units)
            left //= shares[part.name]
        if left > 1:
            raise UnsupportedError(f"the split {split} of {v} does not divide over its parts of {extent}")
        made.update({p.name: (p.high // p.low, shares[p.name]) for p in parts})
    return made


def _rebuild(
    access: Access,
    dims: list[Dim],
    segments: Mapping[str, tuple[_Segment, ...]],
    skipped: Iterator[str],
) -> tuple[list[Dim], list[Dim]]:
    """The outer stick dim where the tensor has none, and its dims over segments and skipped dims' variables."""
    eps, last = dims[-1]
    made: list[Dim] = []
    for position, (size, coordinate) in enumerate(dims[:-1]):
        if coordinate.indirect:
            made.append((size, coordinate))
            continue
        terms = [part for term in coordinate.terms for part in _over_segments(term, segments[term.var])]
        for part in _split_dim(size, Coordinate(tuple(terms), coordinate.offset), position == 0):
            if not part[1].terms and part[0] > 1:
                part = (part[0], replace(part[1], terms=(Term(next(skipped)),)))
            if part[0] > 1 or part[1].terms:
                made.append(part)
    stick = stick_of(access.coordinates, eps).variable
    terms = [part for term in last.terms for part in _over_segments(term, segments[term.var])]
    inner = terms[0].var if terms else None
    if stick is not None and inner is not None:
        last = Coordinate((Term(inner, 1, eps),), last.offset)
    added: list[Dim] = []
    if inner is None:
        added = [(1, ZERO)]
    elif not any(inner in c.variables for _, c in made):
        added = [(1, Coordinate((Term(inner, 1, 0, eps),)))]
    return added, [*made, (eps, last)]


def _over_segments(term: Term, parts: tuple[_Segment, ...]) -> list[Term]:
    top = term.modulus or parts[-1].high
    found: list[Term] = []
    for part in parts:
        low, high = max(part.low, term.den), min(part.high, top)
        if low < high:
            modulus = 0 if high == part.high else high // part.low
            found.append(Term(part.name, term.num * (low // term.den), modulus, low // part.low))
    return found or [Term(parts[0].name, term.num, 0, term.den)]


def _split_dim(size: int, coordinate: Coordinate, outermost: bool) -> list[Dim]:
    """One dim per term: `4*a + b` over 256 becomes a over 64 and b over 4."""
    terms, offset = sorted(coordinate.terms, key=lambda t: -t.num), coordinate.offset
    if not terms or coordinate.indirect:
        return [(size, coordinate)]
    made: list[Dim] = []
    above = size
    for term in terms:
        if above % term.num and not (outermost and not made):
            raise UnsupportedError(f"unexpected stick expression: a step of {term.num} in a device dim of {above}")
        made.append((-(-above // term.num), Coordinate((replace(term, num=1),), offset // term.num)))
        offset %= term.num
        above = term.num
    if above > 1:
        made.append((above, Coordinate((), offset)))
    return made
