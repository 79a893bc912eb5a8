"""LLVM's own passes over a Triton kernel, on request.

libtriton prints them to stderr when LLVM_IR_ENABLE_DUMP is set, and cannot be told to stop: the switch sticks to the
process. So a process of its own runs the stage once more with the switch on, and what it wrote is read as any log is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from irwidget.readers import log as logs
from irwidget.readers.base import ReaderInput
from irwidget.readers.printed import PassDumps
from irwidget.toolchain import events, feeding, processes
from irwidget.toolchain.tool import Pass, State, StepFailed
from irwidget.toolchain.triton_state import TritonState
from irwidget.trace import Diagnostic, Dump


def passes(arguments: str, ttgir: str, remarks: list[Diagnostic]) -> Iterator[Pass]:
    """The passes of LLVM's optimiser that changed something, as dumps of the module, or of a loop.

    `arguments` are those of the llir step, `ttgir` is what it starts from; `remarks` gets what there is to know of the
    dumps. Raises StepFailed when the process ends before it has run the stage.
    """
    printed = _printed(arguments, ttgir)
    for trace in PassDumps().read(ReaderInput("opt", logs.of_bytes(printed, "opt"))):
        remarks += [one for one in trace.diagnostics if one.severity == "remark" and one.location is None]
        for dump in trace.dumps:
            if dump.content.changed:
                yield Pass(dump.name, _shown(dump), "", dump.scope, f"opt -passes={dump.name}", dump.seconds)


def _shown(dump: Dump) -> Callable[[State], State]:
    state = TritonState("llvm", text=dump.text)
    return lambda _: state


def _printed(arguments: str, ttgir: str) -> bytes:
    command = processes.command("irwidget.toolchain.triton_llvm_log", arguments)
    status, printed = feeding.logged(command, ttgir.encode(), {**os.environ, "LLVM_IR_ENABLE_DUMP": "1"})
    if status:
        last = printed.decode(errors="replace").strip().rsplit("\n", 1)[-1][:300]
        said = f"LLVM's passes could not be dumped: the process ended with {status}: {last}"
        raise StepFailed(events.Failed("tool", said, "", "opt"))
    return printed
