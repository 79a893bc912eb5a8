"""`python -m irwidget mcp`: the questions as tools of the Model Context Protocol, over standard input and output."""

from __future__ import annotations

import functools
import inspect
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from irwidget.errors import IRWidgetError, UsageError, near
from irwidget.queries import bounds
from irwidget.queries.questions import Answer
from irwidget.queries.session import SECONDS, Session
from irwidget.version import VERSION

if TYPE_CHECKING:
    from mcp.server import MCPServer

Pass = str | int
"""A pass, by its name or its number."""
_SAID = 3000
"""Characters of an error that are told."""
_ABOUT = (
    "Lower PyTorch models, Triton and Helion kernels and IR with `lower` or `lower_text`, or open a compiler's dumps "
    "with `open`; each gives lowerings by name. Then ask: `passes` lists what ran, `diff` shows what a pass changed, "
    "`search` in which passes a text occurs, `line` where a line comes from. Passes are named as `passes` names them, "
    "or by their number, -1 is the last; lines are counted from 1. Long answers have `next`: ask again from there."
)


def server(session: Session | None = None) -> MCPServer[Any]:
    """The server, with a session of its own. Raises UsageError when the package `mcp` is not installed."""
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ResourceError, ToolError
    except Exception as error:  # it is not there, of another major version, or what it needs is broken
        missing = isinstance(error, ModuleNotFoundError) and error.name == "mcp"
        why = "" if missing else f", and that which is installed does not load ({type(error).__name__}: {error})"
        raise UsageError(f"The server needs the package mcp{why}: pip install -U 'irwidget[mcp]'") from None

    class Strict(MCPServer[Any]):
        """Refuses in words what a tool does not take; an argument that it does not have would be left out unsaid."""

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
            known = inspect.signature(offered[name]).parameters if name in offered else arguments
            for word in [word for word in arguments if word not in known]:
                raise ToolError(f"{name} has no argument {bounds.short(word)!r}. {near(word, known)}")
            try:
                return await super().call_tool(name, arguments, context)
            except ToolError as error:
                if (wrong := _wrong(error.__cause__)) is None:
                    raise
                raise ToolError(f"{name}: {wrong}") from error

    made = Strict("irwidget", instructions=_ABOUT, version=VERSION, log_level="WARNING")
    kept = session or Session()
    turn = threading.Lock()
    offered = {tool.__name__: tool for tool in tools(kept)}
    for tool in offered.values():
        made.tool(structured_output=False)(_told(tool, turn, ToolError))

    @made.resource("irwidget://{name}/page.html", mime_type="text/html")
    def page(name: str) -> str:  # pyright: ignore[reportUnusedFunction]
        """The pass diff of a lowering as one offline, interactive page."""
        try:
            return kept.get(name).to_html()
        except IRWidgetError as error:
            raise ResourceError(str(error)) from error

    return made


def run() -> None:
    """Serve until standard input ends."""
    server().run()


def _wrong(error: BaseException | None) -> str | None:
    """Which arguments pydantic did not take, and why; None for another error."""
    from pydantic import ValidationError  # what `mcp` checks them with

    if not isinstance(error, ValidationError):
        return None
    found = error.errors(include_url=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found)


def _shortened(said: str) -> str:
    """An error without the middle of what is long: its cause may be at either end."""
    return said if len(said) <= _SAID else f"{said[: _SAID // 2]} ... {said[-_SAID // 2 :]}"


def _told(tool: Callable[..., Answer], turn: threading.Lock, failed: type[Exception]) -> Callable[..., str]:
    """A tool one call at a time, whose answer is JSON and whose errors are ours, in words."""

    @functools.wraps(tool)
    def call(*args: Any, **kwargs: Any) -> str:
        try:
            with turn:
                answer = json.dumps(tool(*args, **kwargs), ensure_ascii=False, default=str)
            return answer.encode(errors="replace").decode()  # names of files may be no text
        except IRWidgetError as error:
            raise failed(_shortened("\n".join([str(error), *getattr(error, "__notes__", [])]))) from error
        except Exception as error:  # the package would tell nothing of it
            said = _shortened(f"{type(error).__name__}: {error}")
            raise failed(f"{said}\nThis is a mistake in irwidget: please report it with what was asked") from error

    call.__annotations__ = {**tool.__annotations__, "return": str}
    return call


