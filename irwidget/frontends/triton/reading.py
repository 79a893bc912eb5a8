"""What host code gets that reads tensors without values: values, computed then, or the reason why there are none."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton.memory import Memory, NoValue, Ref
from irwidget.frontends.triton.replay import Done, replay
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.frontends.triton.tape import Entry, Step, Tape
from irwidget.private_torch import FakeTensorMode, pytree
from irwidget.trace import Diagnostic, Location

SECONDS = 20.0
"""What the computations of all that a cell reads may take together."""


def _quiet(message: str) -> None:
    pass


@dataclass
class Reading:
    """What one cell reads, and what that may cost."""

    tell: Callable[[str], None] = _quiet
    """Is told what there is to say of values."""
    place: Callable[[], Location | None] = lambda: None
    """The line of the cell that runs."""
    left: float = SECONDS
    memory: int | None = None
    """Bytes that computing may take."""
    interpret: bool = True
    """Whether launches are executed for it."""
    launches: int = 0
    spent: float = 0.0
    places: dict[Location | None, None] = field(default_factory=dict[Location | None, None])
    """The lines for which launches were executed."""

    def summary(self) -> list[Diagnostic]:
        """What there is to say of the launches that were executed; nothing where none was."""
        if not self.launches:
            return []
        first, *others = self.places
        what = "1 launch" if self.launches == 1 else f"{self.launches} launches"
        verb = "was" if self.launches == 1 else "were"
        because = f"because {first or 'the cell'}" + (f" and {len(others)} more" if others else "")
        reads = "read results" if others else "reads a result"
        said = f"{what} {verb} executed on the CPU in {self.spent:.2g} s, {because} {reads}"
        return [Diagnostic("remark", f"{said}: values are a CPU's, not a GPU's. --no-interpret leaves it out", first)]

    def replay(self, entries: Sequence[Entry]) -> None:
        """Execute what a tape has noted. Raises NoValue."""
        began = time.monotonic()
        did = Done()
        try:
            did = replay(entries, self.left, self.memory)
        finally:
            took = time.monotonic() - began
            self.left -= took
        sys.stdout.write(did.printed)
        if did.launches:
            self.launches, self.spent = self.launches + did.launches, self.spent + took
            self.places[self.place()] = None


class Reader:
    """Reads the tensors of a fake mode."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.tape = Tape(mode)
        self.reading = Reading()

    @contextlib.contextmanager
    def used(self, reading: Reading) -> Generator[None]:
        """For as long as a cell runs."""
        before, self.reading = self.reading, reading
        if self.tape.generator.unknown:  # whatever a cell before did to it; not the numbers that were drawn then
            self.tape.seeded((torch.initial_seed() + 1) % (1 << 63))
        try:
            yield
        finally:
            self.reading = before
            self.tape.end()

    def has_met(self, tensor: torch.Tensor) -> bool:
        """Whether a real tensor was used here: it then has the values that the cell gave it."""
        return self.tape.memories.has_met(tensor)

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor with the values of one that has none. Raises NoValue."""
        with as_it_is():
            ref = self.tape.memories.ref(tensor, self.mode)
            (value,) = self._values([ref], [tensor.dtype.is_floating_point])
            return value.clone()

    def answer(self, step: Step) -> Any:
        """What an operator gives that needs values. Raises NoValue."""
        if step.problem or step.written:
            raise NoValue(step.problem or f"{step.name} needs values")
        with as_it_is():
            inexact = [one.dtype.is_floating_point or one.dtype.is_complex for one in step.refs]
            values = dict(zip(map(id, step.refs), self._values(step.refs, inexact), strict=True))
            args, kwargs = pytree.tree_map(lambda leaf: values.get(id(leaf), leaf), (step.args, step.kwargs))
            with torch.no_grad(), torch.autocast("cpu", enabled=False):
                made = step.func(*args, **kwargs)
            return pytree.tree_map_only(torch.Tensor, self._kept, made)

    def _kept(self, real: torch.Tensor) -> torch.Tensor:
        """A tensor without values, whose values these are."""
        fake = private_torch.as_fake(self.mode, real.clone())
        self.tape.memories.new(fake).take(real.clone().untyped_storage())
        return fake

    def _values(self, refs: Sequence[Ref], inexact: Sequence[bool]) -> list[torch.Tensor]:
        memories = list(dict.fromkeys(ref.memory for ref in refs))
        for one in memories:
            if one.unknown:
                raise NoValue(one.unknown)
        if entries := self.tape.taken(memories):
            self.reading.replay(entries)
        for ref in refs:
            if reason := ref.readable():
                raise NoValue(reason)
        self._tell(memories, any(inexact))
        return [ref.tensor() for ref in refs]

    def _tell(self, memories: Sequence[Memory], inexact: bool) -> None:
        if inexact:
            self.reading.tell("floats that the cell reads are computed by the CPU; a GPU may round otherwise")
        if any(one.drawn for one in memories):
            self.reading.tell("random numbers that the cell reads are those of the CPU's generator; a GPU draws others")
