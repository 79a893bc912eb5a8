"""What is known of the memory of tensors that have values (`--run`): which bytes are written, which machine has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton.memory import Memories, Memory, Ref
from irwidget.frontends.triton.narrow import rounded_once
from irwidget.private_torch import DisableTorchFunction, TorchDispatchMode, pytree

EMPTY = frozenset("empty empty_like empty_strided empty_permuted new_empty new_empty_strided".split())
"""Operators that give memory which nothing has written."""
OVERWRITING = frozenset(
    "copy_ zero_ fill_ uniform_ normal_ bernoulli_ random_ exponential_ geometric_ cauchy_ log_normal_".split()
)
"""Operators that write all of their first argument without reading it."""
COPYING = frozenset("clone _to_copy copy_ index index_select gather masked_select cat stack repeat flip roll".split())
"""Operators that give elements of their first argument, of another type perhaps; `copy_` those of its second one."""
GPU, HOST = "cuda", "cpu"


def unwatched(func: Any, args: Any, kwargs: Any) -> Callable[[Any], None]:
    """Sees nothing of an operation, and nothing of its result."""
    return lambda made: None


class Ledger(TorchDispatchMode):
    """Sees each operation of PyTorch's, those of gradients too, as a cell runs it."""

    supports_higher_order_operators = True  # flex_attention and others: the operators that they run come by

    def __init__(self) -> None:
        super().__init__()
        self.memories = Memories()
        self.watching = unwatched
        """Is told of each operation before it is done; what it returns, of its result."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with DisableTorchFunction():
            done = self.watching(func, args, kwargs or {})
        made = rounded_once(func, args, kwargs or {})
        with DisableTorchFunction():
            self._note(func, args, kwargs or {}, made)
            done(made)
        return made

    def _note(self, func: Any, args: Any, kwargs: Any, made: Any) -> None:
        for memory, ref in self._known(private_torch.written_arguments(func, args, kwargs)):
            if ref.is_whole():
                memory.written = None
                memory.measured &= name_of(func) not in OVERWRITING
            elif (mask := ref.mask()) is not None:
                memory.mark(mask)
        new = [one for one in plain(made) if self.memories.find(one) is None]
        if not new:
            return
        on_gpu = any(memory.home == GPU for memory, _ in self._known((args, kwargs)))
        for one in new:
            if self.memories.find(one) is None:  # of two that share one
                memory = self.memories.new(one)
                memory.home = GPU if on_gpu else ""
                if name_of(func) in EMPTY:
                    memory.uninitialized()

    def _known(self, values: Any) -> Iterable[tuple[Memory, Ref]]:
        for one in plain(values):
            memory = self.memories.find(one)
            if memory is not None:
                yield memory, Ref(memory, one.dtype, tuple(one.shape), one.stride(), int(one.storage_offset()))

    def all_written(self, tensor: torch.Tensor) -> None:
        """Something that is not seen may write the memory of a tensor, as NumPy does."""
        for memory, _ in self._known(tensor):
            memory.written = None

    def end(self) -> None:
        """The cell has ended: what is done to its tensors now is not seen."""
        for memory in self.memories:
            memory.written = None


def name_of(func: Any) -> str:
    return str(func.__name__).partition(".")[0]


def has_memory(tensor: torch.Tensor) -> bool:
    """Whether a tensor is a place in memory: not so sparse ones, and those that transformed functions see."""
    return tensor.layout is torch.strided and not private_torch.is_transformed(tensor)


def plain(values: Any) -> list[torch.Tensor]:
    """The tensors that are places in memory."""
    leaves = pytree.tree_leaves(values)
    return [
        one
        for one in leaves
        if type(one) in (torch.Tensor, torch.nn.Parameter) and has_memory(one) and one.device.type == "cpu"
    ]


LEDGER = Ledger()
"""One for all cells, which may use each other's tensors."""
