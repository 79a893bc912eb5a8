"""`--check` for kernels: run the module on the CPU and compare with Helion's own eager mode."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import torch

from irwidget import devices
from irwidget.checking.allowance import ExpectedResult
from irwidget.checking.check import SECONDS, last, with_verdict
from irwidget.checking.expected import array
from irwidget.checking.judge import judge
from irwidget.errors import IRWidgetError, UnsupportedError
from irwidget.helion import eager_mode, private
from irwidget.helion.bound import Binding
from irwidget.private_torch import pytree
from irwidget.trace import Diagnostic, Trace, Verdict, not_checked

_OF_TILES = ("tile_begin", "tile_end", "tile_id", "tile_count", "tile_block_size", "_if")
"""Ops by which a result can depend on how the work is cut into tiles."""
_TOGETHER = (
    *("sum", "mean", "prod", "var", "var_mean", "amax", "amin", "max", "min", "argmax", "argmin", "any", "all"),
    *("mm", "bmm", "addmm", "baddbmm", "dot", "_reduce", "_inductor_lowering_extra"),
)
"""Ops that take the lanes of a dim together."""
_SHAKEN = 4
"""Runs of eager mode on inputs that are off by one rounding: how far they spread is how far a right result may be."""


class Runnable(Protocol):
    """A kernel's module that can be run: `HelionLowering`."""

    binding: Binding
    aten: str
    trace: Trace

    def as_raw(self) -> Runnable:
        """The same kernel with its ATen nodes as they were imported."""
        ...

    def with_last_lanes(self) -> Runnable:
        """The same kernel in which, of lanes that are stored to one element, the last stays."""
        ...

    def launch(
        self, tensors: Sequence[Any] = ..., timeout: float = ..., opt_level: int = ...
    ) -> tuple[Any, tuple[Diagnostic, ...]]:
        """Run the module on the CPU. Returns what the kernel returns, and what there is to say of the run."""
        ...


def checked(trace: Trace, lowering: Runnable, *, each: bool) -> Trace:
    """The trace with the verdict on the final module; with `each`, that on the raw one as well."""
    raw = [("import", lowering.as_raw())] if each and lowering.aten != "raw" else []
    outputs = _expected(lowering.binding)
    both = [*raw, (lowering.trace.dumps[-1].name, lowering)]
    verdicts, remarks = zip(*(_verdict(name, which, outputs) for name, which in both), strict=True)
    trace = replace(trace, diagnostics=tuple(dict.fromkeys((*trace.diagnostics, *remarks[-1]))))
    said = next((verdict for verdict in verdicts if verdict.state == "differs"), last(trace, verdicts[-1]))
    return with_verdict(trace, replace(said, each=tuple(verdicts) if each else ()))


def eager(binding: Binding) -> tuple[torch.Tensor, ...]:
    """What Helion's eager mode makes of the bound arguments: the returned tensors, then the arguments that hold them.

    Raises:
        UnsupportedError: meta tensors, or a kernel that the eager mode cannot run.
    """
    return _eager(binding, copy.deepcopy(binding.arguments))


def _eager(binding: Binding, arguments: Any) -> tuple[torch.Tensor, ...]:
    """Eager mode on arguments that may be changed."""
    if any(isinstance(leaf, torch.Tensor) and leaf.device.type == "meta" for leaf in pytree.tree_leaves(arguments)):
        raise UnsupportedError("the kernel was bound to meta tensors, which hold no data")
    kernel = eager_mode.kernel(binding.kernel, [binding.config])
    try:
        with torch.no_grad(), devices.without_gpu():
            result = kernel(*arguments)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise UnsupportedError(f"Helion's eager mode cannot run it: {type(error).__name__}: {reason}") from error
    return _tensors((result, arguments))


def _expected(binding: Binding) -> list[ExpectedResult] | str:
    """What eager mode returns and how far a right result may be from it; or why there is nothing."""
    try:
        wanted = eager(binding)
        samples = [_eager(binding, _shaken(binding.arguments, seed)) for seed in range(_SHAKEN)]
    except UnsupportedError as error:
        return str(error)
    longest = max((max(tensor.shape, default=1) for tensor in _tensors(binding.arguments)), default=1)
    growth = 4 * (1 + math.sqrt(longest) / 2)
    return [_result(i, want, [sample[i] for sample in samples], growth) for i, want in enumerate(wanted)]


