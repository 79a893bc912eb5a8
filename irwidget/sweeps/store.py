"""A sweep on disk: one Parquet file, and beside it, while cells arrive, a folder of small ones.

A Parquet file cannot be appended to. Each finished cell is therefore a file of its own at once, moved into place whole,
and they become one file when the sweep ends or when there are many: a process that is killed loses nothing.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from irwidget.errors import ToolError, UsageError
from irwidget.sweeps.cells import Cell

MERGE_AT = 500
"""Files of single cells that are merged into one."""


def parquet() -> tuple[Any, Any]:
    """pyarrow and its Parquet module. Raises ToolError when they are not installed."""
    try:
        import pyarrow
        import pyarrow.parquet as module
    except ImportError:
        raise ToolError("A sweep keeps its cells as Parquet: pip install 'irwidget[sweep]'", tool="pyarrow") from None
    return pyarrow, module


def schema() -> Any:
    """The columns of the file: the fields of a cell, the tools as JSON."""
    pa, _ = parquet()
    kinds: dict[str, Any] = {"seconds": pa.float64(), "passes": pa.int32(), "lines": pa.int32(), "dumps": pa.binary()}
    return pa.schema([(name, kinds.get(name, pa.string())) for name in asdict(Cell("", "", "ok"))])


def table(cells: Iterable[Cell]) -> Any:
    """Cells as a pyarrow.Table."""
    pa, _ = parquet()
    rows = [{**asdict(cell), "tools": json.dumps(dict(cell.tools))} for cell in cells]
    return pa.Table.from_pylist(rows, schema=schema())


def cells_of(loaded: Any) -> list[Cell]:
    """The cells of a pyarrow.Table."""
    return [Cell(**{**row, "tools": json.loads(row["tools"])}) for row in loaded.to_pylist()]


class Store:
    """The cells of one sweep in `path`, or in memory alone when there is no path."""

    def __init__(self, path: str | Path | None) -> None:
        parquet()
        self.path = Path(path) if path is not None else None
        self.cells: dict[tuple[str, str], Cell] = {}
        self.about: dict[str, Any] = {}
        self._number = 0
        if self.path is not None:
            if self.path.is_dir():
                raise UsageError(f"{self.path} is a folder: a sweep is kept in a file, sweep.parquet say")
            self._load(self.path)

    @property
    def _parts(self) -> Path:
        assert self.path is not None
        return self.path.with_name(self.path.name + ".parts")

    def _load(self, path: Path) -> None:
        _, module = parquet()
        files = [path] if path.exists() else []
        if self._parts.is_dir():
            files += sorted(self._parts.glob("*.parquet"))
        for file in files:
            try:
                loaded = module.read_table(file)
                cells = cells_of(loaded)
            except Exception as error:
                raise UsageError(f"{file} is not the file of a sweep: {str(error).splitlines()[0]}") from None
            for cell in cells:
                self.cells[cell.model, cell.target] = cell
            about = (loaded.schema.metadata or {}).get(b"irwidget")
            if about:
                self.about = json.loads(about)
        self._number = len(files)

    def describe(self, about: Mapping[str, Any]) -> None:
        """Keep what the sweep as a whole is: its toolchain."""
        self.about = dict(about)

    def add(self, cell: Cell) -> None:
        """Keep a finished cell; it is on disk when this returns. Raises ToolError when it cannot be written."""
        self.cells[cell.model, cell.target] = cell
        if self.path is None:
            return
        self._number += 1
        self._write([cell], self._parts / f"{self._number:08}-{os.getpid()}.parquet")
        if self._number % MERGE_AT == 0:
            self.merge()

    def merge(self) -> None:
        """Make one file of everything: before and after it, nothing is missing. Raises ToolError as `add` does."""
        if self.path is None:
            return
        self._write(self.cells.values(), self.path)
        shutil.rmtree(self._parts, ignore_errors=True)

    def _write(self, cells: Iterable[Cell], target: Path) -> None:
        _, module = parquet()
        made = table(cells).replace_schema_metadata({"irwidget": json.dumps(self.about)})
        fresh = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                module.write_table(made, fresh, compression="zstd")
                os.replace(fresh, target)
            finally:
                fresh.unlink(missing_ok=True)
        except OSError as error:
            raise ToolError(
                f"The sweep could not be written to {target}: {error}. What is there is kept; make room "
                "and run the same call again to go on",
                tool="parquet",
            ) from error
