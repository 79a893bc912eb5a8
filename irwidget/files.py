"""A Python file run as `python FILE` runs it, by what a cell needs of a shell."""

from __future__ import annotations

import ast
import contextlib
import os
import sys
import threading
import traceback
import types
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from irwidget.errors import UsageError, near
from irwidget.frontends.cell import transformed
from irwidget.toolchain.language import binary


@dataclass(frozen=True, slots=True)
class FileRun:
    """How it went."""

    success: bool
    error_in_exec: BaseException | None = None


class FileShell:
    """Runs one file, as the main program; its errors are printed with the file's own frames.

    With `aside`, what it and its children print goes to standard error: standard output is for data.
    """

    def __init__(self, path: Path, source: str, *, aside: bool = False) -> None:
        self.path, self.source, self.aside = path, source, aside
        self.module = types.ModuleType("__main__")
        self.module.__file__ = str(path)
        self.user_ns: dict[str, Any] = self.module.__dict__
        self.ast_transformers: list[ast.NodeTransformer] = []
        self.error: BaseException | None = None
        """What the file has ended with, which is printed; None where it went well."""

    @contextlib.contextmanager
    def as_main(self) -> Generator[None]:
        """The file as the main program, for as long as its objects are used: classes find their source by it."""
        kept = sys.modules["__main__"], sys.argv, list(sys.path)
        sys.modules["__main__"], sys.argv = self.module, [str(self.path)]
        sys.path.insert(0, str(self.path.resolve().parent))
        try:
            with _aside() if self.aside else contextlib.nullcontext():
                yield
        finally:
            sys.modules["__main__"], sys.argv, sys.path[:] = kept

    def run_cell(self, raw_cell: str, store_history: bool = False) -> FileRun:
        """Run the file, whatever the cell. A file that leaves by `sys.exit(0)` went well."""
        try:
            with _stays():
                tree = transformed(self.source, str(self.path), self.ast_transformers)
                exec(compile(tree, str(self.path), "exec"), self.user_ns)
        except SystemExit as stop:
            if stop.code:
                self.error = stop
                sys.stderr.write(f"{self.path} ended with {stop.code}\n")
            return FileRun(not stop.code)
        except Exception as error:
            self.showtraceback()
            return FileRun(False, error)
        return FileRun(True)

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Print the error with the frames from the file on."""
        error = sys.exc_info()[1]
        if error is None:
            return
        self.error = error
        place = error.__traceback__
        while place is not None and place.tb_frame.f_code.co_filename != str(self.path):
            place = place.tb_next
        sys.stderr.write("".join(traceback.format_exception(error.with_traceback(place))))


class Left(SystemExit):
    """What a file's `os._exit` raises."""


@contextlib.contextmanager
def _stays() -> Generator[None]:
    """Have `os._exit` end the file as `sys.exit` does, not this process; its own threads and copies end as they do."""
    leave, here = os._exit, os.getpid()

    def left(status: int) -> NoReturn:
        if os.getpid() == here and threading.current_thread() is threading.main_thread():
            raise Left(status)
        leave(status)

    os._exit = left
    try:
        yield
    finally:
        os._exit = leave


@contextlib.contextmanager
def _aside() -> Generator[None]:
    """Have all that prints to standard output print to standard error, programs that are started, too."""
    with contextlib.redirect_stdout(sys.stderr):
        kept = os.dup(1)
        try:
            os.dup2(2, 1)
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def one(names: Sequence[str], command: str) -> Path:
    """The one file that a command takes. Raises UsageError."""
    if [*names] == ["-"]:
        raise UsageError(f"{command} takes a file, not standard input: write that to one first")
    if len(names) != 1:
        raise UsageError(f"{command} takes one file, and there are {', '.join(names) or 'none'}")
    return there(names[0])


def there(name: str) -> Path:
    """The path of a file that is there. Raises UsageError."""
    path = Path(name)
    try:
        if path.is_file():
            return path
        if path.exists():
            what = "a folder: irwidget open takes folders of dumps" if path.is_dir() else "no file"
            raise UsageError(f"{path} is {what}")
        folder = path.parent if path.parent.is_dir() else Path()
        close = near(path.name, [one.name for one in folder.iterdir()])
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    raise UsageError(f"There is no file {path}. {close if close.startswith('Did') else ''}".rstrip())


def read(path: Path) -> str:
    """The text of a file. Raises UsageError when it cannot be read, or is no text."""
    try:
        data = path.read_bytes()
        if what := binary(data):
            raise UsageError(f"{path} is {what}")
        return data.decode().replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text: byte {error.start} is not UTF-8. Save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {os.strerror(error.errno) if error.errno else error}") from None
