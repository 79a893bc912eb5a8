"""Where Dynamo ended its graphs: each break once, by the user's line, with its cause and the usual cure."""

from __future__ import annotations

import itertools
import re
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from irwidget.inductor import private
from irwidget.inductor.data import Break
from irwidget.toolchain.locations import is_user_file
from irwidget.trace import Location

_INSIDE = re.compile(r"(?:generic_jump|step_unsupported|comprehension_graph_break)\b")
"""What Dynamo calls some ways to go on after a break: no reasons. It logs the reason right before."""
_TO_PYTORCH = re.compile(
    r"It may be possible to write|(?:This is likely .*)?Please report an issue|Please open an issue"
    r"|This graph break (?:is fundamental|may be difficult|may have been)"
)
"""How hints begin that say nothing of the program."""
_OWN = "Remove the `torch._dynamo.graph_break()` call"
OUTSIDE = "move it out of what is compiled, before or after the call"
"""What helps where Dynamo has no hint: without the operation there is no break."""


class Breaks:
    """The graph breaks of one compilation."""

    def __init__(self) -> None:
        self._said: dict[int, Exception] = {}
        """By the number of reasons that there are already, what Dynamo has logged for the next."""
        self._left: list[tuple[types.CodeType, Exception]] = []
        """The functions that were left to eager PyTorch as a whole, with why."""

    def watch(self) -> None:
        """Note breaks from now on, for the rest of this process."""
        private.get("graph_breaks").clear()
        private.wrap("compile_frame", self._compiling)
        private.wrap("log_graph_break", self._logging)

    def _compiling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def compile(code: types.CodeType, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(code, *args, **kwargs)
            except private.get("Unsupported") as error:
                self._left.append((code, error))
                raise

        return compile

    def _logging(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def log(translator: Any, code: Any, reason: str, exc: Exception) -> Any:
            self._said[len(private.get("graph_breaks"))] = exc
            return original(translator, code, reason, exc)

        return log

    def found(self) -> tuple[Break, ...]:
        """Each break once, in their order; last those that left whole functions to eager PyTorch."""
        ended = [self._ended(number, one) for number, one in enumerate(private.get("graph_breaks"))]
        found: dict[object, list[tuple[Break, str]]] = {}
        for one, follows in [*ended, *itertools.starmap(_whole, self._left)]:
            found.setdefault((one.reason.split("\n")[0], one.place, one.cure), []).append((one, follows))
        each = [_joined(same) for same in found.values()]
        ours = {(one.reason.split("\n")[0], one.cure) for one in each if one.place and is_user_file(one.place.file)}
        return tuple(one for one in each if (one.place and is_user_file(one.place.file))
                     or (one.reason.split("\n")[0], one.cure) not in ours)  # fmt: skip

    def _ended(self, number: int, reason: Any) -> tuple[Break, str]:
        """A break, and what follows from it."""
        said = self._said.get(number)
        if said is None or not _INSIDE.match(str(reason.reason)):
            return broken(reason.reason, reason.user_stack), ""
        follows = "Of this function no more is compiled." if reason.reason == "step_unsupported" else ""
        return broken(_message(said), getattr(said, "real_stack", None) or reason.user_stack), follows


def _joined(same: Sequence[tuple[Break, str]]) -> Break:
    """One break of several of one line, cause and cure: with the longest of the reasons, and all that follows."""
    longest = max((one for one, _ in same), key=lambda one: len(one.reason))
    return replace(longest, reason="\n  ".join(dict.fromkeys([longest.reason, *(what for _, what in same if what)])))


def _whole(code: types.CodeType, error: Exception) -> tuple[Break, str]:
    """A break where a function begins or cannot be cut, and what of it is left to eager PyTorch."""
    said = _message(error)
    one = broken(said, getattr(error, "real_stack", None))
    one = one if one.place else replace(one, place=Location(code.co_filename, code.co_firstlineno))
    name = re.sub(r"torch_dynamo_resume_in_(.+)_at_(\d+)", r"\1 after line \2", code.co_name)
    part = " that it is not compiled for yet" if said.startswith("Dynamo recompile limit") else ""
    return one, f"All of {name}{part} is left to eager PyTorch."


def _message(error: Exception) -> str:
    return str(getattr(error, "msg", error)).split("\n\nfrom user code")[0].strip()


def broken(reason: Any, stack: Any) -> Break:
    """One of Dynamo's reasons why it ended a graph, with the innermost line of the user's."""
    frames = [Location(frame.filename, frame.lineno or 0) for frame in stack or ()]
    said = str(reason).strip()
    if not frames:  # a backend's failure, which tells the line of its node
        frames = [Location(file, int(number)) for file, number in re.findall(r'^ *File "(.+)", line (\d+)', said, re.M)]
    ours = [frame for frame in frames if is_user_file(frame.file)]
    hints = [hint.strip() for hint in re.findall(r"^\s*Hint: (.*)$", said, re.M)]
    inside = bool(frames) and not is_user_file(frames[-1].file)  # of PyTorch's own, as in an optimizer
    useful = [hint for hint in dict.fromkeys(hints) if not _TO_PYTORCH.match(hint) and not (inside and _OWN in hint)]
    return Break(said, (ours or frames or [None])[-1], " or: ".join(useful) or OUTSIDE)
