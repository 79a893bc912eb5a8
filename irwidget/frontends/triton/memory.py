"""The memory of tensors without values: what is known of it, and tensors as places in it."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Any

import torch

from irwidget import private_torch
from irwidget.errors import UnsupportedError
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.private_torch import FakeTensor, FakeTensorMode, StorageWeakRef

LIMIT = 1 << 26
"""Bytes that memory may have whose values are followed: 16 Mi numbers of 32 bits."""
GIVEN_LIMIT = 1 << 24
"""The same, of tensors that have values themselves: they are looked at each time that they are used."""
FROM_ELSEWHERE = "the tensor comes from where values are not followed"
_FIRST_ADDRESS = 1 << 44
"""From here on lie tensors without values, for host code that asks: far from all that a process has."""
_ALIGNED = 512
"""Bytes that CUDA's allocator of torch aligns to."""

GLUON = "a Gluon kernel"
"""What a reason says of a kernel that no option has executed."""
MEASURED = (
    "reads what an autotuner's measuring, many launches on the same tensors, has left there "
    "(restore_value and reset_to_zero prevent it)"
)


class NoValue(UnsupportedError):
    """A value that is not known; says why."""


class Memory:
    """What fake tensors share which share memory: its values as far as operations and launches were executed."""

    def __init__(self, storage: torch.UntypedStorage | None, nbytes: int, *, unknown: str = "") -> None:
        self.weak = None if storage is None else StorageWeakRef(storage)
        self.nbytes = nbytes
        self.real: torch.UntypedStorage | None = None
        """The values; none where nothing was executed yet that writes it."""
        self._written: torch.Tensor | None = None
        self._untouched = False
        """Whether nothing has written any of it."""
        self.failed = ""
        """Why `real` does not have the values that executed operations gave."""
        self.unknown = unknown
        """Why the values at the end of the tape cannot be computed."""
        self.drawn = False
        """Whether random numbers went into it."""
        self.pending = 0
        """How many operations of the tape, not executed yet, write into it."""
        self.home = ""
        """Where a machine with a GPU would have it: `cuda`, `cpu`; empty where that is not known."""
        self.says_cpu = False
        """Whether the cell says that the CPU has it, and did not just name no device."""
        self.moved = False
        """Whether it stands for memory of the GPU and of the CPU at once, so that nothing may write it."""
        self.measured = False
        """Whether an autotuner has launched what writes it over and over, and nothing has overwritten it since."""
        self.address = 0
        """Where it begins by what host code was told (`data_ptr`); 0 where nobody asked."""
        self.kept: Any = None
        """What has to live as long as the recording."""
        self.checksum = 0
        """Of a real tensor's bytes when it was first seen."""

    def alive(self) -> bool:
        """Whether a tensor is left that could be read."""
        return self.weak is None or self.kept is not None or not self.weak.expired()

    def uninitialized(self) -> None:
        """No byte of it is written; of memory that is too large this is not followed."""
        self._untouched = self.nbytes <= LIMIT
        if not self._untouched:
            self.unknown = too_large(self.nbytes)

    @property
    def written(self) -> torch.Tensor | None:
        """Which of the bytes of `real` anything has written, one number a byte; None where all are."""
        if self._untouched:  # made when somebody looks: of most memory that nothing has written, nobody does
            self._written, self._untouched = torch.zeros(self.nbytes, dtype=torch.uint8), False
        return self._written

    @written.setter
    def written(self, mask: torch.Tensor | None) -> None:
        self._written, self._untouched = mask, False

    def allocated(self) -> torch.UntypedStorage:
        """Where its values are; bytes that nothing has written are zero."""
        if self.real is None:
            self.real = torch.zeros(self.nbytes, dtype=torch.uint8).untyped_storage()
        return self.real

    def bytes(self) -> Any:
        """Its values as an array of NumPy's that shares them."""
        flat: Any = torch.empty(0, dtype=torch.uint8)
        return flat.set_(self.allocated()).numpy()

    def mark(self, written: torch.Tensor) -> None:
        """Note that bytes were written, of which `written`, one of bytes, is a view of the mask."""
        written.fill_(1)
        self.mark_as_written(self.written)

    def mark_as_written(self, mask: torch.Tensor | None) -> None:
        """Note which bytes are written, one number a byte; None: all."""
        self.written = None if mask is None or bool(mask.all()) else mask

    def take(self, real: torch.UntypedStorage) -> None:
        """Have these values, all of them."""
        self.real, self.written, self.failed = real, None, ""


@dataclass(frozen=True)
class Ref:
    """A tensor as a place in memory, when an operation used it."""

    memory: Memory
    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...]
    offset: int

    def tensor(self) -> torch.Tensor:
        """With the values that its memory has now."""
        real: Any = self.memory.allocated()
        return torch.empty(0, dtype=self.dtype).set_(real, self.offset, self.size, self.stride)

    def mask(self) -> torch.Tensor | None:
        """Which of its bytes are written, one number a byte; None where all are."""
        whole, width = self.memory.written, self.dtype.itemsize
        if whole is None:
            return None
        strides = (*(one * width for one in self.stride), 1)
        return whole.as_strided((*self.size, width), strides, self.offset * width)

    def is_whole(self) -> bool:
        """Whether it covers its memory, where no two of its elements lie at one place."""
        count = 1
        for one in self.size:
            count *= one
        return count * self.dtype.itemsize == self.memory.nbytes

    def readable(self) -> str:
        """Why its values cannot be read as they are; empty where they can."""
        if self.memory.failed:
            return self.memory.failed
        mask = self.mask()
        return "" if mask is None or bool(mask.all()) else "nothing has written all of the tensor that is read"


