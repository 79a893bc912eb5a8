"""What MLIR prints: the banner before a dump, and where the operation below it ends."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from irwidget.readers import aliases

_BANNER = re.compile(rb"// -----// IR Dump (Before|After) (.*?)(?: \('([\w.$-]+)' operation(?:: (.*?))?\))? //----- //")
_OLD_BANNER = re.compile(rb"// \*\*\* IR Dump (Before|After) (.*?) \*\*\*")
_INSIDE = re.compile(rb"// -----// (.*?) internal IR Dump (After|Before): (.*)")
_PRINTED = re.compile(rb"// -----// IR Dump(?: ([^\n]*?))? //----- //")
"""What the pass print-ir prints, with its label."""
_FAILED = re.compile(r" Failed(?=$|:| \([\w.-]*\)$)")
_NEW_NAME = re.compile(r"(?P<kind>.+?): (?P<name>[\w.-]+)(?:\{(?P<options>.*)\})?", re.S)
_UNNAMED = re.compile(r".+: unknown<(?P<kind>.+)>", re.S)
_OLD_NAME = re.compile(r"(?P<kind>.*?) ?\((?P<name>[\w.-]*)\)")


@dataclass(frozen=True, slots=True)
class MLIRBanner:
    """What the line before a dump says."""

    when: str
    """`Before` or `After`."""
    name: str
    options: str
    failed: bool
    anchor: str
    """The operation that the pass ran on, with its symbol; empty where the dump shows just that."""
    column: int
    """Where on the line it begins: others may have printed before it."""
    inside: bool = False
    """Whether a pass printed it at its own work."""


def banner(line: bytes) -> MLIRBanner | None:
    """The banner on a line; None where there is none."""
    found = _BANNER.search(line) or _OLD_BANNER.search(line)
    if found is None:
        return _inside(line)
    words, failed = _FAILED.subn("", found[2].decode(errors="replace").strip(), count=1)
    name, options = named(words)
    operation, symbol = (found[3], found[4]) if found.re is _BANNER else (None, None)
    anchor = " ".join(part.decode(errors="replace") for part in (operation, symbol) if part)
    return MLIRBanner(found[1].decode(), name, options, failed > 0, anchor, found.start())


def unmarked(when: str, name: str) -> MLIRBanner:
    """The banner of early MLIR, spelled as LLVM's are."""
    words, failed = _FAILED.subn("", name, count=1)
    return MLIRBanner(when, *named(words), failed > 0, "", 0)


def _inside(line: bytes) -> MLIRBanner | None:
    """The banner of a pass that prints its own work, as Triton's pipeliner does, or what there is, as print-ir."""
    if printed := _PRINTED.search(line):
        label = (printed[1] or b"print-ir").decode(errors="replace").strip()
        return MLIRBanner("After", label, "", False, "", printed.start(), inside=True)
    found = _INSIDE.search(line)
    if found is None:
        return None
    name = f"{found[1].decode(errors='replace')}: {found[3].decode(errors='replace').strip()}"
    return MLIRBanner(found[2].decode(), name, "", False, "", found.start(), inside=True)


def named(text: str) -> tuple[str, str]:
    """Name and options of a pass, as pipelines have them: `Canonicalizer (canonicalize)` or `CanonicalizerPass:
    canonicalize{max-iterations=10}`; its class where it has no such name.
    """
    if found := _UNNAMED.fullmatch(text):
        text = found["kind"]
    elif found := _NEW_NAME.fullmatch(text):
        return found["name"], " ".join((found["options"] or "").split())
    elif found := _OLD_NAME.fullmatch(text):
        return found["name"] or found["kind"].rpartition("::")[2] or text, ""
    return text.rpartition("::")[2] or text, ""


STEP = 2
"""Blanks by which what is in a module is indented."""
_STRING = re.compile(rb'"(?:[^"\\\n]|\\.)*+(?:"|$)', re.M)
_ALIAS = aliases.DEFINITION.encode()
_PRELUDE = re.compile(rb"(?:[ \t\r]*(?://[^\n]*)?\n|%b\n)*" % _ALIAS)
_PRELUDE_LINE = re.compile(rb"%b\n" % _ALIAS)
_OPERATION = re.compile(rb'^(?:%[^=\n]{1,200} = )?"?([A-Za-z_][\w$]*(?:\.[\w$]+)*)"?(?=[ (<{\r\n]|$)(?![ ]*:)', re.M)
_EPILOGUE = re.compile(rb"(?:[ \t\r]*\n|%b(?:\n|$))*(?:\{-#.*?#-\}[ \t\r]*(?:\n|$))?" % _ALIAS, re.S)
_BLANK = re.compile(rb"\n[ \t\r]*\n")
_LINES = 40
"""Lines of others that may stand between a banner and its dump."""


