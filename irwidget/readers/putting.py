"""Puts the dump of one function, or of one nested module, back into the module that it belongs to.

A compiler that prints only what a pass ran on leaves texts that are no neighbours; put back, each dump is the whole
module, and differs from the one before by what its pass did.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from irwidget.trace import Location

Places = tuple[Location | None, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A text with the places of its lines, of which there may be none."""

    text: str
    places: Places = ()


@dataclass(frozen=True, slots=True)
class Target:
    """What is replaced: an operation of MLIR by its name and symbol, or a function of LLVM."""

    language: str
    operation: str
    symbol: str


def put(whole: Text, part: Text, target: Target) -> Text | None:
    """The whole with the part in the place of what it is a newer text of; None where that is not there, or twice."""
    found = span(whole.text, target)
    if found is None:
        return None
    start, stop, indent = found
    aliases, body = _apart(part.text) if target.language == "mlir" else ("", part.text)
    kept = part.places[aliases.count("\n") :][: body.count("\n")] if part.places else ()
    added, renamed = _aliases(whole.text, aliases, body)
    if indent:
        renamed = re.sub(r"^(?=[^\n])", indent, renamed, flags=re.M)
    if not renamed.endswith("\n"):
        renamed += "\n"
    text = f"{added}{whole.text[:start]}{renamed}{whole.text[stop:]}"
    if not whole.places and not kept:
        return Text(text)
    lines = whole.text.count("\n", 0, start)
    gone = whole.text.count("\n", start, stop)
    before = whole.places or (None,) * (whole.text.count("\n") + 1)
    new = (*kept, *(None,) * (renamed.count("\n") - len(kept)))[: renamed.count("\n")]
    return Text(text, ((None,) * added.count("\n") + before[:lines] + new + before[lines + gone :]))


def span(text: str, target: Target) -> tuple[int, int, str] | None:
    """Where the target is in a text, and how far it is indented; None where it is not there, or not once."""
    name = re.escape(target.symbol)
    if target.language == "llvm":
        found = re.compile(rf'^(?:; Function Attrs:[^\n]*\n)?define [^\n]*?@(?:{name}|"{name}")\([^\n]*\{{[^\n]*$', re.M)
    else:
        operation = re.escape(target.operation)
        found = re.compile(
            rf'^([ ]*)(?:{operation} [^@"\n]*(?:"[a-z]*" )?@(?:{name}|"{name}")(?![\w$.-])'
            rf'|"{operation}"\([^\n]*?sym_name = "{name}")[^\n]*$',
            re.M,
        )
    places = list(found.finditer(text))
    if len(places) != 1:
        return None
    indent = places[0][1] if target.language == "mlir" else ""
    start, line_end = places[0].span()
    if target.language == "mlir" and not _opens(places[0][0]):
        return start, min(line_end + 1, len(text)), indent
    close = line_end
    while (close := text.find(f"\n{indent}}}", close)) >= 0:
        end = text.find("\n", close + 1)
        end = len(text) if end < 0 else end
        if not text[close:end].rstrip().endswith("{"):
            return start, min(end + 1, len(text)), indent
        close = end
    return None


def _opens(line: str) -> bool:
    bare = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", line)
    return bare.count("{") > bare.count("}")


_ALIAS = re.compile(r"^([#!][\w.$-]+) = (.*)$", re.M)
_PRELUDE = re.compile(r"(?:[ \t]*\n|[#!][\w.$-]+ = [^\n]*\n)*")
_USE = re.compile(r'"(?:[^"\\\n]|\\.)*"|(?<![\w#!])([#!][A-Za-z_][\w$-]*)')


def _apart(text: str) -> tuple[str, str]:
    """The aliases before an operation, and the operation."""
    found = _PRELUDE.match(text)
    at = found.end() if found else 0
    return text[:at], text[at:].rstrip("\n") + "\n"


def _aliases(whole: str, aliases: str, body: str) -> tuple[str, str]:
    """The part with the whole's names for what both have an alias for, and the aliases that the whole lacks."""
    if not aliases.strip():
        return "", body
    head = _PRELUDE.match(whole)
    known = {found[2]: found[1] for found in _ALIAS.finditer(whole, 0, head.end() if head else 0)}
    taken = set(known.values())
    names: dict[str, str] = {}
    added: list[str] = []

    def renamed(text: str) -> str:
        return _USE.sub(lambda found: names.get(found[1], found[0]) if found[1] else found[0], text)

    for found in _ALIAS.finditer(aliases):
        meaning = renamed(found[2])
        name = known.get(meaning)
        if name is None:
            name = _free(found[1], taken)
            taken.add(name)
            added.append(f"{name} = {meaning}\n")
        names[found[1]] = name
    return "".join(added), renamed(body)


def _free(name: str, taken: set[str]) -> str:
    if name not in taken:
        return name
    stem = name.rstrip("0123456789")
    return next(one for i in range(1, len(taken) + 2) if (one := f"{stem}{i}") not in taken)
