"""Compare what was executed with what is expected: every element of every result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from irwidget.checking.allowance import ExpectedResult
from irwidget.checking.expected import ExpectedCall
from irwidget.toolchain.events import Array, Value
from irwidget.trace import Element, Verdict

if TYPE_CHECKING:
    import torch


Shapes = Sequence[Sequence[int]]
"""The shapes of the tensors that a program is given."""

ON_OTHERS = "on your inputs it is equal, but with others of their kind "


def judge_all(name: str, index: int | None, calls: Sequence[Sequence[Value]], cases: Sequence[ExpectedCall]) -> Verdict:
    """The verdict on what the IR after a pass returned for the user's inputs (the first case) and for others."""
    shapes = [[one.shape for one in case.inputs if isinstance(one, Array)] for case in cases]
    found = [judge(name, index, values, case.results) for values, case in zip(calls, cases, strict=True)]
    return of_cases(found, shapes)


def unexplained(found: Verdict, error: Exception) -> Verdict:
    """The verdict where a closer look, before a result is called wrong, has failed."""
    said = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return Verdict("not checked", found.dump, found.index, f"{found.reason}, which rounding may explain: {said}")


def of_cases(verdicts: Sequence[Verdict], shapes: Sequence[Shapes]) -> Verdict:
    """One verdict of those for the user's inputs, which come first, and for others, with the shapes of these inputs."""
    wrong = next((i for i, verdict in enumerate(verdicts) if verdict.state == "differs"), None)
    if wrong:
        sizes = of_shapes(shapes[wrong], shapes[0])
        reason = f"{ON_OTHERS.rstrip()}, {sizes}, " if sizes else ON_OTHERS
        return replace(verdicts[wrong], reason=reason + verdicts[wrong].reason)
    return verdicts[0]


def of_shapes(shapes: Shapes, given: Shapes) -> str:
    """`of shapes [15, 16], [3]`: those of the other inputs that are not as the user's; empty where all are."""
    other = [str(list(one)) for one, before in zip(shapes, given, strict=True) if tuple(one) != tuple(before)]
    more = f" and {len(other) - 3} more" if len(other) > 3 else ""
    return f"of shape{'s' if len(other) > 1 else ''} {', '.join(other[:3])}{more}" if other else ""


def judge(name: str, index: int | None, values: Sequence[Value], results: Sequence[ExpectedResult]) -> Verdict:
    """The verdict on the values that the IR after a pass returned for one set of inputs.

    Elements that any number would be allowed for, and that are not eager's, count as not compared.
    """
    import torch

    error, own = 0.0, 0.0
    known = False
    wrong: list[tuple[ExpectedResult, Any]] = []
    unknown = count = 0
    for got, result in zip(values, results, strict=True):
        want = _as_tensor(result.want)
        if isinstance(got, Array) and got.shape != tuple(want.shape):
            reason = f"{result.label} has shape {list(got.shape)}, not {list(want.shape)}"
            return Verdict("differs", name, index, reason)
        value = _tensor(got, want) if isinstance(got, Array) else _as_tensor(got)
        if value.dtype != want.dtype:
            return Verdict("differs", name, index, f"{result.label} is {value.dtype}, not {want.dtype}")
        excess, far, open_ = _excess(value, want, result)
        unknown, count = unknown + int(open_.sum()), count + open_.numel()
        if excess.numel():
            error = max(error, float(torch.where(open_, 0.0, far).max()))
            if result.exact is not None:
                known = True
                own = max(own, _own(want, result.exact, result.allowed))
            if bool((excess > 0).any()):
                wrong.append((result, _element(result, value, want, excess)))
    verdict = _verdict(name, index, error, own if known else None, wrong)
    if not unknown or wrong:
        return verdict
    opened = [result.why_open for result in results if result.open is not None]
    why = opened[0] if opened else "rounding may make anything of them"
    if unknown == count:
        return Verdict("not checked", name, index, f"no element can be compared: {why}")
    return replace(verdict, reason=f"{unknown} of {count} elements cannot be compared: {why}")


def _verdict(name: str, index: int | None, error: float, own: float | None, wrong: Sequence[Any]) -> Verdict:
    if not wrong:
        return Verdict("equal", name, index, "", error, own)
    count, element = wrong[0][1]
    more = f" ({count} elements are wrong)" if count > 1 else ""
    others = "".join(f"; so is {result.label}" for result, _ in wrong[1:])
    return Verdict("differs", name, index, f"{element}{more}{others}", error, own, element)


