"""The families of kernels that must bind, emit, lower, verify and equal eager PyTorch, on ragged shapes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from tests.helion import kernels_idioms as idioms
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw


@dataclass(frozen=True, eq=False)
class Case:
    family: str
    kernel: Any
    inputs: Callable[[], tuple[Any, ...]]
    expected: Callable[..., Any]
    name: str = ""
    tolerance: float = 2e-5
    config: Any = None

    def __str__(self) -> str:
        return self.name or self.kernel.name


def randn(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape) + len(shape))
    return torch.randn(*shape, generator=generator).to(dtype)


def randint(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
    generator = torch.Generator().manual_seed(high + sum(shape))
    return torch.randint(low, high, shape, generator=generator).to(dtype)


def f16(*shape: int) -> torch.Tensor:
    return randn(*shape, dtype=torch.float16)


def layer_norm_stats(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.mean(-1), torch.rsqrt(x.var(-1, correction=0) + 1e-5)


def eager_layer_norm(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, *_: Any) -> Any:
    return (F.layer_norm(x, x.shape[-1:], w, b), *layer_norm_stats(x))


def eager_layer_norm_backward(dy: Any, x: Any, w: Any, _mean: Any, _rstd: Any) -> Any:
    x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    b = torch.zeros_like(w).requires_grad_()
    F.layer_norm(x, x.shape[-1:], w, b).backward(dy)
    return x.grad, w.grad, b.grad


def eager_rms(x: Any, w: Any) -> Any:
    r = torch.rsqrt((x.float() ** 2).mean(-1) + 1e-5)
    return (x.float() * r[:, None] * w.float()).to(x.dtype), r


def eager_rms_backward(dy: Any, x: Any, w: Any, _inverse: Any) -> Any:
    x, w = x.clone().requires_grad_(), w.clone().requires_grad_()
    (x * torch.rsqrt((x**2).mean(-1) + 1e-5)[:, None] * w).backward(dy)
    return x.grad, w.grad


def backward_softmax(dy: Any, y: Any) -> Any:
    return y * (dy - (y * dy).sum(1, keepdim=True))


def eager_kl(y: Any, target: Any, log_target: bool = False, eps: float = 1e-10) -> Any:
    return F.kl_div(y, target, log_target=log_target, reduction="batchmean")


def eager_js(x: Any, y: Any, beta: float = 0.5) -> Any:
    q, p = x.exp(), y.exp()
    m = (beta * p + (1 - beta) * q).log()
    loss = (beta * p * (y - m) + (1 - beta) * q * (x - m)).sum(1)
    return loss.sum() / len(x), (1 - beta) * q * (x - m) / len(x)


def offsets(*lengths: int) -> torch.Tensor:
    return torch.tensor([0, *torch.tensor(lengths).cumsum(0).tolist()])


OFFSETS = offsets(3, 0, 7, 1, 12, 5, 2)
TOTAL = int(OFFSETS[-1])


def segments(data: torch.Tensor, bounds: torch.Tensor) -> list[torch.Tensor]:
    return [data[bounds[i] : bounds[i + 1]] for i in range(len(bounds) - 1)]


def eager_jagged_mean(data: Any, bounds: Any) -> Any:
    return torch.stack([s.mean(0) if len(s) else torch.zeros(data.shape[1]) for s in segments(data, bounds)])


def eager_jagged_dense(data: Any, bounds: Any, dense: Any) -> Any:
    out = dense.clone()
    for i, s in enumerate(segments(data, bounds)):
        out[i, : len(s)] += s
    return out


def eager_grouped(a: Any, b: Any, bounds: Any) -> Any:
    return torch.cat([s @ b for s in segments(a, bounds)])


def pack_int4(values: torch.Tensor) -> torch.Tensor:
    return ((values[1::2] << 4) | (values[0::2] & 0xF)).to(torch.int8)


def unpack_int4(packed: torch.Tensor) -> torch.Tensor:
    low, high = (packed << 4) >> 4, packed >> 4
    return torch.stack([low, high], 1).reshape(-1, packed.shape[1]).float()


def eager_blockwise(q: Any, k: Any, v: Any, allowed: Any) -> Any:
    mask = allowed.repeat_interleave(16, 0).repeat_interleave(16, 1)[: len(q), : len(q)] > 0
    return (q @ k.T).masked_fill(~mask, float("-inf")).softmax(-1) @ v


def block_mask(n: int) -> torch.Tensor:
    mask = torch.tril(torch.ones(n, n, dtype=torch.int32))
    mask[n - 1, 0] = 0
    return mask


def eager_gdn(k: Any, w: Any, u: Any, g: Any, chunk: int) -> Any:
    batch, length, dhead = k.shape
    out = torch.empty(batch, length // chunk, dhead, u.shape[-1])
    for b in range(batch):
        state = torch.zeros(dhead, u.shape[-1])
        for c in range(length // chunk):
            out[b, c] = state
            s = slice(c * chunk, (c + 1) * chunk)
            fresh = u[b, s] - w[b, s] @ state
            last = g[b, (c + 1) * chunk - 1]
            state = state * last.exp() + k[b, s].T @ (fresh * (last - g[b, s]).exp()[:, None])
    return out


def eager_chunk_scan(cb: Any, x: Any, dt: Any, da: Any, c: Any, states: Any) -> Any:
    weights = cb * (da[:, :, None] - da[:, None, :]).exp() * dt[:, None, :]
    return (c @ states) * da.exp()[:, :, None] + torch.tril(weights) @ x


def eager_facts(x: Any) -> Any:
    begin = torch.arange(len(x)) // 16 * 16
    end = (begin + 16).clamp(max=len(x))
    return torch.stack([begin, end, begin // 16, torch.arange(len(x)), torch.full_like(begin, -(-len(x) // 16))]).int()


def dist(*shape: int, log: bool = False) -> torch.Tensor:
    return randn(*shape).log_softmax(-1) if log else randn(*shape).softmax(-1)


def scaled_inputs(x: torch.dtype, x_format: str, y: torch.dtype, y_format: str) -> tuple[Any, ...]:
    """Powers of two from 2**-7 to 1, but 2**-127 and up to 2**126 in the first group."""
    powers = randint(120, 128, 2, 24, 4, dtype=torch.uint8)
    powers[0, :, 0], powers[1, :, 0] = 0, powers[1, :, 0] + 126
    return randn(20, 128).to(x), powers[0, :20], randn(128, 24).to(y), powers[1], x_format, y_format


def eager_scaled(
    x: torch.Tensor, x_scale: torch.Tensor, y: torch.Tensor, y_scale: torch.Tensor, *_: str
) -> torch.Tensor:
    def wide(scale: torch.Tensor) -> torch.Tensor:
        return torch.exp2(scale.float() - 127).repeat_interleave(32, dim=1)

    return 2 * (x.float() * wide(x_scale)) @ (y.float() * wide(y_scale).T)


CASES = [
    Case("add", pw.add, lambda: (randn(100, 37), randn(37, 100).T), torch.add),
    Case("add", pw.add_dynamic, lambda: (f16(33, 1), randn(33, 20)), torch.add),
    Case("add", pw.scale_shift, lambda: (randn(19, 40), 2.5, 3), lambda x, a, b: x * a + b),
    Case("exp", pw.exp_forward, lambda: (randn(1000),), torch.exp),
    Case("exp", pw.exp_backward, lambda: (randn(1000), randn(1000)), torch.mul),
    Case("gelu", pw.gelu, lambda: (randn(50, 30),), F.gelu),
    Case(
        "gelu",
        pw.geglu,
        lambda: (f16(30, 50), f16(30, 50)),
        lambda a, b: (F.gelu(a.float(), approximate="tanh") * b.float()).half(),
        tolerance=2e-3,
    ),
    Case(
        "gelu",
        pw.swiglu,
        lambda: (randn(30, 50, dtype=torch.bfloat16), randn(30, 50, dtype=torch.bfloat16)),
        lambda a, b: (F.silu(a.float()) * b.float()).bfloat16(),
        tolerance=2e-2,
    ),
    Case("softmax", pw.softmax, lambda: (randn(50, 100),), lambda x: x.softmax(1)),
    Case("softmax", pw.softmax_two_pass, lambda: (randn(50, 100),), lambda x: x.softmax(1)),
    Case("softmax", pw.softmax_backward, lambda: (randn(30, 70), dist(30, 70)), backward_softmax),
    Case("norm", pw.layer_norm, lambda: (randn(50, 100), randn(100), randn(100)), eager_layer_norm),
    Case(
        "norm", pw.layer_norm_mean, lambda: (randn(50, 100), randn(100)), lambda x, w: F.layer_norm(x, x.shape[-1:], w)
    ),
    Case(
        "norm",
        pw.layer_norm_backward,
        lambda: (randn(50, 24), randn(24, 50).T.contiguous(), randn(24), *layer_norm_stats(randn(24, 50).T)),
        eager_layer_norm_backward,
        tolerance=1e-4,
    ),
    Case("norm", pw.rms_norm, lambda: (f16(50, 100), f16(100)), eager_rms, tolerance=2e-3),
    Case(
        "norm",
        pw.rms_norm_backward,
        lambda: (randn(50, 24), randn(24, 50).T.contiguous(), randn(24), eager_rms(randn(24, 50).T, randn(24))[1]),
        eager_rms_backward,
        tolerance=1e-4,
    ),
    Case("sum", pw.row_sum, lambda: (randn(50, 100),), lambda x: x.sum(-1)),
    Case("sum", pw.long_sum, lambda: (randn(7, 1000),), lambda x: x.sum(-1), tolerance=1e-4),
    Case(
        "sum",
        pw.long_sum_lanes,
        lambda: (randn(7, 1000),),
        lambda x: x.sum(-1),
        tolerance=1e-4,
        config={"block_sizes": [64, 4]},
    ),
    Case("sum", pw.row_product, lambda: (randn(7, 11),), lambda x: x.prod(-1)),
    Case(
        "welford",
        pw.welford,
        lambda: (randn(20, 64), randn(64), randn(64)),
        lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        tolerance=1e-4,
        config={"block_sizes": [8, 16, 16]},
    ),
    Case("cross entropy", pw.cross_entropy, lambda: (randn(30, 50), randint(0, 50, 30)), F.cross_entropy),
    Case("divergence", pw.kl_div, lambda: (dist(30, 50, log=True), dist(30, 50)), eager_kl),
    Case(
        "divergence",
        pw.kl_div,
        lambda: (dist(30, 50, log=True), dist(30, 50, log=True), True),
        eager_kl,
        name="kl_div_log",
    ),
    Case("divergence", pw.js_div, lambda: (dist(30, 50, log=True), dist(50, 30, log=True).T.contiguous()), eager_js),
    Case("matmul", mm.matmul, lambda: (randn(100, 70), randn(70, 90)), torch.mm, tolerance=1e-4),
    Case(
        "matmul",
        mm.matmul,
        lambda: (f16(50, 70), f16(70, 40)),
        lambda x, y: (x.float() @ y.float()).half(),
        name="matmul_f16",
        tolerance=2e-2,
    ),
    Case(
        "matmul",
        mm.matmul_relu_dynamic,
        lambda: (randn(50, 70), randn(70, 45), randn(45)),
        lambda x, y, b: torch.relu(x @ y + b),
        tolerance=1e-4,
    ),
    Case(
        "matmul",
        mm.matmul_layer_norm,
        lambda: (randn(50, 70), randn(70, 45), randn(45), randn(45)),
        lambda x, y, w, b: F.layer_norm(x @ y, (45,), w, b),
        tolerance=1e-4,
    ),
    Case("batched", mm.batch_matmul, lambda: (randn(3, 20, 30), randn(3, 30, 25)), torch.bmm, tolerance=1e-4),
    Case("split-k", mm.matmul_split_k, lambda: (randn(20, 100), randn(100, 25)), torch.mm, tolerance=1e-4),
    Case("barrier", mm.matmul_split_k_barrier, lambda: (randn(20, 128), randn(128, 25)), torch.mm, tolerance=1e-4),
    Case("barrier", pw.two_phases, lambda: (randn(100),), lambda x: x * x + x[0] ** 2),
    Case(
        "int8 GEMM",
        mm.int8_matmul,
        lambda: (
            randint(-90, 90, 30, 40, dtype=torch.int8),
            randint(-90, 91, 40, 20, dtype=torch.int8),
            randn(30),
            randn(20),
        ),
        lambda x, y, a, b: (x.int() @ y.int()).float() * a[:, None] * b[None, :],
        tolerance=1.0,
    ),
    Case(
        "int4 GEMM",
        mm.int4_matmul,
        lambda: (randn(20, 64), pack_int4(randint(-8, 8, 64, 20))),
        lambda a, p: a @ unpack_int4(p),
        tolerance=1e-3,
    ),
    Case(
        "grouped GEMM",
        mm.grouped_gemm,
        lambda: (randn(TOTAL, 24), randn(24, 20), OFFSETS),
        eager_grouped,
        tolerance=1e-4,
    ),
    Case(
        "attention",
        mm.attention,
        lambda: (randn(2, 3, 40, 16), randn(3, 2, 50, 16).transpose(0, 1).contiguous(), randn(2, 3, 50, 16)),
        F.scaled_dot_product_attention,
    ),
    Case(
        "attention",
        mm.causal_attention,
        lambda: (randn(3, 40, 16), randn(3, 40, 16).flip(0), randn(3, 40, 16)),
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    ),
    Case(
        "attention",
        mm.blockwise_attention,
        lambda: (randn(40, 16), randn(16, 40).T.contiguous(), randn(40, 16), block_mask(3)),
        eager_blockwise,
    ),
    Case(
        "attention",
        mm.gdn_chunk,
        lambda: (
            randn(2, 32, 16) / 8,
            randn(2, 16, 32).transpose(1, 2).contiguous() / 8,
            randn(2, 32, 20),
            -randn(2, 32).abs().cumsum(1) / 32,
            16,
        ),
        eager_gdn,
        tolerance=1e-4,
    ),
    Case(
        "jagged",
        mm.jagged_sum,
        lambda: (randn(TOTAL, 13), OFFSETS),
        lambda d, o: torch.stack([s.sum(0) for s in segments(d, o)]),
    ),
    Case(
        "jagged",
        mm.jagged_tile_sum,
        lambda: (randn(TOTAL), OFFSETS),
        lambda d, o: torch.stack([s.sum(0) for s in segments(d, o)]),
    ),
    Case("jagged", mm.jagged_mean, lambda: (randn(TOTAL, 13), OFFSETS), eager_jagged_mean),
    Case(
        "jagged",
        mm.jagged_softmax,
        lambda: (randn(TOTAL, 13), OFFSETS),
        lambda d, o: torch.cat([s.softmax(0) for s in segments(d, o)]),
    ),
    Case("jagged", mm.jagged_dense_add, lambda: (randn(TOTAL), OFFSETS, randn(7, 15)), eager_jagged_dense),
    Case(
        "segments",
        mm.segment_sum,
        lambda: (randint(0, 9, 50).sort().values, randn(50, 13), 9),
        lambda i, d, n: torch.zeros(n, d.shape[1]).index_add_(0, i, d),
        tolerance=1e-4,
    ),
    Case("embedding", pw.embedding, lambda: (randint(0, 40, 5, 7), randn(40, 33)), lambda i, t: F.embedding(i, t)),
    Case("gather", pw.gather_rows, lambda: (randn(20, 33), randint(0, 20, 9)), lambda x, i: x[i]),
    Case(
        "gather",
        pw.gather_gemv,
        lambda: (randn(4, 20, 30), randint(0, 4, 3), randn(30)),
        lambda w, i, x: w[i] @ x,
        tolerance=1e-4,
    ),
    Case("gather", pw.shifted, lambda: (randn(100),), lambda x: x[1:] - x[:-1]),
    Case(
        "scatter",
        pw.scatter_add,
        lambda: (randn(30, 17), randint(0, 6, 30), 6),
        lambda x, i, n: torch.zeros(n, x.shape[1]).index_add_(0, i, x),
    ),
    Case(
        "scatter",
        pw.histogram,
        lambda: (randint(0, 10, 500, dtype=torch.int32), 10),
        lambda x, n: torch.bincount(x.long(), minlength=n).int(),
    ),
    Case("scatter", pw.running_max, lambda: (randn(500),), lambda x: x.max().reshape(1), config={"block_sizes": [32]}),
    Case("concatenate", pw.concat2, lambda: (randn(30, 17), randn(30, 25)), lambda x, y: torch.cat([x, y], 1)),
    Case(
        "control flow",
        pw.branches,
        lambda: (randn(50), torch.ones(1)),
        lambda x, f: x * 2 + 10 * (torch.arange(50) < 16),
        config={"block_sizes": [16]},
    ),
    Case(
        "control flow",
        pw.branches,
        lambda: (randn(50), -torch.ones(1)),
        lambda x, f: x - 1 + 10 * (torch.arange(50) < 16),
        name="branches_else",
        config={"block_sizes": [16]},
    ),
    Case("control flow", pw.tile_facts, lambda: (randn(50),), eager_facts, config={"block_sizes": [16]}),
    Case("scan", pw.prefix_sum, lambda: (randn(20, 33),), lambda x: x.cumsum(1)),
    Case(
        "chunk scan",
        mm.chunk_scan,
        lambda: (
            randn(3, 32, 32),
            randn(3, 32, 20),
            randn(3, 32).abs(),
            -randn(3, 32).abs().cumsum(1) / 8,
            randn(3, 32, 16),
            randn(3, 16, 20),
        ),
        eager_chunk_scan,
        tolerance=2e-4,
    ),
]


BIAS = randn(45)
BYTES = torch.tensor([b for b in range(256) if b & 0x7F < 0x7C], dtype=torch.uint8)
"""Every finite eight-bit float, in both formats."""


def with_bias(acc: torch.Tensor, tile: Any) -> torch.Tensor:
    return torch.relu(acc + BIAS[tile[1]])


def eager_route(logits: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    gates, experts = torch.softmax(logits, -1).topk(k)
    return gates / gates.sum(-1, keepdim=True), experts


def eager_moe(a: Any, w: Any, counts: Any, starts: Any, order: Any, capacity: int) -> Any:
    out = torch.zeros(a.shape[0], w.shape[2])
    for e in range(len(w)):
        chosen = order[starts[e] : starts[e] + counts[e]]
        out[chosen] = a[chosen] @ w[e]
    return out


def moe_inputs() -> tuple[Any, ...]:
    expert = randint(0, 4, 37)
    expert[expert == 2] = 1
    counts = torch.bincount(expert, minlength=4)
    starts = counts.cumsum(0) - counts
    return randn(37, 24), randn(4, 24, 20), counts, starts, expert.argsort(stable=True), int(counts.max())


def eager_rotary(q: Any, c: Any, s: Any) -> Any:
    a, b = q.chunk(2, 1)
    return torch.cat([a * c - b * s, b * c + a * s], 1)


def eager_hstu(q: Any, k: Any, v: Any, bounds: Any, longest: int) -> Any:
    parts = []
    for i in range(len(bounds) - 1):
        s = slice(bounds[i], bounds[i + 1])
        scores = F.silu(torch.einsum("qhd,khd->hqk", q[s], k[s])) / longest
        parts.append(torch.einsum("hqk,khd->qhd", torch.tril(scores), v[s]))
    return torch.cat(parts)


def eager_atomics(x: Any, index: Any) -> Any:
    low, bits, parity = (torch.full([8], 100).int(), torch.zeros(8).int(), torch.zeros(8).int())
    for value, i in zip(x.tolist(), index.tolist(), strict=True):
        low[i] = min(low[i].item(), value)
        bits[i] |= value
        parity[i] ^= value
    return low, bits, parity, torch.tensor([4]).int(), (torch.arange(len(x)) // 16).int()


def eager_grpo(logits: Any, ids: Any, temperature: float) -> Any:
    scaled = logits / temperature
    return scaled.log_softmax(-1).gather(-1, ids[..., None])[..., 0], scaled.logsumexp(-1)


def eager_slices(x: Any) -> Any:
    out = x[:, 2:6] + x[:, 8:16:2] + x[:, -1:]
    out[:, 1:4:2] = x[:, 3:10:6] * 2
    return out


CASES += [
    Case(
        "closures",
        idioms.matmul_epilogue,
        lambda: (randn(50, 70), randn(70, 45), with_bias),
        lambda x, y, _: torch.relu(x @ y + BIAS),
        tolerance=1e-4,
    ),
    Case(
        "closures",
        idioms.template_via_closure,
        lambda: (lambda a, b, c: a * torch.sigmoid(b) + c, (randn(20, 30), randn(20, 30), randn(20, 30))),
        lambda op, args: op(*args),
    ),
    Case(
        "closures",
        idioms.list_of_tensors,
        lambda: ([randn(20, 30), randn(20, 30), randn(20, 30)],),
        lambda xs: xs[0] + xs[1] * xs[2],
    ),
    Case("closures", idioms.global_options, lambda: (randn(50), "square", 2.0), lambda x, _, s: x * x + s),
    Case(
        "matmul",
        idioms.bf16_int16,
        lambda: (randn(20, 33, dtype=torch.bfloat16), randint(-9, 9, 33, 17).short()),
        lambda x, w: (x.float() @ w.float()).bfloat16(),
        tolerance=1.0,
    ),
    Case(
        "matmul",
        idioms.se_block,
        lambda: (randn(20, 24), randn(24, 24)),
        lambda x, w: (2 * x * torch.sigmoid(x @ w), torch.sigmoid(x @ w)),
        tolerance=1e-4,
    ),
    Case("batched", idioms.broadcast_matmul, lambda: (randn(3, 10, 24), randn(24, 20)), torch.matmul, tolerance=1e-4),
    Case(
        "grouped GEMM",
        idioms.persistent_grouped,
        lambda: (randn(TOTAL, 24), randn(24, 20), OFFSETS),
        eager_grouped,
        tolerance=1e-4,
    ),
    Case("grouped GEMM", idioms.moe_matmul, moe_inputs, eager_moe, tolerance=1e-4),
    Case("gather", idioms.rotary, lambda: (randn(20, 32), randn(20, 16), randn(16, 20).T.contiguous()), eager_rotary),
    Case("views", idioms.split_join, lambda: (randn(20, 32),), lambda x: x.view(20, 16, 2).flip(2).reshape(20, 32)),
    Case("views", idioms.strided_slices, lambda: (randn(20, 32),), eager_slices),
    Case("gather", idioms.crosswise, lambda: (randn(3, 8, 9),), lambda x: x[:, :7:2, :8]),
    Case("sum", idioms.arg_reductions, lambda: (randn(20, 33),), lambda x: (x.argmax(1), x.amin(1))),
    Case("control flow", idioms.while_halving, lambda: (randn(50), 3), lambda x, n: x * 0.5**n),
    Case("control flow", idioms.static_unrolled, lambda: (randn(50, 4),), lambda x: x @ torch.arange(1.0, 5.0)),
    Case(
        "control flow",
        idioms.outer_blocks,
        lambda: (randn(3, 20, 20), randn(20)),
        lambda x, b: x + (b[:3, None] * b[torch.arange(20) // 16 * 16])[:, :, None],
        config={"block_sizes": [16, 16]},
    ),
    Case(
        "scatter",
        idioms.atomics,
        lambda: (randint(0, 60, 50).int(), randint(0, 8, 50)),
        eager_atomics,
        config={"block_sizes": [16]},
    ),
    Case("add", idioms.in_place, lambda: (randn(50),), lambda x: (x + 1) * 2),
    Case("softmax", idioms.batch_softmax, lambda: (randn(3, 20, 33),), lambda x: x.softmax(-1)),
    Case(
        "jagged",
        idioms.hstu_attention,
        lambda: (randn(TOTAL, 2, 16), randn(TOTAL, 2, 16).flip(0), randn(TOTAL, 2, 16).flip(1), OFFSETS, 12),
        eager_hstu,
        tolerance=1e-4,
    ),
    Case("divergence", idioms.grpo_like, lambda: (randn(3, 7, 20), randint(0, 20, 3, 7), 0.7), eager_grpo),
    Case("scan", idioms.cumulative, lambda: (randn(10, 9),), lambda x: (x.cumsum(1), x.flip(1).cumprod(1).flip(1))),
    Case(
        "norm",
        idioms.fp8_scale,
        lambda: (f16(20, 33),),
        lambda x: (x.float() / (x.float().abs().amax(-1) / 448)[:, None], x.float().abs().amax(-1) / 448),
        tolerance=1e-3,
    ),
    Case(
        "fp8",
        idioms.fp8_matmul,
        lambda: (randn(20, 32).to(torch.float8_e4m3fn), randn(32, 20).to(torch.float8_e4m3fn)),
        lambda x, y: (x.float() @ y.float()).half(),
        tolerance=2e-2,
    ),
    Case(
        "fp8",
        idioms.scaled_matmul,
        lambda: scaled_inputs(torch.float8_e4m3fn, "e4m3", torch.float8_e5m2, "e5m2"),
        eager_scaled,
        name="scaled_fp8",
        tolerance=1e-4,
    ),
    Case(
        "fp8",
        idioms.scaled_matmul,
        lambda: scaled_inputs(torch.bfloat16, "bf16", torch.float16, "fp16"),
        eager_scaled,
        name="scaled_16_bits",
        tolerance=1e-4,
    ),
    Case(
        "fp8",
        idioms.to_fp8,
        lambda: (torch.cat([randn(2000) * 2.0 ** randint(-18, 6, 2000), torch.tensor([0.0, 470.0, -5e4])]),),
        lambda x: (x.to(torch.float8_e4m3fn), x.to(torch.float8_e5m2)),
        tolerance=0,
    ),
    *(
        Case(
            "fp8",
            idioms.within_fp8,
            lambda dtype=dtype: (randn(20, 33).to(dtype), randn(20, 33).to(dtype)),
            lambda a, b: (
                (a.float() + (b.float() * -a.float()).to(a.dtype).float()).to(a.dtype),
                a.float() == b.float(),
                torch.stack([a.float().amax(-1), a.float().amin(-1)]).to(a.dtype),
            ),
            name=f"within_{dtype}".replace("torch.", ""),
            tolerance=0,
        )
        for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)
    ),
    Case(
        "fp8",
        idioms.from_fp8,
        lambda: (BYTES.view(torch.float8_e4m3fn), BYTES.view(torch.float8_e5m2)),
        lambda a, b: torch.stack([a.float(), b.float()]),
        tolerance=0,
    ),
    Case(
        "views",
        idioms.reinterpret,
        lambda: (randn(50),),
        lambda x: torch.fmod(((x.view(torch.int32) | 1) ^ 2).view(torch.float32), 3.0),
    ),
    Case("scan", idioms.reduced_pairs, lambda: (randn(20, 33),), lambda x: (x.sum(1), x.amax(1))),
    Case(
        "views",
        idioms.nibbles,
        lambda: (randint(0, 256, 50, dtype=torch.uint8),),
        lambda q: torch.stack([q & 15, q >> 4], 1).float(),
    ),
    Case(
        "gather",
        idioms.stencil,
        lambda: (randn(50),),
        lambda x: (F.pad(x, (1, 0))[:-1] + F.pad(x, (0, 1))[1:]) / 4 + x / 2,
    ),
    Case("sort", idioms.route, lambda: (randn(20, 12), 2), eager_route),
    Case("sort", idioms.sort_rows, lambda: (randn(20, 33), True), lambda x, _: tuple(x.sort(descending=True))),
    Case("sort", idioms.least, lambda: (randn(20, 33), 4), lambda x, k: x.topk(k, largest=False).values),
    Case("sum", idioms.largest, lambda: (randn(20, 33), 4), lambda x, n: x.topk(n, 1).values),
    Case(
        "jagged",
        idioms.host_sized,
        lambda: (torch.tensor([3, 7, 1]), randn(3, 9)),
        lambda n, x: torch.where(torch.arange(7)[None] < n[:, None], x[:, :7], 0.0),
    ),
]


def difference(actual: Any, expected: Any) -> float:
    """Largest absolute difference; infinity where shapes or NaNs disagree."""
    if isinstance(expected, (tuple, list)):
        return max(difference(a, e) for a, e in zip(actual, expected, strict=True))
    if actual.shape != expected.shape:
        return math.inf
    gap = (actual.double() - expected.double()).abs()
    worst = gap.max().item() if gap.numel() else 0.0
    return math.inf if math.isnan(worst) else worst
