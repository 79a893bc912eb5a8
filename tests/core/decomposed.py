"""Programs whose operators torch-mlir refuses, or lowers to something else, with inputs that show it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

BYTES = torch.arange(0, 256, 5, dtype=torch.uint8)
WHERE = torch.tensor([0, 2])
NAN, INF = float("nan"), float("inf")
EDGES = torch.tensor([0.1, NAN, INF, -INF, 5.0, -5.0, 0.0, -0.0, 2.5, 1.0, 1e30, 552.907043, 0.687856972])


def put(x: torch.Tensor) -> Any:
    """Indices of int32 beside a dimension without indices, and tensors of the user's own in lists."""
    y: Any = torch.ops.aten.index_put(x, [None, WHERE.int() * 1], x[:, :2], True)
    y[:, WHERE] = 2 * x[:, WHERE]
    y[[-1, 0], [1, -3]] = 3 * x[[-2, 1], [-1, 0]]
    return y, torch.cat([x[0], WHERE.float()])


def rolled(x: torch.Tensor) -> Any:
    return x.roll(1), x.roll((2, -1), (0, 1)), x.roll(5, 1), x.roll(0, 0)


def windows(x: torch.Tensor) -> Any:
    numbers = x[1, 2].unfold(0, 1, 1), x[1, 2].unfold(0, 0, 2)
    return x.unfold(-1, 4, 3).sum(1), x.unfold(0, 2, 1), x[:, [-2, 0]], x[[-1, 0], [1, -2]], *numbers


def powers(x: torch.Tensor) -> Any:
    numbers = x**0, x**1, x**3, x.int() ** 6, x.float() ** 3, x.abs() ** 0.5, (x > 0) ** 2, x.abs() ** x.float()
    byte = x.to(torch.int8)
    return *numbers, x << x % 3, byte[:, None] ** byte, 3 ** byte.to(torch.uint8)


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


def tails(x: torch.Tensor) -> Any:
    return torch.log(torch.erfc(x)), torch.erfc(x.half()), x.view(1, -1) == x.view(1, -1).clone()


def lengths(x: torch.Tensor, y: torch.Tensor) -> Any:
    apart = [torch.cdist(x, y, p) for p in (2.0, 1.0, 3.0, 0.0, float("inf"))]
    return torch.hypot(x * 3e38, y), *apart


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


