"""Real models whose lowering to the LLVM dialect ends with about 1k, 10k and 100k lines. No two layers are alike.

A fourth is the third ten times, as ten functions whose values have names of their own: 1m.
"""

from __future__ import annotations

import pickle
from pathlib import Path

import torch
from torch import nn

import irwidget
from irwidget.trace import Trace, dump


class Stack(nn.Module):
    """Encoder layers of growing width, some with GELU, some with the norm first, joined by linear layers."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        widths = [16 + 8 * i for i in range(layers)]
        self.first = nn.Linear(16, widths[0])
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, 4, 2 * width + 8, batch_first=True, activation=("relu", "gelu")[i % 2], norm_first=i % 3 == 0
            )
            for i, width in enumerate(widths)
        )
        self.joins = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, [*widths[1:], widths[0]], strict=True))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for layer, join in zip(self.layers, self.joins, strict=True):
            x = join(layer(x)).tanh()
        return x


def _perceptron() -> nn.Module:
    return nn.Sequential(
        nn.Linear(16, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 24), nn.GELU(), nn.Linear(24, 4), nn.Softmax(-1)
    )


SIZES = {"1k": (_perceptron, (8, 16)), "10k": (lambda: Stack(3), (2, 10, 16)), "100k": (lambda: Stack(28), (2, 10, 16))}


COPIES = 10
"""How often the largest lowering is in what has a million lines."""


def trace(size: str, folder: Path) -> Trace:
    """The lowering of a size; kept in `folder`, because the largest takes minutes."""
    if size == "1m":
        once = trace("100k", folder)
        dumps = tuple(
            dump(one.name, _copies(one.text), step=one.step, options=one.options, seconds=one.seconds)
            for one in once.dumps
        )
        return Trace(once.target, dumps, name="ten models 100k")
    kept = folder / f"{size}.pickle"
    if not kept.exists():
        make, shape = SIZES[size]
        torch.manual_seed(0)
        low = irwidget.lower(make().eval(), torch.randn(*shape), to="llvm_mlir", name=f"model {size}")
        kept.write_bytes(pickle.dumps([(one.name, one.step, one.options, one.seconds, one.text) for one in low.dumps]))
    dumps = tuple(
        dump(name, text, step=step, options=options, seconds=seconds)
        for name, step, options, seconds, text in pickle.loads(kept.read_bytes())
    )
    return Trace("llvm_mlir", dumps, name=f"model {size}")


def _copies(text: str) -> str:
    return "".join(text.replace("%", f"%m{k}_").replace("@", f"@m{k}_") for k in range(COPIES))
