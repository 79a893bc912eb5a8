"""Contents that are made anew from something at rest, a file say, whenever somebody looks at them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection

from irwidget.errors import ToolError
from irwidget.trace.texts import Content

_KEPT = 4
"""Contents that are kept: who packs a dump, or compares it with its neighbour, looks at it more than once."""
_LARGEST = 4_000_000
"""Letters of a content that is kept at most."""


class ContentCache:
    """Contents by number, each made when it is looked at; the last few are kept."""

    def __init__(
        self,
        make: Callable[[int], Content],
        lost: Collection[int] = (),
        why: str = "",
        size: Callable[[int], int] = lambda _: 0,
    ) -> None:
        """`lost` are those that will never come, `why` the reason.

        `size` tells of a content, without making it, how many bytes what it is made of has; 0 where that is not known.
        """
        self.size = size
        self._make = make
        self._lost = frozenset(lost)
        self._why = why
        self._kept: OrderedDict[int, Content] = OrderedDict()
        self._lock = threading.RLock()

    def content(self, index: int) -> Content:
        """The content. Raises ToolError where it will never come, and what making it raises."""
        if index in self._lost:
            raise ToolError(self._why, tool="")
        with self._lock:
            found = self._kept.get(index)
            if found is None:
                found = self._make(index)
                if len(found.text) <= _LARGEST:
                    self._kept[index] = found
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
            return found

    def text(self, index: int) -> str:
        """The text. Raises ToolError where it will never come, and what making it raises."""
        return self.content(index).text

    def ready(self, index: int) -> bool:
        """Whether there is one: nobody has to be waited for."""
        return index not in self._lost

    def arrived(self, index: int) -> str | None:
        """The text; None where it will never come. Raises what making it raises, a ToolError for one."""
        return None if index in self._lost else self.content(index).text
