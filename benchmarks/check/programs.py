"""Programs for the check: many operations in many dtypes, and whole models, each with a way to make its inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

Make = Callable[[torch.Generator], tuple[Any, ...]]
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int32, torch.int64, torch.int8, torch.int16, torch.uint8)


@dataclass(frozen=True)
class Program:
    """A model or function and its inputs for a seed."""

    name: str
    model: Any
    make: Make


def _floats(*shapes: tuple[int, ...], dtype: torch.dtype = torch.float32, positive: bool = False) -> Make:
    def make(random: torch.Generator) -> tuple[Any, ...]:
        made = [torch.randn(shape, generator=random, dtype=torch.float64) for shape in shapes]
        return tuple((one.abs() + 0.1 if positive else one).to(dtype) for one in made)

    return make


def _integers(*shapes: tuple[int, ...], dtype: torch.dtype = torch.int64, low: int = -50, high: int = 50) -> Make:
    return lambda random: tuple(torch.randint(low, high, shape, generator=random).to(dtype) for shape in shapes)


UNARY: dict[str, Callable[[Any], Any]] = {
    "relu": torch.relu,
    "neg": torch.neg,
    "abs": torch.abs,
    "exp": torch.exp,
    "expm1": torch.expm1,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "sin": torch.sin,
    "cos": torch.cos,
    "erf": torch.erf,
    "gelu": F.gelu,
    "silu": F.silu,
    "mish": F.mish,
    "softplus": F.softplus,
    "elu": F.elu,
    "leaky": F.leaky_relu,
    "hardtanh": F.hardtanh,
    "hardswish": F.hardswish,
    "hardsigmoid": F.hardsigmoid,
    "floor": torch.floor,
    "ceil": torch.ceil,
    "round": torch.round,
    "trunc": torch.trunc,
    "sign": torch.sign,
    "square": torch.square,
    "atan": torch.atan,
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "softmax": lambda x: torch.softmax(x, -1),
    "sum": lambda x: x.sum(),
    "log_softmax": lambda x: torch.log_softmax(x, 0),
    "mean": lambda x: x.mean(-1),
    "var": lambda x: x.var(-1),
    "std": lambda x: x.std(),
    "amax": lambda x: x.amax(0),
    "argmax": lambda x: x.argmax(-1),
    "min": lambda x: x.min(),
    "cumsum": lambda x: x.cumsum(-1),
    "transpose": lambda x: x.T,
    "flip": lambda x: x.flip(0),
    "norm": lambda x: x.norm(),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "slice": lambda x: x[1:, ::2],
    "pad": lambda x: F.pad(x, (1, 2)),
    "greater": lambda x: x > 0.1,
    "where": lambda x: torch.where(x > 0, x, 2 * x),
    "tril": torch.tril,
    "power": lambda x: x**2,
    "cube": lambda x: x**3,
    "to half": lambda x: x.half() + 1,
    "to double": lambda x: x.double() * 3,
    "to int": lambda x: (x * 10).to(torch.int32),
    "roll": lambda x: x.roll(1, 0),
    "layer_norm": lambda x: F.layer_norm(x, (7,)),
    "isnan": lambda x: (x / 0 * 0).isnan(),
    "small": lambda x: x * 1e-5,
    "affine": lambda x: x * 0.3 - 1.7,
}
POSITIVE: dict[str, Callable[[Any], Any]] = {
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal,
    "pow": lambda x: x**1.7,
    "xlogy": lambda x: x * x.log(),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "matmul": lambda x, y: x @ y.T,
    "lt": torch.lt,
    "eq": torch.eq,
    "cat": lambda x, y: torch.cat([x, y], 1),
    "where": lambda x, y: torch.where(x > y, x, y),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=2),
    "outer": lambda x, y: x[:, None] * y[None],
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "stack": lambda x, y: torch.stack([x, y]),
}
DIVISIONS: dict[str, Callable[[Any, Any], Any]] = {
    "div": torch.div,
    "atan2": torch.atan2,
    "fmod": torch.fmod,
    "remainder": torch.remainder,
    "floor_div": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "pow2": torch.pow,
}
WHOLE: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: x.sum(),
    "sum dim": lambda x: x.sum(-1),
    "abs": torch.abs,
    "neg": torch.neg,
    "mul": lambda x: x * 3,
    "max": lambda x: x.max(),
    "argmin": lambda x: x.argmin(0),
    "cumsum": lambda x: x.cumsum(0),
    "ge": lambda x: x >= 2,
    "float": lambda x: x.float() / 3,
    "clamp": lambda x: x.clamp(-3, 9),
    "and": lambda x: x & 7,
    "or": lambda x: x | 8,
    "xor": lambda x: x ^ 5,
    "shift": lambda x: x >> 1,
    "where": lambda x: torch.where(x > 0, x, -x),
    "not": torch.bitwise_not,
}
INTEGER_PAIRS: dict[str, Callable[[Any, Any], Any]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "maximum": torch.maximum,
    "eq": torch.eq,
    "gt": torch.gt,
}


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.project(x).chunk(3, -1)
        return self.out(torch.softmax(q @ k.transpose(-1, -2) * 0.25, -1) @ v)


class Gated(nn.Module):
    """A gated feed-forward block with RMS normalisation."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(12))
        self.up, self.gate, self.down = nn.Linear(12, 20), nn.Linear(12, 20, bias=False), nn.Linear(20, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Several(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch.softmax(x @ y, -1), (x @ y).T, x > 0, x.sum(), torch.argmax(y, 0), x.shape[0]


class Running(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.seen: torch.Tensor
        self.count: torch.Tensor
        self.register_buffer("seen", torch.zeros(6))
        self.register_buffer("count", torch.zeros((), dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen.mul_(0.9).add_(x.mean(0) * 0.1)
        self.count.add_(1)
        return x - self.seen


def _models() -> Iterator[Program]:
    torch.manual_seed(1)
    image, words, rows = _floats((2, 3, 8, 8)), _floats((2, 5, 16)), _floats((3, 16))
    conv = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)).eval()
    yield Program("mlp", nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)), rows)
    yield Program("gelu mlp", nn.Sequential(nn.Linear(16, 8), nn.GELU(), nn.LayerNorm(8)), rows)
    yield Program("tanh gelu", nn.Sequential(nn.Linear(16, 8), nn.GELU("tanh")), rows)
    yield Program("cnn", conv, image)
    yield Program("strided", nn.Sequential(nn.Conv2d(3, 4, 3, stride=2), nn.SiLU(), nn.AvgPool2d(3)), image)
    yield Program("grouped", nn.Conv2d(4, 8, 3, groups=2), _floats((1, 4, 6, 6)))
    yield Program("depthwise", nn.Conv1d(4, 4, 3, groups=4), _floats((1, 4, 9)))
    yield Program("transposed", nn.ConvTranspose2d(3, 2, 2, stride=2), _floats((1, 3, 4, 4)))
    yield Program("group norm", nn.GroupNorm(2, 4), _floats((2, 4, 5)))
    yield Program("attention", Attention(), words)
    yield Program("encoder", nn.TransformerEncoderLayer(16, 2, 24, batch_first=True).eval(), words)
    yield Program("gated", Gated(), _floats((3, 12)))
    yield Program("several", Several(), _floats((2, 3), (3, 4)))
    yield Program("running", Running(), _floats((4, 6)))
    yield Program("batch norm in training", nn.BatchNorm1d(6), _floats((5, 6)))
    yield Program("adaptive pool", nn.AdaptiveAvgPool2d(2), image)
    yield Program("embedding", nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 4)), _integers((3, 5), low=0, high=20))
    yield Program("gather", lambda x, i: x.gather(1, i), _mixed((3, 6), (3, 4), 6))
    yield Program("index", lambda x, i: x[i] * 2, _mixed((6, 3), (4,), 6))
    yield Program("scatter", lambda x, i: torch.zeros(3, 6).scatter_add(1, i, x), _mixed((3, 6), (3, 6), 6))
    yield Program("one hot", lambda i: F.one_hot(i, 6).float() * 0.5, _integers((7,), low=0, high=6))
    yield Program("cross entropy", F.cross_entropy, _mixed((4, 6), (4,), 6))
    yield Program("mse", F.mse_loss, _floats((4, 6), (4, 6)))
    yield Program("cosine", F.cosine_similarity, _floats((4, 6), (4, 6)))
    yield Program("sdpa", F.scaled_dot_product_attention, _floats((1, 2, 5, 8), (1, 2, 5, 8), (1, 2, 5, 8)))
    yield Program("einsum", lambda x, y: torch.einsum("bij,bkj->bik", x, y), _floats((2, 3, 4), (2, 5, 4)))
    yield Program("interpolate", lambda x: F.interpolate(x, scale_factor=2.0), image)
    yield Program("bilinear", lambda x: F.interpolate(x, scale_factor=2.0, mode="bilinear"), image)
    yield Program("pooled mean", lambda x: x.mean((2, 3)) @ torch.ones(3, 2), image)
    yield Program("mutated input", _added, _floats((3, 4)))
    yield Program("number", lambda x: (x.shape[0] * 3, x * 2), _floats((3, 4)))
    yield Program("item", lambda x: x.sum().item(), _floats((3, 4)))
    yield Program("normalised", lambda x: (x - x.mean(0)) / (x.std(0) + 1e-5), _floats((8, 5)))
    yield Program("long sum", lambda x: x.sum(-1), _floats((2, 5000)))
    yield Program("wide softmax", lambda x: torch.softmax(x, -1), _floats((2, 3000)))
    yield Program("constant sum", lambda x: (x * 0 + 0.1).sum(), _floats((4096,)))
    yield Program("cancelling", lambda x: ((x + 1e4) - 1e4).sum(-1), _floats((3, 20)))
    yield Program("variance far away", lambda x: (x + 1000.0).var(-1), _floats((3, 20)))
    yield Program("big integers", lambda x: x * 3 + 2**53, _integers((5,), low=2**40, high=2**41))
    yield Program("lstm cell", _cell(nn.LSTMCell(6, 5)), _floats((2, 6), (2, 5), (2, 5)))
    yield Program("gru cell", nn.GRUCell(6, 5), _floats((2, 6), (2, 5)))
    yield Program("fourier", lambda x: torch.fft.fft(x).real, _floats((2, 8)))
    yield Program("fourier of reals", lambda x: torch.view_as_real(torch.fft.rfft(x, norm="ortho")), _floats((2, 6)))
    yield Program("fourier filter", _filtered, _floats((2, 8)))
    yield Program("fourier in two dimensions", lambda x: torch.fft.rfft2(x).abs(), _floats((4, 6)))
    yield Program("fourier power", lambda x: torch.log1p(torch.fft.rfft(x).abs() ** 2), _floats((2, 16)))
    yield Program("determinant", torch.det, _floats((4, 4)))
    yield Program("determinants", lambda x: torch.linalg.slogdet(x)[1], _floats((3, 3, 3)))
    yield Program("rope", _rope, _floats((2, 5, 8)))
    yield Program("mask", _masked, _floats((4, 4)))
    yield Program("infinities", lambda x: torch.where(x > 0, torch.inf, x), _floats((3, 4)))
    yield Program("nan", lambda x: torch.log(x), _floats((3, 4)))


