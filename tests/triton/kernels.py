"""The kernels that Triton's tutorials teach, written as a user would put them into a cell, launches included."""

import contextlib

import torch
import triton
import triton.language as tl

from irwidget.frontends import triton as frontend


@contextlib.contextmanager
def recording(arch, **options):
    """`frontend.recording`, whose body runs to its end: where a value is missing it would end without an error."""
    with frontend.recording(arch, **options) as launches:
        yield launches
    assert not [one.message for one in launches.diagnostics if "the cell was run up to here" in one.message]


# --- vector add


@triton.jit
def add_kernel(a_ptr, b_ptr, sum_ptr, length, BLOCK: tl.constexpr):
    first = tl.program_id(axis=0) * BLOCK
    index = first + tl.arange(0, BLOCK)
    inside = index < length
    a = tl.load(a_ptr + index, mask=inside)
    b = tl.load(b_ptr + index, mask=inside)
    tl.store(sum_ptr + index, a + b, mask=inside)


def add(a, b):
    total = torch.empty_like(a)
    assert a.is_cuda
    assert b.is_cuda
    assert total.device == a.device
    add_kernel[lambda meta: (triton.cdiv(total.numel(), meta["BLOCK"]),)](a, b, total, total.numel(), BLOCK=1024)
    return total


def vector_add():
    torch.manual_seed(0)
    a = torch.rand(98432, device="cuda")
    return add(a, torch.rand(98432, device="cuda"))


# --- fused softmax: persistent, sized by what the compiled kernel uses


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_stride, out_stride, rows, columns, WIDTH: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        index = tl.arange(0, WIDTH)
        inside = index < columns
        values = tl.load(in_ptr + row * in_stride + index, mask=inside, other=-float("inf"))
        raised = tl.exp(values - tl.max(values, axis=0))
        tl.store(out_ptr + row * out_stride + index, raised / tl.sum(raised, axis=0), mask=inside)


