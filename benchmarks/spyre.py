"""How long the Spyre front end takes: a Llama-7B-shaped block, and 1, 4, 16 of them.

    python benchmarks/spyre.py
    python benchmarks/spyre.py page

The second compiles 32 blocks and writes their page: seconds, of the CPU too, and megabytes.

Prints seconds from trace to SuperDSC for one block (d=4096, 32 heads, hidden 11008, 512 tokens), the ratio of
time per op between 16 blocks and 1, and the peak memory that compiling added; then seconds to execute the block's
attention, tile by tile, with real weights.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from irwidget.spyre import TensorSpec, compile


class Block(nn.Module):
    """RMSNorm, RoPE attention, RMSNorm, SwiGLU; parameters are meta tensors."""

    def __init__(self, dim: int = 4096, heads: int = 32, hidden: int = 11008) -> None:
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.Parameter(torch.empty(dim)), nn.Parameter(torch.empty(dim))
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(dim, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, dim, bias=False)

    def rotate(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        b, s, d = x.shape
        y = F.rms_norm(x, (d,), self.n1, 1e-5)
        q, k, v = (m(y).view(b, s, self.heads, -1).transpose(1, 2) for m in (self.q, self.k, self.v))
        y = F.scaled_dot_product_attention(self.rotate(q, cos, sin), self.rotate(k, cos, sin), v)
        x = x + self.o(y.transpose(1, 2).reshape(b, s, d))
        y = F.rms_norm(x, (d,), self.n2, 1e-5)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self, blocks: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block() for _ in range(blocks))

    def forward(self, x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, cos, sin)
        return x


def model(blocks: int) -> nn.Module:
    with torch.device("meta"):
        return Model(blocks).half()


def measure(blocks: int) -> tuple[float, int, int]:
    """Seconds to compile and write every SuperDSC, ops, bytes of JSON."""
    specs = [TensorSpec((1, 512, 4096)), TensorSpec((512, 128)), TensorSpec((512, 128))]
    module: Any = model(blocks)
    gc.collect()
    begun = time.perf_counter()
    program = compile(module, specs)
    size = sum(len(json.dumps(file)) for kernel in program.kernels for _, file in kernel.files())
    return time.perf_counter() - begun, sum(len(k.specs) for k in program.kernels), size


def page(blocks: int = 32) -> None:
    """Compile a whole model and write its page."""
    compile(model(1), [TensorSpec((1, 64, 4096)), TensorSpec((64, 128)), TensorSpec((64, 128))])
    specs = [TensorSpec((1, 512, 4096)), TensorSpec((512, 128)), TensorSpec((512, 128))]
    module: Any = model(blocks)
    gc.collect()
    begun, cpu = time.perf_counter(), time.process_time()
    program = compile(module, specs)
    ops = sum(len(k.specs) for k in program.kernels)
    print(f"{ops} ops compiled: {time.perf_counter() - begun:.1f} s, {time.process_time() - cpu:.1f} s of CPU")
    begun, cpu = time.perf_counter(), time.process_time()
    text = program.to_html()
    print(
        f"page: {time.perf_counter() - begun:.1f} s, {time.process_time() - cpu:.1f} s of CPU, {len(text) / 1e6:.2f} MB"
    )


class Attention(nn.Module):
    """The attention of `Block`, with values."""

    def __init__(self, dim: int = 4096, heads: int = 32) -> None:
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, s, d = x.shape
        q, k, v = (m(x).view(b, s, self.heads, -1).transpose(1, 2) for m in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, d))


def execute(tokens: int = 512) -> tuple[float, float, float]:
    """Seconds and CPU seconds of `program.run`, and how far the result is from float32's."""
    torch.manual_seed(0)
    module, x = Attention().half().requires_grad_(False), torch.randn(1, tokens, 4096).half()
    program = compile(module, [x])
    begun, processor = time.perf_counter(), time.process_time()
    got = program.run(x)
    seconds, processor = time.perf_counter() - begun, time.process_time() - processor
    return seconds, processor, float((got.float() - module.float()(x.float())).abs().max())


def main() -> None:
    compile(model(1), [TensorSpec((1, 64, 4096)), TensorSpec((64, 128)), TensorSpec((64, 128))])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    results = {}
    for blocks in (1, 4, 16):
        seconds, ops, size = min((measure(blocks) for _ in range(3)), key=lambda r: r[0])
        results[blocks] = seconds / ops
        rate = 1e3 * seconds / ops
        print(f"{blocks:2} blocks: {seconds:6.2f} s, {ops} ops, {rate:.2f} ms per op, {size / 1e6:.1f} MB of JSON")
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"time per op, 16 blocks : 1 block = {results[16] / results[1]:.2f}")
    print(f"peak memory added: {(after - before) / 1024:.0f} MB")
    seconds, processor, away = execute()
    print(f"attention of 512 tokens executed: {seconds:.1f} s ({processor:.1f} s of CPU), off by {away:.1e}")


if __name__ == "__main__":
    page() if sys.argv[1:] == ["page"] else main()
