"""Let Triton's own stage functions run, stopping them at each pass.

Triton's back ends build pass managers in Python (`make_ttir`, `make_ttgir`,
`make_llir`). Here these functions run with other globals: `ir.pass_manager`
notes the passes instead of running them, and `run` hands them out one by one.
Nothing of Triton is patched.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import queue
import re
import stat
import subprocess
import tempfile
import threading
import types
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irwidget.toolchain import parsing, triton_inside, triton_private
from irwidget.toolchain.mlir import PassFailed
from irwidget.trace import WHOLE, Diagnostic, Location, Scope


@dataclass(slots=True)
class PendingPass:
    """A pass that a stage function wants to run now; `run` does it, in the caller's thread."""

    name: str
    options: str
    scope: Scope
    pipeline: str
    run: Callable[[], Any]
    """Does it, and returns the module that it leaves."""
    language: str = "mlir"
    """Of the module that it leaves."""
    result: Any = None
    printed: str = ""
    """The IR between its steps, as the library printed it, where that was asked for."""
    said: tuple[Diagnostic, ...] = ()
    """Of what it came to its end with: LLVM goes on after some errors."""


class _Abandoned(BaseException):
    """Unwinds a stage function whose caller has gone."""


class StageThread:
    """A function that runs in a thread of its own and waits at each pass.

    Only one of the two threads runs at a time. `result` is what the function
    returned, once `calls` has ended.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self.opened = opened
        """Whether big passes are to print the IR between their steps."""
        self.result: Any = None
        self.folder: str | None = None
        """Where the function has its temporary files; those of an assembler that fails it leaves."""
        self.commands: list[tuple[list[str], str]] = []
        """External programs that the function ran, with what they wrote to stderr."""
        self._calls: queue.SimpleQueue[PendingPass | BaseException | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def pause(self, call: PendingPass) -> Any:
        """Hand a pass to the caller and wait until it ran. Called by the function."""
        self._calls.put(call)
        if error := self._answers.get():
            raise error
        return call.result

    def calls(self, function: Callable[[], Any]) -> Iterator[PendingPass]:
        """The passes of the function; each must have run before the next is asked for. Raises what it raises."""

        def body() -> None:
            try:
                self.result = function()
                self._calls.put(None)
            except _Abandoned:
                pass
            except BaseException as error:
                self._calls.put(error)

        thread = threading.Thread(target=body, name="irwidget-triton", daemon=True)
        thread.start()
        waiting = False
        try:
            while isinstance(item := self._calls.get(), PendingPass):
                waiting = True
                yield item
                waiting = False
                self._answers.put(None)
            if item is not None:
                raise item
        finally:
            if waiting:
                self._answers.put(_Abandoned())
            thread.join(5)


def backend(real: Any, stage: StageThread) -> Any:
    """A backend like `real` whose stage functions stop at each pass, for `stage` to hand out."""
    cls = type(real)
    names = {
        name: _bound(value, stage)
        for name, value in vars(cls).items()
        if name.startswith(triton_private.STAGE_PREFIXES)
    }
    return type(cls.__name__, (cls,), names)(real.target)


def _bound(value: Any, stage: StageThread) -> Any:
    """A stage function with our stand-ins for the names that it uses."""
    function = value.__func__ if isinstance(value, staticmethod) else value
    stand_ins: dict[str, Callable[[Any], Any]] = {
        triton_private.IR: lambda real: _Ir(real, stage),
        triton_private.LLVM: lambda real: _Llvm(real, stage),
        triton_private.SUBPROCESS: lambda real: _Subprocess(real, stage),
        triton_private.TEMPFILE: lambda real: _Tempfile(real, stage),
        **dict.fromkeys(triton_private.PASSES, _Passes),
    }
    scope = dict(function.__globals__)
    scope.update({name: make(scope[name]) for name, make in stand_ins.items() if name in scope})
    scope["print"] = lambda *words, **options: None  # make_cubin prints the kernel when ptxas fails
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return staticmethod(copy) if isinstance(value, staticmethod) else copy


class _Proxy:
    """Stands in for a module of libtriton."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class _Passes(_Proxy):
    """`passes.common.add_cse(pm)` puts the pass into our list when `pm` is ours."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._real, name)
        if isinstance(value, types.ModuleType):
            return _Passes(value)
        if not name.startswith("add_"):
            return value

        def add(manager: Any, *arguments: Any) -> None:
            if isinstance(manager, _PassManager):
                manager.adders.append((value, arguments))
            else:
                value(manager, *arguments)

        return add


class _Ir(_Proxy):
    def __init__(self, real: Any, stage: StageThread) -> None:
        super().__init__(real)
        self._stage = stage

    def pass_manager(self, context: Any) -> _PassManager:
        return _PassManager(self._real, self._stage, context)


@dataclass
class _PassManager:
    """Notes passes; `run` hands them out one by one."""

    ir: Any
    stage: StageThread
    context: Any
    adders: list[tuple[Callable[..., None], tuple[Any, ...]]] = field(
        default_factory=list[tuple[Callable[..., None], tuple[Any, ...]]]
    )

    def enable_debug(self) -> bool:
        """Never: libtriton would dump to stderr."""
        return False

    def run(self, module: Any, name: str = "") -> None:
        for add, arguments in self.adders:
            manager = self._manager(add, arguments)
            call = pass_call(manager, module, name)
            if self.stage.opened and call.name in triton_inside.PASSES:
                if triton_inside.OPTION in call.options:
                    manager = self._manager(add, (*arguments[:-1], True))
                call.run = _printing(call, manager, module, name)
            self.stage.pause(call)

    def _manager(self, add: Callable[..., None], arguments: tuple[Any, ...]) -> Any:
        manager = self.ir.pass_manager(self.context)
        add(manager, *arguments)
        return manager


def _printing(call: PendingPass, manager: Any, module: Any, name: str) -> Callable[[], Any]:
    """What runs a pass that prints the IR between its steps, and keeps that."""

    def run() -> Any:
        with triton_inside.printing(), heard(call) as said:
            manager.enable_debug()
            triton_private.run_passes(manager, module, name)
            call.printed = said()
        return module

    return run


_TOP = re.compile(r"^any\((.*)\)$", re.S)
_NESTED = re.compile(r"^([\w.]+)\((.*)\)$", re.S)
_LEAF = re.compile(r"^([\w-]+)(?:\{(.*)\})?$", re.S)


def pass_call(manager: Any, module: Any, name: str) -> PendingPass:
    """The one pass of a pass manager, to be run on a module."""
    pipeline = str(manager.get_pipeline_str())
    text, anchor = pipeline, "module"
    if match := _TOP.match(text):
        text = match[1]
    while match := _NESTED.match(text):
        anchor, text = match[1], match[2]
    leaf = _LEAF.match(text)
    options = " ".join((leaf[2] or "").split()) if leaf else ""

    def run() -> Any:
        with heard(call):
            triton_private.run_passes(manager, module, name)
        return module

    call = PendingPass(
        leaf[1] if leaf else text, options, WHOLE if anchor == "module" else Scope(anchor=anchor), "", run
    )
    nested = f"{call.name}{{{options}}}" if options else call.name
    inner = nested if anchor == "module" else f"{anchor}({nested})"
    call.pipeline = f"triton-opt --pass-pipeline='builtin.module({inner})'"
    return call


@contextlib.contextmanager
def captured_stderr() -> Generator[Callable[[], str]]:
    """What native code writes to file descriptor 2 meanwhile, for libtriton has no diagnostic handler to set.

    In the worker that is its log, which is read where it lies: after a crash the kernel finds the last words there.
    """
    if _is_readable_file(2):
        yield from _in_place()
    else:
        yield from _redirected()


def _is_readable_file(descriptor: int) -> bool:
    return (
        stat.S_ISREG(os.fstat(descriptor).st_mode)
        and fcntl.fcntl(descriptor, fcntl.F_GETFL) & (os.O_ACCMODE | os.O_APPEND) == os.O_RDWR
    )


def _in_place() -> Iterator[Callable[[], str]]:
    start = os.lseek(2, 0, os.SEEK_END)
    try:
        yield lambda: os.pread(2, os.fstat(2).st_size - start, start).decode(errors="replace")
    finally:  # which a crash does not reach
        os.ftruncate(2, start)
        os.lseek(2, start, os.SEEK_SET)


def _redirected() -> Iterator[Callable[[], str]]:
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)

        def said() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


_DIAGNOSTIC = re.compile(r'^(?:loc\()?"?(.+?)"?:(\d+):(\d+)\)?: (error|warning|remark|note): (.*)$', re.M)
_PLACELESS = re.compile(r"^(?:<unknown>:0: |loc\(unknown\): |)(error|warning): (.*)$", re.M)


_TEXT = "-"
"""What a text that libtriton has read is called."""
_READ = re.compile(r'[^\s"(]*/irwidget-\d+-\w+/irwidget-input\.mlir')
"""Where `triton_state.parse` puts a text for libtriton to read."""


def diagnostics(text: str) -> tuple[Diagnostic, ...]:
    """What MLIR wrote to stderr, as data; notes go with the error before them. Text that it read is the file `-`."""
    text = _READ.sub(_TEXT, text)
    found: list[Diagnostic] = []
    for file, line, column, severity, message in _DIAGNOSTIC.findall(text):
        one = Diagnostic(severity, message, Location(file, int(line), int(column)))
        if severity == "note" and found:
            last = found.pop()
            one = Diagnostic(last.severity, last.message, last.location, (*last.notes, one))
        found.append(one)
    placed = tuple(found) or tuple(Diagnostic(severity, message) for severity, message in _PLACELESS.findall(text))
    return tuple(dict.fromkeys(placed))


_PTXAS = re.compile(r"^ptxas(?:-\w+)? [^\n]*?, line (\d+); (?:error|fatal)\s*: (.*)$", re.M)
_LLVM_MC = re.compile(r"^error: (.*)\n(.+)$", re.M)


def assembler_errors(said: str, text: str) -> tuple[tuple[int, str], ...]:
    """What an assembler complains of in a text: the number of the line, 0 where it is not known, and the message.

    ptxas names lines; LLVM's assembler, for AMD, quotes them.
    """
    if named := _PTXAS.findall(said):
        return tuple((int(line), message.strip()) for line, message in named)
    numbers = {" ".join(line.split()): number for number, line in enumerate(text.splitlines(), 1)}
    found = _LLVM_MC.findall(said)
    return tuple((numbers.get(" ".join(quoted.split()), 0), message.strip()) for message, quoted in found)


def failure(error: str, said: str) -> PassFailed:
    """The failure of a pass, with the compiler's words where it said any."""
    found = diagnostics(said)
    errors = [one.message for one in found if one.severity == "error"]
    return PassFailed(errors[0] if errors else error, found)