def _cell(cell: nn.LSTMCell) -> nn.Module:
    class Cell(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = cell

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            return self.cell(x, (h, c))

    return Cell()


def _added(x: torch.Tensor) -> torch.Tensor:
    x.add_(0.5)
    return x * 2


def _filtered(x: torch.Tensor) -> torch.Tensor:
    return torch.fft.irfft(torch.fft.rfft(x) * torch.tensor([1.0, 0.5, 0.25, 0.1, 0.0]), n=8)


def _rope(x: torch.Tensor) -> torch.Tensor:
    angles = torch.outer(torch.arange(5.0), 10000.0 ** (-torch.arange(0, 4) / 4.0))
    first, second = x.chunk(2, -1)
    return torch.cat([first * angles.cos() - second * angles.sin(), first * angles.sin() + second * angles.cos()], -1)


def _masked(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x.masked_fill(torch.triu(torch.ones(4, 4, dtype=torch.bool), 1), -torch.inf), -1)


def _mixed(floats: tuple[int, ...], indices: tuple[int, ...], below: int) -> Make:
    def make(random: torch.Generator) -> tuple[Any, ...]:
        return torch.randn(floats, generator=random), torch.randint(0, below, indices, generator=random)

    return make


def models() -> list[Program]:
    """Whole models and functions of several operations."""
    return list(_models())


def operations() -> Iterator[Program]:
    """One operation each, in every dtype that it takes."""
    shape = (5, 7)
    for dtype in FLOATS:
        short = str(dtype).removeprefix("torch.")
        for table, make in (
            (UNARY, _floats(shape, dtype=dtype)),
            (POSITIVE, _floats(shape, dtype=dtype, positive=True)),
            (BINARY, _floats(shape, shape, dtype=dtype)),
            (DIVISIONS, _floats(shape, shape, dtype=dtype, positive=True)),
        ):
            for name, function in table.items():
                yield Program(f"{name} {short}", functools.partial(_call, function, len(make(torch.Generator()))), make)
    for dtype in INTEGERS:
        short = str(dtype).removeprefix("torch.")
        for name, function in WHOLE.items():
            yield Program(f"{name} {short}", functools.partial(_call, function, 1), _integers(shape, dtype=dtype))
        for name, function in INTEGER_PAIRS.items():
            pair = functools.partial(_call, function, 2)
            yield Program(f"{name} pair {short}", pair, _integers(shape, shape, dtype=dtype))
    for name, function in {"and": torch.logical_and, "or": torch.logical_or, "xor": torch.logical_xor}.items():
        yield Program(f"{name} bool", functools.partial(_call, function, 2), _bools(shape))
    for name in ("add", "sub", "mul", "eq"):
        make = _floats(shape, shape)
        complexes = lambda random, make=make: tuple(torch.complex(one, one.flip(0)) for one in make(random))  # noqa: E731
        yield Program(f"{name} complex", functools.partial(_call, getattr(torch, name), 2), complexes)


def _bools(shape: tuple[int, ...]) -> Make:
    return lambda random: tuple(torch.rand(shape, generator=random) > 0.5 for _ in range(2))


def _call(function: Callable[..., Any], count: int, *args: Any) -> Any:
    return function(*args[:count])
