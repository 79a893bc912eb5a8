"""Dynamic dimensions: equal to eager PyTorch, in StableHLO executed for the sizes of each of the inputs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import irwidget
from irwidget.errors import ExportError
from irwidget.frontends import decompositions_dynamic
from irwidget.trace import Verdict

SIZES = {0: torch.export.Dim("n", min=4, max=50)}


class Attending(nn.Module):
    """Attention under a mask that is made of a size, and what reshapes, broadcasts, slices, pads and joins by one."""

    def __init__(self) -> None:
        super().__init__()
        self.lift, self.norm = nn.Linear(8, 16), nn.LayerNorm(16)

    def forward(self, x: torch.Tensor, other: torch.Tensor) -> Any:
        count, more = x.shape[0], other.shape[0]
        y = self.norm(self.lift(x + torch.arange(count)[:, None]))
        masked = (y @ y.T).masked_fill(torch.ones(count, count).triu(1).bool(), -torch.inf).softmax(-1)
        heads = (masked @ y).reshape(count, 2, 8).transpose(0, 1)
        joined = torch.cat([x, other.repeat(2, 1), heads[0].flip(0)])
        pooled = F.conv1d(joined.T[None], torch.ones(4, 8, 3), padding=1, stride=2)
        pairs = (x[:, None] * other[None]).view(count * more, 8)[::2]
        counted = torch.zeros(count).scatter_add(0, x.argmax(1) % 4, x[:, 0])
        scaled = x * max(count, more) / count**0.5
        return (
            heads,
            pooled,
            pairs,
            counted,
            scaled,
            F.interpolate(x.T[None], scale_factor=2.0),
            x.new_ones(more + 2, 3),
        )


def test_a_route_that_is_wrong_is_no_wrong_dump() -> None:
    """torch-mlir's linalg, by which dumps of the torch dialect are executed, has this view wrong; StableHLO right."""
    sizes = {0: SIZES[0], 1: torch.export.Dim("m", min=4, max=50)}
    low = irwidget.lower(
        nn.Linear(4, 3), torch.randn(5, 6, 4), to="stablehlo_mlir", dynamic_shapes=(sizes,), check="each"
    )
    assert low.check
    assert low.check.state == "equal", low.check
    assert [one.state for one in low.check.each] == ["not checked", "not checked", "equal", "equal"]
    assert low.check.each[0].reason.startswith("the route that executed it is wrong, as what was made of it is equal")


def test_a_size_in_place_of_a_dynamic_one_is_found(rewriting: Callable[[str, str], Path]) -> None:
    tool = rewriting("arith.index_cast %dim : index to i64", "arith.constant 6 : i64")
    low = irwidget.lower(
        lambda x, y: (x * x.shape[0], y * y.shape[1]),
        *(GIVEN[0], torch.randn(2, 6, 3)),
        to="linalg_on_tensors_mlir",
        dynamic_shapes=(SHAPES[0], {1: SIZES[0]}),
        pipeline=f"user-tool {tool}",
        check=True,
    )
    assert "arith.constant 6 : i64" in low.text
    assert low.check
    assert (low.check.state, low.check.dump) == ("differs", "wrong"), low.check
    assert low.check.reason.startswith("on your inputs it is equal, but with others of their kind")


def test_a_route_that_is_wrong_hides_no_wrong_pass(rewriting: Callable[[str, str], Path]) -> None:
    sizes = {0: SIZES[0], 1: torch.export.Dim("m", min=4, max=50)}
    pipeline = f"mlir-opt --cse | user-tool {rewriting('stablehlo.add', 'stablehlo.subtract')}"
    given = torch.randn(5, 6, 4)
    low = irwidget.lower(
        nn.Linear(4, 3), given, to="stablehlo_mlir", dynamic_shapes=(sizes,), pipeline=pipeline, check=True
    )
    assert low.check
    assert (low.check.state, low.check.dump) == ("differs", "wrong"), low.check


BYTES = torch.arange(150, 300).to(torch.uint8)


def test_constants_without_a_sign_are_executed() -> None:
    low = irwidget.lower(
        lambda x: BYTES[: x.shape[0]] // 3 + x[:, 0],
        GIVEN[0],
        to="stablehlo_mlir",
        dynamic_shapes=SHAPES[:1],
        check=True,
    )
    assert getattr(low.check, "state", "") == "equal", low.check


