"""Passes in this process: a context that kernels share, and pass managers that are set up once."""

from __future__ import annotations

import functools
import importlib
import io
import threading
from collections.abc import Sequence
from typing import Any

from irwidget.toolchain import mlir
from irwidget.trace import Step


class _Shared(threading.local):
    """A thread's context: what passes say of one kernel must not reach another's."""

    RENEWED = 1000
    """Kernels after which a context, which keeps every type and location it ever saw, is left to its modules."""

    def __init__(self) -> None:
        self.context: Any = None
        self.uses = 0
        self.kept: dict[str, Any] = {}

    def take(self) -> Any:
        if self.uses % self.RENEWED == 0:
            self.context, self.kept = mlir.new_context(), {}
            self.context.enable_multithreading(False)  # a kernel is one function: threads would only be woken
        self.uses += 1
        return self.context


_shared = _Shared()
_running = threading.Lock()


def shared_context() -> Any:
    """The context for a kernel of this thread; a new one would take 5 ms."""
    return _shared.take()


def kept(context: Any) -> dict[str, Any]:
    """What is kept with the context of this thread, by name; of any other context nothing is kept."""
    return _shared.kept if context is _shared.context else {}


@functools.lru_cache(maxsize=32)
def _manager(pipeline: str, context: Any) -> Any:
    """Kept, because the first run collects the patterns of every loaded dialect: 0.7 ms for each canonicalize."""
    passmanager: Any = importlib.import_module("torch_mlir.passmanager")
    manager = passmanager.PassManager.parse(pipeline, context=context)
    manager.enable_verifier(False)
    return manager


def bytecode(operation: Any) -> bytes:
    """A module (an operation) as MLIR bytecode."""
    buffer = io.BytesIO()
    operation.write_bytecode(buffer)
    return buffer.getvalue()


def run_steps(module: Any, steps: Sequence[Step]) -> None:
    """Run steps on a module (an operation), in place and in this process, without dumps."""
    for step in steps:
        with _running:
            _manager(step.arguments, module.context).run(module)
