"""A command line as a lowering: a compiler runs as a child, told to print its passes, and what it prints is opened."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import IO

from irwidget.errors import LoweringInterrupted, ToolError, UsageError
from irwidget.following import Pace
from irwidget.opened import Opened, read_by
from irwidget.readers import asking, banners, ir, prefixes
from irwidget.readers import log as logs
from irwidget.readers.base import LogReader, ReaderInput
from irwidget.registry import readers
from irwidget.result import Lowering
from irwidget.toolchain import processes
from irwidget.trace import Failure, Step, Trace

_GLANCE = 0.1
_MOST_OUTPUT = 1 << 26
"""Bytes of standard output that are taken for the compiler's result."""
_SHELL = frozenset(("|", "||", "&&", "&", ";", "<", ">", ">>", "2>", "2>&1"))

Heard = Callable[[str], None]
"""Told what goes on, in words, while the program runs."""
Came = Callable[[Opened], None]
"""Given what the program has printed so far, while it runs."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments, and what is set in its environment."""

    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    added: tuple[str, ...] = ()
    """The flags that make it print its passes."""

    def __str__(self) -> str:
        return shlex.join((*self.words, *self.added))


def parsed(text: str) -> Command:
    """The command in the text of a cell: one; a line that ends with a backslash goes on in the next.

    Raises UsageError for anything that only a shell understands.
    """
    try:
        words = shlex.split(text.replace("\\\n", " "), comments=True)
    except ValueError as error:
        raise UsageError(f"The cell is no command line: {error}") from None
    environment: list[tuple[str, str]] = []
    while words and (found := re.fullmatch(r"([A-Za-z_]\w*)=(.*)", words[0], re.S)):
        environment.append((found[1], found[2]))
        words.pop(0)
    if not words:
        raise UsageError("The cell has no command: mlir-opt in.mlir --canonicalize, say")
    if shell := next((word for word in words if word in _SHELL), None):
        raise UsageError(f"The cell is one command and no shell script: {shell!r} is for a shell. Put it in a script")
    if "\n" in text.strip() and len([line for line in re.sub(r"\\\n", "", text).split("\n") if _says(line)]) > 1:
        raise UsageError("The cell is one command: end a line with a backslash to go on in the next")
    return Command(tuple(words), tuple(environment))


def _says(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def telling(command: Command) -> Command:
    """The command with the flags that make this tool print its passes, as its own help names them.

    None where it is told to print already, where the help names none, and for a script that might do its work if asked.
    Raises ToolError when there is no program.
    """
    path = shutil.which(command.words[0])
    if path is None:
        name = command.words[0]
        raise ToolError(f"There is no program {name!r} on PATH; give its path, as in ./mine", tool=name)
    if asking.prints(list(command.words)) or not asking.may_be_asked(path):
        return command
    return replace(command, added=asking.flags(path))


def run(text: str, *, timeout: float | None = None, heard: Heard | None = None, came: Came | None = None) -> Opened:
    """Run the command in the text of a cell, and open what it printed.

    It runs in the working directory, for `timeout` seconds at most. One that fails, crashes, takes too long or is
    interrupted leaves what it had printed, with a `failure` that says how it ended. While it runs, `came` is given what
    it has printed so far, each time whole.

    Raises UsageError, ToolError when it printed no pass, LoweringInterrupted on Ctrl-C; the errors' `lowerings` have
    what there is.
    """
    command = telling(parsed(text))
    name = os.path.basename(command.words[0])
    printed, output = tempfile.TemporaryFile(), tempfile.TemporaryFile()  # noqa: SIM115  # as long as what is opened of them
    watched = _Watched((printed, output), heard, came, lambda: _opened(command, name, (printed, output), growing=True))
    ended = _child(command, printed, output, timeout, watched)
    if not ended:
        _append_result(printed, output)
    opened = _opened(command, name, (printed, output))
    if ended and opened:
        opened[-1].trace = _failed(opened[-1], name, ended)
    if ended == _INTERRUPTED:
        stop = LoweringInterrupted(f"{name} {ended}")
        stop.lowerings = {low.name: low for low in opened}
        stop.lowering = opened[-1] if opened else None
        raise stop
    if not opened:
        raise ToolError(_nothing(command, name, ended, printed), tool=name)
    return opened


_INTERRUPTED = "was interrupted by you"


def _child(command: Command, printed: IO[bytes], output: IO[bytes], timeout: float | None, watched: _Watched) -> str:
    """Run it to its end; how it ended, in words, where that was not well."""
    with contextlib.ExitStack() as stack:
        try:
            words, environment = [*command.words, *command.added], {**os.environ, **dict(command.environment)}
            process = stack.enter_context(processes.session(words, output, printed, environment))
        except OSError as error:
            said = f"{command.words[0]} cannot be run: {error.strerror or error}"
            raise ToolError(said, tool=command.words[0]) from None
        if stopped := _waited(process, timeout, watched):
            return stopped
    if process.returncode < 0:
        return f"was killed by {signal.Signals(-process.returncode).name}"
    return f"exited with {process.returncode}" if process.returncode else ""


def _waited(process: subprocess.Popen[bytes], timeout: float | None, watched: _Watched) -> str:
    """Wait for its end; why it is not waited for any longer."""
    began = time.monotonic()
    try:
        while process.poll() is None:
            if timeout is not None and time.monotonic() - began > timeout:
                return f"timed out (after {timeout:g} s, the limit of this lowering)"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GLANCE)
            watched.look()
    except KeyboardInterrupt:
        return _INTERRUPTED
    return ""


