"""Named dims and the hints that a user gives over them."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from irwidget.errors import UnsupportedError, UsageError


@dataclass(frozen=True, slots=True)
class Hint:
    """One `spyre_hint` scope."""

    scope: int
    """Numbers the scopes of a function in the order in which they were entered."""
    work_div: tuple[tuple[str, int], ...] = ()
    slices: tuple[tuple[str, int], ...] = ()
    named_dims: tuple[str, ...] = ()
    """What the dims of the results in it are called."""


_active: ContextVar[tuple[Hint, ...]] = ContextVar("spyre_hints", default=())
_entered: ContextVar[int] = ContextVar("spyre_hints_entered", default=0)
_names: ContextVar[dict[int, tuple[str, ...]] | None] = ContextVar("spyre_dim_names", default=None)


def active_hints() -> tuple[Hint, ...]:
    """The scopes around the op that is being traced, outermost first."""
    return _active.get()


@contextmanager
def spyre_hint(
    work_div: Mapping[str, int] | None = None,
    slices: Mapping[str, int] | None = None,
    tiles: Mapping[str, int] | None = None,
    num_tiles_per_dim: Mapping[str, int] | None = None,
    named_dims: Sequence[str] | None = None,
) -> Generator[None]:
    """Ask for a work division (`work_div`) or a counted loop (`slices`) over named dims.

    Used inside the function that is compiled. `tiles` and `num_tiles_per_dim` are other names of
    `slices`; one scope tiles one dim, nested scopes make nested loops. Values are positive integers. `named_dims` names
    the dims of what is made in the scope, one name per dim: of a `torch.full`, say, which no input names.

    Raises UsageError for several dims in one scope, UnsupportedError for other values.
    """
    loops = dict(slices or tiles or num_tiles_per_dim or {})
    if len(loops) > 1:
        raise UsageError(f"spyre_hint(slices=...): one dim per scope, not {sorted(loops)}. Nest the scopes instead.")
    for kind, given in (("work_div", work_div or {}), ("slices", loops)):
        for name, count in given.items():
            if not isinstance(count, int) or isinstance(count, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise UnsupportedError(f"spyre_hint({kind}=...): {name}={count!r} is no integer.")
            if count < 1:
                raise UnsupportedError(f"spyre_hint({kind}=...): {name}={count} is not positive.")
    number = _entered.get()
    _entered.set(number + 1)
    hint = Hint(number, tuple((work_div or {}).items()), tuple(loops.items()), tuple(named_dims or ()))
    token = _active.set((*_active.get(), hint))
    try:
        yield
    finally:
        _active.reset(token)


@contextmanager
def fresh_hints(names: dict[int, tuple[str, ...]]) -> Generator[None]:
    """A clean slate for one trace; `names` collects what `name_tensor_dims` says, by id of the tensor's storage."""
    tokens = _active.set(()), _entered.set(0), _names.set(names)
    try:
        yield
    finally:
        _active.reset(tokens[0])
        _entered.reset(tokens[1])
        _names.reset(tokens[2])


def name_tensor_dims(tensor: object, dims: list[str]) -> None:
    """Name the dims of a tensor inside the function that is compiled, one name per dim."""
    names = _names.get()
    if names is None:
        return
    names[id(tensor)] = tuple(dims)


def declare_tensor_dim(name: str, size: int) -> str:
    """Declare a named dim; the name itself is what hints and `name_tensor_dims` take."""
    if size < 1:
        raise UsageError(f"declare_tensor_dim({name!r}, {size}): a dim has at least one element.")
    return name
