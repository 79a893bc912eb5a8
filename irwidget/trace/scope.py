"""What a dump shows of a module, and which dump it is therefore compared with."""

from __future__ import annotations

from collections.abc import Sequence
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
        place = f"{self.loop} in function {self.function}" if self.loop else self.function
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

    The first dump of a loop follows the last of its function, that of a function the last of its kernel, and that of a
    kernel the last of the module. What puts several kernels together in another language has nothing of its own to
    follow: it is compared with its neighbour. Of a function nothing of which came before, nothing is known: -1.
    """
    last: dict[Scope, int] = {}
    found: list[int] = []
    for i, dump in enumerate(dumps):
        scope = dump.scope
        scope = Scope(scope.kernel, scope.function, scope.loop) if scope.anchor else scope
        at = _last_around(scope, last, i - 1 if i and _alike(scope, dumps[i - 1].scope) else -1)
        joined = scope.whole and at >= 0 and dumps[at].language != dump.language
        found.append(i - 1 if joined else at)
        last[scope] = i
    return found


def _alike(one: Scope, other: Scope) -> bool:
    """Whether both show the same function, or neither shows one."""
    return one.function == other.function


def _last_around(scope: Scope | None, last: dict[Scope, int], otherwise: int) -> int:
    while scope is not None:
        if scope in last:
            return last[scope]
        scope = scope.outer
    return otherwise
