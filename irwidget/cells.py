"""What a cell or a file wants lowered: run it, and find the IR, the launches, or the models with their inputs.

The magics run cells in IPython's shell, the command line runs files in one that does as much of it as this needs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Generator, Sequence
from typing import Any, Protocol

from irwidget import arguments, options
from irwidget.errors import UsageError
from irwidget.frontends.pairing import Call, Candidate, collected, explore, find
from irwidget.lowering import Lowering


class Shell(Protocol):
    """What runs the user's code, and shows their own errors."""

    @property
    def user_ns(self) -> Any:
        """The user's variables by name."""
        ...

    def run_cell(self, raw_cell: str, store_history: bool = False) -> Any:
        """Run it. The result has `success`, and `error_in_exec` where it raised."""
        ...

    def showtraceback(self, *args: Any, **kwargs: Any) -> None:
        """Show the exception that is being handled."""
        ...


class AlreadyShown(Exception):
    """Ends a cell whose error the shell has shown already."""

    def _render_traceback_(self) -> list[str]:
        return []


def candidates(
    shell: Shell, line: str, cell: str, wanted: Sequence[str], parsed: argparse.Namespace
) -> list[Candidate]:
    """What the cell under `%%lower LINE` wants lowered to these IR types.

    Raises AlreadyShown for an error of the user's own, and IRWidgetError where there is nothing to lower.
    """
    # The first line stands for the magic's, so that line numbers are those that the user sees.
    source = f"# %%lower {line}\n{cell}"
    if "raw_ir" in wanted:
        text = cell if parsed.source == "text" else _printed(shell, source)
        return [Candidate("IR", text, (Call((), told=True),))]
    if wanted and all(name.startswith("triton_") for name in wanted) and "helion.kernel" not in cell:
        return _launches(shell, source, cell, wanted, parsed)
    with _explore(shell.user_ns), collected(source) as pairs:
        _run(shell, source)
    return pairs or find(cell, shell.user_ns, model=parsed.model, inputs=arguments.split(parsed.inputs) or None)


def cached(directory: str, to: str) -> dict[str, Lowering]:
    """The kernels of a Triton JIT cache, by kernel and specialisation."""
    from irwidget.frontends import triton

    traces = triton.from_cache(directory, to)
    return {f"{trace.name}:{number}": Lowering(trace) for number, trace in enumerate(traces)}


def _run(shell: Shell, source: str) -> None:
    if not shell.run_cell(source, store_history=False).success:
        raise AlreadyShown


def _printed(shell: Shell, source: str) -> str:
    """What the cell prints when it is run as Python. Raises UsageError when it prints nothing."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        _run(shell, source)
    if not printed.getvalue().strip():
        raise UsageError("There is no IR: the Python code printed nothing")
    return printed.getvalue()


def _launches(
    shell: Shell, source: str, cell: str, wanted: Sequence[str], parsed: argparse.Namespace
) -> list[Candidate]:
    """Run the cell and note its launches, without a GPU if there is none."""
    from irwidget.frontends import triton
    from irwidget.toolchain import client

    client.prepare("triton")
    arch = parsed.arch or (triton.default_arch(wanted[0]) if len(wanted) == 1 else None)
    # A launch returns a compiled kernel, which is nothing to show.
    memory = options.memory_bytes(parsed.memory)
    launches = triton.run_cell(shell, f"{source}\nNone", arch, seconds=parsed.timeout, memory=memory)
    if launches.failed and not launches:
        raise AlreadyShown
    if not launches and (found := find(cell, shell.user_ns, helion_only=True)):
        return found
    triton.require_launch(launches, shell.user_ns)
    return [Candidate(launch.name, launch, (Call((), told=True),)) for launch in triton.select(launches, parsed.config)]


@contextlib.contextmanager
def _explore(namespace: dict[str, Any]) -> Generator[None]:
    """PyTorch Explorer's `__explore__` in the user's namespace, for as long as the cell runs."""
    kept = namespace.get("__explore__")
    namespace["__explore__"] = explore
    try:
        yield
    finally:
        namespace.pop("__explore__", None)
        if kept is not None:
            namespace["__explore__"] = kept
