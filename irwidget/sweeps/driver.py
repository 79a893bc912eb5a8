"""`sweep(...)`: many models to many targets, on any executor."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, cast

from irwidget import display, routes
from irwidget.errors import IRWidgetError, ToolError, UsageError
from irwidget.sweeps import process
from irwidget.sweeps.cells import Case, Cell, Column, Maker, Task, key_of
from irwidget.sweeps.result import Sweep
from irwidget.sweeps.store import Store
from irwidget.toolchains import remote

IN_FLIGHT = 256
"""Cells given to the executor ahead of time."""
ATTEMPTS = 3
"""How often a cell is given to the executor when its workers die."""

Models = Mapping[str, "Case | tuple[Any, ...] | Maker"]
Targets = Sequence[str] | Mapping[str, "str | Mapping[str, Any]"]


def sweep(
    models: Models,
    targets: Targets,
    executor: Executor | None = None,
    *,
    path: str | Path | None = None,
    timeout: float = 300,
    retry: bool = False,
    dumps: bool = True,
    progress: bool | None = None,
    toolchains: Sequence[str] = (),
    **options: Any,
) -> Sweep:
    """Lower every model to every target, and keep how each went.

    `models` maps names to `(model, *inputs)`, to a `Case`, or to a function
    without arguments that makes one of them where it is lowered. `targets` are
    IR types, or a mapping of column names to an IR type with its options:
    `{"sm_80": {"to": "nvptx", "arch": "sm_80"}}`. Other `options` are `lower`'s.

    `toolchains` are releases and environments, as `lower(..., toolchain=)` takes
    them: each target becomes a column for each of them, `tosa_mlir, triton==3.6.0`.

    Each cell runs in a process of its own: a crash, an `exit()` or `timeout`
    (seconds for export and passes) costs that cell only. `executor` is any
    `concurrent.futures.Executor`, such as a Dask cluster's
    `Client.get_executor()`; by default, one cell per core of this machine.

    With `path`, every finished cell is in that Parquet file, and the same call goes
    on where it was stopped: cells that were asked for in the same way (model,
    target, options, versions of the toolchain) are not run again. What failed is
    kept, too; `retry=True` runs it again. A changed `forward` is noticed in its
    source, as are numbers and words that it is given or that its modules have (a
    stride), changed weights are not. `dumps=False` keeps no IR. `progress` prints
    a line while it runs; by default, in a notebook or a terminal.

    Raises UsageError for unknown IR types, ToolError when the executor breaks or
    the file cannot be written; what was done by then is kept in the file.
    """
    columns = _with_toolchains(_columns(targets), toolchains)
    store = Store(path)
    versions = toolchain()
    store.describe({"toolchain": versions, "targets": [column.name for column in columns], "models": list(models)})
    tasks = list(_tasks(models, columns, options, timeout, dumps, versions))
    wanted = {(task.model, task.column.name) for task in tasks}
    todo = [task for task in tasks if not _is_done(store.cells.get((task.model, task.column.name)), task, retry)]
    line = _Progress(len(tasks), len(tasks) - len(todo), progress)
    try:
        if executor is not None:
            _run(executor, todo, store, line)
        else:
            _run_here(todo, store, line)
    finally:
        line.end()
        store.merge()
    cells = [store.cells[model, target] for model in models for target in (column.name for column in columns)
             if (model, target) in wanted]  # fmt: skip
    return Sweep(cells, store.about, store.path)


def toolchain() -> dict[str, str]:
    """The installed version of every Python package that toolchain.lock has as a tool."""
    from irwidget.toolchain import lock
    from irwidget.version import VERSION

    tools, _ = lock.read()
    found = {tool.name: lock.installed(tool.name) for tool in tools if tool.kind != "external"}
    return {"irwidget": VERSION, **{name: version for name, version in found.items() if version}}


def _columns(targets: Targets) -> list[Column]:
    columns: list[Column] = []
    for name in targets:
        asked = targets[name] if isinstance(targets, Mapping) else name
        given = {"to": asked} if isinstance(asked, str) else dict(asked)
        if "to" not in given:
            raise UsageError(f"Target {name!r} of the sweep names no IR type: {{'to': 'tosa_mlir', ...}}")
        to = str(given.pop("to"))
        routes.find(to)
        columns.append(Column(name, to, given))
    if len({column.name for column in columns}) < len(columns):
        raise UsageError("A target of the sweep is there twice")
    return columns


def _with_toolchains(columns: list[Column], toolchains: Sequence[str]) -> list[Column]:
    """Each column for each toolchain, whose environments are made now, once. Raises UsageError and ToolError."""
    if isinstance(toolchains, str):
        raise UsageError(f"toolchains is a list, as in ['triton==3.6.0'], not {toolchains!r}")
    if len(set(toolchains)) < len(toolchains):
        raise UsageError("A toolchain of the sweep is there twice")
    if not toolchains:
        return columns
    for one in toolchains:
        remote.find(one)
    return [
        Column(f"{column.name}, {one}", column.to, {**column.options, "toolchain": one})
        for column in columns
        for one in toolchains
    ]


def _tasks(
    models: Models,
    columns: Sequence[Column],
    options: Mapping[str, Any],
    timeout: float,
    dumps: bool,
    versions: Mapping[str, str],
) -> Iterator[Task]:
    for name, model in models.items():
        if not callable(model) and not isinstance(model, Case | tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"Model {name!r} of the sweep is a {type(model).__name__}: give (model, *inputs), "
                             "a Case, or a function that makes one")  # fmt: skip
        identity, payload = _identity(model), _pickled(name, model)
        for column in columns:
            key = key_of(name, identity, column, {**options, "dumps": dumps}, versions)
            yield Task(name, column, payload, options, timeout, dumps, key)


def _pickled(name: str, model: Any) -> bytes:
    try:
        import cloudpickle
    except ImportError:
        raise ToolError("A sweep needs cloudpickle: pip install 'irwidget[sweep]'", tool="cloudpickle") from None
    try:
        return cloudpickle.dumps(model)
    except Exception as error:
        raise UsageError(
            f"Model {name!r} cannot be sent to another process: {error}. Give a function without arguments that "
            "makes it there: {'" + name + "': lambda: (Model(), x)}"
        ) from None


def _identity(model: Any) -> str:
    """What can be told of a case without lowering it: its source, the shapes of its inputs and parameters, and the
    numbers and words that it is given and that its modules have.
    """
    import inspect

    import torch

    from irwidget.private_torch import pytree

    if not isinstance(model, Case | tuple):
        obj, rest, more = model, (), {}
    elif isinstance(model, Case):
        obj, rest, more = model.obj, model.inputs, {**model.kwargs, **model.options}
    else:
        obj, rest, more = model[0], model[1:], {}
    if isinstance(obj, str):
        return obj
    parts = [type(obj).__qualname__, getattr(obj, "__qualname__", "")]
    pieces = list(obj.modules()) if isinstance(obj, torch.nn.Module) else [obj]
    for piece in pieces:
        thing: Any = type(piece) if isinstance(piece, torch.nn.Module) else getattr(piece, "fn", piece)
        try:
            parts.append(inspect.getsource(thing))
        except (OSError, TypeError):
            parts.append(str(getattr(thing, "__qualname__", "")))
        if isinstance(piece, torch.nn.Module):
            parts += [f"{name}={value!r}" for name, value in vars(piece).items() if _is_plain(value)]
    if isinstance(obj, torch.nn.Module):
        parts += [f"{name}{tuple(value.shape)}{value.dtype}" for name, value in obj.state_dict().items()]
    leaves, structure = pytree.tree_flatten((rest, more))
    parts += [f"{tuple(x.shape)}{x.dtype}" if isinstance(x, torch.Tensor) else _without_address(x) for x in leaves]
    return "\n".join([*parts, _without_address(structure)])


def _is_plain(value: Any) -> bool:
    """Whether this is numbers and words alone, as a stride."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, cast("Sequence[Any]", value)))
    return value is None or isinstance(value, bool | int | float | str)


