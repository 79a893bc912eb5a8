"""The process beside this one that runs lowered kernels: `irwidget.helion.jit`, started at the first launch.

It has torch-mlir loaded and forks for each launch, so that a launch starts in
milliseconds, and one that crashes takes nobody with it.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from irwidget.toolchain import processes


@dataclass(frozen=True)
class Ended:
    """How a launch ended."""

    status: int
    """Exit status; negative for the signal that killed it."""
    stdout: str
    stderr: str


class KernelRunner:
    """Runs launches one after the other."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def run(self, folder: Path, timeout: float) -> Ended:
        """Run the launch that is described in a folder.

        Raises:
            TimeoutError: it took longer than `timeout` seconds, and was ended.
        """
        with self._lock:
            try:
                status = self._ask(folder, timeout)
            except BaseException:  # Ctrl-C too: what runs must not run on
                self.close()
                raise
        said = [(folder / name).read_text(errors="replace") if (folder / name).exists() else "" for name in OUTPUTS]
        return Ended(status, *said)

    def _ask(self, folder: Path, timeout: float) -> int:
        request = json.dumps(str(folder)).encode() + b"\n"
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request)
            process.stdin.flush()
        except BrokenPipeError:  # it ended since, for having nothing to do
            self.close()
            return self._ask(folder, timeout)
        if not select.select([process.stdout], [], [], timeout)[0]:
            raise TimeoutError
        answer = process.stdout.readline()
        if not answer:
            status = process.wait()
            self.close()
            return status or 1
        return int(answer)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(
                processes.command("irwidget.helion.jit"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        return self._process

    def close(self) -> None:
        """End the process and what it runs."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()
        process.wait()


OUTPUTS = ("stdout", "stderr")
"""Files in a launch's folder that take what it prints."""

runner = KernelRunner()
atexit.register(runner.close)
