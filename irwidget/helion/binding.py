"""Bind a kernel to its arguments without a GPU, in private.

The user's kernel object, its caches and its namespace stay as they were: a new
kernel object over the same function is bound.
"""

from __future__ import annotations

import contextlib
import inspect
import linecache
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from irwidget.errors import ExportError, UsageError
from irwidget.helion import internals
from irwidget.lazy import cached_property
from irwidget.trace import Location


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
    config: Any
    name: str
    block_sizes: dict[int, int] = field(default_factory=dict[int, int])
    """Tile size of each block that the configuration or the shapes decide."""
    free: frozenset[Any] = frozenset()
    """Symbols of a dynamically bound kernel that stay open: those that no tile's shape depends on."""
    seconds: float = 0.0
    """How long it took."""

    def extent(self, block_id: int) -> int | None:
        """How many lanes of a reduction block exist; None for a tile's block, or where only run time knows."""
        from irwidget.helion.symbols import static_value

        info = self.env.block_sizes[block_id]
        value = static_value(self, info.size) if info.reduction else None
        return None if value is None else int(value)

    def padded_size(self, extent: int) -> int:
        """The size of the tile that holds a full dim of `extent`: larger where Helion padded it."""
        for info in self.env.block_sizes:
            if info.reduction and self.extent(info.block_id) == extent:
                return self.block_sizes.get(info.block_id, extent)
        return extent

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
    def device_ir_text(self) -> str:
        """The Device IR as Helion prints it, every graph that the kernel reaches."""
        with self.entered():
            return "\n\n".join(str(graph) for graph in self.graphs) + "\n"

    @cached_property
    def graphs(self) -> list[Any]:
        """The graphs that the kernel's roots reach, callees after callers."""
        return [self.device_ir.graphs[i] for i in _reachable(self.device_ir)]

    @property
    def sources(self) -> dict[str, str]:
        """The file or cell that the kernel stands in."""
        file = self.kernel.fn.__code__.co_filename
        return {file: "".join(linecache.getlines(file))}

    def ranges(self, root: int) -> list[LoopRange]:
        """Begin and end of each dimension of top-level loop `root`."""
        nodes = [node for phase in self.device_ir.phases for node in phase.root_nodes]
        call = nodes[root].iter
        blocks = len(self.device_ir.grid_block_ids[root])
        arguments = [argument._type_info.proxy() for argument in _flat(call.args)]  # pyright: ignore[reportPrivateUsage]
        for keyword in call.keywords:
            if keyword.arg in ("end_or_none", "end"):
                arguments.append(keyword.value._type_info.proxy())  # pyright: ignore[reportPrivateUsage]
        begins = _spread(arguments[0], blocks) if len(arguments) > 1 and arguments[1] is not None else [0] * blocks
        ends = _spread(arguments[1] if len(arguments) > 1 and arguments[1] is not None else arguments[0], blocks)
        return [LoopRange(b, e) for b, e in zip(begins, ends, strict=True)]


def bind(kernel: Any, args: Sequence[Any], config: Any = None) -> Binding:
    """Bind `kernel` to `args` (CPU or meta tensors, numbers).

    `config` is a `helion.Config` or a dict of its fields; Helion's default
    configuration for these shapes without it.

    Raises:
        UsageError: not a Helion kernel, wrong arguments, a configuration that does not fit.
        ExportError: Helion refuses the kernel; the message names the kernel's line.
    """
    if not internals.is_kernel(kernel):
        raise UsageError(f"{kernel!r} is not a Helion kernel: decorate a function with @helion.kernel().")
    started = time.perf_counter()
    owner = getattr(kernel, "kernel", kernel)
    arguments = tuple(args)
    _check_arguments(owner, arguments)
    private = internals.private_kernel(owner)
    try:
        with internals.saved_arguments(), internals.pretended_gpu():
            arguments = tuple(private.normalize_args(*arguments))
            isolated = getattr(private, "_bind_isolated", None)
            bound = isolated(arguments) if isolated is not None else private.bind(arguments)
    except Exception as error:
        raise _binding_error(owner, error) from error
    binding = Binding(private, bound, arguments, _configuration(bound, config, owner), owner.fn.__name__)
    with binding.entered():
        binding.free = _free_symbols(binding)
        binding.block_sizes.update(_block_sizes(binding))
        tiles = [info.block_id for info in binding.env.block_sizes if not info.reduction]
        unknown = [block for block in tiles if block not in binding.block_sizes]
    if unknown:
        binding.block_sizes.update(_host_sizes(binding, unknown))
    binding.seconds = time.perf_counter() - started
    return binding


def _reachable(device_ir: Any) -> list[int]:
    order: list[int] = []
    pending = list(reversed(device_ir.root_ids))
    while pending:
        graph_id = pending.pop()
        if graph_id not in order:
            order.append(graph_id)
            pending += reversed([i for node in device_ir.graphs[graph_id].graph.nodes for i in _called(node)])
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
    positions = _CALLED.get(internals.target_name(node.target), ()) if node.op == "call_function" else ()
    return [node.args[i] for i in positions if i < len(node.args) and isinstance(node.args[i], int)]


def _flat(nodes: Sequence[Any]) -> list[Any]:
    flat: list[Any] = []
    for node in nodes:
        if type(node).__name__ == "Starred":
            flat += node.value.elts
        else:
            flat.append(node)
    return flat


