"""Abacus, an invented compiler of sums: `Sum("1 + 2")` is lowered to moves of beads."""

import re
import shlex
from dataclasses import dataclass
from typing import Literal

from irwidget.frontends.base import FrontEnd
from irwidget.registry import Target, Tool, option
from irwidget.toolchain.run import Source
from irwidget.toolchain.tool import Pass, TextState
from irwidget.trace import Step


@dataclass(frozen=True)
class Sum:
    text: str


@dataclass(frozen=True, kw_only=True)
class AbacusOptions:
    beads: int = option(10, "beads on a rod, 2 to 20", says="a number from 2 to 20", allows=lambda n: n in range(2, 21))
    style: Literal["chinese", "japanese"] = option("japanese", "chinese or japanese")


def fold(text):
    return re.sub(r"(\d+) \+ (\d+)", lambda found: str(int(found[1]) + int(found[2])), text)


def run(run, state, step):
    passes = {"--fold": fold, "--move": lambda text: "".join(f"move {n}\n" for n in re.findall(r"\d+", text))}
    for word in shlex.split(step.arguments):
        if word in passes:
            change = passes[word]
            yield Pass(word[2:], lambda before, change=change: TextState("abacus", change(before.text)), step.arguments)


class Abacus(FrontEnd):
    name = "abacus"
    starts_from = "a Sum of Abacus"
    packages = ("irwidget-abacus",)

    def recognises(self, obj):
        return isinstance(obj, Sum)

    def source(self, given):
        return Source(given.obj.text if isinstance(given.obj, Sum) else given.obj, "abacus", name="sum")


def plan(options):
    return (Step("abacus-opt", f"--fold --move --beads={options.beads} --style={options.style}", "abacus"),)


FRONT_END = Abacus()
TOOL = Tool("abacus-opt", run, "moves beads", reads="abacus", leaves="abacus", package="irwidget-abacus")
BEADS = Target("abacus_moves", "abacus", "abacus", plan=plan, summary="moves of beads", options=AbacusOptions)
