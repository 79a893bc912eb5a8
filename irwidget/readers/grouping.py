"""Which dumps of a log belong together: it may have several compilations, of kernels or modules, one after the other.

Told by what the dumps define, unless the log says it: a module that shares no symbol with the one before it is another;
so is one with which the passes begin again, in a language that had been lowered already.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from irwidget.readers import llvm, mlir, tvmscript
from irwidget.readers.found import PrintedDump, Said
from irwidget.readers.log import Log
from irwidget.trace import shared_scope

_LOOKED_AT = 1 << 23
"""Bytes of a dump that are looked at for what it defines."""
_WORD = re.compile(r"[A-Za-z0-9]+")
_SELECTS = ("isel", "irtranslator")
"""What the names of passes end in that make machine IR of a function."""
_LOWERED = {"mlir": 0, "llvm": 1, "mir": 2}
"""The languages of logs, numbered in the order in which compilers lower to them."""


@dataclass(frozen=True, slots=True)
class Namesake:
    """A function of MLIR in a module, where another has its name."""

    name: str
    """`func.func @f`."""
    container: str
    """The symbol of the module that it is in."""
    signature: bytes
    at: int
    """Where in the log the line is that it begins with."""
    indent: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A dump with what telling compilations apart takes."""

    printed: PrintedDump
    digest: bytes
    """Of its bytes; empty where it has none."""
    operation: str = ""
    """Of MLIR: the outermost operation."""
    symbol: str = ""
    defines: frozenset[str] = frozenset()
    """The functions in it."""
    inner: frozenset[str] = frozenset()
    """Of MLIR: those that are in a module of the module."""
    outer: frozenset[str] = frozenset()
    """The others."""
    modules: tuple[mlir.Nested, ...] = ()
    """Of MLIR, of a module: those in it."""
    kinds: frozenset[str] = frozenset()
    """Of MLIR: the operations that functions are written with, `tt.func`."""
    module: str = ""
    """Of LLVM IR: the module's name."""
    child: str = ""
    """Of MLIR, not of a module that is part of no other: a symbol in it, which tells it from others."""
    names: frozenset[str] = frozenset()
    """Of MLIR, of an operation without a symbol: all symbols that it names."""
    members: frozenset[str] = frozenset()
    """Of MLIR, of an operation in a module that has functions in it: each with its operation, `gpu.func @f`, and, on
    another line, its signature."""
    twice: frozenset[Namesake] = frozenset()
    """Of MLIR, of a module that is part of no other: the functions of which several have one name."""
    signature: bytes = b""
    """Of MLIR, of a function: the line that it begins with, but for names that are counted anew."""
    container: str | None = None
    """Of MLIR, of a function whose name others have, too: the symbol of what it is in; None where that is not known."""
    nested: bool = False
    """Whether it shows a module that is part of another."""
    selected: bool = False
    """Of machine IR: whether it is as instruction selection leaves it, each register with one definition."""

    @property
    def whole(self) -> bool:
        """Whether it shows a module that is part of no other."""
        return self.printed.scope.whole and not self.nested


@dataclass(slots=True)
class LoggedCompilation:
    """The dumps of one compilation, and what was said between them."""

    pieces: list[Piece] = field(default_factory=list[Piece])
    said: list[tuple[int, Said]] = field(default_factory=list[tuple[int, Said]])
    """With the number of pieces before each."""
    module: Piece | None = None
    """The last that shows a module, by which the next is judged."""
    symbols: set[str] = field(default_factory=set[str])
    """What its modules define, all of them."""
    last: Piece | None = None
    """The last with a text."""
    names: set[str] = field(default_factory=set[str])
    """What any of its texts defines."""
    machine: dict[str, set[tuple[str, str, bool]]] = field(default_factory=dict[str, set[tuple[str, str, bool]]])
    """Of each function of machine IR the passes that it was printed for, each with `Piece.selected`."""

    def add(self, piece: Piece) -> None:
        """Add a dump."""
        self.pieces.append(piece)
        if not piece.digest:
            return
        self.last = piece
        self.names |= functions_of(piece)
        if piece.whole:
            self.module = piece
            self.symbols |= piece.defines
        if piece.printed.language == "mir":
            ran = piece.printed.name, piece.printed.when, piece.selected
            self.machine.setdefault(piece.symbol, set()).add(ran)


