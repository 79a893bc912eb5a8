"""What an executed kernel consists of: steps that read and write numbered places, in blocks, regions and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Places = list[Any]
"""The values of a function that runs, by number."""
Step = Callable[[Places], object]


class NotAtOnce(Exception):
    """A function of single elements decides by them, so that not all can be computed at once."""

    def __init__(self, apart: Any) -> None:
        super().__init__()
        self.apart = apart
        """True for those that go one way, false for the others; there are both."""


class Refused(NotImplementedError):
    """An operation that is not executed, in words, with its line in the text."""

    def __init__(self, error: NotImplementedError, line: int) -> None:
        super().__init__(str(error))
        self.line = line


@dataclass
class Region:
    """Blocks that can run."""

    blocks: list[RunnableBlock] = field(default_factory=list["RunnableBlock"])

    def run(self, places: Places) -> tuple[str, list[Any]]:
        """The name of the operation that ends it, and its operands. Raises Refused."""
        block, step = self.blocks[0], None
        while True:
            try:
                for step in block.steps:
                    step(places)
            except Refused:
                raise
            except NotImplementedError as error:
                raise Refused(error, block.lines[block.steps.index(step)] if step else 0) from None
            following = block.ends(places)
            if isinstance(following, tuple):
                return following
            block = following


@dataclass
class RunnableBlock:
    arguments: list[int]
    steps: list[Step] = field(default_factory=list[Step])
    lines: list[int] = field(default_factory=list[int])
    """That of each step in the text."""
    ends: Callable[[Places], Any] = lambda _: ("", [])


@dataclass
class Procedure:
    """A function that can run."""

    arguments: list[int]
    template: Places
    """What its places begin with: constants."""
    body: Region = field(default_factory=Region)

    def __call__(self, *given: Any) -> list[Any]:
        places = self.template.copy()
        for place, value in zip(self.arguments, given, strict=True):
            places[place] = value
        return self.body.run(places)[1]


def decided(value: Any) -> Any:
    """What a region decides by, as Python has it. Raises NotAtOnce where elements have different ones."""
    if not np.ndim(value):
        return value.item()
    first = value.reshape(-1)[0]
    same = value == first
    if not same.all():
        raise NotAtOnce(same)
    return first.item()
