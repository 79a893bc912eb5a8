"""Helion kernels of ours: matrix products, attention, jagged data, scans over chunks."""

from __future__ import annotations

import math

import helion
import helion.language as hl
import torch


@helion.kernel()
def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=torch.promote_types(x.dtype, y.dtype), device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = torch.addmm(acc, x[rows, inner], y[inner, columns])
        out[rows, columns] = acc.to(out.dtype)
    return out


@helion.kernel(static_shapes=False)
def matmul_relu_dynamic(x: torch.Tensor, y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc += torch.matmul(x[rows, inner], y[inner, columns])
        out[rows, columns] = torch.relu(acc + bias[columns]).to(x.dtype)
    return out


@helion.kernel()
def batch_matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    batch, m, k = a.size()
    _, _, n = b.size()
    out = torch.empty([batch, m, n], dtype=a.dtype, device=a.device)
    for bs, rows, columns in hl.tile([batch, m, n]):
        acc = hl.zeros([bs, rows, columns], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = torch.baddbmm(acc, a[bs, rows, inner], b[bs, inner, columns])
        out[bs, rows, columns] = acc.to(out.dtype)
    return out


@helion.kernel()
def matmul_split_k(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.zeros([m, n], dtype=x.dtype, device=x.device)
    for rows, columns, outer in hl.tile([m, n, k], block_size=[None, None, 32]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(outer.begin, outer.end):
            acc = torch.addmm(acc, x[rows, inner], y[inner, columns])
        hl.atomic_add(out, [rows, columns], acc)
    return out


@helion.kernel()
def matmul_split_k_barrier(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, k = a.shape
    _, n = b.shape
    splits = hl.register_tunable("splits", helion.autotuner.PowerOfTwoFragment(2, 8, 4))
    block_k = helion.next_power_of_2(helion.cdiv(k, splits))
    partial = torch.empty([m, n, splits], dtype=torch.float32, device=a.device)
    out = torch.empty([m, n], dtype=a.dtype, device=a.device)
    for rows, columns, outer in hl.tile([m, n, k], block_size=[None, None, block_k]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(outer.begin, outer.end):
            acc = torch.addmm(acc, a[rows, inner], b[inner, columns])
        partial[rows, columns, outer.id] = acc
    hl.barrier()
    for rows, columns in hl.tile([m, n]):
        out[rows, columns] = torch.sum(partial[rows, columns, :], dim=-1).to(out.dtype)
    return out


@helion.kernel()
def matmul_layer_norm(x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    n = hl.specialize(y.size(1))
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for rows in hl.tile(m):
        acc = hl.zeros([rows, n], dtype=torch.float32)
        for inner in hl.tile(k):
            acc = torch.addmm(acc, x[rows, inner], y[inner, :])
        mean = acc.sum(dim=-1, keepdim=True) / n
        centred = acc - mean
        var = (centred * centred).sum(dim=-1, keepdim=True) / n
        out[rows, :] = centred * torch.rsqrt(var + 1e-5) * weight[:] + bias[:]
    return out


@helion.kernel()
def int8_matmul(x: torch.Tensor, y: torch.Tensor, scale_x: torch.Tensor, scale_y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=torch.float32, device=x.device)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.int32)
        for inner in hl.tile(k):
            acc = hl.dot(x[rows, inner], y[inner, columns], acc=acc)
        out[rows, columns] = acc.to(torch.float32) * scale_x[rows][:, None] * scale_y[columns][None, :]
    return out


@helion.kernel()
def int4_matmul(a: torch.Tensor, packed: torch.Tensor) -> torch.Tensor:
    m, k = a.shape
    _, n = packed.shape
    out = torch.zeros([m, n], dtype=torch.float32, device=a.device)
    block = hl.register_block_size(k // 2)
    for rows, columns in hl.tile([m, n]):
        acc = hl.zeros([rows, columns], dtype=torch.float32)
        for inner in hl.tile(k // 2, block_size=block):
            left = a[rows, inner.begin * 2 : inner.begin * 2 + inner.block_size * 2].to(torch.float32)
            both = packed[inner, columns]
            low = (both << 4) >> 4
            high = both >> 4
            stacked = torch.stack([low.to(torch.float32), high.to(torch.float32)], dim=1)
            right = stacked.reshape(inner.block_size * 2, columns.block_size)
            acc += (left[:, :, None] * right[None, :, :]).sum(dim=1)
        out[rows, columns] = acc
    return out


@helion.kernel()
def grouped_gemm(a: torch.Tensor, b: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    total, k = a.shape
    n = b.shape[1]
    out = torch.zeros([total, n], dtype=a.dtype, device=a.device)
    for g in hl.grid(offsets.size(0) - 1):
        start = offsets[g]
        end = offsets[g + 1]
        for rows, columns in hl.tile([start, 0], [end, n]):
            acc = hl.zeros([rows, columns], dtype=torch.float32)
            for inner in hl.tile(k):
                acc = torch.addmm(acc, a[rows, inner], b[inner, columns])
            out[rows, columns] = acc.to(out.dtype)
    return out


@helion.kernel()
def attention(q_in: torch.Tensor, k_in: torch.Tensor, v_in: torch.Tensor) -> torch.Tensor:
    m_dim = q_in.size(-2)
    n_dim = k_in.size(-2)
    head = hl.specialize(q_in.size(-1))
    q = q_in.reshape([-1, m_dim, head])
    v = v_in.reshape([-1, n_dim, head])
    k = k_in.reshape([-1, n_dim, head]).transpose(1, 2)
    out = torch.empty_like(q)
    scale = 1.0 / math.sqrt(head) * 1.44269504
    for batch, rows in hl.tile([q.size(0), m_dim]):
        m_i = hl.full([batch, rows], float("-inf"), dtype=torch.float32)
        l_i = torch.full_like(m_i, 1.0)
        acc = hl.zeros([batch, rows, head], dtype=torch.float32)
        queries = q[batch, rows, :]
        for keys in hl.tile(n_dim):
            qk = torch.bmm(queries, k[batch, :, keys])
            m_new = torch.maximum(m_i, torch.amax(qk, -1) * scale)
            qk = qk * scale - m_new[:, :, None]
            p = torch.exp2(qk)
            alpha = torch.exp2(m_i - m_new)
            l_i = l_i * alpha + torch.sum(p, -1)
            acc = acc * alpha[:, :, None]
            acc = torch.baddbmm(acc, p.to(v.dtype), v[batch, keys, :])
            m_i = m_new
        out[batch, rows, :] = (acc / l_i[:, :, None]).to(out.dtype)
    return out.view(q_in.size())


@helion.kernel()
def causal_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    heads, length, _ = q.size()
    head = hl.specialize(q.size(-1))
    out = torch.empty_like(q)
    scale = 1.0 / math.sqrt(head)
    for batch, rows in hl.tile([heads, length], block_size=[1, None]):
        m_i = hl.full([rows], float("-inf"), dtype=torch.float32)
        l_i = hl.zeros([rows], dtype=torch.float32)
        acc = hl.zeros([rows, head], dtype=torch.float32)
        queries = q[batch.begin, rows, :]
        for keys in hl.tile(rows.end):
            qk = hl.dot(queries, k[batch.begin, keys, :].transpose(0, 1)) * scale
            qk = torch.where(rows.index[:, None] >= keys.index[None, :], qk, float("-inf"))
            m_new = torch.maximum(m_i, torch.amax(qk, -1))
            p = torch.exp(qk - m_new[:, None])
            alpha = torch.exp(m_i - m_new)
            l_i = l_i * alpha + torch.sum(p, -1)
            acc = hl.dot(p.to(v.dtype), v[batch.begin, keys, :], acc=acc * alpha[:, None])
            m_i = m_new
        out[batch.begin, rows, :] = (acc / l_i[:, None]).to(out.dtype)
    return out


@helion.kernel()
def blockwise_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """`allowed[i, j]` says whether query block i sees key block j; blocks have 16 rows."""
    length, head = q.size()
    head = hl.specialize(head)
    out = torch.empty_like(q)
    for rows in hl.tile(length, block_size=16):
        m_i = hl.full([rows], -1e30, dtype=torch.float32)
        l_i = hl.zeros([rows], dtype=torch.float32)
        acc = hl.zeros([rows, head], dtype=torch.float32)
        queries = q[rows, :]
        for keys in hl.tile(length, block_size=16):
            if allowed[rows.id, keys.id] > 0:
                qk = hl.dot(queries, k[keys, :].T)
                qk = torch.where((keys.index < length)[None, :], qk, -1e30)
                m_new = torch.maximum(m_i, torch.amax(qk, -1))
                p = torch.exp(qk - m_new[:, None])
                alpha = torch.exp(m_i - m_new)
                l_i = l_i * alpha + torch.sum(p, -1)
                acc = hl.dot(p, v[keys, :], acc=acc * alpha[:, None])
                m_i = m_new
        out[rows, :] = acc / l_i[:, None]
    return out


@helion.kernel()
def gdn_chunk(k: torch.Tensor, w: torch.Tensor, u: torch.Tensor, g: torch.Tensor, chunk: int) -> torch.Tensor:
    """State before each chunk of a gated delta rule: (batch, chunks, dhead, dstate)."""
    batch, length, dhead = k.shape
    dhead = hl.specialize(dhead)
    chunk = hl.specialize(chunk)
    dstate = u.shape[-1]
    chunks = length // chunk
    h = torch.empty([batch, chunks, dhead, dstate], dtype=torch.float32, device=k.device)
    for b, states in hl.tile([batch, dstate], block_size=[1, None]):
        state = hl.zeros([dhead, states], dtype=torch.float32)
        for piece in hl.tile(length, block_size=chunk):
            h[b.begin, piece.id, :, states] = state
            rows_w = w[b.begin, piece, :]
            fresh = u[b.begin, piece, states] - hl.dot(rows_w, state)
            last = min(piece.begin + chunk, length) - 1
            decay = torch.exp(g[b.begin, last] - g[b.begin, piece])
            fresh = fresh * decay[:, None]
            state = state * torch.exp(g[b.begin, last])
            state = hl.dot(k[b.begin, piece, :].T, fresh, acc=state)
    return h


@helion.kernel()
def jagged_sum(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    m = data.shape[1]
    rows = offsets.size(0) - 1
    out = torch.zeros([rows, m], dtype=data.dtype, device=data.device)
    flat = data.view(-1)
    for b in hl.tile(rows):
        starts = offsets[b]
        lengths = offsets[b.index + 1] - starts
        longest = lengths.amax()
        for columns in hl.tile(m):
            acc = hl.zeros([b, columns], dtype=data.dtype)
            for item in hl.tile(0, longest):
                where = (starts[:, None] + item.index[None, :])[:, :, None] * m + columns.index[None, None, :]
                mask = (item.index[None, :] < lengths[:, None])[:, :, None] & (columns.index < m)[None, None, :]
                acc = acc + hl.load(flat, [where], extra_mask=mask).sum(dim=1)
            out[b, columns] = acc
    return out


@helion.kernel()
def jagged_tile_sum(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    rows = offsets.size(0) - 1
    out = torch.zeros([rows], dtype=data.dtype, device=data.device)
    for b in hl.tile(rows):
        starts = offsets[b]
        lengths = offsets[b.index + 1] - starts
        acc = hl.zeros([b], dtype=data.dtype)
        for item in hl.jagged_tile(lengths):
            acc = acc + data[starts[:, None] + item.index[None, :]].sum(dim=1)
        out[b] = acc
    return out


@helion.kernel()
def jagged_mean(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    m = data.shape[1]
    rows = offsets.size(0) - 1
    out = torch.zeros([rows, m], dtype=data.dtype, device=data.device)
    flat = data.view(-1)
    for b in hl.tile(rows):
        starts = offsets[b]
        lengths = offsets[b.index + 1] - starts
        longest = lengths.amax()
        for columns in hl.tile(m):
            acc = hl.zeros([b, columns], dtype=data.dtype)
            for item in hl.tile(0, longest):
                where = (starts[:, None] + item.index[None, :])[:, :, None] * m + columns.index[None, None, :]
                mask = (item.index[None, :] < lengths[:, None])[:, :, None] & (columns.index < m)[None, None, :]
                acc = acc + hl.load(flat, [where], extra_mask=mask).sum(dim=1)
            count = lengths.to(torch.float32)[:, None]
            out[b, columns] = torch.where(count > 0, acc / count, 0.0)
    return out


@helion.kernel()
def jagged_softmax(data: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
    total, m = data.size()
    rows = offsets.size(0) - 1
    out = torch.zeros([total * m], dtype=data.dtype, device=data.device)
    flat = data.view(-1)
    for b in hl.tile(rows):
        starts = offsets[b]
        lengths = offsets[b.index + 1] - starts
        longest = lengths.amax()
        for columns in hl.tile(m):
            top = hl.full([b, columns], float("-inf"), dtype=torch.float32)
            denominator = hl.zeros([b, columns], dtype=torch.float32)
            for item in hl.tile(longest):
                where = (starts[:, None] + item.index[None, :])[:, :, None] * m + columns.index[None, None, :]
                mask = (item.index[None, :] < lengths[:, None])[:, :, None] & (columns.index < m)[None, None, :]
                values = torch.where(mask, hl.load(flat, [where], extra_mask=mask), float("-inf"))
                higher = torch.maximum(top, values.amax(dim=1))
                guarded = torch.where(higher == float("-inf"), 0.0, higher)
                mass = torch.exp(values - guarded[:, None, :]).sum(dim=1)
                denominator = denominator * torch.exp(top - guarded) + mass
                top = higher
            for item in hl.tile(longest):
                where = (starts[:, None] + item.index[None, :])[:, :, None] * m + columns.index[None, None, :]
                mask = (item.index[None, :] < lengths[:, None])[:, :, None] & (columns.index < m)[None, None, :]
                values = hl.load(flat, [where], extra_mask=mask)
                result = torch.exp(values - top[:, None, :]) / denominator[:, None, :]
                hl.store(out, [where], result, extra_mask=mask)
    return out.reshape([total, m])


@helion.kernel()
def jagged_dense_add(data: torch.Tensor, offsets: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    rows = dense.size(0)
    out = torch.zeros_like(dense)
    for b in hl.tile(rows):
        starts = offsets[b]
        lengths = offsets[b.index + 1] - starts
        longest = lengths.amax()
        for item in hl.tile(0, longest):
            mask = item.index[None, :] < lengths[:, None]
            values = hl.load(data, [starts[:, None] + item.index[None, :]], extra_mask=mask)
            out[b, item] = values + dense[b, item]
        for item in hl.tile(longest, out.size(1)):
            out[b, item] = dense[b, item]
    return out


def _segment_combine(
    left_value: torch.Tensor, left_id: torch.Tensor, right_value: torch.Tensor, right_id: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.where(left_id == right_id, left_value + right_value, right_value), right_id


@helion.kernel()
def segment_sum(ids: torch.Tensor, data: torch.Tensor, segments: int) -> torch.Tensor:
    count, width = data.shape
    out = torch.zeros([segments, width], dtype=data.dtype, device=data.device)
    for rows, columns in hl.tile([count, width]):
        values = data[rows, columns]
        which = ids[rows]
        following = hl.load(ids, [rows.index + 1], extra_mask=rows.index < count - 1)
        tuple_in = (values, which.unsqueeze(1).expand_as(values))
        scanned, _ = hl.associative_scan(_segment_combine, tuple_in, dim=0)
        last = (which != following) | (rows.index % rows.block_size == rows.block_size - 1) | (rows.index == count - 1)
        hl.atomic_add(out, [which, columns], torch.where(last.unsqueeze(1), scanned, 0.0))
    return out


@helion.kernel()
def chunk_scan(
    cb: torch.Tensor, x: torch.Tensor, dt: torch.Tensor, da: torch.Tensor, c: torch.Tensor, states: torch.Tensor
) -> torch.Tensor:
    """Mamba-like: y = C @ state * exp(da) + (CB * exp(da_i - da_j) * dt_j, i >= j) @ x, chunk by chunk."""
    chunks, size, head = x.shape
    size = hl.specialize(size)
    out = torch.empty_like(x)
    for piece, rows, columns in hl.tile([chunks, size, head], block_size=[1, None, None]):
        decay = da[piece.begin, rows]
        acc = hl.dot(c[piece.begin, rows, :], states[piece.begin, :, columns]) * torch.exp(decay)[:, None]
        for keys in hl.tile((rows.id + 1) * rows.block_size):
            weights = cb[piece.begin, rows, keys] * torch.exp(decay[:, None] - da[piece.begin, keys][None, :])
            weights = weights * dt[piece.begin, keys][None, :]
            weights = torch.where(rows.index[:, None] >= keys.index[None, :], weights, 0.0)
            acc = hl.dot(weights, x[piece.begin, keys, columns], acc=acc)
        out[piece.begin, rows, columns] = acc
    return out
