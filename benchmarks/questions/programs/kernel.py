import torch
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    total = tl.sum(x * factor, axis=0)
    tl.store(y_ptr + offsets, x - total, mask=mask)


x = torch.empty(4096)
y = torch.empty_like(x)
scale[(4,)](x, y, x.numel(), 2.0, BLOCK=1024)
