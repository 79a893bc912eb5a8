"""How a module of ours is started in a process of its own."""

from __future__ import annotations

import os
import sys


def command(module: str, *arguments: str, here: bool = False) -> list[str]:
    """The command that runs a module as a program which imports what this process would, in the same order.

    Of the working directory only `here`: a notebook may lie beside files named like ours. PYTHONPATH stays as it is,
    because the programs that the user's pipeline names inherit it, and they may be another Python's.
    """
    path = [entry or os.getcwd() for entry in sys.path if entry or here]
    start = "sys.argv.pop(0); runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    return [sys.executable, "-P", "-c", f"import runpy, sys; sys.path[:] = {path!r}; {start}", module, *arguments]