class _Watched:
    """Says which passes have been printed, and gives them."""

    def __init__(
        self, files: Sequence[IO[bytes]], heard: Heard | None, came: Came | None, opened: Callable[[], Opened]
    ) -> None:
        self._heard = heard
        self._came = came
        self._opened = opened
        self._pace = Pace()
        self._new = False
        """Whether something has been printed that nobody has been given."""
        self._log, self._other = (logs.Log(file, "the output") for file in files)
        self._at = 0
        self._count = 0

    def look(self) -> None:
        self._give()
        grown = [log.refresh() for log in (self._log, self._other)]
        if not any(grown):
            return
        self._new = True
        last = ""
        for one in banners.found(self._log, self._at):
            self._count += 1
            self._at, last = one.stop, one.banner.name
        if last and self._heard is not None:
            self._heard(f"pass {self._count} {last}")

    def _give(self) -> None:
        if self._came is None or not self._new or not self._pace.due():
            return
        self._new = False
        began = time.monotonic()
        if found := self._opened():
            self._came(found)
        self._pace.took(time.monotonic() - began)


def _append_result(printed: IO[bytes], output: IO[bytes]) -> None:
    """Have what the program left on its standard output follow the passes, where that is IR."""
    size = os.fstat(output.fileno()).st_size
    data = os.pread(output.fileno(), size, 0) if size <= _MOST_OUTPUT else b""
    if data and b"\0" not in data and ir.kind_of(logs.decoded(data[: 1 << 16])) in ("mlir", "llvm"):
        printed.seek(0, os.SEEK_END)
        printed.write(b"\n" + data)
        printed.flush()


def _opened(command: Command, name: str, files: Sequence[IO[bytes]], *, growing: bool = False) -> Opened:
    """What a program has printed, on standard error or else on standard output."""
    for file in files:
        given = ReaderInput(name, prefixes.without(logs.Log(file, name)), growing=growing)
        for reader in readers:
            if isinstance(reader, LogReader) and readers.ask(reader, lambda one, log=given: one.recognises(log), False):
                return _lowerings(command, name, reader, given)
    return Opened([], name, "")


def _lowerings(command: Command, name: str, reader: LogReader, given: ReaderInput) -> Opened:
    step = Step("user-tool", str(command), name, program=True)
    made: list[Lowering] = []
    for trace, results in read_by(reader, given):
        low = Lowering(replace(trace, steps=(step, *trace.steps[1:])), results)
        low.file = "what a program printed"
        made.append(low)
    return Opened(made, name, reader.name)


def _failed(low: Lowering, name: str, ended: str) -> Trace:
    """Its trace with how the program ended."""
    before = low.trace.failure
    if before is not None:
        return replace(low.trace, failure=replace(before, message=f"{before.message} ({name} {ended})"))
    errors = tuple(one for one in low.diagnostics if one.severity == "error")
    said = f": {errors[0].message}" if errors else ""
    last = f"; the last dump is {len(low.dumps) - 1}, {low.dumps[-1].name}"
    return replace(low.trace, failure=Failure(0, "", f"{name} {ended}{said}{last}", errors, "tool", name))


def _nothing(command: Command, name: str, ended: str, printed: IO[bytes]) -> str:
    """Why there is nothing to show."""
    said = logs.decoded(os.pread(printed.fileno(), 4000, 0)).replace("\0", "").strip()
    first = next((line for line in said.splitlines() if "error" in line.lower()), said.split("\n")[0])[:500]
    told = f" with {shlex.join(command.added)}" if command.added else ""
    lacks = "" if command.added else ". No flag that prints passes is known of it: add your tool's own to the command"
    files = f"{lacks}. What it wrote to files, %lower --open FOLDER shows"
    return f"{name} {ended or f'printed no pass{told}'}" + (f": {first}" if first else "") + ("" if ended else files)
