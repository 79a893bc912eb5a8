"""An autotuner's configurations side by side, without a GPU: what each is compiled to, as a table."""

from __future__ import annotations

import os
import queue
import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, ClassVar

from irwidget import display
from irwidget.errors import IRWidgetError, UsageError
from irwidget.frontends.triton.compiling import begin, lower_launch
from irwidget.frontends.triton.launch import Launch
from irwidget.toolchain import client, triton_facts
from irwidget.toolchain.run import Options
from irwidget.toolchain.triton_archs import find, occupancy
from irwidget.trace import Trace

_MMA = re.compile(r"^(mma\.sync|wgmma\.mma_async|tcgen05\.mma)|^(v_mfma|v_wmma)|^(HMMA|IMMA|DMMA|HGMMA|UTC\w*MMA)")


class ConfigurationTable(list[dict[str, Any]]):
    """The rows of `Configurations.table`: data, which a notebook displays as a table."""

    view: ClassVar[str] = "configurations"
    """The registered view that shows it."""

    def to_html(self, path: str | Path | None = None) -> str:
        """The table as a page that needs no kernel and no network; written to `path` when given.

        Raises UsageError when it cannot be written.
        """
        return display.page([self], "Configurations", path)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return {"text/plain": display.text([self]), "text/html": display.shown([self], None).data}