def along(x: torch.Tensor, other: torch.Tensor) -> Any:
    """What is summed, spread out and padded along a dynamic dimension."""
    padded = F.pad(x, (1, -1, (-x.shape[0]) % 8, 2), value=0.5)
    counts = other.to(torch.int32).cumsum(0), (x > 0).cumsum(-2), other.cumsum(0, dtype=torch.float64)
    return padded, counts, x.var(0), x.std([0, 1], correction=0), torch.var_mean(other, 0, keepdim=True), x.var(1)


SHAPES = (SIZES, {0: torch.export.Dim("m", min=4, max=50)})
GIVEN = (torch.randn(6, 8), torch.randn(5, 8))


def test_every_size_is_that_of_the_inputs() -> None:
    low = irwidget.lower(Attending(), *GIVEN, to="stablehlo_mlir", dynamic_shapes=SHAPES, check=True)
    assert getattr(low.check, "state", "") == "equal", low.check
    kinds = set(re.findall(r"(?:stablehlo|shape|tensor)\.\w+", low.text))
    assert kinds >= {
        "shape.assuming",
        "shape.broadcast",
        "shape.num_elements",
        "stablehlo.dynamic_broadcast_in_dim",
        "stablehlo.dynamic_iota",
        "stablehlo.dynamic_reshape",
        "stablehlo.real_dynamic_slice",
        "stablehlo.scatter",
        "tensor.dim",
        "tensor.from_elements",
    }, kinds


def test_what_is_along_a_dynamic_dimension_is_taken_apart() -> None:
    low = irwidget.lower(along, *GIVEN, to="stablehlo_mlir", dynamic_shapes=SHAPES, check=True)
    assert getattr(low.check, "state", "") == "equal", low.check


class Images(nn.Module):
    """Of any height and width: resized, normalised in groups, padded by what is there, and their largest pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, 4)

    def forward(self, x: torch.Tensor) -> Any:
        resized = F.interpolate(x, scale_factor=0.5, mode="bilinear"), F.interpolate(x, scale_factor=1.5)
        larger = F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 1)), x * math.floor(x.shape[2] * 0.3)
        beside = F.pad(x, (1, 2, 1, 1), mode="reflect"), F.pad(x, (1, 1, 2, 1), mode="circular")
        pooled = F.adaptive_max_pool2d(x, 1), F.adaptive_avg_pool2d(x, (4, 3)), F.adaptive_avg_pool1d(x.flatten(2), 8)
        return *resized, *larger, *beside, *pooled, self.norm(x), x * math.trunc(1 - x.shape[3] / 5)


@pytest.mark.parametrize("to", ["linalg_on_tensors_mlir", "stablehlo_mlir"])
def test_images_of_any_size(to: str) -> None:
    sizes = {
        dim: torch.export.Dim(name, min=least, max=64) for dim, name, least in ((0, "b", 1), (2, "h", 4), (3, "w", 4))
    }
    low = irwidget.lower(Images(), torch.randn(2, 4, 8, 11), to=to, dynamic_shapes=(sizes,), check=True)
    assert getattr(low.check, "state", "") == "equal", low.check


@pytest.mark.parametrize("to", ["linalg_on_tensors_mlir", "stablehlo_mlir"])
def test_sizes_beside_floats_are_not_those_of_the_example(to: str) -> None:
    """The grid of `grid_sample`, whose places are compared with the sizes of the image."""
    sizes = {0: torch.export.Dim("b", min=1, max=8), 2: SIZES[0], 3: torch.export.Dim("w", min=4, max=50)}
    program = torch.export.export(Sampled(), (torch.randn(2, 4, 6, 7),), dynamic_shapes=(sizes,))
    low = irwidget.lower(program, torch.randn(2, 4, 6, 7), to=to, check=True)
    assert getattr(low.check, "state", "") == "equal", low.check


class Sampled(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), align_corners=False), F.adaptive_avg_pool2d(x, (2, 7))


def test_a_size_that_is_the_examples_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """As PyTorch's decomposition of averages has it, which asks whether the parts are as long as each other."""
    monkeypatch.setattr(decompositions_dynamic, "averages", lambda _: {})
    taken = r"takes it that Mod\(x\.shape\[0\], 2\) == 0 and \(x\.shape\[0\]//2\) == 3 and"
    with pytest.raises(ExportError, match=taken):
        irwidget.lower(
            lambda x: F.adaptive_avg_pool2d(x[None], (2, 8)), GIVEN[0], to="torch_mlir", dynamic_shapes=SHAPES[:1]
        )


