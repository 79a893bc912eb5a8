"""What a cell did to tensors that have no values, in order, so that it can be done when host code reads one.

Operations are noted as PyTorch dispatches them, below autograd; launches with their arguments. Views need no note:
a tensor is a place in memory. Nothing is computed here (see `replay`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton.ledger import EMPTY, OVERWRITING
from irwidget.frontends.triton.memory import MEASURED, Memories, Memory, NoValue, Ref, unwritable
from irwidget.frontends.triton.programs import Program
from irwidget.frontends.triton.rebuilding import mapped
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.private_torch import FakeTensor, FakeTensorMode, OpOverload, pytree
from irwidget.trace import Location

ENTRIES = 20_000
"""How many operations may wait for somebody to read what they compute."""
_PLAIN = (type(None), bool, int, float, complex, str, torch.dtype, torch.layout, torch.memory_format, torch.device)
"""What arguments of operators may be, besides tensors."""


@dataclass(frozen=True, eq=False)
class Operation:
    """An operator that was dispatched."""

    func: Any
    args: Any
    kwargs: Any
    """Arguments, with places for tensors."""
    read: tuple[Ref, ...]
    overwritten: tuple[Ref, ...]
    """What it writes all of."""
    made: tuple[Ref | None, ...]
    """The leaves of its result; None for what is no tensor, or is one that was there before."""
    reads: tuple[Memory, ...]
    writes: tuple[Memory, ...]
    random: bool = False

    @property
    def name(self) -> str:
        return str(self.func.__name__).partition(".")[0]


@dataclass(frozen=True, eq=False)
class Launched:
    """A launch of a kernel."""

    program: Program
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    """With places for tensors."""
    grid: tuple[int, ...]
    place: Location | None
    reads: tuple[Memory, ...]
    writes: tuple[Memory, ...]
    measured: tuple[Memory, ...] = ()
    """What an autotuner's measuring has left, which nothing may read that the launch writes."""

    @property
    def name(self) -> str:
        return str(self.program.kernel.__name__)


Entry = Operation | Launched


@dataclass
class Step:
    """An operation while it is dispatched."""

    func: Any
    args: Any = None
    kwargs: Any = None
    leaves: tuple[Any, ...] = ()
    """Of its arguments."""
    refs: tuple[Ref, ...] = ()
    written: tuple[Ref, ...] = ()
    problem: str = ""
    """Why what it computes is not known."""
    name: str = ""