@dataclass(frozen=True, slots=True)
class Body:
    """Where the operation of a dump is, in the bytes below its banner."""

    start: int
    """Its aliases included."""
    stop: int
    cut: bool
    """Whether it does not end."""
    operation: str
    """`func.func`; empty where there is none."""
    symbol: str
    """What it defines; empty where nothing."""


def body(data: bytes) -> Body:
    """The operation in these bytes, one of MLIR's modules, functions ..., with its aliases before and after it."""
    start, at = 0, _past(data, 0)
    first = _OPERATION.match(data, at)
    for _ in range(_LINES):
        if first is not None or at >= len(data):
            break
        start = data.find(b"\n", at) + 1 or len(data)
        at = _past(data, start)
        first = _OPERATION.match(data, at)
    if first is None:
        return Body(0, len(data), bool(data.strip()) and not data.endswith(b"\n"), "", "")
    line = _line(data, at)
    end = at + len(line)
    ended = data[end : end + 1] == b"\n"
    if _opens(line):
        end, ended = _closed(data, end)
    trail = _EPILOGUE.match(data, min(end + 1, len(data)))
    stop = trail.end() if trail and ended else len(data)
    if _OPERATION.match(data, stop):  # the module that the tool leaves: aliases right above it are its own
        below = max(end, data.rfind(b"#-}", end, stop))
        stop = max((found.end() for found in _BLANK.finditer(data, below, stop)), default=stop)
    below = data[max(end, data.rfind(b"\n", end) + 1) : stop] if stop == len(data) else b""
    return Body(start, stop, not ended or _is_torn(below), first[1].decode(), symbol_of(line))


def begin(data: bytes, start: int) -> int:
    """Where the line of the operation begins, below its aliases at `start`."""
    return _past(data, start)


_CLOSED = re.compile(rb'"(?:[^"\\\n]|\\.)*+"')
_BEGUN = re.compile(rb"[#!][\w.$-]+ =(?: \w*)?")


def _is_torn(alias: bytes) -> bool:
    """Whether a line that an alias begins on ends within brackets, a string or the first word."""
    if _BEGUN.fullmatch(alias):
        return True
    bare = _STRING.sub(b"", alias).replace(b"->", b"")
    pairs = (b"()", b"[]", b"{}", b"<>")
    strings = all(_CLOSED.fullmatch(found) for found in _STRING.findall(alias))
    return not strings or any(bare.count(one[:1]) > bare.count(one[1:]) for one in pairs)


_BEGINS = re.compile(rb'(?:"?(?:builtin\.)?(?:module(?! asm )|func(?:\.func)?)\b)')


def begins(data: bytes) -> bool:
    """Whether this is a module or a function of MLIR from its first line on, and not LLVM's."""
    return _BEGINS.match(data, _past(data, 0)) is not None


_MODULE = re.compile(rb'^(?:builtin\.)?module(?: [^\n]*)?\{[ \t\r]*$|^"builtin\.module"\(', re.M)


def last_module(data: bytes) -> int:
    """Where the last module begins that is in no other, with its aliases; -1 where there is none."""
    at = max((found.start() for found in _MODULE.finditer(data)), default=-1)
    while at > 0 and _PRELUDE_LINE.match(data, above := data.rfind(b"\n", 0, at - 1) + 1):
        at = above
    return at


def _past(data: bytes, at: int) -> int:
    """The place after blank lines, comments and aliases."""
    found = _PRELUDE.match(data, at)
    return found.end() if found else at


def _line(data: bytes, at: int) -> bytes:
    end = data.find(b"\n", at)
    return data[at:] if end < 0 else data[at:end]


def _opens(line: bytes) -> bool:
    """Whether more braces open than close on a line."""
    bare = _STRING.sub(b"", line)
    return bare.count(b"{") > bare.count(b"}")


