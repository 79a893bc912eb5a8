"""Which flags make a program print its passes: it is asked, by its own help."""

from __future__ import annotations

import os
import re
import subprocess
from functools import lru_cache

_PATIENCE = 20
"""Seconds for a program that only says what it knows."""
_PRINTS = re.compile(r"-+(?:mlir-)?print-(?:ir-|after|before|changed|all$)")
_WITH_MODULES = ("mlir-print-ir-module-scope", "mlir-disable-threading", "mlir-print-debuginfo")
_DRIVERS = {
    "clang": ("-mllvm", "-print-changed"),
    "flang": ("-mmlir", "--mlir-print-ir-after-all", "-mllvm", "-print-changed"),
    "rustc": ("-C", "llvm-args=-print-changed"),
}
"""Compilers whose help has no flag that prints passes, and how each hands one on to MLIR and LLVM."""
_FIRST = 500
"""Letters of a help and of a version in which a program says its name."""
_SCRIPT = 1 << 20
_TELLING = re.compile(rb"print-ir-after-all|print-after-all|^\s*sys\.exit\(\w+\(\)\)\s*\Z", re.M)
"""What a script has that can be asked: a flag, or the end of what pip writes."""


def prints(words: list[str]) -> bool:
    """Whether a command line has a flag already that prints passes."""
    return any(_PRINTS.match(word) for word in words)


def flags(path: str, *, modules: bool = False) -> tuple[str, ...]:
    """The flags of a program at `path`; none where its help names none, or it gives no help.

    `modules`: have MLIR print the whole module after each pass, with locations, where the help names these flags.
    """
    try:
        said, found = _flags(path, os.stat(path).st_mtime_ns)
    except OSError:
        return ()
    if not modules or found != ("--mlir-print-ir-after-all",):
        return found
    return (*found, *(f"--{one}" for one in _WITH_MODULES if re.search(rf"^\s+-+{one}\b", said, re.M)))


def may_be_asked(path: str) -> bool:
    """Whether a program can be run for its help alone: not a script that says nothing of such flags.

    A script may do its work whatever it is told; what pip installs for a package's program is asked.
    """
    try:
        with open(path, "rb") as file:
            text = file.read(_SCRIPT)
    except OSError:
        return False
    return not text.startswith(b"#!") or _TELLING.search(text) is not None


@lru_cache(64)
def _flags(path: str, changed: int) -> tuple[str, tuple[str, ...]]:
    """The help of a program, and its flags; `changed` is when its file was."""
    said = _asked(path, "--help")
    if re.search(r"^\s+-+mlir-print-ir-after-all\b", said, re.M):
        return said, ("--mlir-print-ir-after-all",)
    if "help-hidden" in said:
        said += _asked(path, "--help-hidden")
    if re.search(r"^\s+-+passes=", said, re.M) and re.search(r"^\s+-+print-changed\b", said, re.M):
        return said, ("-print-changed",)
    if re.search(r"^\s+-+print-after-all\b", said, re.M):
        return said, ("-print-after-all",)
    if "spirv" in said[:_FIRST] and re.search(r"^\s+--print-all$", said, re.M):
        return said, ("--print-all",)
    named = [name for name in _DRIVERS if name in said[:_FIRST]]
    version = _asked(path, "--version")[:_FIRST] if named else ""
    return said, next((_DRIVERS[name] for name in named if name in version), ())


def _asked(path: str, flag: str) -> str:
    try:
        done = subprocess.run(
            [path, flag], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
            timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr
