"""Whether loads and stores stay inside their tensors, as far as it is known before they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irwidget.helion import private
from irwidget.helion.bindings import ir
from irwidget.helion.builder import Size
from irwidget.helion.indexing import Index, ScalarIndex, SliceIndex, Subscript, TensorIndex, TileIndex
from irwidget.helion.symbols import expression
from irwidget.helion.values import HostTensor

if TYPE_CHECKING:
    from irwidget.helion.emitter import Emitter

_LEFT_OUT = "writes outside of {}, which is left out"


def note(emitter: Emitter, host: HostTensor, subscript: Subscript, *, masked: bool, clamped: bool = False) -> None:
    """Take an access into account. One that is known to reach past an end is said of its node, unless masked.

    What is `clamped` to the tensor stays inside.
    """
    reach = emitter.reach
    if clamped or not subscript.regular:
        what = "reads outside of {}, and takes the nearest element inside" if clamped else _LEFT_OUT
        reach.point(what.format(host.name))
    for dim, (_, index) in enumerate(subscript.memory):
        if not clamped and not _inside(emitter, host, dim, index):
            reach.unproven = True
        size, end = _number(emitter, _extent(emitter, host, dim)), _end(emitter, index)
        if size is None or size == 1:
            continue
        reach.ends.setdefault((host.name, dim), (size, []))[1].append(end)
        if end is not None and end > size and not masked:
            emitter.said("warning", f"dim {dim} of {host.name} is of {size}, and this goes on to {end}, past its end")


def _extent(emitter: Emitter, host: HostTensor, dim: int) -> Any:
    """The size of a dim: a number, or Helion's symbol of it."""
    if host.shape[dim] >= 0:
        return host.shape[dim]
    fake = next(fake for fake, known in emitter.tensors.items() if known is host)
    return expression(fake.shape[dim])


def _inside(emitter: Emitter, host: HostTensor, dim: int, index: Index) -> bool:
    """Whether an index is known to stay inside a dim."""
    size = _extent(emitter, host, dim)
    match index:
        case TileIndex(single=True):
            return True
        case TileIndex(loop=None):
            return isinstance(size, int) and index.size <= size
        case TileIndex(loop=loop) if loop is not None:
            if loop.parent is not None or not isinstance(loop.begin, int) or loop.begin < 0:
                return False
            if isinstance(loop.end, int):
                return isinstance(size, int) and loop.end <= size
            return _is(loop.end, emitter.symbol_values.get(size))
        case ScalarIndex(position=int()) | SliceIndex(start=int()):  # cut to a dim of known size
            return isinstance(size, int)
        case TensorIndex():  # what reads or writes there keeps it inside
            return True
        case _:
            return size == 1


def _end(emitter: Emitter, index: Index) -> int | None:
    """Where the loop of a tile ends that begins at 0, by the sizes that the kernel was bound with."""
    if not isinstance(index, TileIndex) or index.loop is None or index.loop.parent is not None:
        return None
    starts = isinstance(index.loop.begin, int) and index.loop.begin == 0
    return _number(emitter, index.loop.end) if starts else None


def _number(emitter: Emitter, size: Size | Any) -> int | None:
    """The number that a size was when the kernel was bound; None for what only a run knows."""
    if isinstance(size, int):
        return size
    symbols = [symbol for symbol, value in emitter.symbol_values.items() if symbol == size or _is(value, size)]
    known = private.backed_values(emitter.binding.env.shape_env)
    return next((int(known[symbol]) for symbol in symbols if symbol in known), None)


def _is(one: Any, other: Any) -> bool:
    """Whether both are one value of the module."""
    return isinstance(one, ir.Value) and isinstance(other, ir.Value) and one == other