_CLOSE = re.compile(rb"\n\}(?:[^\n]*[^{\s])?[ \t\r]*$", re.M)
"""A line that closes what was open, and opens nothing."""


def _closed(data: bytes, at: int) -> tuple[int, bool]:
    """The end of the line that closes what is open at `at`; False where none does."""
    found = _CLOSE.search(data, at)
    return (found.end(), True) if found else (len(data), False)


_SYMBOL = re.compile(
    rb'\s*"?[\w$.]+"?(?: (?:[a-z_]+ |"[a-z]*" )*@(?:"([^"\n]*)"|([\w$.-]+))|\([^\n]*?\bsym_name = "([^"\n]*)")'
)
_WHOLE = frozenset(("module", "builtin.module"))


def symbol_of(line: bytes) -> str:
    """What an operation's first line defines."""
    found = _SYMBOL.match(line)
    return (found[1] or found[2] or found[3] or b"").decode(errors="replace") if found else ""


def is_module(operation: str) -> bool:
    """Whether the operation is a module, which may have all others in it."""
    return operation in _WHOLE


_FUNCTION = re.compile(
    rb'([ \t]*)"?((?:[\w$]+\.)*func)"?'
    rb'(?: (?:[a-z_]+ |"[a-z]*" )*@(?:"([^"\n]*)"|([\w$.-]+))|\([^\n]{0,400}?sym_name = "([^"\n]*)")'
)


@dataclass(frozen=True, slots=True)
class Function:
    """A line that a function begins with."""

    operation: str
    """`func.func`."""
    symbol: str
    indent: int
    at: int
    """Where the line begins."""


def functions(data: bytes) -> list[Function]:
    """The functions in a text, in order."""
    made: list[Function] = []
    end = 0
    while (at := data.find(b"func", end)) >= 0:
        found = _FUNCTION.match(data, data.rfind(b"\n", end, at) + 1 or end)
        if found is not None:
            symbol = (found[3] or found[4] or found[5] or b"").decode(errors="replace")
            made.append(Function(found[2].decode(), symbol, len(found[1]), found.start()))
        end = data.find(b"\n", at) + 1 or len(data)  # one a line
    return made


_NESTED = re.compile(
    rb'^([ \t]+)"?(?:builtin\.)?module"?'
    rb'(?: @(?:"([^"\n]*)"|([\w$.-]+))| ?\([^\n]*?sym_name = "([^"\n]*)"|(?=[ (]))[^\n]*$',
    re.M,
)


@dataclass(frozen=True, slots=True)
class Nested:
    """A module in a module."""

    symbol: str
    """Empty where it has none."""
    outer: frozenset[str]
    """The functions right in it."""
    inner: frozenset[str]
    """Those deeper inside."""


def nested(data: bytes, functions: Sequence[Function]) -> Iterator[Nested]:
    """The modules in the module that a text is, of which these are the functions."""
    for found in _NESTED.finditer(data) if functions and b"module" in data else ():
        indent = len(found[1])
        if not _opens(found[0]):
            continue
        close = re.compile(rb"^[ \t]{%d}\}" % indent, re.M).search(data, found.end())
        end = close.start() if close else len(data)
        inside = [one for one in functions if found.end() < one.at < end]
        outer = frozenset(one.symbol for one in inside if one.indent == indent + STEP)
        symbol = (found[2] or found[3] or found[4] or b"").decode(errors="replace")
        yield Nested(symbol, outer, frozenset(one.symbol for one in inside) - outer)


_RENAMED = re.compile(rb"(?<=[%#])[\w$.-]+")


def signature(data: bytes, at: int = 0) -> bytes:
    """The line that a function begins with, but for names and numbers that are counted anew."""
    return _RENAMED.sub(b"", _line(data, at)).strip()


def container(data: bytes, function: Function) -> str:
    """The symbol of what is right around a function in a text; empty where that has none."""
    around = re.compile(rb"^ {%d}(?=[\w\"])[^\n]*" % max(function.indent - 2, 0), re.M)
    heads = [found[0] for found in around.finditer(data, 0, function.at)]
    return symbol_of(heads[-1]) if heads else ""


_REFERRED = re.compile(r"@([\w$.-]+)")


def referred(text: str) -> list[str]:
    """The symbols that a text names, in order."""
    return _REFERRED.findall(text)
