"""The launches of a cell as they happen: noted, compiled to TTIR, executed where their tensors have values."""

from __future__ import annotations

import mmap
import os
import reprlib
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from irwidget.errors import IRWidgetError
from irwidget.frontends.triton import grids, measuring
from irwidget.frontends.triton.captured import CapturedKernel
from irwidget.frontends.triton.comparisons import Comparisons
from irwidget.frontends.triton.executing import execute
from irwidget.frontends.triton.failures import compile_error
from irwidget.frontends.triton.launch import Launch
from irwidget.frontends.triton.ledger import LEDGER
from irwidget.frontends.triton.memory import GLUON, Memory
from irwidget.frontends.triton.programs import Program
from irwidget.frontends.triton.reading import SECONDS, Reading
from irwidget.frontends.triton.specialization import Specialization, specialize
from irwidget.frontends.triton.stand_ins import is_address, stand_in, tensors
from irwidget.frontends.triton.tensors import fake_mode
from irwidget.frontends.triton.user_lines import calling_line
from irwidget.frontends.triton.writes import looks_at_addresses, reaches_anything, written
from irwidget.toolchain import triton_settings
from irwidget.toolchain.triton_archs import Arch
from irwidget.trace import Diagnostic, Severity


class Launches(list[Launch]):
    """The distinct launches of a capture, in order: one for each specialisation of each kernel."""

    def __init__(
        self,
        arch: Arch,
        real: bool,
        seconds: float | None = None,
        memory: int | None = None,
        *,
        values: bool = False,
        interpret: bool = True,
        elsewhere: bool = False,
    ) -> None:
        super().__init__()
        self.values = values
        """Whether launches are executed by the CPU, so that tensors have values."""
        self.reading = Reading(self.remark, calling_line, min(SECONDS, seconds or SECONDS), memory, interpret=interpret)
        """What the cell reads of tensors without values."""
        self._for_others = elsewhere
        self._refused: set[str] = set()
        """The specialisations that this Triton does not compile, noted for another: there is no TTIR of them here."""
        self.comparisons = Comparisons()
        """What the cell compares with what launches have written."""
        self.arch = arch
        self.real = real
        """Whether a GPU ran the cell."""
        self.seconds = seconds
        """What Triton's front end may take for all launches together."""
        self.memory = memory
        """Bytes that it may take."""
        self.diagnostics: list[Diagnostic] = []
        """What was left out: configurations that do not compile, code after a value was needed."""
        self.error: BaseException | None = None
        """The user's own that ended the cell, which IPython has shown."""
        self.ended = ""
        """What could not be executed, after which the cell was run no further."""
        self.problem: IRWidgetError | None = None
        """What ended the cell, which we tell better than IPython."""
        self.config = ""
        """The autotuner's configuration that is being launched."""
        self.tuning = 0
        """Which call of an autotuner is under way, counted from 1; 0 where there is none."""
        self.later = False
        """Whether what is launched now is compiled only when it is looked at."""
        self.trying = False
        """Whether what is launched now is noted only: an autotuner tries its configurations."""
        self.tunings = 0
        """Calls of autotuners so far."""
        self._process = os.getpid()
        self._elsewhere = mmap.mmap(-1, 1)  # which processes that the cell starts share
        self._seen: dict[str, CapturedKernel] = {}
        self._met: dict[str, Launch] = {}
        self._grid: tuple[int, ...] | None = None

    def execute(self, captured: CapturedKernel, kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Execute what was noted last on the values of its tensors. Raises NotExecuted."""
        launch = captured.launch
        began = time.monotonic()
        special, source = launch.compiled()
        written = execute(
            Program(kernel, special.signature, str(source.data), self.arch),
            args,
            kwargs,
            self._grid or (),
            calling_line(),
            seconds=self.seconds,
            memory=self.memory,
            memories=LEDGER.memories,
            measured=self._measured(args, kwargs),
            doubt=self._doubt,
            outside=launch.outside.append,
        )
        if self.seconds is not None:
            self.seconds = max(0.1, self.seconds - (time.monotonic() - began))
        self.comparisons.wrote(launch.name, launch.compared, written, (*args, *kwargs.values()))

    def measured(self, captured: CapturedKernel, named: Mapping[str, Any]) -> None:
        """Note that an autotuner has launched what was noted over and over, for its writes, on these arguments."""
        if self.real:
            return
        through = None
        if captured.hash not in self._refused:
            special, source = captured.launch.compiled()
            through = None if special.gluon else written(str(source.data))
        for name, value in named.items():
            if through is None or name in through:
                for memory in self._memories(value):
                    memory.measured = True

    def _measured(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Memory]:
        """The memory that a launch is given and that only measuring has written; from now on it has what this gives."""
        found = [one for value in (*args, *kwargs.values()) for one in self._memories(value) if one.measured]
        for one in found:
            one.measured = False
        return found

    def _memories(self, value: Any) -> list[Memory]:
        """The memory of the tensors in an argument, where it is known."""
        known = LEDGER.memories if self.values else fake_mode().reader.tape.memories
        return [memory for one in tensors(value) if (memory := known.find(one)) is not None]

    def _doubt(self, reason: str) -> None:
        self.remark(reason)
        self.comparisons.doubted(reason)

    def note(
        self, kernel: Any, args: tuple[Any, ...], grid: Any, kwargs: Mapping[str, Any], *, warmup: bool = False
    ) -> CapturedKernel:
        """Note a launch; compiles it to TTIR, so that an error is raised at the line that launches.

        Raises what `Launch.compiled` raises, then, as Triton does, UsageError for what is no grid, of which
        a `warmup` makes no use.
        """
        __tracebackhide__ = True  # by IPython, as `run` of the recorder
        arguments = tuple(stand_in(value) for value in args)
        keywords = {name: stand_in(value) for name, value in kwargs.items()}
        special = specialize(kernel, arguments, keywords, self.arch)
        named = dict(zip(kernel.arg_names, args, strict=False)) | dict(kwargs)
        bound = {name: named.get(name, value) for name, value in special.bound.items()}
        self._grid, refused = None, None
        try:
            self._grid = self._on(kernel, grid(bound) if callable(grid) else grid)
        except Exception as error:  # also one of the user's own function
            refused = None if warmup else error
        if special.key not in self._seen:
            launch = Launch(
                kernel,
                arguments,
                keywords,
                self.arch.name,
                self._grid,
                calling_line(),
                self.config,
                self.tuning,
                chosen=not self.real or not self.config,
                settings=triton_settings.current(options=True),
            )
            self._new(launch, special)
        captured = self._seen[special.key]
        self._met[special.key] = captured.launch
        if refused is not None:
            raise refused
        return captured

    def _new(self, launch: Launch, special: Specialization) -> None:
        """Note a specialisation that was not met before."""
        compiles = self.later or self._compiles(launch)
        self.append(launch)
        self._seen[special.key] = CapturedKernel(launch, special, self.again)
        if not compiles:
            self._refused.add(self._seen[special.key].hash)

    def again(self, captured: CapturedKernel, grid: Any, args: tuple[Any, ...]) -> None:
        """A launch of what another one has returned, in this cell or in one before: `kernel[grid](*args)`."""
        here = _running[-1] if _running else self
        here._grid = here._on(captured.launch.kernel, grid)
        if here is not self:
            captured = here._of_before(captured.launch)
        here.do(captured, captured.launch.kernel, args, {})

    def _of_before(self, launch: Launch) -> CapturedKernel:
        """What a cell before has launched, noted in this one."""
        special = launch.specialised(self.arch.name)
        if special.key not in self._seen:
            made = Launch(
                launch.kernel,
                launch.arguments,
                launch.keywords,
                self.arch.name,
                self._grid,
                calling_line(),
                settings=launch.settings,
            )
            self._new(made, special)
        return self._seen[special.key]

    @contextmanager
    def recorded(self) -> Generator[None]:
        """While the cell runs: what cells before have compiled is launched here."""
        _running.append(self)
        try:
            yield
        finally:
            _running.remove(self)

    def _on(self, kernel: Any, grid: Any) -> tuple[int, ...]:
        """The grid that Triton launches, and a note where that does not run. Raises UsageError for what is none."""
        sizes = grids.dimensions(kernel, grid)
        said = grids.trouble(kernel, self.arch, sizes)
        if said or len(grid) > len(sizes):
            told = said or "Triton heeds the first three sizes"
            self.remark(f"{kernel.__name__} is launched on {reprlib.repr(grid)}: {told}", "warning")
        return sizes

    def do(self, captured: CapturedKernel, kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """What was noted last happens: now where tensors have values, when they are read where they have none."""
        if self.real or self.trying or self.later:
            return
        if not self.values:
            self.on_tape(captured, kernel, args, kwargs)
        elif not measuring.measuring():
            self.execute(captured, kernel, args, kwargs)

    def on_tape(self, captured: CapturedKernel, kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Note what was launched last where host code may read what it writes."""
        if captured.hash in self._refused:
            problem = f"{kernel.__name__}, which the Triton here does not compile, may have written it"
            unread, tape = Program(kernel, {}, "", self.arch), fake_mode().reader.tape
            tape.launch(unread, args, kwargs, self._grid, calling_line(), None, problem, by_address=True)
            return
        special, source = captured.launch.compiled()
        ttir = str(source.data)
        problem = "" if self.reading.interpret else "launches are not executed (--no-interpret)"
        if special.gluon:
            problem = f"{kernel.__name__}, {GLUON}, may have written it, and that is not executed"
        elif looks_at_addresses(ttir):
            problem = f"{kernel.__name__} computes with addresses, which are others on a GPU"
        elif measuring.measuring():
            problem = "a launch that a benchmark measures, which is not executed, may have written it"
        by_address = reaches_anything(ttir) or any(map(is_address, (*args, *kwargs.values())))
        through = None if special.gluon else written(ttir)
        program = Program(kernel, special.signature, ttir, self.arch)
        fake_mode().reader.tape.launch(
            program, args, kwargs, self._grid, calling_line(), through, problem, by_address=by_address
        )

    def _compiles(self, launch: Launch) -> bool:
        """Compile it; whether that could be, where another Triton is to do it. Raises as `Launch.compiled`."""
        began = time.monotonic()
        try:
            launch.compiled(seconds=self.seconds, memory=self.memory)
        except Exception as error:
            if self._for_others and compile_error(error) is not None:
                return False
            raise
        if self.seconds is not None:
            self.seconds = max(0.0, self.seconds - (time.monotonic() - began))
        return True

    @contextmanager
    def tuned(self) -> Generator[None]:
        """One call of an autotuner: its launches belong together, those too that an earlier call had noted."""
        first, seen = len(self), set(self._seen)
        self.tunings += 1
        self.tuning, self._met = self.tunings, {}
        try:
            yield
        finally:
            again = [one for key, one in self._met.items() if key in seen and one.tuning]
            if len(self) > first:
                self[first:first] = [replace(launch, tuning=self.tuning) for launch in again]
            self.tuning, self.config, self.later, self.trying = 0, "", False, False

    def look_where(self) -> None:
        """Note, for the process of the cell, that this is another, which the cell has started (fork)."""
        if os.getpid() != self._process:
            self._elsewhere[0] = 1

    @property
    def elsewhere(self) -> bool:
        """Whether processes that the cell started have launched kernels, too."""
        return bool(self._elsewhere[0])

    def remark(self, message: str, severity: Severity = "remark") -> None:
        """Note, once, what was left out of the cell."""
        if message not in [one.message for one in self.diagnostics]:
            self.diagnostics.append(Diagnostic(severity, message, calling_line()))

    def choose(self, first: int, configs: list[Any], best: Any) -> None:
        """Name the configurations of the launches from `first` on; a GPU found `best` to be the best."""
        for i in range(first, len(self)):
            given = dict(self[i].keywords)
            config = next((c for c in configs if c.all_kwargs().items() <= given.items()), None)
            if config is not None:
                self[i] = replace(self[i], config=named_config(config), chosen=config == best)


_running: list[Launches] = []
"""Those of the cells that run, the innermost last."""


def named_config(config: Any) -> str:
    """`BLOCK=128, num_warps=4`."""
    return ", ".join(f"{name}={value}" for name, value in config.all_kwargs().items())
