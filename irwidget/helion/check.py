"""`--check` for kernels: run the module on the CPU and compare with Helion's own eager mode."""

from __future__ import annotations

import contextlib
import copy
import io
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
from irwidget.helion import allowance, beyond, broadcasting, by_tiles, by_triton, eager_mode, private, unwritten
from irwidget.helion.bound import Binding
from irwidget.private_torch import pytree
from irwidget.trace import Diagnostic, Trace, Verdict, not_checked

_OF_TILES = ("tile_begin", "tile_end", "tile_id", "tile_count", "tile_block_size", "_if")
"""Ops by which a result can depend on how the work is cut into tiles."""
_TOGETHER = (
    *allowance.SUMS,
    *("amax", "amin", "max", "min", "argmax", "argmin", "any", "all", "_inductor_lowering_extra"),
)
"""Ops that take the lanes of a dim together."""
_OF_ITS_TILES = "eager mode takes each loop as one tile, and this kernel's result depends on its tiles"
_ANY_LANE = "lanes of a tile are stored to one element, and which of them stays is left open"
_DRAWN = "eager mode has PyTorch's random numbers, which are not those of the seeds that Helion's kernels draw"
_JOINED = {
    "atomic_add": ("sum", "mm", "bmm", "addmm", "baddbmm", "dot", "_inductor_lowering_extra"),
    "atomic_max": ("amax", "max", "any"),
    "atomic_min": ("amin", "min", "all"),
}
"""Of those, the ones that an atomic goes on with tile by tile."""


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
    drawn = any(private.op_name(node) == "_rng_seed" for node in lowering.binding.nodes)
    outputs = _DRAWN if drawn else _expected(lowering.binding)
    if isinstance(outputs, str):
        verdict, beside = _beside_triton(lowering, outputs)
        given = _tensors(lowering.binding.arguments)
        return with_verdict(trace, last(trace, unwritten.said(verdict, beside, given)) if beside else verdict)
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
        quiet = contextlib.redirect_stdout(io.StringIO())  # it prints for device_print, in each of several runs
        with torch.no_grad(), devices.without_gpu(), eager_mode.as_lowered(), quiet:
            result = kernel(*arguments)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise UnsupportedError(f"Helion's eager mode cannot run it: {type(error).__name__}: {reason}") from error
    return tuple(tensor.detach() for tensor in _tensors((result, arguments)))


def _expected(binding: Binding) -> list[ExpectedResult] | str:
    """What eager mode returns and how far a right result may be from it; or why there is nothing."""
    try:
        return allowance.expected(binding, lambda arguments: _eager(binding, arguments))
    except UnsupportedError as error:
        return str(error)


def _beside_triton(lowering: Runnable, why: str) -> tuple[Verdict, list[ExpectedResult]]:
    """The verdict on a kernel of which eager mode says nothing, for which `why` is why, and what was compared with.

    What its Triton program makes is the reference.
    """
    if any(tensor.device.type == "meta" for tensor in _tensors(lowering.binding.arguments)):
        return not_checked(why), []
    name, index = lowering.trace.dumps[-1].name, len(lowering.trace.dumps) - 1
    try:
        expected = by_triton.expected(lowering.binding)
        with by_triton.seeded():
            results, _ = _results(lowering)
    except IRWidgetError as error:
        return not_checked(f"{why}; {str(error).splitlines()[0]}"), []
    found = replace(judge(name, index, results, expected), reference=by_triton.REFERENCE)
    if found.state == "differs":
        if judge(name, index, results, by_triton.widened(expected)).state != "differs":
            found = not_checked(f"{why}; from its Triton program it is as far as rounding may lead: {found.reason}")
        elif _of_their_order(name, index, lowering, expected):
            found = not_checked(f"{why}; {_ANY_LANE}")
    return found, expected


