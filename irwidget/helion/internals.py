"""Helion's private names that a lowering reads, in one place.

Helion publishes no interface to its Device IR. Everything taken from its
private modules goes through here, so that a change in Helion has one place to
be answered. Nothing is imported before it is asked for.
"""

from __future__ import annotations

import functools
import importlib
import operator
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

SAVED_ARGUMENTS = "irwidget_arguments"
"""Key in `node.meta`: the (args, kwargs) of a node before Helion prepared it for Inductor."""

_patching = threading.RLock()


@functools.cache
def module(name: str) -> Any:
    """A module of Helion by its path below `helion`, imported when first asked for."""
    return importlib.import_module(f"helion.{name}")


def is_kernel(obj: object) -> bool:
    """Whether `obj` is a Helion kernel; never imports Helion."""
    kernel_module = sys.modules.get("helion.runtime.kernel")
    if kernel_module is None:
        return False
    return isinstance(obj, (kernel_module.Kernel, kernel_module.BoundKernel))


@functools.lru_cache(maxsize=4096)
def target_name(target: Any) -> str:
    """The name by which handlers know an FX target.

    `aten.add.Tensor` for an ATen overload, `load`, `_for_loop`, `sym_float`, ...
    for an op of Helion's language and any function, `_operator.add` for Python's
    operators.
    """
    if isinstance(target, str):
        return target
    own_module = str(getattr(target, "__module__", ""))
    name = str(getattr(target, "__name__", target))
    if own_module.startswith("helion.") or isinstance(target, FunctionType):
        return name
    if own_module == operator.add.__module__:
        return f"{own_module}.{name}"
    return str(target)


def node_text(node: Any) -> str:
    """An FX node as a line: `load = load(x, [block_size_0, block_size_2])`, with the arguments that Helion had."""
    args, kwargs = node.meta.get(SAVED_ARGUMENTS, (node.args, node.kwargs))
    shown = [_argument(argument) for argument in args]
    while shown and shown[-1] == "None":
        shown.pop()
    shown += [f"{name}={_argument(value)}" for name, value in kwargs.items() if not name.startswith("_")]
    return f"{node.name} = {target_name(node.target)}({', '.join(shown)})"


def _argument(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_argument, value))}]"
    text = repr(value)
    return text.removeprefix("torch.") if text.startswith("torch.") else text


@contextmanager
def saved_arguments() -> Generator[None]:
    """Save every node's arguments before Helion prepares it for Inductor.

    The preparation replaces duplicate and moved tensor inputs with `None`
    (`x * x` becomes `mul(x, None)`), and keeps the originals nowhere.
    """
    lowering = module("_compiler.inductor_lowering")
    with _patching:
        prepare = lowering.prepare_node_lowering

        def prepare_and_save(graph_lowering: Any, node: Any) -> Any:
            node.meta[SAVED_ARGUMENTS] = (node.args, dict(node.kwargs))
            return prepare(graph_lowering, node)

        lowering.prepare_node_lowering = prepare_and_save
        try:
            yield
        finally:
            lowering.prepare_node_lowering = prepare


PROCESSORS = 132
"""Multiprocessors of the GPU that persistent kernels are laid out for where there is none."""


@contextmanager
def pretended_gpu() -> Generator[None]:
    """Without a GPU, tell how many multiprocessors it has, and have what is made on it made on the CPU."""
    from irwidget import devices

    runtime = module("runtime")
    with _patching, devices.without_gpu():
        real = runtime.get_num_sm
        runtime.get_num_sm = lambda *_args, **_options: PROCESSORS
        try:
            yield
        finally:
            runtime.get_num_sm = real


def private_kernel(kernel: Any) -> Any:
    """A new kernel object over the same function, so that no cache of the user's is touched."""
    kernel_type = module("runtime.kernel").Kernel
    settings = kernel.settings
    return kernel_type(kernel.fn, configs=list(kernel.configs), settings=settings)


def backed_values(shape_env: Any) -> Any:
    """What symbols stood for when the kernel was bound."""
    return getattr(shape_env, "backed_var_to_val", None) or shape_env.var_to_val


def origins() -> Any:
    """The module that says where Helion's symbols and tensors come from."""
    return module("_compiler.variable_origin")


def graph_kinds() -> Any:
    """The module that defines the kinds of Device IR graphs."""
    return module("_compiler.device_ir")


def exceptions() -> Any:
    """Helion's exceptions."""
    return module("exc")
