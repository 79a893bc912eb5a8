"""Helion kernels of ours for idioms beyond the plain families: closures, persistent workers, views, mixed types."""

from __future__ import annotations

from collections.abc import Callable

import helion
import helion.language as hl
import torch


@helion.kernel()
def matmul_epilogue(
    x: torch.Tensor,
    y: torch.Tensor,
    epilogue: Callable[[torch.Tensor, tuple[torch.Tensor, ...]], torch.Tensor] = lambda acc, tile: acc,
) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=torch.promote_types(x.dtype, y.dtype), device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = torch.addmm(acc, x[rows, inner], y[inner, columns])
        out[rows, columns] = epilogue(acc, (rows, columns)).to(out.dtype)
    return out


@helion.kernel()
def template_via_closure(op: Callable[..., torch.Tensor], args: tuple[torch.Tensor, ...]) -> torch.Tensor:
    out = torch.empty_like(args[0])
    for tile in hl.tile(out.size()):
        out[tile] = op(*[hl.load(t, tile) for t in args])
    return out


@helion.kernel()
def bf16_int16(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    m, k = x.shape
    _, n = w.shape
    out = torch.empty([m, n], dtype=torch.bfloat16, device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = hl.dot(x[rows, inner], w[inner, columns].to(torch.bfloat16), acc=acc)
        out[rows, columns] = acc.to(torch.bfloat16)
    return out


@helion.kernel()
def persistent_grouped(a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    total, k = a.shape
    n = b.shape[1]
    groups = offsets.size(0) - 1
    block_m = hl.register_block_size(32)
    block_n = hl.register_block_size(32)
    out = torch.zeros([total, n], dtype=a.dtype, device=a.device)
    workers = 4
    for worker in hl.grid(workers):
        for g in hl.grid(groups):
            start = offsets[g]
            size = offsets[g + 1] - start
            if size > 0:
                tiles_m = (size + block_m - 1) // block_m
                tiles_n = (n + block_n - 1) // block_n
                count = tiles_m * tiles_n
                for local in hl.grid(count):
                    if local % workers == worker:
                        rows = (local % tiles_m) * block_m + hl.arange(block_m)
                        columns = (local // tiles_m) * block_n + hl.arange(block_n)
                        row_ok = rows < size
                        column_ok = columns < n
                        acc = hl.zeros([block_m, block_n], dtype=torch.float32)
                        for inner in hl.tile(k):
                            left = hl.load(a, [start + rows, inner], extra_mask=row_ok[:, None])
                            right = hl.load(b, [inner, columns], extra_mask=column_ok[None, :])
                            acc = torch.addmm(acc, left, right)
                        hl.store(
                            out,
                            [start + rows, columns],
                            acc.to(out.dtype),
                            extra_mask=row_ok[:, None] & column_ok[None, :],
                        )
    return out


@helion.kernel(static_shapes=False)
def moe_matmul(
    a: torch.Tensor, w: torch.Tensor, counts: torch.Tensor, starts: torch.Tensor, order: torch.Tensor, capacity: int
) -> torch.Tensor:
    tokens, k = a.shape
    experts, _, n = w.shape
    out = torch.zeros([tokens, n], dtype=torch.promote_types(a.dtype, w.dtype), device=a.device)
    for e in hl.grid(experts):
        begin = starts[e]
        count = counts[e]
        if count != 0:
            for rows, columns in hl.tile([capacity, n]):
                valid = rows.index < count
                token = order[begin + torch.where(valid, rows.index, 0)]
                acc = hl.zeros([rows, columns], dtype=torch.float32)
                for inner in hl.tile(k):
                    left = a[token, inner]
                    right = w[e, inner, columns]
                    acc = torch.addmm(acc, left, right)
                current = out[token, columns]
                out[token, columns] = torch.where(valid[:, None], acc.to(out.dtype), current)
    return out


@helion.kernel()
def se_block(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    m, n = x.size()
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    gate = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for rows in hl.tile(m):
        values = x[rows, :]
        for columns in hl.tile(n):
            s = torch.sigmoid(values @ w[:, columns])
            gate[rows, columns] = s
            out[rows, columns] = 2.0 * x[rows, columns] * s
    return out, gate


@helion.kernel()
def broadcast_matmul(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    b, m, k = x.size()
    _, n = w.size()
    flat = x.reshape(b * m, k)
    out = torch.empty([b * m, n], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([b * m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc += flat[rows, inner] @ w[inner, columns]
        out[rows, columns] = acc
    return out.view(b, m, n)


@helion.kernel()
def rotary(q: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    rows, head = q.size()
    half = head // 2
    out = torch.empty_like(q)
    for tile, lane in hl.tile([rows, half]):
        first = q[tile, lane]
        second = hl.load(q, [tile, lane.index + half])
        c, s = cos[tile, lane], sin[tile, lane]
        out[tile, lane] = first * c - second * s
        hl.store(out, [tile, lane.index + half], second * c + first * s)
    return out


@helion.kernel()
def split_join(x: torch.Tensor) -> torch.Tensor:
    rows, n = x.size()
    n = hl.specialize(n)
    out = torch.empty_like(x)
    for tile in hl.tile(rows):
        even, odd = hl.split(x[tile, :].reshape(tile, n // 2, 2))
        out[tile, :] = hl.join(odd, even).reshape(tile, n)
    return out


@helion.kernel()
def strided_slices(x: torch.Tensor) -> torch.Tensor:
    rows, _n = x.size()
    out = torch.empty([rows, 4], dtype=x.dtype, device=x.device)
    for tile in hl.tile(rows):
        out[tile, :] = x[tile, 2:6] + x[tile, 8:16:2] + x[tile, -1][:, None]
        pair = tile.index ^ 1
        out[pair, 1:4:2] = x[pair, 3:10:6] * 2
    return out


@helion.kernel()
def crosswise(x: torch.Tensor) -> torch.Tensor:
    """Several index tensors of one dim each: all rows of the one with all columns of the other."""
    out = torch.empty([x.size(0), 4, 8], dtype=x.dtype, device=x.device)
    for b in hl.grid(x.size(0)):
        out[b, :, :] = x[b, hl.arange(4) * 2, hl.arange(8)]
    return out


@helion.kernel()
def arg_reductions(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows, _n = x.size()
    top = torch.empty([rows], dtype=torch.int64, device=x.device)
    low = torch.empty([rows], dtype=x.dtype, device=x.device)
    for tile in hl.tile(rows):
        values = x[tile, :]
        top[tile] = torch.argmax(values, dim=1)
        low[tile] = torch.amin(values, dim=1)
    return top, low


@helion.kernel()
def while_halving(x: torch.Tensor, limit: int) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        v = x[tile]
        step = hl.zeros([], dtype=torch.int32)
        while step < limit:
            v = v * 0.5
            step = step + 1
        out[tile] = v
    return out


@helion.kernel()
def static_unrolled(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros([x.size(0)], dtype=x.dtype, device=x.device)
    for tile in hl.tile(x.size(0)):
        acc = hl.zeros([tile], dtype=x.dtype)
        for i in hl.static_range(4):
            acc += x[tile, i] * (i + 1)
        out[tile] = acc
    return out


@helion.kernel()
def atomics(x: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, ...]:
    low = torch.full([8], 100, dtype=torch.int32, device=x.device)
    bits = torch.zeros([8], dtype=torch.int32, device=x.device)
    parity = torch.zeros([8], dtype=torch.int32, device=x.device)
    ticket = torch.zeros([1], dtype=torch.int32, device=x.device)
    order = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        which = index[tile]
        hl.atomic_min(low, [which], x[tile])
        hl.atomic_or(bits, [which], x[tile])
        hl.atomic_xor(parity, [which], x[tile])
        hl.atomic_cas(low, [which], hl.full([tile], 7, dtype=torch.int32), hl.full([tile], 7, dtype=torch.int32))
        first = hl.atomic_add(ticket, [0], 1)
        order[tile] = x[tile] * 0 + first
    return low, bits, parity, ticket, order


@helion.kernel()
def in_place(x: torch.Tensor) -> torch.Tensor:
    for tile in hl.tile(x.size(0)):
        x[tile] += 1.0
        x[tile] *= 2.0
    return x


@helion.kernel()
def outer_blocks(x: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    b, m, n = x.size()
    out = torch.empty_like(x)
    for i in hl.grid(b):
        for rows, columns in hl.tile([m, n]):
            out[i, rows, columns] = x[i, rows, columns] + bias[i] * bias[rows.begin + 0]
    return out


@helion.kernel()
def batch_softmax(x: torch.Tensor) -> torch.Tensor:
    b, m, _n = x.size()
    out = torch.empty_like(x)
    for bs, rows in hl.tile([b, m]):
        row = x[bs, rows, :]
        row = row - row.amax(dim=2, keepdim=True)
        e = torch.exp(row)
        out[bs, rows, :] = e / e.sum(dim=2, keepdim=True)
    return out


@helion.kernel()
def hstu_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor, longest: int
) -> torch.Tensor:
    """Jagged silu attention, causal: q, k, v are (tokens, heads, head)."""
    scale = 1.0 / longest
    heads = hl.specialize(q.size(1))
    head = hl.specialize(q.size(2))
    out = torch.zeros_like(v)
    for b, h, rows in hl.tile([offsets.size(0) - 1, heads, longest], block_size=[1, 1, None]):
        start = offsets[b.begin]
        end = offsets[b.begin + 1]
        length = end - start
        if rows.begin < length:
            mask_q = rows.index < length
            queries = q[rows.index + start, h.begin, :]
            acc = hl.zeros([rows, head], dtype=torch.float32)
            for keys in hl.tile(0, rows.end):
                mask_k = keys.index < length
                kk = k[keys.index + start, h.begin, :]
                vv = v[keys.index + start, h.begin, :]
                scores = torch.nn.functional.silu(torch.matmul(queries, kk.T)) * scale
                causal = rows.index.unsqueeze(1) >= keys.index.unsqueeze(0)
                scores = torch.where(causal & mask_q[:, None] & mask_k[None, :], scores, 0.0)
                acc += torch.matmul(scores.to(v.dtype), vv)
            hl.store(out, [rows.index + start, h.begin, hl.arange(head)], acc.to(out.dtype), extra_mask=mask_q[:, None])
    return out


@helion.kernel()
def fp8_scale(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    out = torch.empty(x.size(), dtype=torch.float32, device=x.device)
    scale = torch.empty([x.size(0)], dtype=torch.float32, device=x.device)
    for rows in hl.tile(x.size(0)):
        values = x[rows, :].to(torch.float32)
        s = torch.clamp(torch.amax(torch.abs(values), -1) / 448.0, 1e-8, 1e8)
        scale[rows] = s
        out[rows, :] = values / s[:, None]
    return out, scale


@helion.kernel()
def global_options(x: torch.Tensor, mode: hl.constexpr, shift: float = 1.0) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        if mode == "square":
            out[tile] = x[tile] * x[tile] + shift
        else:
            out[tile] = torch.abs(x[tile]) + shift
    return out


@helion.kernel()
def list_of_tensors(xs: list[torch.Tensor]) -> torch.Tensor:
    out = torch.empty_like(xs[0])
    for tile in hl.tile(out.size()):
        out[tile] = xs[0][tile] + xs[1][tile] * xs[2][tile]
    return out


@helion.kernel()
def cumulative(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    sums = torch.empty_like(x)
    products = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        sums[rows, :] = hl.cumsum(x[rows, :], dim=1)
        products[rows, :] = hl.cumprod(x[rows, :], dim=1, reverse=True)
    return sums, products


@helion.kernel()
def grpo_like(logits: torch.Tensor, ids: torch.Tensor, temperature: float) -> tuple[torch.Tensor, torch.Tensor]:
    b, t, v = logits.shape
    logp = torch.zeros([b, t], dtype=torch.float32, device=logits.device)
    lse = torch.zeros([b, t], dtype=torch.float32, device=logits.device)
    for bs, ts in hl.tile([b, t]):
        top = hl.full([bs, ts], float("-inf"), dtype=torch.float32)
        total = hl.zeros([bs, ts], dtype=torch.float32)
        for vs in hl.tile(v):
            chunk = logits[bs, ts, vs].to(torch.float32) / temperature
            higher = torch.maximum(top, torch.amax(chunk, dim=-1))
            total = total * torch.exp(top - higher) + torch.exp(chunk - higher[:, :, None]).sum(dim=-1)
            top = higher
        full = top + torch.log(total)
        lse[bs, ts] = full
        picked = logits[bs.index[:, None], ts.index[None, :], ids[bs, ts]].to(torch.float32) / temperature
        logp[bs, ts] = picked - full
    return logp, lse


@helion.kernel()
def fp8_matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=torch.float16, device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = hl.dot(x[rows, inner], y[inner, columns], acc=acc)
        out[rows, columns] = acc.to(torch.float16)
    return out


@helion.kernel()
def scaled_matmul(
    x: torch.Tensor,
    x_scale: torch.Tensor,
    y: torch.Tensor,
    y_scale: torch.Tensor,
    x_format: hl.constexpr,
    y_format: hl.constexpr,
) -> torch.Tensor:
    m, k = x.size()
    n = y.size(1)
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.dot_scaled(
            x[rows, :],
            x_scale[rows, :],
            x_format,
            y[:, columns],
            y_scale[columns, :],
            y_format,
        )
        for inner in hl.tile(k, block_size=64):
            groups = inner.begin // 32 + hl.arange(2)
            acc = hl.dot_scaled(
                x[rows, inner],
                x_scale[rows, groups],
                x_format,
                y[inner, columns],
                y_scale[columns, groups],
                y_format,
                acc=acc,
            )
        out[rows, columns] = acc
    return out


@helion.kernel()
def to_fp8(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    a = torch.empty(x.size(), dtype=torch.float8_e4m3fn, device=x.device)
    b = torch.empty(x.size(), dtype=torch.float8_e5m2, device=x.device)
    for tile in hl.tile(x.size(0)):
        a[tile] = x[tile].to(torch.float8_e4m3fn)
        b[tile] = x[tile].to(torch.float8_e5m2)
    return a, b


@helion.kernel()
def within_fp8(a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    total = torch.empty_like(a)
    same = torch.empty(a.size(), dtype=torch.bool, device=a.device)
    ends = torch.empty([2, a.size(0)], dtype=a.dtype, device=a.device)
    for tile in hl.tile(a.size(0)):
        total[tile, :] = a[tile, :] + b[tile, :] * -a[tile, :]
        same[tile, :] = a[tile, :] == b[tile, :]
        ends[0, tile] = torch.amax(a[tile, :], -1)
        ends[1, tile] = torch.amin(a[tile, :], -1)
    return total, same, ends


@helion.kernel()
def from_fp8(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    out = torch.empty([2, a.size(0)], dtype=torch.float32, device=a.device)
    for tile in hl.tile(a.size(0)):
        out[0, tile] = a[tile].to(torch.float32)
        out[1, tile] = b[tile].to(torch.float32)
    return out


@helion.kernel()
def reinterpret(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        bits = x[tile].view(torch.int32)
        out[tile] = torch.fmod(((bits | 1) ^ 2).view(torch.float32), 3.0)
    return out


@helion.kernel(static_shapes=False)
def host_sized(lengths: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    n = lengths.max().item()
    out = torch.zeros([lengths.size(0), n], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([lengths.size(0), n]):
        inside = columns.index[None, :] < lengths[rows][:, None]
        out[rows, columns] = torch.where(inside, x[rows, columns], 0.0)
    return out


def sum_and_max(s: torch.Tensor, m: torch.Tensor, t: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return s + t, torch.maximum(m, n)


@helion.kernel()
def reduced_pairs(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """A reduction of two tensors at once, with a combine function."""
    totals, peaks = torch.empty_like(x[:, 0]), torch.empty_like(x[:, 0])
    for rows in hl.tile(x.size(0)):
        row = x[rows, :]
        totals[rows], peaks[rows] = hl.reduce(sum_and_max, (row, row), dim=1, other=(0.0, float("-inf")))
    return totals, peaks


@helion.kernel()
def nibbles(packed: torch.Tensor) -> torch.Tensor:
    """Two unsigned numbers in each byte."""
    out = torch.empty([packed.size(0), 2], dtype=torch.float32, device=packed.device)
    for tile in hl.tile(packed.size(0)):
        byte = packed[tile]
        out[tile, 0] = (byte & 15).to(torch.float32)
        out[tile, 1] = (byte >> 4).to(torch.float32)
    return out


@helion.kernel()
def stencil(x: torch.Tensor) -> torch.Tensor:
    """Neighbours beyond both ends count as zero."""
    (n,) = x.size()
    out = torch.empty_like(x)
    for tile in hl.tile(n):
        left = hl.load(x, [tile.index - 1], extra_mask=tile.index >= 1)
        right = hl.load(x, [tile.index + 1], extra_mask=tile.index + 1 < n)
        out[tile] = (left + right) / 4 + x[tile] / 2
    return out


@helion.kernel()
def largest(x: torch.Tensor, count: hl.constexpr) -> torch.Tensor:
    """The largest elements of each row, one after the other."""
    m, n = x.size(0), hl.specialize(x.size(1))
    out = torch.empty([m, count], dtype=x.dtype, device=x.device)
    for rows in hl.tile(m):
        row, columns = x[rows, :], hl.arange(n)
        for place in hl.static_range(count):  # pyright: ignore[reportArgumentType]
            out[rows, place] = row.amax(1)
            row = torch.where(columns[None, :] == row.argmax(1)[:, None], float("-inf"), row)
    return out


@helion.kernel(config=helion.Config(block_sizes=[4, 16]))
def variances_of_tiles(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype, device=x.device)
    for rows in hl.tile(x.size(0)):
        total = hl.zeros([rows], dtype=torch.float32)
        for columns in hl.tile(x.size(1)):
            total = total + torch.var(x[rows, columns], 1, correction=2)
        out[rows] = total
    return out


@helion.kernel()
def variances(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype, device=x.device)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows, :].var(1)
    return out


@helion.kernel()
def route(logits: torch.Tensor, k: hl.constexpr) -> tuple[torch.Tensor, torch.Tensor]:
    """Which k experts take each token, and with what weight."""
    tokens = logits.size(0)
    weights = torch.empty([tokens, k], dtype=logits.dtype, device=logits.device)
    experts = torch.empty([tokens, k], dtype=torch.int64, device=logits.device)
    for tile in hl.tile(tokens):
        gates = torch.softmax(logits[tile, :], dim=-1)
        chosen, where = torch.topk(gates, k, dim=-1)
        weights[tile, :] = chosen / chosen.sum(-1, keepdim=True)
        experts[tile, :] = where
    return weights, experts


@helion.kernel()
def sort_rows(x: torch.Tensor, descending: hl.constexpr) -> tuple[torch.Tensor, torch.Tensor]:
    out, order = torch.empty_like(x), torch.empty_like(x, dtype=torch.int64)
    for rows in hl.tile(x.size(0)):
        values, where = torch.sort(x[rows, :], dim=-1, descending=descending)
        out[rows, :] = values
        order[rows, :] = where
    return out, order


@helion.kernel()
def sort_tiles(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        values, _where = torch.sort(x[tile], descending=True)
        out[tile] = values
    return out


@helion.kernel()
def least(x: torch.Tensor, k: hl.constexpr) -> torch.Tensor:
    out = torch.empty([x.size(0), k], dtype=x.dtype, device=x.device)
    for rows in hl.tile(x.size(0)):
        values, _where = torch.topk(x[rows, :], k, largest=False)
        out[rows, :] = values
    return out
