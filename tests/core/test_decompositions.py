"""Operators that torch-mlir refuses and irwidget decomposes: bags of embeddings, quantised programs."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # pyright: ignore[reportUnusedImport]  # defines the operators
from torch import nn

import irwidget
from irwidget.frontends import decompositions_integers, decompositions_resize
from irwidget.frontends.erfc import erfc

BAGS = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9, 1]), torch.tensor([0, 4, 4, 7])


@pytest.mark.parametrize("options", [{"mode": "sum"}, {"mode": "mean", "padding_idx": 4}, {"mode": "max"}])
def test_bags_of_embeddings(options: dict[str, Any]) -> None:
    model = nn.EmbeddingBag(10, 3, **options).eval()
    low = irwidget.lower(model, *BAGS, to="tosa_mlir", timeout=120, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    assert "_embedding_bag.default is decomposed" in "".join(d.message for d in low.diagnostics)


class Quantised(nn.Module):
    """What converting by pt2e leaves: integers between operators, and weights of int8 by channel."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randint(-128, 127, (6, 8), dtype=torch.int8), requires_grad=False)
        self.scales, self.zeros = torch.full((6,), 0.01), torch.tensor([0, 1, 2, 0, 1, 2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ops: Any = torch.ops.quantized_decomposed
        range_ = (-128, 127, torch.int8)
        taken = ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.02, 3, *range_), 0.02, 3, *range_)
        weight = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, *range_)
        made = nn.functional.linear(taken, weight)
        unsigned = (0.05, 128, 0, 255, torch.uint8)
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(made, *unsigned), *unsigned)


@pytest.mark.parametrize("target", ["tosa_mlir", "stablehlo_mlir"])
def test_int8_of_pt2e(target: str) -> None:
    low = irwidget.lower(Quantised().eval(), torch.randn(4, 8), to=target, check=True, timeout=120)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    assert "xi8>" in low.text
    assert "quantize_per_tensor.default is decomposed" in "".join(d.message for d in low.diagnostics)


WHERE = torch.tensor([0, 2])


def put(x: torch.Tensor) -> Any:
    """Indices of int32 beside a dimension without indices, and tensors of the user's own in lists."""
    y: Any = torch.ops.aten.index_put(x, [None, WHERE.int() * 1], x[:, :2], True)
    y[:, WHERE] = 2 * x[:, WHERE]
    y[[-1, 0], [1, -3]] = 3 * x[[-2, 1], [-1, 0]]
    return y, torch.cat([x[0], WHERE.float()])


