"""Which tensors without values a GPU would have and which the CPU: what is moved between them is copied.

All of them are on the CPU here, where `x.cuda()` is `x` itself: a kernel that writes to one would write to the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch

from irwidget.frontends.triton.memory import Memories
from irwidget.private_torch import FakeTensor, pytree

GPU, HOST = "cuda", "cpu"
_MOVES = {torch.Tensor.cuda: GPU, torch.Tensor.cpu: HOST, torch.Tensor.to: ""}
_DEVICE = re.compile(r"(cuda|cpu)(:\d+)?")


def _asked(args: Any, kwargs: Mapping[str, Any]) -> str:
    """The device that a call names: GPU, HOST, or none."""
    for value in (kwargs.get("device"), *args):
        text = value.type if isinstance(value, torch.device) else value
        if isinstance(text, str) and (match := _DEVICE.fullmatch(text)):
            return match[1]
    return GPU if isinstance(kwargs.get("device"), int) else ""


class Homes:
    """Where the memory of tensors would be on a machine with a GPU."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    def settle(self, func: Any, args: Any, kwargs: Mapping[str, Any], made: Any) -> Any:
        """What a call of `func` gives, once it is noted where that is: a copy where the call moves a tensor."""
        target = self._target(func, args, kwargs)
        if target and isinstance(made, FakeTensor) and isinstance(args[0], torch.Tensor):
            made = self._moved(args[0], made, target)
        home = target or self._of(args, kwargs)
        for one in pytree.tree_leaves(made):
            memory = self._memories.find(one) if isinstance(one, FakeTensor) else None
            if memory is not None and not memory.home:
                memory.home = home
        return made

    def _target(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> str:
        if func not in _MOVES or not args:
            return ""
        like = [one for one in (*args[1:], kwargs.get("other")) if isinstance(one, torch.Tensor)]
        return _MOVES[func] or _asked(args[1:], kwargs) or (self._of(like, {}) if like else "")

    def _moved(self, given: torch.Tensor, made: FakeTensor, target: str) -> torch.Tensor:
        """A tensor on another device: a copy of its own, where it is not known to be there already."""
        memory, before = self._memories.find(made), self._home(given)
        copied = isinstance(given, FakeTensor) and self._memories.find(given) is not memory
        if memory is None or before == target or copied:
            return made
        if before:
            return made.clone()
        memory.moved = True
        return made

    def _of(self, args: Any, kwargs: Mapping[str, Any]) -> str:
        """Where a call computes: as it says, where its tensors are, on the CPU where it has none."""
        if named := _asked(args, kwargs):
            return named
        given = [one for one in pytree.tree_leaves((args, dict(kwargs))) if isinstance(one, torch.Tensor)]
        found = {self._home(one) for one in given}
        return GPU if GPU in found else "" if "" in found else HOST

    def _home(self, tensor: torch.Tensor) -> str:
        if not isinstance(tensor, FakeTensor):
            return HOST
        memory = self._memories.find(tensor)
        return memory.home if memory is not None else ""
