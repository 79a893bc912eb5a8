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
_FRAME = re.compile(
    r"^ *#\d+ 0x[0-9a-f]+ (?:(?P<name>\S.*?) )?"
    r"(?:\((?P<file>\S+)\+(?P<offset>0x[0-9a-f]+)\)|(?P<source>\S+?:\d+):\d+)$",
    re.M,
)
"""Of a stack: with a place in a file of code, or, where LLVM's symbolizer was found, with one in a source."""
_HANDLER = "llvm::sys::RunSignalHandlers"
_SYSTEM = re.compile(r"(?:^|/)(?:lib(?:c|pthread|m|stdc\+\+|gcc_s)\.so|ld-linux)|^\./")
"""Files of the system; its sources have relative places."""
_BARE_FRAME = re.compile(r"^\d+ +(?P<file>\S+) +0x(?P<address>[0-9a-f]+)(?: (?P<name>\S.*) \+ \d+)?$", re.M)
"""As LLVM prints it where it asks no program for names."""
_OURS = 2
"""Frames that print the stack, and innermost ones by which crashes are told apart."""
_MOST_FRAMES = 250
"""From which on the stack may be full, where each run ends elsewhere; LLVM prints 256."""
_BEFORE, _KEPT = 1500, 4000


def place(said: str, count: int = 1) -> str:
    """The function in which a program crashed, or file and offset of code without a name; empty when nothing tells.

    `count` is how many of the innermost ones are named.
    """
    at = said.find(_HANDLER)
    found = _FRAME.finditer(said, at) if at >= 0 else ()
    frames = [one for one in found if not _SYSTEM.search(one["file"] or one["source"])]
    own = frames[1:]  # behind what called the handlers
    if not own or len(frames) >= _MOST_FRAMES:
        return ""
    return ", ".join((one["name"] or "").partition("(")[0] or _file(one) for one in own[:count])


def _file(frame: re.Match[str]) -> str:
    """Where code without a name is."""
    return f"{os.path.basename(frame['file'])}+{frame['offset']}" if frame["file"] else str(frame["source"])


def places(said: str) -> str:
    """The functions by which a program's crash is told from others, as `place` names them."""
    return place(said, _OURS)


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


_ERROR = re.compile(r"^(?:\S+: )?error: ", re.M)


def kept(said: str) -> str:
    """What of all that a program said is kept: of a crash, its words and the innermost frames; of an error, how it
    begins, and the end of all.
    """
    at = said.find(ASKS)
    if at >= 0:
        return said[max(0, at - _BEFORE) :][:_KEPT]
    error = _ERROR.search(said)
    if error is None or error.start() >= len(said) - _KEPT:
        return said[-_KEPT:]
    return f"{said[error.start() :][: _KEPT - _BEFORE]}\n...\n{said[-_BEFORE:]}"
