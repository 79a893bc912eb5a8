"""What a sweep gives: its cells, the dumps behind them, and what changed since another sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from irwidget import display
from irwidget.errors import UsageError, near
from irwidget.result import Lowering
from irwidget.sweeps import stored
from irwidget.sweeps.cells import Cell
from irwidget.sweeps.store import Store, table


class Sweep:
    """The cells of a matrix of lowerings: models by targets."""

    view = "sweep"
    """The registered view that shows it."""

    def __init__(self, cells: Sequence[Cell], about: Mapping[str, Any], path: Path | None = None) -> None:
        self.cells = tuple(cells)
        self.about = about
        """`toolchain`: names and versions; `models` and `targets`: what was asked for, in order."""
        self.path = path
        self._by_place = {(cell.model, cell.target): cell for cell in cells}

    @property
    def models(self) -> tuple[str, ...]:
        """The rows, in the order of the call."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def targets(self) -> tuple[str, ...]:
        """The columns, in the order of the call."""
        return tuple(dict.fromkeys(cell.target for cell in self.cells))

    @property
    def toolchain(self) -> Mapping[str, str]:
        """Names and versions of the tools that lowerings depend on."""
        return self.about.get("toolchain", {})

    @property
    def failures(self) -> tuple[Cell, ...]:
        """The cells that are not complete."""
        return tuple(cell for cell in self.cells if not cell.ok)

    @property
    def counts(self) -> dict[str, int]:
        """How many cells have each status, the most frequent first."""
        return dict(Counter(cell.status for cell in self.cells).most_common())

    @property
    def summary(self) -> str:
        """`3 models, 2 targets: 5 ok, 1 failed`"""
        counted = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        return f"{len(self.models)} models, {len(self.targets)} targets: {counted}"

    @property
    def table(self) -> Any:
        """A pyarrow.Table, a row per cell, with the columns of the Parquet file. Raises ToolError without pyarrow."""
        return table(self.cells)

    def to_pandas(self) -> Any:
        """The same as a pandas.DataFrame; pandas must be installed."""
        return self.table.to_pandas()

    def __getitem__(self, place: tuple[str, str]) -> Cell:
        """The cell of `(model, target)`. Raises UsageError when there is none."""
        try:
            return self._by_place[place]
        except (KeyError, TypeError):
            known = [f"({model}, {target})" for model, target in self._by_place]
            raise UsageError(f"The sweep has no cell {place!r}. {near(str(place), known)}") from None

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[Cell]:
        return iter(self.cells)

    def lowering(self, model: str, target: str) -> Lowering:
        """The dumps of a cell as a Lowering, which displays as a pass diff. Raises UsageError when none were kept."""
        cell = self[model, target]
        if not cell.dumps:
            raise UsageError(f"No dumps were kept of {model} to {target}: {cell.message or 'dumps=False'}")
        return Lowering(stored.read(cell.dumps))

    def compare(self, before: Sweep) -> SweepComparison:
        """What changed since another sweep, of another toolchain say."""
        return SweepComparison(before, self)

    def to_html(self, path: str | Path | None = None) -> str:
        """One offline page: the heat map, its filter, and the pass diff of each cell; written to `path` when given.

        Raises UsageError when it cannot be written.
        """
        return display.page([self], f"Sweep: {self.summary}", path)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return display.mimebundle([self])

    def __str__(self) -> str:
        return display.text([self])

    def __repr__(self) -> str:
        counted = ", ".join(f"{count} {status}" for status, count in self.counts.items())
        return f"<Sweep of {len(self.models)} models x {len(self.targets)} targets: {counted}>"


@dataclass(frozen=True)
class SweepComparison:
    """Two sweeps: what works no longer, what works now, what fails elsewhere."""

    view: ClassVar[str] = "sweep comparison"
    """The registered view that shows it."""

    before: Sweep = field(repr=False)
    after: Sweep = field(repr=False)

    def _pairs(self) -> Iterator[tuple[Cell, Cell]]:
        old = {(cell.model, cell.target): cell for cell in self.before.cells}
        for cell in self.after.cells:
            if (cell.model, cell.target) in old:
                yield old[cell.model, cell.target], cell

    @property
    def regressed(self) -> tuple[tuple[Cell, Cell], ...]:
        """Cells that were complete and are no longer: before, after."""
        return tuple((old, new) for old, new in self._pairs() if old.ok and not new.ok)

    @property
    def fixed(self) -> tuple[tuple[Cell, Cell], ...]:
        """Cells that are complete and were not."""
        return tuple((old, new) for old, new in self._pairs() if new.ok and not old.ok)

    @property
    def moved(self) -> tuple[tuple[Cell, Cell], ...]:
        """Cells that fail in another pass, at another op or in another way than before."""
        return tuple(
            (old, new) for old, new in self._pairs()
            if not old.ok and not new.ok and (old.status, old.where) != (new.status, new.where)
        )  # fmt: skip

    @property
    def added(self) -> tuple[Cell, ...]:
        """Cells that the earlier sweep does not have."""
        old = {(cell.model, cell.target) for cell in self.before.cells}
        return tuple(cell for cell in self.after.cells if (cell.model, cell.target) not in old)

    @property
    def removed(self) -> tuple[Cell, ...]:
        """Cells that only the earlier sweep has."""
        return SweepComparison(self.after, self.before).added

    @property
    def versions(self) -> dict[str, tuple[str, str]]:
        """The tools whose versions differ: before and after, `-` for absent."""
        old, new = self.before.toolchain, self.after.toolchain
        names = dict.fromkeys([*old, *new])
        return {name: (old.get(name, "-"), new.get(name, "-")) for name in names if old.get(name) != new.get(name)}

    def __str__(self) -> str:
        return display.text([self])

    def _repr_html_(self) -> str:
        return display.shown([self], None).data

    def __repr__(self) -> str:
        return (
            f"<Comparison of sweeps: {len(self.regressed)} regressed, {len(self.fixed)} fixed, "
            f"{len(self.moved)} fail elsewhere>"
        )


def load(path: str | Path) -> Sweep:
    """The sweep that a Parquet file holds, also one that was stopped in the middle.

    Raises UsageError when there is no such file, ToolError when it cannot be read.
    """
    store = Store(path)
    if not store.cells:
        raise UsageError(f"There is no sweep in {path}")
    order = {name: {value: i for i, value in enumerate(store.about.get(name, []))} for name in ("models", "targets")}
    cells = sorted(
        store.cells.values(),
        key=lambda cell: (order["models"].get(cell.model, len(order["models"])),
                          order["targets"].get(cell.target, len(order["targets"]))),
    )  # fmt: skip
    return Sweep(cells, store.about, store.path)