def went_on(name: str, said: str) -> tuple[Diagnostic, ...]:
    """What a pass that came to its end has said: after some errors LLVM writes code that lacks something."""
    return tuple(
        replace(one, message=f"{one.message} ({name} went on after it)") if one.severity == "error" else one
        for one in diagnostics(said)
    )


@contextlib.contextmanager
def heard(call: PendingPass) -> Generator[Callable[[], str]]:
    """Keep what is said in the body, by a pass that comes to its end. Raises PassFailed for one that does not."""
    with captured_stderr() as said:
        try:
            yield said
        except RuntimeError as error:
            raise failure(str(error), said()) from None
        call.said = went_on(call.name, said())


def unparsed(text: str, error: str, said: str) -> PassFailed:
    """The failure to read a text, with its line."""
    found = tuple(parsing.placed(text, one, _TEXT) for one in diagnostics(said))
    errors = [parsing.explained(text, one) for one in found if one.severity == "error"]
    return PassFailed(f"the IR does not parse: {errors[0] if errors else error}", found)


class _Llvm(_Proxy):
    """The steps on LLVM modules count as passes: translation, linking, optimisation."""

    def __init__(self, real: Any, stage: StageThread) -> None:
        super().__init__(real)
        self._stage = stage

    def to_module(self, module: Any, context: Any) -> Any:
        def run() -> Any:
            with heard(call):
                return self._real.to_module(module, context)

        call = PendingPass("translate-to-llvm-ir", "", WHOLE, "", run, "llvm")
        return self._stage.pause(call)

    def link_extern_libs(self, module: Any, paths: list[str]) -> Any:
        names = " ".join(os.path.basename(path) for path in paths)

        def run() -> Any:
            self._real.link_extern_libs(module, paths)
            return module

        return self._stage.pause(PendingPass("link-extern-libs", names, WHOLE, "", run, "llvm"))

    def optimize_module(self, module: Any, level: Any, *arguments: Any, **options: Any) -> Any:
        level_name = next((f"O{n}" for n in range(4) if level == getattr(self._real, f"OPTIMIZE_O{n}")), "O3")
        shown = " ".join([level_name, *(f"{name}={str(value).lower()}" for name, value in options.items())])

        def run() -> Any:
            with heard(call):
                self._real.optimize_module(module, level, *arguments, **options)
            return module

        call = PendingPass("optimize-module", shown, WHOLE, f"opt -{level_name}", run, "llvm")
        return self._stage.pause(call)


class _Subprocess(_Proxy):
    """Keeps what ptxas says; Triton throws it away."""

    def __init__(self, real: Any, stage: StageThread) -> None:
        super().__init__(real)
        self._stage = stage

    def run(self, command: list[str], *, check: bool = False, stderr: Any = None, **options: Any) -> Any:
        done = subprocess.run(command, check=False, stderr=stderr, **options)
        self._stage.commands.append((command, Path(stderr.name).read_text(errors="replace")))
        if check:
            done.check_returncode()
        return done


class _Tempfile(_Proxy):
    """Has temporary files where the stage has its own."""

    def __init__(self, real: Any, stage: StageThread) -> None:
        super().__init__(real)
        self._stage = stage

    def NamedTemporaryFile(self, **options: Any) -> Any:  # as in tempfile
        return self._real.NamedTemporaryFile(**options, dir=self._stage.folder)
