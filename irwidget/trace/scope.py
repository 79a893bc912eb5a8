"""What a dump shows of a module, and which dump it is therefore compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Scope:
    """What a dump shows, from the outside in: the whole module where all are empty."""

    kernel: str = ""
    """The GPU kernel, where a module is split into them."""
    function: str = ""
    loop: str = ""
    """The loop's header, as LLVM's loop passes name it: `%for.body`."""
    anchor: str = ""
    """The operation that an MLIR pass ran on, `func.func`; its dump shows the whole module all the same."""

    @property
    def whole(self) -> bool:
        """Whether the dump shows the whole module."""
        return not (self.kernel or self.function or self.loop)

    @property
    def outer(self) -> Scope | None:
        """What this one is a part of; None for the whole module."""
        if self.whole:
            return None
        if self.loop:
            return Scope(self.kernel, self.function)
        return Scope(self.kernel) if self.kernel and self.function else Scope()

    def __str__(self) -> str:
        if self.whole:
            return self.anchor or "module"
        place = " in function ".join(part for part in (self.loop, self.function) if part)
        return ": ".join(part for part in (self.kernel, place) if part)


WHOLE = Scope()
"""The whole module."""
shared_scope = lru_cache(4096)(Scope)
"""A scope that is made once: for logs of a hundred thousand dumps."""


class Scoped(Protocol):
    """What has a place in a list of dumps."""

    @property
    def scope(self) -> Scope: ...
    @property
    def language(self) -> str: ...


def predecessors(dumps: Sequence[Scoped]) -> list[int]:
    """For each dump, the one that it is compared with: the last of the same scope, or -1.

    The first dump of a function follows the last of its kernel, and that of a kernel the last of the module. The first
    of a loop, which is printed without what is around it, follows nothing, nor does what puts several kernels together
    in another language. Of a function nothing of which came before, nothing is known: -1.
    """
    last: dict[_Key, int] = {}
    found: list[int] = []
    function = ""
    for i, dump in enumerate(dumps):
        key = _key(dump.scope)
        at = last.get(key)
        if at is None and dump.scope.loop:
            at = -1
        elif at is None:
            at = _last_around(dump.scope.outer, last, i - 1 if i and key[1] == function else -1)
        joined = at >= 0 and key == _key(WHOLE) and dumps[at].language != dump.language
        found.append(-1 if joined and at < i - 1 else at)
        last[key] = i
        function = key[1]
    return found


_Key = tuple[str, str, str]
"""What a scope is compared by: an anchor shows the whole module. Tuples compare without a line of Python."""


def _key(scope: Scope) -> _Key:
    return scope.kernel, scope.function, scope.loop


def _last_around(scope: Scope | None, last: Mapping[_Key, int], otherwise: int) -> int:
    while scope is not None:
        if _key(scope) in last:
            return last[_key(scope)]
        scope = scope.outer
    return otherwise
