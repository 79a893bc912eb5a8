"""The cell's own references: what it compares with what launches have written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton import failures
from irwidget.frontends.triton.launch import LaunchComparison
from irwidget.frontends.triton.ledger import LEDGER
from irwidget.frontends.triton.scopes import as_it_is, replaced
from irwidget.frontends.triton.stand_ins import tensors
from irwidget.toolchain import triton_private
from irwidget.trace import Location


def not_compared(place: Location | None, error: BaseException) -> str:
    """What there is to say of a comparison that is left out, for which there are no values."""
    why = failures.why_no_value(error) or "they have none without a GPU"
    return f"not checked: {place} compares what is not known: {why}. --run executes all launches"


@contextlib.contextmanager
def left_out(tell: Callable[[str], None], place: Callable[[], Location | None]) -> Generator[None]:
    """Go on after `assert_close` of tensors without values, whose shapes and types only are compared then.

    `tell` is told so. Comparisons whose result the cell gets, as `allclose`, end it as every reading of values does,
    unless only an `assert` looks at them (see `asserted`).
    """

    def without_values(compare: Callable[..., Any], otherwise: Callable[[], Any]) -> Callable[..., Any]:
        def comparing(*args: Any, **kwargs: Any) -> Any:
            try:
                return compare(*args, **kwargs)
            except Exception as error:
                if not failures.needs_values(error):
                    raise
                tell(not_compared(place(), error))
            return otherwise()

        return comparing

    testing = triton_private.testing()
    with (
        private_torch.comparisons_wrapped(lambda found: without_values(found, list)),
        replaced(testing, "assert_close", without_values(testing.assert_close, lambda: None)),
    ):
        yield


_Compared = list[LaunchComparison]


class References:
    """Notes the comparisons of a cell beside the launches whose results, or copies of them, they look at."""

    def __init__(self) -> None:
        self._written: dict[int, tuple[private_torch.StorageWeakRef, list[_Compared]]] = {}
        """By what torch knows a storage by, which is no other's as long as there is a reference, a weak one too."""
        self._doubt = ""

    def wrote(self, compared: _Compared, storages: Sequence[torch.UntypedStorage]) -> None:
        """A launch has written these; comparisons with them go to its list. The last that wrote is what is compared."""
        for storage in storages:
            held = private_torch.StorageWeakRef(storage)
            self._written[held.cdata] = held, [compared]

    def _copied(self, source: torch.Tensor, target: torch.Tensor) -> None:
        """Comparisons with a tensor are those with what was copied to it, too."""
        _, lists = self._written.get(private_torch.storage_id(source), (None, []))
        if lists:
            held = private_torch.StorageWeakRef(target.untyped_storage())
            _, more = self._written.get(held.cdata, (None, []))
            self._written[held.cdata] = held, [*more, *(one for one in lists if not any(one is two for two in more))]

    def doubted(self, reason: str) -> None:
        """What launches write from now on may be left to chance."""
        self._doubt = self._doubt or reason

    @contextlib.contextmanager
    def watched(self, place: Callable[[], Location | None]) -> Generator[None]:
        """Note what `assert_close`, `allclose` and `equal` find, for as long as a cell runs."""
        homes = ((torch.testing, "assert_close"), (triton_private.testing(), "assert_close"))
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(LEDGER, "copied", self._copied))
            for owner, name in (*homes, (torch, "allclose"), (torch, "equal")):
                stack.enter_context(replaced(owner, name, self._noting(getattr(owner, name), place)))
            yield

    def _noting(self, compare: Callable[..., Any], place: Callable[[], Location | None]) -> Callable[..., Any]:
        def noting(*args: Any, **kwargs: Any) -> Any:
            try:
                result = compare(*args, **kwargs)
            except AssertionError as error:
                self._note(args, kwargs, LaunchComparison(place(), False, " ".join(str(error).split()), self._doubt))
                raise
            words = "" if result is None or result else f"{compare.__name__} says no"
            self._note(args, kwargs, LaunchComparison(place(), not words, words, self._doubt))
            return result

        return noting

    def _note(self, args: tuple[Any, ...], kwargs: dict[str, Any], comparison: LaunchComparison) -> None:
        with as_it_is():
            given = (tensor for value in (*args, *kwargs.values()) for tensor in tensors(value))
            seen = {private_torch.storage_id(tensor) for tensor in given}
        lists = {id(one): one for storage in seen & self._written.keys() for one in self._written[storage][1]}
        for compared in lists.values():
            compared.append(comparison)
