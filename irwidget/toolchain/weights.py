"""Weights, which are never sent: the bytecode of a model only names its large literals.

A literal without values is honest: MLIR prints it as it prints an elided one, and a pass that asks for the values is
told that there are none. Where they are needed, the kernel copies them once into a file in memory, and the worker maps
that file; the literals' resources are its pages.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, cast

from irwidget.errors import ToolError
from irwidget.toolchain import forked
from irwidget.trace import Step

LITERAL = "torch.vtensor.literal"
"""The operation whose `value` is a weight."""
_ALIGNED = 64
_VALUE_INDEPENDENT = ("mlir-translate", "opt", "llc", "llvm-link", "ptxas", "user-tool")
"""Tools that read text or LLVM IR, from which the values are left out unless they are asked for."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal whose values are not in the bytecode."""

    name: str
    """Of its resource: `torch_tensor_768_768_torch.float32_1`."""
    type: str
    element: int
    """Bytes of an element."""
    size: int
    """Bytes of all."""
    read: bool
    """Whether passes look at the values, as they do at integers: then they are always given."""


@dataclass(frozen=True, slots=True)
class Values:
    """Where the worker finds the values of literals."""

    path: str
    """Of a file that it can map."""
    places: Mapping[str, tuple[Literal, int]]
    """By the name of the resource: the literal, and where its values start."""
    order: tuple[str, ...]
    """The resource of each literal operation of the module, in the order of a walk; empty where it has its values."""


@dataclass
class Weights:
    """The kernel's side: literals whose values are still the user's tensors."""

    literals: Mapping[str, Literal]
    order: tuple[str, ...]
    values_of: Callable[[str], memoryview]
    """The bytes of a literal, row-major, without a copy where that can be. Raises UsageError when they have changed."""
    isolate: bool = True
    """Read the user's memory in a copy of this process: it may be a file that is no longer whole."""
    safe: frozenset[Step] = frozenset()
    """Steps that are known to do the same whether the values are there or not."""
    _writing: threading.Lock = field(default_factory=threading.Lock)
    _given: dict[bool, tuple[IO[bytes], Values]] = field(default_factory=dict[bool, tuple[IO[bytes], Values]])

    @property
    def size(self) -> int:
        """Bytes of all values."""
        return sum(literal.size for literal in self.literals.values())

    def needed(self, steps: Sequence[Step], *, in_full: bool) -> bool:
        """Whether a run needs all values: it shows them in full, or has a pass of which nobody knows what it reads."""
        return in_full or any(
            step not in self.safe and step.tool not in _VALUE_INDEPENDENT and not step.program for step in steps
        )

    def values(self, *, everything: bool, seconds: float | None = None) -> Values | None:
        """The values, all or those that passes look at, in a file that lives as long as this object does.

        They are copied when first asked for, within `seconds`. Raises UsageError when they have changed, ToolError when
        they cannot be read.
        """
        wanted = [literal for literal in self.literals.values() if everything or literal.read]
        if not wanted:
            return None
        with self._writing:
            if everything not in self._given:
                self._given[everything] = self._write(wanted, seconds)
            return self._given[everything][1]

    def _write(self, literals: Sequence[Literal], seconds: float | None) -> tuple[IO[bytes], Values]:
        offset, places = 0, dict[str, tuple[Literal, int]]()
        for literal in literals:
            places[literal.name] = (literal, offset)
            offset += -(-literal.size // _ALIGNED) * _ALIGNED
        file, path = _file()
        file.truncate(offset)

        def copy() -> None:
            with mmap.mmap(file.fileno(), offset) as target:
                for name, (literal, start) in places.items():
                    target[start : start + literal.size] = self.values_of(name)

        try:
            _ = forked.call(copy, seconds=seconds) if self.isolate else copy()
        except (forked.Died, MemoryError) as death:
            raise ToolError(f"The weights cannot be read: copying them {death}", tool="irwidget") from None
        except forked.TimedOut:
            message = f"Copying {offset >> 20} MiB of weights timed out (after {seconds:g} s)"
            raise ToolError(message, tool="irwidget") from None
        return file, Values(path, places, self.order)


def _file() -> tuple[IO[bytes], str]:
    """An empty file, in memory where the system has such, and its path for other processes of this user."""
    if hasattr(os, "memfd_create"):
        file = os.fdopen(os.memfd_create("irwidget-weights"), "w+b")
        return file, f"/proc/{os.getpid()}/fd/{file.fileno()}"
    named = tempfile.NamedTemporaryFile(prefix="irwidget-weights-")  # noqa: SIM115
    return cast("IO[bytes]", named), named.name


def attributes(values: Values, context: Any) -> dict[str, Any]:
    """The resources of the values in a new context, which has no others of their names yet."""
    from irwidget.toolchain.mlir import ir

    with open(values.path, "rb") as file:
        try:
            pages = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError as error:
            if error.errno == errno.ENOMEM:
                raise MemoryError from None
            raise
    with context, ir.Location.unknown():
        return {
            name: ir.DenseResourceElementsAttr.get_from_buffer(
                pages[start : start + literal.size], name, ir.Type.parse(literal.type), literal.element
            )
            for name, (literal, start) in values.places.items()
        }


def put(module: Any, order: Sequence[str], made: Mapping[str, Any]) -> None:
    """Give the literals of a module their values."""
    for literal, name in zip(literals(module), order, strict=True):
        if name in made:
            literal.attributes["value"] = made[name]


def literals(module: Any) -> Iterator[Any]:
    """The literal operations of a module, in the order of a walk."""
    from irwidget.toolchain.mlir import ir

    found: list[Any] = []

    def look(operation: Any) -> Any:
        if operation.name == LITERAL:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return iter(found)
