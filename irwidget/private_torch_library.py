"""PyTorch's private names around `torch.library`: the functions that libraries have registered for operators.

As `irwidget.private_torch`, of which it is a part that needs what is there of PyTorch's dispatcher.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Generator, Iterable, Sequence, Set
from functools import partial
from typing import Any


def _custom_op(operator: Any) -> Any:
    """The definition of a `torch.library.custom_op`; None for every other operator, and for those of torch itself."""
    from torch._library.custom_ops import OPDEFS

    found: Any = OPDEFS.get(str(getattr(operator, "_schema", "")).partition("(")[0].partition(".")[0])
    if found is None:
        return None
    home = str(found._init_fn.__module__)
    return None if home.startswith("torch.") and home != "torch._library.triton" else found  # whose functions wrap one


def custom_op_function(operator: Any) -> Callable[..., Any] | None:
    """The Python function that a `torch.library.custom_op` runs on a GPU; None for every other operator."""
    definition = _custom_op(operator)
    if definition is None:
        return None
    return definition._backend_fns.get("cuda") or definition._backend_fns.get(None) or definition._init_fn


def registered_for_cuda(operator: Any) -> Callable[..., Any] | None:
    """What calls the kernel that `torch.library.Library.impl(name, function, "CUDA")` registered for an operator.

    Or one for all devices, or with its derivative. None where there is no such function, and for torch's own.
    """
    from torch._C import DispatchKey  # pyright: ignore[reportPrivateUsage]
    from torch._ops import OpOverload  # pyright: ignore[reportPrivateImportUsage]

    if not isinstance(operator, OpOverload):
        return None
    keys = ("CUDA", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "AutogradCUDA")
    key = next((key for key in keys if has_function(operator, key)), None)
    if key == "CompositeExplicitAutograd" and _has_kernel(operator.name(), "CPU"):
        return None  # which has one of torch's own for CUDA, too, and that goes first
    if key == "CompositeImplicitAutograd" and _has_kernel(operator.name(), "CPU", "CompositeExplicitAutograd"):
        return None
    if key == "AutogradCUDA" and operator.namespace == "aten":
        return None  # only with its derivative
    if key is None:
        return None
    return partial(_within, partial(operator._op_dk, getattr(DispatchKey, key)))  # pyright: ignore[reportPrivateUsage]


_OF_TORCH = ("prim", "prims", "rngprims", "debugprims", "debug_mode_ops", "export", "_native")
"""Namespaces of operators whose functions in Python are torch's own."""


def has_function(operator: Any, key: str) -> bool:
    """Whether a library has registered a function for an operator and a dispatch key; False for torch's own."""
    namespace, _, name = operator.name().partition("::")
    if namespace in _OF_TORCH or f"{namespace}/{name}/{key}" not in (impls := registered()):
        return False
    return not any(one.startswith(f"_native/{name}_") for one in _native(len(impls)))


def registered() -> Set[str]:
    """What libraries have registered functions for, as PyTorch lists it: `namespace/operator/key`."""
    from torch.library import _impls  # pyright: ignore[reportPrivateUsage]

    return _impls


@functools.lru_cache(1)
def _native(_: int) -> tuple[str, ...]:
    """What torch itself has registered by its own library, among so many."""
    return tuple(one for one in registered() if one.startswith("_native/"))


def with_functions(registered: Iterable[str], *keys: str) -> list[Any]:
    """The operators of what is `registered` for one of some dispatch keys, but torch's own functions."""
    import torch

    found: dict[Any, None] = {}
    for namespace, name, key in (one.split("/") for one in registered):
        if key not in keys or namespace in _OF_TORCH:
            continue
        name, _, overload = name.partition(".")
        packet = getattr(getattr(torch.ops, namespace), name, None)
        operator = getattr(packet, overload or "default", None)
        if operator is not None and has_function(operator, key):
            found[operator] = None
    return list(found)


def is_taken_apart(operator: Any) -> bool:
    """Whether an operator on a CPU is others by the time that a mode sees it, which on a GPU need not be so."""
    return _has_kernel(operator.name(), "CompositeImplicitAutograd") and not _has_kernel(operator.name(), "CPU")


