"""The kernel of `benchmarks.toolchains`: a matrix product with a pipelined loop."""

# pyright: basic
# Triton takes annotations of arguments for globals that a kernel names.

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column, inner = (
        tl.program_id(0) * BM + tl.arange(0, BM),
        tl.program_id(1) * BN + tl.arange(0, BN),
        tl.arange(0, BK),
    )
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + row[:, None] * K + (k + inner)[None, :])
        y = tl.load(b + (k + inner)[:, None] * N + column[None, :])
        total = tl.dot(x, y, total)
    tl.store(c + row[:, None] * N + column[None, :], total.to(tl.float16))


def arguments() -> tuple[Any, ...]:
    """Of a launch on matrices of 512 by 512."""
    size = 512
    matrices = (torch.empty(size, size, dtype=torch.float16) for _ in range(3))
    return (*matrices, size, size, size, 64, 64, 32)