class Tape:
    """The operations and launches of a fake mode that nobody has asked for yet."""

    def __init__(self, mode: FakeTensorMode) -> None:
        self.mode = mode
        self.memories = Memories()
        self.entries: list[Entry] = []
        self.watching: list[set[Memory]] = []
        """Sets into which goes what is written: of CUDA graphs that are captured."""
        self.seeded(None)

    # --- operations

    def before(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Step:
        """What an operator is given; to be asked before it runs, for it may change its arguments."""
        step = Step(func, leaves=tuple(pytree.tree_leaves((args, kwargs))))
        if not isinstance(func, OpOverload):
            step.problem = f"{func} is not computed"
        step.name = str(getattr(func, "__name__", func)).partition(".")[0]
        found: dict[int, Ref] = {}

        def place(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor):
                try:
                    found[id(leaf)] = ref = self.memories.ref(leaf, self.mode)
                    return ref
                except NoValue as reason:
                    step.problem = step.problem or str(reason)
            elif not isinstance(leaf, _PLAIN):
                step.problem = step.problem or f"{step.name} takes a {type(leaf).__name__}"
            return leaf

        step.args, step.kwargs = pytree.tree_map(place, (tuple(args), dict(kwargs)))
        step.refs = tuple(found.values())
        mutable = private_torch.written_arguments(func, args, kwargs)
        step.written = tuple(found[id(leaf)] for leaf in pytree.tree_leaves(mutable) if id(leaf) in found)
        return step

    def after(self, step: Step, made: Any) -> None:
        """Note an operator, which gave tensors without values."""
        leaves = pytree.tree_leaves(made)
        results = [one for one in leaves if isinstance(one, torch.Tensor)]
        new = {id(one): self.memories.new(one) for one in _with_new_memory(results, self.memories)}
        fresh = tuple(new.values())
        if private_torch.is_inplace_view(step.func):
            if step.name == "resize_":
                self.unknown((one.memory for one in step.written), "resize_ is not followed")
            return
        if step.name in EMPTY and not step.problem:
            for memory in fresh:
                memory.uninitialized()
            return
        writes = (*fresh, *(one.memory for one in step.written))
        if not writes:
            return
        over = step.written if step.name in OVERWRITING or str(step.func).endswith("out") else ()
        read = tuple(one for one in step.refs if one not in over)
        if random := private_torch.is_random(step.func):
            self._look_at_the_seed()
        problem = step.problem or (self.generator.unknown if random else "")
        problem = problem or self._problem(read, over, writes)
        if problem or len(results) + leaves.count(None) != len(leaves):
            self.unknown(writes, problem or f"{step.name} gives more than tensors")
            return
        whole = {id(one.memory) for one in over if one.is_whole()}
        for memory in writes:
            memory.unknown = "" if id(memory) in whole else memory.unknown
            memory.measured &= id(memory) not in whole
            memory.drawn |= random or any(one.memory.drawn for one in read)
        refs = [one if one is None else self._ref(one) for one in leaves]
        places = tuple(ref if ref and ref.memory in fresh else None for ref in refs)
        chain = (self.generator,) if random else ()
        reads = (*(one.memory for one in read), *chain)
        self.add(Operation(step.func, step.args, step.kwargs, read, over, places, reads, (*writes, *chain), random))

    def _problem(self, read: Iterable[Ref], over: Iterable[Ref], writes: Iterable[Memory]) -> str:
        """Why the values that an operation writes are not known; empty where they are."""
        for ref in (*read, *(one for one in over if not one.is_whole())):
            if ref.memory.unknown:
                return ref.memory.unknown
            if ref.memory.measured:
                return f"a hook {MEASURED}"
        return next(filter(None, map(unwritable, writes)), "")

    # --- launches

    def launch(
        self,
        program: Program,
        arguments: tuple[Any, ...],
        keywords: Mapping[str, Any],
        grid: tuple[int, ...] | None,
        place: Location | None,
        written: frozenset[str] | None,
        problem: str = "",
        *,
        by_address: bool = False,
    ) -> None:
        """Note a launch that writes through the parameters `written`; through any where that is None.

        With `by_address` it may read and write all memory whose address host code was told, too. `problem` says why
        it cannot be executed.
        """
        kernel, refs = program.kernel, dict[str, list[Ref]]()
        names = [*kernel.arg_names, *(f"#{number}" for number in range(len(arguments)))]
        problem = problem or ("" if grid else f"{kernel.__name__} is launched without a grid")

        def placed(name: str, value: Any) -> Any:
            return mapped(value, lambda tensor: refs.setdefault(name, []).append(self._ref(tensor)) or refs[name][-1])

        try:
            args = tuple(placed(name, one) for name, one in zip(names, arguments, strict=False))
            kwargs = {name: placed(name, one) for name, one in keywords.items()}
        except NoValue as reason:
            self.forget(str(reason))
            return
        told = self.memories.with_address() if by_address else []
        every = [one.memory for found in refs.values() for one in found] + told
        measured = tuple(one for one in every if one.measured)
        for one in measured:
            one.measured = False
        writes = [one.memory for name, found in refs.items() for one in found if written is None or name in written]
        writes += told
        problem = problem or next((one.unknown for one in every if one.unknown), "")
        problem = problem or next(filter(None, map(unwritable, writes)), "")
        if problem:
            self.unknown(writes, problem)
            return
        for memory in writes:
            memory.drawn |= any(one.drawn for one in every)
        self.add(Launched(program, args, kwargs, grid or (), place, tuple(every), tuple(writes), measured))

    def _ref(self, tensor: torch.Tensor) -> Ref:
        return self.memories.ref(tensor, self.mode)

    # --- random numbers

    def seeded(self, seed: int | None, unknown: str = "") -> None:
        """Draw from now on as a seed has it (None: as torch's generator is); `unknown` says why that is not known."""
        with as_it_is():
            state = torch.get_rng_state() if seed is None else torch.Generator().manual_seed(seed).get_state()
        self._seed = torch.initial_seed()
        self.generator = Memory(None, state.numel(), unknown=unknown)  # another one: what was drawn before stays
        self.generator.take(state.untyped_storage())

    def _look_at_the_seed(self) -> None:
        """Take notice of a seed that was given to torch's generator itself."""
        if torch.initial_seed() != self._seed:
            self.seeded(None)

    # --- what is left

    def add(self, entry: Entry) -> None:
        self._note_writes(entry.writes)
        for memory in entry.writes:
            memory.pending += 1
        self.entries.append(entry)
        if len(self.entries) > ENTRIES:
            self.prune()
            if len(self.entries) > ENTRIES // 2:
                self.forget(f"more than {ENTRIES} operations wait to be computed")

    def _note_writes(self, memories: Iterable[Memory]) -> None:
        for one in self.watching:
            one.update(memories)

    def unknown(self, memories: Iterable[Memory], reason: str) -> None:
        """Have nothing known of memory any more."""
        memories = list(memories)
        self._note_writes(memories)
        for memory in memories:
            memory.unknown = reason

    def forget(self, reason: str) -> None:
        """Have nothing known of any tensor that there is."""
        self.unknown(self.memories, reason)
        self._remove(list(self.entries))
        self.seeded(None)

    def prune(self) -> None:
        """Drop what nobody can read any more."""
        kept = set(map(id, self.needed([one for one in self.memories if one.alive()] + [self.generator])))
        self._remove([one for one in self.entries if id(one) not in kept])

    def end(self) -> None:
        """The cell has ended; what later cells may read is kept."""
        self.memories.let_go()
        self.prune()

    def needed(self, memories: Iterable[Memory]) -> list[Entry]:
        """The operations that memory's values come from, and those that read what these overwrite, in order."""
        wanted, changed = set(memories), set[Memory]()
        chosen: list[Entry] = []
        for entry in reversed(self.entries):
            if wanted.isdisjoint(entry.writes) and changed.isdisjoint(entry.reads):
                continue
            chosen.append(entry)
            wanted.update(entry.reads, entry.writes)
            changed.update(entry.writes)
        return chosen[::-1]

    def taken(self, memories: Iterable[Memory]) -> list[Entry]:
        """The same, which the tape then has no more: to be executed."""
        chosen = self.needed(memories) if any(one.pending for one in memories) else []
        self._remove(chosen)
        return chosen

    def _remove(self, entries: list[Entry]) -> None:
        gone = set(map(id, entries))
        self.entries = [one for one in self.entries if id(one) not in gone]
        for entry in entries:
            for memory in entry.writes:
                memory.pending -= 1


def _with_new_memory(results: list[torch.Tensor], memories: Memories) -> list[torch.Tensor]:
    """One tensor for each memory that was not there before."""
    found: dict[int, torch.Tensor] = {}
    for one in results:
        if isinstance(one, FakeTensor) and one.layout is torch.strided and memories.find(one) is None:
            found.setdefault(private_torch.storage_id(one), one)
    return list(found.values())