class Memories:
    """The memory of all tensors of a fake mode, by what torch knows it by."""

    def __init__(self) -> None:
        self._known: dict[int, Memory] = {}
        self._limit = 256
        self._next_address = _FIRST_ADDRESS

    def __iter__(self) -> Any:
        return iter(list(self._known.values()))

    def find(self, tensor: torch.Tensor) -> Memory | None:
        return self._known.get(private_torch.storage_id(tensor))

    def new(self, tensor: torch.Tensor, unknown: str = "") -> Memory:
        """That of a tensor whose memory was not met before."""
        storage = tensor.untyped_storage()
        made = Memory(storage, storage.nbytes(), unknown=unknown)
        if len(self._known) > self._limit:
            self._known = {key: one for key, one in list(self._known.items()) if one.alive()}
            self._limit = max(256, 2 * len(self._known))
        self._known[private_torch.storage_id(tensor)] = made
        return made

    def ref(self, tensor: torch.Tensor, mode: FakeTensorMode) -> Ref:
        """A tensor as a place in memory. Raises NoValue for one that is none."""
        if not isinstance(tensor, FakeTensor):
            tensor = self._given(tensor, mode)
        if tensor.layout is not torch.strided or tensor.is_conj() or tensor.is_neg():
            raise NoValue("sparse, conjugated and negated tensors are not followed")
        memory = self.find(tensor)
        if memory is None:
            memory = self.new(tensor, FROM_ELSEWHERE)
        if memory.kept is not None and memory.nbytes <= GIVEN_LIMIT and memory.checksum != _checksum(memory.kept[0]):
            memory.unknown = "a tensor on the CPU, or an array, was changed after the cell had used it"
        return Ref(memory, tensor.dtype, tuple(tensor.size()), tensor.stride(), int(tensor.storage_offset()))

    def _given(self, real: torch.Tensor, mode: FakeTensorMode) -> FakeTensor:
        """The fake tensor of a real one, which has its values: it is not written to."""
        if type(real) not in (torch.Tensor, torch.nn.Parameter) or real.device.type != "cpu":
            raise NoValue(f"a {type(real).__name__} is not followed")
        fake = private_torch.as_fake(mode, real)
        if real.layout is not torch.strided:
            return fake
        storage, memory = real.untyped_storage(), self.find(fake)
        if storage.nbytes() > GIVEN_LIMIT:
            if memory is None:
                self.new(fake, too_large(storage.nbytes(), GIVEN_LIMIT)).kept = real, fake
            return fake
        if memory is None:
            memory = self.new(fake)
            memory.home = "cpu"
            memory.take(_flat(real).clone().untyped_storage())
            memory.checksum = _checksum(real)
        memory.kept = real, fake
        return fake

    def address(self, tensor: torch.Tensor, mode: FakeTensorMode) -> int:
        """Where a tensor begins; launches find its memory by that from now on. Raises NoValue for one of no memory."""
        followed = tensor if isinstance(tensor, FakeTensor) else self._given(tensor, mode)
        memory = self.find(followed) or self.new(followed, FROM_ELSEWHERE)
        if memory.kept is not None:
            memory.address = int(memory.kept[0].untyped_storage().data_ptr())
        elif not memory.address and memory.nbytes:  # torch has none for a tensor of no elements
            memory.address = self._next_address
            self._next_address += -(-(memory.nbytes + 1) // _ALIGNED) * _ALIGNED
        return memory.address + int(followed.storage_offset()) * tensor.dtype.itemsize if memory.nbytes else 0

    def with_address(self) -> list[Memory]:
        """What a kernel may reach that is given addresses as numbers."""
        return [one for one in self if one.address and one.alive()]

    def has_met(self, real: torch.Tensor) -> bool:
        """Whether operations or launches have used the memory of a real tensor."""
        return any(one.kept is not None and one.kept[0].data_ptr() == real.data_ptr() for one in self)

    def let_go(self) -> None:
        """Keep no tensor of the user's alive any longer."""
        for memory in self:
            if memory.kept is not None:  # whose place may be another's soon
                memory.kept, memory.address = None, 0
        self._known = {key: one for key, one in self._known.items() if one.alive()}


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of a real tensor's memory."""
    flat: Any = torch.empty(0, dtype=torch.uint8)
    return flat.set_(tensor.untyped_storage())


def _checksum(tensor: torch.Tensor) -> int:
    with as_it_is():
        values: Any = _flat(tensor).numpy()
        return zlib.crc32(values)


def unwritable(memory: Memory) -> str:
    """Why the values that something writes are not known; empty where they are."""
    if memory.moved:
        return "it was moved between CPU and GPU before it was written, and the copies are not told apart"
    return too_large(memory.nbytes) if memory.nbytes > LIMIT else ""


def too_large(nbytes: int, limit: int = LIMIT) -> str:
    return f"a tensor of {nbytes >> 20} MiB goes into it, and values are followed up to {limit >> 20} MiB"