def _shaken(arguments: Any, seed: int) -> Any:
    """A copy of the arguments with every float moved by at most one place."""
    random = torch.Generator().manual_seed(seed)

    def shake(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or not leaf.is_floating_point():
            return copy.deepcopy(leaf)
        eps = torch.finfo(leaf.dtype).eps
        noise = 1 + (torch.rand(leaf.shape, generator=random, dtype=torch.float64) * 2 - 1) * eps
        return (leaf.to(torch.float64) * noise).to(leaf.dtype)

    return pytree.tree_map(shake, arguments)


def _result(number: int, want: torch.Tensor, samples: Sequence[torch.Tensor], growth: float) -> ExpectedResult:
    label = f"result {number}"
    if not want.is_floating_point():
        return ExpectedResult(label, want, others=tuple(s for s in samples if s.shape == want.shape))
    wide = want.to(torch.float64)
    moved = [(sample.to(torch.float64) - wide).abs().nan_to_num() for sample in samples if sample.shape == want.shape]
    spread = torch.stack(moved).amax(0) if moved else torch.zeros_like(wide)
    info = torch.finfo(want.dtype)
    floor = growth * info.eps * wide.abs().nan_to_num(nan=0.0, posinf=0.0).clamp(max=info.max)
    return ExpectedResult(label, want, allowed=growth * spread + floor + info.smallest_normal)


def _verdict(
    name: str, lowering: Runnable, expected: list[ExpectedResult] | str
) -> tuple[Verdict, tuple[Diagnostic, ...]]:
    """The verdict on a module, and what there is to say of its run."""
    if isinstance(expected, str):
        return not_checked(expected), ()
    index = next(i for i, dump in reversed(list(enumerate(lowering.trace.dumps))) if name in ("import", dump.name))
    try:
        results, said = _results(lowering)
    except IRWidgetError as error:
        return Verdict("not checked", name, index, str(error).splitlines()[0]), ()
    verdict = judge(name, index, results, expected)
    of_tiles = any(node.target in _OF_TILES for node in lowering.trace.nodes)
    if verdict.state == "differs" and (of_tiles or _of_one_tile(lowering.binding)):
        reason = "eager mode takes each loop as one tile, and this kernel's result depends on its tiles"
        return Verdict("not checked", name, index, reason), said
    if verdict.state == "differs" and _scans_narrow_integers(lowering.binding):
        reason = "Helion's Triton scans integers in the dtype that they have, and eager mode in int64"
        return Verdict("not checked", name, index, reason), said
    if verdict.state == "differs" and _of_their_order(name, index, lowering, expected):
        reason = (
            "lanes of a tile are stored to one element, and which of them stays is left open; eager mode keeps the last"
        )
        return Verdict("not checked", name, index, reason), said
    return verdict, said


def _results(lowering: Runnable) -> tuple[list[Any], tuple[Diagnostic, ...]]:
    """What a module makes of the bound arguments, and what there is to say of the run."""
    arguments = copy.deepcopy(lowering.binding.arguments)
    returned, said = lowering.launch(arguments, opt_level=0, timeout=SECONDS)
    return [array(result) for result in _tensors((returned, arguments))], said


def _of_their_order(name: str, index: int, lowering: Runnable, expected: list[ExpectedResult]) -> bool:
    """Whether a kernel is equal when, of lanes that are stored to one element, the last stays, as in eager mode."""
    nodes = [node for info in lowering.binding.graphs for node in info.graph.nodes if _name(node) == "store"]
    indices = [one for node in nodes if isinstance(node.args[1], (list, tuple)) for one in node.args[1]]
    if not any(isinstance(one, torch.fx.Node) and isinstance(one.meta.get("val"), torch.Tensor) for one in indices):
        return False
    try:
        results, _ = _results(lowering.with_last_lanes())
    except IRWidgetError:
        return False
    return judge(name, index, results, expected).state == "equal"


def _of_one_tile(binding: Binding) -> bool:
    """Whether lanes of one tile of several of a top-level loop are taken together, and not added up by atomics.

    Those that are taken with each other, pair by pair, are so with atomics, too.
    """
    nodes = [node for info in binding.graphs for node in info.graph.nodes]
    with binding.entered():
        cut = {block for blocks in binding.device_ir.grid_block_ids for block in blocks if _is_cut(binding, block)}
        if any(cut & _paired(binding, node) for node in nodes):
            return True
        if any(private.target_name(node.target).startswith("atomic_") for node in nodes):
            return False
        over = [node for node in nodes if _name(node) in _TOGETHER]
        return any(cut & (_blocks(binding, node.all_input_nodes) - _blocks(binding, [node])) for node in over)


def _scans_narrow_integers(binding: Binding) -> bool:
    """Whether there is a `torch.cumsum` or `torch.cumprod` of integers that PyTorch widens."""
    scans = [node for info in binding.graphs for node in info.graph.nodes if _name(node) == "_associative_scan"]
    return any(
        not tile.is_floating_point() and tile.dtype != torch.int64
        for node in scans
        for tile in _tensors(node.meta.get("val"))
        if any(_name(one) in ("add", "mul") for one in binding.infos[node.args[0]].graph.nodes)
    )


def _paired(binding: Binding, node: Any) -> set[int]:
    """The blocks whose lanes a node takes with each other: of two dims of a tile, or of two positions in memory."""
    value = node.meta.get("val")
    dims = [list(tile.shape) for tile in _tensors(value)]
    if len(node.args) > 1 and isinstance(
        node.args[1], (list, tuple)
    ):  # index tensors of one dim are taken as an outer product
        fakes = [one.meta.get("val") for one in node.args[1] if isinstance(one, torch.fx.Node)]
        dims.append([fake.shape[0] for fake in fakes if isinstance(fake, torch.Tensor) and fake.ndim == 1])
    found = set[int]()
    for sizes in dims:
        blocks = [private.block_behind(binding.env, size) for size in sizes]
        found |= {block for block in blocks if block is not None and blocks.count(block) > 1}
    return found


def _name(node: Any) -> str:
    return private.target_name(node.target).removeprefix("aten.").partition(".")[0]


def _is_cut(binding: Binding, block: int) -> bool:
    """Whether the loop of a block has several tiles."""
    size, lanes = binding.env.block_sizes[block].size, binding.block_sizes.get(block)
    return lanes is not None and isinstance(size, (int, torch.SymInt)) and binding.env.size_hint(size) > lanes


def _blocks(binding: Binding, nodes: Sequence[Any]) -> set[int]:
    """The blocks that the dims of nodes' tiles (of some nodes several) are of."""
    sizes = [size for node in nodes for tile in _tensors(node.meta.get("val")) for size in tile.shape]
    return {block for size in sizes if (block := private.block_behind(binding.env, size)) is not None}


def _tensors(values: Any) -> tuple[torch.Tensor, ...]:
    leaves: Sequence[Any] = pytree.tree_leaves(values)
    return tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))