def functions_of(piece: Piece) -> frozenset[str]:
    """The functions of a text: those that it defines, or the one that it is of."""
    one = "" if piece.printed.language == "mlir" else piece.printed.scope.function
    return piece.defines or (frozenset((one,)) if one and not piece.printed.scope.loop else piece.defines)


_Sets = dict[frozenset[str], frozenset[str]]
"""Sets of symbols, each once: of a hundred thousand dumps of few modules, most have the same."""


def looked_at(log: Log, printed: PrintedDump, sets: _Sets) -> Piece:
    """A dump with what it defines."""

    def once(names: Iterable[str]) -> frozenset[str]:
        made = frozenset(names)
        return sets.setdefault(made, made)

    if printed.stop <= printed.start:
        return Piece(printed, b"")
    digest = blake2b(digest_size=12)
    parts: list[bytes] = []
    for offset, data in log.windows(printed.start, printed.stop):
        digest.update(data)
        if offset < printed.start + _LOOKED_AT:
            parts.append(data)
    head = b"".join(parts)
    if printed.language == "mlir":
        body = mlir.body(head)
        if not printed.scope.whole and body.operation.endswith("func"):
            signature = mlir.signature(head, mlir.begin(head, body.start))
            own = once((body.symbol,))
            return Piece(printed, digest.digest(), body.operation, body.symbol, own, signature=signature)
        functions = mlir.functions(head)
        defines = once(one.symbol for one in functions)
        inner = once(one.symbol for one in functions if one.indent > mlir.STEP)
        child, names = "", once(())
        if not printed.scope.whole:
            child = min((one.symbol for one in functions), default="")
            if not child and not body.symbol:
                named = mlir.referred(head.decode(errors="replace"))
                names, child = once(named), named[-1] if named else ""
        return Piece(
            printed,
            digest.digest(),
            body.operation,
            body.symbol,
            defines,
            inner,
            once(defines - inner),
            tuple(mlir.nested(head, functions)) if inner and printed.scope.whole else (),
            once(one.operation for one in functions if printed.scope.whole),
            members=once(() if printed.scope.whole else (_signed(head, one) for one in functions)),
            twice=_twice(head, functions, printed.start)
            if len(defines) < len(functions) and printed.scope.whole
            else frozenset(),
            child=child,
            names=names,
        )
    several = printed.scope.whole or "," in printed.scope.function or head.count(b"define ") > 1
    if printed.language == "llvm" and not printed.scope.loop and several:
        return Piece(
            printed,
            digest.digest(),
            symbol=printed.scope.function,
            defines=once(llvm.defined(head)),
            module=llvm.module_id(head) if printed.scope.whole else "",
        )
    if printed.language == "python":
        return Piece(printed, digest.digest(), defines=once(tvmscript.functions(head)))
    selected = printed.language == "mir" and llvm.is_selected(head)
    return Piece(printed, digest.digest(), symbol=printed.scope.function, selected=selected)


def _signed(data: bytes, function: mlir.Function) -> str:
    """A function with its signature."""
    signature = mlir.signature(data, function.at).decode(errors="replace")
    return f"{function.operation} @{function.symbol}\n{signature}"


def _twice(data: bytes, functions: Sequence[mlir.Function], start: int) -> frozenset[Namesake]:
    """Those of which there are several, in a text that begins at byte `start` of the log."""
    names = [f"{one.operation} @{one.symbol}" for one in functions]
    counts = Counter(names)
    return frozenset(
        Namesake(name, mlir.container(data, one), mlir.signature(data, one.at), start + one.at, one.indent)
        for name, one in zip(names, functions, strict=True)
        if counts[name] > 1
    )