def _excess(
    value: torch.Tensor, want: torch.Tensor, result: ExpectedResult
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For each element, by how much more than allowed it is off (0 or less: right), and how far it is off.

    Third, whether any number would be allowed for one that is not eager's.
    """
    import torch

    anything = torch.zeros(want.shape, dtype=torch.bool) if result.open is None else result.open
    if not (want.is_floating_point() or want.is_complex()):
        right = value == want
        for other in result.others:
            right |= value == other.to(want.dtype)
        far = (value.to(torch.float64) - want.to(torch.float64)).abs()
        return torch.where(right | anything, 0.0, far.clamp(min=1.0)), far, anything
    wide = _wide(want)
    exact = want.to(wide) if result.exact is None else result.exact.to(wide)
    allowed = torch.zeros(want.shape, dtype=torch.float64) if result.allowed is None else result.allowed
    got = value.to(wide)
    far = _far(got, exact)
    near = _near(got, exact, want.to(wide), allowed, torch.finfo(want.dtype).max)
    same = (value == want) | (value.isnan() & want.isnan()) | near
    open_ = anything | (~same & allowed.isinf())
    excess = torch.where(same | open_, 0.0, (far - allowed).clamp(min=0.0))
    return excess, torch.where(same & far.isinf(), 0.0, far), open_


def _near(got: torch.Tensor, exact: torch.Tensor, want: torch.Tensor, allowed: torch.Tensor, most: float) -> Any:
    """Elements on the edge of what the dtype can hold, where one rounding more or less makes an infinity.

    What is infinite by itself, as the largest of a row of minus infinities, is not on it.
    """
    edge = (exact.abs() + allowed >= most) & (want.abs() + allowed >= most) & ~(exact.isinf() & want.isinf())
    return edge & ~got.isnan() & (got.abs() + allowed >= most) & ((got == want) | (got.real * want.real > 0))


def _far(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Distances; 0 between the same infinities or NaNs, infinite where only one is such."""
    import torch

    one, other = one.to(_wide(one)), other.to(_wide(other))
    same = (one == other) | (one.isnan() & other.isnan())
    return torch.where(same, 0.0, (one - other).abs().to(torch.float64).nan_to_num(nan=math.inf, posinf=math.inf))


def _own(want: torch.Tensor, exact: torch.Tensor, allowed: torch.Tensor | None) -> float:
    """Eager's largest distance from the exact values, of those that say anything."""
    import torch

    far = _far(want, exact.to(_wide(want)))
    return float((far if allowed is None else torch.where(allowed.isinf(), 0.0, far)).max())


def _wide(tensor: torch.Tensor) -> torch.dtype:
    import torch

    return torch.complex128 if tensor.is_complex() else torch.float64


def _element(
    result: ExpectedResult, value: torch.Tensor, want: torch.Tensor, excess: torch.Tensor
) -> tuple[int, Element]:
    """How many elements are wrong, and the one that is furthest off for its size."""
    import torch

    if want.is_floating_point() or want.is_complex():
        scale = want.abs().to(torch.float64).nan_to_num(nan=0.0, posinf=0.0)
        relative = excess / (scale + float(torch.finfo(want.dtype).tiny))
    else:
        relative = excess
    place = int(relative.nan_to_num(nan=math.inf, posinf=math.inf).argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(place), want.shape)) if want.dim() else ()
    got, wanted = value.reshape(-1)[place].item(), want.reshape(-1)[place].item()
    return int((excess > 0).sum()), Element(result.label, index, got, wanted)


def _tensor(array: Array, like: torch.Tensor) -> torch.Tensor:
    import torch

    if not array.data:
        return torch.empty(like.shape, dtype=like.dtype)
    return torch.frombuffer(bytearray(array.data), dtype=like.dtype).reshape(like.shape)


def _as_tensor(value: torch.Tensor | float) -> torch.Tensor:
    """Python's numbers as tensors hold them without loss."""
    import torch

    if isinstance(value, torch.Tensor):
        return value
    kind = torch.float64 if isinstance(value, float) else torch.bool if isinstance(value, bool) else torch.int64
    return torch.tensor(value, dtype=kind)