def _has_kernel(name: str, *keys: str) -> bool:
    """Whether an operator has a kernel for one of some dispatch keys, of whatever language."""
    import torch

    has: Callable[[str, str], bool] = torch._C._dispatch_has_kernel_for_dispatch_key  # pyright: ignore
    return any(has(name, key) for key in keys)


def before_modes(operator: Any, *, host: bool) -> Callable[..., Any] | None:
    """What calls the function of a library that runs for an operator on CUDA, or a `host`, before any mode sees it."""
    from torch._C import DispatchKey  # pyright: ignore[reportPrivateUsage]

    kernel = has_function(operator, "CUDA") or _has_kernel(operator.name(), "CPU", "CompositeExplicitAutograd")
    apart = not kernel and _has_kernel(operator.name(), "CompositeImplicitAutograd")
    keys = ("AutogradCUDA",) * (not host) + (("CompositeImplicitAutograd",) if apart else ("Autograd",))
    key = next((key for key in keys if has_function(operator, key)), None)
    if key is None:
        return None
    return partial(_within, partial(operator._op_dk, getattr(DispatchKey, key)))  # pyright: ignore[reportPrivateUsage]


def shown_to_modes(operator: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call an operator as one with a kernel and no derivative: modes see it, not what it is taken apart into."""
    from torch._C import DispatchKey, DispatchKeySet  # pyright: ignore[reportPrivateUsage]

    keys: Any = DispatchKeySet(DispatchKey.AutogradCUDA) | DispatchKeySet(DispatchKey.Python)
    return operator._handle.redispatch_boxed(keys, *args, **kwargs)


def has_numbers(operator: Any, args: Sequence[Any]) -> bool:
    """Whether arguments of an operator, as functions are given them, are numbers in places of tensors."""
    kinds = (str(one.type) for one in operator._schema.arguments)
    return any(
        kind == "Tensor" and isinstance(one, int | float | complex) for kind, one in zip(kinds, args, strict=False)
    )


def _from(operator: Any, key: str, args: Any, kwargs: Any) -> Any:
    """Call an operator from a dispatch key on; numbers may be in places of tensors, as functions are given them."""
    from torch._C import DisableTorchFunction, DispatchKey  # pyright: ignore[reportPrivateUsage]

    with DisableTorchFunction():
        return operator._op_dk(getattr(DispatchKey, key), *args, **kwargs)


@contextlib.contextmanager
def instead_on_cpu(operator: Any, function: Callable[..., Any]) -> Generator[None]:
    """While it lasts, an operator on the CPU is `function(on_cpu, *args, **kwargs)`, before any mode sees it.

    What it is given first calls the operator as it is without this.
    """
    import torch

    of_all = [key for key in ("CompositeImplicitAutograd", "Autograd") if _has_kernel(operator.name(), key)]
    if _has_kernel(operator.name(), "CPU", "CompositeExplicitAutograd"):
        of_all = of_all[-1:] if "Autograd" in of_all else []
    before: Any = torch.library.get_kernel(operator, "AutogradCPU")

    def called(keys: Any, /, *args: Any, **kwargs: Any) -> Any:
        def on_cpu(*args: Any, **kwargs: Any) -> Any:
            return _from(operator, of_all[0], args, kwargs) if of_all else before.call_boxed(keys, *args, **kwargs)

        return function(on_cpu, *args, **kwargs)

    namespace, _, name = operator.name().partition("::")
    make: Callable[..., Any] = torch._C._dispatch_library  # pyright: ignore
    library = make("IMPL", namespace, "", __file__, 0)
    library.impl(name, "AutogradCPU", called, True)
    try:
        yield
    finally:
        library.reset()


def _within(call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call what calls a function of Python, in which modes for functions are on: they do not catch `call` itself."""
    from torch._C import DisableTorchFunction, _EnableTorchFunction  # pyright: ignore[reportPrivateUsage]

    before = sys.getprofile()

    def look(_: Any, event: str, __: Any) -> None:
        if event == "call":  # the function begins
            sys.setprofile(before)
            stack.enter_context(_EnableTorchFunction())

    with DisableTorchFunction(), contextlib.ExitStack() as stack:
        stack.callback(sys.setprofile, before)
        sys.setprofile(look)
        return call(*args, **kwargs)
