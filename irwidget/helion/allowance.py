"""How far a right result of a kernel may be from that of Helion's eager mode, element by element.

Two right programs round in other places. What that comes to is measured: eager mode runs several times with rounding
noise. What is stored is rounded to its own dtype once more.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from irwidget.checking.allowance import ExpectedResult
from irwidget.helion import private, unwritten
from irwidget.helion.bound import Binding
from irwidget.helion.rounding import RoundingNoise
from irwidget.private_torch import pytree

_SAMPLES = 8
_MANY = 100_000
"""Operations after which there are no more samples: of atomics, eager mode has some for each lane."""
_MARGIN = 4.0
"""The widest of a few samples is exceeded by more samples, but hardly so far."""
SUMS = ("sum", "mean", "prod", "var", "var_mean", "mm", "bmm", "addmm", "baddbmm", "dot", "_reduce")
"""Ops that add or multiply the lanes of a dim."""


def expected(binding: Binding, run: Callable[[Any], Sequence[torch.Tensor]]) -> list[ExpectedResult]:
    """What eager mode makes of the bound arguments, and how far a right result may be from it.

    `run` is eager mode. It may change the arguments that it is given. What nothing writes is as `Filled` has it.
    """
    with unwritten.Filled():
        wanted = run(copy.deepcopy(binding.arguments))
        runs = _noisy_runs(binding, run)
    with unwritten.Filled(again=True):
        again = run(copy.deepcopy(binding.arguments))
    margin = _MARGIN * (_SAMPLES / len(runs)) * (1 + math.sqrt(_repeated(binding)) / 2)
    results = [_result(f"result {i}", want, [one[i] for one in runs], margin) for i, want in enumerate(wanted)]
    return [unwritten.marked(result, other) for result, other in zip(results, again, strict=True)]


def _noisy_runs(binding: Binding, run: Callable[[Any], Sequence[torch.Tensor]]) -> list[Sequence[torch.Tensor]]:
    runs: list[Sequence[torch.Tensor]] = []
    in_parts = _in_parts(binding)
    for seed in range(_SAMPLES):
        arguments = copy.deepcopy(binding.arguments)
        with RoundingNoise(seed, in_parts=in_parts) as noise:
            runs.append(run(arguments))
        if noise.calls * len(runs) > _MANY:
            break
    return runs


def _result(label: str, want: torch.Tensor, samples: Sequence[torch.Tensor], margin: float) -> ExpectedResult:
    alike = [sample for sample in samples if sample.shape == want.shape]
    if not want.is_floating_point():
        return ExpectedResult(label, want, others=tuple(alike))
    wide, info = want.to(torch.float64), torch.finfo(want.dtype)
    allowed = info.eps * wide.abs().nan_to_num(nan=0.0, posinf=0.0).clamp(max=info.max) + info.smallest_normal
    if alike:
        moved = [(sample.to(torch.float64) - wide).abs().nan_to_num() for sample in alike]
        allowed += margin * torch.stack(moved).amax(0)
    return ExpectedResult(label, want, allowed=allowed)


def _in_parts(binding: Binding) -> bool:
    """Whether sums and products that eager mode rounds once to less than 32 bits are rounded tile by tile."""
    roots = [] if _adds(binding) else [binding.infos[i] for i in binding.device_ir.root_ids]
    inside = [node for info in binding.graphs if info not in roots for node in info.graph.nodes]
    return any(private.op_name(node) in SUMS and _is_narrow(node) for node in inside)


def _repeated(binding: Binding) -> int:
    """How many roundings to less than 32 bits follow one another where eager mode has one: it takes each loop at once.

    They are of what a loop carries or atomics add up, which need not be the largest result.
    """
    if any(_is_narrow(node.args[0]) for node in _adds(binding)):
        return _longest(binding)
    carried = any(private.op_name(node) == "_phi" and _is_narrow(node) for node in binding.nodes)
    return _turns(binding) if carried else 0


def _adds(binding: Binding) -> list[Any]:
    return [node for node in binding.nodes if private.op_name(node) == "atomic_add"]


def _is_narrow(node: Any) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype.itemsize < 4


def _longest(binding: Binding) -> int:
    tensors = [leaf for leaf in pytree.tree_leaves(binding.arguments) if isinstance(leaf, torch.Tensor)]
    return max((max(tensor.shape, default=1) for tensor in tensors), default=1)


def _turns(binding: Binding) -> int:
    """The most tiles that a loop has."""
    found = 1
    with binding.entered():
        for block, lanes in binding.block_sizes.items():
            size = binding.env.block_sizes[block].size
            known = binding.env.size_hint(size) if isinstance(size, (int, torch.SymInt)) else _longest(binding)
            found = max(found, -(-known // lanes))
    return found