def test_indices_and_lists_of_constants() -> None:
    low = irwidget.lower(put, torch.randn(3, 4), to="linalg_on_tensors_mlir", timeout=120, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def rolled(x: torch.Tensor) -> Any:
    return x.roll(1), x.roll((2, -1), (0, 1)), x.roll(5, 1), x.roll(0, 0)


def test_roll_reaches_tosa() -> None:
    low = irwidget.lower(rolled, torch.randn(3, 4), to="tosa_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def windows(x: torch.Tensor) -> Any:
    return x.unfold(-1, 4, 3).sum(1), x.unfold(0, 2, 1), x[:, [-2, 0]], x[[-1, 0], [1, -2]]


def test_windows_and_negative_indices_reach_stablehlo() -> None:
    low = irwidget.lower(windows, torch.randn(3, 11), to="stablehlo_mlir", timeout=120, check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


def powers(x: torch.Tensor) -> Any:
    numbers = x**0, x**1, x**3, x.int() ** 6, x.float() ** 3, x.abs() ** 0.5, (x > 0) ** 2, x.abs() ** x.float()
    byte = x.to(torch.int8)
    return *numbers, x << x % 3, byte[:, None] ** byte, 3 ** byte.to(torch.uint8)


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8])
def test_powers_by_tensors_are_those_of_eager(kind: torch.dtype) -> None:
    x, exponents = torch.arange(-5, 6).to(kind), torch.tensor([0, 1, 2, 7, 63, 64, -1, -2, 2**40 + 1]).to(kind)
    power = decompositions_integers.TABLE[torch.ops.aten.pow.Tensor_Tensor]
    assert torch.equal(power(x[:, None], exponents), x[:, None] ** exponents)


@pytest.mark.parametrize("kind", [torch.int64, torch.int16, torch.uint8])
def test_common_divisors_and_multiples_are_those_of_eager(kind: torch.dtype) -> None:
    of_fibonacci = [1, 2]  # which take the most steps
    while (following := sum(of_fibonacci[-2:])) <= torch.iinfo(kind).max:
        of_fibonacci.append(following)
    x = torch.tensor([*of_fibonacci, 0, 12]).to(kind)
    y = torch.tensor([*of_fibonacci[1:], 0, 30, -18]).to(kind)
    divisor, multiple = (decompositions_integers.TABLE[one.default] for one in (torch.ops.aten.gcd, torch.ops.aten.lcm))
    assert torch.equal(divisor(x, y[:, None]), torch.gcd(x, y[:, None]))
    few = torch.arange(-15, 16).to(kind) % 16
    assert torch.equal(multiple(few, few[:, None]), torch.lcm(few, few[:, None]))


def test_powers_of_integers() -> None:
    low = irwidget.lower(powers, torch.arange(-3, 66, 5), to="linalg_on_tensors_mlir", timeout=120, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def narrow(x: torch.Tensor) -> Any:
    """What torch-mlir's passes crash on: bytes and numbers, products, quotients, the largest."""
    low, high = (x & 15).to(torch.int8) - 8, (x >> 4).to(torch.int8) - 8
    quotients = (
        x // 3,
        x % 3,
        torch.fmod(x, 3),
        low // 3,
        torch.div(low, 3, rounding_mode="trunc"),
        low.div(3, rounding_mode=None),
    )
    return (
        low,
        high,
        x << 1,
        x - 250,
        low.sub(2, alpha=3),
        low | 3,
        low ^ 5,
        x * 2,
        low * 50,
        *quotients,
        x.max(),
        low.min(),
    )


@pytest.mark.parametrize("target", ["linalg_on_tensors_mlir", "tosa_mlir", "stablehlo_mlir"])
def test_bytes_and_numbers(target: str) -> None:
    low = irwidget.lower(narrow, torch.randint(0, 256, (3, 8), dtype=torch.uint8), to=target, timeout=120, check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


@pytest.mark.parametrize(("kind", "most", "error"), [(torch.float64, 26, 1e-14), (torch.float32, 9, 1e-6)])
def test_the_complement_of_the_error_function_is_right_where_it_is_next_to_nothing(
    kind: torch.dtype, most: int, error: float
) -> None:
    x = torch.cat([torch.linspace(-most, most, 4001, dtype=kind), torch.tensor([0.5, 4, 40, torch.inf, -torch.inf])])
    torch.testing.assert_close(erfc(x), torch.erfc(x.double()).to(kind), rtol=error, atol=0)


def edges(x: torch.Tensor, n: torch.Tensor) -> Any:
    """Tensors of no elements, diagonals that are written, remainders of a division by a number."""
    empty, y, z = x[:0], x.clone(), x.clone()
    y.diagonal(1).fill_(0)
    z.diagonal(-1).copy_(x[0, :2])
    return (
        empty.reshape(0, 2, 2),
        torch.cat([torch.zeros(0), empty, empty]),
        y,
        z,
        torch.fmod(x, 0.7),
        torch.fmod(n, 0.7),
    )


def test_edges() -> None:
    low = irwidget.lower(
        edges, torch.randn(3, 4), torch.arange(-3, 3), to="linalg_on_tensors_mlir", timeout=120, check=True
    )
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def tails(x: torch.Tensor) -> Any:
    return torch.log(torch.erfc(x)), torch.erfc(x.half())


def test_a_tail_stays_what_it_is() -> None:
    low = irwidget.lower(tails, torch.linspace(-2, 6, 33), to="linalg_on_tensors_mlir", timeout=120, check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


def lengths(x: torch.Tensor, y: torch.Tensor) -> Any:
    apart = [torch.cdist(x, y, p) for p in (2.0, 1.0, 3.0, 0.0, float("inf"))]
    return torch.hypot(x * 3e38, y), *apart


def test_lengths_and_distances() -> None:
    low = irwidget.lower(
        lengths, torch.randn(3, 4), torch.randn(3, 4), to="linalg_on_tensors_mlir", timeout=120, check=True
    )
    assert low.check is not None
    assert low.check.state == "equal", low.check


def orders(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Orders and places, with NaNs and an even number of elements."""
    nans = torch.where(x > 1, torch.nan, x)
    edges = x[0].sort()[0]
    found = torch.searchsorted(edges, x), torch.searchsorted(edges, x, right=True, out_int32=True)
    middles = x.median(), nans.median(1).values, nans.nanmedian(1), x.nanmedian()
    runs = nans.cummax(1), x.cummin(0), i.cummax(0)
    return *found, *middles, *runs, torch.masked_select(x, x > 0).sum(), x.as_strided((2, 3), (1, 2), 1)


def writes(x: torch.Tensor, i: torch.Tensor) -> Any:
    reduced = x.index_reduce(0, i[:2], x[:2], "amax"), x.index_reduce(0, i[:2], x[:2], "prod", include_self=False)
    scattered = x.scatter(0, i[None, :2], x * 2, reduce="add"), x.scatter(0, i[None, :2], 3.0, reduce="multiply")
    return *reduced, *scattered, x.put(i, i.float()), torch.ops.aten.as_strided_scatter(x, x[:2, :2], (2, 2), (1, 3), 1)


def numbers(x: torch.Tensor, i: torch.Tensor) -> Any:
    nans = torch.where(x > 1, torch.nan, x)
    chosen = torch.fmax(nans, x[0]), torch.fmin(x[0, 0], nans), torch.copysign(x, -x[0]), torch.signbit(x)
    asked = torch.isfinite(x / (x > 0)), torch.angle(nans), i.isfinite()
    smooth = nn.functional.interpolate(x[None, None], size=(3, 4), mode="bicubic", antialias=True)
    filled = torch.full_like(x, 7) < 0, torch.full_like(x, 0.5) >= 1
    norms = (torch.linalg.norm(x), torch.linalg.norm(x[0], 3), torch.linalg.norm(x, 1), torch.linalg.norm(x, dim=1))
    one = x[0, 0]
    single = one.argmax(), one.amin(0), one.bool().any(0), torch.logsumexp(one, 0)
    return (
        *chosen,
        *filled,
        *asked,
        *norms,
        *single,
        torch.addmv(x[0], x.T, x[:, 0]),
        torch.dist(x, nans.nan_to_num()),
        smooth,
    )


def products(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Of integers: int8 crashes torch-mlir, and its sums of products are those of floats."""
    low = (x * 20).to(torch.int8)
    linear = nn.functional.linear
    largest = nn.functional.max_pool3d
    deep = largest(low.reshape(1, 1, 2, 2, 4), 2), largest(x.reshape(1, 2, 2, 4), 2)
    bounds = torch.tensor([10, 100, 200], dtype=torch.uint8)
    found = torch.bucketize(low, bounds), torch.searchsorted(bounds, i * 70)
    long = (i.repeat(4) - (1 << 62)).reshape(1, 1, 2, 2, 4)
    placed = largest(long, (2, 1, 3), 2, (1, 0, 1), ceil_mode=True, return_indices=True)
    pooled = *nn.functional.max_pool2d(x[None], 2, return_indices=True), *deep, *placed
    return (
        low @ low.T,
        linear(low, low, low[:, 0]),
        linear(i, i[None] * i[:, None], i),
        *pooled,
        *found,
        *(i.clamp(0, 2.5), i.clamp(max=x[0, 0]), torch.gcd(12 * low - 6, low), torch.full((2,), 2) + 1 < 3.5),
        low[None] @ low.T[None],
    )


def signs(x: torch.Tensor, i: torch.Tensor) -> Any:
    """What torch-mlir lowers to something else: true is -1 there, 200 of a byte -56, a mean of integers near zero."""
    yes, byte = x > 0, (i * 77).to(torch.uint8)
    ordered = yes.sort(1, descending=True).values, byte.sort(), byte.topk(2), byte.kthvalue(4)
    added = yes.scatter_add(0, i[None] % 2, ~yes), yes.index_add(0, i[:2] * 0, yes[2:]), byte.index_add(0, i % 2, byte)
    means = [i.scatter_reduce(0, i // 2, i - 9, "mean", include_self=kept) for kept in (True, False)]
    bags = nn.functional.embedding_bag(i, x, i[2:3], mode="sum", per_sample_weights=x[0])
    near = torch.isclose(i, i + yes[0], 0.3), torch.isclose(yes, ~yes), torch.isclose(i, i + yes[0], 0, 0)
    seen = byte.abs(), byte.any(), (byte - 240).all()
    return *ordered, *added, *means, bags, *near, x[0, 0].nonzero(), *seen


def means(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Of integers, and sums of exponentials: torch-mlir lowers them, to something else."""
    summed = torch.logcumsumexp(x * 1000, 1), torch.logcumsumexp(x / 0, 0), x[0, 0].logcumsumexp(0)
    return i.scatter_reduce(0, i // 2, i - 9, "mean"), *summed


def known(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Comparisons that torch-mlir computes itself, of what it knows to be one number."""
    made = torch.full((2,), 0.25) * 2, torch.ones(2) + 0.5, torch.zeros(2, dtype=torch.int64).float()
    floats = [compare(one, number) for compare in (torch.gt, torch.ge) for one in made for number in (0, 1)]
    yes = torch.ones(2).bool()
    return *floats, yes == 1, yes != 1, torch.tensor(0.5) < 0, i > 2.5, (i > 2) == 1


def bags(x: torch.Tensor, i: torch.Tensor) -> Any:
    """By itself: one operator that becomes others takes the rest along."""
    return nn.functional.embedding_bag(i, x, i[2:3], mode="sum", per_sample_weights=x[0])


BYTES = torch.arange(0, 256, 5, dtype=torch.uint8)


def right_in_linalg(x: torch.Tensor) -> Any:
    compared = x > x.flip(0), x < 128, x.flip(0) == x, x >= -1, x <= -129, x == 0.5, x != 100.0, x == 256.0
    return (
        *compared,
        x + x.int(),
        x.float() - x,
        x.sum(0, dtype=torch.uint8),
        x.cumsum(0),
        x.index_add(0, x.long() % 3, x),
    )


def right_in_stablehlo(x: torch.Tensor) -> Any:
    return x < x.flip(0), x < 200, x == x.int(), x / 2.5, x * x.float(), x.sum(), x + 2.5


@pytest.mark.parametrize(
    ("model", "target"), [(right_in_linalg, "linalg_on_tensors_mlir"), (right_in_stablehlo, "stablehlo_mlir")]
)
def test_what_torch_mlir_lowers_right_is_left_as_it_is(model: Any, target: str) -> None:
    low = irwidget.lower(model, BYTES, to=target, check=True)
    assert [str(one) for one in low.diagnostics if "decomposed" in str(one)] == []
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def unsigned(x: torch.Tensor, i: torch.Tensor, f: torch.Tensor) -> Any:
    """Numbers that are no bytes, of which eager PyTorch takes the low one, floats, and what has another dtype."""
    orders = torch.lt, torch.le, torch.gt, torch.ge
    compared = [compare(x, y) for compare in orders for y in (-1000, -129, 129, 256, 0.5, i, x.flip(0))]
    equal = [compare(x, y) for compare in (torch.eq, torch.ne) for y in (-129, 255, -1.0, 255.0, i)]
    pairs = [pair(x, i) for pair in (torch.maximum, torch.bitwise_or, torch.fmod)]
    computed = x + 2.5, x - f, x * i, x / 2.5, i / 2.5, x.sum(), x[30:35].prod(), x.sum(0, dtype=torch.uint8)
    pooled = nn.functional.max_pool2d(x.reshape(1, 1, 4, 13), 2), nn.functional.max_pool3d(x.reshape(1, 1, 4, 1, 13), 1)
    moved = torch.where(x > 9, x, i), torch.cat([x, f]), x.reshape(4, 13).mean(1, dtype=torch.float32)
    return *compared, *equal, *pairs, *computed, *pooled, *moved


def crashing(x: torch.Tensor, *_: torch.Tensor) -> Any:
    """Also of numbers that are no bytes."""
    made = x + torch.arange(52, dtype=torch.uint8), torch.full_like(x, 200) * x, torch.ones_like(x[0])
    return x * -1, x * (x > 9), x // -1, x % 1000, *made


def few(x: torch.Tensor, *_: torch.Tensor) -> Any:
    """Bytes that torch-mlir lowers as numbers with a sign in linalg, too."""
    signs = torch.copysign(x.flip(0), x), torch.signbit(x), torch.clamp(x, x.flip(0), x | 64)
    whether = x.reshape(4, 13).all(1), x.reshape(4, 13).any(0)
    return (x | 1).reciprocal(), nn.functional.pad(x, (1, 1), value=200), *signs, *whether


def many(x: torch.Tensor, i: torch.Tensor, *_: torch.Tensor) -> Any:
    """And in TOSA, as constants, conversions, and what depends on an order."""
    low, rows = x.flip(0), x.reshape(4, 13)
    orders = x.max(), *rows.min(1), rows.argmax(1), torch.maximum(x, low), x.clamp(10, 200), x.relu()
    numbers = -x, x // 3, x % (low | 1), x >> (low & 3), rows.cumsum(1), x.long(), x.float().mean(), x.sqrt()
    made = (x.float() * 0.9).to(torch.uint8), x.masked_fill(x > low, 1), torch.full_like(x, 7) + x
    added = rows.scatter_add(1, torch.zeros(4, 1, dtype=torch.int64), rows[:, 5:6])
    return *few(x), *orders, *numbers, *made, added, torch.bucketize(x, BYTES[::9])


def truths(x: torch.Tensor, *_: torch.Tensor) -> Any:
    """That true is no less than false, and the sum of two is true."""
    x, y = x.reshape(4, 13) % 2 == 0, x.reshape(4, 13) % 3 == 0
    orders = x < y, x <= y, x > y, x >= y, torch.maximum(x, y), torch.minimum(x, y)
    rows = x.max(), y.min(), *x.max(1), *y.min(0), x.amax(1), y.amin(0)
    padded = nn.functional.pad(x, (1, 1), value=2)
    beyond = x < 9, x >= 0.5, x == 200, x != -1
    return *orders, *beyond, *rows, x + y, x / 3, padded, *summed(x.reshape(-1))


def summed(x: torch.Tensor, *_: torch.Tensor) -> Any:
    x = x != 0
    return x.sum(0, dtype=torch.bool), x.clamp(10, 100), x.clamp(max=0.5), torch.clamp(x, max=x.flip(0))


def small(x: torch.Tensor, i: torch.Tensor, *_: torch.Tensor) -> Any:
    """Sums that do not fit into what is summed."""
    byte = x.to(torch.int8)
    large = i * 20_000_000 // 13  # of which a product has more bits
    divided = large // i, large % i, large // 1000, large % -1000, torch.div(large, i, rounding_mode="trunc")
    return byte.sum(), byte.reshape(4, 13).sum(1), byte.relu(), i.relu(), *divided


def copied(x: torch.Tensor, *_: torch.Tensor) -> Any:
    """By itself: what others are refused for takes it along."""
    return torch.copysign(x.flip(0), x)


def rooted(x: torch.Tensor, *_: torch.Tensor) -> Any:
    return x**0.5


@pytest.mark.parametrize(
    ("model", "target"),
    [
        *((unsigned, "linalg_on_tensors_mlir"), (unsigned, "tosa_mlir"), (crashing, "linalg_on_tensors_mlir")),
        *((few, "linalg_on_tensors_mlir"), (many, "tosa_mlir")),
        *((copied, "linalg_on_tensors_mlir"), (rooted, "tosa_mlir"), (summed, "linalg_on_tensors_mlir")),
        *((truths, "tosa_mlir"), (truths, "stablehlo_mlir"), (small, "tosa_mlir")),
    ],
)
def test_bytes_have_no_sign(model: Any, target: str) -> None:
    inputs = BYTES, torch.arange(-100, 420, 10, dtype=torch.int32) | 1, torch.linspace(-20, 300, 52)
    low = irwidget.lower(model, *inputs, to=target, timeout=120, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_what_is_lowered_to_something_else_takes_nothing_else_along() -> None:
    def model(x: torch.Tensor) -> Any:
        return (x > 0).sort(1).values, x.roll(1, 0)

    low = irwidget.lower(model, torch.randn(3, 4), to="linalg_on_tensors_mlir", check=True)
    said = "aten.sort.default is decomposed: as it is, torch-mlir lowers it to something else, or refuses it"
    assert [one.message for one in low.diagnostics if "decomposed" in one.message] == [said]
    assert "torch.aten.roll" in low.dumps[0].text
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_the_end_of_a_process_at_a_zero_is_remarked() -> None:
    def model(x: torch.Tensor) -> Any:
        return torch.ones_like(x) / x, 2 / x

    low = irwidget.lower(model, torch.ones(3), to="torch_mlir")
    (said,) = low.diagnostics
    assert (said.severity, said.message.split(":")[0]) == ("remark", "aten.reciprocal")
    assert said.location
    assert (said.location.file, said.location.line) == (__file__, model.__code__.co_firstlineno + 1)
    zero = torch.tensor([0.0, 2.0])
    checked = irwidget.lower(lambda x: torch.ones_like(x) / x, zero, to="linalg_on_tensors_mlir", check=True)
    assert str(checked.check).startswith("equal to eager PyTorch"), checked.check
    assert [one for one in checked.diagnostics if "reciprocal" in one.message] == []


def beyond(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Integers with numbers that their dtype does not hold: eager PyTorch takes the low bits."""
    byte, short = (i - 2).to(torch.int8) * 40, i.to(torch.int16) * 9000
    orders = byte < 200, byte >= -200, byte == 256 - 40, short > 40000, i.int() <= (1 << 31)
    left = short % -7, byte % (i - 2).to(torch.int8).clamp(min=-1).mul(2).add(1), x % 0.7, torch.remainder(x, x.flip(1))
    return (
        *orders,
        torch.fmod(byte, 200),
        byte | 200,
        byte.cumsum(0, dtype=torch.int8),
        *left,
        *(i.mean(0, dtype=torch.float32), (i[None] > 1).mean(1, dtype=torch.float16)),
        (i + 1).reciprocal(),
        i.erf(),
    )


def ceiled(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Pools of which the last windows reach behind the padding."""
    pooled = nn.functional.max_pool2d(x[None, None], 3, 2, 1, ceil_mode=True, return_indices=True)
    byte = (i * 80).to(torch.uint8).expand(1, 1, 4, 4)
    return *pooled, *(nn.functional.max_pool2d(one, 3, 2, 1, ceil_mode=True) for one in (byte, byte.long()))


@pytest.mark.parametrize("model", [beyond, ceiled])
def test_what_stablehlo_has_something_else_for_is_decomposed(model: Any) -> None:
    torch.manual_seed(1)
    low = irwidget.lower(model, torch.randn(4, 4), torch.tensor([1, 3, 0, 2]), to="stablehlo_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


SEED = torch.Generator().manual_seed(0)


def images(x: torch.Tensor, i: torch.Tensor) -> Any:
    """By themselves; eager PyTorch computes bytes in fixed point, and rounds them twice."""
    byte = (x[None, None] * 60 + 128).to(torch.uint8)
    return nn.functional.interpolate(byte, scale_factor=(1, 1.7), mode="bilinear")


def test_images_are_resized_as_eager_pytorch_does_it() -> None:
    table = {**decompositions_resize.TABLE, **decompositions_resize.of_bytes({})}
    kinds = "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"
    for kind, size, count, corners in itertools.product(kinds, (1, 4, 9), (1, 3, 13), (False, True)):
        operator = getattr(torch.ops.aten, kind)
        x = torch.randint(0, 256, (2, count % 5, size, 10 - size // 2), generator=SEED, dtype=torch.uint8)
        shape, scales = [count, 11 - count // 2], [0.6, 1.7]
        for how in ((shape, corners, *scales), (shape, corners)):
            assert torch.equal(table[operator.default](x, *how), operator.default(x, *how)), (kind, x.shape, how)
        how = None, corners, [1.3, 2.0]
        assert torch.equal(table[operator.vec](x, *how), operator.vec(x, *how)), (kind, x.shape, how)
        if "aa" in kind:
            made = table[operator.default](x.double(), shape, corners)
            torch.testing.assert_close(made, operator.default(x.double(), shape, corners))
    resized = torch.ops.aten.upsample_bilinear2d.vec
    before = decompositions_resize.of_bytes({resized: lambda *given: "as before"})
    assert before[resized](torch.randn(1, 1, 2, 2), [3, 3], False, None) == "as before"


@pytest.mark.parametrize("model", [images, orders, writes, numbers, products, signs, means, bags, known, beyond])
def test_what_torch_mlir_lacks_below_is_decomposed(model: Any) -> None:
    torch.manual_seed(1)
    inputs = torch.randn(4, 4), torch.tensor([1, 3, 0, 2])
    low = irwidget.lower(model, *inputs, to="linalg_on_tensors_mlir", timeout=120, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
