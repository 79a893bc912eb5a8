"""What a cell makes of a result beside its reference: truths of elements, differences, the largest of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from irwidget import private_torch
from irwidget.frontends.triton.distances import COMPARING
from irwidget.frontends.triton.kept import Answer, Found, Kept, Says, side
from irwidget.frontends.triton.ledger import OVERWRITING, has_memory, name_of, plain
from irwidget.frontends.triton.scopes import as_it_is
from irwidget.frontends.triton.similarities import of_products

LIMIT = 256
"""How many tensors are kept before those that are gone are dropped."""


_OF_TWO = {"sub": True, "rsub": True} | dict.fromkeys("dist mse_loss l1_loss smooth_l1_loss huber_loss".split(), False)
"""Operators that say how far two tensors are apart, and whether with a sign."""
_UNSIGNED = frozenset("abs square norm linalg_vector_norm".split())
_OF_ONE = _UNSIGNED | frozenset("neg sqrt max amax mean sum div mul pow clone _to_copy count_nonzero".split())
"""Operators that say no less of how far they are apart."""
_AS_NEAR = frozenset("log log2 log10 sqrt min amin mean sum div mul clone _to_copy".split())
"""Operators that say no less of how near they are."""
_SPREADS = ("std", "var")
_PARTLY = frozenset([*_SPREADS, "median", "nanmedian", "sort", "topk", "kthvalue"])
"""Operators that say no less of how far some are apart: a spread is 0 where all are off by the same."""
_SHIFTING = ("sub", "rsub", "add")
_COUNTING = frozenset("sum count_nonzero _to_copy mean".split())
"""Operators that make numbers of truths, 0 where none holds."""
_NORMS = ("norm", "linalg_vector_norm")
_SAYING = {"eq": "==", "ne": "!=", "logical_xor": "!="}
"""Operators that say of each element whether two tensors have the same, or not."""
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
        if (kept.found or kept.sides) and has_memory(result):
            if len(self._kept) > LIMIT:
                self._kept = {at: one for at, one in self._kept.items() if not one[0].expired()}
            weak = private_torch.StorageWeakRef(result.untyped_storage())
            self._kept[weak.cdata] = weak, kept

    def operation(self, func: Any, args: Any, kwargs: Any) -> Callable[[Any], Answer | None]:
        """Is told of an operation of PyTorch's before it is done; what is returned is told of its result."""
        name = name_of(func)
        kept = None if name in OVERWRITING else self.made(name.removesuffix("_"), args, kwargs)
        for one in plain(private_torch.written_arguments(func, args, kwargs)) if self._kept else ():
            self._kept.pop(private_torch.storage_id(one), None)

        def done(made: Any) -> Answer | None:
            result = made[0] if isinstance(made, tuple) else made
            return self.answer(name, kept, args, result) if isinstance(result, torch.Tensor) else None

        return done

    def answer(self, name: str, kept: Kept | None, args: Sequence[Any], result: torch.Tensor) -> Answer | None:
        """What the result of an operation answers; where it says less, that is kept."""
        if kept is not None and kept.says in (Says.AGREES, Says.DIFFERS) and result.numel() == 1:
            return _answer(kept, name, args, result)
        if kept is not None and name not in ("all", "any"):  # of some dimensions
            self.keep(result, kept)
        return None

    def made(self, name: str, args: Sequence[Any], kwargs: Any) -> Kept | None:
        """What the result of an operation says."""
        one, other = (self.of(arg) for arg in (*args[:2], None, None)[:2])
        if any(each.sides for each in (one, other) if each):
            if kept := of_products(name, one, other, args):
                return kept
            one, other = (None if each and each.sides else each for each in (one, other))  # numbers like others
        if any(each.number for each in (one, other) if each) and name in _COUNTING:
            return None  # as how many zeros there are
        if one is None and other is None:
            return None if kwargs.get("alpha", 1) != 1 else self._first(name, args[:2])
        if one and name in ("eq", "ne") and (turned := _of_a_truth(name, one, args[1])):
            return turned
        if name in COMPARING:
            return _bounded(COMPARING[name], one, other, args)
        if one and other and name.startswith(("logical_", "bitwise_")):
            return _of_truths(name, (one, other), args)
        if (one is None) != (other is None) and (name in _SHIFTING or (one is None and name == "div")):
            return self.beside(name, one or other, args, first=one is not None) if not kwargs else None
        if one is None or (other is not None and (name != "mul" or one is not other)):
            return None
        if one.says is Says.HOW_FAR and name in _PARTLY and args[0].numel() > 1:  # else a spread is nan
            return replace(one, signed=one.signed and name not in _SPREADS, blind=True)
        if one.says is Says.HOW_FAR:
            leaves = one.signed or _is_positive(name, args)  # else what is far off is less than any bound
            return _farther(name, one, args) if name in _OF_ONE and leaves else None
        if one.says is Says.HOW_NEAR:
            return _nearer(name, one, args) if name in _AS_NEAR and _is_positive(name, args) else None
        if name in ("logical_not", "bitwise_not"):
            return _negated(one)
        if name in _COUNTING:
            if one.says is Says.DIFFERS:
                return replace(one, says=Says.HOW_FAR)
            return _nearer(name, replace(one, says=Says.HOW_NEAR, most=1), args)
        return one if name in ("clone", "all" if one.says is Says.AGREES else "any") else None

    def beside(self, name: str, kept: Kept | None, args: Sequence[Any], *, first: bool) -> Kept | None:
        """What a difference, or a similarity, says beside something else: `y - x - 1`, `1 - cosine`, `norm / error`."""
        other = args[first]
        if kept is None or (isinstance(other, torch.Tensor) and (self._is_result(other) or not _all(_finite, other))):
            return None
        if name == "div":
            return replace(kept, says=Says.HOW_NEAR) if kept.says is Says.HOW_FAR and not kept.signed else None
        turned = name != "add" and first == (name == "rsub")
        if kept.says is Says.HOW_NEAR:
            is_most = isinstance(other, int | float) and other == 1  # that a similarity can be
            return replace(kept, says=Says.HOW_FAR, signed=not is_most) if turned else replace(kept, most=None)
        if kept.says is not Says.HOW_FAR:
            return None
        return kept if kept.signed else replace(kept, says=Says.HOW_NEAR) if turned else None

    def _first(self, name: str, sides: Sequence[Any]) -> Kept | None:
        """What an operation says of a result and its reference, if it is given these."""
        second = sides[-1]
        squared = name == "square" or (name == "pow" and isinstance(second, int | float) and second == 2)
        squared |= name == "mul" and sides[0] is second
        if squared and isinstance(sides[0], torch.Tensor) and has_memory(sides[0]):
            return Kept([], Says.SQUARES, sides=frozenset([side(sides[0])]))
        if name in _NORMS and has_memory(sides[0]) and (second is sides[0] or second in (2, None)):
            return Kept([], Says.LENGTHS, sides=frozenset([side(sides[0])]))
        if name not in _OF_TWO and name not in (*_SAYING, "mul", "dot"):
            return None
        if not (found := self._found(sides)):
            return None
        if name in ("eq", "ne") and isinstance(sides[0], torch.Tensor) and type(second) in (bool, int, float):
            says = Says.AGREES if name == "eq" else Says.DIFFERS
            return Kept(found, says, _SAYING[name], bits=sides[0].is_floating_point(), number=True)
        if not all(isinstance(side, torch.Tensor) for side in sides):
            return None
        if name in ("mul", "dot"):
            return Kept(found, Says.PRODUCT, sides=frozenset(map(side, sides))) if _are_alike(*sides) else None
        if name in _OF_TWO:
            kept = Kept(found, Says.HOW_FAR, signed=_OF_TWO[name])
        else:
            floats = any(side.is_floating_point() or side.is_complex() for side in sides)
            kept = Kept(found, Says.AGREES if name == "eq" else Says.DIFFERS, _SAYING[name], bits=floats)
        known = _finite if name in _OF_TWO else _is_number  # NaN is not NaN, and infinities not near each other
        return kept if all(_all(known, side) for side in sides if not self._is_result(side)) else kept.inexact()


