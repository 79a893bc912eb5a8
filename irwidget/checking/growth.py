"""How much an operation may lose by rounding: the unit of its dtype, times what its sums and divisions make of it."""

from __future__ import annotations

import math
from typing import Any, Protocol

import torch

from irwidget.private_torch import pytree

Values = tuple[Any, ...]


class Call(Protocol):
    """A call of an operator: a node of an exported program, or one that is executed."""

    @property
    def target(self) -> Any: ...

    @property
    def meta(self) -> dict[str, Any]:
        """Its result, or what is known of it, is `val`."""
        ...


_SUMMED_IN_SINGLE = (torch.float16, torch.bfloat16)
FEW = 8
"""So many of these are added up as they are, more in float32."""
_FOURIER = frozenset("fft_fft fft_ifft fft_rfft fft_irfft fft_hfft fft_ihfft".split())
_ELIMINATIONS = frozenset("linalg_slogdet _linalg_slogdet linalg_det _linalg_det slogdet logdet det".split())
"""torch-mlir computes them by elimination, of rows as they come."""


def dtype_of(meta: Any) -> torch.dtype | None:
    """The dtype of what the exported program says of a value; None of what has none."""
    return getattr(meta, "dtype", None)


def name_of(node: Call) -> str:
    """The operator of a node without its overload: `mm`."""
    return str(getattr(node.target, "__name__", node.target)).split(".")[0]


def epsilon(dtype: torch.dtype | None) -> float:
    """The distance from one to the next number; 0 for what does not round."""
    return torch.finfo(dtype).eps if dtype is not None and (dtype.is_floating_point or dtype.is_complex) else 0.0


def epsilon_of(node: Call) -> float:
    """That of the coarsest result of a node."""
    return max((epsilon(dtype_of(meta)) for meta in pytree.tree_leaves(node.meta.get("val"))), default=0.0)


def growth(node: Call, args: Values) -> float:
    """How much more than one rounding the operation may lose: it grows with the length of its sums."""
    if name_of(node) in _ELIMINATIONS:
        matrices = next(leaf for leaf in args if isinstance(leaf, torch.Tensor))
        if "log" in name_of(node) and _is_singular(matrices, epsilon_of(node)):
            return math.inf
        return 1.0 + _of_elimination(matrices)
    length = length_of(node, args)
    if length <= 1:
        return 1.0
    if any(dtype_of(meta) in _SUMMED_IN_SINGLE for meta in pytree.tree_leaves(node.meta.get("val"))):
        return 1.0 + math.sqrt(min(length, FEW)) / 2
    return 1.0 + math.sqrt(length) / 2 + length / 16


def length_of(node: Call, args: Values) -> int:
    """How many terms a sum in the operation has, at most."""
    name = name_of(node)
    tensors = [leaf for leaf in pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor)]
    if not tensors:
        return 1
    if name in ("mm", "bmm", "matmul"):
        return tensors[0].shape[-1]
    if name in ("addmm", "baddbmm"):
        return tensors[1].shape[-1]
    if "convolution" in name:
        return max(tensors[1].numel() // max(1, min(tensors[1].shape[:2])), 1)
    if name in ("_softmax", "_log_softmax", "cumsum", "logsumexp", "cumprod", "logcumsumexp"):
        return tensors[0].shape[args[1] if isinstance(args[1], int) else args[1][0]] if tensors[0].dim() else 1
    if name.startswith("_fft_") or name in _FOURIER:
        return _of_transform(name, tensors[0], args)
    if name == "native_layer_norm":
        return math.prod(args[1])
    if "norm" in name:
        return tensors[0].numel() // max(1, tensors[0].shape[1]) if tensors[0].dim() > 1 else tensors[0].numel()
    metas = [meta for meta in pytree.tree_leaves(node.meta.get("val")) if isinstance(meta, torch.Tensor)]
    smallest = min((int(math.prod(meta.shape)) for meta in metas if not _is_open(meta)), default=1)
    return max(1, max(tensor.numel() for tensor in tensors) // max(1, smallest))


def _of_transform(name: str, x: torch.Tensor, args: Values) -> int:
    """How many terms an element of a Fourier transform has: `(x, n, dim)`, or `(x, dims, ...)` of ATen's own."""
    if name.startswith("_fft_"):
        return math.prod(x.shape[dim] for dim in args[1]) * (2 if name == "_fft_c2r" else 1)
    count = args[1] if len(args) > 1 else None
    return count if isinstance(count, int) else 2 * x.shape[args[2] if len(args) > 2 else -1]


def _of_elimination(matrices: torch.Tensor) -> float:
    """What elimination without a choice of pivots loses: by how much the largest element outweighs each pivot."""
    left = matrices.to(torch.float64)
    lost = torch.zeros(left.shape[:-2], dtype=torch.float64)
    for _ in range(left.shape[-1]):
        pivot = left[..., :1, :1]
        safe = torch.where(pivot == 0, torch.ones_like(pivot), pivot)
        lost = lost + left.abs().amax((-2, -1)) / safe.abs()[..., 0, 0]
        left = (left - left[..., :, :1] * left[..., :1, :] / safe)[..., 1:, 1:]
    return float(lost.nan_to_num(posinf=0.0).max()) if lost.numel() else 0.0


def _is_singular(matrices: torch.Tensor, eps: float) -> bool:
    """Whether a matrix is singular as far as its numbers tell: the logarithm of its determinant may be anything."""
    if not matrices.numel():
        return False
    sizes = torch.linalg.svdvals(matrices.to(torch.complex128 if matrices.is_complex() else torch.float64))
    return bool((sizes[..., -1] <= eps * sizes.shape[-1] * sizes[..., 0]).any())


def _is_open(meta: torch.Tensor) -> bool:
    """Whether a size is a symbol."""
    return any(isinstance(extent, torch.SymInt) for extent in meta.shape)
