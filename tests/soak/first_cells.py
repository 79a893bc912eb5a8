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

from jupyter_client.manager import KernelManager

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

    @property
    def in_one_line(self) -> bool:
        return LINE.fullmatch(self.shown) is not None


def strike(delay: float | None) -> Struck:
    """Interrupt the first cell of a fresh kernel after `delay` seconds; None: never."""
    manager = KernelManager(kernel_name="python3")
    with ExitStack() as stack:
        manager.start_kernel(cwd=str(ROOT))
        stack.callback(manager.shutdown_kernel, now=True)
        channel = manager.client()
        channel.start_channels()
        stack.callback(channel.stop_channels)
        channel.wait_for_ready(timeout=120)
        assert _reply(channel, channel.execute("%load_ext irwidget"))["status"] == "ok"
        asked = channel.execute(FIRST, stop_on_error=False)  # or the kernel would abort the next cell, too
        _begins(channel, asked)
        struck = time.monotonic()
        if delay is not None:
            time.sleep(delay)
            struck = time.monotonic()
            manager.interrupt_kernel()
        reply = _reply(channel, asked)
        seconds = time.monotonic() - struck
        shown = "\n".join(_plain(line) for line in reply.get("traceback", ()))
        after = _reply(channel, channel.execute(NEXT))
        if after["status"] == "error" and after["ename"] in ("KeyboardInterrupt", "LoweringInterrupted"):
            after = _reply(channel, channel.execute(NEXT))  # the first was over before the signal came
        good = after["status"] == "ok" and "tosa.matmul" in _value(channel, "_lowering.text")
        return Struck(delay or 0.0, shown, seconds, good, "" if good else str(after.get("evalue")))


def _begins(channel: Any, asked: str) -> None:
    """Wait for the cell to begin: before that, a kernel ignores interrupts."""
    while True:
        message = channel.get_iopub_msg(timeout=180)
        if message["parent_header"].get("msg_id") == asked and message["msg_type"] == "execute_input":
            return


def _reply(channel: Any, asked: str) -> dict[str, Any]:
    while True:
        message = channel.get_shell_msg(timeout=180)
        if message["parent_header"].get("msg_id") == asked:
            return message["content"]


def _value(channel: Any, expression: str) -> str:
    asked = channel.execute("", user_expressions={"it": expression})
    return str(_reply(channel, asked)["user_expressions"]["it"].get("data", {}).get("text/plain"))


def _plain(line: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def first_cells(count: int, number: int, *, loaded: bool) -> Counter[str]:
    """Interrupt `count` fresh kernels at random moments, on a machine with twice as much work as cores if `loaded`."""
    chance = random.Random(number)
    outcomes: Counter[str] = Counter()
    slowest = 0.0
    with ExitStack() as stack:
        for _ in range(4 if loaded else 0):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.kill)
        whole = strike(None).seconds
        for _ in range(count):
            one = strike(chance.uniform(0, whole))
            slowest = max(slowest, one.seconds if one.shown else 0)
            outcomes["lower afterwards" if one.next_lowers else f"FAILED: {one}"] += 1
            outcomes["in one line" if one.in_one_line else "finished first" if not one.shown else f"FAILED: {one}"] += 1
    outcomes["slowest end in ms"] = round(slowest * 1000)
    outcomes["the cell takes ms"] = round(whole * 1000)
    return outcomes