def _verdict(name: str, lowering: Runnable, expected: list[ExpectedResult]) -> tuple[Verdict, tuple[Diagnostic, ...]]:
    """The verdict on a module, and what there is to say of its run."""
    index = next(i for i, dump in reversed(list(enumerate(lowering.trace.dumps))) if name in ("import", dump.name))
    try:
        results, said = _results(lowering)
    except IRWidgetError as error:
        return Verdict("not checked", name, index, str(error).splitlines()[0]), ()
    verdict, expected = _judged(name, index, lowering, results, expected)
    return unwritten.said(verdict, expected, _tensors(lowering.binding.arguments)), said


def _judged(
    name: str, index: int, lowering: Runnable, results: list[Any], expected: list[ExpectedResult]
) -> tuple[Verdict, list[ExpectedResult]]:
    """The verdict on what a module made, and what it was compared with."""
    verdict = judge(name, index, results, expected)
    if verdict.state != "differs":
        return verdict, expected
    binding = lowering.binding
    depends = any(node.target in _OF_TILES for node in lowering.trace.nodes) or _of_one_tile(binding)
    cut = _expected_by_tiles(binding)
    if cut is not None:
        beside = judge(name, index, results, cut)
        if beside.state == "equal" or not _numbers_tiles(binding):
            verdict, expected, depends = beside, cut, False
    elif not depends and _hands_on(binding):
        found, beside = _beside_triton(lowering, _OF_ITS_TILES)
        return replace(found, dump=name, index=index), beside or expected
    if verdict.state != "differs":
        return verdict, expected
    reason = _OF_ITS_TILES if depends else _left_open(name, index, lowering, expected)
    return (Verdict("not checked", name, index, reason) if reason else verdict), expected


def _expected_by_tiles(binding: Binding) -> list[ExpectedResult] | None:
    """What eager mode returns that cuts loops as the configuration does; None where it cannot run the kernel so."""

    def run(arguments: Any) -> tuple[torch.Tensor, ...]:
        with by_tiles.cut(binding):  # each time, as it counts the tiles of a run
            return _eager(binding, arguments)

    try:
        return allowance.expected(binding, run)
    except UnsupportedError:
        return None


def _hands_on(binding: Binding) -> bool:
    """Whether a loop of several tiles hands what it has come to from one to the next."""
    loops = [node for node in binding.nodes if private.op_name(node) in ("_for_loop", "_for_loop_step")]
    with binding.entered():
        cut = any(_is_cut(binding, block) for loop in loops for block in binding.infos[loop.args[0]].block_ids)
    return cut and any(private.op_name(node) == "_phi" for node in binding.nodes)


def _numbers_tiles(binding: Binding) -> bool:
    """Whether a result may depend on the number of a tile, which eager mode counts otherwise, or on their order."""
    names = [private.op_name(node) for node in binding.nodes if node.users]
    return any(name in ("tile_id", "tile_count") or name.startswith("atomic_") for name in names)


def _left_open(name: str, index: int, lowering: Runnable, expected: list[ExpectedResult]) -> str:
    """Why a result that differs from eager mode's may be right; empty where nothing is known that would explain it."""
    binding = lowering.binding
    if _scans_narrow_integers(binding):
        return "Helion's Triton scans integers in the dtype that they have, and eager mode in int64"
    if _widens_numbers(binding):
        return (
            "Helion's Triton takes a number of the host for a float32, beside float64 too, and eager mode for a float64"
        )
    with binding.entered():
        combining = [node for node in binding.nodes if private.op_name(node) in ("_associative_scan", "_reduce")]
        if lanes := next(filter(None, (beyond.combined(binding, node) for node in combining)), ""):
            return f"Helion's Triton combines {lanes} with the others, which eager mode has not"
        if any(broadcasting.unlike_pytorch(binding, node) for node in binding.nodes):
            return (
                "Helion's Triton broadcasts a tile of fewer dims to the dims of its own blocks, and eager mode to the "
                "last ones"
            )
    if _of_their_order(name, index, lowering, expected):
        return f"{_ANY_LANE}; eager mode keeps the last"
    return ""


