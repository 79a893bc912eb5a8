"""The passes that the embedded MLIR has, by name: it has no call that lists them.

Every string in its library that could be a name is one to try; MLIR's parser says which are passes, and prints the
options of each.
"""

from __future__ import annotations

import difflib
import mmap
import re
import subprocess
from functools import cache
from typing import Any

from irwidget import private_torch_mlir
from irwidget.errors import near
from irwidget.toolchain import external, mlir


@cache
def in_library() -> frozenset[str]:
    """Strings of the MLIR library that look like the name of a pass."""
    names: set[str] = set()
    for library in private_torch_mlir.libraries().glob("libTorchMLIRAggregateCAPI*"):
        with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = re.findall(rb"\0([a-z][a-z0-9]+(?:-[a-z0-9]+)*)(?=\0)", data)  # pyright: ignore[reportArgumentType]
        names |= {name.decode() for name in found}
    return frozenset(names)


@cache
def _in_help() -> frozenset[str]:
    """The passes that the program in the wheel names: those of one word are no strings of their own in the library."""
    program = external.find("torch-mlir-opt")
    if isinstance(program, str):
        return frozenset()
    try:
        told = subprocess.run([program.path, "--help"], capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return frozenset()
    return frozenset(re.findall(r"^ {6}--([\w-]+)", told, re.M))


def printed(pipeline: str, context: Any) -> str | None:
    """The pipeline as MLIR prints it; None when it has no such pass."""
    try:
        return str(mlir.passmanager.PassManager.parse(pipeline, context=context))
    except ValueError as error:
        anchor = re.search(r"restricted to '([\w.]+)'", str(error))
        if anchor and pipeline.startswith("any("):
            return printed(pipeline.replace("any(", f"{anchor[1]}(", 1), context)
        return None if "does not refer to a registered pass" in str(error) else ""


def near_passes(name: str, context: Any) -> str:
    """`Did you mean canonicalize?`, or nothing."""
    close = difflib.get_close_matches(name, in_library() | _in_help(), n=40, cutoff=0.6)
    known = [one for one in close if printed(f"any({one})", context) is not None]
    return near(name, known) if known else ""


def options(name: str, context: Any) -> list[str]:
    """The options of a pass, as far as it prints them."""
    body = re.fullmatch(r"[\w.]+\([\w-]+\{(.*)\}\)", printed(f"any({name})", context) or "", re.DOTALL)
    return re.findall(r"([\w-]+)=", body[1]) if body else []