def softmax(x):
    rows, columns = x.shape
    width = triton.next_power_of_2(columns)
    out = torch.empty_like(x)
    arguments = (out, x, x.stride(0), out.stride(0), rows, columns)
    kernel = softmax_kernel.warmup(*arguments, WIDTH=width, STAGES=2, num_warps=8, grid=(1,))
    kernel._init_handles()
    device = triton.runtime.driver.active.utils.get_device_properties(0)
    occupancy = device["max_num_regs"] // (kernel.n_regs * device["warpSize"] * 8)
    if kernel.metadata.shared:
        occupancy = min(occupancy, device["max_shared_mem"] // kernel.metadata.shared)
    programs = min(device["multiprocessor_count"] * max(1, occupancy), rows)
    kernel[(programs, 1, 1)](*arguments, width, 2)
    return out


def fused_softmax():
    return softmax(torch.randn(1823, 781, device=triton.runtime.driver.active.get_active_torch_device()))


# --- matmul, autotuned


def is_cuda():
    return triton.runtime.driver.active.get_current_target().backend == "cuda"


def matmul_configs():
    sizes = [(64, 64, 32, 4), (32, 64, 32, 2)] if is_cuda() else [(64, 64, 32, 4), (32, 32, 32, 4)]
    return [
        triton.Config({"BM": m, "BN": n, "BK": k, "GROUP": 8}, num_stages=2, num_warps=warps)
        for m, n, k, warps in sizes
    ]


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_body(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    am,
    ak,
    bk,
    bn,
    cm,
    cn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    in_group = GROUP * tiles_n
    first_m = pid // in_group * GROUP
    rows = min(tiles_m - first_m, GROUP)
    tile_m = first_m + pid % in_group % rows
    tile_n = pid % in_group // rows
    m = (tile_m * BM + tl.arange(0, BM)) % M
    n = (tile_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_ptrs = a_ptr + m[:, None] * am + k[None, :] * ak
    b_ptrs = b_ptr + k[:, None] * bk + n[None, :] * bn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(K, BK)):
        a = tl.load(a_ptrs, mask=k[None, :] < K - step * BK, other=0.0)
        b = tl.load(b_ptrs, mask=k[:, None] < K - step * BK, other=0.0)
        total = tl.dot(a, b, total)
        a_ptrs += BK * ak
        b_ptrs += BK * bk
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    m = tile_m * BM + tl.arange(0, BM)
    n = tile_n * BN + tl.arange(0, BN)
    c_ptrs = c_ptr + cm * m[:, None] + cn * n[None, :]
    tl.store(c_ptrs, total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


def matmul():
    kernel = triton.autotune(configs=matmul_configs(), key=["M", "N", "K"])(matmul_body)
    a = torch.randn((512, 256), device="cuda", dtype=torch.float16)
    b = torch.randn((256, 512), device="cuda", dtype=torch.float16)
    c = torch.empty((512, 512), device="cuda", dtype=torch.float16)
    kernel[lambda meta: (triton.cdiv(512, meta["BM"]) * triton.cdiv(512, meta["BN"]),)](
        a,
        b,
        c,
        512,
        512,
        256,
        a.stride(0),
        a.stride(1),
        b.stride(0),
        b.stride(1),
        c.stride(0),
        c.stride(1),
        ACTIVATION="leaky_relu",
    )
    return c


# --- dropout from a seed


@triton.jit
def dropout_kernel(x_ptr, out_ptr, length, p, seed, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = index < length
    kept = tl.rand(seed, index) > p
    x = tl.load(x_ptr + index, mask=inside)
    tl.store(out_ptr + index, tl.where(kept, x / (1 - p), 0.0), mask=inside)


def dropout():
    x = torch.randn(1000, device="cuda")
    out = torch.empty_like(x)
    assert x.is_contiguous()
    dropout_kernel[(triton.cdiv(1000, 1024),)](x, out, x.numel(), 0.5, 123, BLOCK=1024)
    return out


# --- layer norm, forward and backward


@triton.jit
def norm_forward(x_ptr, y_ptr, w_ptr, b_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        index = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + index, mask=index < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        index = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + index, mask=index < N, other=0.0).to(tl.float32)
        away = tl.where(index < N, x - mean, 0.0)
        squares += away * away
    rstd = 1 / tl.sqrt(tl.sum(squares, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        index = start + tl.arange(0, BLOCK)
        inside = index < N
        w = tl.load(w_ptr + index, mask=inside)
        b = tl.load(b_ptr + index, mask=inside)
        x = tl.load(x_ptr + index, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + index, (x - mean) * rstd * w + b, mask=inside)


@triton.jit
def norm_backward_dx(
    dx_ptr,
    dy_ptr,
    dw_ptr,
    db_ptr,
    x_ptr,
    w_ptr,
    mean_ptr,
    rstd_ptr,
    lock_ptr,
    stride,
    N,
    GROUP: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    index = tl.arange(0, BLOCK)
    inside = index < N
    lock_id = row % GROUP
    lock = lock_ptr + lock_id
    count = lock + GROUP
    dw_ptrs = dw_ptr + lock_id * N + index
    db_ptrs = db_ptr + lock_id * N + index
    x = tl.load(x_ptr + row * stride + index, mask=inside, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + index, mask=inside, other=0).to(tl.float32)
    w = tl.load(w_ptr + index, mask=inside).to(tl.float32)
    normal = tl.where(inside, (x - tl.load(mean_ptr + row)) * tl.load(rstd_ptr + row), 0.0)
    weighted = tl.where(inside, w * dy, 0.0)
    c1 = tl.sum(normal * weighted, axis=0) / N
    c2 = tl.sum(weighted, axis=0) / N
    dx = (weighted - (normal * c1 + c2)) * tl.load(rstd_ptr + row)
    tl.store(dx_ptr + row * stride + index, dx, mask=inside)
    dw = (dy * normal).to(w.dtype)
    db = dy.to(w.dtype)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        dw += tl.load(dw_ptrs, mask=inside)
        db += tl.load(db_ptrs, mask=inside)
    tl.store(dw_ptrs, dw, mask=inside)
    tl.store(db_ptrs, db, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def norm_backward_dwdb(dw_ptr, db_ptr, fw_ptr, fb_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, M, BM):
        rows = start + tl.arange(0, BM)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        index = rows[:, None] * N + columns[None, :]
        dw += tl.load(dw_ptr + index, mask=inside, other=0.0)
        db += tl.load(db_ptr + index, mask=inside, other=0.0)
    tl.store(fw_ptr + columns, tl.sum(dw, axis=0), mask=columns < N)
    tl.store(fb_ptr + columns, tl.sum(db, axis=0), mask=columns < N)


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        y = torch.empty_like(x)
        rows, N = x.reshape(-1, x.shape[-1]).shape
        mean = torch.empty((rows,), dtype=torch.float32, device=x.device)
        rstd = torch.empty((rows,), dtype=torch.float32, device="cuda")
        block = triton.next_power_of_2(N)
        norm_forward[(rows,)](x, y, weight, bias, mean, rstd, x.stride(0), N, eps, BLOCK=block, num_warps=4)
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.block = block
        return y

    @staticmethod
    def backward(ctx, dy):
        x, weight, mean, rstd = ctx.saved_tensors
        rows, N = x.shape
        group = 64
        locks = torch.zeros(2 * group, dtype=torch.int32, device="cuda")
        part_dw = torch.zeros((group, N), dtype=x.dtype, device=weight.device)
        part_db = torch.zeros((group, N), dtype=x.dtype, device="cuda")
        dx, dw, db = torch.empty_like(dy), torch.empty_like(weight), torch.empty_like(weight)
        norm_backward_dx[(rows,)](
            dx,
            dy,
            part_dw,
            part_db,
            x,
            weight,
            mean,
            rstd,
            locks,
            x.stride(0),
            N,
            BLOCK=ctx.block,
            GROUP=group,
            num_warps=4,
        )
        norm_backward_dwdb[lambda meta: (triton.cdiv(N, meta["BN"]),)](
            part_dw, part_db, dw, db, min(group, rows), N, BM=32, BN=128
        )
        return dx, dw, db, None


def layer_norm():
    weight = torch.rand(512, dtype=torch.float16, device="cuda", requires_grad=True)
    bias = torch.rand(512, dtype=torch.float16, device="cuda", requires_grad=True)
    x = (-2.3 + 0.5 * torch.randn((256, 512), dtype=torch.float16, device="cuda")).requires_grad_(True)
    y = LayerNorm.apply(x, weight, bias, 1e-5)
    y.backward(0.1 * torch.randn_like(y), retain_graph=True)
    return x.grad


# --- fused attention, forward


@triton.jit
def attention_forward(
    Q,
    K,
    V,
    Out,
    scale,
    stride_h,
    stride_m,
    length,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    d = tl.arange(0, D)
    head = tl.program_id(1) * stride_h
    q = tl.load(Q + head + m[:, None] * stride_m + d[None, :])
    best = tl.full([BM], -float("inf"), dtype=tl.float32)
    weight = tl.zeros([BM], dtype=tl.float32)
    total = tl.zeros([BM, D], dtype=tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else length
    for start in range(0, end, BN):
        start = tl.multiple_of(start, BN)
        k = tl.load(K + head + (start + n)[None, :] * stride_m + d[:, None])
        scores = tl.dot(q, k) * (scale * 1.44269504)
        if CAUSAL:
            scores = tl.where(m[:, None] >= (start + n)[None, :], scores, -1.0e6)
        higher = tl.maximum(best, tl.max(scores, 1))
        p = tl.math.exp2(scores - higher[:, None])
        fade = tl.math.exp2(best - higher)
        weight = weight * fade + tl.sum(p, 1)
        v = tl.load(V + head + (start + n)[:, None] * stride_m + d[None, :])
        total = tl.dot(p.to(tl.float16), v, total * fade[:, None])
        best = higher
    tl.store(Out + head + m[:, None] * stride_m + d[None, :], (total / weight[:, None]).to(tl.float16))


def fused_attention():
    q, k, v = (torch.randn((1, 2, 256, 64), dtype=torch.float16, device="cuda") for _ in range(3))
    out = torch.empty_like(q)
    attention_forward[(256 // 64, 2)](
        q, k, v, out, 0.125, q.stride(1), q.stride(2), 256, BM=64, BN=32, D=64, CAUSAL=True, num_warps=4, num_stages=2
    )
    return out


# --- grouped gemm: a table of addresses


@triton.jit
def grouped_kernel(
    a_table,
    b_table,
    c_table,
    sizes,
    strides,
    groups,
    PROGRAMS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        gm = tl.load(sizes + g * 3)
        gn = tl.load(sizes + g * 3 + 1)
        gk = tl.load(sizes + g * 3 + 2)
        tiles_n = tl.cdiv(gn, BN)
        tiles = tl.cdiv(gm, BM) * tiles_n
        while tile >= done and tile < done + tiles:
            lda = tl.load(strides + g * 3)
            ldb = tl.load(strides + g * 3 + 1)
            ldc = tl.load(strides + g * 3 + 2)
            a_ptr = tl.load(a_table + g).to(tl.pointer_type(tl.float16))
            b_ptr = tl.load(b_table + g).to(tl.pointer_type(tl.float16))
            c_ptr = tl.load(c_table + g).to(tl.pointer_type(tl.float16))
            m = (tile - done) // tiles_n * BM + tl.arange(0, BM)
            n = (tile - done) % tiles_n * BN + tl.arange(0, BN)
            k = tl.arange(0, BK)
            a_ptrs = a_ptr + m[:, None] * lda + k[None, :]
            b_ptrs = b_ptr + k[:, None] * ldb + n[None, :]
            total = tl.zeros((BM, BN), dtype=tl.float32)
            for _ in range(tl.cdiv(gk, BK)):
                total += tl.dot(tl.load(a_ptrs), tl.load(b_ptrs))
                a_ptrs += BK
                b_ptrs += BK * ldb
            tl.store(c_ptr + ldc * m[:, None] + n[None, :], total.to(tl.float16))
            tile += PROGRAMS
        done += tiles


def grouped_gemm():
    shapes = [(256, 256, 128), (128, 256, 64)]
    a = [torch.rand((m, k), device="cuda", dtype=torch.float16) for m, n, k in shapes]
    b = [torch.rand((k, n), device="cuda", dtype=torch.float16) for m, n, k in shapes]
    c = [torch.empty((m, n), device="cuda", dtype=torch.float16) for m, n, k in shapes]
    tables = [torch.tensor([t.data_ptr() for t in group], device="cuda") for group in (a, b, c)]
    sizes = torch.tensor([s for shape in shapes for s in shape], dtype=torch.int32, device="cuda")
    strides = torch.tensor(
        [t.stride(0) for group in zip(a, b, c, strict=True) for t in group], dtype=torch.int32, device="cuda"
    )
    grouped_kernel[(84,)](*tables, sizes, strides, len(shapes), PROGRAMS=84, BM=64, BN=64, BK=32)
    return c


TUTORIALS = {
    "vector_add": vector_add,
    "fused_softmax": fused_softmax,
    "matmul": matmul,
    "dropout": dropout,
    "layer_norm": layer_norm,
    "fused_attention": fused_attention,
    "grouped_gemm": grouped_gemm,
}
