"""What works element by element as Spyre's front end takes it apart: arithmetic, comparisons, choices, constants."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign, inf
from typing import Any

import torch
import torch.fx.traceback as fx_traceback

from irwidget.errors import UnsupportedError
from irwidget.private_torch import physical_order
from irwidget.spyre.customops import ops
from irwidget.spyre.decomposed import new_table
from irwidget.spyre.formats import cast_op, dtype_name
from irwidget.spyre.hardware import FP16_MAX

Tensor = torch.Tensor
aten = torch.ops.aten
TABLE, decomposes = new_table()


@decomposes("_native_batch_norm_legit_no_training")
def _batch_norm(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, var: Tensor, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """In evaluation; what it saves for a backward pass is empty."""
    shape = (1, -1, *(1,) * (x.dim() - 2))
    y = (x - mean.view(shape)) * (1 / torch.sqrt(var + eps)).view(shape)
    y = y if weight is None else y * weight.view(shape)
    y = y if bias is None else y + bias.view(shape)
    return y, x.new_zeros((0,)), x.new_zeros((0,))


@decomposes("index_select")
def _index_select(x: Tensor, dim: int, index: Tensor) -> Any:
    return aten.index.Tensor(x, [None] * (dim % x.dim()) + [index]) if x.dim() else NotImplemented


@decomposes("view.dtype")
def _bits(x: Tensor, dtype: torch.dtype) -> Any:
    """The device has its own formats: what the bytes of PyTorch's mean is known on the host."""
    return NotImplemented if x.dtype == dtype else ops().bits(x, x.dtype, dtype)


@decomposes("logical_and")
def _logical_and(a: Tensor, b: Tensor) -> Any:
    """A product of what is 0 or 1, for that of an infinity and 0, or of two small numbers, would be another."""
    if a.dtype == b.dtype == torch.bool:
        return NotImplemented
    return aten.logical_and(*(x if x.dtype == torch.bool else x.to(torch.bool) for x in (a, b)))


