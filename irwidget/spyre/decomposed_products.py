"""Products as Spyre's front end takes them apart: matmuls, convolution, attention."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.fx.traceback as fx_traceback

from irwidget.errors import UnsupportedError
from irwidget.spyre.customops import ops
from irwidget.spyre.decomposed import new_table
from irwidget.spyre.decomposed_reductions import softmax
from irwidget.spyre.flattened import is_one_of_rows

Tensor = torch.Tensor
aten = torch.ops.aten
TABLE, decomposes = new_table()


@decomposes("linear")
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


@decomposes("mm", "bmm")
def _mm(a: Tensor, b: Tensor) -> Tensor:
    return ops().matmul(a, b)


@decomposes("matmul")
def _matmul(a: Tensor, b: Tensor) -> Tensor:
    row, column = a.dim() == 1, b.dim() == 1
    if column and a.dim() < 3:
        with fx_traceback.annotate(_origin("dot" if row else "mv")):
            return (a * b).sum(-1)
    a = a.unsqueeze(0) if row else a
    b = b.unsqueeze(-1) if column else b
    if max(a.dim(), b.dim()) > 3 and min(a.dim(), b.dim()) > 2:
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = _spread(a, batch), _spread(b, batch)
    elif a.dim() > 2 and b.dim() == 2 and not column and not is_one_of_rows(a):
        with fx_traceback.annotate(_origin("expand")):
            a = a.expand(a.shape)
        a = _spread(a, a.shape[:-2])
    y = ops().matmul(a, b)
    if row:
        y = y.squeeze(-2)
    return y.squeeze(-1) if column else y


def _spread(x: Tensor, batch: torch.Size) -> Tensor:
    """Matrices for all batches. Upstream's bmm takes the batch dims as one; what no view can make one is copied."""
    shape, missing = (*batch, *x.shape[-2:]), len(batch) + 2 - x.dim()
    given = [(1, 0)] * missing + list(zip(x.shape[:-2], x.stride()[:-2], strict=True))
    steps = [(n, s if n == m else 0) for n, (m, s) in zip(batch, given, strict=True) if n != 1]
    copied = any(outer != n * s for (_, outer), (n, s) in pairwise(steps))
    if x.shape != shape:
        with fx_traceback.annotate(_origin("expand")):
            x = x.expand(shape)
    if not copied:
        return x
    with fx_traceback.annotate({"aten": "expand", **_origin("clone")}):
        return x.clone(memory_format=torch.contiguous_format)


def _origin(name: str) -> dict[str, str]:
    """The name of a part of a matmul, which is taken apart before all others; in another op it has that one's."""
    current = fx_traceback.current_meta.get("custom") or {}
    return {"origin": name} if current.get("origin") == "matmul" else {}


@decomposes("_scaled_mm")
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


@decomposes("addmm")
def _addmm(c: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    y = ops().matmul(a, b)
    if alpha != 1:
        y = y * alpha
    return y if beta == 0 else (c if beta == 1 else c * beta) + y


@decomposes("scaled_dot_product_attention")
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
    q = _spread(q, q.shape[:-2]) if q.dim() > 3 else q
    grouped = enable_gqa and heads != k.shape[-3]
    with fx_traceback.annotate({"aten": "mul"}):
        k = ops().scaled(k, root) if grouped else k * root
    scores = _matmul(q, (_grouped(k, heads) if grouped else k).transpose(-2, -1))
    if causal:
        scores = scores + torch.full(scores.shape, -math.inf, dtype=q.dtype).triu(1)
    if mask is not None:
        scores = scores + _additive(mask, q.dtype)
    y = _matmul(softmax(scores, -1), _grouped(v, heads) if grouped else v)
    # Upstream takes the second dim for heads, also of three dims, whose rows are exchanged with their elements then.
    swapped = y.dim() == 4 or (y.dim() == 3 and q.shape[1] == k.shape[1])
    return y.transpose(1, 2).clone(memory_format=torch.contiguous_format).transpose(1, 2) if swapped else y


def _additive(mask: Tensor, dtype: torch.dtype) -> Tensor:
    if mask.dtype != torch.bool:
        return mask
    with fx_traceback.annotate({"origin": "full"}):
        zero, low = torch.full((), 0.0, dtype=dtype), torch.full((), -math.inf, dtype=dtype)
    with fx_traceback.annotate({"origin": "where"}):
        return aten.where.self(mask, zero, low)


def _grouped(x: Tensor, heads: int) -> Tensor:
    """Repeat each key/value head for its group of query heads."""
    size = list(x.shape)
    return x.unsqueeze(-3).expand(*size[:-2], heads // size[-3], *size[-2:]).flatten(-4, -3)


@decomposes("convolution")
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
    if not x.dtype.is_floating_point:
        return NotImplemented  # it stays whole, on the host
    if transposed or any(output_padding) or x.dim() != 4:
        raise UnsupportedError(
            f"Spyre backend does not support: convolution of a {x.dim()}-D tensor with transposed={transposed},"
            f" output_padding={list(output_padding)}: only plain conv2d of 4-D tensors."
        )
    stride, padding, dilation = (one * 2 if len(one) == 1 else one for one in (stride, padding, dilation))
    batch, out, kernel = x.shape[0], weight.shape[0], [weight.shape[2], weight.shape[3]]
    window = weight.shape[1] * kernel[0] * kernel[1]
    rows = ops().reshape_via_cpu(weight, [out, window] if groups == 1 else [groups, out // groups, window])
    rows = rows.unsqueeze(0).expand(batch, *rows.shape).clone()
    columns = ops().unfold(x, kernel, dilation, padding, stride)
    if groups > 1:
        columns = ops().reshape_via_cpu(columns, [batch, groups, window, columns.shape[-1]])
    y = ops().matmul(rows, columns)
    size = [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    y = y.reshape(batch, out, *size)
    return y if bias is None else y + ops().reshape_via_cpu(bias, [1, out, 1, 1])
