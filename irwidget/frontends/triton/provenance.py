"""What tensors have of the launches of a cell: their results as they are, or what operations have made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import torch

from irwidget import private_torch
from irwidget.frontends.triton.ledger import COPYING, EMPTY, OVERWRITING, name_of, plain
from irwidget.frontends.triton.memory import LIMIT

_Launch = TypeVar("_Launch")


@dataclass(frozen=True)
class Origin(Generic[_Launch]):
    """What a tensor, or several, have of launches."""

    of: dict[int, _Launch]
    """The launches whose results they are, or are computed from, by `id`."""
    exact: bool
    """Whether they are results as they are, and nothing else."""


def together(origins: Iterable[Origin[_Launch]]) -> Origin[_Launch]:
    """What several tensors have of launches."""
    of: dict[int, _Launch] = {}
    exact = True
    for one in origins:
        of |= one.of
        exact &= one.exact and bool(one.of)
    return Origin(of, exact)


@dataclass
class _Held(Generic[_Launch]):
    """What the memory of a tensor has of launches."""

    weak: private_torch.StorageWeakRef
    origin: Origin[_Launch]
    others: torch.Tensor | None = None
    """Which of its bytes something else has written, one number a byte; None where nothing has."""


class Provenance(Generic[_Launch]):
    """Follows the results of launches through PyTorch's operations, by the memory that they lie in."""

    def __init__(self) -> None:
        self._held: dict[int, _Held[_Launch]] = {}
        """By what torch knows a storage by, which is no other's as long as there is a reference, a weak one too."""
        self._limit = 256
        self._launches = 0

    def wrote(self, launch: _Launch, storages: Iterable[torch.UntypedStorage]) -> None:
        """A launch has written these storages: they are its result, no other's."""
        self._launches += 1
        origin = Origin({id(launch): launch}, True)
        for storage in storages:
            self._keep(storage, origin)

    def origin(self, tensor: torch.Tensor) -> Origin[_Launch]:
        """What a tensor has of launches."""
        held = self._held.get(private_torch.storage_id(tensor))
        if held is None:
            return Origin({}, True)
        others = None if held.others is None else _of(held.others, tensor)
        if others is None or not bool(others.any()):
            return held.origin
        return Origin({}, True) if bool(others.all()) else replace(held.origin, exact=False)

    def operation(self, func: Any, args: Any, kwargs: Any) -> Callable[[Any], None]:
        """Is told of an operation of PyTorch's before it is done; what is returned is told of its result."""
        if not self._held:
            return lambda made: None
        written = private_torch.written_arguments(func, args, kwargs)
        targets = [] if private_torch.is_inplace_view(func) else plain(written)
        over = name_of(func) in OVERWRITING or str(func).endswith("out")
        origin = self._result(name_of(func), args, kwargs, written if over else [])
        known = {private_torch.storage_id(one) for one in plain((args, kwargs))}
        launches = self._launches

        def done(made: Any) -> None:
            launched = self._launches != launches  # by the operation, as one of the user's does: that is noted
            for one in [] if launched else targets:
                self._overwritten(one, origin) if over else self._changed(one, origin)
            for one in plain(made):
                at = private_torch.storage_id(one)
                if at not in known and not (launched and at in self._held):
                    self._keep(one.untyped_storage(), origin)

        return done

    def made(self, result: torch.Tensor, origin: Origin[_Launch]) -> None:
        """A tensor was made by something else than PyTorch, and has this."""
        self._keep(result.untyped_storage(), origin)

    def _result(self, name: str, args: Any, kwargs: Any, only_written: list[Any]) -> Origin[_Launch]:
        """What the result of an operation has of launches."""
        if name in EMPTY or name.endswith("_like") or name.startswith("new_"):
            return Origin({}, True)
        rest = [value for value in kwargs.values() if not any(value is one for one in only_written)]
        read = together(map(self.origin, plain((args[name in OVERWRITING :], rest))))
        exact = name in COPYING and together(map(self.origin, plain(args[name == "copy_"]))).exact
        return replace(read, exact=exact)

    def _keep(self, storage: torch.UntypedStorage, origin: Origin[_Launch], others: torch.Tensor | None = None) -> None:
        """A storage has this, and nothing else."""
        weak = private_torch.StorageWeakRef(storage)
        self._held.pop(weak.cdata, None)
        if not origin.of:
            return
        if len(self._held) > self._limit:
            self._held = {at: one for at, one in self._held.items() if not one.weak.expired()}
            self._limit = max(256, 2 * len(self._held))
        self._held[weak.cdata] = _Held(weak, origin, others)

    def _changed(self, target: torch.Tensor, origin: Origin[_Launch]) -> None:
        """An operation has computed a tensor from itself and from what has `origin`."""
        held = self._held.get(private_torch.storage_id(target))
        both = together([held.origin, origin] if held else [origin])
        self._keep(
            target.untyped_storage(), replace(both, exact=False), held.others if held and not origin.of else None
        )

    def _overwritten(self, target: torch.Tensor, origin: Origin[_Launch]) -> None:
        """An operation has written all of a tensor, of which it has read nothing."""
        storage = target.untyped_storage()
        held = self._held.get(private_torch.storage_id(target))
        if target.numel() * target.dtype.itemsize == storage.nbytes():
            self._keep(storage, origin)
        elif storage.nbytes() > LIMIT:
            self._changed(target, origin)
        elif held or origin.of:
            others = held.others if held else torch.ones(storage.nbytes(), dtype=torch.uint8)
            others = torch.zeros(storage.nbytes(), dtype=torch.uint8) if others is None else others
            _of(others, target).fill_(not origin.of)
            parts = [*([held.origin] if held else []), *([origin] if origin.of else [])]
            self._keep(storage, Origin({}, True) if bool(others.all()) else together(parts), others)


def _of(mask: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """What a mask of a storage's bytes has of a tensor's."""
    width = tensor.dtype.itemsize
    strides = (*(one * width for one in tensor.stride()), 1)
    return mask.as_strided((*tensor.shape, width), strides, int(tensor.storage_offset()) * width)
