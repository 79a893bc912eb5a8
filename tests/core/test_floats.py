"""Floats, large integers and NaN of which torch-mlir makes something else: decomposed or remarked, and checked."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import irwidget
from irwidget.checking.evaluate import Wide
from irwidget.frontends import decompositions, decompositions_floats, decompositions_wrong

aten: Any = torch.ops.aten
NAN, INF = float("nan"), float("inf")
EDGES = torch.tensor([0.1, NAN, INF, -INF, 5.0, -5.0, 0.0, -0.0, 2.5, 1.0, 1e30, 552.907043, 0.687856972])
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


def floats(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Numbers that a dtype does not hold, what is infinite or no number, and quotients that round to a whole one."""
    compared = x == 0.1, x.bfloat16() > 0.1, (i << 24) + 1 == 2.0**24
    near = torch.isclose(x[:, None], x), torch.copysign(x, 0.5)
    return *compared, *near, x // 0.1, torch.fmod(x, 0.1), nn.functional.gelu(x[4:] / 5, approximate="tanh")


def large(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Integers that floats do not hold, and what begins with a number."""
    most = (i << 24) + 1, ((i << 24) + 1).int(), (i << 60) - i
    begun = 7 // (i + 1), 7 // (i.int() - 9), 7 % (i - 9), 1 << i, 700 >> i.int(), torch.bitwise_xor(7, i.byte())
    return *(-one for one in most), most[2] // 3, *begun, torch.xlogy(2, x.abs())


def near(x: torch.Tensor, i: torch.Tensor) -> Any:
    """What TOSA and StableHLO compare as something else, and bytes that StableHLO does."""
    byte = (i * 80).to(torch.uint8)
    rows = torch.stack([byte, byte & 128, byte * 0])
    whether = byte >> (byte & 3), rows.all(1), rows.any(0), rows.any(1, keepdim=True)
    return x.bfloat16() == 0.1, 7 // (i + 1), 1 << i.int(), *whether, torch.isclose(x[:, None], x)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        *((floats, "linalg_on_tensors_mlir"), (large, "linalg_on_tensors_mlir")),
        *((near, "tosa_mlir"), (near, "stablehlo_mlir")),
    ],
)
def test_they_are_lowered_as_eager_has_them(model: Any, target: str) -> None:
    low = irwidget.lower(model, EDGES[:10], torch.tensor([1, 3, 0, 2]), to=target, timeout=120, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


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
        (lambda x: x + x, torch.tensor([1]), "linalg_on_tensors_mlir", ""),
        (lambda x: x + x, torch.tensor([1]).int(), "tosa_mlir", ""),
        (lambda x: x * 0.1, WIDE, "tosa_mlir", "aten.mul: torch-mlir holds numbers"),
        (lambda x: x / 3, WIDE, "tosa_mlir", "aten.div: torch-mlir holds numbers"),
        (torch.log2, WIDE, "tosa_mlir", "aten.log2: torch-mlir holds numbers"),
        (lambda x: x * 0.5 + x / 4, WIDE, "tosa_mlir", ""),
        (lambda x: x // 0.1, torch.ones(2), "stablehlo_mlir", "aten.div.Tensor_mode: torch-mlir rounds the quotient"),
    ],
)
def test_what_is_lost_is_said(model: Any, x: torch.Tensor, target: str, said: str) -> None:
    low = irwidget.lower(model, x, to=target)
    assert [one.message[: len(said)] for one in low.diagnostics] == ([said] if said else [])
