"""The process that tries the candidates of a reduction, each in a copy of itself, several side by side.

One may crash, hang or eat memory, and the next begins as if it had not been.

`irwidget.reducing.pool` starts it.
"""

from __future__ import annotations

import contextlib
import mmap
import pickle
import threading
import time
import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from irwidget import private_torch_mlir, registry
from irwidget.frontends import raw_text
from irwidget.reducing import failing
from irwidget.reducing.tasks import FileTask, IRTask, Outcome, Task
from irwidget.toolchain import child, external, forked, mlir
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Failure, Step

if TYPE_CHECKING:
    from irwidget.toolchain.events import PassStarted

_MOST = 1 << 16
"""Bytes for what a copy was at when it ended."""


def main() -> None:
    connection = child.serving()
    warnings.simplefilter("ignore")
    sending = threading.Lock()

    def answer(number: int, task: Task) -> None:
        data = pickle.dumps((number, outcome(task)))
        with sending:
            connection.send_bytes(data)

    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            number, task = pickle.loads(connection.recv_bytes())
            _warm(task)
            threading.Thread(target=answer, args=(number, task), daemon=True).start()


def outcome(task: Task) -> Outcome:
    """What comes of a task: of the first run that fails in the way that is looked for, or of the last."""
    found = _outcome(task)
    for _ in range(1, task.times):
        if task.looked_for is None or task.looked_for.includes(found.kind):
            break
        found = _outcome(task)
    return found


def _outcome(task: Task) -> Outcome:
    """What comes of a task, run in a copy of this process."""
    noted = _Noted()
    started = time.monotonic()
    of = _of_ir if isinstance(task, IRTask) else _of_file
    try:
        found = forked.call(partial(of, task, noted), seconds=task.seconds, memory=task.memory, cuda=False)
    except forked.Died as death:
        found = noted.ended(f"crashed (the worker {death})")
    except forked.TimedOut:
        found = noted.ended(f"timed out (after {task.seconds:.3g} s)")
    except MemoryError:
        found = noted.ended("ran out of memory")
    except Exception as error:  # text that is no IR; a defect of ours in one candidate does not cost the others
        found = Outcome(failing.of_error(error), message=str(error))
    return replace(found, seconds=time.monotonic() - started)


_warmed: set[str] = set()


def _warm(task: Task) -> None:
    """Have what a copy needs imported and looked up once, and run on a program of our own where that loads more."""
    for step in task.steps if isinstance(task, IRTask) else ():
        with contextlib.suppress(ImportError):  # which a copy says
            if tool := registry.tools.get(step.tool):
                registry.imported(tool.run)
        if step.program:
            external.find(step.tool)
    what = task.steps[0].tool if isinstance(task, IRTask) and task.steps else type(task).__name__
    if what in _warmed:
        return
    if not _warmed:
        private_torch_mlir.tell_crashes()  # loads what all copies need for it
    _warmed.add(what)
    quiet = Options(isolate=False, dumps=False)
    with contextlib.suppress(Exception):
        if isinstance(task, FileTask):
            from irwidget import reduction_files

            reduction_files.warm(task)
            mlir.prepare()
        elif what in ("opt", "llc"):
            Source("define void @f() {\n  ret void\n}", "llvm").run((Step(what, "-O1"),), quiet)
        else:
            Source("module {}").run((), quiet)
            mlir.prepare()  # a context, of which each copy has its own


class _Noted:
    """The pass that a copy is at, in memory that it shares with this process."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _MOST)

    def pass_began(self, started: PassStarted, step: Step, _: float) -> None:
        """Told by a run of each pass."""
        data = pickle.dumps((step.tool, started.name, started.pipeline[: _MOST // 8], started.step))
        self._memory.seek(0)
        self._memory.write(len(data).to_bytes(8, "little") + data)

    def ended(self, how: str) -> Outcome:
        """The outcome where a copy ended before it could say anything."""
        size = int.from_bytes(self._memory[:8], "little")
        tool, name, pipeline, step = pickle.loads(self._memory[8 : 8 + size]) if size else ("", "", "", -1)
        failure = Failure(step, name, f"{tool}: pass {name} {how}" if name else f"the lowering {how}", kind="tool")
        return Outcome(failing.kind_of(failure), message=failure.message, reproducer=pipeline, step=step)


def _of_ir(task: IRTask, noted: _Noted) -> Outcome:
    private_torch_mlir.tell_crashes()
    wants = task.wanted == "text"
    options = Options(
        isolate=False,
        dumps=False,
        verify=task.verify,
        elide=task.elide,
        target=task.target,
        progress=noted.pass_began,
        memory=task.memory,
    )
    trace = raw_text.source(task.text, task.steps).run(task.steps, options)
    return Outcome.of(trace, wants=wants)


def _of_file(task: FileTask, noted: _Noted) -> Outcome:
    from irwidget import reduction_files  # with all that lowers objects, which IR needs nothing of

    private_torch_mlir.tell_crashes()
    return reduction_files.outcome(task, noted.pass_began)


if __name__ == "__main__":
    main()
