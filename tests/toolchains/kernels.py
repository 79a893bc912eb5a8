"""Kernels whose lowering a release may change."""

import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(2)


@triton.jit
def scaled(value):
    return value * SCALE


@triton.jit(do_not_specialize=["n"])
def column(x, out, n, stride, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    offsets = at[:, None] * stride + at[None, :]
    loaded = tl.load(x + offsets, offsets < n)
    tl.store(out + offsets, scaled(tl.sum(loaded, 1, keep_dims=True) + loaded), offsets < n)
