"""Constants that texts only name, and where their values are: in the module that the lowering started from.

`dense_resource<torch_tensor_8_torch.float32>` is a literal of that module. `dense_resource<__elided__>` is a constant
that a pass has made, which has no name: of a text that was edited it is known by its line, where that is as it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.toolchain import mlir
from irwidget.toolchain.weights import Weights
from irwidget.trace import Step, syntax

_MENTION = re.compile(r"dense_resource<([^>]*)>(?: : (\S*tensor<[^>]*>))?")
_ELIDED = "__elided__"
_MARK = "irwidget_constant_"
"""Begins names that no other resource has: MLIR gives the second of one name another."""
_MARKED = re.compile(rf"(dense_resource<){_MARK}(\d+)(> : .*)")


@dataclass(frozen=True)
class Constants:
    """Those of the module that a lowering starts from."""

    bytecode: bytes
    """Of that module."""
    types: Mapping[str, str]
    """Of its literals that are resources, by name."""
    weights: Weights | None = None
    """The values that the bytecode leaves out."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text only names a constant."""

    start: int
    """Of the name in the text, from 0."""
    end: int
    constant: str | int
    """Its name, or its number among those without a name in the text that was edited."""


@dataclass(frozen=True, slots=True)
class Naming:
    """What a text only names, and the module that has it: that of `bytecode`, after passes where `passes` is not 0."""

    places: tuple[Place, ...]
    bytecode: bytes
    steps: tuple[Step, ...] = ()
    passes: int = 0
    """How many of these steps have run."""
    text: str = ""
    """What the module is printed as after them."""

    @property
    def by_line(self) -> bool:
        """Whether a constant is known by its line alone."""
        return any(isinstance(one.constant, int) for one in self.places)


def places(text: str, before: str, types: Mapping[str, str]) -> tuple[Place, ...]:
    """Where a text of MLIR only names constants that are known: literals of these types, what the text `before` has.

    Empty where it names none without values, and where a literal has another type than there or other values: MLIR
    would then give it another name.
    """
    body, _, section = text.partition("{-#")
    mentions = list(_MENTION.finditer(body))
    if all(f"{one[1]}:" in section for one in mentions):
        return ()
    written, was = syntax.written(text), syntax.written(before)
    known = {one.groups() for one in _MENTION.finditer(before)} | {(name, type_) for name, type_ in types.items()}
    found = list(_elided(body, before))
    for one in mentions:
        if one[1] not in types:
            continue
        same = written.get(one[1]) in (None, was.get(one[1]))
        if not same or not (one[2] is None or one.groups() in known):
            return ()
        found.append(Place(*one.span(1), one[1]))
    return tuple(found)


def _elided(text: str, before: str) -> Iterator[Place]:
    """Constants without a name, in lines that are in both texts, in each once."""
    numbers: dict[str, list[int]] = {}
    count = 0
    for line, mentions in _lines(before):
        numbers[line] = list(range(count, count := count + len(mentions)))
    often = Counter(line for one in (text, before) for line, _ in _lines(one))
    start = 0
    for line, mentions in _lines(text):
        start = text.index(line, start)
        if line in numbers and often[line] == 2:
            for number, one in zip(numbers[line], mentions, strict=True):
                yield Place(start + one.start(1), start + one.end(1), number)
        start += len(line)


def _lines(text: str) -> Iterator[tuple[str, list[re.Match[str]]]]:
    for line in text.splitlines():
        if _ELIDED in line:
            yield line, [one for one in _MENTION.finditer(line) if one[1] == _ELIDED]


def naming(text: str, before: str, constants: Constants, steps: Sequence[Step] = (), passes: int = 0) -> Naming | None:
    """What a text made of the text `before` only names; that was left by so many passes of these steps, all of which
    can run again. None where nothing of it is known.
    """
    found = places(text, before, constants.types)
    if not found:
        return None
    body = text.partition("{-#")[0]
    literals = {f"<{name}> : {type_}" for name, type_ in constants.types.items()}
    if all(isinstance(one.constant, str) for one in found) and all(
        one[2] is None or one[1] not in constants.types or f"<{one[1]}> : {one[2]}" in literals
        for one in _MENTION.finditer(body)
    ):
        return Naming(found, constants.bytecode)
    return Naming(found, constants.bytecode, tuple(steps), passes, before) if passes else None


def left_out(text: str, naming: Naming | None) -> list[str]:
    """The constants whose values a text of MLIR or LLVM IR does not have, and of which nothing is known."""
    known = {one.start for one in naming.places} if naming else set[int]()
    given = {text[start:].partition(">")[0] for start in known}
    given -= {one[1] for one in _MENTION.finditer(text) if one.start(1) not in known}
    return [name for name in syntax.left_out(text) if name not in given]


def parsed(text: str, naming: Naming, module: Any, context: Any) -> Any:
    """The module of a text, with constants of another module of its context in place of those that it only names.

    None where one is not found there, or is named in a place that bindings do not reach. Raises PassFailed for text
    that does not parse.
    """
    resources, others = _constants_of(module)
    if naming.by_line and len(others) != naming.text.count(f"<{_ELIDED}>"):
        return None  # some are where bindings do not reach, and the numbers of the rest are others
    marked = text
    for number, one in sorted(enumerate(naming.places), key=lambda each: each[1].start, reverse=True):
        marked = f"{marked[: one.start]}{_MARK}{number}{marked[one.end :]}"
    made = mlir.parse(marked, context)
    put = 0
    for operation, key, value in _attributes(made):
        found = _MARKED.fullmatch(str(value)) if type(value) is mlir.ir.Attribute else None
        if found is None:
            continue
        constant = naming.places[int(found[2])].constant
        named = isinstance(constant, str)
        given = resources.get(f"{found[1]}{constant}{found[3]}") if named else others.get((constant, str(value.type)))
        if given is None:
            return None
        operation.attributes[key] = given
        put += 1
    return made if put == len(naming.places) else None


def _constants_of(module: Any) -> tuple[dict[str, Any], dict[tuple[int, str], Any]]:
    """A module's constants: resources by what they are printed as, others that are elided by number and type."""
    resources: dict[str, Any] = {}
    others: dict[tuple[int, str], Any] = {}
    last: Any = None
    for operation, _, value in _attributes(module):
        if type(value) is mlir.ir.Attribute:
            resources[str(value)] = value
        elif mlir.is_elided(value):
            if operation is last:  # its attributes may be printed in another order
                return resources, {}
            others[len(others), str(value.type)] = value
            last = operation
    return resources, others


def _attributes(module: Any) -> Iterator[tuple[Any, str, Any]]:
    """Each attribute of each operation: the operation, its key, the attribute."""
    for operation in mlir.operations(module.operation):
        for key in list(operation.attributes):
            try:
                yield operation, key, operation.attributes[key]
            except TypeError:  # of complex numbers, which the bindings do not know
                continue
