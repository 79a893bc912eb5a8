"""Execute a launch on the CPU, from its TTIR, in a copy of this process: its tensors then have values.

Programs run one after the other; they follow raw pointers, so the copy may crash where a kernel reads outside of
its tensors. What comes back is the bytes of the tensors that it wrote.
"""

from __future__ import annotations

import contextlib
import gc
import io
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from irwidget.frontends.triton.failures import NotExecuted, reason
from irwidget.frontends.triton.memory import GLUON, Memories, Memory
from irwidget.frontends.triton.programs import Program
from irwidget.frontends.triton.reached import Reached
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.frontends.triton.stand_ins import is_address, tensors
from irwidget.frontends.triton.writes import reaches_anything
from irwidget.toolchain import forked, processes
from irwidget.trace import Location

SECONDS = 60.0
"""What a launch may take where no time limit is given."""


@dataclass(frozen=True)
class CopysRun:
    """What the copy sends back."""

    written: Mapping[int, bytes]
    """The storages that it has written into, by address."""
    masks: Mapping[int, bytes]
    """Which bytes of storages are written now, by address, where not all were."""
    printed: str
    doubts: tuple[str, ...]
    """What leaves its results to chance."""
    outside: tuple[str, ...] = ()
    """What it reads and writes outside of its tensors, what it writes first."""


def execute(
    program: Program,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    grid: Sequence[int],
    place: Location | None,
    *,
    seconds: float | None = None,
    memory: int | None = None,
    memories: Memories | None = None,
    measured: Sequence[Memory] = (),
    doubt: Callable[[str], None] = lambda _: None,
    outside: Callable[[str], None] = lambda _: None,
) -> list[torch.UntypedStorage]:
    """Run a launch on the values of its tensors and write what it writes into them. Returns the written storages.

    `memories` knows which of their bytes are written; `doubt` is told what leaves results to chance: that it reads
    the others, outside of its tensors, or of what it writes itself where an autotuner's measuring has left it;
    `outside` what it reads and writes outside of its tensors, unless it is given addresses, which may lead elsewhere.
    `seconds` (60 when None) and `memory` (bytes) limit it. Raises NotExecuted where the kernel does what is not
    executed, the copy crashes, or a limit is met; the tensors are then as they were.
    """
    kernel = program.kernel
    name, where = kernel.__name__, f" (launched at {place})" if place else ""
    if kernel.is_gluon():
        raise NotExecuted(f"{name} is {GLUON}, which is not executed{where}")
    if len(grid) == 0:
        raise NotExecuted(f"{name} is launched without a grid{where}")
    limit = seconds or SECONDS
    with as_it_is():
        values = (*arguments, *keywords.values())
        by_address = reaches_anything(program.ttir) or any(map(is_address, values))
        storages = _storages(values, memories or Memories(), by_address)
        try:
            ran = forked.call(
                lambda: _run(program, arguments, keywords, tuple(grid), storages, measured),
                seconds=limit,
                memory=memory or processes.memory_limit(),
                cuda=False,
            )
        except forked.Died as death:
            raise NotExecuted(f"executing {name} on the CPU crashed: the process {death}{where}") from None
        except forked.TimedOut:
            programs = "1 program" if math.prod(grid) == 1 else "x".join(map(str, grid)) + " programs"
            said = f"{name} was not executed: {programs} took the CPU more than {limit:.3g} s{where}"
            raise NotExecuted(f"{said}. Give the cell smaller tensors, or more time: --timeout") from None
        except MemoryError:
            raise NotExecuted(f"{name} was not executed: the CPU ran out of memory{where}") from None
        except Exception as error:
            raise NotExecuted(f"{name} is not executed: {reason(error)}{where}") from error
        for address, data in ran.written.items():
            _flat(storages[address].storage).copy_(_from_bytes(data))
        for address, data in ran.masks.items():
            storages[address].memory.mark_as_written(_from_bytes(data))
    sys.stdout.write(ran.printed)
    for one in ran.doubts:
        doubt(f"{one}{where}: its results there are left to chance")
    for one in () if by_address else ran.outside:
        outside(f"{one}{where}")
    return [storages[address].storage for address in ran.written]


@dataclass(frozen=True)
class _Reachable:
    """Memory that a kernel may reach."""

    storage: torch.UntypedStorage
    memory: Memory


def _from_bytes(data: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)


def _flat(storage: torch.UntypedStorage) -> torch.Tensor:
    """A storage as a tensor of bytes."""
    return torch.empty(0, dtype=torch.uint8).set_(storage)  # pyright: ignore[reportArgumentType, reportCallIssue]


def _bytes(storage: torch.UntypedStorage) -> bytes:
    return _flat(storage).numpy().tobytes()


def _storages(values: Sequence[Any], memories: Memories, by_address: bool) -> dict[int, _Reachable]:
    """The memory that a kernel may reach through its arguments, by address; of one that has addresses any tensor's."""
    found: dict[int, _Reachable] = {}
    given = [tensor for value in values for tensor in tensors(value)]
    if by_address:
        kinds = torch.Tensor, torch.nn.Parameter
        given += [one for one in gc.get_referrers(*kinds) if type(one) in kinds]  # objects refer to their classes
    for tensor in given:
        storage = _storage(tensor)
        if storage is not None and storage.nbytes():
            memory = memories.find(tensor) or Memory(None, storage.nbytes())
            found[storage.data_ptr()] = _Reachable(storage, memory)
    return found


def _storage(tensor: torch.Tensor) -> torch.UntypedStorage | None:
    """The memory of a tensor of the CPU; None where it has none of its own, as what torch.func maps over."""
    if tensor.layout is not torch.strided or tensor.device.type != "cpu":
        return None
    try:
        return tensor.untyped_storage()
    except NotImplementedError:
        return None


def _run(
    program: Program,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    grid: tuple[int, ...],
    storages: Mapping[int, _Reachable],
    measured: Sequence[Memory],
) -> CopysRun:
    """What the copy does."""
    before = {address: _bytes(one.storage) for address, one in storages.items()}
    doubts: dict[str, None] = {}
    for one in storages.values():
        one.memory.real = one.storage
    memories = [one.memory for one in storages.values()]
    incomplete = {address: mask for address, one in storages.items() if (mask := one.memory.written) is not None}
    printed = io.StringIO()
    reached = Reached(program.kernel.__name__, memories, memories, doubts.setdefault, measured)
    with contextlib.redirect_stdout(printed):
        program.run(arguments, keywords, grid, reached)
    reached.again()
    after = {address: _bytes(one.storage) for address, one in storages.items()}
    stored = {address for address, one in storages.items() if one.memory in reached.stored}
    written = {at: data for at, data in after.items() if at in stored or data != before[at]}
    masks = {address: mask.numpy().tobytes() for address, mask in incomplete.items()}
    outside = tuple(sorted(reached.outside.values(), reverse=True))
    return CopysRun(written, masks, printed.getvalue(), tuple(doubts), outside)
