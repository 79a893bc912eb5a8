"""A program that was not compiled here: the same data for the same view, with what was written as it was written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from irwidget.errors import UsageError
from irwidget.lazy import cached_property
from irwidget.spyre.kernel import Execution, SpyreKernel
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.recorded.boxes import tiles
from irwidget.spyre.recorded.plans import ReadFile, plan_of
from irwidget.spyre.superdsc import SuperDscPlan
from irwidget.spyre.tiles import TiledOp, TiledTensor


@dataclass(frozen=True)
class RecordedKernel(SpyreKernel):
    """A kernel with the files that were found of it."""

    found: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """SuperDSC files by name, in order; empty where only the OpSpecs are known."""
    reads: Mapping[str, ReadFile] = field(default_factory=dict[str, ReadFile])
    """What the files say, by name."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """File -> the op that it is of; the first of an op is that of the first iteration of its loops."""

    @cached_property
    def plans(self) -> Mapping[str, SuperDscPlan]:
        return {spec.source: plan_of(spec, self.read_of(spec.source)) for spec in self.specs}

    def read_of(self, source: str) -> ReadFile | None:
        """The first file of an op."""
        return next((self.reads[name] for name, of in self.sources.items() if of == source), None)

    @cached_property
    def executions(self) -> tuple[Execution, ...]:
        if not self.found:
            return super().executions
        by_source = {spec.source: spec for spec in self.specs}
        seen: dict[str, int] = {}
        made: list[Execution] = []
        for number, source in enumerate(self.sources.values()):
            spec, run = by_source[source], seen.get(source, 0)
            seen[source] = run + 1
            made.append(Execution(number, spec, _iteration(run, spec.loops)))
        return tuple(made)

    def superdsc(self, execution: Execution) -> dict[str, Any]:
        if not self.found:
            return super().superdsc(execution)
        return dict(self.found[list(self.sources)[execution.number]])


def _iteration(number: int, counts: Sequence[int]) -> tuple[int, ...]:
    digits: list[int] = []
    for count in reversed(counts):
        digits.append(number % count)
        number //= count
    return tuple(reversed(digits))


@dataclass(frozen=True, repr=False)
class RecordedProgram(SpyreProgram):
    """What a run of torch-spyre left, or its front end has just written, as a program to look at.

    It is looked at, compared, estimated and written; it is not executed and not compiled again, as its function is
    not known. Why it is what it is was not written down, so that nothing is said of it.
    """

    text: str = ""
    """The host module, as it was found."""

    @cached_property
    def tiled(self) -> Sequence[tuple[SpyreKernel, TiledOp]]:
        by_name = {op.name: op for op in self.graph.ops}
        made: list[tuple[SpyreKernel, TiledOp]] = []
        for kernel in self.kernels:
            for spec in kernel.specs:
                plan = kernel.plans[spec.source]
                read = kernel.read_of(spec.source) if isinstance(kernel, RecordedKernel) else None
                tensors = tuple(
                    TiledTensor(
                        arg,
                        tiles(self.graph.buffers[arg.name], plan, i, _addresses(read, i)),
                        arg.advances or (0,) * len(spec.loops),
                        ((0,) * len(self.graph.buffers[arg.name].size),) * len(spec.loops),
                    )
                    for i, arg in enumerate(spec.args)
                )
                made.append((kernel, TiledOp(by_name[spec.source], spec, plan, tensors)))
        return made

    @cached_property
    def host(self) -> str:
        return self.text

    def run(self, *tensors: Any, rounding: bool = False) -> Any:
        """Raises UsageError: what the function computes is not in what was found."""
        raise UsageError(
            f"{self.name} was read from {self.recorded}, and is not executed: compile its function with"
            " irwidget.spyre.compile and run that program"
        )

    def explain(self) -> str:
        """What is known of why: where it was read from."""
        return f"read from {self.recorded}: why it is divided and placed so was not written down"


def _addresses(read: ReadFile | None, number: int) -> Mapping[int, int] | None:
    """The start of each core; None where there is no file, or symbols stand in it."""
    if read is None:
        return None
    found: Mapping[int, int] = read.tensors[number]["addresses"]
    return found if all(address >= 0 for address in found.values()) else None
