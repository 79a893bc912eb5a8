"""Functions of MLIR that have one name, in modules inside of a module, or as operations of two dialects: told apart.

A compiler that prints only what a pass ran on does not say which `@main` it is. A function that cannot be put back
into its module would be compared with another.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace

from irwidget.readers import mlir
from irwidget.readers.grouping import Piece, is_same
from irwidget.readers.log import Log
from irwidget.trace import Scope

_SEVERAL = (
    "Which of several {} its texts are, the log does not say of all: they are not compared with each other. Dumps of "
    "their module have each as the module had it (--mlir-print-ir-module-scope shows all of it)"
)
_LEAST, _SHARE = 2, 3
"""So many texts that did not change, and one of so many, are those of a log that has all passes."""
_BY_TYPES = "Texts of several {} are told apart by what these take and return{}"
_BY_TEXTS = ", or by what they were before a pass"
_BY_ORDER = ", or by what was printed before and after them"


def told_apart(log: Log, pieces: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[str]]:
    """The dumps of a compilation; those of functions whose name others have, too, with what each is in, and under a
    longer name. And what to know of them.

    A function is in what was printed last around one of its operation and its name, or in the one of which the module
    has it with these arguments and results, or with the text that it has before a pass. Where the log has not said so
    of one that the module has several of, each dump has a name of its own, which no other is compared with, but for the
    one before and the one after a pass.
    """
    pieces, nameless = _modules_apart(pieces)
    places = _Places(log, pieces)
    found = {i: place for i, piece in enumerate(pieces) if (place := places.take(i, piece))}
    kinds: defaultdict[str, set[str]] = defaultdict(set)
    containers: defaultdict[tuple[str, str], set[str | None]] = defaultdict(set)
    for i, (operation, container) in found.items():
        kinds[pieces[i].symbol].add(operation)
        containers[pieces[i].symbol, operation].add(container)
    made = list(pieces)
    unknown: dict[str, bool] = {}
    texts = _Texts()
    for i, (operation, container) in found.items():
        symbol = pieces[i].symbol
        name = _name(pieces[i])
        several = len(containers[symbol, operation]) > 1
        double = name in places.double
        nowhere = container is None and double
        if double:
            unknown[name] = unknown.get(name, False) or nowhere
        if nowhere:
            name += f" (text {texts.number(i, pieces[i])})"
        elif several or double:
            name += f" in @{container}" if container else ""
        if several or len(kinds[symbol]) > 1 or double:
            printed = replace(pieces[i].printed, scope=Scope(function=name))
            own = container if _name(pieces[i]) in places.twice else None
            made[i] = replace(pieces[i], printed=printed, container=own)
    unknown |= dict.fromkeys(nameless, True)
    by = {name: "".join(words for words, names in places.by.items() if name in names) for name in unknown}
    return made, [(_SEVERAL if lost else _BY_TYPES).format(name, by[name]) for name, lost in unknown.items()]


def _modules_apart(pieces: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[str]]:
    """The dumps, and what modules in the module are called of which nothing tells which they are, as others have their
    name, or no name either, and their functions: each dump of one has a name of its own, too.
    """
    made: list[Piece] = []
    unknown: dict[str, None] = {}
    module: Piece | None = None
    for i, piece in enumerate(pieces):
        if piece.whole and piece.printed.language == "mlir" and piece.digest:
            module = piece
        if piece.nested and module is not None and sum(is_same(one, piece) for one in module.modules) > 1:
            unknown[
                f"{piece.operation} @{piece.symbol}" if piece.symbol else f"{piece.operation} of @{piece.child}"
            ] = None
            piece = replace(piece, symbol="", child=f"{piece.child} (text {i})")
        made.append(piece)
    return made, [*unknown]


def _name(piece: Piece) -> str:
    return f"{piece.operation} @{piece.symbol}"


class _Places:
    """For dumps of functions, one after the other, what they are in."""

    def __init__(self, log: Log, pieces: Sequence[Piece]) -> None:
        self._log = log
        containers: defaultdict[str, set[str]] = defaultdict(set)
        self._next: list[dict[str, tuple[str, str]]] = []
        """For each dump, of each function the next that has it inside, with the signature that it has there."""
        following: dict[str, tuple[str, str]] = {}
        for piece in reversed(pieces):
            self._next.append(following)
            if piece.members:
                following = {**following, **_members(piece)}
                for name in _members(piece):
                    containers[name].add(piece.symbol)
        self._next.reverse()
        self.twice = {one.name for piece in pieces for one in piece.twice}
        """The functions of which a module has several."""
        known = frozenset[str]().union(*(piece.defines for piece in pieces if piece.whole))
        others = {name for name, found in containers.items() if len(found) > 1 and name.partition("@")[2] not in known}
        self.double = self.twice | others
        """Those, and the ones that several operations have which are in no module that was printed."""
        self.by: dict[str, set[str]] = {_BY_TEXTS: set(), _BY_ORDER: set()}
        """Those that something else than their types has told apart."""
        self._all = _has_all(pieces, self.twice)
        self._around: dict[str, tuple[str, str]] = {}
        self._module = next((piece for piece in pieces if piece.twice), None)
        self._now: dict[str, dict[str, bytes]] = {}
        """Of each function of which the module has several the text that it has in each container, as far as known."""
        self._ran: dict[tuple[str, str], list[tuple[str | None, bytes, Sequence[str]]]] = defaultdict(list)
        """For each function and pass those that the pass has begun on, by their containers, with their texts."""

    def take(self, at: int, piece: Piece) -> tuple[str, str | None] | None:
        """The operation of a function and what it is in, None where that is not known; None for what is none."""
        if piece.members:
            self._around |= _members(piece)
        if piece.twice:
            self._module = piece
            self._now.clear()
        if not piece.operation.endswith("func") or piece.printed.scope.function != piece.symbol:
            self._update(piece)
            return None
        name = _name(piece)
        if self._module is not None and any(one.name == name for one in self._module.twice):
            return piece.operation, self._of_module(at, name, piece, self._module)
        last, following = self._around.get(name), self._next[at].get(name)
        if name not in self.double:
            return piece.operation, last and last[0]
        signature = piece.signature.decode(errors="replace")
        found = {one[0] for one in (last, following) if one and one[1] == signature}
        return piece.operation, found.pop() if last and len(found) == 1 else None

    def _of_module(self, at: int, name: str, piece: Piece, module: Piece) -> str | None:
        same = [one for one in module.twice if (one.name, one.signature) == (name, piece.signature)]
        if len(same) < 2:
            return same[0].container if same else None
        if name not in self._now:
            self._now[name] = {one.container: self._text(one.at, module, one.indent) for one in same}
        now, ran = self._now[name], self._ran[name, piece.printed.name]
        text = self._text(piece.printed.start, piece, 0)
        if piece.printed.when == "before":
            found = [one for one, known in now.items() if known == text]
            container = found[0] if len(found) == 1 and len(now) == len(same) else None
            ran.append((container, text, found))
            for one in found:
                del now[one]  # until the text after the pass
        else:
            container, before, found = ran[0] if len(ran) == 1 else (None, b"", ())
            ran.clear()
            if container is None and before != text:
                now.clear()  # one of them is another by now
            else:
                now |= dict.fromkeys(found, text)
        if container is not None:
            self.by[_BY_TEXTS].add(name)
            return container
        container = self._by_order(at, name, [one.container for one in same])
        if container is not None:
            self.by[_BY_ORDER].add(name)
            if piece.printed.when == "before":
                ran[-1] = container, text, [container]
            else:
                now[container] = text
        return container

    def _by_order(self, at: int, name: str, containers: Sequence[str]) -> str | None:
        """The module in which a function is that was printed between two dumps of it: a pipeline runs to its end on one
        before it begins on the next.
        """
        if not self._all:
            return None
        last, following = self._around.get(_inside(name)), self._next[at].get(_inside(name))
        if not last or not following or last != following or containers.count(last[0]) != 1:
            return None
        return last[0]

    def _update(self, piece: Piece) -> None:
        """Take the texts of what is in a module of the module, or in another operation, from its own dump."""
        if piece.twice or not piece.digest or piece.printed.language != "mlir":
            return
        data = self._log.read(piece.printed.start, piece.printed.stop) if self._now else b""
        inside = {f"{one.operation} @{one.symbol}": one for one in mlir.functions(data)} if self._now else {}
        for name, now in self._now.items():
            if name in inside and piece.symbol in now:
                one = inside[name]
                now[piece.symbol] = self._text(piece.printed.start + one.at, piece, one.indent)
            elif name in inside or not piece.symbol:
                now.clear()

    def _text(self, start: int, piece: Piece, indent: int) -> bytes:
        """The text of a function that is in a dump, as if it were in nothing."""
        data = self._log.read(start, piece.printed.stop)
        data = data[mlir.begin(data, 0) :]
        closes = re.search(rb"^ {%d}\}[^\n]*" % indent, data, re.M)
        own = data[: closes.end()] if closes else data.partition(b"\n")[0]
        return re.sub(rb"^ {%d}" % indent, b"", own, flags=re.M)


def _members(piece: Piece) -> dict[str, tuple[str, str]]:
    """The functions inside of an operation, with its symbol and their signatures."""
    parts = (one.partition("\n") for one in piece.members)
    return {_inside(name) if piece.nested else name: (piece.symbol, signature) for name, _, signature in parts}


def _inside(name: str) -> str:
    """How a function is called that is in a module in the module."""
    return f"module {name}"


def _has_all(pieces: Sequence[Piece], twice: Collection[str]) -> bool:
    """Whether passes that changed nothing have a dump, too, by how many texts are what they were: a few are even where
    MLIR prints what it takes for changed (--mlir-print-ir-after-change). Of those in `twice` nothing is known.
    """
    last: dict[Scope, bytes] = {}
    count = same = 0
    for piece in pieces:
        if piece.printed.when != "after" or not piece.digest or _name(piece) in twice:
            continue
        before = last.get(piece.printed.scope)
        count += before is not None
        same += before == piece.digest
        if piece.whole:
            last.clear()
        last[piece.printed.scope] = piece.digest
    return same >= _LEAST and same * _SHARE >= count


class _Texts:
    """The numbers of texts that nothing tells apart; those before and after a pass have one."""

    def __init__(self) -> None:
        self._before: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)

    def number(self, at: int, piece: Piece) -> int:
        """That of a dump."""
        waiting = self._before[piece.operation, piece.symbol, piece.printed.name]
        if piece.printed.when == "before":
            waiting.append(at)
            return at
        one, sure = (waiting[-1], len(waiting) == 1) if waiting else (at, False)
        waiting.clear()
        return one if sure else at
