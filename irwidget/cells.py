"""What a cell or a file wants lowered: run it, and find the IR, the launches, or the models with their inputs.

The magics run cells in IPython's shell, the command line runs files in one that does as much of it as this needs.
"""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Generator, Sequence
from typing import Any

from irwidget import arguments, options
from irwidget.frontends import last_line
from irwidget.frontends.cell import AlreadyShown, Candidate, NotebookCell, Shell
from irwidget.frontends.pairing import collected, explore, find, with_dynamic_shapes
from irwidget.registry import Target, frontends
from irwidget.result import Lowering
from irwidget.routes import find as find_target

__all__ = ["AlreadyShown", "Shell", "cached", "candidates", "needs_torch", "unrefused"]


def needs_torch(wanted: Sequence[str]) -> bool:
    """Whether PyTorch must be there before a cell is lowered to these IR types, or to one that is chosen later."""
    return not wanted or any(_front_end(find_target(name)).needs_torch for name in wanted)


def _front_end(target: Target) -> Any:
    return frontends.find(target.front_end, "front end")


def candidates(
    shell: Shell,
    line: str,
    cell: str,
    wanted: Sequence[str],
    parsed: argparse.Namespace,
    *,
    elsewhere: bool = False,
    errors: list[BaseException] | None = None,
) -> list[Candidate]:
    """What the cell under `%%lower LINE` wants lowered to these IR types; last what was refused while it ran.

    `elsewhere`: other releases than this process's lower it, whatever the line says. `errors` takes the user's own
    error that ended it, where there is something to lower all the same.

    Raises AlreadyShown for an error of the user's own, and IRWidgetError where there is nothing to lower.
    """
    targets = [find_target(name) for name in wanted]
    asked = NotebookCell(
        shell,
        cell,
        f"# %%lower {line}\n{cell}",
        targets,
        arguments.target_options(parsed, wanted),
        parsed.source,
        parsed.timeout,
        options.memory_bytes(parsed.memory),
        bool(parsed.check),
        elsewhere or bool(parsed.toolchain or parsed.versus),
        [] if errors is None else errors,
    )
    for front_end in {target.front_end: _front_end(target) for target in targets}.values():
        if (found := front_end.candidates(asked)) is not None:
            named = parsed.dynamic_shapes  # which it refuses, or takes; a variable of that name is its cell's own
            return with_dynamic_shapes(found, cell, shell.user_ns, named) if named else found
    with _explore(shell.user_ns), collected(asked.source) as pairs, last_line.noted(shell) as last:
        try:
            asked.run()
        except AlreadyShown as shown:  # what it had come to is lowered, as launches before an error are
            if not pairs or isinstance(shown.__cause__, KeyboardInterrupt):
                raise
    inputs = arguments.split(parsed.inputs) or None
    found = pairs or find(cell, shell.user_ns, model=parsed.model, inputs=inputs, calls=last.calls)
    return with_dynamic_shapes(found, cell, shell.user_ns, parsed.dynamic_shapes)


def unrefused(found: Sequence[Candidate]) -> Sequence[Candidate]:
    """The same, for those who take all or nothing. Raises the error of what was refused."""
    for one in found:
        if one.refused:
            raise one.refused
    return found


def cached(directory: str, to: str) -> dict[str, Lowering]:
    """The kernels of a Triton JIT cache, by kernel and specialisation."""
    from irwidget.frontends import triton

    traces = triton.from_cache(directory, to)
    return {f"{trace.name}:{number}": Lowering(trace) for number, trace in enumerate(traces)}


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
