"""The models that people ask about, small enough to run tile by tile."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(dim) + 0.5)

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight, 1e-5)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


class Attention(nn.Module):
    def __init__(self, dim, heads, kv_heads, head_dim):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, head_dim
        self.q = nn.Linear(dim, heads * head_dim, bias=False)
        self.k = nn.Linear(dim, kv_heads * head_dim, bias=False)
        self.v = nn.Linear(dim, kv_heads * head_dim, bias=False)
        self.o = nn.Linear(heads * head_dim, dim, bias=False)

    def forward(self, x, cos, sin, cache=None):
        b, s, _ = x.shape
        q = self.q(x).view(b, s, self.heads, self.head_dim).transpose(1, 2)
        k = self.k(x).view(b, s, self.kv_heads, self.head_dim).transpose(1, 2)
        v = self.v(x).view(b, s, self.kv_heads, self.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None, enable_gqa=True)
        return self.o(y.transpose(1, 2).reshape(b, s, -1))


class LlamaBlock(nn.Module):
    def __init__(self, dim=128, heads=4, kv_heads=2, head_dim=64, hidden=256):
        super().__init__()
        self.n1, self.n2 = RMSNorm(dim), RMSNorm(dim)
        self.attention = Attention(dim, heads, kv_heads, head_dim)
        self.gate = nn.Linear(dim, hidden, bias=False)
        self.up = nn.Linear(dim, hidden, bias=False)
        self.down = nn.Linear(hidden, dim, bias=False)

    def forward(self, x, cos, sin, *cache):
        x = x + self.attention(self.n1(x), cos, sin, cache or None)
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class BertLayer(nn.Module):
    def __init__(self, dim=128, heads=2, hidden=256):
        super().__init__()
        self.heads = heads
        self.qkv = nn.ModuleList(nn.Linear(dim, dim) for _ in range(3))
        self.o, self.n1 = nn.Linear(dim, dim), nn.LayerNorm(dim)
        self.i, self.d, self.n2 = nn.Linear(dim, hidden), nn.Linear(hidden, dim), nn.LayerNorm(dim)

    def forward(self, x):
        b, s, d = x.shape
        q, k, v = (m(x).view(b, s, self.heads, -1).transpose(1, 2) for m in self.qkv)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, s, d)
        x = self.n1(x + self.o(y))
        return self.n2(x + self.d(F.gelu(self.i(x))))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(128, 256), nn.Linear(256, 64)

    def forward(self, x):
        return self.b(torch.relu(self.a(x)))


def rope(seq, head_dim, start=0):
    angles = torch.outer(torch.arange(start, start + seq).float(), 10000 ** (-torch.arange(0, head_dim, 2) / head_dim))
    return torch.cat([angles, angles], -1).cos().half(), torch.cat([angles, angles], -1).sin().half()
