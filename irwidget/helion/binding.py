"""Bind a kernel to its arguments without a GPU, in private.

The user's kernel object, its caches and its namespace stay as they were: a new
kernel object over the same function is bound.
"""

from __future__ import annotations

import contextlib
import inspect
import numbers
import re
import time
import types
from collections.abc import Sequence
from typing import Any

import torch

from irwidget.errors import ExportError, UsageError
from irwidget.helion import configuration, private, refusals
from irwidget.helion.bound import Binding
from irwidget.helion.configuration import Chosen
from irwidget.helion.symbols import expression, static_value
from irwidget.helion.triton import launches
from irwidget.private_torch import pytree


def bind(kernel: Any, args: Sequence[Any], config: Any = None, *, open_tiles: bool = False) -> Binding:
    """Bind `kernel` to `args` (CPU or meta tensors, numbers).

    `config` is a `helion.Config`, a dict of its fields, or a text of them, see
    `configuration.choose`; without it the decorator's, else Helion's default for these shapes.
    With `open_tiles`, the sizes of tiles that a configuration says stay open; those of this one are the largest.

    Raises:
        UsageError: not a Helion kernel, wrong arguments, a configuration that does not fit.
        ExportError: Helion refuses the kernel; the message names the kernel's line.
    """
    if not private.is_kernel(kernel):
        what = f"{kind(kernel)} is not a Helion kernel"
        if private.is_kernel(args):
            raise UsageError(f"{what}. The kernel comes first, then its arguments: (kernel, (x, y)).")
        raise UsageError(f"{what}: decorate a function with @helion.kernel().")
    started = time.perf_counter()
    owner = getattr(kernel, "kernel", kernel)
    if isinstance(args, torch.Tensor) or not isinstance(args, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        name = owner.fn.__name__
        raise UsageError(f"The arguments of {name} are one tuple, as in ({name}, (x, y)), not {kind(args)}.")
    arguments = tuple(args)
    check_arguments(owner, arguments)
    copied = private.copied_kernel(owner)
    try:
        with private.suppressed_logs(), private.saved_arguments(), private.pretended_gpu():
            arguments, bound = private.bind(copied, arguments)
    except Exception as error:
        raise _binding_error(owner, error, arguments) from error
    chosen = configuration.choose(bound, owner, config)
    binding = Binding(copied, bound, arguments, chosen, owner.fn.__name__)
    with binding.entered():
        binding.rolled = private.rolled_graphs(bound, binding.config)
        binding.free = _free_symbols(binding)
        binding.block_sizes.update(_block_sizes(binding))
        if open_tiles:
            tuned = [info.block_id for info in binding.env.block_sizes if private.is_tuned(info)]
            binding.open_blocks = {b: f"_irwidget_block_size_{b}" for b in tuned if b in binding.block_sizes}
        tiles = [info.block_id for info in binding.env.block_sizes if not info.reduction]
        unknown = [block for block in tiles if block not in binding.block_sizes]
    if unknown:
        # apart: generating code for these arguments, Helion takes some to be what they are now
        again = private.copied_kernel(owner)
        with private.suppressed_logs(), private.saved_arguments(), private.pretended_gpu():
            apart = Binding(again, private.bind(again, arguments)[1], arguments, chosen, binding.name)
        binding.host_sizes = _host_sizes(apart, unknown)
        binding.block_sizes.update(binding.host_sizes)
    binding.roll()
    binding.seconds = time.perf_counter() - started
    return binding


_NUMBERS = (int, float, bool, "int", "float", "bool")
_TAKEN_AS_NUMBERS = (numbers.Real, torch.SymInt, torch.SymFloat, torch.SymBool)


def check_arguments(kernel: Any, args: tuple[Any, ...]) -> None:
    """Raise UsageError for arguments whose number or kinds are not the kernel's."""
    signature = inspect.signature(kernel.fn)
    name = f"{kernel.fn.__name__}({', '.join(signature.parameters)})"
    try:
        given = signature.bind(*args).arguments
    except TypeError as error:
        one = len(args) == 1 and isinstance(args[0], (tuple, list))
        hint = f" They are in a {type(args[0]).__name__} of their own: leave that out." if one else ""
        raise UsageError(f"{name} does not take these {len(args)} arguments: {error}.{hint}") from error
    hints = inspect.get_annotations(kernel.fn, eval_str=False)
    for parameter, value in given.items():
        value = value.value if isinstance(value, private.module("language").constexpr) else value
        tensor = hints.get(parameter) in (torch.Tensor, "torch.Tensor", "Tensor")
        if tensor and not isinstance(value, torch.Tensor):
            raise UsageError(f"{name} takes a tensor as {parameter}, not {kind(value)}.")
        for tensor in pytree.tree_leaves(value):
            if isinstance(tensor, torch.Tensor) and (reason := _not_plain(tensor)):
                raise UsageError(f"{name} takes a dense tensor as {parameter}, not {reason}.")
        default = signature.parameters[parameter].default
        if hints.get(parameter) in _NUMBERS and value is not default and not isinstance(value, _TAKEN_AS_NUMBERS):
            raise UsageError(f"{name} takes a number as {parameter}, not {kind(value)}.")


def _not_plain(tensor: torch.Tensor) -> str:
    """What a tensor is whose elements do not lie in memory as it says; empty for one whose do."""
    if tensor.is_nested:
        return "a nested one"
    if tensor.layout != torch.strided:
        return f"one of layout {str(tensor.layout).removeprefix('torch.')}"
    if tensor.is_neg():
        return "a view that is yet to be negated: pass tensor.resolve_neg()"
    return "a view that is yet to be conjugated: pass tensor.resolve_conj()" if tensor.is_conj() else ""


def kind(value: Any) -> str:
    """A value in a few words."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, (bool, int, float, complex, str)) or value is None or callable(value):
        return f"{value!r:.60} ({type(value).__name__})"
    return f"an object of type {type(value).__name__}"


def _free_symbols(binding: Binding) -> frozenset[Any]:
    """The host's sizes and numbers that Helion left symbolic, less those that a tile's shape depends on, or of 0 or 1.

    Tiles have shapes that are known in advance, as Triton's have: Helion itself
    compiles anew for another size of a dim that a kernel takes whole.
    """
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
            if isinstance(value, torch.Tensor) and private.target_name(node.target) != "_host_tensor":
                shapes += value.shape
    replace, known = binding.env.shape_env.replace, binding.host.expr_to_origin
    fixed = {symbol for size in shapes if size is not None for symbol in replace(expression(size)).free_symbols}

    values = private.backed_values(binding.env.shape_env)
    tensors = [fake for fake in binding.bound.fake_args if isinstance(fake, torch.Tensor)]
    sizes = {replace(expression(size)) for fake in tensors for size in fake.shape}

    def is_open(symbol: Any) -> bool:
        same = replace(symbol)  # what Helion found it equal to
        if same in fixed or same not in known:
            return False
        origin = private.origin_of(binding.host, same)
        is_size = isinstance(origin, private.origins().TensorSizeOrigin) or same in sizes
        small = is_size and values[symbol] in (0, 1)
        return origin.is_host() and not small

    return frozenset(filter(is_open, values))


def _block_sizes(binding: Binding) -> dict[int, int]:
    """The tile sizes that are plain numbers; exact extents for reduction blocks."""
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
            if value is None:
                value = _padded(binding, info)
        if value is not None:
            sizes[info.block_id] = int(value)
    return sizes


def open_sizes(binding: Binding, chosen: Chosen) -> dict[str, int]:
    """The tile sizes that a configuration says where they are open, by the names that the module asks for.

    Raises:
        UsageError: one is larger than the tiles of the module.
    """
    sizes: dict[str, int] = {}
    with binding.entered():
        for block, name in binding.open_blocks.items():
            size = static_value(binding, binding.env.block_sizes[block].from_config(chosen.config))
            largest = binding.block_sizes[block]
            if not isinstance(size, int) or size > largest:
                raise UsageError(
                    f"The tiles of {binding.name} have up to {largest} lanes for block_size_{block}, "
                    f"not {size}: lower it with a configuration that has the largest."
                )
            sizes[name] = size
    return sizes


def _host_sizes(binding: Binding, blocks: Sequence[int]) -> dict[int, int]:
    """The tile sizes that the host function computes, as it passes them to the kernel; none where it cannot run."""
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
    """What Helion has found the size of a block to be: padded as a tensor that it met, or 1; None where it is open."""
    replaced = binding.env.shape_env.replace(info.symbol())
    return None if replaced.free_symbols else int(replaced)


def _binding_error(kernel: Any, error: Exception, arguments: tuple[Any, ...]) -> ExportError:
    """Say which line of the kernel Helion refuses, and why."""
    message = "\n".join([refusals.told(error), *getattr(error, "__notes__", ())])
    hint = _shadowing_hint(kernel, message, arguments)
    if "could not get source code" in message or "OSError" in message.split(":", 1)[0]:
        hint = "\nThe kernel's source must be in a file or a notebook cell."
    where = refusals.place(kernel, error)
    return ExportError(f"{where}: Helion cannot bind {kernel.fn.__name__}: {message}{hint}")


def _speaks_of(message: str, name: str, value: object) -> bool:
    """Whether a message names a global, or the type of its value."""
    words = re.findall(r"\w+", message)
    return name in words or type(value).__name__ in words


def _shadowing_hint(kernel: Any, message: str, arguments: tuple[Any, ...]) -> str:
    """Helion resolves names of a kernel's body against module globals first: said where it goes on without these."""
    if not any(word in message for word in ("unsupported argument type", "CannotModifyHostVariable", "InternalError")):
        return ""
    names = kernel.fn.__globals__
    local = [name for name in kernel.fn.__code__.co_varnames if name in names]
    clashes = sorted(name for name in local if _speaks_of(message, name, names[name]))
    if not clashes:
        return ""

    before = _refused_without((), kernel, arguments)

    def cured(hidden: Sequence[str]) -> bool:
        again = _refused_without(hidden, kernel, arguments)
        return not again or (again != before and not message.startswith(again))

    if not cured(clashes):
        return ""
    causes = [name for name in clashes if not cured([other for other in clashes if other != name])]
    names = ", ".join(causes or clashes)
    return (
        f"\nThe kernel's local name(s) {names} also exist as globals, and Helion looks globals up first: "
        "rename them in the kernel, or delete the globals."
    )


def _refused_without(names: Sequence[str], kernel: Any, arguments: tuple[Any, ...]) -> str:
    """What Helion says of a kernel that does not see some globals; empty where it takes it."""
    own = kernel.fn
    seen = {name: value for name, value in own.__globals__.items() if name not in names}
    function = types.FunctionType(own.__code__, seen, own.__name__, own.__defaults__, own.__closure__)
    function.__kwdefaults__, function.__annotations__ = own.__kwdefaults__, own.__annotations__
    try:
        with private.suppressed_logs(), private.saved_arguments(), private.pretended_gpu():
            private.bind(private.copied_kernel(kernel, function), arguments)
    except Exception as error:
        return refusals.told(error)
    return ""