class Configurations:
    """The configurations of one call of an autotuner: `low.results["configurations"]`. Compiled when looked at."""

    def __init__(self, launches: Sequence[Launch], arch: str, *, to: str = "") -> None:
        self.launches = tuple(launches)
        self.arch = arch
        self.to = to or ("triton_amdgpu" if find(arch).backend == "hip" else "triton_sass")
        """The IR type that they are lowered to."""
        self._traces: dict[int, Trace | IRWidgetError] = {}

    def compile(self, numbers: Iterable[int] | None = None, *, workers: int | None = None) -> None:
        """Compile those of these numbers, all when None, that are not compiled yet, by several `workers` side by side:
        as many as there are processors, four at most, and three configurations for each (it takes a while to start).
        What fails to compile is raised where it is looked at. Ctrl-C ends it; what was compiled before stays.
        """
        wanted = [n for n in (range(len(self)) if numbers is None else numbers) if n not in self._traces]
        count = workers or min(4, len(os.sched_getaffinity(0)), len(wanted) // 3)
        if count < 2:
            for number in wanted:
                self._made(number)
            return
        free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for side in range(count):
            free.put(side)
        stop = threading.Event()

        def lower(number: int) -> None:
            side = free.get()
            try:
                self._made(number, Options(side=side, stop=stop))
            finally:
                free.put(side)

        with ThreadPoolExecutor(count, "irwidget-configurations") as pool:
            try:
                made: list[Future[None]] = []
                for number in wanted:  # Triton's front end reads settings of the process: one at a time
                    if self._begun(number):
                        made.append(pool.submit(copy_context().run, lower, number))
                for one in made:
                    one.result()
            except BaseException:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
                raise
            finally:
                client.end_sides()

    def __len__(self) -> int:
        return len(self.launches)

    def __getitem__(self, number: int) -> Trace:
        """The lowering of one with all passes, to SASS or AMD's assembly. Raises what its compilation raises."""
        made = self._made(range(len(self))[number])
        if isinstance(made, IRWidgetError):
            raise made
        return made

    def table(self, *, sort: str = "", descending: bool = False) -> ConfigurationTable:
        """A row for each: `number`, `config`, registers a thread, spills and shared memory (bytes), `occupancy` (0 to
        1 by the architecture's limits; on AMD `waves` a SIMD, as LLVM says), loads from global memory by bits,
        `mma` instructions by kind, lines of assembly and of SASS, instructions by name; `error` where it does not
        compile. `sort` names a column; rows that lack it come last.

        Raises UsageError for a column that there is not.
        """
        self.compile()
        rows = ConfigurationTable(self._row(number) for number in range(len(self)))
        if not sort:
            return rows
        known = sorted({name for row in rows for name in row})
        if sort not in known:
            raise UsageError(f"the table has no column {sort!r}; it has {', '.join(known)}")
        have = [row for row in rows if isinstance(row.get(sort), int | float | str)]
        ordered = sorted(have, key=lambda row: row[sort], reverse=descending)
        return ConfigurationTable([*ordered, *(row for row in rows if row not in have)])

    def diverge(self, one: int, other: int) -> tuple[int, int] | None:
        """The first dumps of two configurations that differ in their text, by their numbers; None: none does.

        Their passes are those of the same pipeline; where one has fewer, its last is compared.
        """
        left, right = self[one].dumps, self[other].dumps
        for index, (mine, theirs) in enumerate(zip(left, right, strict=False)):
            if mine.text != theirs.text:
                return index, index
        return None if len(left) == len(right) else (len(left) - 1, len(right) - 1)

    def __repr__(self) -> str:
        return f"<{len(self)} configurations of {self.launches[0].name} for {self.arch}>"

    def _begun(self, number: int) -> bool:
        """Compile one to TTIR; False where that fails, which is kept as what it is."""
        try:
            begin(self.launches[number], self.arch)
        except IRWidgetError as error:
            self._traces[number] = error
        return number not in self._traces

    def _made(self, number: int, run: Options | None = None) -> Trace | IRWidgetError:
        if number not in self._traces:
            try:
                self._traces[number] = lower_launch(self.launches[number], self.to, self.arch, run=run or Options())
            except IRWidgetError as error:
                self._traces[number] = error
        return self._traces[number]

    def _row(self, number: int) -> dict[str, Any]:
        launch, made = self.launches[number], self._made(number)
        row: dict[str, Any] = {"number": number, "config": launch.config, "chosen": launch.chosen}
        if isinstance(made, IRWidgetError):
            return {**row, "error": str(made).partition("\n")[0]}
        if made.failure:
            return {**row, "error": f"{made.failure.pass_name}: {made.failure.message}".partition("\n")[0]}
        return row | numbers(made)


_COLUMNS = ("registers", "spill_stores", "spill_loads", "vector_spills", "scalar_spills", "scratch", "num_warps")


def numbers(trace: Trace) -> dict[str, Any]:
    """What a table says of a kernel that was lowered to SASS or to AMD's assembly."""
    facts: Mapping[str, Any] = trace.facts
    found: dict[str, Any] = {name: facts[name] for name in _COLUMNS if name in facts}
    found["shared_memory"] = facts.get("shared_memory", 0)
    if "occupancy" in facts:
        found["waves"] = facts["occupancy"]
    elif "registers" in facts:
        used = {"registers": facts["registers"], "shared_memory": found["shared_memory"]}
        used["tensor_memory"] = facts.get("tensor_memory", 0)
        found["occupancy"] = occupancy(find(facts["arch"]), num_warps=facts["num_warps"], **used)
    counts: dict[str, int] = {}
    for language in ("ptx", "amdgcn", "sass"):
        dump = next((one for one in reversed(trace.dumps) if one.language == language), None)
        if dump is not None:
            found[f"{language}_lines"] = len(dump.text.splitlines())
            counts = triton_facts.operations(language, dump.text)
            found[f"{language}_instructions"] = sum(counts.values())
            _count(found, language, counts)
    found["instructions"] = counts
    return found


def _count(found: dict[str, Any], language: str, counts: Mapping[str, int]) -> None:
    loads: dict[str, int] = {}
    products: dict[str, int] = {}
    for name, count in counts.items():
        if width := triton_facts.load_width(language, name):
            loads[str(width)] = loads.get(str(width), 0) + count
        if _MMA.match(name):
            products[name] = products.get(name, 0) + count
    if language != "sass":
        found["loads"] = dict(sorted(loads.items(), key=lambda pair: int(pair[0])))
    if products:
        found["mma"] = {**found.get("mma", {}), **products}
