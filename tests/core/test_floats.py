"""Floats, large integers and NaN of which torch-mlir makes something else: decomposed or remarked, and checked."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn

import irwidget
from irwidget.checking.evaluate import Wide
from irwidget.frontends import decompositions, decompositions_floats, decompositions_wrong
from tests.core.decomposed import EDGES, INF

aten: Any = torch.ops.aten
MODES = ("trunc", "floor")
PAIRS = {
    "isclose": (aten.isclose.default, {}),
    "isclose of NaN": (aten.isclose.default, {"equal_nan": True}),
    "isclose by a part": (aten.isclose.default, {"rtol": 0.7, "atol": 0.2}),
    "fmod": (aten.fmod.Tensor, {}),
    "floor": (aten.div.Tensor_mode, {"rounding_mode": "floor"}),
    "hypot": (aten.hypot.default, {}),
}


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize("name", PAIRS)
def test_every_pair_of_edges_is_as_by_eager(name: str, kind: torch.dtype) -> None:
    operator, how = PAIRS[name]
    x, y = EDGES.to(kind)[:, None], EDGES.to(kind)
    table = {**decompositions_wrong.table(""), aten.hypot.default: decompositions.hypot}
    got, want = table[operator](x, y, **how), operator(x, y, **how)
    torch.testing.assert_close(got, want, equal_nan=True)
    known = ~want.isnan() if want.dtype.is_floating_point else ...
    assert torch.equal(torch.signbit(got[known]), torch.signbit(want[known]))


def _quotients(kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Of which the integers next to them show how they are rounded first."""
    x, y = torch.meshgrid(torch.arange(-198.0, 202), torch.tensor([3.3, 49.0, 7.0, 0.7, -41.0]), indexing="ij")
    return torch.cat([x, x * 3.3]).flatten().to(kind), torch.cat([y, y]).flatten().to(kind)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("language", ["", "TOSA", "StableHLO"])
def test_a_quotient_is_cut_as_eager_pytorch_rounds_it(language: str, kind: torch.dtype) -> None:
    (x, y), single = _quotients(kind), torch.tensor(3.3)
    table, cases = decompositions_wrong.table(language), itertools.product((y[0], y[1:2], single, 3.3, 1001), MODES)
    for by, mode in ((y, "trunc"), *cases):
        operator = aten.div.Tensor_mode if isinstance(by, torch.Tensor) else aten.div.Scalar_mode
        got, want = (divide(x, by, rounding_mode=mode) for divide in (table[operator], operator))
        assert got is NotImplemented or torch.equal(got, want), (by, mode)


def test_a_quotient_is_cut_where_the_language_has_reciprocals_only() -> None:
    y = torch.arange(1.0, 64)
    low = irwidget.lower(partial(torch.div, rounding_mode="trunc"), y * 2, y, to="tosa_mlir", check=True)
    assert low.check
    assert low.check.state == "equal", low.check


