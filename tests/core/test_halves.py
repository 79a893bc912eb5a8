"""What float16 and bfloat16 lose: as little as in eager PyTorch, which adds them up in float32."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

import irwidget
from irwidget.frontends import decompositions_halves

TARGETS = ("linalg_on_tensors_mlir", "tosa_mlir", "stablehlo_mlir")
LONG = 2 * torch.rand(3, 600, generator=torch.Generator().manual_seed(0))


def sums(x: torch.Tensor) -> Any:
    places, zeros, image = torch.zeros(x.shape[1], dtype=torch.long), x.new_zeros(3, 2), x.reshape(1, 1, 30, 60)
    wide, norm = LONG.sum(1, dtype=x.dtype), torch.linalg.vector_norm
    return (
        *(
            x.sum(),
            x.sum(1),
            x.mean(),
            x.mean(1, keepdim=True),
            x.cumsum(1),
            wide,
            x.norm(),
            norm(x, 1, 1),
            norm(x, 4, 1),
        ),
        *(F.rms_norm(x, (600,), x[0]), F.rms_norm(x[:, :4] * 0, (4,)), F.normalize(x, dim=1)),
        *(F.avg_pool2d(image, 30), F.adaptive_avg_pool2d(image, 2), F.avg_pool1d(x, 100)),
        *(zeros.scatter_add(1, places.expand(3, -1), x), zeros.index_add(1, places, x)),
        *(zeros.scatter_reduce(1, places.expand(3, -1), x, "sum"), F.embedding_bag(places[None], x.T[:2], mode="sum")),
        *(F.pairwise_distance(x.reshape(1, -1), zeros[:1, :1]), x @ x.T),
    )


@pytest.mark.parametrize(("dtype", "to"), [*((torch.bfloat16, to) for to in TARGETS), (torch.float16, TARGETS[0])])
def test_sums_lose_no_more_than_in_eager_pytorch(dtype: torch.dtype, to: str) -> None:
    low = irwidget.lower(sums, LONG.to(dtype), to=to, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_a_sum_in_halves_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decompositions_halves, "FEW", 10**9)  # as torch-mlir has it
    low = irwidget.lower(lambda x: x.sum(1), LONG.bfloat16(), to=TARGETS[0], check=True)
    assert low.check
    assert low.check.state == "differs", low.check


def test_a_few_terms_and_a_norm_with_a_number_are_torch_mlirs() -> None:
    def few(x: torch.Tensor) -> Any:
        return x[:, :8].sum(1), F.rms_norm(x.float(), (600,), eps=1e-5)

    low = irwidget.lower(few, LONG.bfloat16(), to=TARGETS[0], check=True)
    assert "torch.aten.rms_norm" in low.dumps[0].text
    assert "torch.prims.convert_element_type" in low.dumps[0].text  # of x.float() alone
    assert low.dumps[0].text.count("torch.prims.convert_element_type") == 1
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_halves_of_dynamic_sizes_reach_tosa_as_they_are() -> None:
    """torch-mlir casts nothing of dynamic sizes there."""

    def few(x: torch.Tensor) -> Any:
        return x.mean(1), F.rms_norm(x, (600,))

    sizes = {0: torch.export.Dim.AUTO}
    low = irwidget.lower(few, LONG.bfloat16(), to="tosa_mlir", dynamic_shapes=(sizes,), check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
