"""Run a cell and note the kernels that it launches, on a machine with or without a GPU."""

from __future__ import annotations

import functools
import reprlib
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from irwidget.errors import IRWidgetError, UsageError
from irwidget.frontends.triton import device, failures, gpu, grids, measuring
from irwidget.frontends.triton.captured import CapturedKernel
from irwidget.frontends.triton.executing import execute
from irwidget.frontends.triton.kernels import kernels
from irwidget.frontends.triton.launch import Launch
from irwidget.frontends.triton.ledger import LEDGER
from irwidget.frontends.triton.reading import SECONDS, Reading
from irwidget.frontends.triton.references import References, left_out
from irwidget.frontends.triton.scopes import replaced
from irwidget.frontends.triton.specialization import specialize
from irwidget.frontends.triton.stand_ins import is_address, stand_in
from irwidget.frontends.triton.tensors import fake_mode
from irwidget.frontends.triton.writes import looks_at_addresses, reaches_anything, written
from irwidget.toolchain import triton_private, triton_settings
from irwidget.toolchain.locations import is_user_file
from irwidget.toolchain.triton_archs import DEFAULT, Arch, find
from irwidget.toolchain.triton_state import require
from irwidget.trace import Diagnostic, Location, Severity


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
    ) -> None:
        super().__init__()
        self.values = values
        """Whether launches are executed by Triton's interpreter, so that tensors have values."""
        self.reading = Reading(
            self.remark, _calling_line, min(SECONDS, seconds or SECONDS), memory, interpret=interpret
        )
        """What the cell reads of tensors without values."""
        self.references = References()
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
        self.failed = False
        """Whether the cell ended with an error of the user's own, which IPython has shown."""
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
        self.measured: set[tuple[Any, ...]] = set()
        """For which autotuners and arguments Triton would have measured configurations, and not do so again."""
        self._seen: dict[str, CapturedKernel] = {}
        self._met: dict[str, Launch] = {}
        self._grid: tuple[int, ...] | None = None

    def execute(self, captured: CapturedKernel, kernel: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Execute what was noted last on the values of its tensors. Raises NotExecuted."""
        launch = captured.launch
        began = time.monotonic()
        written = execute(
            kernel,
            args,
            kwargs,
            self._grid or (),
            _calling_line(),
            seconds=self.seconds,
            memory=self.memory,
            memories=LEDGER.memories,
            doubt=self._doubt,
        )
        if self.seconds is not None:
            self.seconds = max(0.1, self.seconds - (time.monotonic() - began))
        self.references.wrote(launch.compared, written)

    def _doubt(self, reason: str) -> None:
        self.remark(reason)
        self.references.doubted(reason)

    def note(
        self, kernel: Any, args: tuple[Any, ...], grid: Any, kwargs: Mapping[str, Any], *, warmup: bool = False
    ) -> CapturedKernel:
        """Note a launch; compiles it to TTIR, so that an error is raised at the line that launches.

        Raises what `Launch.compiled` raises, then, as Triton does, UsageError for what is no grid, of which
        a `warmup` makes no use.
        """
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
                _calling_line(),
                self.config,
                self.tuning,
                chosen=not self.real or not self.config,
                settings=triton_settings.current(options=True),
            )
            if not self.later:
                self._compile(launch)
            self.append(launch)
            self._seen[special.key] = CapturedKernel(launch, special, self.again)
        captured = self._seen[special.key]
        self._met[special.key] = captured.launch
        if refused is not None:
            raise refused
        return captured

    def again(self, captured: CapturedKernel, grid: Any, args: tuple[Any, ...]) -> None:
        """A launch of what another one has returned: `kernel[grid](*args)`."""
        self._grid = self._on(captured.launch.kernel, grid)
        self.do(captured, captured.launch.kernel, args, {})

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
        special, source = captured.launch.compiled()
        ttir = str(source.data)
        problem = "" if self.reading.interpret else "launches are not executed (--no-interpret)"
        if special.gluon:
            problem = f"{kernel.__name__}, a Gluon kernel, may have written it"
        elif looks_at_addresses(ttir):
            problem = f"{kernel.__name__} computes with addresses, which are others on a GPU"
        elif measuring.measuring():
            problem = "a launch that a benchmark measures, which is not executed, may have written it"
        by_address = reaches_anything(ttir) or any(map(is_address, (*args, *kwargs.values())))
        through = None if special.gluon else written(ttir)
        fake_mode().reader.tape.launch(
            kernel, args, kwargs, self._grid, _calling_line(), through, problem, by_address=by_address
        )

    def _compile(self, launch: Launch) -> None:
        began = time.monotonic()
        launch.compiled(seconds=self.seconds, memory=self.memory)
        if self.seconds is not None:
            self.seconds = max(0.0, self.seconds - (time.monotonic() - began))

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

    def remark(self, message: str, severity: Severity = "remark") -> None:
        """Note, once, what was left out of the cell."""
        if message not in [one.message for one in self.diagnostics]:
            self.diagnostics.append(Diagnostic(severity, message, _calling_line()))

    def choose(self, first: int, configs: list[Any], best: Any) -> None:
        """Name the configurations of the launches from `first` on; a GPU found `best` to be the best."""
        for i in range(first, len(self)):
            given = dict(self[i].keywords)
            config = next((c for c in configs if c.all_kwargs().items() <= given.items()), None)
            if config is not None:
                self[i] = replace(self[i], config=_named(config), chosen=config == best)


def _calling_line() -> Location | None:
    """The innermost line of the user's code that is running."""
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if not name.startswith(("irwidget.", "triton.", "torch.")) and is_user_file(frame.f_code.co_filename):
            return Location(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return None


def _named(config: Any) -> str:
    """`BLOCK=128, num_warps=4`."""
    return ", ".join(f"{name}={value}" for name, value in config.all_kwargs().items())


def has_gpu() -> bool:
    """Whether Triton can launch kernels on this machine."""
    return not gpu.pretending() and triton_private.active_backends() == 1


def real_arch() -> str:
    """The name of this machine's GPU: `sm_90`, `gfx942`."""
    target: Any = triton_private.driver_config().active.get_current_target()
    return f"sm_{target.arch}" if target.backend == "cuda" else str(target.arch).split(":")[0]


@contextmanager
def recording(
    arch: str | None = None,
    *,
    seconds: float | None = None,
    memory: int | None = None,
    values: bool = False,
    interpret: bool = True,
) -> Generator[Launches]:
    """Note what is launched in the body.

    `seconds` and `memory` (bytes) limit what Triton's front end, and its interpreter, may take for it; the body itself
    is the user's.

    Without a GPU the body runs with tensors that have no values, on a pretended
    device of that architecture (sm_90 when not given); a body that needs values
    ends there, quietly when something was launched before. With `values` tensors have
    them, and every launch is executed by Triton's interpreter. With a GPU it really runs.

    Raises UsageError for an unknown architecture, PassError for a kernel that does
    not compile, UnsupportedError where values are needed before any launch.
    """
    require()
    if triton_private.knobs().runtime.interpret:
        raise UsageError(
            "TRITON_INTERPRET is set: kernels run as Python and are not compiled. Unset it and define them again."
        )
    real = has_gpu()
    chosen = find(arch or (real_arch() if real else DEFAULT))
    launches = Launches(chosen, real, seconds, memory, values=values and not real, interpret=interpret)
    tuner, kernel = triton_private.autotuner(), triton_private.jit_function()
    tune, run = (_tune_on_gpu, _run_on_gpu) if real else (_tune, _run)
    try:
        with ExitStack() as stack:
            if not real:
                pretended = device.pretend(launches.arch, values=values, tell=launches.remark, reading=launches.reading)
                stack.enter_context(pretended)
            if launches.values:
                stack.enter_context(launches.references.watched(_calling_line))
            elif not real:
                stack.enter_context(left_out(launches.remark, _calling_line))
            stack.enter_context(replaced(tuner, "run", tune(launches, tuner.run)))
            stack.enter_context(replaced(kernel, "run", run(launches, kernel.run)))
            yield launches
    except Exception as error:
        told = failures.explain(error, launched=bool(launches), notes=launches.diagnostics)
        if told is not None:
            raise told from error
        if not failures.ends_quietly(error):
            raise
    finally:
        launches.diagnostics += launches.reading.summary()
        launches[:] = [replace(launch, notes=tuple(launches.diagnostics)) for launch in launches]


def capture(cell: Callable[[], Any], arch: str | None = None) -> Launches:
    """The launches of a function that runs a cell; see `recording`."""
    with recording(arch) as launches:
        cell()
    return launches


def run_cell(
    shell: Any,
    source: str,
    arch: str | None = None,
    *,
    seconds: float | None = None,
    memory: int | None = None,
    values: bool = False,
    interpret: bool = True,
) -> Launches:
    """The launches of a notebook cell, run by IPython; see `recording`.

    The user's own errors are shown by IPython, and noted in `Launches.failed`; those that we
    can tell better (a kernel that does not compile, a value that is not there) are not shown but noted in
    `Launches.problem`. An interrupt is raised: what was launched before it is not what the user still wants.
    """
    show = shell.showtraceback

    def show_their_own(*args: Any, **kwargs: Any) -> None:
        error = sys.exc_info()[1]
        if error is None or not failures.is_explained(error):
            show(*args, **kwargs)

    launches: Launches | None = None
    try:
        with recording(arch, seconds=seconds, memory=memory, values=values, interpret=interpret) as launches:
            with replaced(shell, "showtraceback", show_their_own):
                ran = shell.run_cell(source, store_history=False)
            launches.failed = not ran.success
            if ran.error_in_exec is not None and failures.is_explained(ran.error_in_exec):
                launches.failed = False
                raise ran.error_in_exec
    except IRWidgetError as error:
        if launches is None:
            raise
        launches.problem = error
    return launches


def require_launch(launches: Launches, namespace: Mapping[str, object]) -> None:
    """Raise UsageError when a cell launched nothing; names the kernels that it could launch."""
    if launches:
        return
    known = [f"{name}[grid]({', '.join(getattr(one, 'arg_names', []))})" for name, one in kernels(namespace).items()]
    hint = f"Launch one of its kernels: {'; '.join(known)}." if known else "It defines no kernel either."
    raise UsageError(f"The cell launches no Triton kernel. {hint}")


def _run(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """JITFunction.run that notes the launch."""

    @functools.wraps(original)
    def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        for hook in kernel.pre_run_hooks:
            hook(*args, **kwargs)
        captured = launches.note(kernel, args, grid, kwargs, warmup=warmup)
        if not warmup:
            launches.do(captured, kernel, args, kwargs)
        return captured

    return run


def _run_on_gpu(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """JITFunction.run that notes the launch and launches."""

    @functools.wraps(original)
    def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        launches.note(kernel, args, grid, kwargs, warmup=warmup)
        return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)

    return run


def _tune(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """Autotuner.run that launches every configuration once: without a GPU none is the fastest."""

    def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
        try:
            configs = tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs
            with launches.tuned():
                launches.trying = len(configs) > 1
                result: Any = None
                for config in configs:
                    done = _try(launches, tuner, config, args, kwargs, last=config is configs[-1])
                    if result is None and done is not None:
                        result, tuner.best_config, launches.later = done, config, True
                if launches.trying and result is not None:  # what happens is what happens last: its hooks, its launch
                    launches.trying = launches.later = False
                    if (key := _key(tuner, kwargs)) not in launches.measured:
                        launches.measured.add(key)
                        tuner.pre_hook({**tuner.nargs, **kwargs, **tuner.best_config.all_kwargs()}, reset_only=True)
                    _try(launches, tuner, tuner.best_config, args, kwargs, last=True)
        finally:
            tuner.nargs = None
        return result

    return run


def _key(tuner: Any, kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
    """That under which Triton keeps the best configuration: it measures, and resets what it wrote, once for each."""
    given = {name: value for name, value in {**tuner.nargs, **kwargs}.items() if name in tuner.arg_names}
    dtypes = (str(value.dtype) for value in given.values() if hasattr(value, "dtype"))
    return (tuner, *(given[name] for name in tuner.keys if name in given), *dtypes)


def _try(
    launches: Launches, tuner: Any, config: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, last: bool
) -> Any:
    """Launch one configuration; None, and a note, where it says itself that it does not compile."""
    if conflicts := kwargs.keys() & config.kwargs.keys():
        raise ValueError(
            f"Conflicting meta-parameters: {', '.join(sorted(conflicts))}. "
            "Make sure that you don't re-define auto-tuned symbols."
        )
    chosen = config.all_kwargs()
    if config.pre_hook is not None:
        config.pre_hook({**tuner.nargs, **kwargs, **chosen})
    launches.config = _named(config)
    try:
        return tuner.fn.run(*args, **kwargs, **chosen)
    except triton_private.failed_assertion() as error:  # the real autotuner skips it too
        if last and not launches.later:
            raise
        note = f"{tuner.base_fn.__name__} does not compile with {_named(config)}: {error}"
        launches.diagnostics.append(Diagnostic("remark", note))
        return None


def _tune_on_gpu(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """Autotuner.run, followed by naming the configurations and the best of them."""

    def run(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        first = len(launches)
        result = original(tuner, *args, **kwargs)
        launches.choose(first, tuner.configs, tuner.best_config)
        return result

    return run
