"""The process of a cell: exports and lowers one case after the other, away from whoever runs the sweep.

`irwidget.toolchain.child` starts it.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import platform
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from irwidget.errors import IRWidgetError
from irwidget.sweeps.cells import Case, Cell, Status, Task, failing_op
from irwidget.toolchain import child
from irwidget.trace import Failure, Trace

IDLE = 120.0
"""Seconds without work after which it ends: what a cluster's workers were lent for a sweep goes back."""


def main() -> None:
    connection = child.serving()
    child.hush()
    runner = _CaseRunner()
    with contextlib.suppress(EOFError, ConnectionError):
        while connection.poll(IDLE):
            task: Task = pickle.loads(connection.recv_bytes())
            connection.send_bytes(pickle.dumps(runner.run(task)))


class _CaseRunner:
    """Runs tasks; the case of the last one is kept with its export, which the next target can use."""

    def __init__(self) -> None:
        self._digest = b""
        self._case: Case | None = None
        self._exported: Any = None

    def run(self, task: Task) -> Cell:
        started = time.perf_counter()
        cell = self._lower(task)
        seconds = round(time.perf_counter() - started, 4)
        return replace(cell, seconds=seconds, key=task.key, host=platform.node())

    def _lower(self, task: Task) -> Cell:
        import irwidget
        from irwidget.errors import ExportError, IRWidgetError, PassError, UnsupportedError, UsageError

        frame = Cell(task.model, task.column.name, "ok")
        try:
            case = self._load(task.payload)
            low = self._finish(task, case)
        except IRWidgetError as error:
            status: Status = "tool"
            for kind, name in (
                (UnsupportedError, "unsupported"),
                (UsageError, "usage"),
                (ExportError, "export"),
                (PassError, "failed"),
            ):
                if isinstance(error, kind):
                    status = name  # pyright: ignore[reportAssignmentType]
            if "timed out" in str(error) and status == "tool":
                status = "timeout"
            cell = _failed(frame, status, error)
            return _filled(cell, low, task.keep_dumps) if (low := _begun(error)) else cell
        except (KeyboardInterrupt, SystemExit) as error:
            return replace(frame, status="error", error=type(error).__name__, message="the model ended the process")
        except BaseException as error:
            message = str(error).strip().split("\n")[0][:2000]
            return replace(
                frame,
                status="error",
                error=type(error).__name__,
                message=message or type(error).__name__,
                op=failing_op(str(error)),
            )
        assert isinstance(low, irwidget.Lowering)
        return _filled(frame, low, task.keep_dumps)

    def _load(self, payload: bytes) -> Case:
        digest = hashlib.sha256(payload).digest()
        if digest != self._digest or self._case is None:
            import torch

            torch.manual_seed(0)
            made = pickle.loads(payload)
            if not isinstance(made, Case | tuple):
                made = made()
            self._case = made if isinstance(made, Case) else Case(made[0], tuple(made[1:]))
            self._digest, self._exported = digest, None
        return self._case

    def _finish(self, task: Task, case: Case) -> Any:
        import irwidget

        options = {**task.options, **case.options, **task.column.options}
        target = irwidget.targets().get(task.column.to)
        shared = target is not None and target.front_end == "pytorch"
        if shared and not options.get("check") and (model := self._export(case, options)) is not None:
            options.pop("dynamic_shapes", None)
            return irwidget.lower(model, to=task.column.to, timeout=task.timeout, name=task.model, **options)
        return irwidget.lower(
            case.obj,
            *case.inputs,
            to=task.column.to,
            kwargs=case.kwargs,
            timeout=task.timeout,
            name=task.model,
            **options,
        )

    def _export(self, case: Case, options: Mapping[str, Any]) -> Any:
        """The case as an exported program, made once; None for what is no PyTorch model."""
        from irwidget.frontends import base
        from irwidget.frontends import torch as frontend

        if isinstance(case.obj, str) or base.of_kind(case.obj) or not frontend.is_model(case.obj):
            return None
        if self._exported is None:
            self._exported = frontend.export(
                case.obj, case.inputs, dict(case.kwargs), options.get("dynamic_shapes"), frontend.model_name(case.obj)
            )
        return self._exported


def _begun(error: Any) -> Any:
    """The lowering that an error holds, where any of its passes has run."""
    return None if error.lowering is None or error.lowering.trace.refused else error.lowering


def _failed(frame: Cell, status: Status, error: Any) -> Cell:
    message = str(error).strip()
    low = _begun(error)
    failure = low.failure if low else None
    said = [str(diagnostic) for diagnostic in getattr(error, "diagnostics", ())]
    if failure:
        said += [failure.message, *map(str, failure.diagnostics)]
    place = getattr(error, "location", None)
    if place is None and failure and failure.diagnostics:
        place = failure.diagnostics[0].location
    default_step = "torch.export" if status == "export" else getattr(error, "tool", "")
    return replace(
        frame,
        status=status,
        error=type(error).__name__,
        message=message[:4000],
        step=_step(low.trace, failure) if low and failure else default_step,
        pass_name=getattr(error, "pass_name", "") or (failure.pass_name if failure else ""),
        op=failing_op(*said, message),
        place=f"{place.file}:{place.line}" if place else "",
    )


def _step(trace: Trace, failure: Failure) -> str:
    return str(trace.step_of(failure) or "")


def _filled(cell: Cell, low: Any, keep_dumps: bool) -> Cell:
    """With what the lowering has, as far as it came."""
    from irwidget.trace import file

    trace = low.trace
    dumps = trace.dumps
    lines = 0
    for dump in dumps:
        with contextlib.suppress(IRWidgetError):  # the compiler is gone; what it left behind is kept
            lines = dump.text.count("\n") + 1
    return replace(
        cell,
        passes=max(len(dumps) - 1, 0),
        lines=lines,
        language=dumps[-1].language if dumps else "",
        tools=dict(low.tools),
        dumps=file.packed([trace]) if keep_dumps and dumps else b"",
    )


if __name__ == "__main__":
    main()
