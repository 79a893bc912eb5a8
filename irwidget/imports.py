"""Import what the first lowering needs on a thread of its own, whole: an interrupt of the kernel does not reach it.

An import that Ctrl-C ends half way leaves packages behind which cannot be imported any more: some of their modules are
there and others not. So nobody else imports these modules; they wait here for the thread, and an interrupt ends the
waiting only.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import tempfile
import threading
import time
from collections.abc import Callable, Generator

from irwidget import private_python

LATE = 1.0
"""Seconds of waiting after which there is something to say."""
_GLANCE = 0.02
_PATIENCE = 20
"""Seconds that the end of a process waits for the module that the thread is at."""

TORCH = (
    "torch",
    "torch.export",
    "torch.export._trace",
    "torch._dynamo",
    "torch._refs",
    "torch.fx.experimental.validator",
    "torch._subclasses.schema_check_mode",
    "torch._inductor.compiler_bisector",
    "torch._inductor.fx_passes.dedupe_symint_uses",
    "torch._export.passes._node_metadata_hook",
    "torch._export.passes.replace_autocast_with_hop_pass",
    "torch._export.passes.replace_set_grad_with_hop_pass",
    "torch._functorch._aot_autograd.subclass_parametrization",
    "torch._higher_order_ops",
    "torch_mlir.extras.fx_decomp_util",
    "torch_mlir.extras.fx_importer",
    "torch_mlir.passmanager",
    "torch_mlir._mlir_libs._stablehlo",
    "torch_mlir.dialects.torch",
    "torch_mlir.dialects.builtin",
    "torch_mlir.extras.meta",
    "torch._inductor.sizevars",
    "sympy.tensor.tensor",
)
"""What the first torch.export and torch-mlir's importer import while they run, and what that imports."""
OURS = (
    "irwidget.registry.opened",
    "irwidget.lowering",
    "irwidget.commands",
    "irwidget.frontends.torch",
    "irwidget.frontends.torchscript",
    "irwidget.frontends.triton.entry",
    "irwidget.frontends.triton.launch",
    "irwidget.helion.entry",
    "irwidget.inductor.cells",
    "irwidget.spyre.entry",
    "irwidget.views.registered",
    "irwidget.views.widget",
)
"""What a magic needs before it knows what it was asked for. None of it imports PyTorch."""


@contextlib.contextmanager
def some_temporary_folder() -> Generator[None]:
    """Torch names a cache in the temporary folder as it is imported, and fails where, on a full disk, there is none."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        tempfile.tempdir = "/dev/shm"
        try:
            yield
        finally:
            tempfile.tempdir = None
    else:
        yield


class _Imports:
    """One thread that imports modules in order; of each process its own."""

    def __init__(self) -> None:
        self._asked: list[str] = []
        self._done: set[str] = set()
        self._only = threading.Lock()
        """Held by the thread. `Thread.join` must not say whether it runs: interrupted, it takes it for ended."""
        self._pid = os.getpid()

    def whole(self, names: tuple[str, ...]) -> bool:
        return self._pid == os.getpid() and all(name in self._done for name in names)

    def begin(self, names: tuple[str, ...]) -> None:
        if self._pid != os.getpid():
            self.__init__()
        if not self._asked:
            atexit.register(self._finish)
        self._asked += [name for name in names if name not in self._asked]
        if not self.whole(tuple(self._asked)) and not self._only.locked():
            threading.Thread(target=self._work, name="irwidget-imports", daemon=True).start()

    def end(self) -> None:
        self._asked = [name for name in self._asked if name in self._done]

    def _finish(self) -> None:
        """Wait for the thread: one that Python ends in the middle of C++ code, as the process ends, aborts that."""
        self.end()
        if self._pid == os.getpid() and self._only.acquire(timeout=_PATIENCE):
            self._only.release()

    def wait(self, names: tuple[str, ...], late: Callable[[], object]) -> None:
        began, told = time.monotonic(), False
        while not self.whole(names):
            self.begin(names)  # again and again: a thread that has just ended did not see what was asked for since
            private_python.give_back_import_lock()
            time.sleep(_GLANCE)
            if not told and time.monotonic() - began > LATE:
                told = True
                late()

    def _work(self) -> None:
        if not self._only.acquire(blocking=False):
            return  # two were started at once
        try:
            while name := next((name for name in self._asked if name not in self._done), None):
                try:
                    with contextlib.suppress(Exception), some_temporary_folder():  # whoever needs it gets the error
                        importlib.import_module(name)
                finally:
                    self._done.add(name)
        finally:
            self._only.release()


_imports = _Imports()


def begin() -> None:
    """Begin to import what the first lowering of a model needs; returns at once.

    PyTorch itself comes first: a cell that imports it waits for that, and Ctrl-C there leaves no half of it.
    """
    _imports.begin((TORCH[0], *OURS, *TORCH[1:]))


def end() -> None:
    """Import nothing more in the background. The module that the thread is at is imported whole."""
    _imports.end()


def wait(names: tuple[str, ...] = TORCH, late: Callable[[], object] = lambda: None) -> None:
    """Return when these modules have been imported, as far as they can be. An interrupt ends the waiting.

    `late` is called once, after LATE seconds.
    """
    _imports.wait(names, late)
