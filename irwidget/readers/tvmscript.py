"""TVMScript, the Python in which TVM prints its modules."""

from __future__ import annotations

import re
from collections.abc import Sequence

_IMPORT = re.compile(rb"^# from tvm\.script import ", re.M)
FIRST = 1 << 10
"""Bytes in which a text says that it is one."""
_FUNCTION = re.compile(rb"^[ ]*@[A-Z]\.\w+(?:\([^\n]*\))?\n[ ]*def (\w+)\(", re.M)


def is_script(data: bytes) -> bool:
    """Whether a text begins as TVM prints them."""
    return _IMPORT.match(data[:FIRST].lstrip()) is not None


def functions(data: bytes) -> Sequence[str]:
    """The names of the functions that a text defines; none in Python of others."""
    return [name.decode() for name in _FUNCTION.findall(data)] if _IMPORT.search(data) else []
