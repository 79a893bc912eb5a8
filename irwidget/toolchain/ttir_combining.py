"""Operations of a kernel that take a function of single elements: reductions, scans, `tl.map_elementwise`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irwidget.toolchain.ttir_numbers import Poison
from irwidget.toolchain.ttir_program import Operation
from irwidget.toolchain.ttir_steps import NotAtOnce, Places, Region, Step
from irwidget.toolchain.ttir_tensors import number

_Combine = Callable[..., list[Any]]
"""Of the places, the elements before and those after, what the function makes of them."""
_COMMUTATIVE = frozenset(f"arith.{name}" for name in "addi muli andi ori xori maxsi minsi maxui minui".split())


def combining(op: Operation, given: Sequence[int], results: Sequence[int], region: Region, poison: Poison) -> Step:
    """What executes one of them: `given` and `results` are places, `region` is the function."""
    made = {"tt.reduce": _reduction, "tt.scan": _scan, "tt.map_elementwise": _map}[op.name]
    compute = made(op, _combine(region), poison)

    def step(places: Places) -> None:
        for place, value in zip(results, compute(places, [places[one] for one in given]), strict=True):
            places[place] = value

    return step


def _combine(region: Region) -> _Combine:
    arguments = region.blocks[0].arguments

    def at_once(places: Places, given: Sequence[Any]) -> list[Any]:
        for place, value in zip(arguments, given, strict=True):
            places[place] = value
        return region.run(places)[1]

    def combine(places: Places, *sides: Sequence[Any]) -> list[Any]:
        given = [value for side in sides for value in side]
        shape = given[0].shape
        if any(value.shape != shape for value in given):
            shape = np.broadcast_shapes(*(value.shape for value in given))
        try:
            return [one if one.shape == shape else np.broadcast_to(one, shape) for one in at_once(places, given)]
        except NotAtOnce as error:
            flat = [np.broadcast_to(value, shape).reshape(-1) for value in given]
            return [one.reshape(shape) for one in apart(places, flat, np.broadcast_to(error.apart, shape).reshape(-1))]

    def apart(places: Places, given: Sequence[Any], first: Any) -> list[Any]:
        """By groups of elements for which the function goes the same way."""
        left, made = [np.flatnonzero(~first), np.flatnonzero(first)], list[Any]()
        while left:
            chosen = left.pop()
            try:
                values = at_once(places, [value[chosen] for value in given])
            except NotAtOnce as error:
                left += [chosen[~error.apart], chosen[error.apart]]
                continue
            made = made or [np.empty(first.shape, one.dtype) for one in values]
            for target, one in zip(made, values, strict=True):
                target[chosen] = one
        return made

    return combine


_Compute = Callable[[Places, list[Any]], Sequence[Any]]


def _reduction(op: Operation, combine: _Combine, poison: Poison) -> _Compute:
    axis = number(op, "axis")
    whole = [at for at, kind in enumerate(op.made) if kind.is_integer and not _in_any_order(op)]

    def folded(places: Places, values: list[Any]) -> list[Any]:
        while len(values[0]) > 1:  # a power of two, as all sizes of Triton's tensors
            values = combine(places, [value[::2] for value in values], [value[1::2] for value in values])
        return [value[0] for value in values]

    def reduce(places: Places, given: list[Any]) -> list[Any]:
        values = [np.moveaxis(one, axis, 0) for one in given]
        made = folded(places, values)
        if whole:  # an index, say, of one of several largest elements: the layout decides
            back = folded(places, [value[::-1] for value in values])
            if any(not np.array_equal(made[at], back[at]) for at in whole):
                poison.met["a reduction whose result depends on the order of elements"] = None
                return back if poison.other else made
        return made

    return reduce


def _in_any_order(op: Operation) -> bool:
    """Whether a reduction combines integers by one operation for which their order does not matter."""
    (block,) = op.regions[0]
    return len(block.operations) == 2 and block.operations[0].name in _COMMUTATIVE


def _scan(op: Operation, combine: _Combine, _: Poison) -> _Compute:
    axis, way = number(op, "axis"), -1 if "reverse = true" in op.text else 1

    def scan(places: Places, given: list[Any]) -> list[Any]:
        """Each step combines twice as many elements as the one before."""
        made, step = [np.array(np.moveaxis(one, axis, 0)[::way]) for one in given], 1
        while step < len(made[0]):
            together = combine(places, [one[:-step] for one in made], [one[step:] for one in made])
            for one, value in zip(made, together, strict=True):
                one[step:] = value
            step *= 2
        return [np.moveaxis(value[::way], 0, axis) for value in made]

    return scan


def _map(op: Operation, combine: _Combine, poison: Poison) -> _Compute:
    pack = number(op, "pack")

    def apply(places: Places, values: list[Any]) -> list[Any]:
        if pack == 1:
            return combine(places, values)
        poison.met["tl.map_elementwise of several elements, which ones the layout decides"] = None
        axis, together = (0, (pack, -1)) if poison.other else (-1, (-1, pack))
        apart = [one for value in values for one in np.moveaxis(np.reshape(value, together), axis, 0)]
        each = combine(places, apart)
        calls = [each[at : at + pack] for at in range(0, len(each), pack)]
        return [np.stack(one, axis=axis).reshape(values[0].shape) for one in calls]

    return apply