def test_a_half_is_cut_by_a_number_of_more_digits() -> None:
    x, _ = _quotients(torch.bfloat16)
    low = irwidget.lower(lambda x: torch.div(x, 3.3, rounding_mode="trunc"), x, to="linalg_on_tensors_mlir", check=True)
    assert low.check
    assert low.check.state == "equal", low.check


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_what_a_check_compares_a_tensor_with_is_a_number_of_its_dtype(kind: torch.dtype) -> None:
    class Compared(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x == 0.1, x <= 0.1, x < 0.1, x > 0.1, x.to(torch.int64) == 2.5

    x = torch.tensor([0.1, 0.3, 2.0], dtype=kind)
    program = torch.export.export(Compared(), (x,)).run_decompositions({})
    for got, want in zip(Wide(program.graph_module, {}).run(x), Compared()(x), strict=True):
        assert torch.equal(got, want)


@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_the_nearest_number_is_that_of_a_tensor(kind: torch.dtype) -> None:
    info = torch.finfo(kind)
    steps = [(1 + info.eps * step / 4) * scale for step in range(9) for scale in (1, -3, info.max / 2, info.tiny)]
    least = [info.smallest_normal * info.eps * part for part in (0.4, 0.5, 0.6, 1.5, 2.5)]
    for number in (*steps, *least, 0.1, -1e300, 1e-300, info.max, info.max * (1 + info.eps), INF):
        assert decompositions_floats.nearest(number, kind) == torch.tensor(number, dtype=kind).item(), number


WIDE = torch.tensor([1.0, 2.0], dtype=torch.float64)


@pytest.mark.parametrize(
    ("model", "x", "target", "said"),
    [
        (lambda x: x.clamp(0, 1), torch.ones(2), "linalg_on_tensors_mlir", "aten.clamp: of a NaN"),
        (nn.functional.relu6, torch.ones(2), "linalg_on_tensors_mlir", "aten.hardtanh: of a NaN"),
        (lambda x: torch.maximum(x, x * 2), torch.ones(2), "linalg_on_tensors_mlir", "aten.maximum: where the first"),
        (lambda x: x.clamp(0, 1), torch.ones(2), "tosa_mlir", ""),
        (lambda x: x.clamp(0, 1), torch.ones(2).int(), "linalg_on_tensors_mlir", ""),
        (lambda x: x + x, torch.tensor([1]), "tosa_mlir", "aten.add: torch-mlir adds integers of 64 bits"),
        (lambda x: 3 - x, torch.tensor([1]), "tosa_mlir", "aten.sub: torch-mlir adds integers of 64 bits"),
        (lambda x: x // 3, torch.tensor([1]), "tosa_mlir", "aten.div.Tensor_mode: torch-mlir rounds quotients"),
        (lambda x: x % 3, torch.tensor([1]), "tosa_mlir", "aten.remainder: torch-mlir rounds quotients"),
        (lambda x: torch.div(x, 3, rounding_mode="trunc"), torch.tensor([1]), "tosa_mlir", ""),
        (lambda x: x + x, torch.tensor([1]), "linalg_on_tensors_mlir", ""),
        (lambda x: x + x, torch.tensor([1]).int(), "tosa_mlir", ""),
        (lambda x: x * 0.1, WIDE, "tosa_mlir", "aten.mul: torch-mlir holds numbers"),
        (lambda x: x / 3, WIDE, "tosa_mlir", "aten.div: torch-mlir holds numbers"),
        (torch.log2, WIDE, "tosa_mlir", "aten.log2: torch-mlir holds numbers"),
        (lambda x: x * 0.5 + x / 4, WIDE, "tosa_mlir", ""),
        (lambda x: x.argmax(), torch.ones(2), "stablehlo_mlir", "aten.argmax: torch-mlir finds another place"),
        (lambda x: x.max(0)[1], torch.ones(2), "linalg_on_tensors_mlir", "aten.max.dim: torch-mlir finds another"),
        (lambda x: x.max(0)[0], torch.ones(2), "linalg_on_tensors_mlir", ""),
        (lambda x: x.sort(), torch.ones(2).int(), "linalg_on_tensors_mlir", ""),
        (lambda x: x.median(0)[0], torch.ones(2), "linalg_on_tensors_mlir", "aten.median.dim is decomposed"),
    ],
)
def test_what_is_lost_is_said(model: Any, x: torch.Tensor, target: str, said: str) -> None:
    low = irwidget.lower(model, x, to=target)
    assert [one.message[: len(said)] for one in low.diagnostics] == ([said] if said else [])


def test_eager_is_no_measure_where_its_kernel_rounds_what_the_program_does_not() -> None:
    """A norm of bfloat16 becomes operators of float32; eager PyTorch rounds the mean and the scale."""
    random = torch.Generator().manual_seed(1)
    x = (torch.randn(3, 2, 3, 4, generator=random) * 5).bfloat16()
    scale, offset = torch.tensor([-8.5, -1.7656]).bfloat16(), torch.tensor([-4.3125, -2.4062]).bfloat16()

    def norm(x: torch.Tensor) -> torch.Tensor:
        return nn.functional.batch_norm(x, None, None, scale, offset, training=True, eps=0.5)

    low = irwidget.lower(norm, x, to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check
    wrong = low.dumps[0].text.replace("constant.float 5.000000e-01", "constant.float 1.000000e+00")  # by one percent
    assert str(low.edit(0, wrong).run(check=True).check).startswith("DIFFERS")


def test_the_deviation_of_no_elements_is_no_number() -> None:
    def model(x: torch.Tensor) -> Any:
        return x.var(), *torch.var_mean(x, 1), x.std(1, False), x.var(-1, keepdim=True)

    low = irwidget.lower(model, torch.ones(2, 0, 3), to="linalg_on_tensors_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_a_logarithm_of_a_sum_loses_a_part_of_one() -> None:
    one = -torch.linspace(0.01, 8, 2000)
    other = torch.log1p(-one.exp()) + torch.linspace(-1e-6, 1e-6, 2000)
    low = irwidget.lower(torch.logaddexp, one, other, to="linalg_on_tensors_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_no_nan_is_near_to_itself() -> None:
    numbers = torch.complex(EDGES, EDGES)
    low = irwidget.lower(lambda x, z: (torch.isclose(x, x), z == z), EDGES, numbers, to="tosa_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
