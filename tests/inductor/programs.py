"""Programs that torch.compile is opened on; line numbers in them are compared, so each has its lines counted."""

from pathlib import Path

import torch
import triton
import triton.language as tl


def attended(x, w):
    z = x @ w
    y = torch.relu(z)
    y = y + 1
    return y.softmax(-1) * 2


def broken(x):
    y = x.sin() + 1
    print("here")
    return y.cos() * 2


def apart(x):
    a = (x + 1).sum(0)
    b = (x * 2).sum(1)
    return a, b


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = torch.nn.Linear(32, 64)
        self.norm = torch.nn.LayerNorm(64)

    def forward(self, x):
        y = torch.nn.functional.gelu(self.linear1(x))
        return self.norm(y)


class Stack(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block()])

    def forward(self, x):
        return self.layers[0](x).sum()


def attention(q, k, v):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v)


def unlowerable(x):
    y = x.sin()
    return torch.linalg.eigvals(y.view(8, 8)[:4, :4] + 1).real.sort(dim=5)[0]


def with_values(x):
    return x * torch.tensor([1.0, 2.0], device=x.device)


def relu(x):
    return torch.relu(x) + 1


def line(function, text):
    """The number of the line of a function that has this text."""
    code = getattr(function, "forward", function).__code__
    lines = Path(code.co_filename).read_text().split("\n")
    return next(n for n in range(code.co_firstlineno, len(lines) + 1) if text in lines[n - 1])


def clamped(x):
    for _ in range(3):
        if x.sum() > 0:
            x = x - 1
    return x


def branches_in_a_loop(x):
    return clamped(x.sin()).cos()


def scored(x):
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(x, x, x, score_mod=lambda score, batch, head, row, column: score + (row - column))


def summed(x):
    return sum(x * i for i in range(3))


def scaled(x):
    return x.sin() * 2 + torch.zeros(8, device=x.device)


def quantised(x):
    return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -128, 127).sin()


def offset(x):
    return x + torch.tensor(4.0).to(x.device)


def detached(x):
    with torch.no_grad():
        y = x * 2
    return y + x


def waves(x):
    return x.sin().cos()


def narrowed(x, start):
    """PyTorch's fake tensors have no value to start from: this frame is left to eager PyTorch."""
    return waves(x.narrow(0, start, 2))


def narrowed_only(x, start):
    return x.narrow(0, start, 2) + 1


@triton.jit
def twice(source, target, count, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, at < count) * 2, at < count)


def doubled(x):
    y = torch.empty_like(x)
    twice[(1,)](x, y, x.numel(), BLOCK=4096)
    return y.sin()
