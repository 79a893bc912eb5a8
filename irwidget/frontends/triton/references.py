"""The cell's own references: what it compares with what launches have written."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton import failures
from irwidget.frontends.triton.launch import LaunchComparison
from irwidget.frontends.triton.ledger import LEDGER, has_memory, name_of, plain, unwatched
from irwidget.frontends.triton.provenance import Provenance, together
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
_Found = list[tuple[_Compared, bool]]
"""What a comparison is one of, and whether each has a side of it as it was written."""
_COMPARING = ("allclose", "equal")
"""Operators that say whether all elements agree."""


class References:
    """Notes the comparisons of a cell beside the launches whose results, or what it makes of them, they look at."""

    def __init__(self) -> None:
        self._provenance: Provenance[_Compared] = Provenance()
        self._doubt = ""
        self._close: dict[int, tuple[private_torch.StorageWeakRef, _Found, Location | None]] = {}
        """The results of `isclose`, by their memory: what was compared, and where."""

    def wrote(self, compared: _Compared, storages: Sequence[torch.UntypedStorage], given: Sequence[Any]) -> None:
        """A launch that was given this has written these; comparisons with them go to its list, to no earlier one's."""
        with as_it_is():
            self._provenance.wrote(compared, storages, [one for value in given for one in tensors(value)])

    def doubted(self, reason: str) -> None:
        """What launches write from now on may be left to chance."""
        self._doubt = self._doubt or reason

    @contextlib.contextmanager
    def watched(self, place: Callable[[], Location | None]) -> Generator[None]:
        """Note what `assert_close`, `allclose`, `equal` and `isclose(...).all()` find, for as long as a cell runs."""

        def watching(func: Any, args: Any, kwargs: Any) -> Callable[[Any], None]:
            done = self._provenance.operation(func, args, kwargs)
            for one in plain(private_torch.written_arguments(func, args, kwargs)) if self._close else ():
                self._close.pop(private_torch.storage_id(one), None)

            def noted(made: Any) -> None:
                done(made)
                self._answered(func, args, made, place)

            return noted

        def noting_close(isclose: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
            def noting(*args: Any, **kwargs: Any) -> torch.Tensor:
                result = isclose(*args, **kwargs)
                self._close_at(result, self._found([*args, *kwargs.values()][:2]), place())
                return result

            return noting

        testing = triton_private.testing()
        with (
            replaced(LEDGER, "watching", watching),
            private_torch.comparisons_wrapped(lambda find: self._noting(find, place)),
            replaced(testing, "assert_close", self._noting(testing.assert_close, place)),
            replaced(torch, "isclose", noting_close(torch.isclose)),
            replaced(torch.Tensor, "isclose", noting_close(torch.Tensor.isclose)),
        ):
            yield

    def _answered(self, func: Any, args: Any, made: Any, place: Callable[[], Location | None]) -> None:
        """Note what an operation says of all elements of tensors that were compared."""
        if (name := name_of(func)) in _COMPARING:
            self._note(self._found(args[:2]), place(), "" if made else f"{name} says no")
        elif str(func) in ("aten.all.default", "aten._local_scalar_dense.default"):
            _, found, where = self._close.get(private_torch.storage_id(args[0]), (None, [], None))
            self._note(found, where, "" if made else "isclose says no")

    def _close_at(self, result: torch.Tensor, found: _Found, place: Location | None) -> None:
        with as_it_is():
            if found and has_memory(result):
                weak = private_torch.StorageWeakRef(result.untyped_storage())
                self._close[weak.cdata] = weak, found, place

    def _noting(self, compare: Callable[..., Any], place: Callable[[], Location | None]) -> Callable[..., Any]:
        """A comparison that raises AssertionError where tensors differ, or returns what differs."""

        def noting(*args: Any, **kwargs: Any) -> Any:
            found = self._found([*args, *kwargs.values()][:2])
            try:
                with replaced(LEDGER, "watching", unwatched):  # it compares by `isclose` itself
                    wrong = compare(*args, **kwargs)
            except AssertionError as error:
                self._note(found, place(), " ".join(str(error).split()))
                raise
            self._note(found, place(), " ".join(str(wrong[0].to_error()).split()) if wrong else "")
            return wrong

        return noting

    def _found(self, sides: Sequence[Any]) -> _Found:
        """The launches that have to do with one side of a comparison, and not with the other, their reference."""
        with as_it_is():
            origins = [together(map(self._provenance.origin, plain(side))) for side in sides]
        return [
            (compared, one.exact)
            for one, other in zip(origins, reversed(origins), strict=True)
            for at, compared in one.of.items()
            if one is not other and at not in other.through
        ]

    def _note(self, found: _Found, place: Location | None, said: str) -> None:
        for compared, exact in found:
            exact = exact and (not said or len(found) == 1)  # of several, nobody knows which is wrong
            compared.append(LaunchComparison(place, not said, said, self._doubt, exact))
