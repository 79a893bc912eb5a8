"""The cell's own references: what it compares with what launches have written."""

from __future__ import annotations

import contextlib
import functools
import itertools
import operator
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.nn import functional

from irwidget import private_numpy, private_torch
from irwidget.frontends.triton import arrays, failures
from irwidget.frontends.triton.asserted import Use
from irwidget.frontends.triton.differences import (
    Answer,
    Compared,
    Differences,
    Found,
    Kept,
    Says,
    answered,
    kept_beside,
    number,
    told,
)
from irwidget.frontends.triton.distances import Elements, distance
from irwidget.frontends.triton.launch import LaunchComparison
from irwidget.frontends.triton.ledger import LEDGER, name_of, plain, unwatched
from irwidget.frontends.triton.provenance import Origin, Provenance, together
from irwidget.frontends.triton.scopes import as_it_is, replaced
from irwidget.frontends.triton.stand_ins import tensors
from irwidget.frontends.triton.user_lines import bounding, calling_line, using
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


_BY_SIGN: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_COMPARING = ("allclose", "equal")
"""Operators that say whether all elements agree."""


class References:
    """Notes the comparisons of a cell beside the launches whose results, or what it makes of them, they look at."""

    def __init__(self) -> None:
        self._provenance: Provenance[Compared] = Provenance()
        self._doubt = ""
        self._differences = Differences(self._found, lambda tensor: bool(self._provenance.origin(tensor).of))
        self._running = False
        self._launches: dict[int, tuple[str, dict[int, Compared]]] = {}
        """Names of launches, by the `id` of their list, and the lists of those that they were given results of."""
        self._arrays: dict[int, tuple[private_torch.StorageWeakRef, int]] = {}
        """A sum of what memory held when it was given to NumPy, which may write there unseen."""

    def wrote(
        self, name: str, compared: Compared, storages: Sequence[torch.UntypedStorage], given: Sequence[Any]
    ) -> None:
        """A launch that was given this has written these; comparisons with them go to its list, to no earlier one's."""
        with as_it_is():
            before = [one for value in given for one in tensors(value)]
            self._launches.setdefault(id(compared), (name, {}))[1].update(
                together(map(self._provenance.origin, before)).through
            )
            self._provenance.wrote(compared, storages, before)
            for storage in storages:
                self._arrays.pop(private_torch.storage_key(storage), None)

    def doubted(self, reason: str) -> None:
        """What launches write from now on may be left to chance."""
        self._doubt = self._doubt or reason

    @contextlib.contextmanager
    def watched(self) -> Generator[None]:
        """Note what a cell compares as long as it runs, by functions, operators, and numbers that it reads."""
        testing = triton_private.testing()
        shown = ("item", "__float__", "__repr__", "__format__")
        with contextlib.ExitStack() as stack:
            stack.enter_context(replaced(self, "_running", True))
            for context in (
                replaced(LEDGER, "watching", self._watching),
                private_torch.comparisons_wrapped(self._noting),
                private_numpy.comparisons_wrapped(self._noting, self._noting_truth),
                replaced(testing, "assert_close", self._noting(testing.assert_close)),
                replaced(torch, "isclose", self._noting_close(torch.isclose)),
                replaced(torch.Tensor, "isclose", self._noting_close(torch.Tensor.isclose)),
                replaced(torch, "cosine_similarity", self._noting_direction(torch.cosine_similarity)),
                replaced(functional, "cosine_similarity", self._noting_direction(functional.cosine_similarity)),
                *(replaced(torch.Tensor, name, self._noting_shown(getattr(torch.Tensor, name))) for name in shown),
                replaced(torch.Tensor, "tolist", self._listing(torch.Tensor.tolist)),
                *(replaced(torch, name, self._taking(getattr(torch, name))) for name in _MAKING),
                *(replaced(torch.Tensor, name, self._giving(getattr(torch.Tensor, name))) for name in _ARRAYS),
            ):
                stack.enter_context(context)
            yield

    def _watching(self, func: Any, args: Any, kwargs: Any) -> Callable[[Any], None]:
        done = self._provenance.operation(func, args, kwargs)
        answer = self._differences.operation(func, args, kwargs)
        found = self._found(args[:2]) if name_of(func) in _COMPARING else []

        def noted(made: Any) -> None:
            done(made)
            if found:
                name = name_of(func)
                bits = name == "equal" and args[0].is_floating_point()
                self._note(Answer(found, made, "" if made else f"{name} says no", bits=bits))
            elif said := answer(made):
                self._note(said)

        return noted

    def _noting_close(self, isclose: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """`isclose`, whose result is looked at when it is taken together, at once where it is one element."""

        def noting(*args: Any, **kwargs: Any) -> torch.Tensor:
            with replaced(LEDGER, "watching", unwatched):
                result = isclose(*args, **kwargs)
            with as_it_is():
                kept = Kept(self._found([*args, *kwargs.values()][:2]), Says.AGREES, "isclose")
                if result.numel() == 1 and kept.found:
                    self._note(answered(kept, bool(result), "isclose says no"))
                else:
                    self._differences.keep(result, kept)
            return result

        return noting

    def _noting_direction(self, similarity: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """`cosine_similarity`, whose result says how near results are to their reference, but for their length."""

        def noting(*args: Any, **kwargs: Any) -> torch.Tensor:
            found = self._found([*args, *kwargs.values()][:2])
            result = similarity(*args, **kwargs)
            with as_it_is():
                self._differences.keep(result, Kept(found, Says.HOW_NEAR, blind=True))
            return result

        return noting

    def _noting_shown(self, show: Callable[..., Any]) -> Callable[..., Any]:
        """A method by which a cell reads one number; where that is how far results are off, it goes on to tell."""

        def shown(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            kept = self._differences.of(tensor) if self._running else None
            with replaced(self, "_running", False) if kept else contextlib.nullcontext():  # it comes by here again
                value = show(tensor, *args, **kwargs)
            with as_it_is():
                far = number(tensor) if kept and tensor.numel() == 1 else None
            return value if far is None else self._read(kept, show.__name__, far, value)

        return shown

    def _read(self, kept: Kept | None, how: str, far: Any, value: Any) -> Any:
        """Note that the cell reads how far, or near, results are: this value, given so that it goes on to tell."""
        if kept is None or kept.says not in (Says.HOW_FAR, Says.HOW_NEAR):
            return value
        for compared, _ in kept.found if kept.says is Says.HOW_FAR else ():
            compared.append(LaunchComparison(calling_line(), None, f"{far:.6g}", self._doubt, False))
        if how == "__float__" and (asked := bounding()):  # Python takes a float only, and no other class
            by, bound, use = asked
            self._compared(kept, far, by, bound, _BY_SIGN[by](far, bound), use)
        return distance(value, functools.partial(self._compared, kept)) if how == "item" else value

    def _listing(self, give: Callable[..., Any]) -> Callable[..., Any]:
        """`tolist` of a tensor, whose result goes on to tell what it is compared with."""

        def listing(tensor: torch.Tensor) -> Any:
            values = give(tensor)
            with as_it_is():
                origin = together(map(self._provenance.origin, plain(tensor))) if self._running else None
            if origin is None or not origin.of or not isinstance(values, list):
                return values
            made = Elements(values)
            made.origin, made.told = origin, self._lists
            return made

        return listing

    def _lists(self, one: Elements, other: object, by: str, holds: bool) -> None:
        """Note what the cell compares a tensor's elements with."""
        if not self._running or not isinstance(other, list):
            return
        found = _apart([one.origin, getattr(other, "origin", None) or Origin({}, {}, True)])
        bits = any(isinstance(value, float) for value in _flat(one))
        said = f"{by} of lists says {'yes' if holds else 'no'}"
        self._note(answered(Kept(found, Says.AGREES if by == "==" else Says.DIFFERS, by, bits), holds, said))

    def _giving(self, give: Callable[..., Any]) -> Callable[..., Any]:
        """A method that gives a tensor's memory to NumPy."""

        def given(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            array = give(tensor, *args, **kwargs)
            with as_it_is():
                known = plain(private_numpy.tensors(array)) if self._running else []
                for one in known if any(self._provenance.origin(one).of for one in known) else ():
                    storage = one.untyped_storage()
                    self._arrays[private_torch.storage_id(one)] = private_torch.StorageWeakRef(storage), _sum(storage)
                    array = arrays.followed(array, self._array)
            return array

        return given

    def _array(self, name: str, given: Sequence[Any], made: Any) -> Any:
        """Note what NumPy has computed; gives it so that it is followed on."""
        if not self._running or LEDGER.watching is unwatched:
            return made
        with as_it_is():
            args = [arrays.as_tensor(one) for one in given]
            known, result = plain(args), arrays.as_tensor(made)
            if any(one is None for one in args) or not all(map(self._is_as_given, known)):
                return made
            if name in ("item", "__float__"):
                return self._read(self._differences.of(args[0]), name, made, made)
            kept = self._differences.made(name, args, {}) if name else None
            if name == "isclose":
                kept = Kept(self._found(args), Says.AGREES, name)
            if not isinstance(result, torch.Tensor):
                if kept is None:
                    return made
                result = torch.from_numpy(private_numpy.array(made))
            origin = together(map(self._provenance.origin, known))
            self._provenance.made(result, replace(origin, exact=origin.exact and name == "clone"))
            if answer := self._differences.answer(name, kept, args, result):
                self._note(answer)
                return made
            storage = result.untyped_storage()
            self._arrays[private_torch.storage_id(result)] = private_torch.StorageWeakRef(storage), _sum(storage)
            return arrays.followed(_numpy(result), self._array)

    def _taking(self, take: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
        """A function that makes a tensor of an array, or of a list."""

        def taking(*args: Any, **kwargs: Any) -> torch.Tensor:
            tensor = take(*args, **kwargs)
            if self._running and args and not isinstance(args[0], torch.Tensor):
                with as_it_is():
                    known = [self._provenance.origin(one) for one in plain(private_numpy.tensors(args[0]))]
                    origins = [args[0].origin] if isinstance(args[0], Elements) else known
                    for one in plain(tensor) if origins else ():
                        self._provenance.made(one, together(origins))
            return tensor

        return taking

    def _is_as_given(self, tensor: torch.Tensor) -> bool:
        """Whether NumPy has not written into a tensor's memory, as far as it can be seen."""
        given = self._arrays.get(private_torch.storage_id(tensor))
        return given is None or given[1] == _sum(tensor.untyped_storage())

    def _compared(self, kept: Kept, one: Any, by: str, other: Any, holds: bool, use: Use | None = None) -> None:
        """Note what the cell compares a number with."""
        beside = kept_beside(kept, by, other)
        if beside is not None and self._running:
            self._note(answered(replace(beside, nan=one != one), holds, told(one, by, other, holds)), use)

    def _noting(self, compare: Callable[..., Any]) -> Callable[..., Any]:
        """A comparison that raises AssertionError where values differ, or returns what differs."""

        def noting(*args: Any, **kwargs: Any) -> Any:
            if LEDGER.watching is unwatched:
                return compare(*args, **kwargs)
            pairs = {at: self._found(sides) for at, sides in _pairs(*[*args, *kwargs.values()][:2])}

            def note(wrong: Mapping[Any, str]) -> None:
                for at, one in pairs.items():
                    self._note(Answer(one, at not in wrong, wrong.get(at, "")), Use(True, ends=True))

            try:
                with replaced(LEDGER, "watching", unwatched):  # it compares by `isclose` itself
                    found = compare(*args, **kwargs)
            except AssertionError as error:
                note(dict.fromkeys(pairs, _line(error)))
                raise
            note({one.id: _line(one.to_error()) for one in found or ()})
            return found

        return noting

    def _noting_truth(self, compare: Callable[..., bool], name: str) -> Callable[..., bool]:
        """A function that says whether all elements agree."""

        def noting(*args: Any, **kwargs: Any) -> bool:
            found = self._found([*args, *kwargs.values()][:2])
            with replaced(LEDGER, "watching", unwatched):
                holds = compare(*args, **kwargs)
            self._note(Answer(found, bool(holds), "" if holds else f"{name} says no", bits=name == "array_equal"))
            return holds

        return noting

    def _found(self, sides: Sequence[Any]) -> Found:
        """The launches that have to do with one side of a comparison, and not with the other, their reference."""
        with as_it_is():
            tensors = [plain(private_numpy.tensors(side)) for side in sides]
            if not all(map(self._is_as_given, itertools.chain(*tensors))):
                return []
            origins = [together(map(self._provenance.origin, side)) for side in tensors]
        return _apart(origins)

    def _note(self, answer: Answer, use: Use | None = None) -> None:
        """Note an answer, if the cell does not use it for something else."""
        if not answer.found:
            return
        use = use or using()
        opposite = use is not None and use.wanted not in (None, answer.wanted)
        if use is None or (opposite and use.ends):
            return
        known = answer.equal, answer.said, self._doubt, False, use.ends, answer.bits
        seen = LaunchComparison(calling_line(), *known, open=opposite and not answer.equal)
        for compared, exact in answer.found:
            exact = exact and (answer.equal or len(answer.found) == 1)  # of several, nobody knows which is wrong
            compared.append(replace(seen, said=answer.said and answer.said + self._before(compared), exact=exact))
        direct = {id(compared) for compared, _ in answer.found}
        before = {at: one for compared, _ in answer.found for at, one in self._launches[id(compared)][1].items()}
        for at in before.keys() - direct:
            before[at].append(seen)

    def _before(self, compared: Compared) -> str:
        """Who else may be wrong: the launches before one whose own results were not found right."""
        _, before = self._launches[id(compared)]
        others = [
            self._launches[at][0]
            for at, one in before.items()
            if one is not compared and not any(each.equal and each.exact for each in one)
        ]
        names = ", ".join(dict.fromkeys(others))
        return f" (it was given results of {names}, which may be what is wrong)" if names else ""


_ARRAYS = ("numpy", "__array__")
_MAKING = ("from_numpy", "as_tensor", "tensor")
_numpy: Callable[[torch.Tensor], Any] = torch.Tensor.numpy


def _apart(origins: Sequence[Origin[Compared]]) -> Found:
    """The launches that one of two sides has to do with, and not the other, and whether as they are."""
    return [
        (compared, one.exact)
        for one, other in zip(origins, reversed(origins), strict=True)
        for at, compared in one.of.items()
        if one is not other and at not in other.through
    ]


def _flat(values: Any) -> Iterator[Any]:
    for value in values:
        yield from _flat(value) if isinstance(value, list) else (value,)


def _sum(storage: torch.UntypedStorage) -> int:
    flat: Any = torch.empty(0, dtype=torch.uint8)
    return zlib.crc32(_numpy(flat.set_(storage)))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())


def _pairs(one: Any, other: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], tuple[Any, Any]]]:
    """What is compared with what, of values that may hold others, by its place as PyTorch names that."""
    both = one, other
    if all(isinstance(side, Sequence) and not isinstance(side, str) for side in both) and len(one) == len(other):
        for number, parts in enumerate(zip(one, other, strict=True)):
            yield from _pairs(*parts, (*at, number))
    elif all(isinstance(side, Mapping) for side in both) and one.keys() == other.keys():
        for key in one:
            yield from _pairs(one[key], other[key], (*at, key))
    else:
        yield at, both
