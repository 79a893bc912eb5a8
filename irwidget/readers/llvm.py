"""What LLVM prints: the banners of its optimiser and its code generator, and where the text below them ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from irwidget.readers.found import When
from irwidget.toolchain.llvm_passes import scope_of
from irwidget.trace import WHOLE, Scope, shared_scope

_BANNER = re.compile(
    r"(?P<mark>[;#] )?\*\*\* IR (?P<said>Dump|Pass|Deleted) (?P<rest>.*?) \*\*\*:?\s*"
    r"(?P<unit>\((?:module|(?:function|loop|scc): .+)\))?\s*"
)
_CRASHED = re.compile(r"(?:; )?\*\*\* Dump of (?:Module )?IR Before Last Pass (?P<name>.+) Started \*\*\*")
SELECTION = (b"# After Instruction Selection:", b"*** Final LLVM Code input to ISel ***")
"""What llc -print-after-isel and -print-isel-input print above each function."""
_SAME = re.compile(r"(?P<of>.*) (?:omitted because no change|filtered out|ignored|invalidated|\(invalidated\))")
_ON = re.compile(r"(?P<pass>\S.*?) on (?P<unit>.+)")
_OLD_ON = re.compile(r"(?P<pass>\S.*?) (?P<unit>\((?:module|(?:function|loop|scc): .+)\))")
_NAMED = re.compile(r"(?P<title>.+?) ?\((?P<name>[\w-]+)\)")


@dataclass(frozen=True, slots=True)
class LLVMBanner:
    """What the line before a dump says."""

    when: When
    name: str
    scope: Scope
    told: bool
    """Whether the line says what the text shows; otherwise the text does."""
    machine: bool
    """Whether machine IR follows."""
    has_text: bool
    reason: str = ""
    """Why there is no text, as the line has it."""


def banner(line: bytes) -> LLVMBanner | None:
    """The banner on a line; None where there is none."""
    if line in SELECTION:
        after = line == SELECTION[0]
        return LLVMBanner("after" if after else "before", "isel", WHOLE, False, after, True)
    text = line.decode(errors="replace")
    if crashed := _CRASHED.fullmatch(text):
        return LLVMBanner("before", crashed["name"], WHOLE, False, False, True)
    found = _BANNER.fullmatch(text)
    if found is None:
        return None
    machine = found["mark"] == "# "
    if found["said"] == "Dump" and found["rest"] in ("At Start", "At Start:"):
        return LLVMBanner("start", "input", WHOLE, True, machine, True)
    when, _, rest = found["rest"].partition(" ") if found["said"] != "Pass" else ("After", "", found["rest"])
    if when not in ("After", "Before"):
        return None
    same = _SAME.fullmatch(rest)
    name, scope, told = _parts(same["of"] if same else rest)
    if found["unit"]:  # The code generator's passes, where a module is printed for a function or a loop.
        scope, told = scope_of(_modern(found["unit"])), True
    if found["said"] == "Deleted":
        return LLVMBanner("same", name, scope, told, machine, False, "deleted what it ran on")
    if same and (found["mark"] is None or not rest.endswith("(invalidated)")):  # which the whole module follows
        return LLVMBanner("same", name, scope, told, machine, False, rest[len(same["of"]) :].strip(" ()"))
    return LLVMBanner("before" if when == "Before" else "after", name, scope, told, machine, True)


def _parts(text: str) -> tuple[str, Scope, bool]:
    """The pass, what it ran on, and whether the text says that."""
    title, unit = text, ""
    if old := _OLD_ON.fullmatch(text):
        title, unit = old["pass"], _modern(old["unit"])
    elif on := _ON.fullmatch(text):
        title, unit = on["pass"], _spelled(on["unit"])
    named = _NAMED.fullmatch(title)
    return named["name"] if named else title, scope_of(unit), bool(unit)


def _modern(unit: str) -> str:
    """What a pass ran on in newer words; LLVM 14 says `(module)`, `(function: f)`, `(loop: %l)`, `(scc: (f))`."""
    kind, _, name = unit[1:-1].partition(": ")
    return "[module]" if kind == "module" else f"loop {name}" if kind == "loop" else _spelled(name)


def _spelled(name: str) -> str:
    r"""A name as the IR has it: banners have the bytes themselves of `\01-[Foo bar]`."""
    if name.isascii() and name.isprintable() and not _QUOTED.search(name):
        return name
    letters = ((chr(one), 31 < one < 127 and chr(one) not in '"\\') for one in name.encode(errors="replace"))
    return "".join(letter if plain else f"\\{ord(letter):02X}" for letter, plain in letters)


_QUOTED = re.compile(r'["\\]')
_LABEL = rb'(?:[\w.$-]+|"[^"\n]*"):[ \t]*(?:;[^\n]*)?\r?$'
_TOP = (
    rb"(?:[;@%!$^{})][^\n]*|source_filename[^\n]*"
    rb"|(?:target|declare|define|attributes|module asm|uselistorder\w*) [^\n]*|[ \t]*\r?"
)
_TOP_LINES = re.compile(rb"(?:" + _TOP + rb")(?:\n|$))*")
_LINES = re.compile(rb"(?:" + _TOP + rb'|(?:  |\t)[^\n]*|(?:[\w.$-]+|"[^"\n]*"):[ \t]*(?:;[^\n]*)?)(?:\n|$))*')
_FUNCTION = re.compile(rb'^(?:define|declare) [^\n]*?@(?:"([^"\n]*)"|([\w$.-]+))\(', re.M)
_MODULE = re.compile(rb"^(?:; ModuleID|source_filename|target (?:triple|datalayout)) ?=?", re.M)
_BLOCKS = re.compile(
    rb"\s*?(?:; Preheader:\n[^;]*(?:;[^\n]*\n[^;]*)*?)?(?:; Loop:\n)?(?:^(?P<label>[\w$.-]+|\"[^\"\n]*\"):|^  (?=\S))",
    re.M,
)
_MACHINE = re.compile(rb"^# Machine code for function ([^\n]*?)(?:: [^\n]*|:\r?)?$", re.M)
_MACHINE_END = re.compile(rb"^# End machine code for function [^\n]*\n?", re.M)
_DIFFERENCE = re.compile(rb"(?:(?:[ \t\r][^\n]*)?\n)*+(?:\x1b\[[\d;]*m)?(?:[-+]|\*\*\* IR for function )")
_WORDS = rb"(?:define|declare|source_filename|target|Printing <null>) "
_IR = re.compile(rb"^(?:[;#@%!$]|  \S|" + _WORDS + rb"|" + _LABEL + rb")", re.M)
_LINE_ENDS = re.compile(rb"(?:[})]|[#!]\d+|\.)\s*\Z")
_SAID = re.compile(rb"Function:? +([^\s:(]+)")
_OUTPUT = re.compile(rb"^; ModuleID = ", re.M)


def is_machine(data: bytes) -> bool:
    """Whether a text is machine IR."""
    return _MACHINE.search(data[:4000]) is not None


def is_selected(data: bytes) -> bool:
    """Whether a function of machine IR is as instruction selection leaves it."""
    found = _MACHINE.search(data[:4000])
    return found is not None and b"IsSSA" in found[0]


def is_difference(data: bytes) -> bool:
    """Whether below a banner there is what `-print-changed=diff` prints: lines that went and came, and no IR."""
    return _DIFFERENCE.match(data) is not None


def foreign(data: bytes) -> Scope | None:
    """What a text shows that is another IR than LLVM's, in a compiler of its own; None where it is LLVM's."""
    if not (text := data.lstrip()) or _IR.search(data):
        return None
    said = _SAID.match(text)
    return shared_scope(function=said[1].decode(errors="replace")) if said else WHOLE


def end(data: bytes, machine: bool) -> tuple[int, bool]:
    """Where the text at the beginning of these bytes ends, and whether it is cut off there."""
    if machine:
        found = _MACHINE_END.search(data)
        return (found.end(), False) if found else (len(data), True)
    if again := _OUTPUT.search(data, len(data) - len(data.lstrip()) + 1):  # what the tool leaves, after the last dump
        data = data[: again.start()]
    last = max(data.rfind(b"\n}\n"), data.rfind(b"\n}\r\n"))
    opened = data.rfind(b"\ndefine ") if last >= 0 else (0 if data.startswith(b"define ") else data.find(b"\ndefine "))
    if opened > last and b"{" in data[opened : data.find(b"\n", opened + 1)]:
        return len(data), True
    rest = _TOP_LINES.match(data, data.find(b"\n", last + 1) + 1) if last >= 0 else _LINES.match(data)
    stop = rest.end() if rest else len(data)
    return stop, False


_BEGIN = (b"source_filename = ", b"target ", b"declare ", b"define ", b"attributes #", b"module asm ", b"uselistorder ")
"""What lines of a module begin with, but for signs."""


def is_torn(data: bytes, rest: bytes) -> bool:
    """Whether a text that a log ends with is empty, or ends within a line, as far as that can be told."""
    if rest.strip():
        return any(word.startswith(rest) for word in _BEGIN)
    return not data.strip() or (not data.endswith(b"\n") and _LINE_ENDS.search(data) is None)


def shows(data: bytes) -> Scope:
    """What a text shows, where its banner does not say: a module, a function, a loop or region of who knows which."""
    if blocks := _BLOCKS.match(data):
        label = blocks["label"] or b"<unnamed block>"
        return shared_scope(loop=f"%{label.decode(errors='replace')}")
    if machine := _MACHINE.search(data[:4000]):
        return shared_scope(function=_spelled(machine[1].decode(errors="replace")))
    if _MODULE.search(data[:4000]):
        return WHOLE
    function = _FUNCTION.search(data)
    return shared_scope(function=_name(function)) if function else WHOLE


def module_id(data: bytes) -> str:
    """The module that a text says it is; empty where it says nothing."""
    found = re.search(rb"^; ModuleID = '([^'\n]*)'", data[:4000], re.M)
    return found[1].decode(errors="replace") if found else ""


def defined(data: bytes) -> list[str]:
    """The functions that a text defines."""
    return [_name(found) for found in _FUNCTION.finditer(data) if found[0].startswith(b"define")]


def _name(found: re.Match[bytes]) -> str:
    return (found[1] or found[2]).decode(errors="replace")
