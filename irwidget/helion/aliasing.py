"""Arguments of a kernel that share memory: what is read of one has to be read before another is written to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from irwidget.errors import UsageError
from irwidget.helion.bound import Binding
from irwidget.helion.values import HostTensor
from irwidget.private_torch import FakeTensor, pytree, storage_id


def with_shared(binding: Binding, written: Iterable[int]) -> set[int]:
    """The ids of written storages (of fake tensors) and of those that share memory with them as arguments."""
    found = set(written)
    pairs = zip(pytree.tree_leaves(binding.bound.fake_args), pytree.tree_leaves(binding.arguments), strict=False)
    tensors = [
        (storage_id(fake), given)
        for fake, given in pairs
        if isinstance(fake, torch.Tensor) and isinstance(given, torch.Tensor)
    ]
    into = [given for storage, given in tensors if storage in found]
    return found | {storage for storage, given in tensors if any(overlap(given, other) for other in into)}


def overlap(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether the memory from the first to the last element of one has any of the other's."""
    return _overlap(_bytes(left), _bytes(right))


def check(hosts: Sequence[HostTensor], tensors: Sequence[torch.Tensor | None]) -> None:
    """Refuse tensors that share memory in another way than those that a kernel was lowered for.

    Raises:
        UsageError: one is written to while another is taken for one that is not, or they are no views of one storage.
    """
    given = [(host, tensor) for host, tensor in zip(hosts, tensors, strict=True) if tensor is not None]
    for position, (host, tensor) in enumerate(given):
        for other, second in given[:position]:
            if host.written != other.written and overlap(tensor, second):
                raise UsageError(
                    f"{other.name} and {host.name} share memory, to which the kernel writes; those that it was "
                    "lowered for did not. Lower it for these tensors, or pass a clone of one."
                )
            own, others = tensor.untyped_storage(), second.untyped_storage()
            if own.data_ptr() != others.data_ptr() and _overlap(_extent(own), _extent(others)):
                raise UsageError(
                    f"{other.name} and {host.name} share memory but not their storage: pass views of one tensor."
                )


def _bytes(tensor: torch.Tensor) -> tuple[int, int]:
    """Where a tensor's memory begins and ends; nowhere for one without data."""
    if not tensor.numel() or tensor.device.type == "meta" or isinstance(tensor, FakeTensor):
        return 0, 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    begin = tensor.data_ptr()
    return begin, begin + (last + 1) * tensor.element_size()


def _extent(storage: torch.UntypedStorage) -> tuple[int, int]:
    begin = storage.data_ptr()
    return begin, begin + storage.nbytes()


def _overlap(left: tuple[int, int], right: tuple[int, int]) -> bool:
    return left[0] < right[1] and right[0] < left[1]