@decomposes("elu")
def _elu(x: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    if scale != 1 or input_scale != 1:
        return NotImplemented
    return aten.where.self(x > 0, x, (torch.exp(x) - 1) * alpha)


@decomposes("silu")
def _silu(x: Tensor) -> Tensor:
    return ops().silu(x)


@decomposes("gelu")
def _gelu(x: Tensor, approximate: str = "none") -> Tensor:
    return ops().gelu(x, approximate)


@decomposes("softplus")
def _softplus(x: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    return ops().softplus(x, beta, threshold)


@decomposes("mish")
def _mish(x: Tensor) -> Tensor:
    return x * torch.tanh(aten.softplus(x))


@decomposes("leaky_relu")
def _leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    return aten.where.self(x > 0, x, x * slope)


@decomposes("clamp", "hardtanh", "clamp_min", "clamp_max")
def _clamp(x: Tensor, low: float | None = None, high: float | None = None) -> Any:
    if any(torch.result_type(x, bound) != x.dtype for bound in (low, high) if bound is not None):
        return NotImplemented
    least, most = bounds(x.dtype)
    if low is not None:
        x = ops().clip(x, low, most)
    if high is not None:
        x = ops().clip(x, least, high)
    return x


def bounds(dtype: torch.dtype) -> tuple[float, float]:
    """What a bound that is not given is: upstream's for half types, which alone the device clips, else none."""
    if dtype in (torch.float16, torch.bfloat16):
        return -FP16_MAX, FP16_MAX
    return (-inf, inf) if dtype.is_floating_point else (torch.iinfo(dtype).min, torch.iinfo(dtype).max)


@decomposes("clamp.Tensor", "clamp_min.Tensor")
def _clamp_to_tensors(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    x = x if low is None else torch.maximum(x, low)
    return x if high is None else torch.minimum(x, high)


TABLE["clamp_max.Tensor"] = lambda x, high: _clamp_to_tensors(x, None, high)
TABLE["clamp_max"] = lambda x, high: _clamp(x, None, high)
TABLE["hardtanh"] = lambda x, low=-1.0, high=1.0: _clamp(x, low, high)


@decomposes("relu6")
def _relu6(x: Tensor) -> Any:
    return _clamp(x, 0, 6)


@decomposes("ceil")
def _ceil(x: Tensor) -> Tensor:
    return torch.neg(torch.floor(torch.neg(x)))


@decomposes("floor", "round", "trunc")
def _whole(x: Tensor) -> Any:
    """What is whole already is copied."""
    return NotImplemented if x.dtype.is_floating_point else x.clone()


@decomposes("lerp.Scalar")
def _lerp(start: Tensor, end: Tensor, weight: float) -> Tensor:
    """From the nearer end, as PyTorch's does, which one is known here."""
    far = abs(weight) >= 0.5
    apart = end - start
    with fx_traceback.annotate({"aten": "lerp"}):  # a product that LX planning does not take
        step = apart * torch.full(start.shape, weight - far, dtype=start.dtype)
    return (end if far else start) + step


@decomposes("sign", "sgn")
def _sign(x: Tensor) -> Any:
    if x.dtype == torch.bool:
        return NotImplemented
    zero = _filled(x, 0.0)
    positive = torch.gt(x, zero)
    one = _filled(x, 1.0)
    negative = torch.lt(x, zero)
    return aten.where.self(positive, one, aten.where.self(negative, -_filled(x, 1.0), zero))


@decomposes("bitwise_not")
def _bitwise_not(x: Tensor) -> Tensor:
    """Of integers all bits against -1."""
    return _logical_not(x) if x.dtype == torch.bool else torch.bitwise_xor(x, torch.full_like(x, -1))


@decomposes("logical_not")
def _logical_not(x: Tensor) -> Tensor:
    return torch.eq(x, torch.ne(x, x)) if x.dtype == torch.bool else torch.eq(x, _filled(x, 0.0))


@decomposes("bitwise_and.Tensor")
def _bitwise_and(a: Tensor, b: Tensor) -> Any:
    """Upstream takes bool beside integers apart in the same way, which gives other values."""
    if a.dtype == b.dtype == torch.bool:
        return torch.logical_and(a, b)
    if torch.bool in (a.dtype, b.dtype):
        return NotImplemented
    return _bitwise_not(torch.bitwise_or(_bitwise_not(a), _bitwise_not(b)))


@decomposes("where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(condition: Tensor, a: Any, b: Any) -> Any:
    """A number beside a tensor is a whole one like it; two numbers are float16 on the device, and then cast."""
    whole = next((one for one in (a, b) if isinstance(one, torch.Tensor)), None)
    if whole is not None:
        dtype = torch.result_type(a, b)
        a, b = (one.to(dtype) if isinstance(one, torch.Tensor) else _filled(whole, one, dtype=dtype) for one in (a, b))
        return aten.where.self(condition, a, b)
    if any(torch.tensor(one, dtype=torch.float16).item() != one == one for one in (a, b)):
        return NotImplemented
    made = aten.where.self(condition, *(torch.full(condition.shape, one, dtype=torch.float16) for one in (a, b)))
    return made.to(torch.result_type(a, b))


@decomposes("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    filler = value if isinstance(value, torch.Tensor) else _filled(x, value)
    return aten.where.self(mask, filler, x).contiguous()


def _filled(x: Tensor, value: float, **kwargs: Any) -> Tensor:
    """A constant in the shape of a tensor, whose dims lie in memory in the order of that one's strides."""
    order = physical_order(x)
    made = torch.full([x.shape[dim] for dim in order], value, dtype=kwargs.get("dtype") or x.dtype)
    return made if order == sorted(order) else made.permute([order.index(dim) for dim in range(x.dim())]).clone()


@decomposes("scalar_tensor")
def _scalar_tensor(value: float, dtype: torch.dtype | None = None, **_: Any) -> Any:
    dtype = dtype or torch.get_default_dtype()
    return torch.full((), value, dtype=dtype) if dtype in (torch.float16, torch.float32) else NotImplemented


TABLE["ones"] = lambda size, dtype=None, **_: torch.full(size, 1, dtype=dtype or torch.get_default_dtype())
TABLE["zeros"] = lambda size, dtype=None, **_: torch.full(size, 0, dtype=dtype or torch.get_default_dtype())
TABLE["ones_like"] = lambda x, **kw: _filled(x, 1, **kw)
TABLE["zeros_like"] = lambda x, **kw: _filled(x, 0, **kw)
TABLE["zero"] = lambda x: _filled(x, 0)
TABLE["fill.Scalar"] = _filled
TABLE["full_like"] = lambda x, value, **kw: _filled(x, value, **kw)
TABLE["new_ones"] = lambda x, size, dtype=None, **_: torch.full(size, 1, dtype=dtype or x.dtype)
TABLE["new_zeros"] = lambda x, size, dtype=None, **_: torch.full(size, 0, dtype=dtype or x.dtype)
TABLE["new_full"] = lambda x, size, value, dtype=None, **_: torch.full(size, value, dtype=dtype or x.dtype)


def _arithmetic(name: str) -> Callable[..., Any]:
    op = getattr(torch, name)

    def decompose(a: Any, b: Any, *, alpha: float = 1) -> Any:
        integers = _are_int64(a, b)
        if alpha == 1:
            if name == "add" and torch.result_type(a, b) == torch.bool:  # truths: a sum would make a 2 of two
                return torch.logical_or(*(x if isinstance(x, torch.Tensor) else torch.full((), x) for x in (a, b)))
            return _through_float(op, a, b) if integers else NotImplemented
        if not (integers or isinstance(a, torch.Tensor)):
            return NotImplemented
        other = b if isinstance(b, torch.Tensor) else torch.full((), b, dtype=a.dtype)
        factor = torch.full(other.shape, alpha, dtype=other.dtype)
        with fx_traceback.annotate({"aten": "full"}):  # upstream's product goes by that name, and out of the scratchpad
            scaled = other * factor
        return op(a, scaled)

    return decompose


def _are_int64(*operands: Any) -> bool:
    """Whether one of them is an int64 tensor, and what they give together is int64."""
    made = any(isinstance(x, torch.Tensor) and x.dtype == torch.int64 for x in operands)
    return made and torch.result_type(*operands) == torch.int64


def _through_float(op: Callable[..., Tensor], *operands: Any) -> Tensor:
    """int64 arithmetic: cast to float32 on the CPU, compute, cast back."""
    cast = ops().to_dtype_cpu
    with fx_traceback.annotate({"inside": True}):  # of one lowering, so that the kernel's name has what views are read
        numbers = [cast(x, torch.float32) if isinstance(x, torch.Tensor) else x for x in operands]
    return cast(op(*numbers), torch.int64)


TABLE["add.Tensor"] = _arithmetic("add")
TABLE["sub.Tensor"] = _arithmetic("sub")
TABLE["mul.Tensor"] = _arithmetic("mul")


@decomposes("maximum")
def _maximum(a: Tensor, b: Tensor) -> Any:
    return _through_float(torch.maximum, a, b) if _are_int64(a, b) else NotImplemented


@decomposes("minimum")
def _minimum(a: Tensor, b: Tensor) -> Any:
    return _through_float(torch.minimum, a, b) if _are_int64(a, b) else NotImplemented


@decomposes("div.Tensor", "div.Scalar")
def _div(a: Tensor, b: Any) -> Any:
    """A number is divided by through its reciprocal."""
    if isinstance(b, torch.Tensor) or not a.dtype.is_floating_point:
        return NotImplemented
    with fx_traceback.annotate({"aten": "div"}):
        return a * (1.0 / b if b else copysign(inf, b))


@decomposes("silu_backward")
def _silu_backward(gradient: Tensor, x: Tensor) -> Tensor:
    """As ATen composes it, with a whole tensor of ones; each op has its own name."""

    def named(name: str) -> Any:
        return fx_traceback.annotate({"origin": name})

    with named("fill"):
        ones = torch.full(x.shape, 1.0, dtype=x.dtype)
    with named("sigmoid"):
        sigmoid = torch.sigmoid(x)
    with named("sub"):
        slope = ones - sigmoid
    with named("mul"):
        slope = x * slope
    with named("add"):
        slope = slope + 1.0
    with named("mul"):
        return gradient * (sigmoid * slope)


@decomposes("cat")
def _cat(tensors: list[Tensor], dim: int = 0) -> Any:
    """Inductor's rules: one tensor is a copy of it, and several times one a copy, repeated along a dim of its own."""
    parts = [x for x in tensors if x.shape != (0,) and x.shape[dim]]
    if len(parts) == 1 and all(x.dtype == parts[0].dtype for x in tensors):
        return parts[0].clone()
    if len(parts) < 2 or any(x is not parts[0] for x in parts) or any(x.dtype != parts[0].dtype for x in tensors):
        return NotImplemented
    x, dim = parts[0], dim % parts[0].dim()
    return x.unsqueeze(dim).expand(*x.shape[:dim], len(parts), *x.shape[dim:]).flatten(dim, dim + 1).clone()


@decomposes("block_diag")
def _block_diag(tensors: list[Tensor]) -> Any:
    """Inductor's: rows of blocks between zeros, where each stick lies in one block; else the host joins them."""
    blocks = [x if x.dim() == 2 else x.reshape(1, -1) for x in tensors]
    dtypes = {x.dtype for x in blocks}
    if dtypes != {torch.float16} or any(x.shape[1] % 64 for x in blocks):
        return NotImplemented
    before, width = 0, sum(x.shape[1] for x in blocks)
    rows: list[Tensor] = []
    for x in blocks:
        beside = (before, width - before - x.shape[1])
        zeros = [torch.zeros(x.shape[0], n, dtype=x.dtype) for n in beside]
        rows.append(torch.cat([part for part in (zeros[0], x, zeros[1]) if part.shape[1]], 1))
        before += x.shape[1]
    return torch.cat(rows, 0)


@decomposes("copy")
def _copy(into: Tensor, x: Tensor, non_blocking: bool = False) -> Tensor:
    """What a write leaves: the values in its place, laid out as they were. A copy casts by itself what it can."""
    if x.dtype == into.dtype and x.shape == into.shape and x.stride() == into.stride():
        with fx_traceback.annotate({"in_place": True}):
            return x.clone()
    direct = x.dtype == into.dtype or cast_op(dtype_name(x.dtype), dtype_name(into.dtype)) == "identity"
    x = x if direct else x.to(into.dtype)
    return ops().copied(x if x.shape == into.shape else x.expand(into.shape), into.dtype)


@decomposes("pixel_shuffle")
def _pixel_shuffle(x: Tensor, factor: int) -> Tensor:
    """PyTorch's: channels become rows and columns in one copy of a view, whose strides are then joined."""
    *batch, channels, height, width = x.shape
    n = len(batch)
    parts = x.view(*batch, channels // factor**2, factor, factor, height, width)
    turned = parts.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2).clone(memory_format=torch.contiguous_format)
    return turned.view(*batch, channels // factor**2, height * factor, width * factor)


@decomposes("channel_shuffle")
def _channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """PyTorch's: groups and the channels in each exchange their places in one copy."""
    parts = x.view(x.shape[0], groups, x.shape[1] // groups, *x.shape[2:])
    return parts.transpose(1, 2).clone(memory_format=torch.contiguous_format).view(x.shape)


@decomposes("square")
def _square(x: Tensor) -> Any:
    return _pow(x, 2)


@decomposes("pow.Tensor_Scalar")
def _pow(x: Tensor, exponent: float) -> Any:
    if x.dtype == torch.bool or torch.result_type(x, exponent) != x.dtype:
        return NotImplemented
    if exponent == 0.5:
        return torch.sqrt(x)
    if exponent == 1:
        if isinstance(exponent, int):
            return x
        with fx_traceback.annotate({"aten": "pow"}):  # a power of 1.0 is computed
            return x.clone()
    if exponent == -1:
        return torch.reciprocal(x)
    if float(exponent).is_integer() and 2 <= abs(exponent) < 32:
        x, n = (torch.reciprocal(x) if exponent < 0 else x), abs(int(exponent))
        half = _power(x, n // 2)
        square = _power(half, 2) if n % 2 else half
        with fx_traceback.annotate({"aten": "pow"}):
            return square * (x if n % 2 else half)
    return NotImplemented


def _power(x: Tensor, n: int) -> Tensor:
    if n == 1:
        return x
    half = _power(x, n // 2)
    square = half * half
    return square * x if n % 2 else square


@decomposes("dropout")
def _dropout(x: Tensor, p: float, train: bool) -> Tensor:
    _refuse_training(p, train)
    return x.clone()


@decomposes("native_dropout")
def _native_dropout(x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    _refuse_training(p, train is not False)
    return x.clone(), torch.ones_like(x, dtype=torch.bool)


def _refuse_training(p: float, train: bool) -> None:
    if train and p:
        raise UnsupportedError("Spyre backend does not support: dropout in training. Call model.eval() first.")
