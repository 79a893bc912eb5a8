"""Kernels: OpSpecs with loops, unrolled into SuperDSC files with addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from irwidget.lazy import cached_property
from irwidget.spyre.bundling import KernelBundle
from irwidget.spyre.ir import Graph, blaming
from irwidget.spyre.opspec import LoopSpec, OpSpec, TensorArg, make_opspec
from irwidget.spyre.options import SpyreSwitches
from irwidget.spyre.superdsc import SuperDscPlan, plan, start_address, start_addresses, superdsc


@dataclass(frozen=True)
class Execution:
    """One SuperDSC of a kernel: an OpSpec at one iteration of its loops."""

    number: int
    spec: OpSpec
    iteration: tuple[int, ...]

    @property
    def filename(self) -> str:
        return f"sdsc_{self.number}.json"


@dataclass(frozen=True)
class SpyreKernel:
    """A launched kernel: what upstream calls a list of OpSpecs, formerly a KernelSpec."""

    name: str
    specs: tuple[OpSpec, ...]
    """In program order; ops inside loops carry their loops."""
    arguments: tuple[str, ...]
    bases: Mapping[str, int]
    has_pool: bool
    symbolic: bool
    unroll: bool
    lines: Mapping[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    written: str | None = None
    """bundle.mlir as it was found, of a kernel that was not made here."""

    @property
    def unimplemented(self) -> str:
        """Always empty: what has no OpFunc is a call on the host. For readers that still ask."""
        return ""

    @cached_property
    def tree(self) -> tuple[OpSpec | LoopSpec, ...]:
        """OpSpecs nested into the loops that they share."""
        return _nest(self.specs, 0)

    @cached_property
    def executions(self) -> tuple[Execution, ...]:
        """The SuperDSC files in order: one per OpSpec, and per iteration when loops are unrolled."""
        found = self.unrolled if self.unroll else [(spec, (0,) * len(spec.loops)) for spec in self.specs]
        return tuple(Execution(i, spec, iteration) for i, (spec, iteration) in enumerate(found))

    @cached_property
    def unrolled(self) -> Sequence[tuple[OpSpec, tuple[int, ...]]]:
        """Ops in the order in which they run, with the iteration of their loops."""
        return list(_runs(self.tree, ()))

    @cached_property
    def plans(self) -> Mapping[str, SuperDscPlan]:
        return {spec.source: plan(spec) for spec in self.specs}

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """Addresses of symbolic mode: per tensor, per core, equal ones of an op that move alike once."""
        found: list[Symbol] = []
        for execution in self.executions:
            made = self.plans[execution.spec.source]
            seen: set[tuple[int, tuple[int, ...]]] = set()
            for tensor in made.tensors:
                if tensor.arg.allocation[0] == "lx":
                    continue
                offset = self._base(tensor.arg.name, tensor.arg.allocation)
                for core in range(made.cores):
                    key = start_address(made, tensor, core, execution.iteration), self._steps(tensor.arg)
                    if key not in seen:
                        seen.add(key)
                        number = -1 - len(found)
                        found.append(Symbol(number, execution.number, *key, tensor.arg.name, key[0] - offset))
        return tuple(found)

    def _steps(self, arg: TensorArg) -> tuple[int, ...]:
        """Bytes that an address moves by in an iteration of each loop; none where loops are unrolled."""
        return () if self.unroll else arg.advances

    def _base(self, name: str, allocation: tuple[str, int]) -> int:
        return self.bases[name] if allocation[0] == "hbm" else 0

    def addresses(self, execution: Execution) -> list[dict[int, str]]:
        """Start addresses per tensor and core: decimal strings, or symbol ids in symbolic mode."""
        made = self.plans[execution.spec.source]
        ids = {(s.address, s.steps): s.id for s in self.symbols_of(execution)} if self.symbolic else {}
        found: list[dict[int, str]] = []
        for tensor in made.tensors:
            cores = range(made.cores)
            per_core = dict(zip(cores, start_addresses(made, tensor, cores, execution.iteration), strict=True))
            symbolic = self.symbolic and tensor.arg.allocation[0] != "lx"
            steps = self._steps(tensor.arg)
            found.append({c: str(ids[a, steps] if symbolic else a) for c, a in per_core.items()})
        return found

    def symbols_of(self, execution: Execution) -> Sequence[Symbol]:
        return self._by_execution.get(execution.number, ())

    @cached_property
    def _by_execution(self) -> Mapping[int, Sequence[Symbol]]:
        return {number: list(mine) for number, mine in groupby(self.symbols, key=lambda s: s.execution)}

    def superdsc(self, execution: Execution) -> dict[str, Any]:
        """The JSON of one file."""
        made = self.plans[execution.spec.source]
        return superdsc(made, execution.number, self.addresses(execution), self.symbolic)

    def files(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for execution in self.executions:
            yield execution.filename, self.superdsc(execution)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A symbolic address of a kernel."""

    id: int
    execution: int
    address: int
    steps: tuple[int, ...]
    """Bytes that it moves by in an iteration of each loop around it that is not unrolled."""
    buffer: str
    offset: int
    """From the base of its argument or of the pool."""


def _runs(tree: Sequence[OpSpec | LoopSpec], iteration: tuple[int, ...]) -> Iterator[tuple[OpSpec, tuple[int, ...]]]:
    for node in tree:
        if isinstance(node, LoopSpec):
            for i in range(node.count):
                yield from _runs(node.body, (*iteration, i))
        else:
            yield node, iteration


def _nest(specs: Sequence[OpSpec], depth: int) -> tuple[OpSpec | LoopSpec, ...]:
    made: list[OpSpec | LoopSpec] = []
    run: list[OpSpec] = []

    def close() -> None:
        if run:
            symbols = tuple(dict.fromkeys(s for spec in run if (s := spec.loop_symbols[depth]) is not None))
            made.append(LoopSpec(run[0].loops[depth], _nest(run, depth + 1), symbols))
            run.clear()

    for spec in specs:
        if len(spec.loops) <= depth:
            close()
            made.append(spec)
        else:
            if run and run[0].loop_scopes[: depth + 1] != spec.loop_scopes[: depth + 1]:
                close()
            run.append(spec)
    close()
    return tuple(made)


def make_kernel(
    graph: Graph,
    made: KernelBundle,
    options: SpyreSwitches,
    places: Mapping[str, tuple[str, int]],
    has_pool: bool,
) -> SpyreKernel:
    """A kernel from a bundle of ops; `places` hold what lies in the pool and the scratchpad."""
    local = {**places, **{name: ("hbm", base) for name, base in made.bases.items()}}
    specs: list[OpSpec] = []
    for op in made.ops:
        with blaming(op.node):
            specs.append(make_opspec(graph, op, options, local, made.arguments))
    return SpyreKernel(
        made.name,
        tuple(specs),
        made.arguments,
        made.bases,
        has_pool,
        options.bundle_symbolic_args,
        options.unroll_loops,
        {op.name: op.line for op in made.ops},
    )