def tools(session: Session) -> list[Callable[..., Answer]]:
    """The tools, each a function whose parameters and docstring are its description."""

    def lower(file: str, to: str = "", arguments: list[str] | None = None, seconds: float = SECONDS) -> Answer:
        """Run a Python file and lower its models and kernels, or lower a file of IR.

        to: the IR type, see `targets`. arguments: more words of the command line, as `["--pipeline", "mlir-opt --cse",
        "--check", "--arch", "sm_90", "--model", "net"]`. Answers an overview of each lowering, failed ones too.
        """
        return session.lower(file, to, arguments or [], seconds)

    def lower_text(text: str, to: str = "", arguments: list[str] | None = None, seconds: float = SECONDS) -> Answer:
        """The same of Python code, or of IR, that is given as text."""
        return session.lower_text(text, to, arguments or [], seconds)

    def open(path: str, format: str = "") -> Answer:
        """Open an .irtrace file, a compiler's log of dumps or a folder of them."""
        return session.open(path, format)

    def lowerings(first: int = 0, count: int | None = None) -> Answer:
        """What is kept so far, by name, the oldest first."""
        return session.kept(first, count)

    def targets() -> Answer:
        """The IR types that can be lowered to, and from what."""
        from irwidget import routes

        return {one.name: f"from {one.source}: {one.summary}" for one in routes.targets().values()}

    def overview(lowering: str) -> Answer:
        """What was lowered, steps and tools, how it ended and why it failed, the verdict of --check, facts."""
        return session.ask(lowering).overview()

    def passes(lowering: str, first: int = 0, count: int | None = None, changed: bool = False) -> Answer:
        """The passes in order: milliseconds, lines gone and new, renumbering apart. changed: only those with any."""
        return session.ask(lowering).passes(first, count, changed=changed)

    def text(lowering: str, which: Pass, first: int = 1, count: int | None = None) -> Answer:
        """Lines of the IR after a pass."""
        return session.ask(lowering).text(str(which), first, count)

    def diff(lowering: str, which: Pass, against: Pass = "", first: int = 0, count: int | None = None) -> Answer:
        """What a pass changed, as a unified diff without renumbering; against: since that pass instead."""
        return session.ask(lowering).diff(str(which), str(against), first, count)

    def line(lowering: str, which: Pass, number: int) -> Answer:
        """Of one line: the user's line that it came from, the pass that last changed it, earlier versions."""
        return session.ask(lowering).line(str(which), number)

    def made_of(lowering: str, line: int, which: Pass = "-1", file: str = "") -> Answer:
        """The lines of the IR after a pass (the last, if none is named) that came from a line of the user's file."""
        return session.ask(lowering).made_of(line, str(which), file)

    def search(lowering: str, text: str, regex: bool = False, case: bool = False, which: Pass = "") -> Answer:
        """In which passes a text occurs, by number of lines wherever that changes; which: the lines of one pass."""
        return session.ask(lowering).search(text, regex=regex, case=case, which=str(which))

    def operations(lowering: str, which: Pass = "-1") -> Answer:
        """How many operations of each kind there are after a pass (the last, if none is named)."""
        return session.ask(lowering).operations(str(which))

    def compare(left: str, right: str) -> Answer:
        """Two lowerings: the first pass after which they differ, and what each costs at the end."""
        return session.compare(left, right)

    def reduce(lowering: str, seconds: float = 60.0, contains: str = "") -> Answer:
        """The smallest IR on which a failed lowering still fails in the same way, with a report to paste.

        contains: of a complete lowering, what is wrong with it: that its last text contains this.
        """
        return session.reduce(lowering, seconds, contains)

    return [
        lower,
        lower_text,
        open,
        lowerings,
        targets,
        overview,
        passes,
        text,
        diff,
        line,
        made_of,
        search,
        operations,
        compare,
        reduce,
    ]