class Groups:
    """The compilations of a log, as its dumps come in."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._named: dict[str, LoggedCompilation] = {}
        self.all: list[LoggedCompilation] = []
        self._early: list[Said] = []
        self._sets: _Sets = {}
        self._function: PrintedDump | None = None
        """The last that shows one function."""

    def take(self, found: Iterable[PrintedDump | Said]) -> None:
        """Add what was found, in order."""
        for one in found:
            if isinstance(one, Said):
                self._hear(one)
                continue
            piece = looked_at(self._log, self._placed(one), self._sets)
            if self.all and _is_nested(self.all[-1], piece):
                piece = replace(piece, nested=True, child=min(piece.defines), members=self._members(piece))
            elif self.all and _is_filtered(self.all[-1].module, piece):
                functions = shared_scope(function=", ".join(sorted(piece.defines)))
                piece = replace(piece, printed=replace(piece.printed, scope=functions))
            group = self._group(piece)
            group.add(piece)

    def _members(self, piece: Piece) -> frozenset[str]:
        """The functions right in a module that is part of another, each with its signature."""
        data = self._log.read(piece.printed.start, min(piece.printed.stop, piece.printed.start + _LOOKED_AT))
        return frozenset(_signed(data, one) for one in mlir.functions(data) if one.indent == mlir.STEP)

    def _placed(self, printed: PrintedDump) -> PrintedDump:
        """A loop or region that LLVM's code generator prints, with its function: the last printed where that has it."""
        loop, around = printed.scope.loop, self._function
        if around is None or not loop or printed.scope.function:
            self._function = printed if printed.scope.function and not loop else around
            return printed
        block = f"\n{loop.removeprefix('%')}:".encode()
        if loop.endswith(">"):  # without a label: it begins as it did
            block = self._log.read(printed.start, printed.stop).lstrip().partition(b"\n")[0].partition(b", !")[0]
        scope = shared_scope(function=around.scope.function, loop=loop)
        return replace(printed, scope=scope) if block in self._log.read(around.start, around.stop) else printed

    def _hear(self, said: Said) -> None:
        """Add what stands between dumps, to what stands right before it where there is some."""
        if not self.all and not said.group:
            joined = bool(self._early) and self._early[-1].stop == said.start
            self._early[-1:] = [Said(self._early[-1].start, said.stop)] if joined else [*self._early[-1:], said]
            return
        group = self._called(said.group) if said.group else self.all[-1]
        found, count = group.said, len(group.pieces)
        if found and found[-1][0] == count and found[-1][1].stop == said.start:
            found[-1] = count, Said(found[-1][1].start, said.stop, module=said.module or found[-1][1].module)
        else:
            found.append((count, said))

    def _group(self, piece: Piece) -> LoggedCompilation:
        if piece.printed.group:
            return self._called(piece.printed.group)
        current = self.all[-1] if self.all else None
        return self._new() if current is None or _begins(current, piece) else current

    def _called(self, name: str) -> LoggedCompilation:
        """The compilation that the log calls so."""
        if name not in self._named:
            self._named[name] = self._new()
        return self._named[name]

    def _new(self) -> LoggedCompilation:
        made = LoggedCompilation(said=[(0, one) for one in self._early])
        self._early = []
        self.all.append(made)
        return made


def _is_nested(current: LoggedCompilation, piece: Piece) -> bool:
    """Whether a module is a part of the one that was printed last: what it has is deeper inside that one."""
    module = current.module
    if module is None or not piece.whole or piece.printed.language != "mlir" or piece.printed.scope.anchor:
        return False
    if not piece.outer & module.outer and any(is_same(one, piece) for one in module.modules):
        return True
    if _is_start(current, piece):
        return False
    if not piece.outer and module.outer:  # its functions, too, are deeper inside of it
        return bool(piece.inner & module.inner) and not piece.inner & module.outer
    return bool(piece.outer & module.inner) and not piece.outer & module.outer


def is_same(nested: mlir.Nested, piece: Piece) -> bool:
    """Whether a dump may be a newer text of a module in a module."""
    one, other = (nested.outer, piece.outer) if nested.outer or piece.outer else (nested.inner, piece.inner)
    return nested.symbol == piece.symbol and bool(one & other)


def _is_start(current: LoggedCompilation, piece: Piece) -> bool:
    """Whether a whole module comes with the first pass again, which has run once: not on what is in a module."""
    name, when = piece.printed.name, piece.printed.when
    first, *others = current.pieces
    if not first.whole or (first.printed.name, first.printed.when) != (name, when):
        return False
    return all((one.printed.name, one.printed.when) != (name, when) for one in others)


def _is_around(before: Piece, module: Piece) -> bool:
    """Whether a module has what was printed before it as a part: all functions of that are deeper inside of it."""
    return bool(before.outer) and before.outer <= module.inner and not before.outer & module.outer


def _is_filtered(module: Piece | None, piece: Piece) -> bool:
    """Whether LLVM has left out functions of a module that it had printed whole (-filter-print-funcs)."""
    if module is None or not module.module or not piece.whole or piece.printed.language != "llvm":
        return False
    return not piece.module and piece.defines < module.defines


def _is_other(module: Piece, function: Piece, *, again: bool) -> bool:
    """Whether a function of MLIR is none of a module's, as that was printed right before it: the module has none any
    more that is written so, or none of this symbol, and it is the first pass that has run `again`.
    """
    if not function.operation.endswith("func") or not module.kinds:
        return False
    return function.operation not in module.kinds or (again and function.symbol not in module.defines)


def _is_selected_again(current: LoggedCompilation, piece: Piece) -> bool:
    """Whether a function comes to instruction selection, or is machine IR as that leaves it, and has been there: it was
    printed as machine IR, or later than that, or for the same selection, already.
    """
    name, when = piece.printed.name, piece.printed.when
    if piece.printed.language == "llvm" and when == "before" and name.endswith(_SELECTS):
        return piece.printed.scope.function in current.machine
    ran = current.machine.get(piece.symbol) if piece.selected else None
    if not ran:
        return False
    return any(not selected for *_, selected in ran) or (name.endswith(_SELECTS) and (name, when, True) in ran)


def _is_its_input(current: LoggedCompilation, piece: Piece) -> bool:
    """Whether LLVM has printed the same module before the first pass already (-print-before-all -print-changed)."""
    return all(one.printed.when == "before" and one.digest == piece.digest for one in current.pieces)


def _is_anothers(current: LoggedCompilation, piece: Piece, now: int, last: int) -> bool:
    """Whether a text in another language than the `last` is of another program, by what both define.

    No compiler goes back up with another program. Where it goes down names may get longer (`_mlir_ciface_f`, `f_`),
    and those of later functions of machine IR are new (`OUTLINED_FUNCTION_0`).
    """
    own = functions_of(piece)
    if now < last:
        alone = piece.printed.language == "llvm" and not piece.whole  # functions go down one after the other
        return not alone and bool(own) and bool(current.names) and not own & current.names
    if now == last or current.machine or (last == _LOWERED["llvm"] and current.module is None):
        return False
    known, new = ([{*_WORD.findall(one)} for one in these] for these in (current.names, own))
    return bool(known and new) and not any(old and old <= one for one in new for old in known)


def _begins(current: LoggedCompilation, piece: Piece) -> bool:
    """Whether another compilation begins with this dump."""
    before, first = current.module, current.pieces[0]
    now, last = (_LOWERED.get(one.printed.language, 0) for one in (piece, current.last or piece))
    if _is_selected_again(current, piece) or (piece.digest and _is_anothers(current, piece, now, last)):
        return True
    if before is None or not piece.digest:
        return False
    again = (piece.printed.name, piece.printed.when) == (first.printed.name, first.printed.when)
    if not piece.whole:
        return current.pieces[-1] is before and _is_other(before, piece, again=again)
    renamed = before.symbol != piece.symbol
    if (renamed and _is_around(before, piece)) or (renamed and again and before.symbol and piece.symbol):
        return True
    same_language = before.printed.language == piece.printed.language
    if piece.printed.when == "start" and same_language and not _is_its_input(current, piece):
        return True
    if same_language and piece.defines and before.defines and not piece.defines & before.defines:
        return True
    if same_language and piece.module and before.module and piece.module != before.module:
        return True
    if not again or len(current.pieces) < 2:
        return False
    if now < last:
        return True
    if piece.digest == first.digest:
        return piece.digest != before.digest
    return bool(first.kinds) and piece.kinds == first.kinds and not piece.kinds & before.kinds