def test_a_size_that_a_decomposition_rules_out_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's dimension has it: that the decomposition has asked, and been answered by the example, is no excuse."""

    def negated(x: torch.Tensor) -> torch.Tensor:
        return -(x.shape[0] // 6) * x if x.shape[0] > 5 else x

    monkeypatch.setattr(decompositions_dynamic, "averages", lambda _: {torch.ops.aten.neg.default: negated})
    low = irwidget.lower(lambda x: -x, GIVEN[0], to="linalg_on_tensors_mlir", dynamic_shapes=SHAPES[:1], check=True)
    assert low.check
    assert low.check.state == "differs", low.check


@pytest.mark.parametrize("to", ["linalg_on_tensors_mlir", "stablehlo_mlir"])
def test_parts_have_sizes_that_are_computed(to: str) -> None:
    def split(x: torch.Tensor) -> Any:
        return *x.split([x.shape[0] - 2, 2]), *x.T.split(3, 1)

    sizes = {0: torch.export.Dim("n", min=5, max=6)}
    low = irwidget.lower(split, GIVEN[0], to=to, dynamic_shapes=(sizes,), check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


IMAGES = {at: torch.export.Dim(name, min=6, max=50) for at, name in ((2, "high"), (3, "wide"))}


def test_windows_that_reach_behind_the_padding_are_averaged() -> None:
    def pooled(x: torch.Tensor) -> Any:
        return (
            F.avg_pool2d(x, 2, 2, ceil_mode=True, count_include_pad=False),
            F.avg_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.avg_pool2d(x, 3, 2, divisor_override=4),
            F.max_pool2d(x, 3, 2, ceil_mode=True, return_indices=True),
            F.avg_pool1d(x.flatten(0, 2), 3, 2, ceil_mode=True),
        )

    sizes = dict.fromkeys(IMAGES, torch.export.Dim.AUTO)  # PyTorch itself asks for some
    low = irwidget.lower(pooled, torch.randn(1, 2, 8, 9), to="stablehlo_mlir", dynamic_shapes=(sizes,), check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


@pytest.mark.parametrize(
    "windows", [lambda x: F.max_pool2d(x, 3, 2), lambda x: F.conv2d(x, torch.ones(4, 2, 3, 3), None, 2)]
)
def test_windows_apart_in_a_dynamic_dimension_are_no_tosa(windows: Callable[..., Any]) -> None:
    given = torch.randn(3, 2, 9, 9)
    with pytest.raises(ExportError, match="has windows 2 apart in a dynamic dimension"):
        irwidget.lower(windows, given, to="tosa_mlir", dynamic_shapes=(IMAGES,))
    low = irwidget.lower(windows, given, to="tosa_mlir", dynamic_shapes=({0: torch.export.Dim.AUTO},), check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_windows_that_divide_a_dynamic_dimension_are_tosa() -> None:
    sizes = {2: 2 * torch.export.Dim("half", min=4, max=50)}
    image = torch.randn(1, 2, 10, 9)
    low = irwidget.lower(lambda x: F.max_pool2d(x, 2), image, to="tosa_mlir", dynamic_shapes=(sizes,), check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def sums(*given: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(given[0] * 1j + given[-1])


@pytest.mark.parametrize(
    ("function", "count", "shapes"),
    [
        (torch.add, 2, [SIZES, SIZES]),
        (torch.func.vmap(torch.add), 2, (SIZES, SIZES)),
        (torch.fft.fft, 1, [SIZES]),
        (sums, 2, (SIZES, SIZES)),
        (sums, 2, ((SIZES, SIZES),)),
        (sums, 1, ((SIZES,),)),
        (sums, 1, ((SIZES[0], None),)),
    ],
)
def test_many_arguments_have_shapes_side_by_side_or_below_each_other(function: Any, count: int, shapes: Any) -> None:
    given = GIVEN[0], torch.randn(6, 8)
    low = irwidget.lower(function, *given[:count], to="stablehlo_mlir", dynamic_shapes=shapes, check=True)
    assert "tensor<?x8xf32>" in low.dumps[-1].text
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_inputs_with_names_have_shapes_and_none_need_none() -> None:
    def product(z: torch.Tensor, *, y: torch.Tensor) -> torch.Tensor:
        return torch.view_as_real(z * y)

    sizes = [torch.export.Dim.AUTO, None]
    how: dict[str, Any] = {"to": "stablehlo_mlir", "check": True}
    named = {"y": torch.complex(GIVEN[0], GIVEN[0])}
    low = irwidget.lower(product, GIVEN[0], kwargs=named, dynamic_shapes=(sizes, sizes), **how)
    assert "tensor<?x8x2xf32>" in low.dumps[-1].text
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    weight = torch.ones(3)
    assert str(irwidget.lower(lambda: weight * 2, dynamic_shapes=(), **how).check).startswith("equal to eager PyTorch")


def test_a_transform_along_a_dynamic_dimension_is_refused() -> None:
    sizes = {0: torch.export.Dim.AUTO}
    with pytest.raises(ExportError, match=r"_fft_r2c.* along a dimension whose size is known at run time only"):
        irwidget.lower(lambda x: torch.fft.fft(x, dim=0), GIVEN[0], to="stablehlo_mlir", dynamic_shapes=(sizes,))


def local(x: torch.Tensor) -> Any:
    """Of parts of four places, sizes of those that are known to divide by it."""
    batch, length, width = x.shape
    parts = x.view(batch, length // 4, 4, width)
    return parts.exp().reshape(batch, length, width) + x


def turned(x: torch.Tensor) -> torch.Tensor:
    return x.view(x.shape[0] // 4, 4, 3).transpose(0, 1).reshape(-1, 3)


@pytest.mark.parametrize(("function", "shape"), [(local, (2, 12, 3)), (turned, (12, 3))])
def test_a_part_of_a_size_that_divides_is_a_number(function: Callable[..., Any], shape: tuple[int, ...]) -> None:
    sizes = dict.fromkeys(range(len(shape) - 1), torch.export.Dim.AUTO)
    how: dict[str, Any] = {"to": "linalg_on_tensors_mlir", "dynamic_shapes": (sizes,), "check": True}
    low = irwidget.lower(function, torch.randn(shape), **how)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_a_pool_has_one_number_for_all_dimensions() -> None:
    pool = torch.nn.MaxPool2d((6,), stride=(2, 2), padding=1)
    low = irwidget.lower(pool, torch.randn(1, 2, 20, 21), to="tosa_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def orders(x: torch.Tensor) -> Any:
    """Of a dynamic dimension and beside one, with equal elements and NaN; whole, stable, and of the first few."""
    x = torch.cat([x.round(), x.round().log()])
    return *x.sort(0), *x.sort(stable=True, descending=True), *x.topk(3), x.topk(2, 0, largest=False)[0]


def test_orders_of_dynamic_dimensions_are_as_in_eager_pytorch() -> None:
    low = irwidget.lower(orders, GIVEN[0] * 2, to="stablehlo_mlir", dynamic_shapes=SHAPES[:1], check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_an_order_of_many_beside_a_dynamic_dimension_is_refused() -> None:
    many = torch.randn(6, 2049)
    with pytest.raises(ExportError, match=r"aten\.sort has no form in StableHLO .*statically shaped[^$]*x\.sort\(1\)"):
        irwidget.lower(lambda x: x.sort(1), many, to="stablehlo_mlir", dynamic_shapes=SHAPES[:1])


def joined(x: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, other * other.shape[0]]).reshape(-1)


WRONG = {
    "a number": ("stablehlo.multiply", "stablehlo.divide"),
    "a size": ("%c0 = arith.constant 0", "%c0 = arith.constant 1"),
}


def _after(tool: Path) -> Verdict:
    low = irwidget.lower(
        joined, *GIVEN, to="stablehlo_mlir", dynamic_shapes=SHAPES, pipeline=f"user-tool {tool}", check=True
    )
    assert low.check
    return low.check


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_pass_is_found(case: str, rewriting: Callable[[str, str], Path]) -> None:
    found = _after(rewriting(*WRONG[case]))
    assert (found.state, found.dump) == ("differs", "wrong"), found
    assert found.reason.startswith("result 0")


def test_sizes_that_do_not_fit_are_told(rewriting: Callable[[str, str], Path]) -> None:
    found = _after(rewriting("shape.num_elements", "shape.rank"))
    assert found.state == "not checked", found
    assert found.reason.startswith(
        "after wrong it was not executed: its operations do not fit together for the sizes of the inputs: "
        "number of output elements (2) doesn't match expected number of elements ("
    )


def beside_a_size(x: torch.Tensor) -> Any:
    """Bytes and a number that run time knows, which is taken for one of their dtype."""
    n = x.shape[0]
    return x - n, n - x, x * n, x % n, x // n, x < n, x >= n * 60, x == n, x.clamp(n - 2, n), x & n, x > n // 2


@pytest.mark.parametrize("to", ["linalg_on_tensors_mlir", "stablehlo_mlir"])
@pytest.mark.parametrize("kind", [torch.uint8, torch.int8])
def test_numbers_that_run_time_knows_beside_bytes(kind: torch.dtype, to: str) -> None:
    low = irwidget.lower(
        beside_a_size, torch.arange(-120, 120, 3).to(kind).view(5, 16), to=to, dynamic_shapes=(SIZES,), check=True
    )
    assert getattr(low.check, "state", "") == "equal", low.check
