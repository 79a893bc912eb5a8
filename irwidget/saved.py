"""Lowerings from .irtrace files."""

from __future__ import annotations

import os

from irwidget.errors import UsageError
from irwidget.result import Lowering
from irwidget.trace import reading


def load(path: str | os.PathLike[str], number: int | None = None, *, most: int = reading.MOST) -> Lowering:
    """The lowering that a file holds, as `low.save("x.irtrace")` or a view wrote it.

    It displays, diffs and exports like a fresh one; `expand()` and `run()` take what was lowered, and are not
    available. `number` says which, counted from 0, of a file that holds several. A file whose writer was stopped opens
    up to there, and `low.diagnostics` says that it ends early. It may take `most` bytes of memory.

    Raises UsageError when there is no such file or lowering, and when the file is damaged, of a newer version or takes
    more memory than it may.
    """
    found = load_all(path, most=most)
    if number is None and len(found) > 1:
        named = ", ".join(f"{i}: {low.name or 'IR'} to {low.target}" for i, low in enumerate(found))
        raise UsageError(f"{os.fspath(path)} holds {len(found)} lowerings ({named}): say which, load(path, 0)")
    if not 0 <= (number or 0) < len(found):
        raise UsageError(f"There is no lowering {number} in {os.fspath(path)}: it holds {len(found)}, counted from 0")
    return found[number or 0]


def load_all(path: str | os.PathLike[str], *, most: int = reading.MOST) -> list[Lowering]:
    """Every lowering that a file holds; otherwise as `load`. Raises UsageError as it does."""
    if not isinstance(path, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(f"load takes the path of an .irtrace file, not a {type(path).__name__}")
    made: list[Lowering] = []
    for trace in reading.read(os.fspath(path), most).traces:
        low = Lowering(trace)
        low.file = os.fspath(path)
        made.append(low)
    return made
