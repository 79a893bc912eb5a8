"""What a cell makes of a result beside its reference: truths of elements, differences, the largest of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton.distances import COMPARING
from irwidget.frontends.triton.launch import LaunchComparison
from irwidget.frontends.triton.ledger import OVERWRITING, has_memory, name_of, plain
from irwidget.frontends.triton.scopes import as_it_is

Compared = list[LaunchComparison]
Found = list[tuple[Compared, bool]]
"""What a comparison is one of, and whether each has a side of it as it was written."""

LIMIT = 256
"""How many tensors are kept before those that are gone are dropped."""


class Says(Enum):
    """What the elements of a tensor are."""

    AGREES = auto()
    """Whether each agrees."""
    DIFFERS = auto()
    """Whether each does not."""
    HOW_FAR = auto()
    """How far each is off, 0 where it is not."""


@dataclass(frozen=True)
class Kept:
    """What a tensor says of a result and its reference."""

    found: Found
    says: Says
    by: str = ""
    """How they were compared: `==`."""
    bits: bool = False
    """Whether floats were compared bit by bit."""
    signed: bool = False
    """Whether what is far less than 0 is far off, too."""
    nan: bool = False
    """Whether a difference that was compared is NaN, which is neither less nor more than a bound."""

    def inexact(self) -> Kept:
        """The same of what shows nothing of the results as they are."""
        return replace(self, found=[(compared, False) for compared, _ in self.found])


@dataclass(frozen=True)
class Answer:
    """What a comparison says of all elements."""

    found: Found
    equal: bool
    said: str = ""
    wanted: bool = True
    """What the cell is told where they agree: `x > 0.1` is False then."""
    bits: bool = False


_OF_TWO = {"sub": True, "rsub": True, "dist": False, "mse_loss": False, "l1_loss": False}
"""Operators that say how far two tensors are apart, and whether with a sign."""
_UNSIGNED = frozenset("abs square norm linalg_vector_norm".split())
_OF_ONE = _UNSIGNED | frozenset("neg sqrt max amax mean sum div mul pow clone _to_copy count_nonzero".split())
"""Operators that say no less of how far they are apart."""
_COUNTING = frozenset("sum count_nonzero _to_copy".split())
"""Operators that make numbers of truths, 0 where none holds."""
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Differences:
    """Follows comparisons of a cell's elements through PyTorch's operations, by the memory that these lie in."""

    def __init__(self, found: Callable[[Sequence[Any]], Found], is_result: Callable[[torch.Tensor], bool]) -> None:
        self._found = found
        """Of two sides: which results are compared with what is none."""
        self._is_result = is_result
        self._kept: dict[int, tuple[private_torch.StorageWeakRef, Kept]] = {}

    def of(self, tensor: Any) -> Kept | None:
        """What a tensor says, where that is known."""
        if not self._kept or not isinstance(tensor, torch.Tensor) or not has_memory(tensor):
            return None
        return self._kept.get(private_torch.storage_id(tensor), (None, None))[1]

    def keep(self, result: torch.Tensor, kept: Kept) -> None:
        """A tensor says this."""
        if kept.found and has_memory(result):
            if len(self._kept) > LIMIT:
                self._kept = {at: one for at, one in self._kept.items() if not one[0].expired()}
            weak = private_torch.StorageWeakRef(result.untyped_storage())
            self._kept[weak.cdata] = weak, kept

    def operation(self, func: Any, args: Any, kwargs: Any) -> Callable[[Any], Answer | None]:
        """Is told of an operation of PyTorch's before it is done; what is returned is told of its result."""
        name = name_of(func)
        kept = None if name in OVERWRITING else self._made(name.removesuffix("_"), args, kwargs)
        for one in plain(private_torch.written_arguments(func, args, kwargs)) if self._kept else ():
            self._kept.pop(private_torch.storage_id(one), None)

        def done(made: Any) -> Answer | None:
            result = made[0] if isinstance(made, tuple) else made
            if kept is None or not isinstance(result, torch.Tensor):
                return None
            if kept.says is not Says.HOW_FAR and result.numel() == 1:
                return _answer(kept, name, args, result)
            if name not in ("all", "any"):  # of some dimensions
                self.keep(result, kept)
            return None

        return done

    def _made(self, name: str, args: Sequence[Any], kwargs: Any) -> Kept | None:
        """What the result of an operation says."""
        one, other = (self.of(arg) for arg in (*args[:2], None, None)[:2])
        if one is None and other is None:
            return None if kwargs.get("alpha", 1) != 1 else self._first(name, args[:2])
        if name in COMPARING:
            return _bounded(COMPARING[name], one, other, args)
        if one is None or (other is not None and (name != "mul" or one is not other)):
            return None
        if one.says is Says.HOW_FAR:
            return _farther(name, one, args) if name in _OF_ONE else None
        if name in ("logical_not", "bitwise_not"):
            return replace(one, says=Says.DIFFERS if one.says is Says.AGREES else Says.AGREES)
        if one.says is Says.DIFFERS and name in _COUNTING:
            return replace(one, says=Says.HOW_FAR)
        return one if name in ("clone", "all" if one.says is Says.AGREES else "any") else None

    def _first(self, name: str, sides: Sequence[Any]) -> Kept | None:
        """What an operation says of a result and its reference, if it is given these."""
        if name not in _OF_TWO and name not in ("eq", "ne"):
            return None
        if not all(isinstance(side, torch.Tensor) for side in sides) or not (found := self._found(sides)):
            return None
        if name in _OF_TWO:
            kept = Kept(found, Says.HOW_FAR, signed=_OF_TWO[name])
        else:
            floats = any(side.is_floating_point() or side.is_complex() for side in sides)
            kept = Kept(found, Says.AGREES if name == "eq" else Says.DIFFERS, COMPARING[name], bits=floats)
        known = torch.isfinite if name in _OF_TWO else _is_number  # NaN is not NaN, and infinities not near each other
        return kept if all(_all(known, side) for side in sides if not self._is_result(side)) else kept.inexact()


