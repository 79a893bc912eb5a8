"""Random PyTorch programs, by hypothesis: chains of ops with branches, over small tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as f

UNARY: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "gelu": f.gelu,
    "exp": lambda x: torch.exp(-x * x), "abs": torch.abs, "softmax": lambda x: torch.softmax(x, -1),
    "mean": lambda x: x - x.mean(-1, keepdim=True),
    "amax": lambda x: x - x.amax(-1, keepdim=True),
    "transpose": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "half": lambda x: x[:, : max(1, x.shape[1] // 2)].repeat(1, 3)[:, : x.shape[1]], "clamp": lambda x: x.clamp(-1, 1),
    "where": lambda x: torch.where(x > 0, x, -0.5 * x), "norm": lambda x: f.layer_norm(x, x.shape[-1:]),
    "cumsum": lambda x: x.cumsum(-1), "flip": lambda x: x.flip(0), "double": lambda x: x.double().sin().float(),
    "round": lambda x: torch.round(x * 4) / 4, "sort": lambda x: x.sort(-1).values, "int": lambda x: x.int().float(),
    "atan2": lambda x: torch.atan2(x, x.abs() + 1), "roll": lambda x: x.roll(1, -1), "floor": torch.floor,
}  # fmt: skip
BINARY: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": torch.add, "mul": torch.mul, "max": torch.maximum, "sub": torch.sub,
    "matmul": lambda x, y: torch.softmax(x @ y.transpose(0, 1), -1) @ y, "less": lambda x, y: (x < y).float(),
}  # fmt: skip
TARGETS = ("torch_mlir", "tosa_mlir", "linalg_on_tensors_mlir", "stablehlo_mlir", "llvm_mlir", "llvm_ir", "nvptx",
           "amdgpu", "spirv")  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """What to build: a line to print when it fails."""

    rows: int
    columns: int
    ops: tuple[str, ...]
    linear: bool
    target: str


class Chain(nn.Module):
    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        self.ops = recipe.ops
        self.linear = nn.Linear(recipe.columns, recipe.columns) if recipe.linear else nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = x = self.linear(x)
        for op in self.ops:
            x = UNARY[op](x) if op in UNARY else BINARY[op](x, first)
        return x


recipes = st.builds(
    Recipe,
    st.integers(1, 5),
    st.integers(1, 9),
    st.lists(st.sampled_from([*UNARY, *BINARY]), min_size=1, max_size=6).map(tuple),
    st.booleans(),
    st.sampled_from(TARGETS),
)


def build(recipe: Recipe) -> tuple[nn.Module, torch.Tensor]:
    """The model and its input; the same for the same recipe."""
    torch.manual_seed(0)
    return Chain(recipe).eval(), torch.randn(recipe.rows, recipe.columns)
