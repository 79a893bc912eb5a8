"""What LLVM's programs print when they crash: where it was, by the innermost frame of the stack that is their own."""

from __future__ import annotations

import re

ASKS = "PLEASE submit"
"""Begins what all crashes of LLVM's programs say."""
_FRAME = re.compile(r"^ *#\d+ 0x[0-9a-f]+ (?:(?P<name>\S.*?) )?\((?P<file>\S+)\+0x(?P<offset>[0-9a-f]+)\)$", re.M)
_HANDLER = "llvm::sys::RunSignalHandlers"
_SYSTEM = re.compile(r"/lib(?:c|pthread|m)\.so|/ld-linux")
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


def kept(said: str) -> str:
    """What of all that a program said is kept: the end, or, of a crash, its words and the innermost frames."""
    at = said.find(ASKS)
    return said[-_KEPT:] if at < 0 else said[max(0, at - _BEFORE) :][:_KEPT]
