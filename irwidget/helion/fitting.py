"""Whether arguments fit a module that was made for others: what it has as it was bound may not be something else."""

from __future__ import annotations

import inspect
import numbers
import types
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from irwidget.errors import UsageError
from irwidget.helion.binding import check_arguments, kind
from irwidget.helion.bound import Binding
from irwidget.helion.symbols import expression, static_value
from irwidget.private_torch import FakeTensor, pytree

_CONSTANTS = (
    *(int, float, bool, str, type(None), torch.dtype, torch.device),
    *(types.FunctionType, types.BuiltinFunctionType),
)
"""What Helion puts into a kernel as it is, and can be compared."""
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def check(binding: Binding, arguments: Sequence[Any]) -> None:
    """Refuse what the module was not made for: dims that stayed open take any size, equal ones the same.

    Raises:
        UsageError: another number of arguments or structure of one, tensors without data or of another dtype or shape,
            another value of what is a constant of the module.
    """
    check_arguments(binding.kernel, tuple(arguments))
    sizes: dict[Any, int] = {}
    for name, fake, bound, given in _leaves(binding, arguments):
        if isinstance(fake, torch.Tensor) and isinstance(given, torch.Tensor):
            _check_tensor(binding, name, fake, given, sizes)
        else:
            _check_value(binding, name, fake, bound, given)


def _leaves(binding: Binding, arguments: Sequence[Any]) -> Iterator[tuple[str, Any, Any, Any]]:
    """The name of each tensor or other value of the arguments, Helion's stand-in, what was bound, and what is given."""
    signature = inspect.signature(binding.kernel.fn)
    names = list(signature.parameters)
    filled = signature.bind(*arguments)
    filled.apply_defaults()
    for place, (bound, fake, given) in enumerate(
        zip(binding.arguments, binding.bound.fake_args, filled.args, strict=False)
    ):
        name = names[min(place, len(names) - 1)]
        (known, structure), (own, other) = pytree.tree_flatten_with_path(bound), pytree.tree_flatten_with_path(given)
        if structure != other:
            raise _other(name, bound, given)
        for (path, leaf), stand_in, (_, value) in zip(known, pytree.tree_leaves(fake), own, strict=False):
            yield name + pytree.keystr(path), stand_in, leaf, value


def _check_tensor(binding: Binding, name: str, fake: torch.Tensor, given: torch.Tensor, sizes: dict[Any, int]) -> None:
    """Compare dtype and shape; `sizes` has what open sizes have been so far."""
    if given.device.type == "meta" or isinstance(given, FakeTensor):
        no_data = "fake" if isinstance(given, FakeTensor) else "meta"
        raise UsageError(f"Running needs tensors with data; these are {no_data} tensors.")
    replace = binding.env.shape_env.replace
    with binding.entered():
        wanted = [static_value(binding, size) for size in fake.shape]
    fits = given.dtype == fake.dtype and given.ndim == fake.ndim
    for size, symbol, number in zip(given.shape, fake.shape, wanted, strict=False):
        expected = sizes.setdefault(replace(expression(symbol)), size) if number is None else number
        fits = fits and size == expected and (number is not None or size > 1)
    if not fits:
        shape = ", ".join("?" if number is None else str(number) for number in wanted) + "," * (len(wanted) == 1)
        opened = " (? is any size but 0 and 1)" if "?" in shape else ""
        raise UsageError(
            f"The kernel was lowered for ({shape}) {fake.dtype}{opened}, "
            f"not {tuple(given.shape)} {given.dtype} for {name}."
        )


def _check_value(binding: Binding, name: str, fake: Any, bound: Any, given: Any) -> None:
    """Numbers may be others where Helion has a symbol for them whose value is not known."""
    if given is bound:
        return
    integral = isinstance(fake, torch.SymInt)
    if isinstance(fake, _SYMBOLS) and isinstance(given, numbers.Integral if integral else numbers.Real):
        with binding.entered():
            number = static_value(binding, fake)
        fits = number is None or number == given
    elif type(given) is type(bound):
        fits = not isinstance(bound, _CONSTANTS) or _is_same(bound, given)
    else:
        fits = False
    if not fits:
        raise _other(name, bound, given)


def check_tile(binding: Binding, block: int, size: int, given: Any) -> None:
    """Refuse a tile size that the host computes when it is not that of the module. Raises UsageError."""
    if given != size:
        raise UsageError(
            f"{binding.name} was lowered for arguments of which its host function makes tiles of {size} lanes "
            f"(block_size_{block}); of these it makes {given}: lower it for these arguments."
        )


def _is_same(bound: Any, given: Any) -> bool:
    """Whether two constants are equal; functions are when they have the same code, defaults and closures."""
    if type(bound) is not type(given):
        return False
    if not isinstance(bound, types.FunctionType):
        return bound is given or (isinstance(bound, _CONSTANTS) and bool(bound == given))
    ours, theirs = _parts(bound), _parts(given)
    return bound.__code__ == given.__code__ and len(ours) == len(theirs) and all(map(_is_same, ours, theirs))


def _parts(function: types.FunctionType) -> list[Any]:
    """What a function has that its code does not say."""
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return [*defaults, *(cell.cell_contents for cell in function.__closure__ or ())]


def _other(name: str, bound: Any, given: Any) -> UsageError:
    return UsageError(f"It was lowered for {kind(bound)} as {name}, not {kind(given)}: lower it for these arguments.")
