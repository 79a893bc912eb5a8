"""Single faults in the Spyre compiler, to see whether a test notices: `python -m tests.spyre.faults [WORD ...]`.

Each fault is a text of a module and what replaces it. A process per fault imports the package with the faulty module
and compares what it emits with what is kept, as `test_artifacts.py` does, until a program differs. Words choose faults
by file or text.
"""

from __future__ import annotations

import importlib.machinery
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import CodeType

TESTS = [
    "test_scratchpad.py",
    "test_execute.py::test_ops[unit batch]",
    "test_execute.py::TestMemory",
    "test_execute.py::test_integers_and_floats",
    "test_host.py",
    "test_tiling.py",
    "test_estimate_oracle.py",
    "test_estimate.py",
]
"""What is run when no kept artifact differs."""
SECONDS = 600
"""After which a fault counts as noticed: it does not end."""


@dataclass(frozen=True)
class Fault:
    """One replacement in one module."""

    module: str
    old: str
    new: str

    @property
    def path(self) -> Path:
        return Path(__file__).parents[2] / "irwidget" / "spyre" / f"{self.module}.py"

    def source(self) -> str:
        text = self.path.read_text()
        if text.count(self.old) != 1:
            raise SystemExit(f"{self.module}: {self.old!r} is there {text.count(self.old)} times, not once")
        return text.replace(self.old, self.new)


def faults() -> list[Fault]:
    table = (Path(__file__).parent / "faults.txt").read_text()
    found: list[Fault] = []
    for entry in table.strip().split("\n\n"):
        module, old, new = entry.split("\n")
        found.append(Fault(module, old.removeprefix("- "), new.removeprefix("+ ")))
    return found


def noticed(fault: Fault) -> bool:
    """Whether a test fails under the fault."""
    source = fault.source()
    child = os.fork()
    if child == 0:
        os._exit(_run(fault, source))
    begun = time.monotonic()
    while time.monotonic() - begun < SECONDS:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != 0
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def _run(fault: Fault, source: str) -> int:
    real = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        if name == f"irwidget.spyre.{fault.module}":
            return compile(source, str(fault.path), "exec")
        return real(self, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    try:
        if _differs():
            return 1
    except Exception:  # a fault that makes a program fail is noticed, too
        return 1
    import pytest

    here = Path(__file__).parent
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *(str(here / name) for name in TESTS)]))


def _differs() -> bool:
    """Whether a program of `test_artifacts.py` is compiled to something else."""
    from tests.spyre.artifacts import artifacts, difference, kept
    from tests.spyre.programs import PROGRAMS

    return any(difference(name, kept()[name], artifacts(program.compile())) for name, program in PROGRAMS.items())


def main(words: list[str]) -> int:
    import torch
    import torch._decomp
    import torch._dynamo  # all that takes long to import, once

    torch.set_num_threads(1)
    chosen = [f for f in faults() if not words or any(w in f"{f.module} {f.old} {f.new}" for w in words)]
    missed = 0
    for fault in chosen:
        begun = time.monotonic()
        found = noticed(fault)
        missed += not found
        head = "noticed" if found else "MISSED "
        print(f"{head} {time.monotonic() - begun:5.1f} s  {fault.module}: {fault.old}  ->  {fault.new}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} faults noticed")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
