"""The front end's own decompositions of ATen (docs/spyre-rules.md: Op selection).

Each is plain PyTorch over fake tensors; the tracer records what they call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
import torch.fx.traceback as fx_traceback

from irwidget.errors import UnsupportedError
from irwidget.spyre import decomposed_pointwise, decomposed_products, decomposed_reductions
from irwidget.spyre.customops import ops
from irwidget.spyre.spyreops import register

aten = torch.ops.aten
_OURS = {**decomposed_products.TABLE, **decomposed_reductions.TABLE, **decomposed_pointwise.TABLE}
_OF_PYTORCH = """
    stack t rsub addcmul addcdiv native_group_norm hardtanh hardsigmoid hardswish log_sigmoid_forward
    roll glu narrow unsafe_chunk lerp logaddexp select_backward dot vdot mv addmv
    _prelu_kernel mse_loss smooth_l1_loss huber_loss softshrink hardshrink threshold logit
    threshold_backward sigmoid_backward tanh_backward _softmax_backward_data _log_softmax_backward_data gelu_backward
    leaky_relu_backward hardswish_backward hardsigmoid_backward hardtanh_backward elu_backward log_sigmoid_backward
    softplus_backward mse_loss_backward smooth_l1_loss_backward huber_loss_backward native_dropout_backward
    deg2rad rad2deg sinc isposinf isneginf dist
    alias_copy expand_copy permute_copy t_copy transpose_copy squeeze_copy unsqueeze_copy narrow_copy
    unbind_copy split_with_sizes_copy
"""

_UPSTREAM = {
    "scaled_dot_product_attention": "_scaled_dot_product_fused_attention_overrideable",
    "square": "pow",
    "relu6": "hardtanh",
    "dropout": "clone",
}
"""Ops that upstream's graph has by another name."""
_BY_PARTS = ("softshrink", "hardshrink")
"""Ops that upstream's graph has by the names of what they are composed of."""


@lru_cache(maxsize=2)
def decomposition_table(keep_refused: bool = False) -> dict[Any, Callable[..., Any]]:
    """OpOverload -> decomposition, ours first, then PyTorch's for the rest of what we know.

    `keep_refused` leaves an op whole that its decomposition refuses.
    """
    table = _table()
    return {op: _kept_if_refused(function) for op, function in table.items()} if keep_refused else table


def _kept_if_refused(function: Callable[..., Any]) -> Callable[..., Any]:
    def decompose(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except UnsupportedError:
            return NotImplemented

    return decompose


@lru_cache(maxsize=1)
def _table() -> dict[Any, Callable[..., Any]]:
    ops()
    table: dict[Any, Callable[..., Any]] = {}
    for name, function in _OURS.items():
        packet, _, overload = name.partition(".")
        op = getattr(getattr(aten, packet), overload or "default")
        table[op] = _with_origin(packet, function)
    from irwidget.private_torch import get_decompositions  # pyright: ignore[reportUnknownVariableType]

    for op, function in register().items():
        table[op] = _with_origin(op.overloadpacket.__name__, function)
    known: Any = get_decompositions([getattr(aten, name) for name in _OF_PYTORCH.split()])
    for op, function in known.items():
        if op not in table:
            name = op.overloadpacket.__name__
            table[op] = function if name in _BY_PARTS else _with_origin(name, function)
    return table


def _with_origin(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Nodes made inside keep the name of the outermost ATen op that they come from."""

    def decompose(*args: Any, **kwargs: Any) -> Any:
        current = fx_traceback.current_meta.get("custom") or {}
        if "origin" in current:
            return function(*args, **kwargs)
        with fx_traceback.annotate({"origin": _UPSTREAM.get(name, name)}):
            return function(*args, **kwargs)

    return decompose
