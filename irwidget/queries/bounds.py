"""Keep answers small: of long lists and long lines a part, and where to go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

MOST = 6000
"""Characters of an answer, about, where nobody asks for more."""
_LINE = 400
"""Characters of a line of IR that are shown."""


def short(line: str, most: int = _LINE) -> str:
    """A line, or its beginning and how long it is."""
    return line if len(line) <= most else f"{line[:most]}... ({len(line)} characters)"


def part(items: Sequence[Any], first: int = 0, count: int | None = None, most: int = MOST) -> dict[str, Any]:
    """`items` from `first` on, as many as fit: `{"items", "total"}`, and `next`, where to go on, if there are more.

    count: at most so many; None: as many as fit into `most` characters of JSON. There is always one, however long.
    """
    shown: list[Any] = []
    letters = 0
    for item in items[first : None if count is None else first + count]:
        letters += len(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)) + 2
        if shown and letters > most:
            break
        shown.append(item)
    answer: dict[str, Any] = {"items": shown, "total": len(items)}
    if first + len(shown) < len(items):
        answer["next"] = first + len(shown)
    return answer
