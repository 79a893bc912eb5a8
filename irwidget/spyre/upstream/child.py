"""The process of the front end: it imports a checkout, compiles the graphs that it is sent, and sends what was written.

Messages, plain data: the first is `{"checkout", "environment"}`, answered by `{"version", "torch", "pipelines",
"adapted"}`; each other one is a graph with its inputs and options (`graphs.packed`), answered by `{"dumps",
"operations", "host", "kernels"}`. Any answer may be `{"error", "kind", "missing", "pass", "place", "dumps"}` instead.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import stat
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irwidget.spyre.upstream.adapting import adapt
from irwidget.spyre.upstream.settings import SETTINGS
from irwidget.toolchain import scratch
from irwidget.toolchain.child import serving

BACK_END = "dxp_standalone"
"""The closed back end: what stands for it here succeeds and does nothing."""
PACKAGE = "torch_spyre"


class _FrontEnd:
    """The imported checkout."""

    def __init__(self, checkout: Path, folder: Path) -> None:
        from irwidget.spyre.upstream.passes import Recorder

        self.checkout, self.folder, self.count = checkout, folder, 0
        _stand_in(folder)
        sys.path.insert(0, str(checkout))
        self._import()
        self.adapted = adapt()
        self.config: Any = importlib.import_module(f"{PACKAGE}._inductor.config")
        self.recorder = Recorder()
        self.pipelines = self.recorder.watch(importlib.import_module(f"{PACKAGE}._inductor.passes"))

    def _import(self) -> None:
        """Import the package with a stub for its extension, and have it register its device and its back end."""
        import torch

        from irwidget import private_torch
        from irwidget.spyre.upstream import device, private, stub

        extension: Any = stub.module(private.EXTENSION)
        extension.copy_tensor = device.copy
        sys.modules[private.EXTENSION] = extension
        private_torch.register_python_device()
        private.enter(importlib.import_module(PACKAGE), extension)
        device.allocate()
        torch.Tensor.device_tensor_layout = device.layout_of  # pyright: ignore[reportAttributeAccessIssue]

    def compile(self, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Compile a graph; what was written."""
        import torch

        from irwidget import private_torch
        from irwidget.spyre.upstream.graphs import prepared

        self.recorder.begin()
        self.count += 1
        cache = self.folder / str(self.count)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(cache)
        before = self._set(sent["options"])
        try:
            with torch.no_grad():
                module, fakes = prepared(sent)
                private_torch.compile_fx.compile_fx(module, fakes)
            return {
                "dumps": self.recorder.dumps,
                "operations": self.recorder.operations,
                "host": _hosts(cache),
                "kernels": _kernels(cache),
            }
        finally:
            for option, value in before.items():
                setattr(self.config, option, value)
            shutil.rmtree(cache, ignore_errors=True)

    def _set(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Set the options of the front end; what they were. Raises ValueError for one that it has not."""
        before: dict[str, Any] = {}
        for name, value in options.items():
            setting = SETTINGS[name]
            if not hasattr(self.config, setting):
                raise ValueError(f"its config has no {setting}, which {name} would set")
            before[setting] = getattr(self.config, setting)
            setattr(self.config, setting, value)
        return before


def _stand_in(folder: Path) -> None:
    """Put a program by the name of the closed back end first into the path."""
    programs = folder / "bin"
    programs.mkdir()
    program = programs / BACK_END
    program.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ.get('PATH', '')}"


def _hosts(cache: Path) -> list[str]:
    """The host modules that were written, in the order of their times."""
    found = [path for path in cache.rglob("*.py") if "async_compile" in path.read_text("utf-8", "replace")]
    found.sort(key=lambda path: path.stat().st_mtime_ns)
    return [path.read_text("utf-8", "replace") for path in found]


def _kernels(cache: Path) -> dict[str, dict[str, Any]]:
    """Folder of each bundle -> its files, SuperDSC as data."""
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(cache.rglob("sdsc_*.json"), key=lambda p: (p.parent.name, int(p.stem.rpartition("_")[2]))):
        files = found.setdefault(path.parent.name, {"files": {}, "bundle": ""})
        files["files"][path.name] = json.loads(path.read_text("utf-8"))
        bundle = path.parent / "bundle.mlir"
        files["bundle"] = bundle.read_text("utf-8", "replace") if bundle.is_file() else ""
    return found


def _failed(error: BaseException, checkout: Path, end: _FrontEnd | None) -> dict[str, Any]:
    """What is said of a failure: the innermost error, and the innermost line of the checkout."""
    inner = error
    while (cause := getattr(inner, "inner_exception", None) or inner.__cause__) is not None and cause is not inner:
        inner = cause
    frames = traceback.extract_tb(error.__traceback__) + traceback.extract_tb(inner.__traceback__)
    mine = [f for f in frames if f.filename.startswith(str(checkout))]
    return {
        "error": str(inner),
        "kind": type(inner).__name__,
        "missing": getattr(inner, "name", None) if isinstance(inner, ModuleNotFoundError) else None,
        "pass": end.recorder.now if end else "",
        "place": f"{mine[-1].filename}:{mine[-1].lineno}" if mine else "",
        "dumps": end.recorder.dumps if end else [],
    }


def main() -> None:
    """Serve until the connection closes."""
    connection = serving()
    first: dict[str, Any] = connection.recv()
    os.environ.update(first["environment"])
    checkout = Path(first["checkout"])
    with scratch.folder() as folder:
        end: _FrontEnd | None = None
        try:
            end = _FrontEnd(checkout, Path(folder))
            import torch

            said = ""
            with contextlib.suppress(Exception):
                said = importlib.import_module(f"{PACKAGE}.version").__version__
            connection.send(
                {
                    "version": str(said),
                    "torch": torch.__version__,
                    "pipelines": end.pipelines,
                    "adapted": end.adapted,
                }
            )
        except BaseException as error:
            connection.send(_failed(error, checkout, end))
            return
        while True:
            try:
                sent = connection.recv_bytes()
            except EOFError:
                return
            try:
                from irwidget.spyre.upstream.graphs import unpacked

                connection.send(end.compile(unpacked(sent)))
            except BaseException as error:
                connection.send(_failed(error, checkout, end))


if __name__ == "__main__":
    main()
