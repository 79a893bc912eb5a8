"""Programs that cannot be lowered are refused before any pass: the operator, the user's line, the next step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import helion
import helion.language as hl
import pytest
import torch
import triton
import triton.language as tl
from torch import nn

import irwidget
from irwidget.errors import ExportError

SPARSE = torch.eye(3).to_sparse()
ROWS = torch.eye(3).to_sparse_csr()


def unknown(x: torch.Tensor) -> Any:
    return torch.special.airy_ai(x)


def sparse(a: torch.Tensor, x: torch.Tensor) -> Any:
    return torch.sparse.mm(a, x)


def rows(x: torch.Tensor) -> Any:
    return ROWS @ x


def nothing(x: torch.Tensor) -> Any:
    return torch.zeros(4, 0) + x[0, 0]


def wide(x: torch.Tensor) -> Any:
    return x + x.double().atan()


def effects(x: torch.Tensor) -> Any:
    return torch.linalg.inv(x)


def highest(x: torch.Tensor) -> Any:
    return x.to(torch.uint8).topk(2, 1)


def shifted(x: torch.Tensor) -> Any:
    return x.to(torch.uint8) + torch.tensor(7, dtype=torch.uint8)


def far(x: torch.Tensor) -> Any:
    return x.long() - 2**40


def convolved(x: torch.Tensor) -> Any:
    return torch.nn.functional.conv1d(x.long()[None], x.long()[None])


def counted(x: torch.Tensor) -> Any:
    return torch.bincount(x[0].long())


def chosen(x: torch.Tensor) -> Any:
    return x[x.sin() > 0]


def both(x: torch.Tensor) -> Any:
    return x[x[0] > 0, x[1] > 1]


def averaged(x: torch.Tensor) -> Any:
    return nn.functional.avg_pool3d(x.long().reshape(1, 1, 1, 3, 3), (1, 2, 2))


def placed(x: torch.Tensor) -> Any:
    return nn.functional.max_pool2d(x[None, None], 2, 1, return_indices=True)


class Begun(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.cat([torch.ones(x.shape[0], 1, 4), x], 1)


class Empty(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(3, device="meta"))

    def forward(self, x: torch.Tensor) -> Any:
        return self.weight * 2


def elsewhere(x: torch.Tensor) -> Any:
    return x * torch.ones(3, device="meta")


class Repeated(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x.softmax(1).repeat(1, 2)


class Fixed(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x + torch.ones(3, 1)


LAYER = nn.Linear(3, 3)


def gradient(x: torch.Tensor) -> Any:
    return torch.func.grad(lambda z: LAYER(z).sin().sum())(x)


X = torch.ones(9).reshape(3, 3)  # a view, of which torch.export keeps a range of the size that it is of
DYNAMIC = ({0: torch.export.Dim("b"), 1: torch.export.Dim("s")},)
LONG = ({0: torch.export.Dim("s", min=4)},)
REFUSED: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...], Any, str]] = {
    "no operation": (unknown, (X,), None, "aten.special_airy_ai has no operation in torch-mlir"),
    "a sparse input": (sparse, (SPARSE, X), None, "input a is a sparse tensor"),
    "a sparse constant": (rows, (X,), None, "sparse tensors have no form"),
    "effects": (effects, (X,), None, "linalg.inv raises errors that depend on values"),
    "no elements": (nothing, (X,), None, "has no form in TOSA, which has no tensors of no elements"),
    "another operator": (highest, (X,), None, "lowered: aten.topk has no form in TOSA (failed to legalize operation"),
    "weights without values": (Empty(), (X,), None, "torch-mlir cannot import Empty: its weights, or a tensor that"),
    "two devices": (elsewhere, (X,), None, "torch.export cannot trace elsewhere: its tensors are on several devices ("),
    "a count": (counted, (X,), None, "aten.bincount has no form in TOSA here"),
    "as many as a mask has": (chosen, (X,), None, "lowered: aten.index.Tensor has no form in TOSA ("),
    "by two masks": (both, (X,), None, "cannot trace both: how many elements an operator takes depends on the values"),
    "a pool of integers": (averaged, (X,), None, "aten.avg_pool3d has no form in TOSA here"),
    "places of a pool": (placed, (torch.ones(5, 6),), LONG, "aten.max_pool2d_with_indices needs sizes as values, and"),
    "bytes that are constants": (shifted, (X,), None, "has no form in TOSA ('tosa.const' op expected same"),
    "a number of 64 bits": (far, (X,), None, "lowered: aten.sub.Tensor has no form in TOSA (failed to legalize"),
    "a convolution of int64": (convolved, (X,), None, "aten.conv1d has no form in TOSA ('tosa.conv2d' op attribute"),
    "float64": (wide, (X,), None, "aten.atan has no form in TOSA, which has no float64"),
    "a size as a value": (Begun(), (torch.ones(2, 3, 4),), DYNAMIC, "needs sizes as values, and TOSA's shapes are"),
    "a size that a pass asks": (Repeated(), (torch.ones(2, 3),), DYNAMIC, " has no form in TOSA with dynamic shapes ("),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_impossible_is_refused_before_any_pass(name: str) -> None:
    model, inputs, shapes, cause = REFUSED[name]
    with pytest.raises(ExportError) as refused:
        irwidget.lower(model, *inputs, to="tosa_mlir", dynamic_shapes=shapes, timeout=60)
    said = str(refused.value)
    line = getattr(model, "forward", model).__code__.co_firstlineno + 1
    assert cause in said
    assert f"{__file__}:{line}" in said
    assert "Next step: " in said or "Try: " in said
    assert "torch/" not in said


def static(x: torch.Tensor) -> Any:
    return torch.nonzero_static(x, size=3)


def repeated(x: torch.Tensor) -> Any:
    return torch.repeat_interleave(x, x[0].long().abs() + 1, dim=1)


def orthogonal(x: torch.Tensor) -> Any:
    return torch.linalg.qr(x * 2)


def spectral(x: torch.Tensor) -> Any:
    return torch.linalg.norm(x, 2)


def inverse(x: torch.Tensor) -> Any:
    return torch.erfinv(x)


@pytest.mark.parametrize("model", [chosen, counted, inverse])
def test_what_stablehlo_has_no_form_of_is_refused_before_any_pass(model: Callable[..., Any]) -> None:
    with pytest.raises(ExportError, match=r"lowered: aten.(index.Tensor|bincount|erfinv) has no form in StableHLO"):
        irwidget.lower(model, X, to="stablehlo_mlir", timeout=60)


def branched(x: torch.Tensor) -> Any:
    return torch.cond(x.sum() > 0, lambda x: torch.lgamma(x), lambda x: x + 1, (x,))


@pytest.mark.parametrize(
    ("model", "cause"),
    [
        (branched, r"aten\.lgamma has no operation in torch-mlir"),
        (static, r"aten\.nonzero_static has no form in linalg here \(aten\.nonzero_static is not lowered\)"),
        (repeated, r"aten\.repeat_interleave\.Tensor.* has no form in linalg here"),
        (orthogonal, r"aten\.linalg_qr has no form in linalg here"),
        (spectral, r"aten\._linalg_svd, of aten\.linalg_norm, has no operation in torch-mlir"),
    ],
)
def test_what_a_pass_would_stop_at_is_refused_by_its_name(model: Callable[..., Any], cause: str) -> None:
    with pytest.raises(ExportError, match=f"(?s){cause}.*test_refusing.py:.*Next step: ") as refused:
        irwidget.lower(model, X, to="linalg_on_tensors_mlir", timeout=60)
    assert refused.value.lowering.trace.refused  # no pass was shown


def test_a_dimension_that_is_not_dynamic_is_named() -> None:
    with pytest.raises(ExportError, match="works with one size only of a dimension that dynamic_shapes says"):
        irwidget.lower(Fixed(), torch.ones(3, 2), to="tosa_mlir", dynamic_shapes=({0: torch.export.Dim("b")},))


def test_a_gradient_that_cannot_be_traced_is_named_with_the_next_step() -> None:
    cause = "a gradient within the model, as of torch.func.grad, cannot be traced.*\n *Try: leave out dynamic shapes"
    with pytest.raises(ExportError, match=cause):
        irwidget.lower(gradient, X, to="torch_mlir", dynamic_shapes=({0: torch.export.Dim("b")},), timeout=60)


@triton.jit
def doubled(x, o, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(o + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@helion.kernel(config=helion.Config(block_sizes=[16]))
def halved(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] / 2
    return out


def test_kernels_of_others_within_a_model_are_named_with_the_next_step() -> None:
    def launches(x: torch.Tensor) -> torch.Tensor:
        made = torch.empty_like(x)
        doubled[(1,)](x, made, 9, BLOCK=16)
        return made

    for function, cause, step in (
        (launches, "it launches a Triton kernel, which has no form in MLIR of PyTorch", "--to triton_ir"),
        (lambda x: halved(x), "it calls a Helion kernel, which has no form in MLIR of PyTorch", "--to helion_mlir"),
    ):
        with pytest.raises(ExportError, match=cause) as refused:
            irwidget.lower(function, torch.ones(9), to="tosa_mlir")
        assert step in str(refused.value)
