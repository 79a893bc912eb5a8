"""Ctrl-C in the first %%lower cell of fresh kernels: one line, at once, and the next cell lowers."""

from __future__ import annotations

import random
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.kernels import kernel

ROOT = Path(__file__).resolve().parents[2]
CELL = """%%lower --to {target} --text
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
    def forward(self, x):
        return torch.relu(self.fc(x))
net = Net()
x = torch.randn(2, 4)
"""
FIRST, NEXT = CELL.format(target="nvptx"), CELL.format(target="tosa_mlir")
LINE = re.compile(r"interrupted .*after \d+ s|.* was interrupted \(by you, after \d+ s\)")


@dataclass(frozen=True)
class Struck:
    """What came of a kernel whose first cell was interrupted."""

    delay: float
    shown: str
    """What the cell shows in place of a result; empty when it had finished first."""
    seconds: float
    """From the interrupt to the end of the cell."""
    next_lowers: bool
    why: str = ""
    passes: float = 0.0
    """Seconds of the passes, where nothing was interrupted."""

    @property
    def in_one_line(self) -> bool:
        return LINE.fullmatch(self.shown) is not None

    @property
    def good(self) -> bool:
        """Whether the next cell lowers, and this one ended in a line; or IPython's own code did, before it began."""
        return self.next_lowers and (self.in_one_line or "irwidget" not in self.shown)

    @property
    def where(self) -> str:
        """What the line says was going on."""
        if not self.shown:
            return "after the end"
        found = re.match(r"interrupted in ([\w.'-]+(?: [\w.'-]+)*)", self.shown)
        return "in the passes" if found is None else f"in {found[1].partition(' after ')[0]}"


def strike(delay: float | None, *, imported: bool) -> Struck:
    """Interrupt the first cell of a fresh kernel after `delay` seconds; None: never.

    `imported`: the cell begins when PyTorch has been imported, so that all of it is its own work.
    """
    with kernel(cwd=str(ROOT)) as (manager, channel):
        assert _reply(channel, channel.execute("%load_ext irwidget"))["status"] == "ok"
        if imported:
            wait = "from irwidget import imports\nimports.wait(imports.TORCH + imports.OURS)"
            assert _reply(channel, channel.execute(wait))["status"] == "ok"
        asked = channel.execute(FIRST, stop_on_error=False)  # or the kernel would abort the next cell, too
        _begins(channel, asked)
        struck = time.monotonic()
        if delay is not None:
            time.sleep(delay)
            struck = time.monotonic()
            manager.interrupt_kernel()
        passes = 0.0
        if delay is None:
            reply, ended = _reply(channel, asked), time.monotonic()
            passes = float(_value(channel, "sum(dump.seconds for dump in _lowering.dumps[1:])"))
            after = _reply(channel, channel.execute(NEXT))
        else:
            reply, ended, after = _replies(channel, asked, channel.execute(NEXT))
        seconds = ended - struck
        shown = "\n".join(_plain(line) for line in reply.get("traceback", ()))
        if after["status"] == "error" and after["ename"] in ("KeyboardInterrupt", "LoweringInterrupted"):
            after = _reply(channel, channel.execute(NEXT))  # the first was over before the signal came
        good = after["status"] == "ok" and "tosa.matmul" in _value(channel, "_lowering.text")
        return Struck(delay or 0.0, shown, seconds, good, "" if good else str(after.get("evalue")), passes)


def _begins(channel: Any, asked: str) -> None:
    """Wait for the cell to begin: before that, a kernel ignores interrupts."""
    while True:
        message = channel.get_iopub_msg(timeout=180)
        if message["parent_header"].get("msg_id") == asked and message["msg_type"] == "execute_input":
            return


def _replies(channel: Any, first: str, second: str) -> tuple[dict[str, Any], float, dict[str, Any]]:
    """The reply to a cell, when it came, and the reply to the one after it.

    There is none to the first where the interrupt struck ipykernel's own code, on the way to the cell.
    """
    found: dict[str, Any] = {}
    ended = time.monotonic()
    while True:
        message = channel.get_shell_msg(timeout=180)
        if message["parent_header"].get("msg_id") == first:
            found, ended = message["content"], time.monotonic()
        elif message["parent_header"].get("msg_id") == second:
            return found, ended, message["content"]


def _reply(channel: Any, asked: str) -> dict[str, Any]:
    while True:
        message = channel.get_shell_msg(timeout=180)
        if message["parent_header"].get("msg_id") == asked:
            return message["content"]


def _value(channel: Any, expression: str) -> str:
    found = {"status": "aborted"}  # as a kernel drops what comes right after a cell that failed
    while found["status"] == "aborted":
        found = _reply(channel, channel.execute("", user_expressions={"it": expression}))
    return str(found["user_expressions"]["it"].get("data", {}).get("text/plain"))


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def first_cells(count: int, number: int, *, loaded: bool) -> dict[str, object]:
    """Interrupt `count` fresh kernels at random moments, on a machine with twice as much work as cores if `loaded`.

    A quarter of the moments are drawn from a whole first cell, most of which is the import of PyTorch; a quarter from
    what comes after that import, most of which is the export; and half from the passes.
    """
    chance = random.Random(number)
    struck: list[Struck] = []
    with ExitStack() as stack:
        for _ in range(4 if loaded else 0):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.kill)
        whole = strike(None, imported=False)
        own = strike(None, imported=True)
        before = own.seconds - own.passes
        for index in range(count):
            imported = index % 4 > 0
            least, most = ((0, whole.seconds), (0, own.seconds), (before, own.seconds), (before, own.seconds))[
                index % 4
            ]
            struck.append(strike(chance.uniform(least, most), imported=imported))
    places = Counter(one.where for one in struck)
    wrong = [f"FAILED: {one}" for one in struck if not one.good]
    found = {
        "the cell takes ms": round(whole.seconds * 1000),
        "once PyTorch is imported": round(own.seconds * 1000),
        "slowest end in ms": round(1000 * max((one.seconds for one in struck if one.shown), default=0.0)),
        **places,
    }
    if wrong:
        found["wrong"] = "; ".join(wrong)
    good = sum(one.next_lowers for one in struck)
    return {f"{good} of {count} lower afterwards": f"{sum(one.in_one_line for one in struck)} in one line", **found}
