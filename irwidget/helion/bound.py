"""A kernel bound to its arguments: what Helion made of it, and the configuration that it is lowered with."""

from __future__ import annotations

import contextlib
import linecache
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from irwidget.helion import private
from irwidget.helion.configuration import Chosen
from irwidget.trace import Diagnostic, Location


@dataclass(frozen=True)
class LoopRange:
    """The bounds of one dimension of a top-level loop, as Helion's proxies: ints or symbols."""

    begin: Any
    end: Any


@dataclass
class Binding:
    """A kernel bound to arguments and a configuration."""

    kernel: Any
    bound: Any
    arguments: tuple[Any, ...]
    chosen: Chosen
    name: str
    block_sizes: dict[int, int] = field(default_factory=dict[int, int])
    """Tile size of each block that the configuration or the shapes decide."""
    host_sizes: dict[int, int] = field(default_factory=dict[int, int])
    """Those of them that the host function computes, for the arguments that the kernel was bound to."""
    free: frozenset[Any] = frozenset()
    """Symbols of a dynamically bound kernel that stay open: those that no tile's shape depends on."""
    open_blocks: dict[int, str] = field(default_factory=dict[int, str])
    """Blocks whose tile size stays open, an argument of the module: how the host is asked for it."""
    seconds: float = 0.0
    """How long it took."""
    rolled: list[Any] | None = None
    """All graphs by their ids, with the reduction loops of the configuration; None where it has none."""
    unrolled: bool = False
    """Whether reductions are taken whole though the configuration has loops for them, which are not lowered."""
    host_functions: dict[str, Any] = field(default_factory=dict[str, Any])
    """What Helion has generated to call the kernel by, for each configuration that it was run in."""
    last_lane: bool = False
    """Whether, of lanes of a tile that are stored to one element, the last stays rather than the first."""
    whole: dict[int, int] = field(default_factory=dict[int, int])
    """The extents of the blocks that are taken in several turns."""

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """What Helion has warned of so far."""
        said = private.warnings(self.bound)
        return tuple(Diagnostic("warning", message, Location(*place) if place else None) for message, place in said)

    @property
    def config(self) -> Any:
        """The configuration, every field filled in."""
        return self.chosen.config

    @property
    def facts(self) -> dict[str, Any]:
        """What the configuration says, and the lanes of each tile."""
        sizes = {f"block_size_{block}": size for block, size in sorted(self.block_sizes.items())}
        return {**self.chosen.facts, **sizes}

    @property
    def env(self) -> Any:
        return self.bound.env

    @property
    def host(self) -> Any:
        return self.bound.host_function

    @property
    def device_ir(self) -> Any:
        return self.bound.host_function.device_ir

    @contextlib.contextmanager
    def entered(self) -> Generator[None]:
        """Helion's contexts, without which its environment cannot be asked."""
        with self.env, self.host:
            yield

    @property
    def infos(self) -> Sequence[Any]:
        """All graphs by their ids, with the reduction loops where they are made."""
        return self.device_ir.graphs if self.unrolled or self.rolled is None else self.rolled

    @property
    def turns(self) -> dict[int, int]:
        """Blocks that the configuration takes in several turns, and the lanes of each turn."""
        if self.unrolled or self.rolled is None:
            return {}
        blocks = {block for info in self.rolled if private.is_reduction_loop(info) for block in info.block_ids}
        sizes = {b: private.config_value(self.env.config_spec, self.config, "reduction_loops", b) for b in blocks}
        return {block: int(size) for block, size in sizes.items() if size}

    def unroll(self) -> None:
        """Take each reduction whole, whatever the configuration says."""
        self.unrolled = True
        self.block_sizes.update(self.whole)

    def roll(self) -> None:
        """Take reductions in the turns that the configuration says, where it says so."""
        turns = self.turns
        if turns.keys() - self.block_sizes.keys():  # a dim whose extent is not known
            self.unrolled = True
            return
        self.whole = {block: self.block_sizes[block] for block in turns}
        self.block_sizes.update(turns)

    @property
    def device_ir_text(self) -> str:
        """The Device IR as Helion prints it, every graph that the kernel reaches."""
        with self.entered():
            return "\n\n".join(str(graph) for graph in self.graphs) + "\n"

    @property
    def graphs(self) -> list[Any]:
        """The graphs that the kernel's roots reach, callees after callers."""
        return [self.infos[i] for i in _reachable(self.device_ir.root_ids, self.infos)]

    @property
    def nodes(self) -> list[Any]:
        """The nodes of these graphs, graph by graph."""
        return [node for info in self.graphs for node in info.graph.nodes]

    @property
    def sources(self) -> dict[str, str]:
        """The file or cell that the kernel stands in."""
        file = self.kernel.fn.__code__.co_filename
        return {file: "".join(linecache.getlines(file))}

    def ranges(self, root: int) -> list[LoopRange]:
        """Begin and end of each dimension of top-level loop `root`."""
        blocks = len(self.device_ir.grid_block_ids[root])
        arguments = private.loop_bounds(self.device_ir, root)
        begins = _spread(arguments[0], blocks) if len(arguments) > 1 and arguments[1] is not None else [0] * blocks
        ends = _spread(arguments[1] if len(arguments) > 1 and arguments[1] is not None else arguments[0], blocks)
        return [LoopRange(b, e) for b, e in zip(begins, ends, strict=True)]


def _reachable(roots: Sequence[int], infos: Sequence[Any]) -> list[int]:
    order: list[int] = []
    pending = list(reversed(roots))
    while pending:
        graph_id = pending.pop()
        if graph_id not in order:
            order.append(graph_id)
            pending += reversed([i for node in infos[graph_id].graph.nodes for i in _called(node)])
    return order


_CALLED = {
    "_for_loop": (0,),
    "_for_loop_step": (0,),
    "_if": (1, 2),
    "_while_loop": (0, 1),
    "_associative_scan": (0,),
    "_reduce": (0,),
}
"""Which arguments of an op are ids of graphs that it runs."""


def _called(node: Any) -> list[int]:
    positions = _CALLED.get(private.target_name(node.target), ()) if node.op == "call_function" else ()
    return [node.args[i] for i in positions if i < len(node.args) and isinstance(node.args[i], int)]


def _spread(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * count
