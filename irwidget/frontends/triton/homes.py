"""Which tensors a GPU would have and which the CPU: what is moved between them is copied.

All of them are on the CPU here, where `x.cuda()` is `x` itself: a kernel that writes to one would write to the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton.ledger import GPU, HOST, has_memory
from irwidget.frontends.triton.memory import Memories, Memory
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.private_torch import FakeTensor, pytree

_MOVES = {torch.Tensor.cuda: GPU, torch.Tensor.cpu: HOST, torch.Tensor.to: "", torch.as_tensor: "", torch.asarray: ""}
_DEVICE = re.compile(r"(cuda|cpu)(:\d+)?")


def asked(args: Any, kwargs: Mapping[str, Any]) -> str:
    """The device that a call names: GPU, HOST, or none."""
    for value in (kwargs.get("device"), *args):
        text = value.type if isinstance(value, torch.device) else value
        if isinstance(text, str) and (match := _DEVICE.fullmatch(text)):
            return match[1]
    return GPU if isinstance(kwargs.get("device"), int) else ""


class Homes:
    """Where the memory of tensors would be on a machine with a GPU.

    Tensors that `memories` follows have no values (`fake`), or all of them; the others are the CPU's.
    """

    def __init__(self, memories: Memories, *, fake: bool) -> None:
        self._memories = memories
        self._fake = fake
        self._of_arrays: dict[int, private_torch.StorageWeakRef] = {}
        """Memory that is an array's."""

    def settle(self, func: Any, args: Any, kwargs: Mapping[str, Any], made: Any) -> Any:
        """What a call of `func` gives, once it is noted where that is: a copy where the call moves a tensor."""
        target = self._target(func, args, kwargs)
        if target and self._follows(made):
            made = self._moved(args[0], made, target)
        elif target == GPU and made is args[0]:  # a tensor that the cell was given: what it writes is not the user's
            made = made.clone()
        home = target or self._of(args, kwargs)
        named = asked(args, kwargs) if func not in _MOVES else ""
        says_cpu = (named or target) == HOST or (not (named or target) and self._say_cpu((args, dict(kwargs))))
        for one in pytree.tree_leaves(made):
            memory = self._memory(one)
            if memory is not None and (named or not memory.home):
                memory.home = named or home
                memory.says_cpu = says_cpu
        return made

    def sharing(self, share: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """A function that makes a tensor of an array's memory, which no machine has on its GPU."""

        def shared(*args: Any, **kwargs: Any) -> torch.Tensor:
            made = share(*args, **kwargs)
            with as_it_is():
                weak = private_torch.StorageWeakRef(made.untyped_storage())
            self._of_arrays[weak.cdata] = weak
            return made

        return shared

    def says_cpu(self, tensor: torch.Tensor) -> bool:
        """Whether the cell says that a tensor is on the CPU: it named that, or made it of such tensors or an array."""
        if not has_memory(tensor):
            return False
        memory = self._memories.find(tensor) if self._follows(tensor) else None
        of_array = private_torch.storage_id(tensor) in self._of_arrays
        return of_array or (memory is not None and memory.says_cpu)

    def _say_cpu(self, values: Any) -> bool:
        given = [one for one in pytree.tree_leaves(values) if isinstance(one, torch.Tensor)]
        return bool(given) and all(map(self.says_cpu, given))

    def on_host(self, named: str, args: Any, kwargs: Mapping[str, Any]) -> bool:
        """Whether an operator runs on the CPU; `named` is the device that the call named which runs it."""
        given = any(isinstance(one, torch.Tensor) for one in pytree.tree_leaves((args, dict(kwargs))))
        return (self._of_tensors(args, kwargs) if given else named or HOST) == HOST

    def _target(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> str:
        if func not in _MOVES or not args:
            return ""
        like = [one for one in (*args[1:], kwargs.get("other")) if isinstance(one, torch.Tensor)]
        return _MOVES[func] or asked(args[1:], kwargs) or (self._of(like, {}) if like else "")

    def _moved(self, given: Any, made: torch.Tensor, target: str) -> torch.Tensor:
        """A tensor on another device: a copy of its own, where it is not known to be there already."""
        memory, of_given = self._memory(made), self._memory(given)
        if memory is None:
            return made
        if not isinstance(given, torch.Tensor):  # an array, whose memory it has
            return made.clone() if target == GPU else made
        before = self._home(given)
        if of_given is not None and of_given is not memory:
            return self._at(target, made)
        if before == target:
            return made
        if before:
            return self._at(target, made.clone())
        memory.moved = True
        return made

    def _at(self, target: str, made: torch.Tensor) -> torch.Tensor:
        """A tensor that is a copy of its own there."""
        memory = self._memory(made)
        if memory is not None:
            memory.home, memory.says_cpu = target, target == HOST
        return made

    def _of(self, args: Any, kwargs: Mapping[str, Any]) -> str:
        """Where a call computes: as it says, where its tensors are, on the CPU where it has none."""
        return asked(args, kwargs) or self._of_tensors(args, kwargs)

    def _of_tensors(self, args: Any, kwargs: Mapping[str, Any]) -> str:
        given = [one for one in pytree.tree_leaves((args, dict(kwargs))) if isinstance(one, torch.Tensor)]
        found = {self._home(one) for one in given}
        return GPU if GPU in found else "" if "" in found else HOST

    def _home(self, tensor: torch.Tensor) -> str:
        memory = self._memory(tensor)
        home = memory.home if memory is not None else ""
        return home if self._fake and self._follows(tensor) else home or HOST

    def _follows(self, value: Any) -> bool:
        if self._fake:
            return isinstance(value, FakeTensor) and value.layout is torch.strided
        return type(value) in (torch.Tensor, torch.nn.Parameter) and has_memory(value)

    def _memory(self, value: Any) -> Memory | None:
        """What is known of a tensor's memory; one with values that was not met before is the CPU's."""
        if not self._follows(value):
            return None
        found = self._memories.find(value)
        if found is None and not self._fake:
            found = self._memories.new(value)
            found.home = HOST
        return found
