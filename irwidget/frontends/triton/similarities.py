"""Similarities that a cell computes by hand: what products, squares and lengths of a result and its reference say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from irwidget.frontends.triton.kept import Kept, Says


def of_products(name: str, one: Kept | None, other: Kept | None, args: Sequence[Any]) -> Kept | None:
    """What becomes of products: `2 * (x * y).sum() / (x * x + y * y).sum()` is 1 where x is y, and less elsewhere."""
    if one is None:
        return None
    if other is None:
        return _of_product(name, one, args)
    joined = {Says.SQUARES: "add", Says.LENGTHS: "mul"}.get(one.says)
    if one.factor == other.factor == 1 and one.says is other.says and name == joined:
        return replace(one, sides=one.sides | other.sides)
    if name != "div" or one.says is not Says.PRODUCT or one.sides != other.sides:
        return None
    if other.says is Says.SQUARES and one.factor == 2 * other.factor:
        return Kept(one.found, Says.HOW_NEAR)
    same = other.says is Says.LENGTHS and one.factor == other.factor
    return Kept(one.found, Says.HOW_NEAR, blind=True) if same else None


def _of_product(name: str, one: Kept, args: Sequence[Any]) -> Kept | None:
    """What becomes of products, squares and lengths by themselves, or with a number."""
    second = args[1] if len(args) > 1 else None
    if name in ("add", "clamp_min", "clamp") and one.says is Says.LENGTHS and len(args) == 2:
        return one if isinstance(second, float) and 0 <= second < 1e-3 else None  # so that it is not 0
    if name == "sqrt" and one.says is Says.SQUARES and len(one.sides) == one.factor == 1:
        return replace(one, says=Says.LENGTHS)
    as_it_is = ("clone", "_to_copy") if one.says is Says.LENGTHS else ("sum", "clone", "_to_copy")
    number = second if name == "mul" else 1 if name in as_it_is else None
    return replace(one, factor=one.factor * number) if isinstance(number, int | float) else None
