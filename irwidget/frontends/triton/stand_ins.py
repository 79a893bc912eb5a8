"""Arguments of a launch, reduced to what Triton's specialisation looks at: type, alignment, size."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from irwidget import private_torch
from irwidget.errors import UsageError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True)
class Pointer:
    """What Triton's specialisation wants to know of a tensor."""

    dtype: Any
    address: int
    nbytes: int
    """Of the whole storage: AMD's buffer operations need less than 2 GiB."""
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    """In elements."""
    offset: int = 0
    """In elements, from the beginning of the storage."""

    def data_ptr(self) -> int:
        return self.address

    def ptr_range(self) -> int:
        return self.nbytes


@dataclass(frozen=True, slots=True)
class TypeName:
    """An argument given as a Triton type: `*fp16:16` is a 16-byte aligned pointer, `i32:16` a multiple of 16."""

    type: str
    attributes: str
    """Triton's descriptor: `D` for divisible by 16."""


_TYPE_NAME = re.compile(r"^(\*k?(?:\*)*[a-z]\w*|[iu]\d+|fp\d+|bf16|tf32|f\d+)(?::(1|16))?$")


def _pointer(tensor: torch.Tensor) -> Pointer:
    # allocators align storages; a view's offset is what breaks alignment
    address = (private_torch.storage_id(tensor) << 9) % (1 << 46) or 512
    offset = int(tensor.storage_offset())
    return Pointer(
        tensor.dtype,
        address + offset * tensor.element_size(),
        tensor.untyped_storage().nbytes(),
        tuple(map(int, tensor.shape)),
        tuple(map(int, tensor.stride())),
        offset,
    )


def named_type(argument: Any) -> Any:
    """What stands for an argument whose type is given as text (`"*fp16:16"`); others are as they are."""
    match = _TYPE_NAME.match(argument.strip()) if isinstance(argument, str) else None
    if match is None:
        return argument
    return 1 if match[2] == "1" else TypeName(match[1], "D" if match[2] else "")


def stand_in(argument: Any) -> Any:
    """An argument reduced to what specialisation looks at. Raises UsageError for what no kernel takes."""
    try:
        return _reduced(argument)
    except RecursionError:
        raise UsageError("A tuple among the arguments is nested too deeply for Triton") from None


def _reduced(argument: Any) -> Any:
    import torch

    if isinstance(argument, torch.Tensor):
        if argument.layout is not torch.strided:
            kind = str(argument.layout).removeprefix("torch.")
            raise UsageError(f"Triton's kernels take the memory of a tensor, and a {kind} tensor has more than one")
        return _pointer(argument)
    if isinstance(argument, tuple):
        items = [_reduced(item) for item in argument]
        return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
    if hasattr(argument, "base") and hasattr(argument, "block_shape"):  # the tensor descriptors of Triton and of Gluon
        reduced: Any = copy.copy(argument)
        object.__setattr__(reduced, "base", _reduced(argument.base))
        return reduced
    if hasattr(argument, "data_ptr") and hasattr(argument, "dtype"):
        nbytes = argument.ptr_range() if hasattr(argument, "ptr_range") else 1 << 40
        return Pointer(argument.dtype, argument.data_ptr(), nbytes)
    return argument


def tensors(value: Any) -> list[torch.Tensor]:
    """The tensors in an argument: itself, those in a tuple, that of a descriptor or of a reinterpreted tensor."""
    import torch

    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, tuple | list):
        return [tensor for one in value for tensor in tensors(one)]  # pyright: ignore[reportUnknownVariableType]
    base = getattr(value, "base", None)
    return [] if base is None else tensors(base)


def is_address(value: Any) -> bool:
    """Whether an argument is, or holds, an object that has an address and is no tensor."""
    import torch

    if isinstance(value, tuple | list):
        return any(map(is_address, value))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return hasattr(value, "data_ptr") and not isinstance(value, torch.Tensor) and not hasattr(value, "base")
