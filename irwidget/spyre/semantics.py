"""What each OpFunc computes, on float32 tiles: the executor's arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from irwidget.errors import UnsupportedError

Tensor = torch.Tensor
Constants = Mapping[str, Any]

_POINTWISE: dict[str, Callable[..., Tensor]] = {
    "abs": torch.abs,
    "exp": torch.exp,
    "floor": torch.floor,
    "gelufwd": lambda x: torch.where(x == torch.inf, x, torch.nn.functional.gelu(x)),  # whose erf says NaN of it
    "log": torch.log,
    "neg": torch.neg,
    "reciprocal": torch.reciprocal,
    "relufwd": torch.relu,
    "rsqrt": torch.rsqrt,
    "sigmoid": torch.sigmoid,
    "silu": torch.nn.functional.silu,
    "sqrt": torch.sqrt,
    "tanh": torch.tanh,
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "realdiv": torch.div,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "equal": torch.eq,
    "notequal": torch.ne,
    "greaterequal": torch.ge,
    "greaterthan": torch.gt,
    "lesserequal": torch.le,
    "lesserthan": torch.lt,
    "where3": lambda c, a, b: torch.where(c != 0, a, b),
    "identity": lambda x: x,
    "ReStickifyOpHBM": lambda x: x,
    "dl16tofp32": lambda x: x,
    "fp32todl16": lambda x: x,
    "fp8todl16": lambda x: x,
    "qfp8ch": lambda x: x.to(torch.float8_e4m3fn).float(),  # the rounding is what it is for
}


def pointwise(op: str, inputs: Sequence[Tensor], constants: Constants) -> Tensor:
    """An elementwise OpFunc over broadcastable tiles."""
    if op == "clip":
        return torch.clamp(inputs[0], constants["clipMin"], constants["clipMax"])
    if op == "softplus":
        return torch.nn.functional.softplus(inputs[0], constants["softplusBeta"], constants["softplusThresh"])
    if op == "layernormscale":
        mean, square = inputs[0], inputs[1]
        return torch.rsqrt((square.double() - mean.double() ** 2).clamp(min=0) + constants["eps"]).float()
    if op == "layernormnorm":
        x, mean, scale, weight, bias = inputs
        return (x - mean) * scale * weight + bias
    function = _POINTWISE.get(op)
    if function is None:
        raise UnsupportedError(f"the reference executor does not know the OpFunc {op}")
    return function(*inputs).float()


def partial_reduction(op: str, x: Tensor, axes: list[int], constants: Constants) -> Tensor:
    """One core's share of a reduction."""
    if op in ("sum", "mean"):
        total = x.sum(axes, keepdim=True) if axes else x  # without axes, torch sums over all
        return total * constants["scaling_factor"] if op == "mean" else total
    if op == "max":
        return x.amax(axes, keepdim=True)
    if op == "min":
        return x.amin(axes, keepdim=True)
    raise UnsupportedError(f"the reference executor does not know the reduction {op}")


def combine(op: str, a: Tensor, b: Tensor) -> Tensor:
    """Two cores' shares of a split reduction, as the ring adds them up."""
    if op == "max":
        return torch.maximum(a, b)
    if op == "min":
        return torch.minimum(a, b)
    return a + b


def matmul(a: Tensor, b: Tensor, reduced: list[int]) -> Tensor:
    """Sum of products over the reduced axes of two tiles that broadcast over the same symbols."""
    letters = "abcdefghijklmnop"[: a.dim()]
    both = []
    for tensor in (a, b):
        wide = [d for d in range(tensor.dim()) if tensor.shape[d] != 1]
        both.append(("".join(letters[d] for d in wide), tensor.reshape([tensor.shape[d] for d in wide])))
    (left, x), (right, y) = both
    out = [d for d in range(a.dim()) if d not in reduced]
    shape = [max(a.shape[d], b.shape[d]) if d not in reduced else 1 for d in range(a.dim())]
    kept = "".join(letters[d] for d in out if letters[d] in left + right)
    return torch.einsum(f"{left},{right}->{kept}", x, y).reshape(shape)


def round_dl16(x: Tensor) -> Tensor:
    """Round to the device's half format: 9 fraction bits, to nearest even."""
    bits = x.float().view(torch.int32)
    odd = (bits >> 14) & 1
    rounded = ((bits + 0x1FFF + odd) >> 14) << 14
    return torch.where(torch.isfinite(x), rounded.view(torch.float32), x)
