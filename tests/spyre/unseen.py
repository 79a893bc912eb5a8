"""Functions of our own, and what the real front end gives for them: its ops, kernels and calls (`unseen.json.xz`).

    IRWIDGET_TORCH_SPYRE=PATH python -m tests.spyre.unseen

asks a checkout of it anew.
"""

from __future__ import annotations

import ast
import json
import lzma
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

from irwidget.spyre import FrontEnd, SpyreProgram, TensorSpec, compile
from tests.spyre import recorded

FILE = Path(__file__).parent / "unseen.json.xz"
Function = Callable[..., Any]


def rope(q, cos, sin):
    a, b = q.chunk(2, -1)
    return q * cos + torch.cat([-b, a], -1) * sin


def swiglu(x, w1, w3, w2):
    return F.linear(F.silu(F.linear(x, w1)) * F.linear(x, w3), w2)


def grouped(q, k, v):
    k, v = (x[:, :, None].expand(1, 2, 4, 64, 64).reshape(1, 8, 64, 64) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v)


def experts(x, w):
    return torch.cat([F.linear(rows, w) for rows in x.split([2, 0, 3])])


def rms_norm(x, w):
    return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * w


def lstm(x, h, c, wi, wh):
    i, f, g, o = (F.linear(x, wi) + F.linear(h, wh)).chunk(4, -1)
    return torch.sigmoid(o) * torch.tanh(torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g))


def state_space(x, a, d):
    return torch.exp(F.softplus(x)[..., None] * a) * x[..., None] + d[:, None]


def modulated(x, c, w):
    scale, shift, gate = F.linear(F.silu(c), w).unsqueeze(1).chunk(3, -1)
    return x + gate * (F.layer_norm(x, (128,)) * (1 + scale) + shift)


def decode_with_cache(q, k, v, new_k, new_v):
    return F.scaled_dot_product_attention(q, torch.cat([k, new_k], 2), torch.cat([v, new_v], 2))