def _are_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and has_memory(one) and has_memory(other)


def _negated(one: Kept) -> Kept:
    return replace(one, says=Says.DIFFERS if one.says is Says.AGREES else Says.AGREES)


def _of_a_truth(name: str, one: Kept, other: Any) -> Kept | None:
    """What truths of elements say beside one: `close == 0`."""
    if one.says not in (Says.AGREES, Says.DIFFERS) or not isinstance(other, int) or other not in (0, 1):
        return None
    return one if bool(other) == (name == "eq") else _negated(one)


def _of_truths(name: str, both: Sequence[Kept], args: Sequence[Any]) -> Kept | None:
    """What several comparisons say of each element: `(far > bound) | (isnan(y) ^ isnan(x))`."""
    says = {"or": Says.DIFFERS, "and": Says.AGREES}.get(name.rpartition("_")[2])
    if any(one.says is not says for one in both):
        return None
    with as_it_is():
        fails = [bool(side.any()) if says is Says.DIFFERS else not bool(side.all()) for side in args[:2]]
    first = next((one for one, failing in zip(both, fails, strict=True) if failing), None)
    exact = next((one for one in both if all(as_written for _, as_written in one.found)), both[0])
    return replace(first or exact, nan=all(one.nan for one in both))  # else one of them looks for NaN


