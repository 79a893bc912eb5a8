"""Functions that libraries have registered for operators and CUDA, called as on a GPU.

Tensors are on the CPU, where PyTorch takes many operators apart, or runs what it has for their derivatives, before a
mode sees them (`softmax`, `linear`, `layer_norm`): what a library has for CUDA in their place would not be called.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch

from irwidget import private_torch_library as library
from irwidget.frontends.triton.scopes import replaced

Run = Callable[[Any, Callable[..., Any], Any, Any], Any]
"""What runs an operator that no mode sees: given the operator, what runs it as PyTorch does on a CPU, and arguments."""

_EARLY = ("AutogradCUDA", "Autograd", "CompositeImplicitAutograd")
"""Keys whose functions run before a mode sees the operator."""


@contextlib.contextmanager
def called(run: Run) -> Generator[None]:
    """While it lasts, operators with functions for CUDA that no mode would see are run by `run`.

    Also those for which a library registers one meanwhile.
    """
    caught: set[Any] = set()
    with ExitStack() as stack:

        def catch(entries: Iterable[str]) -> None:
            for operator in library.with_functions(entries, "CUDA", *_EARLY):
                if operator not in caught and _early(operator):
                    caught.add(operator)
                    stack.enter_context(library.instead_on_cpu(operator, partial(_run, run, operator)))

        register = torch.library.Library.impl

        def impl(self: Any, *args: Any, **kwargs: Any) -> Any:
            before = set(library.registered())
            register(self, *args, **kwargs)
            catch(library.registered() - before)

        catch(sorted(library.registered()))
        stack.enter_context(replaced(torch.library.Library, "impl", impl))
        yield


def _early(operator: Any) -> bool:
    """Whether what a library has for an operator runs, on a GPU, before any mode sees it here."""
    if library.custom_op_function(operator):
        return False
    if any(library.has_function(operator, key) for key in _EARLY):
        return True
    return library.is_taken_apart(operator)


def _run(run: Run, operator: Any, on_cpu: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    if not any(library.has_function(operator, key) for key in ("CUDA", *_EARLY)):  # any more
        return on_cpu(*args, **kwargs)
    return run(operator, on_cpu, args, kwargs)