def rotary(x, cos, sin):
    a, b = x.split(64, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def updated(a, b, c):
    a.mul_(b).add_(c)
    c.mul_(a)
    b.copy_(a)
    return torch.relu(c)


def gathered(x, y):
    made = torch.zeros_like(x)
    return made + x * y


def written_slice(cache, new, x):
    cache[:, 4:8] = new
    read = cache * 2
    x.add_(1)
    return read


def one_head(q, k, v):
    return torch.softmax(q @ k.mT * 0.125, -1) @ v


def masked_heads(q, k, mask):
    q, k = (x.transpose(1, 2) * 2 for x in (q, k))
    return torch.softmax(q @ k.mT + mask, -1) @ k


def product_written(q, k, out):
    out.copy_((q.transpose(1, 2) * 2) @ (k.transpose(1, 2) * 2).mT)
    return q * 2


def reread_heads(x, y):
    y = y.view(1, 4, 64, 64)
    return torch.relu(x.view(1, 64, 4, 64).transpose(1, 2) + y) @ y


def running_mean(state, x):
    mean = x.mean(0)
    state.mul_(0.9).add_(mean, alpha=0.1)
    return x - mean


def written_twice(a, b, c):
    y = b * c
    a.copy_(y)
    b.add_(torch.relu(c + y))
    return torch.relu(c + y) * 3


def cache_read(cache, new, q):
    cache[:, :, 3:5] = new
    return torch.relu(cache) * q


def conflicting(a, b, c, d):
    summed = a + b.t()
    return summed + c + (summed + d.t())


def heads_of_batches(a, b, c):
    return (torch.softmax(a @ b, -1) @ c).view(8, 32, 64)


def written_and_returned(x, y):
    x.copy_(y)
    return x, x + 1


def written_row(x, y):
    x.copy_(y[2:66])
    return x


def rows_replaced(x, y):
    x[3:7] = y
    return x * 2


def copied_heads(x, cache):
    y = cache.view(2, 64, 2, 64).permute(0, 2, 1, 3).unsqueeze(2).expand(2, 2, 3, 64, 64).clone()
    return torch.bmm(x.reshape(12, 32, 64), y.reshape(12, 64, 64).transpose(1, 2))


def products_in_views(a, b):
    product = torch.bmm((a * 2).transpose(-1, -2).flatten(0, 1), b.flatten(0, 1))
    return product.unflatten(0, (2, 4)) * 2


def turned(function):
    """A function of a tensor whose first two dims lie in memory the other way round."""
    return lambda x, *rest: function(x.permute(1, 0, 2), *rest)


def weight_gradient(x, gradient):
    return gradient.view(-1, 64).t() @ x.view(-1, 128)


aten = torch.ops.aten


def by_constants(x):
    zeros, ones = (make(64, dtype=x.dtype).view(1, -1, 1, 1) for make in (torch.zeros, torch.ones))
    return ones * ((x - zeros) / torch.sqrt(ones + 1e-5)) + zeros


def attended(scores, x, w):
    return F.layer_norm(torch.bmm(torch.softmax(scores, -1), x @ w), (64,))


def t5_attention(q, k, v, bias):
    scores = q.transpose(1, 2) @ k.transpose(1, 2).transpose(3, 2) + bias
    return torch.softmax(scores.float(), -1).type_as(scores) @ v.transpose(1, 2)


def turned_back(q, k, v, mask):
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    weights = torch.softmax(q @ k.transpose(2, 3) / 8 + mask, -1)
    return (weights @ v).transpose(1, 2).contiguous().reshape(2, 16, 128) + 1


def written_part(x):
    x.split(128, 1)[1].copy_(torch.ones_like(x[:, :128]))
    return x


def multiplied_part(x):
    x.split([64, 128], 1)[0].mul_(2)
    return x


def grouped_by_one(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


INDEX = TensorSpec((5,), "int64")
PRODUCT = ((64, 4, 64), (4, 64, 64))

FUNCTIONS: dict[str, tuple[Function, tuple[tuple[int, ...] | TensorSpec, ...]]] = {
    "rope": (rope, ((2, 4, 32, 128), (32, 128), (32, 128))),
    "rotary": (rotary, ((1, 4, 32, 128), (32, 64), (32, 64))),
    "swiglu": (swiglu, ((3, 17, 256), (512, 256), (512, 256), (256, 512))),
    "decode": (F.scaled_dot_product_attention, ((1, 8, 1, 64), (1, 8, 77, 64), (1, 8, 77, 64))),
    "grouped": (grouped, ((1, 8, 64, 64), (1, 2, 64, 64), (1, 2, 64, 64))),
    "rms_norm": (rms_norm, ((3, 40, 256), (256,))),
    "lstm": (lstm, ((8, 64), (8, 64), (8, 64), (256, 64), (256, 64))),
    "state_space": (state_space, ((4, 64), (64, 16), (64,))),
    "batch_norm": (F.batch_norm, ((8, 128), (128,), (128,), (128,), (128,))),
    "mv": (torch.matmul, ((100, 64), (64,))),
    "dot": (torch.dot, ((200,), (200,))),
    "addmm": (lambda x, a, b: torch.addmm(x, a, b, beta=2, alpha=0.5), ((192,), (32, 64), (64, 192))),
    "prelu": (F.prelu, ((5, 100), (1,))),
    "hardswish": (F.hardswish, ((5, 128),)),
    "clamp": (lambda a, low, high: torch.clamp(a, low, high), ((5, 128), (128,), (128,))),
    "casts": (lambda a: (a.float().bfloat16().half() * 2).bfloat16().half() + 1, ((4, 64),)),
    "cast back": (lambda a: (a.float().half(), a * 1), ((64, 64),)),
    "powers": (lambda a: a.square().sum(-1) + a.pow(-2).sum(-1), ((40, 256),)),
    "outer": (lambda a, b: (a @ b).sum(-1), ((4, 128, 1), (4, 1, 64))),
    "huber": (F.huber_loss, ((5, 128), (5, 128))),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.7), ((64, 128), (64, 128))),
    "sgn": (torch.sgn, ((40, 128),)),
    "modulated": (modulated, ((2, 32, 128), (2, 128), (384, 128))),
    "decode with cache": (decode_with_cache, ((1, 4, 1, 64), *[(1, 4, 63, 64)] * 2, *[(1, 4, 1, 64)] * 2)),
    "retention": (lambda q, k, v, d: (q @ k.mT * d) @ v, (*[(1, 4, 64, 64)] * 3, (4, 64, 64))),
    "quantise": (lambda x, s: torch.clamp(x * s, -127, 127).to(torch.int8), ((32, 128), (1,))),
    "updated": (updated, ((64, 128),) * 3),
    "compared": (lambda a: a > 0.9, ((5, 128),)),
    "logical_and": (torch.logical_and, ((5, 128), (5, 128))),
    "two products": (lambda x, a, b: x @ a.t() @ b.t(), ((2, 32, 256), (64, 256), (128, 64))),
    "product read twice": (lambda x, a: ((y := x @ a) @ a, y * 2), ((2, 32, 64), (64, 64))),
    "product of rows": (lambda x, a: (x.view(64, 128) @ a).view(2, 4, 8, 64), ((2, 4, 8, 128), (128, 64))),
    "product as rows": (lambda x, a: (x @ a).view(-1, 64) * 2, ((2, 32, 128), (128, 64))),
    "product of rows in other batches": (lambda x, a: (x.view(64, 128) @ a).view(4, 16, 64), ((2, 32, 128), (128, 64))),
    "product of columns": (lambda x, a: x.transpose(1, 2) @ a, ((2, 128, 32), (128, 64))),
    "product of a view read twice": (lambda x, a: ((y := x.view(2, 32, 128)) @ a, y * 2), ((64, 128), (128, 64))),
    "product read as rows, too": (lambda x, a: ((y := x @ a).view(-1, 64) * 2, y * 3), ((2, 32, 128), (128, 64))),
    "zeros added, and a view": (lambda x: (x * 2 + torch.zeros_like(x)).t() + 1, ((64, 128),)),
    "zeros in two views": (lambda x: ((z := torch.zeros_like(x))[:1] + x * 2, z), ((4, 64),)),
    "product of a view": (lambda x, a: x.view(2, 32, 128) @ a, ((64, 128), (128, 64))),
    "product of heads": (lambda x, a: x.transpose(1, 2) @ a, ((2, 32, 4, 64), (64, 64))),
    "tensordot": (lambda a, b: torch.tensordot(a, b, dims=1), ((2, 32, 64), (64, 128))),
    "one batch": (lambda x, a: x @ a, ((1, 32, 128), (128, 64))),
    "one direct batch": (lambda x, a: torch.bmm(x * 2, a), ((1, 64, 128), (1, 128, 128))),
    "gathered": (gathered, ((4, 64), (4, 64))),
    "folded": (lambda x: torch.full((4, 1, 64), 0.5, dtype=x.dtype) * 2, ((4, 64),)),
    "filled like heads": (lambda x: torch.full((1, 4, 64, 64), 0.5, dtype=x.dtype) - x, ((1, 4, 64, 64),)),
    "views undone": (lambda x: x.view(2, 128).view(4, 64).t().t().expand(4, 64) * 2, ((4, 64),)),
    "cosine": (F.cosine_similarity, ((32, 128), (32, 128))),
    "one head": (one_head, ((1, 8, 32, 64), *[(1, 1, 32, 64)] * 2)),
    "one head of two": (lambda q, k, v: torch.softmax(q @ k.mT, -1) @ v, ((1, 8, 32, 64), *[(1, 1, 32, 64)] * 2)),
    "written slice": (written_slice, ((2, 16, 64), (2, 4, 64), (64, 64))),
    "logit": (lambda a: torch.logit(a, 0.25), ((5, 128),)),
    "masked heads of one batch": (masked_heads, (*[(1, 64, 4, 64)] * 2, (64, 64))),
    "product of heads written": (product_written, (*[(1, 64, 4, 64)] * 2, (1, 4, 64, 64))),
    "heads of rows": (reread_heads, ((1, 64, 256), (1, 64, 256))),
    "turned, summed": (turned(lambda x: x.sum(-1) + 1), ((64, 4, 64),)),
    "turned, averaged": (turned(lambda x: x.mean(-1, keepdim=True).rsqrt() * x + 1), ((64, 4, 64),)),
    "turned, unsqueezed": (turned(lambda x: torch.relu(x).unsqueeze(1) * 2), ((64, 4, 64),)),
    "turned, softmax": (turned(lambda x: torch.softmax(x * 2, -1)), ((64, 4, 64),)),
    "turned, log_softmax": (turned(lambda x: torch.log_softmax(x, -1) + 1), ((64, 4, 64),)),
    "turned, silu": (turned(lambda x: F.silu(x) + 1), ((64, 4, 64),)),
    "turned, gelu": (turned(lambda x: F.gelu(x) + 1), ((64, 4, 64),)),
    "turned, softplus": (turned(lambda x: F.softplus(x) + 1), ((64, 4, 64),)),
    "turned, layer_norm": (turned(lambda x: F.layer_norm(x * 2, (64,)) + 1), ((64, 4, 64),)),
    "turned, logical_not": (turned(torch.logical_not), ((64, 4, 64),)),
    "turned, masked": (turned(lambda x: (x * 2).masked_fill(x > 0, -1.0) + 1), ((64, 4, 64),)),
    "turned, lerp": (turned(lambda x: torch.lerp(x, x * 2, 0.3)), ((64, 4, 64),)),
    "turned, multiplied": (turned(lambda x, w: (x * 2) @ w), ((64, 4, 64), (64, 64))),
    "running mean": (running_mean, ((128,), (64, 128))),
    "written twice": (written_twice, ((64, 128),) * 3),
    "repeated sticks": (lambda x: x.repeat(1, 2) * 2, ((4, 128),)),
    "repeated sticks and rows": (lambda x: x.repeat(2, 1, 3), ((4, 5, 192),)),
    "not a number": (lambda x: x != 0.25, ((9, 100),)),
    "where not zero": (lambda x: torch.where(x != 0, x, 1.0), ((9, 128),)),
    "sign, transposed": (lambda x: torch.sign(x.t()), ((64, 128),)),
    "sign, turned": (turned(torch.sign), ((4, 8, 128),)),
    "batches as one": (lambda a, b: (a @ b).view(8, 32, 64), ((2, 4, 32, 64), (2, 4, 64, 64))),
    "batches as one, of one": (lambda a, b: (a @ b).view(4, 32, 64) * 2, ((1, 4, 32, 64), (1, 4, 64, 64))),
    "batches as one, made": (lambda a, b: ((a * 2) @ (b + 1)).view(8, 32, 64), ((2, 4, 32, 64), (2, 4, 64, 64))),
    "batches as one, read": (
        lambda a, b, c: (a @ b).view(8, 32, 64) @ c,
        ((2, 4, 32, 64), (2, 4, 64, 64), (8, 64, 64)),
    ),
    "batches of three dims": (lambda a, b: (a @ b).view(12, 32, 64) + 1, ((2, 2, 3, 32, 64), (2, 2, 3, 64, 64))),
    "attention as one batch": (heads_of_batches, ((2, 4, 32, 64), *[(2, 4, 64, 64)] * 2)),
    "two batched products": (lambda a, b, c: (a @ b.mT) @ c, ((2, 4, 32, 64), (2, 4, 64, 64), (2, 4, 64, 128))),
    "addmm of nothing": (lambda x, a, b: torch.addmm(x, a, b, beta=0), ((5, 64), (5, 128), (128, 64))),
    "from a number": (lambda x: 5 - x, (TensorSpec((16, 128), "int64"),)),
    "integers by numbers": (lambda x: (x + 2) * x, (TensorSpec((16, 128), "int64"),)),
    "compared with both": (lambda x, y: (x <= y, x >= y), ((9, 128), (128,))),
    "counted": (lambda x: (x > 0).half().sum(-1), ((9, 128),)),
    "masked 3d": (
        lambda x, m: torch.where(m[None], x, torch.zeros_like(x)),
        ((3, 9, 128), TensorSpec((9, 128), "bool")),
    ),
    "conflicting sticks": (conflicting, ((128, 128),) * 4),
    "transposed choice": (lambda a, x, y: torch.where(x > 0, a.t(), y), ((128, 64), (64, 128), (64, 128))),
    "cache written and read": (cache_read, ((1, 4, 64, 64), (1, 4, 2, 64), (1, 1, 64, 64))),
    "padded softmax times": (lambda a, b: torch.softmax(a, -1) @ b, ((40, 100), (100, 72))),
    "norm times": (lambda x, w, m: F.rms_norm(x, (256,), w, 1e-6) @ m, ((64, 256), (256,), (256, 128))),
    "joined and summed": (lambda x, y: torch.cat([x, y], 1).sum(1), ((3, 4, 128), (3, 2, 128))),
    "rows of a slice": (lambda x: x[:, 1:4].sum(1), ((3, 6, 128),)),
    "float32 sums": (lambda x: x.amax(1) + x.sum(1), (TensorSpec((9, 20, 64), "float32"),)),
    "smooth": (lambda x, y: F.smooth_l1_loss(x, y, reduction="none"), ((9, 128), (9, 128))),
    "sum beside a product": (lambda x, w, y: x @ w + y * 2, ((5, 64), (64, 128), (5, 128))),
    "sum of linears": (lambda x, a, b: torch.tanh(F.linear(x, a) + F.linear(x, b)), ((8, 64), (64, 64), (64, 64))),
    "weight gradient of batches": (weight_gradient, ((2, 64, 128), (2, 64, 64))),
    "weight gradient of long batches": (weight_gradient, ((3, 128, 128), (3, 128, 64))),
    "backward of relu": (lambda g, x: aten.threshold_backward(g, torch.relu(x), 0), ((32, 128), (32, 128))),
    "backward of sigmoid": (lambda g, x: aten.sigmoid_backward(g, torch.sigmoid(x)), ((32, 128), (32, 128))),
    "backward of silu": (aten.silu_backward.default, ((32, 128), (32, 128))),
    "backward of gelu": (lambda g, x: aten.gelu_backward(g, x, approximate="tanh"), ((32, 128), (32, 128))),
    "backward of log_softmax": (
        lambda g, y: aten._log_softmax_backward_data(g, y, -1, torch.float16),
        ((32, 128), (32, 128)),
    ),
    "shuffled channels": (lambda x: F.channel_shuffle(x, 2) * 2, ((2, 8, 16, 64),)),
    "degrees": (lambda x: torch.rad2deg(x) + torch.deg2rad(x), ((8, 128),)),
    "three pieces, read": (lambda x, y: torch.cat([x * 2, y, x - 1], 1) * 2, ((8, 64), (8, 128))),
    "pieces in turn": (lambda x, y: torch.cat([x * 2, y + 1, x - 1, y * 3]).sum(0), ((8, 64), (8, 64))),
    "padded in two dims": (lambda x: F.pad(x, (0, 0, 1, 2, 1, 1)) * 2, ((3, 8, 64),)),
    "written and returned": (written_and_returned, ((64, 128), (64, 128))),
    "rows written and returned": (written_row, ((64, 128), (70, 128))),
    "rows replaced": (rows_replaced, ((16, 64), (4, 64))),
    "attention of three dims": (F.scaled_dot_product_attention, ((4, 64, 64),) * 3),
    "masked attention of three dims": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m) * 2,
        (*[(4, 17, 64)] * 3, (17, 17)),
    ),
    "turned, gelu, turned back": (turned(lambda x: F.gelu(x).transpose(0, 1)), ((4, 8, 128),)),
    "turned, silu, a part": (turned(lambda x: F.silu(x)[1:3]), ((4, 8, 128),)),
    "float32 returned": (lambda x: x.float(), ((8, 128),)),
    "heads of a cache, copied": (copied_heads, ((2, 6, 32, 64), (2, 128, 64))),
    "products in views of batches": (products_in_views, ((2, 4, 64, 32), (2, 4, 64, 64))),
    "rows added to a transposed tensor": (lambda a, b: b.expand(128, 64) + a.t(), ((64, 128), (64,))),
    "a column added to a transposed tensor": (lambda a, b: b[:, None].expand(128, 64) + a.t(), ((64, 128), (128,))),
    "transposed rows in planes": (lambda x, y: y.t()[:, None].expand(x.shape) + x, ((64, 128, 128), (128, 64))),
    "distances": (lambda x, y: ((x[:, None] - y[None]) ** 2).sum(-1), ((9, 64), (7, 64))),
    "an expand that does nothing": (lambda x: (x * 2).expand(4, 64) + 1, ((4, 64),)),
    "an expand with a -1 that does nothing": (lambda x: x[:, None].expand(-1, 1, -1).relu(), ((4, 64),)),
    "the root of ones": (by_constants, (TensorSpec((2, 64, 8, 8), torch.float32),)),
    "a part of a split, written": (written_part, ((9, 384),)),
    "a part of a split, multiplied": (multiplied_part, ((9, 192),)),
    "transposed into an input": (lambda x, y: x.copy_(y.t()), ((64, 128), (128, 64))),
    "transposed into an input alone": (lambda x, y: (x.copy_(y.t()), y * 2)[1], ((64, 128), (128, 64))),
    "one head of k and v for eight": (grouped_by_one, ((1, 8, 1, 128), (1, 1, 33, 128), (1, 1, 33, 128))),
    "the largest of int64": (lambda x: x.max(0), (TensorSpec((10, 64), torch.int64),)),
    "the least of bool": (lambda x: x.min(0)[0], (TensorSpec((10, 64), torch.bool),)),
    "clamped by its own operator": (lambda x: torch.ops.spyre.clamp(x, -1.0, 1.0), ((4, 64),)),
    "dropout in evaluation": (lambda x: F.dropout(x, 0.5, False), ((4, 64),)),
    "rounded to float16": (lambda x: (x * 2).half().float(), (TensorSpec((4, 64), torch.float32),)),
    "a whole number in a float tensor": (lambda x: torch.full_like(x, 3) * x, ((10, 10),)),
    "positions": (lambda x: x + torch.arange(64, dtype=torch.float16), ((4, 64),)),
    "layer norm of a batch of one": (lambda x: F.layer_norm(x, (128,)), ((1, 64, 128),)),
    "what has been padded is kept": (attended, ((2, 16, 16), (2, 16, 64), (64, 64))),
    "T5's attention": (t5_attention, ((1, 64, 2, 64),) * 3 + ((1, 2, 64, 64),)),
    "an attention by hand, turned back": (turned_back, ((2, 16, 2, 64),) * 3 + ((2, 1, 16, 16),)),
    "one kernel, launched again": (lambda x: torch.exp(torch.sin(torch.exp(x))) + 1, ((64, 128),)),
    "a sum, transposed, joined": (lambda a, b, c: torch.cat([a.t() + b, c]), ((128, 128),) * 3),
    "transposed pieces": (lambda a, b: torch.cat([a.t().relu(), b.t().relu()]), ((128, 128),) * 2),
    "a product, turned back": (turned(lambda a, b: torch.bmm(a, b).permute(1, 0, 2)), PRODUCT),
    "a product, twice": (turned(lambda a, b: ((y := torch.bmm(a, b)).permute(1, 0, 2), y.mT)), PRODUCT),
    "rows of a product": (turned(lambda a, b: torch.bmm(a, b)[:, :32]), PRODUCT),
    "one of a product": (turned(lambda a, b: torch.bmm(a, b)[1]), PRODUCT),
    "turned, summed, transposed": (turned(lambda x: x.sum(-1).t()), ((64, 4, 64),)),
    "turned, unsqueezed, transposed": (turned(lambda x: torch.relu(x).unsqueeze(0).mT), ((64, 4, 64),)),
    "how the host is called": (
        lambda x: (x.median(-1), x.mode(), x.kthvalue(3), x.cummax(0), x.cummin(0), x.cumprod(0), x.logcumsumexp(0)),
        ((8, 64),),
    ),
    "bits of integers": (lambda x, y: (x & y, ~x), (TensorSpec((8, 64), torch.int64),) * 2),
    "copied by to": (lambda x: (x.t().to(x.dtype, copy=True) + 1, x[2:].to(x.dtype, copy=True)), ((64, 128),)),
    "whole numbers": (lambda x: (torch.full((8, 64), -1), torch.ones_like(x)), (TensorSpec((8, 64), torch.int64),)),
    "bits of bytes": (lambda y: (~y & y, y.new_zeros(8, 64)), (TensorSpec((8, 64), torch.uint8),)),
    "bytes, not folded": (lambda y: torch.ones_like(y) | torch.zeros_like(y), (TensorSpec((8, 64), torch.uint8),)),
    "a float in an int64 tensor": (lambda x: torch.full_like(x, 3.0), (TensorSpec((8, 64), torch.int64),)),
    "a new bool": (lambda x: x.new_ones((), dtype=torch.bool), ((8, 64),)),
    "int32, folded": (lambda x: torch.ones_like(x) + torch.ones_like(x), (TensorSpec((8, 64), torch.int32),)),
    "one tensor, joined": (lambda x, y: (torch.cat([x]) @ y, torch.stack([x + 1]) * 2), ((64, 64),) * 2),
    "cropped at the other dim": (lambda x: F.pad(x, (-7, 0)), (TensorSpec((64, 71), stride=(1, 64)),)),
    "repeated once": (lambda x: x.repeat(1, 1, 1) + 1, ((4, 64),)),
    "a dim of one element, elsewhere": (
        lambda x, y: x - y,
        (TensorSpec((1, 8, 1, 128), stride=(1024, 128, 1024, 1)), (1, 8, 1, 128)),
    ),
    "short casts": (
        lambda x, y, z: (x.half(), y.float(), z.float() * 2),
        (TensorSpec((70, 1), torch.float32), (1, 11, 1), TensorSpec((1, 1, 14), torch.bfloat16)),
    ),
    "a row of float16 beside float32": (lambda x, y: x * y, (TensorSpec((2, 4, 64), torch.float32), (4, 64))),
    "int64 with truths": (
        lambda x, y: (x + y, y * x, torch.maximum(x, y)),
        (TensorSpec((8, 64), torch.int64), TensorSpec((8, 64), torch.bool)),
    ),
    "int64 with int32": (
        lambda x, y: (x - y, torch.minimum(y, x)),
        (TensorSpec((8, 64), torch.int64), TensorSpec((8, 64), torch.int32)),
    ),
    "whole already": (
        lambda x, y: (torch.floor(x), torch.round(x), torch.trunc(x), torch.floor(y)),
        (TensorSpec((8, 64), torch.int64), TensorSpec((8, 64), torch.bool)),
    ),
    "nothing": (lambda x: x[:0] * 2, ((4, 64),)),
    "nothing of a tensor": (lambda x: (F.softmax(x[:0] * 2, -1), x + 1), ((4, 64),)),
    "an expert without tokens": (experts, ((5, 64), (64, 64))),
    "rows of an index": (lambda x, i: x[i], ((8, 64), INDEX)),
    "columns of an index": (lambda x, i: x[:, i] * 2, ((4, 16, 64), INDEX)),
    "rows of an index, summed": (lambda x, i: x[i].sum(0) + 1, ((16, 128), INDEX)),
    "rows of an index, multiplied": (lambda x, i, w: x[i] @ w, ((8, 128), INDEX, (128, 64))),
    "places of an index": (lambda x, i: x[i + 1].relu(), ((16, 128), INDEX)),
    "planes of a long index": (lambda x, i: x[:, i] * 2, ((3, 2, 5, 64), TensorSpec((64,), "int64"))),
    "rows of an expanded index": (lambda w, i: F.embedding(i, w).sum(1), ((100, 128), TensorSpec((2, 8), "int64"))),
    "integers in a view": (lambda x: x.view(16, 64) + 1, (TensorSpec((8, 128), "int64"),)),
    "integers in two views": (lambda x: torch.maximum(x[2:6], x.split(4)[0]), (TensorSpec((8, 64), "int64"),)),
    "distance of pairs": (F.pairwise_distance, ((8, 64), (8, 64))),
    "rows of a slice by an index": (lambda x, i: x[:, :64][i], ((8, 128), INDEX)),
    "norm of no order": (lambda x: aten.norm.ScalarOpt_dim(x, None, [1]), ((8, 128),)),
    "norm in float32": (lambda x: torch.norm(x, dim=-1, dtype=torch.float32), ((8, 128),)),
    "largest norm in float32": (
        lambda x: torch.linalg.vector_norm(x, float("inf"), 0, dtype=torch.float32),
        ((8, 128),),
    ),
    "relu6": (F.relu6, ((8, 64),)),
    "causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), ((1, 2, 64, 64),) * 3),
    "places between bounds": (
        lambda x, y: (torch.bucketize(x, y), torch.searchsorted(y, x, right=True)),
        ((8, 64), (16,)),
    ),
    "nothing repeated, nothing padded": (
        lambda x: (x.repeat(1, 1) + 1, F.pad(x * 2, (0, 0, 0, 0)).relu()),
        ((8, 128),),
    ),
    "a split, joined": (lambda x, y: (torch.cat(x.split([64, 64], 1), 1) * 2, y + 1), ((8, 128), (8, 64))),
    "a part of a joined split": (lambda x: (torch.cat(p := x.split([64, 64], 1), 1), p[0] + 1), ((8, 128),)),
    "a product added to itself": (lambda a, b: (y := a @ b) + y, ((8, 64), (64, 128))),
    "blocks": (lambda x, y: torch.block_diag(x, y, x) * 2, ((4, 64), (2, 128))),
    "copied views": (lambda x: (torch.narrow_copy(x, 0, 1, 2), *torch.unbind_copy(x)), ((3, 64, 64),)),
    "infinite": (lambda x: (torch.isposinf(x), torch.isneginf(x)), ((8, 128),)),
    "distances of tensors": (lambda x, y: (torch.dist(x, y), torch.dist(x, y, 1)), ((8, 128), (8, 128))),
    "norm of the usual order": (lambda x: aten.norm.Scalar(x), ((8, 128),)),
    "shrunk": (F.hardshrink, ((8, 128),)),
    "layer norm in bfloat16": (lambda x: F.layer_norm(x, (128,)), (TensorSpec((3, 128), torch.bfloat16),)),
    "no inputs": (lambda: torch.full((4, 64), 2.0, dtype=torch.float16), ()),
}


