"""Views that join dimensions which only run time knows: torch-mlir takes all but the first of these for one element.

`nn.Linear` is such a view, of a batch of sequences where both sizes are dynamic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from irwidget.frontends.decompositions_bytes import value_of
from irwidget.frontends.decompositions_kinds import How
from irwidget.private_torch import statically_known_true

aten: Any = torch.ops.aten


def _joins(x: Any, sizes: Sequence[Any]) -> bool:
    """Whether fewer dimensions are dynamic in a view than in what it is of, besides those at both ends that stay."""
    given, made = list(value_of(x).shape), [value_of(size) for size in sizes]
    if len(given) == 1 or len(made) == 1:
        return False
    for at in (0, -1):
        while given and made and statically_known_true(given[at] == made[at]):
            del given[at], made[at]
    return sum(map(_is_dynamic, given)) > max(sum(map(_is_dynamic, made)), 1)


def _is_dynamic(size: Any) -> bool:
    return not isinstance(size, int)


def _by_a_row(x: Any, sizes: Sequence[Any]) -> Any:
    return aten.view.default(x.reshape([-1]), sizes) if _joins(x, sizes) else NotImplemented


IN_LINALG: dict[Any, How] = dict.fromkeys((aten.view.default, aten._unsafe_view.default), (_joins, _by_a_row))
"""By operator: whether it is taken apart, and how."""