def _results(lowering: Runnable) -> tuple[list[Any], tuple[Diagnostic, ...]]:
    """What a module makes of the bound arguments, and what there is to say of the run."""
    arguments = copy.deepcopy(lowering.binding.arguments)
    with unwritten.Filled():
        returned, said = lowering.launch(arguments, opt_level=0, timeout=SECONDS)
    return [array(result) for result in _tensors((returned, arguments))], said


def _of_their_order(name: str, index: int, lowering: Runnable, expected: list[ExpectedResult]) -> bool:
    """Whether a kernel is equal when, of lanes that are stored to one element, the last stays, as in eager mode."""
    nodes = [node for node in lowering.binding.nodes if private.op_name(node) == "store"]
    indices = [one for node in nodes if isinstance(node.args[1], (list, tuple)) for one in node.args[1]]
    if not any(isinstance(one, torch.fx.Node) and isinstance(one.meta.get("val"), torch.Tensor) for one in indices):
        return False
    try:
        results, _ = _results(lowering.with_last_lanes())
    except IRWidgetError:
        return False
    return judge(name, index, results, expected).state == "equal"


def _of_one_tile(binding: Binding) -> bool:
    """Whether lanes of one tile of several of a top-level loop are taken together, and not in a way that atomics go on.

    Those that are taken with each other, pair by pair, are so with atomics, too; and what an atomic adds for each tile,
    whatever its lanes are, it adds as often as there are tiles.
    """
    nodes = binding.nodes
    with binding.entered():
        cut = {block for blocks in binding.device_ir.grid_block_ids for block in blocks if _is_cut(binding, block)}
        if any(cut & (_paired(binding, node) | _along(binding, node)) for node in nodes):
            return True
        atomics = [node for node in nodes if private.op_name(node).startswith("atomic_")]
        if cut and any(_is_constant(node) for node in atomics):
            return True
        joined = {name for node in atomics for name in _JOINED.get(private.op_name(node), ())}
        over = [node for node in nodes if private.op_name(node) in _TOGETHER and private.op_name(node) not in joined]
        return any(cut & (_blocks(binding, node.all_input_nodes) - _blocks(binding, [node])) for node in over)


def _is_constant(node: Any) -> bool:
    """Whether an atomic does the same for every tile: nothing that it is given is read or belongs to a tile."""
    found = [one for one in node.all_input_nodes if one is not node.args[0]]
    for one in found:  # which grows meanwhile
        found += [given for given in one.all_input_nodes if given not in found]
    symbols = [one for one in found if isinstance(one.meta.get("val"), (torch.SymInt, torch.SymFloat))]
    return not symbols and all(private.op_name(one) not in ("load", "placeholder", "tile_index") for one in found)


def _scans_narrow_integers(binding: Binding) -> bool:
    """Whether there is a `torch.cumsum` or `torch.cumprod` of integers that PyTorch widens."""
    scans = [node for node in binding.nodes if private.op_name(node) == "_associative_scan"]
    return any(
        not tile.is_floating_point() and tile.dtype != torch.int64
        for node in scans
        for tile in _tensors(node.meta.get("val"))
        if any(private.op_name(one) in ("add", "mul") for one in binding.infos[node.args[0]].graph.nodes)
    )


def _widens_numbers(binding: Binding) -> bool:
    """Whether a number that only run time knows meets elements of float64."""
    return any(
        tile.dtype == torch.float64
        for node in binding.nodes
        if any(isinstance(given.meta.get("val"), torch.SymFloat) for given in node.all_input_nodes)
        for tile in _tensors([one.meta.get("val") for one in (node, *node.all_input_nodes)])
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


def _along(binding: Binding, node: Any) -> set[int]:
    """The blocks along which a node scans or sorts lanes, and so takes them together, though all stay."""
    dims = {"_associative_scan": 2, "sort": 1, "topk": 2}
    place = dims.get(private.op_name(node))
    found = _tensors([one.meta.get("val") for one in node.all_input_nodes])
    if place is None or not found:
        return set()
    dim = node.args[place] if len(node.args) > place else -1
    block = private.block_behind(binding.env, found[0].shape[dim])
    return set() if block is None else {block}


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
