"""Keep answers small: of long lists and long lines a part, and where to go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from irwidget.errors import UsageError

MOST = 6000
"""Characters of an answer, about, where nobody asks for more."""
_LINE = 400
"""Characters of a line of IR that are shown."""


def short(line: str, most: int = _LINE) -> str:
    """A line, or its beginning and how long it is."""
    return line if len(line) <= most else f"{line[:most]}... ({len(line)} characters)"


def check(first: int, count: int | None, least: int = 0) -> None:
    """Refuse what names no part of a list: it would be answered with another part. Raises UsageError.

    least: the number of the first item.
    """
    if first < least:
        raise UsageError(f"first is {first}: counting begins at {least}; an answer's next says where to go on")
    if count is not None and count < 1:
        raise UsageError(f"count is {count}: leave it out for as many as fit")


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
