"""LLVM's own passes over a Triton kernel, on request.

libtriton prints them to stderr when LLVM_IR_ENABLE_DUMP is set, and cannot be
told to stop: the switch sticks to the process. So a process of its own runs the
stage once more with the switch on, and what it wrote is taken apart here.

    python -m irwidget.toolchain.triton_llvm STEP_ARGUMENTS < kernel.ttgir
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator

from irwidget.toolchain import events, processes
from irwidget.toolchain.llvm_passes import scope_of
from irwidget.toolchain.tool import Pass, State, StepFailed
from irwidget.toolchain.triton_state import TritonState
from irwidget.trace import Scope

_HEADER = re.compile(
    r"^; \*\*\* IR Dump After (\S+) on (.+?)(?: \(invalidated\))? \*\*\*\s*$|"
    r"^# \*\*\* IR Dump After (.+?) \((\S+)\) \*\*\*:?\s*$",
    re.M,
)


def passes(arguments: str, ttgir: str) -> Iterator[Pass]:
    """The passes of LLVM's optimiser that changed something, as dumps of what each ran on (function, loop, module).

    `arguments` are those of the llir step, `ttgir` is what it starts from.
    """
    previous: dict[Scope, str] = {}
    for name, scope, text in split(_dumps(arguments, ttgir)):
        if previous.get(scope) == text:
            continue
        previous[scope] = text
        state = TritonState("llvm", text=text)

        def show(_: State, state: TritonState = state) -> State:
            return state

        yield Pass(name, show, "", scope, f"opt -passes={name}")


def split(log: str) -> Iterator[tuple[str, Scope, str]]:
    """Pass, what it ran on, and the IR after it, for each dump in LLVM's `-print-after-all` output."""
    headers = list(_HEADER.finditer(log))
    for header, following in zip(headers, [*headers[1:], None], strict=True):
        text = log[header.end() : following.start() if following else len(log)].strip("\n")
        yield header[1] or header[4], scope_of(header[2] or ""), text + "\n"


def _dumps(arguments: str, ttgir: str) -> str:
    # to a file: LLVM writes each piece of a line by itself, and a pipe would fill up
    with tempfile.TemporaryFile() as log:
        done = subprocess.run(
            processes.command("irwidget.toolchain.triton_llvm_log", arguments),
            input=ttgir.encode(),
            stdout=subprocess.DEVNULL,
            stderr=log,
            check=False,
            env={**os.environ, "LLVM_IR_ENABLE_DUMP": "1"},
        )
        log.seek(0)
        text = log.read().decode(errors="replace")
    if done.returncode:
        last = text.strip().rsplit("\n", 1)[-1][:300]
        raise StepFailed(
            events.Failed(
                "tool",
                f"LLVM's passes could not be dumped: the process ended with {done.returncode}: {last}",
                "",
                "opt",
            )
        )
    return text
