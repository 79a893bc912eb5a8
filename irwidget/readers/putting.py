"""Puts the dump of one function, or of one nested module, back into the module that it belongs to.

A compiler that prints only what a pass ran on leaves texts that are no neighbours; put back, each dump is the whole
module, and differs from the one before by what its pass did.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from irwidget.readers import aliases, mlir
from irwidget.readers.loops import put_loop
from irwidget.readers.places import PlacedText, Places
from irwidget.trace import Scope

_STEP = 2
"""Blanks by which what is in an operation is indented."""
_MOST_USES = 200
"""Mentions of a symbol that are looked at."""
_MOST_ALIKE = 20
"""Operations without a name that are told apart by what they name."""


@dataclass(frozen=True, slots=True)
class PutTarget:
    """What is replaced: an operation of MLIR by its name and symbol, or a function of LLVM."""

    language: str
    operation: str
    symbol: str
    child: str = ""
    """A symbol in it, which tells it from others of the same name."""
    names: frozenset[str] = frozenset()
    """All that it names, where it has no symbol."""
    loop: str = ""
    """The loop of that function of LLVM, by its header."""
    at: int = 0
    """Where in the log a loop was printed: one goes in after the other, for a later one may have fewer blocks."""
    container: str | None = None
    """The symbol of what it is in, where that tells it from others of the same name."""
    several: tuple[str, ...] = ()
    """Functions of LLVM that were printed at once, each to be put in its own place."""

    def __str__(self) -> str:
        if self.language != "mlir":
            return str(Scope(function=", ".join(self.several) or self.symbol, loop=self.loop))
        name = f" @{self.symbol}" if self.symbol else ""
        name += f" in @{self.container}" if self.container else ""
        return f"{self.operation}{name}" + (f" of @{self.child}" if self.child and not name else "")


def put(whole: PlacedText, part: PlacedText, target: PutTarget) -> PlacedText | None:
    """The whole with the part in the place of what it is a newer text of; None where that is not there, or twice."""
    if target.several:
        return _put_several(whole, part, target)
    found = span(whole.text, target)
    if found is None:
        return None
    start, stop, indent = found
    if target.loop:
        part = PlacedText(put_loop(whole.text[start:stop], part.text) or whole.text[start:stop])
    names, body = aliases.apart(part.text) if target.language == "mlir" else ("", part.text)
    kept = part.places[names.count("\n") :][: body.count("\n")] if part.places else ()
    added, renamed = aliases.shared(whole.text, names, body)
    if target.operation in _MODULE:  # as the whole spells it
        word = whole.text[start : whole.text.find("module", start)].strip() + "module"
        renamed = re.sub(r"^(?:builtin\.)?module", word, renamed, count=1)
    if indent:
        renamed = re.sub(r"^(?=[^\n])", indent, renamed, flags=re.M)
    if not renamed.endswith("\n"):
        renamed += "\n"
    text = f"{added}{whole.text[:start]}{renamed}{whole.text[stop:]}"
    places: Places = ()
    if whole.places or kept:
        lines = whole.text.count("\n", 0, start)
        gone = whole.text.count("\n", start, stop)
        before = whole.places or (None,) * (whole.text.count("\n") + 1)
        new = (*kept, *(None,) * (renamed.count("\n") - len(kept)))[: renamed.count("\n")]
        places = (None,) * added.count("\n") + before[:lines] + new + before[lines + gone :]
    if target.language != "mlir" or aliases.used(whole.text[start:stop]) == aliases.used(renamed):
        return PlacedText(text, places)
    tidy = aliases.arranged(text)
    return PlacedText(tidy, places[text.count("\n") - tidy.count("\n") :])  # names have no places


def _put_several(whole: PlacedText, part: PlacedText, target: PutTarget) -> PlacedText | None:
    """The whole with each function of a part in its place; None where one is not there."""
    made: PlacedText | None = whole
    for symbol in target.several:
        one = PutTarget(target.language, "", symbol)
        found = span(part.text, one)
        if found is None or made is None:
            return None
        start, stop, _ = found
        places = part.places[part.text.count("\n", 0, start) : part.text.count("\n", 0, stop)]
        made = put(made, PlacedText(part.text[start:stop], places), one)
    return made


_Span = tuple[int, int, str]


def span(text: str, target: PutTarget) -> _Span | None:
    """Where the target is in a text, and how far it is indented; None where it is not there, or not once."""
    most = _MOST_ALIKE if target.names else 2
    found = list(islice(_spans(text, _heads(text, target), target), most))
    if target.child and not target.names and len(found) > 1:
        found = list(islice(_spans(text, _heads_around(text, target), target), 2))
    if target.names and 1 < len(found) < most:
        found = _most_alike(text, found, target.names)
    return found[0] if len(found) == 1 else None


def _most_alike(text: str, found: Sequence[_Span], names: frozenset[str]) -> list[_Span]:
    """Of operations without a name those that name most nearly the same symbols."""
    other = [len(names ^ {*mlir.referred(text[start:stop])}) for start, stop, _ in found]
    return [one for one, count in zip(found, other, strict=True) if count == min(other)]


def _spans(text: str, heads: Iterable[re.Match[str]], target: PutTarget) -> Iterator[_Span]:
    for found in heads:
        indent = found[1] if target.language == "mlir" else ""
        if target.language == "mlir" and (not indent or target.container not in (None, _container(text, found))):
            continue  # the module itself, or another's
        start, end = found.span()
        if target.language == "mlir" and not _opens(found[0]):
            yield start, min(end + 1, len(text)), indent
        elif (close := re.compile(rf"\n{indent}\}}(?:[^\n]*[^{{\s])?[ \t]*$", re.M).search(text, end)) is not None:
            yield _with_attributes(text, start), min(close.end() + 1, len(text)), indent


def _heads_around(text: str, target: PutTarget) -> Iterator[re.Match[str]]:
    """The lines that what the target names begins with, where its child is inside, each once."""
    pattern = _MLIR if target.symbol else _NAMELESS
    seen: set[int] = set()
    for found in islice(re.finditer(rf"@{re.escape(target.child)}(?![\w$.-])", text), _MOST_USES):
        for start in _above(text, found.start()):
            head = None if start in seen else pattern.match(text, start)
            seen.add(start)
            if head is not None and _named(head, target):
                yield head


def _above(text: str, at: int) -> Iterator[int]:
    """Where the lines begin that are around the one with the letter `at`: those less and less indented."""
    start = text.rfind("\n", 0, at) + 1
    indent = _indent(text, start)
    while indent > _STEP and start > 0:
        start = text.rfind(f"\n{' ' * (indent - _STEP)}", 0, start - 1) + 1
        if (found := _indent(text, start)) < indent:
            indent = found
            yield start


def _indent(text: str, start: int) -> int:
    end = start
    while text[end : end + 1] == " ":
        end += 1
    return end - start


def _container(text: str, head: re.Match[str]) -> str:
    """The symbol of what is right around an operation; empty where that has none."""
    around = re.compile(rf'^ {{{max(len(head[1]) - _STEP, 0)}}}(?=[\w"])[^\n]*', re.M)
    last = ""
    for line in around.finditer(text, 0, head.start()):
        last = line[0]
    return mlir.symbol_of(last.encode(errors="surrogateescape"))


def _with_attributes(text: str, start: int) -> int:
    """The place of a function of LLVM with the comment above it."""
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return above if text.startswith("; Function Attrs:", above) else start


def _heads(text: str, target: PutTarget) -> Iterator[re.Match[str]]:
    """The lines that what the target names may begin with."""
    if not target.symbol:
        yield from _lines_with("module" if target.operation in _MODULE else target.operation, _NAMELESS, text, target)
        return
    seen: set[int] = set()
    pattern = _LLVM if target.language == "llvm" else _MLIR
    for sign in (f"@{target.symbol}", f'@"{target.symbol}"', f'sym_name = "{target.symbol}"'):
        for found in _lines_with(sign, pattern, text, target):
            if found.start() not in seen:
                yield found
            seen.add(found.start())


def _lines_with(word: str, pattern: re.Pattern[str], text: str, target: PutTarget) -> Iterator[re.Match[str]]:
    """The lines with a word that match and define what the target names; none where it names no operation."""
    end = 0
    while word and (at := text.find(word, end)) >= 0:
        found = pattern.match(text, text.rfind("\n", end, at) + 1 or end)
        end = text.find("\n", at) + 1 or len(text)  # a line is looked at once
        if found is not None and _named(found, target):
            yield found


_LLVM = re.compile(r'^define [^\n@]*@(?:([\w$.-]+)|"([^"\n]*)")\([^\n]*\{[^\n]*$', re.M)
_MLIR = re.compile(
    r'^([ ]*)(?:([\w$.]+) (?:[a-z_]+ |"[a-z]*" )*@(?:([\w$.-]+)|"([^"\n]*)")'
    r'|"([\w$.]+)"\([^\n]*?sym_name = "([^"\n]*)")[^\n]*$',
    re.M,
)
_NAMELESS = re.compile(r"^([ ]*)([\w$]+(?:\.[\w$]+)*)(?= )(?! (?:[a-z_]+ )*@)[^\n]*$", re.M)
_MODULE = ("module", "builtin.module")


def _named(found: re.Match[str], target: PutTarget) -> bool:
    """Whether a line defines what the target names."""
    if target.language == "llvm":
        return target.symbol in (found[1], found[2])
    if target.symbol:
        operation, symbol = (found[5], found[6]) if found[5] else (found[2], found[3] or found[4])
    else:
        operation, symbol = found[2], ""
    return kind(operation) == kind(target.operation) and symbol == target.symbol


def defined(text: str, language: str) -> Counter[tuple[str, str]]:
    """How often each operation with its symbol is in a module, so that not every one has to be looked for."""
    if language == "llvm":
        return Counter(("", found[1] or found[2]) for found in _LLVM.finditer(text))
    return Counter(
        (kind(found[5]), found[6]) if found[5] else (kind(found[2]), found[3] or found[4])
        for found in _MLIR.finditer(text)
        if found[1]
    )


def kind(operation: str) -> str:
    """An operation's name, a module's in one spelling."""
    return "module" if operation in _MODULE else operation


def _opens(line: str) -> bool:
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*+(?:"|$)', "", line)
    return bare.count("{") > bare.count("}")
