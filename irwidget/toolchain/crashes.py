"""What LLVM's programs, and processes of ours, print when they crash: where it was, by the innermost frames that are
their own.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping

ASKS = "PLEASE submit"
"""Begins what all crashes of LLVM's programs say."""
_FRAME = re.compile(r"^ *#\d+ 0x[0-9a-f]+ (?:(?P<name>\S.*?) )?\((?P<file>\S+)\+0x(?P<offset>[0-9a-f]+)\)$", re.M)
_HANDLER = "llvm::sys::RunSignalHandlers"
_SYSTEM = re.compile(r"(?:^|/)(?:lib(?:c|pthread|m|stdc\+\+|gcc_s)\.so|ld-linux)")
_BARE_FRAME = re.compile(r"^\d+ +(?P<file>\S+) +0x(?P<address>[0-9a-f]+)(?: (?P<name>\S.*) \+ \d+)?$", re.M)
"""As LLVM prints it where it asks no program for names."""
_OURS = 2
"""Frames that print the stack, and innermost ones by which crashes of a library without names are told apart."""
_MOST_FRAMES = 250
"""From which on the stack may be full, where each run ends elsewhere; LLVM prints 256."""
_BEFORE, _KEPT = 1500, 4000


def place(said: str) -> str:
    """The function in which a program crashed, or file and offset of code without a name; empty when nothing tells."""
    at = said.find(_HANDLER)
    frames = [found for found in _FRAME.finditer(said, at) if not _SYSTEM.search(found["file"])] if at >= 0 else []
    own = frames[1:]  # behind what called the handlers
    if not own or len(frames) >= _MOST_FRAMES:
        return ""
    name = (own[0]["name"] or "").partition("(")[0]
    return name or f"{own[0]['file'].rsplit('/', 1)[-1]}+0x{own[0]['offset']}"


def place_inside(said: str) -> str:
    """Where this process, or a copy of it, crashed: the two innermost functions that are not the system's, or file and
    offset of code without a name; empty when nothing tells.
    """
    frames = list(_BARE_FRAME.finditer(said))
    own = [found for found in frames[_OURS:] if not _SYSTEM.search(found["file"])][:_OURS]
    addresses = [found["address"] for found in frames]
    if len(frames) >= _MOST_FRAMES and any(addresses.count(found["address"]) > 1 for found in own):
        return ""  # it ran out of stack, in each run elsewhere
    starts = _loaded()
    named = [_named(found, starts) for found in own]
    return ", ".join(named) if named and all(named) else ""


def _named(frame: re.Match[str], starts: Mapping[str, int]) -> str:
    """The function of a frame, or file and offset; empty where the file is not known."""
    if name := (frame["name"] or "").partition("(")[0].strip():
        return name
    # the file of libffi.so.8 may be libffi.so.8.1.2
    start = next((start for file, start in starts.items() if f"{file}.".startswith(f"{frame['file']}.")), None)
    at = int(frame["address"], 16)
    return "" if start is None or at < start else f"{frame['file']}+{at - start:#x}"


def _loaded() -> dict[str, int]:
    """Where the files lie that this process has loaded, by name."""
    starts: dict[str, int] = {}
    with contextlib.suppress(OSError), open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            where, *_, file = line.rstrip("\n").split(maxsplit=5)
            starts.setdefault(os.path.basename(file), int(where.partition("-")[0], 16))
    return starts


def without_stack(said: str) -> str:
    """What a process of ours printed besides the frames of its stack."""
    return _BARE_FRAME.sub("", said)


def kept(said: str) -> str:
    """What of all that a program said is kept: the end, or, of a crash, its words and the innermost frames."""
    at = said.find(ASKS)
    return said[-_KEPT:] if at < 0 else said[max(0, at - _BEFORE) :][:_KEPT]
