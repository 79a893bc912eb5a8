"""Which of its pointers a kernel may write through, read off its TTIR: never fewer than it does."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field

from irwidget.toolchain.ttir_program import result_names

_PROPAGATES = frozenset(
    """tt.addptr tt.splat tt.unsplat tt.broadcast tt.expand_dims tt.reshape tt.trans tt.bitcast tt.cat tt.join tt.split
    tt.advance tt.make_tensor_ptr tt.make_tensor_descriptor arith.select
    """.split()
)
"""Operations whose results point where their operands do."""
_READS = frozenset(["tt.load", "tt.descriptor_load", "tt.descriptor_gather"])
_FUNCTION = re.compile(r"^ *tt\.func \w+ @([^(]+)\((.*)$")
_OPERATION = re.compile(r'^ *(?:(%[^=]*?) = )?"?([\w.]+)"?(.*)$')
_NAME = re.compile(r"%[\w$.-]+(?:#\d+)?")
_CARRIED = re.compile(r"(%[\w$.-]+) = (%[\w$.-]+(?:#\d+)?)")
_PARAMETER = re.compile(r"(%[\w$.-]+): ([^,]*)")
_CALLED = re.compile(r'(%[\w$.-]+): [^%]*?loc\("([\w.]+)"')
"""A parameter, and what its location is called: before Triton 3.8 each element of a tuple as the tuple."""
_PLACE = re.compile(r' loc\((?:unknown|#loc\d*|"[^"]*"\(#loc\d*\))\)')


class _Unknown(Exception):
    """What is written cannot be told."""


@dataclass
class _Function:
    parameters: list[tuple[str, bool]]
    """Names, and whether they are or hold pointers."""
    lines: list[str] = field(default_factory=list[str])


@dataclass
class _Region:
    """An operation that yields: its results, and what it hands from one turn to the next."""

    results: list[str]
    carried: list[str]


def written(ttir: str) -> frozenset[str] | None:
    """The arguments of a kernel, by name, that are or hold pointers that it may write through.

    `ttir` is what Triton's front end makes, calls included. None where the text does not tell.
    """
    functions = _functions(ttir)
    if reaches_anything(ttir) or not functions:
        return None
    entry = next(iter(functions.values()))
    try:
        called = dict(_CALLED.findall(next(line for line in ttir.splitlines() if _FUNCTION.match(line))))
        parameters = (entry.parameters[i][0] for i in _written(entry, functions))
        names = (called.get(one, one.removeprefix("%")) for one in parameters)
        return frozenset(name.partition(".")[0] for name in names)  # of a tuple each element is a parameter
    except (_Unknown, RecursionError):
        return None


def reaches_anything(ttir: str) -> bool:
    """Whether a kernel computes or loads pointers, so that it may write into memory that it is not given."""
    return "tt.int_to_ptr" in ttir or "ptr<!tt.ptr" in ttir


def looks_at_addresses(ttir: str) -> bool:
    """Whether a kernel makes numbers of pointers, so that what it computes may depend on where memory lies."""
    return "tt.ptr_to_int" in ttir


def _functions(ttir: str) -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    current = _Function([])
    for line in _PLACE.sub("", ttir).splitlines():
        if match := _FUNCTION.match(line):
            current = found[match[1]] = _Function(
                [(name, "!tt." in kind) for name, kind in _PARAMETER.findall(match[2])]
            )
        else:
            current.lines.append(line)
    return found


def _written(function: _Function, functions: dict[str, _Function]) -> set[int]:
    """The numbers of the parameters that a function writes through."""
    behind: dict[str, set[int]] = defaultdict(set)
    """The parameters that a value may point into."""
    for number, (name, points) in enumerate(function.parameters):
        if points:
            behind[name].add(number)
    done: set[int] = set()
    before = -1
    while before != (before := sum(map(len, behind.values()))):  # until loops have nothing new to hand on
        regions: list[_Region] = []
        for line in function.lines:
            done |= _line(line, behind, regions, functions)
    return done


def _line(line: str, behind: dict[str, set[int]], regions: list[_Region], functions: dict[str, _Function]) -> set[int]:
    """What one line writes through; notes what its results point into."""
    stripped = line.strip()
    if stripped.startswith("}") and regions:
        ended = regions.pop()
        if stripped.endswith("{"):  # } else {
            regions.append(ended)
        return set()
    match = _OPERATION.match(line)
    if match is None:
        return set()
    results, kind, rest = result_names(match[1] or ""), match[2], match[3]
    operands = _NAME.findall(rest)
    roots: set[int] = set().union(*(behind.get(one, set()) for one in operands))
    if stripped.endswith("{"):
        carried = _CARRIED.findall(rest)[1:] if kind == "scf.for" else []  # the first is the loop's variable
        regions.append(_Region(results, [name for name, _ in carried]))
        for number, (name, first) in enumerate(carried):
            _add(behind, [name, *results[number : number + 1]], behind.get(first, set()))
        if roots and kind not in ("scf.for", "scf.if"):
            raise _Unknown
    elif kind == "scf.yield" and regions:
        for number, one in enumerate(operands):
            into = [*regions[-1].results[number : number + 1], *regions[-1].carried[number : number + 1]]
            _add(behind, into, behind.get(one, set()))
    elif kind in _PROPAGATES:
        _add(behind, results, roots)
    elif kind == "tt.call":
        _add(behind, results, roots)
        return _called(rest, operands, behind, functions) if roots else set()
    elif kind not in _READS and kind != "tt.return":
        return roots
    return set()


def _called(rest: str, operands: list[str], behind: dict[str, set[int]], functions: dict[str, _Function]) -> set[int]:
    """What a call writes through."""
    callee = functions.get(rest.strip().removeprefix("@").partition("(")[0].strip('"'))
    if callee is None or len(callee.parameters) != len(operands):
        raise _Unknown
    return set().union(*(behind.get(operands[i], set()) for i in _written(callee, functions)))


def _add(behind: dict[str, set[int]], names: list[str], roots: set[int]) -> None:
    if roots:
        for name in names:
            behind[name] |= roots
