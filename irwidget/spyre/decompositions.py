"""The front end's own decompositions of ATen (docs/spyre-rules.md: Op selection).

Each is plain PyTorch over fake tensors; the tracer records what they call.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import Any

import torch
import torch.fx.traceback as fx_traceback

from irwidget.errors import UnsupportedError
from irwidget.spyre.customops import ops
from irwidget.spyre.hardware import FP16_MAX
from irwidget.spyre.spyreops import register

Tensor = torch.Tensor
aten = torch.ops.aten
_TABLE: dict[str, Callable[..., Any]] = {}
_OF_PYTORCH = """
    stack t rsub addcmul addcdiv native_group_norm hardtanh hardsigmoid hardswish log_sigmoid_forward
    roll glu narrow unsafe_chunk lerp logaddexp select_scatter select_backward dot vdot
"""


def _decomposes(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            _TABLE[name] = function
        return function

    return keep


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
    for name, function in _TABLE.items():
        packet, _, overload = name.partition(".")
        op = getattr(getattr(aten, packet), overload or "default")
        table[op] = _with_origin(packet, function)
    from irwidget.private_torch import get_decompositions  # pyright: ignore[reportUnknownVariableType]

    for op, function in register().items():
        table[op] = _with_origin(op.overloadpacket.__name__, function)
    known: Any = get_decompositions([getattr(aten, name) for name in _OF_PYTORCH.split()])
    for op, function in known.items():
        if op not in table:
            table[op] = _with_origin(op.overloadpacket.__name__, function)
    return table


def _with_origin(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Nodes made inside keep the name of the outermost ATen op that they come from."""

    def decompose(*args: Any, **kwargs: Any) -> Any:
        current = fx_traceback.current_meta.get("custom") or {}
        if "origin" in current:
            return function(*args, **kwargs)
        origin = "_scaled_dot_product_fused_attention_overrideable" if name == "scaled_dot_product_attention" else name
        with fx_traceback.annotate({"origin": origin}):
            return function(*args, **kwargs)

    return decompose


@_decomposes("linear")
def _linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    transposed = weight.transpose(-2, -1) if weight.dim() > 1 else weight.unsqueeze(-1)
    row = x.dim() == 1
    if row:
        x = x.unsqueeze(0)
    while transposed.dim() < x.dim():
        transposed = transposed.unsqueeze(0)
    y = ops().matmul(x, transposed)
    if row:
        y = y.squeeze(0)
    if weight.dim() == 1:
        y = y.squeeze(-1)
    return y if bias is None else y + bias


@_decomposes("mm", "bmm")
def _mm(a: Tensor, b: Tensor) -> Tensor:
    return ops().matmul(a, b)


@_decomposes("matmul")
def _matmul(a: Tensor, b: Tensor) -> Tensor:
    row, column = a.dim() == 1, b.dim() == 1
    a = a.unsqueeze(0) if row else a
    b = b.unsqueeze(-1) if column else b
    if max(a.dim(), b.dim()) > 3 and min(a.dim(), b.dim()) > 2:
        a, b = _collapsible(a), _collapsible(b)
    y = ops().matmul(a, b)
    if row:
        y = y.squeeze(-2)
    return y.squeeze(-1) if column else y


def _collapsible(x: Tensor) -> Tensor:
    """Upstream's bmm takes the batch dims as one; what no view can make one is copied first."""
    batch = [(n, s) for n, s in zip(x.shape[:-2], x.stride()[:-2], strict=True) if n != 1]
    if all(outer == n * s for (_, outer), (n, s) in pairwise(batch)):
        return x
    with fx_traceback.annotate({"aten": "expand"}):
        return x.clone(memory_format=torch.contiguous_format)


@_decomposes("_scaled_mm")
def _scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor,
    scale_b: Tensor,
    bias: Tensor | None = None,
    scale_result: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    use_fast_accum: bool = False,
) -> Tensor:
    if scale_result is not None:
        raise UnsupportedError("Spyre backend does not support: _scaled_mm with scale_result.")
    out_dtype = a.dtype if out_dtype is None else out_dtype
    y = ops().scaled_matmul(a, b, out_dtype if out_dtype == torch.bfloat16 else torch.float16)
    for scale in (scale_a, scale_b):
        y = y * (scale if scale.dtype == y.dtype else scale.to(y.dtype))
    y = y if bias is None else y + bias
    return y if out_dtype == y.dtype else y.to(out_dtype)


