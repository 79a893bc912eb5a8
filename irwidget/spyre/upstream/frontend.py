"""The real front end, from this side: a checkout of torch-spyre in a process of its own, and what it answers."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from irwidget.errors import ToolError, UnsupportedError, UsageError, near
from irwidget.spyre import printing
from irwidget.spyre.options import check_cores
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.recorded import opening
from irwidget.spyre.recorded.data import FoundHost, FoundKernel, Named
from irwidget.spyre.recorded.hostcode import layout_from, read_host
from irwidget.spyre.recorded.program import RecordedProgram
from irwidget.spyre.upstream.passes import Recorded
from irwidget.spyre.upstream.settings import SETTINGS
from irwidget.toolchain import processes
from irwidget.toolchain.child import Child
from irwidget.trace import Dump

_MODULE = "irwidget.spyre.upstream.child"
_PARTS = ("torch_spyre/__init__.py", "torch_spyre/_inductor/__init__.py", "torch_spyre/_inductor/passes.py")
"""What a checkout has that a front end can be run from."""
_START = 180
"""Seconds that importing the front end may take."""
SECONDS = 600
"""Seconds that one compilation may take by default."""
CAPTURE_OPTIONS = ("linear_weights", "layouts")
"""Options that say how inputs lie, which is decided before the front end begins."""


class FrontEnd:
    """A checkout of torch-spyre whose front end compiles in a process of its own, its compiled extension left out.

    `checkout` is the folder that has `torch_spyre/`; `seconds` limits each compilation. The process starts with the
    first one and serves all that follow, until `close` or the end of a `with` statement. The `trace` of what it
    compiles has its passes; `irwidget.spyre.compare` says what differs from ours.

    Raises UsageError for a folder that is no checkout.
    """

    def __init__(self, checkout: str | os.PathLike[str], *, seconds: float = SECONDS) -> None:
        self.checkout = Path(os.fspath(checkout)).expanduser().resolve()
        self.seconds = seconds
        missing = [part for part in _PARTS if not (self.checkout / part).is_file()]
        if missing:
            raise UsageError(
                f"{checkout} is no checkout of torch-spyre: it has no {missing[0]}. Give the folder that"
                " torch_spyre/ is in"
            )
        self._child: Child | None = None
        self._said: dict[str, Any] = {}

    def __enter__(self) -> FrontEnd:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start(self) -> None:
        """Start the process where none runs. Raises ToolError where the front end cannot be imported or run here."""
        self._started()

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            child.connection.close()
            child.end(wait=2)

    @property
    def semantics(self) -> str:
        """Which commit it is, of which day, and which torch it runs on, as far as these are known."""
        version = self._said.get("version", "")
        made = " ".join(filter(None, ["torch-spyre", version, commit(self.checkout)]))
        return f"{made}, on torch {self._said['torch']}" if "torch" in self._said else made

    def compile(self, fn: Any, inputs: Any, cores: int = 32, *, name: str = "", **options: Any) -> RecordedProgram:
        """Compile a function or module: what the real front end writes, as `irwidget.spyre.compile` gives it.

        Raises UsageError for options that it has not, UnsupportedError for what it refuses, ToolError when it fails or
        dies; `error.lowering` then has the passes up to there. ExportError when the function cannot be traced.
        """
        from irwidget.spyre.capture import capture
        from irwidget.spyre.options import make_options
        from irwidget.spyre.upstream.graphs import packed

        check_cores(cores)
        known = (*SETTINGS, *CAPTURE_OPTIONS)
        for one in options:
            if one not in known:
                raise UsageError(f"the real front end has no option {one!r}. {near(one, known)}")
        label = name or getattr(fn, "__name__", type(fn).__name__)
        begun = time.perf_counter()
        captured = capture(fn, inputs, make_options(cores, options))
        first = _captured(captured, time.perf_counter() - begun)
        wanted = {k: v for k, v in options.items() if k in SETTINGS}
        answer = self._asked(packed(captured, {"cores": cores, **wanted}))
        dumps = _dumps(first, answer.get("dumps", ()))
        if "error" in answer:
            raise self._refusal(answer, label, dumps)
        hosts = [text for text in answer["host"] if ".sdsc(" in text or "def call" in text]
        if not hosts and any(n.op == "call_function" for n in captured.graph.graph.nodes):
            raise _failure(f"the front end of {self.checkout} wrote no host module for {label}")
        kernels = [FoundKernel(n, (), k["files"], k["bundle"]) for n, k in answer["kernels"].items()]
        # Inductor writes nothing of a graph that only returns its inputs.
        found = read_host(hosts[-1], "the host module of the front end") if hosts else FoundHost("", (), {}, (), ())
        host: FoundHost = opening.with_files(found, kernels)
        named = [_named(one) for one in answer["operations"]]
        notes = self._said.get("adapted", ())
        return opening.program(host, label, str(self.checkout), self.semantics, dumps, named, notes)

    # -- the process -------------------------------------------------------------------------------

    def _asked(self, graph: bytes) -> dict[str, Any]:
        child = self._started()
        try:
            child.connection.send_bytes(graph)
            return self._answer(child, self.seconds, "compiling")
        except BaseException:
            self._killed()
            raise

    def _started(self) -> Child:
        if self._child is not None and self._child.alive:
            return self._child
        try:
            child = self._child = Child(_MODULE, memory=processes.memory_limit())
        except OSError as error:
            raise _failure(f"no process for the front end could be started: {error}") from None
        environment = {
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
            "TORCHINDUCTOR_FX_GRAPH_CACHE": "0",
            "TORCHINDUCTOR_AUTOGRAD_CACHE": "0",
            "TORCHINDUCTOR_COMPILE_THREADS": "1",
        }
        try:
            child.connection.send({"checkout": str(self.checkout), "environment": environment})
            said = self._answer(child, _START, "starting")
        except BaseException:
            self._killed()
            raise
        if "error" in said:
            self._killed()
            raise _failure(_unfit(self.checkout, said))
        if not said["pipelines"]:
            self._killed()
            raise _failure(
                f"the front end of {self.checkout} has no pass pipelines in torch_spyre/_inductor/passes.py that are"
                " known here (classes Custom...Passes): its API has moved since July 2026"
            )
        self._said = said
        return child

    def _answer(self, child: Child, seconds: float, doing: str) -> dict[str, Any]:
        """The next answer. Raises ToolError when there is none in time, or the process has ended."""
        until = time.monotonic() + seconds
        try:
            while not child.connection.poll(min(0.2, max(0.0, until - time.monotonic()))):
                if time.monotonic() > until:
                    child.kill()
                    child.end(wait=0)
                    raise _failure(
                        f"the front end of {self.checkout} took more than {seconds:g} s while {doing}, and was ended."
                        " FrontEnd(..., seconds=) gives it longer"
                    )
            return child.connection.recv()
        except (EOFError, OSError):
            child.end()
            raise _failure(
                f"the front end of {self.checkout} died while {doing}: its process {child.epitaph}"
            ) from None

    def _killed(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.end(wait=0)

    def _refusal(self, answer: Mapping[str, Any], label: str, dumps: Sequence[Dump]) -> ToolError | UnsupportedError:
        """The error for what the front end raised, with what it had done."""
        where = f" in {answer['pass']}" if answer["pass"] else ""
        place = f"\n  at {answer['place']}" if answer["place"] else ""
        refused = answer["kind"] == "Unsupported" or "does not support" in answer["error"]
        said = answer["error"].strip() or answer["kind"]
        error = (UnsupportedError if refused else _failure)(
            f"the front end of {self.checkout} ({self.semantics}){where}: {answer['kind']}: {said}{place}"
        )
        host = FoundHost("", (), {}, (), ())
        error.lowering = opening.program(host, label, str(self.checkout), self.semantics, dumps)
        return error


def commit(checkout: Path) -> str:
    """The commit that is checked out, with its day; nothing where the folder is no repository of its own."""
    if not (checkout / ".git").exists():
        return ""
    command = ["git", "-C", str(checkout), "log", "-1", "--format=%h of %cs"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
        return done.stdout.strip() if not done.returncode else ""
    return ""


def compile_with(frontend: Any, fn: Any, inputs: Any, cores: int, name: str | None, options: Any) -> SpyreProgram:
    """Compile with a `FrontEnd`, or with one of a path that is closed again."""
    if isinstance(frontend, FrontEnd):
        return frontend.compile(fn, inputs, cores, name=name or "", **options)
    with FrontEnd(frontend) as opened:
        return opened.compile(fn, inputs, cores, name=name or "", **options)


def _failure(message: str) -> ToolError:
    return ToolError(message, tool="torch-spyre")


def _unfit(checkout: Path, said: Mapping[str, Any]) -> str:
    missing = said.get("missing")
    if missing and not str(missing).startswith("torch_spyre"):
        return f"the front end of {checkout} needs the package {missing}: install it (pip install {missing})"
    place = f"\n  at {said['place']}" if said["place"] else ""
    return (
        f"the front end of {checkout} cannot be imported here: {said['kind']}: {said['error']}. Its API has moved, or"
        f" it needs another torch than this one (its pyproject.toml says which){place}"
    )


def _captured(captured: Any, seconds: float) -> Dump:
    return printing.lazy_dump(
        "capture", 0, "fx", lambda: printing.captured(captured), None, options="", seconds=seconds
    )


def _dumps(first: Dump, recorded: Sequence[Recorded]) -> list[Dump]:
    """The dumps of the passes after the first, each compared with the one before it of its step."""
    made = [first]
    for name, step, language, text, seconds in recorded:
        before = next((d for d in reversed(made) if d.step == step and d is not first), None)
        show = _constant(text)
        made.append(printing.lazy_dump(name, step, language, show, before, options="", seconds=seconds))
    return made


def _constant(text: str) -> Callable[[], printing.Printed]:
    return lambda: (text, ())


def _named(found: Mapping[str, Any]) -> Named:
    lines = [line for line in str(found.get("said", "")).splitlines() if line.strip().startswith('File "')]
    file, line, module = "", 0, ""
    if lines:
        head, _, rest = lines[-1].strip().removeprefix('File "').partition('", line ')
        number, _, module = rest.partition(", in ")
        file, line = head, int(number) if number.isdigit() else 0
    layout = layout_from(found["layout"]) if found["layout"] else None
    return Named(
        found["name"], tuple(found["size"]), tuple(found["stride"]), found["dtype"], layout, (file, line),
        "" if module == "forward" else module, str(found.get("aten", "")),
    )  # fmt: skip