def written_last(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Along the last dimension, counted from the back, on which the process ends in linalg."""
    at, true = i[None, :2], (x > 0).clone()
    scattered = x.scatter(-1, at, x * 2), x.scatter(-2, at, 3.0), x.scatter_add(-1, at, x)
    reduced = x.scatter_reduce(-1, at, x, "amax"), i.scatter_reduce(-1, i[:2], i[1:], "mean")
    more = x.scatter(-1, at, x, reduce="add"), x.index_reduce(-1, i[:2], x[:, :2], "prod")
    byte = (i * 80).to(torch.uint8)  # to bytes with and without a sign
    more = *more, byte.scatter_reduce(0, i[:2], byte[1:], "amax"), byte.scatter_reduce(0, i[:2], byte, "amin")
    return *scattered, *reduced, *more, true.scatter_add(-1, at, true)


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


def shifted(x: torch.Tensor, i: torch.Tensor, *_: torch.Tensor) -> Any:
    """Of two dtypes and too far; signs of integers of which the least has no absolute value, limits that are NaN."""
    by, least = i & 7, torch.where(i < 0, -(1 << 31), i).int()
    shifts = x >> by, x << by.byte(), x >> by.long(), torch.bitwise_right_shift(i, by.byte()), i << by.long()
    far = i >> 40, i << 32, x >> 8, x << -1, torch.bitwise_right_shift(i, -1)
    signs = torch.copysign(least, i), torch.copysign(least, -i.float())
    return *shifts, *far, *signs, x.float().clamp(min=NAN), x.half().clamp(1, NAN)


def masked(x: torch.Tensor, i: torch.Tensor, f: torch.Tensor) -> Any:
    """Written where a mask is true, also nowhere; on which the process ends in linalg."""
    rows, few, many, put = f.reshape(4, 13), i[:4] > 1 << 20, x[:13] > 9, torch.ops.aten.index_put
    written = put(rows, [few], rows[0]), put(rows, [None, many], rows[:, :1], True), put(rows, [rows > 0], f[0])
    return *written, put(rows > 0, [many[:4]], rows[:1] < 9, True), put(x, [x > 200], x[1], True)


def selected(x: torch.Tensor, i: torch.Tensor, f: torch.Tensor) -> Any:
    """By several masks, on which the process ends in linalg, and by as many places as there are."""
    square, mask = f[:36].reshape(4, 3, 3), i[1:4] > 1
    found = torch.nonzero(f[:3] > 0).squeeze(1)
    return square[:, mask, mask], square[mask.logical_not().nonzero().squeeze(1), :, -1], square[found, :, found - 3]


def short(x: torch.Tensor, i: torch.Tensor, *_: torch.Tensor) -> Any:
    """Integers of 16 bits and their products to TOSA, and sums of products by numbers that are none."""
    number = i.short()
    square, rows = x.reshape(13, 2, 2), number.reshape(13, 2, 2)
    factors: dict[str, Any] = {"beta": 1.6, "alpha": 2.4}
    sums = [torch.addbmm(one[0], one, one, **factors) for one in (square, rows, rows.float())]
    products = number[10:14].prod(), i[10:14].prod(), number[10:14].prod(dtype=torch.int32), number * 3, number / 7
    return *sums, torch.baddbmm(square, square, square, **factors), *products


def grouped(x: torch.Tensor, i: torch.Tensor, f: torch.Tensor) -> Any:
    """What mixtures of experts do: sort rows by expert, count them, and multiply each group."""
    expert, rows, weights = x[:6] % 3, f[:48].bfloat16().reshape(6, 8), f.repeat(4)[:192].bfloat16().reshape(3, 8, 8)
    counts, order = torch.histc(expert.float(), 3, 0, 2), expert.long().argsort(stable=True)
    sums = torch.nn.functional.grouped_mm(rows[order], weights, offs=counts.cumsum(0).to(torch.int32))
    ordered = (x > 99).sort(stable=True)[1], *torch.sort(EDGES.repeat(2), stable=True, descending=True)
    return counts, sums, torch.histc(f, 7, -3, 250), *x.flip(0).sort(descending=True), *ordered


def paired(x: torch.Tensor, *_: torch.Tensor) -> Any:
    """Complex numbers that are made of what has no sign."""
    return x.to(torch.complex64), (x > 9).to(torch.complex128)


def rooted(x: torch.Tensor, *_: torch.Tensor) -> Any:
    return x**0.5


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


def images(x: torch.Tensor, i: torch.Tensor) -> Any:
    """By themselves; eager PyTorch computes bytes in fixed point, and rounds them twice."""
    byte = (x[None, None] * 60 + 128).to(torch.uint8)
    return nn.functional.interpolate(byte, scale_factor=(1, 1.7), mode="bilinear")


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
    low, high = byte & 127, byte | 128  # all below, or above, what a reduction of bytes with a sign begins with
    ends = low.amax(0), high.amin(0), low.max(), high.min(), low.argmax(), high.argmin(), *torch.aminmax(low)
    whether = byte >> (byte & 3), rows.all(1), rows.any(0), rows.any(1, keepdim=True)
    numbers = x.bfloat16() == 0.1, 7 // (i + 1), 1 << i.int(), x // INF
    return *numbers, *whether, *ends, torch.isclose(x[:, None], x)


def outside(x: torch.Tensor, i: torch.Tensor, *_: torch.Tensor) -> Any:
    """Numbers that a dtype does not hold beside it, and truths beside numbers."""
    byte, yes = i.to(torch.int8) * 2, x.reshape(4, 13) % 2 == 0
    clamped = x.clamp(min=-1), x.clamp(max=-7), x.clamp(3, 200)
    divided = x // -7, torch.div(x, 1000, rounding_mode="trunc"), x % -7, torch.fmod(x, -7)
    begun = 1000 // (x | 1), -7 % (x | 1), 1000 ** (x & 3), 200 // (byte | 1), 300 % (byte | 1), byte % 200
    places = torch.zeros(4, 13, dtype=torch.int64)
    reached = [yes.scatter_reduce(1, places, ~yes, how) for how in ("amax", "amin")]
    return *clamped, *divided, *begun, yes | 2, yes ^ 3, yes + 2, *reached


def infinite(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Remainders and quotients by what is infinite, NaN or next to a part, NaN among orders, beside itself, by zero."""
    low = x[4:]
    parts = low % 0.1, torch.fmod(low, 0.1), low // 0.1, 5 // low, torch.fmod(low, low.flip(0))
    ends = low % INF, low % -INF, torch.fmod(low, INF), low // INF, x % low[:1], torch.fmod(x, 0.0), x // 0.0
    itself = x == x, torch.where(x == x, x, 1.0), torch.isclose(x, x)
    zero = x * 0, 0.0 * x, nn.functional.softshrink(x), torch.addcmul(x, x, x, value=0)
    return *parts, *ends, *itself, *zero, torch.searchsorted(x[4:5], x), torch.searchsorted(x[4:5], x, right=True)


def places(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Reads where a mask is true, which do not end in linalg."""
    return x[x > 0].sum(), x[x[:, 0] > 0], x[:, x[0] > 0].exp(), x[i > 9]


def own(x: torch.Tensor, i: torch.Tensor) -> Any:
    """What TOSA and StableHLO have no form of: values of their own where a mask is true, and orders."""
    put, few = torch.ops.aten.index_put, i > 1
    written = put(x, [few], x[:2]), put(x, [None, few], x[:, 1:3], True), put(x, [i[:, None] == i], i + 0.5)
    pool = nn.functional.adaptive_avg_pool3d(x.expand(2, 3, 4, 4), (2, 3, 1))
    ordered = *x.kthvalue(2, 0), *i.kthvalue(3, 0, True)
    return *written, pool, *ordered, x.cumprod(1), i.cumprod(0), x.diagonal(1), x.expand(3, 4, 4).diagonal(-1, 2, 0)


def single(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Along a dimension of one number, on which torch-mlir's passes crash or do not end."""
    one, least = x[0, 0], i[0]
    orders = one.softmax(0), one.log_softmax(-1), one.cumsum(0), least.cumprod(0), one.logsumexp(0, True)
    sums = one.sum(0, True), one.mean(-1, True), least.prod(0), one.var(0, False), one.std(0, False), one.norm(dim=0)
    several = i.any((0,)), (x > 0).all((0, -1), True), torch.any(i, ()), i.to(torch.uint8).any((0,))
    few = *least.kthvalue(1, 0), one.amax(0, True), one.argmin(0), least.bool().all(0)
    few = *few, *one.max(0), *least.min(-1, True)
    return *orders, *sums, *several, *few


# With what each is called

_NUMBERS = torch.Generator().manual_seed(1)


def _normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=_NUMBERS)


_FEW = _normal(4, 4), torch.tensor([1, 3, 0, 2])
_MANY = BYTES, torch.arange(-100, 420, 10, dtype=torch.int32) | 1, torch.linspace(-20, 300, 52)
_ODD = EDGES[:10], torch.tensor([1, 3, 0, 2])


def _weight(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


_WEIGHTS = {
    shape: _weight(*shape)
    for shape in (
        (6, 1, 3, 2),
        (33, 2, 3, 3),
        (33,),
        (6, 1, 2, 3, 3),
        (6,),
        (12, 1, 1, 3, 5),
        (6, 2, 2, 3, 3),
        (6, 1, 5, 4, 4),
        (6, 2, 3),
        (6, 4, 3, 3),
        (4,),
        (6, 1, 2, 2, 2),
    )
}


def convolved(x: torch.Tensor) -> Any:
    """In groups: of one channel each, many, and in three dimensions; transposed ones in groups and spread out."""
    f = nn.functional
    deep, long = x.reshape(1, 6, 2, 5, 5), x.flatten(2)
    turned = f.conv_transpose2d(x, _WEIGHTS[6, 1, 3, 2], groups=6, stride=(2, 1), padding=1, output_padding=(1, 0))
    return (
        f.conv2d(x.repeat(1, 11, 1, 1), _WEIGHTS[33, 2, 3, 3], _WEIGHTS[33,], groups=33, padding=(0, 1), stride=2),
        f.conv3d(
            deep, _WEIGHTS[6, 1, 2, 3, 3], _WEIGHTS[6,], groups=6, padding=1, stride=(1, 2, 1), dilation=(2, 1, 1)
        ),
        f.conv3d(deep, _WEIGHTS[12, 1, 1, 3, 5], groups=6),
        f.conv3d(deep, _WEIGHTS[6, 2, 2, 3, 3], _WEIGHTS[6,], groups=3),
        f.conv3d(deep.repeat(1, 1, 3, 1, 1), _WEIGHTS[6, 1, 5, 4, 4], groups=6),  # more than 64 products
        turned,
        f.conv_transpose1d(long, _WEIGHTS[6, 2, 3], _WEIGHTS[6,], groups=3, stride=3, padding=2, output_padding=2),
        f.conv_transpose2d(
            x, _WEIGHTS[6, 4, 3, 3], _WEIGHTS[4,], dilation=2, padding=(5, 1), output_padding=(1, 0), stride=2
        ),
        f.conv_transpose3d(deep, _WEIGHTS[6, 1, 2, 2, 2], groups=6, stride=2),
    )


def averaged(x: torch.Tensor) -> Any:
    """Windows in three dimensions, with the padding and without, also those that reach behind it."""
    pool = nn.functional.avg_pool3d
    return (
        *(pool(x, 2), pool(x[0], (2, 3, 1), (1, 2, 3), divisor_override=4), pool(x, 3, padding=1)),
        pool(x, (2, 3, 4), (3, 2, 2), (1, 0, 2), ceil_mode=True, count_include_pad=False),
        pool(x, 3, 2, 1, ceil_mode=True),
    )


def largest(x: torch.Tensor) -> Any:
    """Largest of windows in three dimensions and of those with elements apart, and where they are; of NaN the last."""
    of_images, of_volumes = nn.functional.max_pool2d, nn.functional.max_pool3d
    x = torch.where(x > 2.3, float("nan"), torch.where(x < -2, -torch.inf, x))
    whole, image = (x * 7).nan_to_num(neginf=-9).int(), x.flatten(2)[:, :, :36].reshape(2, 3, 4, 9)
    return (
        *(of_volumes(x, 2), of_volumes(x[0], (2, 1, 3), (1, 2, 2)), of_volumes(whole, 2), of_volumes(x.half(), 2, 1)),
        *of_volumes(x, (3, 2, 2), 2, 1, ceil_mode=True, return_indices=True),
        *(of_volumes(x, 2, 1, 0, (1, 2, 1)), nn.functional.max_pool1d(x.flatten(2), 3, 2, 1, 4)),
        *of_images(image, (2, 3), (1, 2), 1, 2, ceil_mode=True, return_indices=True),
    )


def placed(x: torch.Tensor) -> Any:
    """Where the largest of windows are, of each kind of elements."""
    of_images, of_volumes = nn.functional.max_pool2d, nn.functional.max_pool3d
    x = torch.where(x < -1, -torch.inf, x)
    made = [
        of_images(x[0], 3, 2, 1, return_indices=True),
        of_images((x[0] * 7).clamp(-9).int(), 2, return_indices=True),
    ]
    made += [of_volumes(one, 2, (1, 2, 3), (1, 0, 1), return_indices=True) for one in (x, x[1].half())]
    return *itertools.chain(*made), of_images(x[1], 2), of_volumes(x, 3)


def cut(x: torch.Tensor) -> Any:
    """Pads by fewer elements than none, in one dimension and several, of each kind of elements."""
    pad, whole = nn.functional.pad, (x * 50).int()
    bytes_ = whole.abs().to(torch.uint8)
    moved = pad(x, (0, 0, 1, -1)), pad(x, (-1, 2, 1, -1), value=3.0), pad(x, (-1, -2)), pad(x, (1, -2), value=1.5)
    kinds = pad(whole, (-2, 1), value=7), pad(x > 0, (1, -1), value=True), pad(bytes_, (-1, 1), value=200)
    return *moved, *kinds, pad(x.half(), (-1, 0, -1, 2))


def mixed(x: torch.Tensor, i: torch.Tensor) -> Any:
    """Bytes beside integers of another dtype and, unsigned ones, beside each other; limits of another dtype."""
    n, made = i[2].clamp(1, 3), list[torch.Tensor]()
    for dtype in (torch.int8, torch.uint8):
        byte, small = (i * 29 + 3).to(dtype), (i % 3 + 1).to(torch.int16)
        made += [byte * n, n * byte, torch.maximum(byte, n), torch.minimum(byte, n), byte & n, byte | n, byte ^ n]
        made += [byte >> n, (byte & 31) << n, torch.clamp(byte, n, n + 60), torch.gcd(byte, n), byte < n * 70]
        made += [torch.fmod(byte, one) for one in (n, byte | 1)] + [byte % one for one in (n, byte.flip(0) | 1)]
        made += [byte / n, *(torch.div(byte, n, rounding_mode=mode) for mode in ("floor", "trunc"))]
        made += [torch.clamp(byte, small), torch.clamp(i, byte, byte + n), byte < small, byte.to(torch.int8) >= byte]
    made.append(torch.div(byte, byte.flip(0) | 1, rounding_mode="trunc"))
    return *made, *(byte & 127)[:4].reshape(2, 2).max(1), *(byte | 128)[:4].reshape(2, 2).min(0)


def sliced(x: torch.Tensor) -> Any:
    """Assignments up to the end of a dimension, past it, and from places counted from it."""
    y, z = x * 2, x.new_zeros(x.shape)
    y[3:] = x[:3].sin()
    y[-2:-1, 2:] = 0
    z[1:100:2, :-1] = 5
    z[:, -3:][:2] = x[:2, 1:4]
    return y, z, torch.slice_scatter(x, x[:2] * 3, 0, None, 2), torch.slice_scatter(x, x[:, :1], 1, 3)


PROGRAMS: dict[Callable[..., Any], tuple[torch.Tensor, ...]] = {
    **dict.fromkeys((places, own, single, written_last), _FEW),
    **dict.fromkeys((images, orders, writes, numbers, products, signs, means, bags, known, beyond, ceiled), _FEW),
    **dict.fromkeys((unsigned, crashing, few, many, truths, summed, small, copied, rooted, outside, shifted), _MANY),
    **dict.fromkeys((masked, selected, short, paired, grouped), _MANY),
    **dict.fromkeys((floats, large, near, infinite), _ODD),
    narrow: (torch.randint(0, 256, (3, 8), dtype=torch.uint8, generator=_NUMBERS),),
    powers: (torch.arange(-3, 66, 5),),
    edges: (_normal(3, 4), torch.arange(-3, 3)),
    tails: (torch.linspace(-2, 6, 33),),
    lengths: (_normal(3, 4), _normal(3, 4)),
    put: (_normal(3, 4),),
    rolled: (_normal(3, 4),),
    windows: (_normal(3, 11),),
    right_in_linalg: (BYTES,),
    right_in_stablehlo: (BYTES,),
    convolved: (_weight(2, 6, 5, 5),),
    sliced: (_weight(6, 4),),
    cut: (_weight(5, 4),),
    mixed: (_weight(5, 4), torch.arange(-4, 9, 3)),
    **dict.fromkeys((averaged, largest, placed), (_weight(2, 3, 5, 6, 7),)),
}
