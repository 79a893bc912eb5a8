"""Run a notebook without a page and keep what it lowered."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irwidget.errors import UsageError
from irwidget.result import Lowering
from irwidget.trace import Trace


@dataclass(frozen=True)
class Part:
    """A cell of a notebook that was run: its words, or its code and what it lowered."""

    words: str = ""
    code: str = ""
    lowerings: tuple[Lowering, ...] = ()


def told(path: Path) -> list[Part]:
    """Run the code cells of a notebook here, in its folder, and give each with every lowering that it showed, and the
    words between.

    Raises UsageError when it is no notebook, when a cell fails, or when it lowers nothing.
    """
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    cells = list(_cells(path))
    shell = InteractiveShell()
    parts: list[Part] = []
    seen: set[int] = set()
    number = 0
    before = os.getcwd()
    os.chdir(path.parent)
    try:
        for kind, source in cells:
            if kind == "markdown":
                parts.append(Part(words=source))
            if kind != "code":
                continue
            number += 1
            with capture_output():
                ran = shell.run_cell(source)
            if not ran.success:
                raise UsageError(f"{path}: code cell {number} fails: {ran.error_before_exec or ran.error_in_exec}")
            found = [one for one in _shown(shell.user_ns.get("_lowering"), ran.result) if id(one.trace) not in seen]
            seen |= {id(one.trace) for one in found}
            parts.append(Part(code=source, lowerings=tuple(map(_lowering, found))))
    finally:
        os.chdir(before)
    if not seen:
        raise UsageError(f"{path} lowers nothing: no cell begins with %%lower or %lower, or ends with a lowering")
    return parts


def _shown(lowered: Any, result: Any) -> list[Any]:
    """What a cell showed that has a trace, each once."""
    every = (*(lowered.values() if isinstance(lowered, dict) else [lowered]), result)
    traced = {id(one.trace): one for one in every if isinstance(getattr(one, "trace", None), Trace)}
    return list(traced.values())


def _lowering(shown: Any) -> Lowering:
    """What a cell showed, a lowering or a program for Spyre, as a lowering."""
    return shown if isinstance(shown, Lowering) else Lowering(shown.trace, getattr(shown, "results", None))


def page(path: Path) -> str:
    """The notebook, run here, as one offline page: its words, its code, and a view for what each cell lowered.

    Raises as `told` does.
    """
    from irwidget.views import markdown, offline
    from irwidget.views.markup import tag
    from irwidget.views.registered import programs_of

    title = introduction(path)[0]
    parts: list[offline.Told] = []
    for part in told(path):
        if words := part.words.removeprefix(f"# {title}").strip():
            parts.append(markdown.html(words))
        if part.code:
            parts.append(tag("pre", part.code))
        if part.lowerings:
            parts.append(([one.trace for one in part.lowerings], programs_of(part.lowerings)))
    return offline.story(parts, title)


def introduction(path: Path) -> tuple[str, str]:
    """The title of a notebook and the paragraph below it, as plain text; the file's name where it has no text.

    Raises UsageError when it is no notebook.
    """
    words = (source for kind, source in _cells(path) if kind == "markdown")
    title, _, rest = next(words, path.stem).partition("\n")
    first = rest.strip().split("\n\n")[0].replace("\n", " ")
    return title.lstrip("# "), first.replace("`", "").replace("*", "")


def _cells(path: Path) -> list[tuple[str, str]]:
    """The kind of each cell, and its source. Raises UsageError when it is no notebook."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        return [(cell["cell_type"], "".join(cell["source"])) for cell in notebook["cells"]]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is no notebook: {error}") from None
    except (KeyError, TypeError):
        raise UsageError(f"{path} is no notebook: it has no cells, or none with a type and a text") from None