def _without_address(value: Any) -> str:
    """What an object is printed as, without where it lies, which is another in each process."""
    return re.sub(r"\b0x[0-9a-f]+", "", repr(value))


def _is_done(cell: Cell | None, task: Task, retry: bool) -> bool:
    if cell is None or cell.key != task.key or cell.status == "lost":
        return False
    return cell.ok or not retry


def _run_here(todo: Sequence[Task], store: Store, line: _Progress) -> None:
    """One cell per core; the threads only wait for the processes of their cells."""
    pool = ThreadPoolExecutor(max(1, len(os.sched_getaffinity(0))), thread_name_prefix="irwidget-sweep")
    try:
        _run(pool, todo, store, line)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    finally:
        process.end_all()
        pool.shutdown(cancel_futures=True)


def _run(executor: Executor, todo: Sequence[Task], store: Store, line: _Progress) -> None:
    waiting = list(reversed(todo))
    tried = dict.fromkeys((task.key for task in todo), 0)
    flying: dict[Future[Cell], Task] = {}
    try:
        while waiting or flying:
            while waiting and len(flying) < IN_FLIGHT:
                task = waiting.pop()
                tried[task.key] += 1
                flying[_submit(executor, task)] = task
            done, _ = wait(flying, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in done:
                task = flying.pop(future)
                try:
                    cell = future.result()
                except IRWidgetError:
                    raise
                except (Exception, CancelledError) as error:
                    # Not the cell's own failure, which would be in the cell: whoever ran it is gone.
                    if tried[task.key] < ATTEMPTS:
                        waiting.append(task)
                        continue
                    why = f"the executor lost it {ATTEMPTS} times: {type(error).__name__}: {str(error)[:500]}"
                    cell = Cell(task.model, task.column.name, "lost", why, type(error).__name__, key=task.key)
                store.add(cell)
                line.add(cell)
            line.show(len(flying))
    except BaseException:
        for future in flying:
            future.cancel()
        raise


def _submit(executor: Executor, task: Task) -> Future[Cell]:
    try:
        return executor.submit(process.run, task)
    except RuntimeError as error:  # shut down, or broken
        raise ToolError(
            f"The executor takes no more cells: {error}. Make a new one and run the same call again to go on",
            tool=type(executor).__name__,
        ) from error


class _Progress:
    """One line that is written over: on a notebook's page, where its last words stay, or on a terminal's stderr."""

    def __init__(self, total: int, done: int, enabled: bool | None) -> None:
        self._on_page = display.cell_id() is not None
        self._enabled = self._on_page or sys.stderr.isatty() if enabled is None else enabled
        self._total, self._done = total, done
        self._bad = self._width = 0
        self._started = self._shown = time.monotonic()

    def add(self, cell: Cell) -> None:
        self._done += 1
        self._bad += not cell.ok

    def show(self, flying: int) -> None:
        if self._enabled and time.monotonic() - self._shown > 0.5:
            self._shown = time.monotonic()
            self._write(f"{self._said}, {flying} on their way")

    def end(self) -> None:
        if self._shown > self._started:
            self._write(self._said if self._on_page else "", end="" if self._on_page else "\r")

    @property
    def _said(self) -> str:
        spent = time.monotonic() - self._started
        return f"sweep: {self._done} of {self._total} cells in {spent:.0f} s, {self._bad} not ok"

    def _write(self, text: str, end: str = "") -> None:
        """In place of what was written before. What stderr has is an error to the eye, on a page."""
        file = sys.stdout if self._on_page else sys.stderr
        print(f"\r{text:78}", end=end, file=file, flush=True)