def _farther(name: str, one: Kept, args: Sequence[Any]) -> Kept:
    """What is made of a difference by itself, or by something else."""
    even = name == "pow" and isinstance(args[1], int | float) and args[1] % 2 == 0
    squared = name == "mul" and args[0] is args[1]
    kept = replace(one, signed=one.signed and not (name in _UNSIGNED or even or squared))
    if name != "div":
        return kept
    with as_it_is():
        return kept if _all(_finite, args[0] / args[1]) else kept.inexact()  # 0 / 0


def _nearer(name: str, one: Kept, args: Sequence[Any]) -> Kept:
    """What is made of a similarity by itself, or by something else."""
    if one.most is None or name in ("clone", "_to_copy", "mean", "min", "amin"):
        return one
    of_all = name in ("sum", "count_nonzero") and len(args) == 1
    return replace(one, most=one.most * args[0].numel() if of_all else None)


def _is_positive(name: str, args: Sequence[Any]) -> bool:
    """Whether what a difference is multiplied with, or divided by, leaves its sign."""
    if name not in ("mul", "div", "pow"):
        return name != "neg"
    with as_it_is():
        return all(bool(torch.as_tensor(one >= 0).all()) for one in args[1:2])


def _bounded(by: str, one: Kept | None, other: Kept | None, args: Sequence[Any]) -> Kept | None:
    """What a difference beside a bound says."""
    if one and other:
        return None  # of two results, as where a cell iterates
    kept, by, far, bound = (one, by, *args[:2]) if one else (other, _TURNED[by], *args[1::-1])
    if kept is None or (found := kept_beside(kept, by, bound)) is None:
        return None
    with as_it_is():
        return replace(found, by=by, nan=bool(torch.isnan(far).any()))


def kept_beside(kept: Kept, by: str, bound: Any) -> Kept | None:
    """What a difference, or a similarity, that is less, or so, than a bound says; None where that says nothing."""
    if kept.says not in (Says.HOW_FAR, Says.HOW_NEAR):
        return None
    if by in ("==", "!="):
        if not isinstance(bound, int | float) or bound != (0 if kept.says is Says.HOW_FAR else kept.most):
            return None
        return replace(kept, says=Says.AGREES if by == "==" else Says.DIFFERS)
    agrees = by in (("<", "<=") if kept.says is Says.HOW_FAR else (">", ">="))
    return replace(kept, says=Says.AGREES if agrees else Says.DIFFERS)


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
    if equal and (kept.signed or kept.blind):
        kept = kept.inexact()
    said = "" if equal else "a difference is nan" if kept.nan else said
    return Answer(kept.found, equal, said, wanted, kept.bits, kept.number)


_finite = torch.isfinite


def _is_number(tensor: torch.Tensor) -> torch.Tensor:
    return torch.isnan(tensor).logical_not()


def _all(known: Callable[[torch.Tensor], torch.Tensor], tensor: torch.Tensor) -> bool:
    with as_it_is():
        return not tensor.is_floating_point() or bool(known(tensor.float()).all())