def _farther(name: str, one: Kept, args: Sequence[Any]) -> Kept:
    """What is made of a difference by itself, or by something else."""
    even = name == "pow" and isinstance(args[1], int | float) and args[1] % 2 == 0
    squared = name == "mul" and args[0] is args[1]
    kept = replace(one, signed=one.signed and not (name in _UNSIGNED or even or squared))
    if name != "div":
        return kept
    with as_it_is():
        return kept if _all(torch.isfinite, args[0] / args[1]) else kept.inexact()  # 0 / 0


def _bounded(by: str, one: Kept | None, other: Kept | None, args: Sequence[Any]) -> Kept | None:
    """What a difference beside a bound says."""
    if one and other:
        return None  # of two results, as where a cell iterates
    kept, by, far, bound = (one, by, *args[:2]) if one else (other, _TURNED[by], *args[1::-1])
    small = is_small(by, bound)
    if kept is None or kept.says is not Says.HOW_FAR or small is None:
        return None
    with as_it_is():
        nan = bool(torch.isnan(far).any())
    return replace(kept, says=Says.AGREES if small else Says.DIFFERS, by=by, nan=nan)


def is_small(by: str, bound: Any) -> bool | None:
    """Whether a difference is small that is less, or so, than a bound; None where that says nothing."""
    if by in ("==", "!="):
        return by == "==" if isinstance(bound, int | float) and bound == 0 else None
    return by in ("<", "<=")


def _answer(kept: Kept, name: str, args: Sequence[Any], result: torch.Tensor) -> Answer:
    with as_it_is():
        holds = bool(result)
        said = f"{kept.by} says {'yes' if holds else 'no'}"
        if name in COMPARING and kept.by != "isclose":
            one, other = (number(side) if isinstance(side, torch.Tensor) else side for side in args[:2])
            said = told(one, COMPARING[name], other, holds)
    return answered(kept, holds, said)


_item: Callable[[torch.Tensor], Any] = torch.Tensor.item


def number(tensor: torch.Tensor) -> Any:
    """What a tensor of one element holds, of which nobody is told."""
    return _item(tensor)


def told(one: Any, by: str, other: Any, holds: bool) -> str:
    """What a comparison of numbers says."""
    return f"{one:.6g} {by} {other:.6g} is {holds}"


def answered(kept: Kept, holds: bool, said: str) -> Answer:
    """The answer of a truth of all elements."""
    wanted = kept.says is Says.AGREES
    equal = holds == wanted and not kept.nan
    if equal and kept.signed:
        kept = kept.inexact()
    said = "" if equal else "a difference is nan" if kept.nan else said
    return Answer(kept.found, equal, said, wanted, kept.bits)


def _is_number(tensor: torch.Tensor) -> torch.Tensor:
    return torch.isnan(tensor).logical_not()


def _all(known: Callable[[torch.Tensor], torch.Tensor], tensor: torch.Tensor) -> bool:
    with as_it_is():
        return not tensor.is_floating_point() or bool(known(tensor.float()).all())
