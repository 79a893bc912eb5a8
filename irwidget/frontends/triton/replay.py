"""Do what a tape has noted on tensors with values: operators by the CPU, launches from their TTIR.

Whatever is in doubt has no values: memory that nothing has written and somebody reads, kernels that reach outside of
their tensors, operators that the CPU does not have.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from irwidget.devices import CPU
from irwidget.frontends.triton.failures import reason
from irwidget.frontends.triton.memory import Memory, NoValue, Ref
from irwidget.frontends.triton.narrow import rounded_once
from irwidget.frontends.triton.reached import Reached
from irwidget.frontends.triton.rebuilding import mapped
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.frontends.triton.tape import Entry, Launched, Operation
from irwidget.private_torch import pytree
from irwidget.toolchain import forked, processes

SMALL = 1 << 20
"""Bytes that operations may touch which this process does itself."""
TOTAL = 1 << 29
"""Bytes that may be touched at once."""


@dataclass(frozen=True)
class _State:
    """The values of memory, to be sent."""

    real: bytes | None
    written: bytes | None
    failed: str


@dataclass(frozen=True)
class Done:
    """What came of it."""

    launches: int = 0
    """That were executed to their end."""
    printed: str = ""


@dataclass(frozen=True)
class _Answer:
    """What a copy of this process sends back."""

    states: Sequence[_State]
    did: Done


def replay(entries: Sequence[Entry], seconds: float, memory: int | None) -> Done:
    """Do what entries of a tape say; their memories have the values then, or the reason why not.

    What is more than a little, and all launches, is done in a copy of this process, within `seconds` and `memory`
    (bytes). Raises NoValue where the copy does not come to its end.
    """
    touched = list(dict.fromkeys(one for entry in entries for one in (*entry.reads, *entry.writes)))
    total = sum(one.nbytes for one in touched)
    if total > TOTAL:
        raise _spoilt(entries, f"its computation takes {total >> 20} MiB, and may take {TOTAL >> 20}")
    if total <= SMALL and not any(isinstance(one, Launched) for one in entries):
        with _plain():
            _do(entries)
        return Done()
    if seconds <= 0:
        raise _spoilt(entries, "the time for computing what the cell reads is spent")
    try:
        with as_it_is():
            memory = memory or processes.memory_limit()
            answer = forked.call(lambda: _in_a_copy(entries, touched), seconds=seconds, memory=memory, cuda=False)
    except forked.Died as death:
        raise _spoilt(entries, f"the process that computed it {death}") from None
    except forked.TimedOut:
        raise _spoilt(entries, f"its computation takes more than {seconds:.3g} s") from None
    except MemoryError:
        raise _spoilt(entries, "its computation takes more memory than there is") from None
    for one, state in zip(touched, answer.states, strict=True):
        _restore(one, state)
    return answer.did


def _spoilt(entries: Iterable[Entry], reason: str) -> NoValue:
    """The error, after noting it of all memory that has not the values that it should have."""
    for one in entries:
        for memory in one.writes:
            memory.failed = reason
    return NoValue(reason)


@contextlib.contextmanager
def _plain() -> Any:
    """Tensors as they are, without autograd and autocast."""
    with as_it_is(), torch.inference_mode(False), torch.no_grad(), torch.autocast("cpu", enabled=False):
        yield


def _in_a_copy(entries: Sequence[Entry], touched: Sequence[Memory]) -> _Answer:
    printed = io.StringIO()
    with _plain(), contextlib.redirect_stdout(printed):
        launches = _do(entries)
    changed = {id(one) for entry in entries for one in entry.writes}
    return _Answer([_state(one, id(one) in changed) for one in touched], Done(launches, printed.getvalue()))


def _state(memory: Memory, changed: bool) -> _State:
    real = _bytes(memory.real) if changed and memory.real is not None else None
    written = None if memory.written is None else memory.written.numpy().tobytes()
    return _State(real, written, memory.failed)


def _restore(memory: Memory, state: _State) -> None:
    if state.real is not None:
        memory.real = _from_bytes(state.real).untyped_storage()
    memory.written = None if state.written is None else _from_bytes(state.written)
    memory.failed = state.failed


def _bytes(storage: torch.UntypedStorage) -> bytes:
    flat: Any = torch.empty(0, dtype=torch.uint8)
    return flat.set_(storage).numpy().tobytes()


def _from_bytes(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8) if data else torch.empty(0, dtype=torch.uint8)


def _do(entries: Sequence[Entry]) -> int:
    """Do what entries say. Returns how many launches came to their end."""
    launches = 0
    for entry in entries:
        try:
            if isinstance(entry, Operation):
                _operate(entry)
            else:
                _execute(entry)
                launches += 1
        except Exception as error:
            said = str(error) if isinstance(error, NoValue) else f"{entry.name} has no values: {reason(error)}"
            for memory in entry.writes:
                memory.failed = said
    return launches


# --- operators


def _operate(entry: Operation) -> None:
    """Raises what the operator raises, NoValue where it reads what is not known."""
    for ref in entry.read:
        if reason := ref.readable():
            raise NoValue(f"{entry.name}: {reason}" if ref.memory.failed == "" else reason)
    values = {id(ref): ref.tensor() for ref in pytree.tree_leaves((entry.args, entry.kwargs)) if isinstance(ref, Ref)}

    def real(leaf: Any) -> Any:
        return CPU if isinstance(leaf, torch.device) else values.get(id(leaf), leaf)

    args, kwargs = pytree.tree_map(real, (entry.args, entry.kwargs))
    sizes = {one: one.allocated().nbytes() for one in entry.writes}
    with _generator(entry):
        made = rounded_once(entry.func, args, kwargs, [one and one.dtype for one in entry.made])
    if any(one.allocated().nbytes() != size for one, size in sizes.items()):
        raise NoValue(f"{entry.name} changed the size of memory")
    for place, one in zip(entry.made, pytree.tree_leaves(made), strict=True):
        if place is not None:
            _keep(place, one)
    for ref in entry.overwritten:
        if ref.is_whole():
            ref.memory.take(ref.memory.allocated())
        elif (mask := ref.mask()) is not None:
            ref.memory.mark(mask)


@contextlib.contextmanager
def _generator(entry: Operation) -> Any:
    """The numbers that an operator draws follow on those that were drawn before."""
    if not entry.random:
        yield
        return
    chain, generator = entry.reads[-1], torch.default_generator
    state: Any = torch.empty(0, dtype=torch.uint8)
    before = generator.get_state()
    generator.set_state(state.set_(chain.allocated()))
    try:
        yield
        chain.take(generator.get_state().untyped_storage())
    finally:
        generator.set_state(before)


def _keep(place: Ref, made: torch.Tensor) -> None:
    """Have a result where the tensor without values has its place. Raises NoValue where it is not alike."""
    if made.dtype != place.dtype or tuple(made.shape) != place.size or made.layout is not torch.strided:
        raise NoValue(f"the CPU gives a tensor of {tuple(made.shape)} {made.dtype}, not {place.size} {place.dtype}")
    storage = made.untyped_storage()
    alike = made.stride() == place.stride and made.storage_offset() == place.offset
    if alike and storage.nbytes() == place.memory.nbytes and not (made.is_conj() or made.is_neg()):
        place.memory.take(storage)
        return
    place.memory.take(torch.zeros(place.memory.nbytes, dtype=torch.uint8).untyped_storage())
    place.tensor().copy_(made)


# --- launches


def _execute(entry: Launched) -> None:
    """Raises what a kernel raises that is executed, NoValue where the kernel reads what is not known."""
    for memory in entry.reads:
        if memory.failed:
            raise NoValue(memory.failed)
    args = tuple(mapped(one, Ref.tensor) for one in entry.arguments)
    kwargs: Mapping[str, Any] = {name: mapped(one, Ref.tensor) for name, one in entry.keywords.items()}
    reached = Reached(entry.name, entry.reads, entry.writes, _refuse, entry.measured)
    entry.program.run(args, kwargs, entry.grid, reached)
    reached.settle()


def _refuse(reason: str) -> None:
    """Raises NoValue: what a kernel does in doubt has no values."""
    raise NoValue(reason)
