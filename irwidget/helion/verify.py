"""Is a module accepted: by the wheel's verifier, and strictly by LLVM's own mlir-opt where that can read it."""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from irwidget.helion.bindings import ir
from irwidget.helion.pipelines import LEFTOVERS
from irwidget.toolchain import locations
from irwidget.trace import Location

STRICT = ("linalg-on-tensors", "tosa")
"""Output types whose dialects stock mlir-opt knows."""

_MINIMUM = 22


@functools.cache
def mlir_opt() -> str | None:
    """Path of an mlir-opt of LLVM 22 or newer, None where there is none."""
    found = sorted(Path("/usr/lib").glob("llvm-*/bin/mlir-opt"), key=str, reverse=True)
    for candidate in [*map(str, found), shutil.which("mlir-opt")]:
        if candidate is None:
            continue
        said = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r"LLVM version (\d+)", said)
        if version and int(version[1]) >= _MINIMUM:
            return candidate
    return None


def strict(text: str) -> str | None:
    """Check text with stock mlir-opt, unregistered dialects refused.

    Returns:
        None when it is accepted, else what mlir-opt says.

    Raises:
        FileNotFoundError: no mlir-opt of LLVM 22 or newer is installed.
    """
    tool = mlir_opt()
    if tool is None:
        raise FileNotFoundError("mlir-opt of LLVM 22 or newer")
    done = subprocess.run([tool, "-", "-o", "/dev/null"], input=text, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr.strip()


def complaint(operation: Any) -> tuple[str, Location | None] | None:
    """What the verifier says of an operation, and of which place; None where it accepts it."""
    try:
        return None if operation.verify() else ("the verifier refuses it", None)
    except ir.MLIRError as error:
        first = next(iter(error.error_diagnostics), None)
        if first is None:
            return str(error), None
        return str(first.message), next(locations.frames(str(first.location)), None)


def leftovers(operation: Any) -> list[str]:
    """Names of ops that the lowering should have replaced, each once, sorted."""
    found: set[str] = set()
    pending = [operation]
    while pending:
        current = pending.pop()
        if current.name.startswith(LEFTOVERS):
            found.add(current.name)
        for region in current.regions:
            for block in region.blocks:
                pending += [view.operation for view in block.operations]
    return sorted(found)
