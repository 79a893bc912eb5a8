"""Names of IPython and ipykernel that they do not document, and what is read of them.

`tests/core/test_private.py` says of each what it must do. `shell` is IPython's, by default the one that runs.
"""

from __future__ import annotations

import contextlib
import re
import sys
import tokenize
from collections.abc import Callable, Generator
from typing import Any


def running() -> Any:
    """IPython's shell in this process; None where there is none. Does not import IPython."""
    module: Any = sys.modules.get("IPython.core.getipython")
    return module.get_ipython() if module else None


def cell_id(shell: Any = None) -> str | None:
    """The front end's id of the cell that runs; None in a terminal, and where no page has asked for it."""
    return _request(shell).get("metadata", {}).get("cellId")


def run_id(shell: Any = None) -> str:
    """What tells one run of a cell from the next: the id of the message that asked for it; empty in a terminal."""
    return _request(shell).get("header", {}).get("msg_id", "")


def _request(shell: Any) -> Any:
    """The message that asked for what runs now."""
    get_parent = getattr(running() if shell is None else shell, "get_parent", None)
    return (get_parent() if get_parent else None) or {}


def cell_of(file: str) -> str:
    """`In[3]` for the file name that IPython has given to the code of a cell; empty for every other file."""
    shell = running()
    named = shell.compile.format_code_name(file) if shell else None
    return str(named[1]) if named else ""


def raw_cell(file: str) -> str:
    """What the user wrote in the cell whose code has a file name, magics and all; empty where that is not known."""
    number = re.search(r"\[(\d+)\]", cell_of(file))
    written = running().history_manager.input_hist_raw if number else []
    return str(written[int(number[1])]) if number and int(number[1]) < len(written) else ""


@contextlib.contextmanager
def numbered(shell: Any, source: str) -> Generator[None]:
    """Have the code of a cell that its magic runs be called by the number of that cell.

    IPython counts on before it runs a cell, and calls what runs inside by the number of the next. The first line of
    `source` stands for the magic's. Nothing happens for other shells, and in a cell that is in no history.
    """
    compiler: Any = getattr(shell, "compile", None)
    written: list[str] = shell.history_manager.input_hist_raw if compiler else []
    if not compiler or not written or source.partition("\n")[2].strip() not in written[-1]:
        yield
        return
    cache = compiler.cache
    compiler.cache = lambda code, _=0, **kept: cache(code, len(written) - 1, **kept)
    try:
        yield
    finally:
        del compiler.cache


def ends_in_semicolon(shell: Any, source: str) -> bool:
    """Whether code ends in `;`, after which IPython displays no value; False for other shells and what is no Python."""
    displays = getattr(shell, "displayhook", None)
    try:
        return bool(displays and displays.semicolon_at_end_of_expression(source))
    except (tokenize.TokenError, SyntaxError):  # which it shows itself, when it runs
        return False


def handles_exceptions(shell: Any) -> bool:
    """Whether somebody has registered a handler of exceptions (`set_custom_exc`), of which there can be one."""
    return bool(shell.custom_exceptions)


def configure(shell: Any, magics: Any) -> None:
    """Have `%config` find magics, instead of an earlier object of their class."""
    shell.configurables[:] = [one for one in shell.configurables if not isinstance(one, type(magics))]
    shell.configurables.append(magics)


def add_matcher(shell: Any, matcher: Callable[..., Any]) -> None:
    """Have completion ask a matcher, too; once."""
    if matcher not in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.append(matcher)


def remove_matcher(shell: Any, matcher: Callable[..., Any]) -> None:
    """Have completion ask a matcher no more."""
    if matcher in shell.Completer.custom_matchers:
        shell.Completer.custom_matchers.remove(matcher)
