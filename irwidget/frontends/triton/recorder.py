"""Run a cell and note the kernels that it launches, on a machine with or without a GPU."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from irwidget import private_ipython
from irwidget.errors import IRWidgetError, UsageError
from irwidget.frontends.cell import error_of, silent
from irwidget.frontends.triton import device, failures, gpu
from irwidget.frontends.triton.autotuning import tune, tune_on_gpu
from irwidget.frontends.triton.kernels import kernels
from irwidget.frontends.triton.launches import Launches
from irwidget.frontends.triton.left_out import left_out
from irwidget.frontends.triton.references import References
from irwidget.frontends.triton.scopes import replaced
from irwidget.frontends.triton.tensors import LOCK
from irwidget.frontends.triton.user_lines import calling_line
from irwidget.toolchain import triton_private
from irwidget.toolchain.triton_archs import DEFAULT, find
from irwidget.toolchain.triton_state import require
from irwidget.trace import Diagnostic


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
    elsewhere: bool = False,
) -> Generator[Launches]:
    """Note what is launched in the body.

    `seconds` and `memory` (bytes) limit what Triton's front end, and the CPU, may take for it; the body itself
    is the user's.

    Without a GPU the body runs with tensors that have no values, on a pretended
    device of that architecture (sm_90 when not given); a body that needs values
    ends there, quietly when something was launched before. With `values` tensors have
    them, and every launch is executed by the CPU. With a GPU it really runs.
    With `elsewhere` a kernel that this Triton refuses is noted for another, and the body goes on.

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
    launches = Launches(
        chosen, real, seconds, memory, values=values and not real, interpret=interpret, elsewhere=elsewhere
    )
    tuner, kernel = triton_private.autotuner(), triton_private.jit_function()
    tuned, run = (tune_on_gpu, _run_on_gpu) if real else (tune, _run)
    try:
        with ExitStack() as stack:
            if not real:
                pretended = device.pretend(launches.arch, values=values, tell=launches.remark, reading=launches.reading)
                stack.enter_context(pretended)
            if launches.values:
                stack.enter_context(References(launches.comparisons).watched())
            elif not real:
                stack.enter_context(left_out(launches.remark, calling_line))
            stack.enter_context(replaced(tuner, "run", tuned(launches, tuner.run)))
            stack.enter_context(replaced(kernel, "run", run(launches, kernel.run)))
            stack.enter_context(launches.recorded())
            yield launches
    except Exception as error:
        launches.ended = str(error) if isinstance(error, failures.NotExecuted) else ""
        told = failures.explain(error, launched=bool(launches), notes=launches.diagnostics)
        if told is not None:
            raise told from error
        if not failures.ends_quietly(error):
            raise
    finally:
        launches.diagnostics += launches.reading.summary()
        if launches.elsewhere:
            launches.diagnostics.append(Diagnostic("warning", _ELSEWHERE))
        said = {"notes": tuple(launches.diagnostics), "ended": launches.ended}
        launches[:] = [replace(launch, **said) for launch in launches]


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
    elsewhere: bool = False,
) -> Launches:
    """The launches of a notebook cell, run by IPython; see `recording`.

    The user's own errors are shown by IPython, and noted in `Launches.error`; those that we
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
        with recording(
            arch, seconds=seconds, memory=memory, values=values, interpret=interpret, elsewhere=elsewhere
        ) as launches:
            named = private_ipython.numbered(shell, source)
            with silent(shell), replaced(shell, "showtraceback", show_their_own), named:
                ran = shell.run_cell(source, store_history=False)
            launches.error = error_of(ran)
            if ran.error_in_exec is not None and failures.is_explained(ran.error_in_exec):
                launches.error = None
                raise ran.error_in_exec
    except IRWidgetError as error:
        if launches is None:
            raise
        launches.problem = error
    return launches


_ELSEWHERE = (
    "what processes that the cell starts (os.fork, multiprocessing) launch is not shown: launch it in the cell's own"
)


def require_launch(launches: Launches, namespace: Mapping[str, object]) -> None:
    """Raise UsageError when a cell launched nothing; names the kernels that it could launch."""
    if launches:
        return
    if launches.elsewhere:
        raise UsageError(f"The cell itself launches no Triton kernel: {_ELSEWHERE}")
    known = [f"{name}[grid]({', '.join(getattr(one, 'arg_names', []))})" for name, one in kernels(namespace).items()]
    hint = f"Launch one of its kernels: {'; '.join(known)}." if known else "It defines no kernel either."
    raise UsageError(f"The cell launches no Triton kernel. {hint}")


def _run(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """JITFunction.run that notes the launch."""

    @functools.wraps(original)
    def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # by IPython, where a function of the user's raises
        for hook in kernel.pre_run_hooks:
            hook(*args, **kwargs)
        launches.look_where()
        with LOCK:
            captured = launches.note(kernel, args, grid, kwargs, warmup=warmup)
            if not warmup:
                launches.do(captured, kernel, args, kwargs)
        return captured

    return run


def _run_on_gpu(launches: Launches, original: Callable[..., Any]) -> Callable[..., Any]:
    """JITFunction.run that notes the launch and launches."""

    @functools.wraps(original)
    def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        launches.look_where()
        launches.note(kernel, args, grid, kwargs, warmup=warmup)
        return original(kernel, *args, grid=grid, warmup=warmup, **kwargs)

    return run
