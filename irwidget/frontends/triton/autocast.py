"""`torch.autocast("cuda")` without a GPU: operators run in the dtypes that they would run in there.

Autocast goes by where tensors really are, which is the CPU: its autocast does the casts to the lower precision, and
what only a GPU's autocast casts is cast here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from typing import Any

import torch

from irwidget.frontends.triton.scopes import replaced

_SINGLE = frozenset(
    """
    __pow__ __rdiv__ __rpow__ __rtruediv__ acos asin binary_cross_entropy_with_logits cosh cosine_embedding_loss
    cdist cosine_similarity cross_entropy dist erfinv exp expm1 group_norm hinge_embedding_loss kl_div l1_loss
    layer_norm log log10 log1p log2 margin_ranking_loss mse_loss multilabel_margin_loss multi_margin_loss
    nll_loss norm normalize pdist poisson_nll_loss pow reciprocal rsqrt sinh smooth_l1_loss soft_margin_loss
    softplus renorm tan triplet_margin_loss
    """.split()
)
"""What a GPU's autocast computes in float32, as torch documents it."""
_SINGLE_UNLESS_TOLD = frozenset("cumprod cumsum log_softmax prod softmax softmin sum".split())
"""The same, where the call does not name a dtype."""
_LOWER = frozenset("addmv addr mv".split())
"""What it computes in the lower precision, and the CPU's does not."""


@contextlib.contextmanager
def as_on_a_gpu() -> Generator[None]:
    """Within it, entering `torch.autocast("cuda")` sets the CPU's autocast, too; what it was comes back."""
    cls = torch.autocast
    enter, leave = cls.__enter__, cls.__exit__
    entered: list[tuple[Any, bool, torch.dtype]] = []

    def entering(self: Any) -> Any:
        if self.device == "cuda":
            entered.append((self, *_state()))
        found = enter(self)
        if self.device == "cuda":
            _set(torch.is_autocast_enabled("cuda"), torch.get_autocast_dtype("cuda"))
        return found

    def leaving(self: Any, *error: Any) -> Any:
        place = next((i for i in reversed(range(len(entered))) if entered[i][0] is self), None)
        if place is not None:
            _, enabled, dtype = entered.pop(place)
            _set(enabled, dtype)
        return leave(self, *error)

    at_first = _state()
    with ExitStack() as stack:
        stack.callback(lambda: _set(*at_first))
        stack.enter_context(replaced(cls, "__enter__", entering))
        stack.enter_context(replaced(cls, "__exit__", leaving))
        yield


def _state() -> tuple[bool, torch.dtype]:
    return torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")


def _set(enabled: bool, dtype: torch.dtype) -> None:
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)


def cast(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as a GPU's autocast gives them to it, where it is on and the CPU's does not do so."""
    given = dict(kwargs)
    if not torch.is_autocast_enabled("cuda") or given.get("out") is not None:
        return args, given
    name = getattr(func, "__name__", "")
    told = given.get("dtype") is not None or any(isinstance(one, torch.dtype) for one in args)
    if name in _SINGLE or (name in _SINGLE_UNLESS_TOLD and not told):
        dtype = torch.float32
    elif name in _LOWER:
        dtype = torch.get_autocast_dtype("cuda")
    else:
        return args, given
    return tuple(_to(one, dtype) for one in args), {key: _to(one, dtype) for key, one in given.items()}


def _to(value: Any, dtype: torch.dtype) -> Any:
    """A tensor of floats in another precision; float64 and everything else as it is."""
    if isinstance(value, torch.Tensor) and value.is_floating_point() and value.dtype is not torch.float64:
        return value.to(dtype)
    return value