def _spread(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value] * count


def _check_arguments(kernel: Any, args: tuple[Any, ...]) -> None:
    signature = inspect.signature(kernel.fn)
    try:
        signature.bind(*args)
    except TypeError as error:
        raise UsageError(
            f"{kernel.fn.__name__}{signature} does not take these {len(args)} arguments: {error}."
        ) from error


def _configuration(bound: Any, config: Any, kernel: Any) -> Any:
    if config is None:
        config = kernel.configs[0] if len(kernel.configs) == 1 else bound.config_spec.default_config()
    config_type = internals.module("runtime.config").Config
    if isinstance(config, dict):
        config = config_type(**config)
    if not isinstance(config, config_type):
        raise UsageError(f"A configuration of {kernel.fn.__name__} is a helion.Config or a dict, not {config!r}")
    config = config_type(**dict(config.config))  # normalize() writes into it
    try:
        bound.config_spec.normalize(config)
    except Exception as error:
        raise UsageError(f"The configuration does not fit {kernel.fn.__name__}: {error}") from error
    return config


def _free_symbols(binding: Binding) -> frozenset[Any]:
    """The host's sizes and numbers that Helion left symbolic, less those that a tile's shape depends on, or of 0 or 1.

    Tiles have shapes that are known in advance, as Triton's have: Helion itself
    compiles anew for another size of a dim that a kernel takes whole.
    """
    from irwidget.helion.symbols import expression

    if binding.env.settings.static_shapes:
        return frozenset()
    shapes = [info.size for info in binding.env.block_sizes if info.reduction]
    for info in binding.env.block_sizes:
        if not info.reduction:
            with contextlib.suppress(KeyError, IndexError):
                shapes.append(info.from_config(binding.config))
    for graph in binding.graphs:
        for node in graph.graph.nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and internals.target_name(node.target) != "_host_tensor":
                shapes += value.shape
    replace, known = binding.env.shape_env.replace, binding.host.expr_to_origin
    fixed = {symbol for size in shapes if size is not None for symbol in replace(expression(size)).free_symbols}

    values = internals.backed_values(binding.env.shape_env)

    def is_open(symbol: Any) -> bool:
        same = replace(symbol)  # what Helion found it equal to
        if same in fixed or same not in known:
            return False
        origin = known[same].origin
        small = isinstance(origin, internals.origins().TensorSizeOrigin) and values[symbol] in (0, 1)
        return origin.is_host() and not small

    return frozenset(filter(is_open, values))


def _block_sizes(binding: Binding) -> dict[int, int]:
    """The tile sizes that are plain numbers; exact extents for reduction blocks."""
    from irwidget.helion.symbols import static_value

    sizes: dict[int, int] = {}
    for info in binding.env.block_sizes:
        if info.reduction:
            value = _padded(binding, info)
            if value is None:
                value = static_value(binding, info.size)
        else:
            try:
                value = info.from_config(binding.config)
            except (KeyError, IndexError):
                continue
            value = static_value(binding, value, sizes)
        if value is not None:
            sizes[info.block_id] = int(value)
    return sizes


def _host_sizes(binding: Binding, blocks: Sequence[int]) -> dict[int, int]:
    """The tile sizes that the host function computes, as it passes them to the kernel; none where it cannot run."""
    from irwidget.helion.triton import launches

    try:
        recorded = launches(binding)
    except ExportError:
        return {}
    sizes: dict[int, int] = {}
    for launch in recorded:
        passed = dict(zip(launch.kernel.arg_names, launch.arguments, strict=False))
        for block in blocks:
            if isinstance(size := passed.get(f"_BLOCK_SIZE_{block}"), int):
                sizes[block] = size
    return sizes


def _padded(binding: Binding, info: Any) -> Any:
    """The size that Helion padded a dim to, where it met a tensor made with a padded size; None elsewhere."""
    replaced = binding.env.shape_env.replace(info.symbol())
    return None if replaced.free_symbols else int(replaced)


def _binding_error(kernel: Any, error: Exception) -> ExportError:
    """Say which line of the kernel Helion refuses, and why."""
    code = kernel.fn.__code__
    place = Location(code.co_filename, code.co_firstlineno)
    message = f"{type(error).__name__}: {error}".strip()
    location = getattr(error, "location", None)
    if location is not None and getattr(location, "lineno", None):
        place = Location(location.filename, location.lineno)
    hint = _shadowing_hint(kernel, message)
    if "could not get source code" in message or "OSError" in message.split(":", 1)[0]:
        hint = " The kernel's source must be in a file or a notebook cell."
    return ExportError(f"{place}: Helion cannot bind {kernel.fn.__name__}: {message}{hint}")


def _shadowing_hint(kernel: Any, message: str) -> str:
    """Helion resolves names of a kernel's body against module globals first."""
    if not any(word in message for word in ("unsupported argument type", "CannotModifyHostVariable", "InternalError")):
        return ""
    local = set(kernel.fn.__code__.co_varnames)
    clashes = sorted(local & set(kernel.fn.__globals__))
    if not clashes:
        return ""
    names = ", ".join(clashes)
    return (
        f" The kernel's local name(s) {names} also exist as globals, and Helion looks globals up first: "
        "rename them in the kernel, or delete the globals."
    )