@_decomposes("addmm", "baddbmm")
def _addmm(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    y = ops().matmul(a, b)
    if alpha != 1:
        y = y * alpha
    return (c if beta == 1 else c * beta) + y


@_decomposes("rms_norm", "_fused_rms_norm")
def _rms_norm(x: Tensor, shape: list[int], weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    _one_dim("rms_norm", shape)
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    y = x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + eps)
    return y if weight is None else y * weight


@_decomposes("layer_norm")
def _layer_norm(
    x: Tensor,
    shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Tensor:
    _one_dim("layer_norm", shape)
    moments = ops().exx2(x, 1.0 / shape[0], False)
    scale = ops().layernormscale(moments, eps)
    if weight is None:
        weight = torch.full(shape, 1.0, dtype=x.dtype)
    if bias is None:
        bias = torch.full(shape, 0.0, dtype=x.dtype)
    return ops().layernormnorm(x, moments, scale, weight, bias)


def _one_dim(op: str, shape: list[int]) -> None:
    if len(shape) != 1:
        raise UnsupportedError(
            f"Spyre backend does not support: {op} over a shape of length {len(shape)} ({list(shape)}):"
            " only the last dim can be normalised. Flatten the normalised dims into one."
        )


@_decomposes("_softmax")
def _softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    shifted = torch.exp(x - torch.amax(x, dim, keepdim=True))
    return shifted / torch.sum(shifted, dim, keepdim=True)


@_decomposes("_log_softmax")
def _log_softmax(x: Tensor, dim: int, half_to_float: bool = False) -> Tensor:
    shifted = x - torch.amax(x, dim, keepdim=True)
    return shifted - torch.log(torch.sum(torch.exp(shifted), dim, keepdim=True))


@_decomposes("logsumexp")
def _logsumexp(x: Tensor, dim: list[int], keepdim: bool = False) -> Tensor:
    top = torch.amax(x, dim, keepdim=True)
    y = torch.log(torch.sum(torch.exp(x - top), dim, keepdim=True)) + top
    return y if keepdim else y.squeeze(dim)


@_decomposes("linalg_vector_norm")
def _vector_norm(x: Tensor, order: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
    if dtype not in (None, x.dtype):
        return NotImplemented
    if not x.dim():
        return torch.ne(x, 0.0).to(x.dtype) if order == 0 else torch.abs(x)
    dims: Any = list(range(x.dim())) if dim in (None, []) else dim
    if order in (math.inf, -math.inf):
        return (torch.amax if order > 0 else torch.amin)(torch.abs(x), dims, keepdim)
    if order == 0:
        return torch.sum(torch.ne(x, 0.0).to(x.dtype), dims, keepdim)
    if all(x.shape[d] == 1 for d in dims):
        y = torch.abs(x)
        return y if keepdim else y.squeeze(dims)
    if math.fmod(order, 2.0):
        x = torch.abs(x)
    with fx_traceback.annotate({"aten": "pow"}):
        powers = torch.pow(x, order)
    return torch.pow(torch.sum(powers, dims, keepdim), 1.0 / order)


@_decomposes("index_select")
def _index_select(x: Tensor, dim: int, index: Tensor) -> Tensor:
    return aten.index.Tensor(x, [None] * (dim % x.dim()) + [index])


@_decomposes("elu")
def _elu(x: Tensor, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Any:
    if scale != 1 or input_scale != 1:
        return NotImplemented
    return aten.where.self(x > 0, x, (torch.exp(x) - 1) * alpha)


@_decomposes("mish")
def _mish(x: Tensor) -> Tensor:
    return x * torch.tanh(aten.softplus(x))


@_decomposes("leaky_relu")
def _leaky_relu(x: Tensor, slope: float = 0.01) -> Tensor:
    return aten.where.self(x > 0, x, x * slope)


@_decomposes("clamp", "hardtanh", "clamp_min", "clamp_max")
def _clamp(x: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    if low is not None:
        x = ops().clip(x, float(low), FP16_MAX)
    if high is not None:
        x = ops().clip(x, -FP16_MAX, float(high))
    return x


_TABLE["clamp_max"] = lambda x, high: _clamp(x, None, high)
_TABLE["hardtanh"] = lambda x, low=-1.0, high=1.0: _clamp(x, low, high)


@_decomposes("relu6")
def _relu6(x: Tensor) -> Tensor:
    return _clamp(x, 0.0, 6.0)


@_decomposes("topk")
def _topk(x: Tensor, k: int, dim: int = -1, largest: bool = True, sort: bool = True) -> tuple[Tensor, Tensor]:
    if x.dim() != 2:
        raise UnsupportedError(f"Spyre backend does not support: topk of a {x.dim()}-D tensor; it takes 2-D ones.")
    if k > 4 or not largest:
        raise UnsupportedError(
            f"Spyre backend does not support: Topk is not supported for this config (k={k}, largest={largest}):"
            " it finds the 4 largest at most."
        )
    dim = dim % 2
    return ops().topkvalue(x, k, dim), ops().topkindex(x, k, dim)


@_decomposes("scaled_dot_product_attention")
def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    if dropout > 0:
        raise UnsupportedError(
            f"Spyre backend does not support: attention dropout (dropout_p={dropout}). Call model.eval() first."
        )
    root = math.sqrt(1.0 / math.sqrt(q.shape[-1]) if scale is None else scale)
    heads = q.shape[-3]
    q = q * root
    q = _collapsible(q) if q.dim() > 3 else q
    grouped = enable_gqa and heads != k.shape[-3]
    with fx_traceback.annotate({"aten": "mul"}):
        k = ops().scaled(k, root) if grouped else k * root
    scores = _matmul(q, (_grouped(k, heads) if grouped else k).transpose(-2, -1))
    if causal:
        scores = scores + torch.full(scores.shape, -math.inf, dtype=q.dtype).triu(1)
    if mask is not None:
        scores = scores + _additive(mask, q.dtype)
    y = _matmul(_softmax(scores, -1), _grouped(v, heads) if grouped else v)
    return y.transpose(1, 2).clone(memory_format=torch.contiguous_format).transpose(1, 2) if y.dim() == 4 else y


def _additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    if mask.dtype != torch.bool:
        return mask
    zero, low = torch.full((), 0.0, dtype=dtype), torch.full((), -math.inf, dtype=dtype)
    return aten.where.self(mask, zero, low)


def _grouped(x: Tensor, heads: int) -> Tensor:
    """Repeat each key/value head for its group of query heads."""
    size = list(x.shape)
    repeats = heads // size[-3]
    wide = x.unsqueeze(-3).expand(*size[:-2], repeats, *size[-2:])
    return wide.clone(memory_format=torch.contiguous_format).view(*size[:-3], heads, *size[-2:])


_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@_decomposes("max.dim")
def _max_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    if x.dtype in _INTEGERS:
        return NotImplemented
    return torch.amax(x, dim, keepdim), torch.argmax(x, dim, keepdim)


@_decomposes("min.dim")
def _min_dim(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    if x.dtype in _INTEGERS:
        return NotImplemented
    return torch.amin(x, dim, keepdim), torch.argmin(x, dim, keepdim)


@_decomposes("aminmax")
def _aminmax(x: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    dims = list(range(x.dim())) if dim is None else [dim]
    return torch.amin(x, dims, keepdim), torch.amax(x, dims, keepdim)


@_decomposes("max")
def _max_all(x: Tensor) -> Tensor:
    return torch.amax(x, list(range(x.dim())))


@_decomposes("min")
def _min_all(x: Tensor) -> Tensor:
    return torch.amin(x, list(range(x.dim())))


def _extreme(name: str) -> Callable[..., Any]:
    def reduce(x: Tensor, dim: Any = (), keepdim: bool = False) -> Any:
        if x.dtype != torch.bool:
            return NotImplemented
        return getattr(torch, name)(x.to(torch.float16), dim, keepdim).to(torch.bool)

    return reduce


_TABLE["amax"] = _extreme("amax")
_TABLE["amin"] = _extreme("amin")


@_decomposes("ceil")
def _ceil(x: Tensor) -> Tensor:
    return torch.neg(torch.floor(torch.neg(x)))


@_decomposes("sign")
def _sign(x: Tensor) -> Tensor:
    zero = _filled(x, 0.0)
    positive = torch.gt(x, zero)
    one = _filled(x, 1.0)
    negative = torch.lt(x, zero)
    return aten.where.self(positive, one, aten.where.self(negative, _filled(x, -1.0), zero))


@_decomposes("bitwise_not")
def _bitwise_not(x: Tensor) -> Any:
    return _logical_not(x) if x.dtype == torch.bool else NotImplemented


@_decomposes("logical_not")
def _logical_not(x: Tensor) -> Tensor:
    return torch.eq(x, torch.ne(x, x)) if x.dtype == torch.bool else torch.eq(x, torch.zeros_like(x))


@_decomposes("bitwise_and.Tensor")
def _bitwise_and(a: Tensor, b: Tensor) -> Any:
    return torch.logical_and(a, b) if a.dtype == torch.bool else NotImplemented


@_decomposes("where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def _where(condition: Tensor, a: Any, b: Any) -> Tensor:
    dtype = next((t.dtype for t in (a, b) if isinstance(t, torch.Tensor)), torch.float16)
    a, b = (t if isinstance(t, torch.Tensor) else torch.full(condition.shape, t, dtype=dtype) for t in (a, b))
    return aten.where.self(condition, a, b)


@_decomposes("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    filler = value if isinstance(value, torch.Tensor) else torch.full((), value, dtype=x.dtype)
    return aten.where.self(mask, filler, x)


def _filled(x: Tensor, value: float, **kwargs: Any) -> Tensor:
    return torch.full(list(x.shape), value, dtype=kwargs.get("dtype") or x.dtype)


_TABLE["ones"] = lambda size, dtype=None, **_: torch.full(size, 1.0, dtype=dtype or torch.get_default_dtype())
_TABLE["zeros"] = lambda size, dtype=None, **_: torch.full(size, 0.0, dtype=dtype or torch.get_default_dtype())
_TABLE["ones_like"] = lambda x, **kw: _filled(x, 1.0, **kw)
_TABLE["zeros_like"] = lambda x, **kw: _filled(x, 0.0, **kw)
_TABLE["full_like"] = lambda x, value, **kw: _filled(x, value, **kw)
_TABLE["new_ones"] = lambda x, size, dtype=None, **_: torch.full(size, 1.0, dtype=dtype or x.dtype)
_TABLE["new_zeros"] = lambda x, size, dtype=None, **_: torch.full(size, 0.0, dtype=dtype or x.dtype)
_TABLE["new_full"] = lambda x, size, value, dtype=None, **_: torch.full(size, value, dtype=dtype or x.dtype)


def _arithmetic(name: str) -> Callable[..., Any]:
    op = getattr(torch, name)

    def decompose(a: Tensor, b: Any, *, alpha: float = 1) -> Any:
        if not isinstance(a, torch.Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if a.dtype == torch.int64 and (b.dtype == torch.int64 if isinstance(b, torch.Tensor) else isinstance(b, int)):
            return _through_float(op, a, b * alpha if alpha != 1 else b)
        if alpha == 1:
            return NotImplemented
        other = b if isinstance(b, torch.Tensor) else torch.full((), b, dtype=a.dtype)
        factor = _filled(other, alpha)
        with fx_traceback.annotate({"aten": "full"}):  # upstream's product goes by that name, and out of the scratchpad
            scaled = other * factor
        return op(a, scaled)

    return decompose


def _through_float(op: Callable[..., Tensor], a: Tensor, b: Any) -> Tensor:
    """int64 arithmetic: cast to float32 on the CPU, compute, cast back."""
    cast = ops().to_dtype_cpu
    other = cast(b, torch.float32) if isinstance(b, torch.Tensor) else float(b)
    return cast(op(cast(a, torch.float32), other), torch.int64)


_TABLE["add.Tensor"] = _arithmetic("add")
_TABLE["sub.Tensor"] = _arithmetic("sub")
_TABLE["mul.Tensor"] = _arithmetic("mul")


@_decomposes("maximum")
def _maximum(a: Tensor, b: Tensor) -> Any:
    return _through_float(torch.maximum, a, b) if a.dtype == b.dtype == torch.int64 else NotImplemented


@_decomposes("minimum")
def _minimum(a: Tensor, b: Tensor) -> Any:
    return _through_float(torch.minimum, a, b) if a.dtype == b.dtype == torch.int64 else NotImplemented


@_decomposes("div.Tensor", "div.Scalar")
def _div(a: Tensor, b: Any) -> Any:
    """A number is divided by through its reciprocal."""
    if isinstance(b, torch.Tensor) or not b or not a.dtype.is_floating_point:
        return NotImplemented
    return a * (1.0 / b)


@_decomposes("copy")
def _copy(into: Tensor, x: Tensor, non_blocking: bool = False) -> Tensor:
    """What a write leaves: the values in its place, laid out as they were; a returned clone is filled by the host."""
    if (fx_traceback.current_meta.get("custom") or {}).get("into_clone"):
        return ops().copy_via_cpu(x.expand(into.shape), into.dtype)
    if x.dtype == into.dtype and x.shape == into.shape and x.stride() == into.stride():
        return x.clone()
    return ops().copied((x if x.dtype == into.dtype else x.to(into.dtype)).expand(into.shape))


@_decomposes("square")
def _square(x: Tensor) -> Tensor:
    return x * x


@_decomposes("pow.Tensor_Scalar")
def _pow(x: Tensor, exponent: float) -> Any:
    if exponent == 0.5:
        return torch.sqrt(x)
    if exponent == -0.5:
        return torch.rsqrt(x)
    if exponent == 1:
        if isinstance(exponent, int):
            return x
        with fx_traceback.annotate({"aten": "pow"}):  # a power of 1.0 is computed
            return x.clone()
    if exponent == -1:
        return torch.reciprocal(x)
    if float(exponent).is_integer() and 2 <= exponent <= 32:
        return _power(x, int(exponent))
    return NotImplemented


def _power(x: Tensor, n: int) -> Tensor:
    if n == 1:
        return x
    half = _power(x, n // 2)
    square = half * half
    return square * x if n % 2 else square


@_decomposes("convolution")
def _convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Tensor:
    if transposed or any(output_padding) or x.dim() != 4:
        raise UnsupportedError(
            f"Spyre backend does not support: convolution of a {x.dim()}-D tensor with transposed={transposed},"
            f" output_padding={list(output_padding)}: only plain conv2d of 4-D tensors."
        )
    out, kernel = weight.shape[0], [weight.shape[2], weight.shape[3]]
    window = weight.shape[1] * kernel[0] * kernel[1]
    rows = ops().reshape_via_cpu(weight, [out, window] if groups == 1 else [groups, out // groups, window])
    columns = ops().unfold(x, kernel, dilation, padding, stride)
    if groups == 1:
        y = ops().matmul(rows, columns)
    else:
        y = ops().matmul(rows, columns.view(x.shape[0], groups, window, columns.shape[-1]))
        y = y.view(x.shape[0], out, columns.shape[-1])
    if bias is not None:
        y = y + bias.view(1, out, 1)
    size = [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    return y.view(x.shape[0], out, *size)


@_decomposes("var.correction", "var", "var.dim", "std.correction", "std", "std.dim", "var_mean.correction")
def _variance(*args: Any, **kwargs: Any) -> Any:
    raise UnsupportedError(
        "Spyre backend does not support: variance and standard deviation; their Welford reduction has no OpFunc."
        " Write it as mean((x - mean(x)) ** 2)."
    )


@_decomposes("mean")
def _mean_all(x: Tensor, *, dtype: Any = None) -> Tensor:
    return torch.mean(x, list(range(x.dim())), dtype=dtype)


@_decomposes("sum")
def _sum_all(x: Tensor, *, dtype: Any = None) -> Tensor:
    return torch.sum(x, list(range(x.dim())), dtype=dtype)


@_decomposes("native_dropout", "dropout")
def _dropout(x: Tensor, p: float, train: bool) -> Any:
    if train and p:
        raise UnsupportedError("Spyre backend does not support: dropout in training. Call model.eval() first.")
    return x
