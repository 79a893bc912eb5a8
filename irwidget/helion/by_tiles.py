"""Helion's eager mode tile by tile, for kernels whose result depends on how the work is cut into tiles.

Eager mode by itself takes each loop that states no size as one tile. Here it takes those of a binding's configuration.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from irwidget.helion import private
from irwidget.helion.bound import Binding

MOST = 1000
"""Tiles of a run, all loops together, beyond which a kernel is not run so: eager mode takes milliseconds for each."""


@contextlib.contextmanager
def cut(binding: Binding) -> Generator[None]:
    """Meanwhile, eager mode cuts the loops of a kernel into the tiles of the binding's configuration.

    What the kernel calls then raises NotImplementedError where a loop's tiles are not known, or there are too many.
    """
    known, count = _lanes(binding), itertools.count(1)

    def counted(tiles: Iterable[Any]) -> Generator[Any]:
        for one in tiles:
            if next(count) > MOST:
                raise NotImplementedError(f"more than {MOST} tiles")
            yield one

    def around(own: Callable[..., Iterable[Any]]) -> Callable[..., Iterable[Any]]:
        def tile(begin: Any, end: Any = None, block_size: Any = None) -> Iterable[Any]:
            frame = inspect.currentframe()
            while frame is not None and (frame.f_code.co_filename, frame.f_lineno) not in known:
                frame = frame.f_back
            if frame is None:
                raise NotImplementedError("a loop whose tiles are not known")
            return counted(own(begin, end, list(known[frame.f_code.co_filename, frame.f_lineno])))

        return tile

    with private.eager_tiles(around):
        yield


def _lanes(binding: Binding) -> dict[tuple[str, int], Sequence[int]]:
    """The lanes of the tiles of loops, dim by dim, by file and line; without lines that have several loops."""
    found: dict[tuple[str, int], set[tuple[int, ...]]] = {}
    with binding.entered():
        for root, blocks in enumerate(binding.device_ir.grid_block_ids):
            place = private.loop_place(binding.device_ir, root)
            if place is not None:
                found.setdefault(place, set()).add(_of(binding, blocks))
        for node in binding.nodes:
            place = node.meta.get("location")
            if private.op_name(node) in ("_for_loop", "_for_loop_step") and getattr(place, "filename", None):
                blocks = binding.infos[node.args[0]].block_ids
                found.setdefault((place.filename, int(place.lineno)), set()).add(_of(binding, blocks))
    return {place: lanes for place, (lanes, *others) in found.items() if not others and all(lanes)}


def _of(binding: Binding, blocks: Sequence[int]) -> tuple[int, ...]:
    """The lanes of blocks, 0 where they are not known."""
    return tuple(binding.block_sizes.get(block, 0) for block in blocks)
