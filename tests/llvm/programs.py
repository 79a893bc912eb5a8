"""Small PyTorch programs that each use something that compilers stumble over."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as f


@dataclass(frozen=True)
class Program:
    name: str
    make: Callable[[], tuple[Any, tuple[Any, ...]]]
    """The model in evaluation mode, unless training is the point, and its inputs."""
    dynamic_shapes: Any = None


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.head = nn.Linear(16 * 4 * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.max_pool2d(torch.relu(self.first(x)), 2)
        x = torch.max_pool2d(torch.relu(self.second(x)), 2)
        return self.head(x.flatten(1))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(32, 96), nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(32)
        mask = torch.ones(scores.shape[-2:]).triu(1).bool()
        return self.out(scores.masked_fill(mask, -torch.inf).softmax(-1) @ v)


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += x
        return self.count * 2


class Wrap(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def _encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)


def _of(module: Callable[[], nn.Module], *shape: int, dtype: torch.dtype = torch.float32, train: bool = False):
    def make() -> tuple[Any, tuple[Any, ...]]:
        return module().train(train).to(dtype), (torch.randn(shape).to(dtype),)

    return make


def _fn(function: Callable[..., Any], *inputs: Callable[[], torch.Tensor]):
    return lambda: (Wrap(function), tuple(make() for make in inputs))


def _randn(*shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randn(*shape)


def _ints(high: int, *shape: int) -> Callable[[], torch.Tensor]:
    return lambda: torch.randint(0, high, shape)


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(16, 8), nn.ReLU())


_BATCH = {"dynamic_shapes": {"input": {0: torch.export.Dim("batch", min=2, max=64)}}}

PROGRAMS = [
    Program("mlp", _of(_mlp, 4, 16)),
    Program("cnn", _of(Cnn, 2, 3, 16, 16)),
    Program("encoder", _of(_encoder, 2, 5, 32)),
    Program("attention", _of(Attention, 2, 6, 32)),
    Program("gelu", _of(lambda: nn.Sequential(nn.Linear(16, 8), nn.GELU()), 4, 16)),
    Program(
        "complex_mul",
        _fn(lambda x, y: torch.view_as_real(torch.complex(x, y) * torch.complex(y, x)), _randn(4, 4), _randn(4, 4)),
    ),
    Program(
        "grid_sample",
        _fn(lambda x, g: f.grid_sample(x, g, align_corners=False), _randn(1, 2, 6, 6), _randn(1, 4, 4, 2)),
    ),
    Program("sort", _fn(lambda x: torch.sort(x, dim=-1), _randn(3, 7))),
    Program("topk", _fn(lambda x: torch.topk(x, 3), _randn(3, 7))),
    Program("cumsum", _fn(lambda x: torch.cumsum(x, 1), _randn(3, 7))),
    Program("embedding", lambda: (nn.Embedding(20, 8), (torch.randint(0, 20, (2, 5)),))),
    Program("lstm", _of(lambda: nn.LSTM(8, 6, batch_first=True), 2, 4, 8)),
    Program("gru", _of(lambda: nn.GRU(8, 6, batch_first=True), 2, 4, 8)),
    Program("batchnorm_eval", _of(lambda: nn.BatchNorm2d(4), 2, 4, 6, 6)),
    Program("batchnorm_train", _of(lambda: nn.BatchNorm2d(4), 2, 4, 6, 6, train=True)),
    Program("dropout_train", _of(lambda: nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5)), 4, 8, train=True)),
    Program("half", _of(_mlp, 4, 16, dtype=torch.float16)),
    Program("bfloat16", _of(_mlp, 4, 16, dtype=torch.bfloat16)),
    Program("double", _of(_mlp, 4, 16, dtype=torch.float64)),
    Program("gather", _fn(lambda x, i: torch.gather(x, 1, i), _randn(3, 7), _ints(7, 3, 2))),
    Program("interpolate", _fn(lambda x: f.interpolate(x, scale_factor=2.0, mode="bilinear"), _randn(1, 2, 5, 5))),
    Program("two_inputs", _fn(lambda x, y: torch.tanh(x) + y.sum(0), _randn(4, 8), _randn(3, 8))),
    Program("two_results", _fn(lambda x: (x.mean(-1), x.exp()), _randn(4, 8))),
    Program("dynamic_batch", _of(_mlp, 4, 16), **_BATCH),
    Program("residual", _of(Residual, 1, 4, 8, 8)),
    Program("buffer", _of(Counter, 4)),
    Program("layer_norm", _of(lambda: nn.LayerNorm(16), 4, 16)),
    Program("softmax", _fn(lambda x: torch.log_softmax(x, -1), _randn(4, 16))),
    Program("argmax", _fn(lambda x: x.argmax(-1), _randn(4, 16))),
    Program("index_add", _fn(lambda x, i: torch.zeros(5, 4).index_add(0, i, x), _randn(3, 4), _ints(5, 3))),
    Program("integers", _fn(lambda x: (x // 3) ^ (x << 1), _ints(100, 4, 4))),
    Program("trigonometry", _fn(lambda x: torch.sin(x) * torch.atan2(x, x + 1) + torch.erf(x).pow(3), _randn(4, 4))),
]

UNROLLED = """
define void @main(ptr %0, ptr %1) {
  br label %3
3:
  %4 = phi i64 [ 0, %2 ], [ %9, %3 ]
  %5 = getelementptr float, ptr %0, i64 %4
  %6 = load float, ptr %5
  %7 = fadd float %6, 1.0
  %8 = getelementptr float, ptr %1, i64 %4
  store float %7, ptr %8
  %9 = add i64 %4, 1
  %10 = icmp ult i64 %4, 3
  br i1 %10, label %3, label %11
11:
  br label %12
12:
  %13 = phi i64 [ 0, %11 ], [ %17, %12 ]
  %14 = getelementptr float, ptr %1, i64 %13
  %15 = load float, ptr %14
  %16 = fmul float %15, %15
  store float %16, ptr %14
  %17 = add i64 %13, 1
  %18 = icmp ult i64 %13, 99
  br i1 %18, label %12, label %19
19:
  ret void
}
define i32 @other(i32 %x) {
  %y = add i32 %x, 0
  ret i32 %y
}
"""
"""A loop that a pass unrolls, and invalidates; values without names, which are numbered anew all the time."""