def facts(program: SpyreProgram) -> Any:
    """Its kernels by name with the number of their ops, all ops as `recorded.ops_of` has them, what its host does."""
    kernels = [[kernel.name, len(kernel.specs)] for kernel in program.kernels]
    return json.loads(json.dumps([kernels, recorded.ops_of(program), statements(program.host)]))


def statements(host: str) -> list[str]:
    """The statements of `call` without checks of what is made there; buffers are numbered as they appear."""
    body = next(n for n in ast.walk(ast.parse(host)) if isinstance(n, ast.FunctionDef) and n.name == "call").body
    lines = [ast.unparse(n).replace(", 'input')", ")") for n in body]
    called = {line.partition(" = ")[0] for line in lines if " = torch.ops." in line}
    last = {value: name for name, _, value in (line.partition(" = ") for line in lines) if value in called}
    found: list[str] = []
    for line in lines:
        name, _, value = line.partition(" = ")
        checks = line.startswith(("assert_alignment(", "assert_size_stride(buf"))
        if not checks and value not in last and line.removeprefix("del ") not in last:
            found.append(f"{last.get(name, name)} = {value}" if value else line)
    numbers: dict[str, str] = {}
    return [re.sub(r"\bbuf\d+", lambda m: numbers.setdefault(m[0], f"buf{len(numbers)}"), line) for line in found]


def made(name: str, frontend: FrontEnd | None = None) -> Any:
    function, given = FUNCTIONS[name]
    inputs = [one if isinstance(one, TensorSpec) else TensorSpec(one) for one in given]
    return facts(compile(function, inputs, frontend=frontend))


@cache
def real() -> dict[str, Any]:
    return json.loads(lzma.decompress(FILE.read_bytes()))


if __name__ == "__main__":
    with FrontEnd(os.environ["IRWIDGET_TORCH_SPYRE"]) as asked:
        found = {name: made(name, asked) for name in FUNCTIONS}
    FILE.write_bytes(lzma.compress(json.dumps(found, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME))
