"""Programs of our own, many kinds of ops, layouts, loops and options: what `artifacts.py` keeps the output of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

from irwidget.spyre import SpyreProgram, TensorSpec, compile, spyre_hint
from irwidget.spyre.formats import device_format
from irwidget.spyre.layout import DeviceLayout
from tests.spyre import cases, models


@dataclass(frozen=True)
class Program:
    """What is compiled, and how."""

    function: Callable[..., Any]
    inputs: Sequence[Any]
    cores: int = 32
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def compile(self) -> SpyreProgram:
        torch.manual_seed(0)
        function = self.function().half().eval() if isinstance(self.function, type) else self.function
        return compile(function, list(self.inputs), cores=self.cores, name="program", **self.options)


def of(function: Callable[..., Any], *shapes: Any, cores: int = 32, dtype: str = "float16", **options: Any) -> Program:
    """A program over float16 tensors of these shapes; a TensorSpec stands for itself."""
    specs = [s if isinstance(s, TensorSpec) else TensorSpec(s, dtype) for s in shapes]
    return Program(function, specs, cores, options)


def ints(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "int64")


def floats(*shape: int) -> TensorSpec:
    return TensorSpec(shape, "float32")


def named(shape: tuple[int, ...], *dims: str) -> TensorSpec:
    return TensorSpec(shape, "float16", dims=dims)


def written_at_once(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    """Two inputs that nobody reads as they were, one whose new value is read, and one that is read before."""
    a.copy_(torch.softmax(b, -1))
    c.copy_(b.amax(0))
    b.mul_(2)
    return a + 1


def tiled(function: Callable[..., Any], *counts: tuple[str, int]) -> Callable[..., Any]:
    """The function inside nested counted loops."""

    def run(*tensors: Any) -> Any:
        return _nested(function, tensors, counts)

    return run


def _nested(function: Callable[..., Any], tensors: Any, counts: Sequence[tuple[str, int]]) -> Any:
    if not counts:
        return function(*tensors)
    with spyre_hint(slices=dict(counts[:1])):
        return _nested(function, tensors, counts[1:])


def inside_and_outside(a, b):
    with spyre_hint(slices={"A": 2}):
        y = a + b
        z = torch.relu(y)
    return z + y


def two_loops(a, b):
    with spyre_hint(slices={"A": 2}):
        y = a * b
    with spyre_hint(slices={"B": 4}):
        return torch.exp(y) + a


def loop_between(a, b):
    c = a * 2
    with spyre_hint(slices={"A": 4}):
        d = torch.exp(c) + b
    return torch.softmax(d, -1)


def extremes(a):
    return a.amax(0), torch.relu(a).sum(0)


def assigned(a):
    a = a.clone()
    a[:, 64:128] = 1.0
    a.add_(2)
    return a, a.sum()


def softmax_of_sum(a):
    return torch.softmax(torch.relu(a) * 2 + a, 0)


def attention(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def grouped(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)


def branches(a):
    y = torch.exp(a)
    return y.sum(1), (y * a).amax(0), torch.sigmoid(y)


def long_chain(a, b, c, d, e, f, g):
    return torch.relu(a + b) * c - d / torch.exp(e) + f * g


def long_lives(a, b):
    x, y = a + b, a - b
    z = torch.exp(x) * y
    w = (z + x).sum(1, keepdim=True)
    return (z - w) * y


PADDED = DeviceLayout((1, 512, 64), (64, 60, 1), device_format("float16"))
MM = ((512, 1024), (1024, 2048))
ELEMENTWISE = {
    "sign, alpha, where": of(
        lambda a, b: torch.where(a > 0, torch.sign(b), 2.0).add(b, alpha=0.5) / 3, *[(67, 256)] * 2
    ),
    "add scalars": of(lambda a: 3 - a * 2.5, (100, 150)),
    "broadcast row": of(lambda a, b: a * b + 1, (67, 150), (150,)),
    "broadcast column": of(lambda a, b: a - b, (64, 256), (64, 1)),
    "broadcast both": of(lambda a, b: a + b, (8, 1, 128), (1, 64, 128)),
    "comparisons": of(lambda a, b: torch.where(a >= b, a, (a != b).half()), (32, 128), (32, 128)),
    "clamp one side": of(lambda a: a.clamp(min=-1), (64, 256)),
    "clamp both": of(lambda a: a.clamp(-1, 0.5), (64, 250)),
    "softplus and mish": of(lambda a: F.softplus(a, 2.0, 10.0) + F.mish(a), (64, 128)),
    "activations": of(lambda a: F.silu(a) * F.gelu(a) + torch.tanh(a).abs(), (3, 33, 96)),
    "five dims": of(lambda a, b: a + b, (2, 3, 4, 8, 128), (2, 3, 4, 8, 128)),
    "six dims": of(lambda a: torch.exp(a), (2, 1, 3, 2, 4, 70)),
    "column": of(lambda a: torch.exp(a), (1000, 1)),
    "scalar": of(lambda a: a * 2, ()),
    "one stick on 3 cores": of(lambda a: a + a, (7, 64), cores=3),
    "24 cores": of(lambda a, b: a + b, (96, 1024), (96, 1024), cores=24),
    "one core": of(lambda a: torch.exp(a) + a, (33, 2112), cores=1),
    "float32": of(lambda a, b: torch.sqrt(a) / b, (128, 100), (128, 100), dtype="float32"),
    "int64": of(lambda a: a * 2 + 1, ints(640)),
    "bool": of(torch.logical_not, TensorSpec((32, 128), "bool")),
    "bfloat16": of(lambda a: torch.relu(a) * a, TensorSpec((32, 192), "bfloat16")),
    "there and back": of(lambda a: (a.float() * 2).half(), (32, 100)),
    "cast 1-D": of(lambda a: a.float(), (500,)),
    "cast of a bool": of(lambda a: (a > 0).half() * a, (16, 128)),
    "several outputs": of(branches, (128, 512), cores=8),
    "more than six tensors": of(long_chain, *[(64, 128)] * 7),
    "full": of(lambda a: a + torch.full((32, 128), 3.0, dtype=torch.float16), (32, 128)),
    "dynamic rows": of(lambda a: torch.exp(a * a), TensorSpec((1024, 128), dynamic={0: (64, 1024)})),
}
REDUCTIONS = {
    "sum of sticks": of(lambda a: a.sum(1), (256, 1000)),
    "sum of rows": of(lambda a: a.sum(0), (256, 1024)),
    "sum of rows, 8 cores": of(lambda a: a.sum(0), (12, 640), cores=8),
    "sum of outer and stick": of(lambda a: a.sum((0, 2)), (4, 32, 128)),
    "sum of all": of(lambda a: a.sum() + 1, (64, 256)),
    "mean kept": of(lambda a: a.mean((0, 1), keepdim=True), (4, 64, 256)),
    "reductions of one": of(lambda a: (a[1:2].sum(0, keepdim=True), a[1:2].mean(0), a[:, 1:2].amax(1)), (3, 5, 192)),
    "masked extremes": of(lambda a: (a.amax(1), a.amin(-1)), (64, 1000)),
    "extremes of rows": of(lambda a: (a.amin(0), a.amax()), (32, 128)),
    "sum of float32": of(lambda a: a.sum(0), floats(96, 96)),
    "sum of 512 MiB rows": of(lambda a: a.sum(1), (3, 2**28)),
    "aminmax": of(lambda a: torch.aminmax(a, dim=0), (67, 256)),
    "norms": of(lambda a: (torch.linalg.vector_norm(a, 1, 0), torch.linalg.vector_norm(a, float("inf"), 1)), (67, 256)),
    "topk": of(lambda a: torch.topk(a, 4), (64, 256)),
    "layer norm": of(lambda a, w, b: F.layer_norm(a, (500,), w, b), (2, 64, 500), (500,), (500,)),
    "layer norm without weights": of(lambda a: F.layer_norm(a, (512,)), (64, 512)),
    "rms norm": of(lambda a, w: F.rms_norm(a, (512,), w, 1e-5), (64, 512), (512,)),
    "logsumexp": of(lambda a: torch.logsumexp(a, -1), (32, 128)),
    "argmax": of(lambda a: a.argmax(1), (32, 128)),
}
MATMULS = {
    "mm": of(torch.matmul, *MM),
    "mm 100x150x200": of(torch.matmul, (100, 150), (150, 200)),
    "mm with K split": of(torch.matmul, (2, 4096), (4096, 64), cores=8),
    "mm with K split, K slow": of(torch.matmul, (256, 8192), (8192, 256), core_id_k_fast_emission=False),
    "mm of a 512 MiB operand": of(torch.matmul, (8192, 32768), (32768, 4096)),
    "mm of one row": of(torch.matmul, (1, 256), (256, 512)),
    "linear to one column": of(F.linear, (64, 128), (1, 128)),
    "mm of a transposed": of(lambda a, b: a.t() @ b, (128, 64), (128, 256)),
    "bmm": of(torch.matmul, (8, 30, 50), (8, 50, 100)),
    "bmm of broadcast batches": of(torch.matmul, (4, 1, 32, 64), (1, 2, 64, 64)),
    "shared weight": of(torch.matmul, (4, 32, 128), (128, 256)),
    "unit batch": of(torch.matmul, (1, 32, 128), (128, 256)),
    "addmm with factors": of(lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=0.5), (512,), (128, 256), (256, 512)),
    "mm of a selected": of(lambda a, b: a[3] @ b, (8, 64, 128), (128, 256)),
    "mm with a ragged K and N": of(torch.matmul, (67, 255), (255, 128)),
    "einsum": of(lambda a, b: torch.einsum("bhid,bhjd->bhij", a, b), (2, 2, 64, 64), (2, 2, 64, 64)),
    "linear, weight as given": of(F.linear, (128, 256), (512, 256), (512,)),
    "linear, weight sticked on its outputs": of(F.linear, (128, 256), TensorSpec((512, 256), dim_order=(1, 0))),
    "attention": of(attention, *[(1, 4, 64, 64)] * 3),
    "grouped causal attention": of(grouped, (1, 4, 64, 64), (1, 2, 64, 64), (1, 2, 64, 64)),
    "conv2d": of(F.conv2d, (1, 16, 10, 10), (32, 16, 3, 3)),
    "conv2d of a batch": of(lambda a, w: F.conv2d(a, w, None, 2), (2, 32, 16, 16), (16, 32, 1, 1)),
    "grouped conv2d of a batch": of(lambda a, w: F.conv2d(a, w, padding=1, groups=4), (2, 16, 16, 16), (32, 4, 3, 3)),
}
MOVES = {
    "dropout of nothing": of(lambda a: F.dropout(a, 0.5, False), (3, 64)),
    "inputs written by their ops": of(written_at_once, (8, 128), (8, 128), (128,)),
    "inputs filled": of(lambda a, b: (a.zero_(), b.fill_(3), a[0:1] + 1)[2], (8, 128), ints(8, 128)),
    "transposed copy": of(lambda a: a.t().contiguous(), (100, 150)),
    "3-D transposed copy": of(lambda a: a.transpose(0, 2).contiguous(), (8, 16, 64)),
    "add a transposed": of(lambda a, b: a + b.t(), (256, 512), (512, 256)),
    "add a transposed, greedily": of(
        lambda a, b: torch.exp(a) + b.t(), (256, 512), (512, 256), restickify_solver="greedy"
    ),
    "permuted": of(lambda a, b: a.permute(1, 0, 2) + b, (8, 64, 128), (64, 8, 128)),
    "view": of(lambda a: a.view(64, 4, 128) * 2, (256, 128)),
    "flattened": of(lambda a: a.reshape(-1) * 2, (256, 128)),
    "cat of columns": of(lambda a, b: torch.cat([a, b], 1), (64, 128), (64, 192)),
    "cat of rows": of(lambda a, b: torch.cat([a, b]), (128, 256), (64, 256)),
    "stack": of(lambda a, b: torch.stack([a, b], 1), (32, 64), (32, 64)),
    "cat of one tensor": of(lambda a: torch.cat([a, a, a], 1), (32, 33)),
    "stack of one tensor": of(lambda a: torch.stack([a, a], 1).amax(1), (16, 9, 2)),
    "a number in bfloat16": of(lambda a: torch.where(a > 0.5, 1.0, a), (32, 7, 1), dtype="bfloat16"),
    "cat of integers": of(lambda a, b: torch.cat([a, b]), ints(64, 64), ints(32, 64)),
    "returned slice": of(lambda a: torch.exp(a)[3:5], (8, 128)),
    "slice of what lies in LX": of(lambda a: torch.exp(a)[:64] * 2, (128, 128), cores=1),
    "add a ragged transposed": of(lambda a, b: a + b.t(), (100, 150), (150, 100)),
    "negative pad": of(lambda a: F.pad(a, (-64, 64, 1, -2)), (25, 192)),
    "reduction inside sticks": of(lambda a: a[:, 32:96].amax(0), (128, 256)),
    "twice inside sticks": of(lambda a: a[:, 32:96] + a[:, 32:96], (128, 256)),
    "pad": of(lambda a: F.pad(a, (0, 28, 3, 2)), (25, 100)),
    "row slice": of(lambda a: a[64:192] + 1, (256, 128)),
    "slice inside the sticks of ragged rows": of(lambda a: a[:, 1:, 28:60] + 1, (64, 8, 100)),
    "attention written by hand": of(
        lambda q, k, v: torch.softmax(q @ k.mT / 8, -1) @ v, *[(1, 2, 64, 64)] * 2, (1, 2, 64, 128)
    ),
    "stick slice": of(lambda a: a[:, 64:128] * 2, (64, 256)),
    "strided rows": of(lambda a: a[::2] * 2, (64, 128)),
    "selected": of(lambda a: a[3] * a[5], (8, 64, 128)),
    "slice assignment": of(assigned, (64, 256)),
    "slice scatter": of(lambda a: torch.slice_scatter(a, a[:8] * 2, 0, 8, 16), (64, 128)),
    "gather of rows": of(lambda w, i: w[i], (1024, 256), ints(64)),
    "gather of columns": of(lambda w, i: w[:, i], (4, 100, 128), ints(8)),
    "gather by a matrix": of(lambda w, i: w[i] * 2, (100, 128), ints(4, 8)),
    "embedding": of(lambda w, i: F.embedding(i, w), (100, 128), ints(4, 8)),
    "cumsum between kernels": of(lambda a: torch.exp(torch.cumsum(torch.exp(a), 1)), (32, 64)),
    "padded rows": of(lambda a: a * 2, TensorSpec((40, 60), layout=PADDED)),
    "other order": of(lambda a: torch.exp(a) + a, TensorSpec((8, 64, 128), dim_order=(1, 0, 2))),
    "sparse input": of(lambda a: a + a, TensorSpec((512, 256), dim_order=(0, 1, -1))),
    "unimplemented": of(lambda a: torch.exp(torch.erf(a)), (32, 128)),
}
LOOPS = {
    f"{name}, {how}": of(function, *inputs, **options)
    for name, function, inputs in (
        ("nested", tiled(lambda a, b, c: (a + b) * c, ("A", 2), ("B", 4)), [named((128, 512), "A", "B")] * 3),
        ("rows", tiled(torch.matmul, ("M", 4)), [named((64, 128), "M", "K"), named((128, 256), "K", "N")]),
        ("depth", tiled(torch.matmul, ("K", 4)), [named((64, 256), "M", "K"), named((256, 256), "K", "N")]),
        (
            "rows, then depth",
            tiled(torch.matmul, ("M", 2), ("K", 4)),
            [named((64, 256), "M", "K"), named((256, 256), "K", "N")],
        ),
        ("softmax", tiled(lambda a: torch.softmax(a, -1), ("A", 4)), [named((256, 512), "A", "B")]),
        ("maximum of rows", tiled(lambda a: torch.relu(a).amax(0), ("B", 2), ("A", 4)), [named((256, 512), "A", "B")]),
        ("inside and outside", inside_and_outside, [named((128, 256), "A", "B")] * 2),
        ("two loops", two_loops, [named((128, 512), "A", "B")] * 2),
        ("two reductions", tiled(extremes, ("B", 2), ("A", 4)), [named((256, 512), "A", "B")]),
        ("between", loop_between, [named((128, 512), "A", "B")] * 2),
    )
    for how, options in (
        ("unrolled", {"cores": 4}),
        ("counted", {"unroll_loops": False}),
        ("counted, symbolic", {"cores": 8, "unroll_loops": False, "bundle_symbolic_args": True}),
    )
}
OPTIONS = {
    **{
        f"softmax of a sum, {name}": of(softmax_of_sum, (128, 512), cores=4, **options)
        for name, options in {
            "greedy": {},
            "firstfit": {"layout_solver": "firstfit"},
            "bestfit": {"layout_solver": "bestfit"},
            "without LX": {"lx_planning": False},
            "co-optimised": {"co_optimizing_lx_planning": True},
            "all ops in LX": {"allow_all_ops_in_lx_planning": True},
            "little LX": {"lx_bytes": 40000, "allow_all_ops_in_lx_planning": True},
            "symbolic": {"bundle_symbolic_args": True},
        }.items()
    },
    **{
        f"long lives, {solver}, {limit}": of(
            long_lives, (512, 256), (512, 256), cores=8, layout_solver=solver, lx_bytes=limit
        )
        for solver in ("greedy", "firstfit", "bestfit")
        for limit in (1677721, 100000, 70000)
    },
    "scaled sum, all ops in LX": of(
        lambda a, b: torch.add(a, b, alpha=2) + 1, (256, 128), (256, 128), allow_all_ops_in_lx_planning=True
    ),
    "clip, all ops in LX": of(
        lambda a, b: torch.clamp(a * b, -1, 1) + b, (256, 128), (256, 128), allow_all_ops_in_lx_planning=True
    ),
    "two operands that die, all ops in LX": of(
        lambda a, b: torch.tanh(a * b) * torch.neg(a) - b, (256, 128), (256, 128), allow_all_ops_in_lx_planning=True
    ),
    "divisions": of(
        lambda a, b: torch.exp(a @ b), *MM, divisions={"buf0": {"d0": 8, "d1": 4}, "buf1": {"d0": 2, "d1": 16}}
    ),
    "large tensors": of(lambda a, b: a + b, (32, 8193, 1740), (32, 8193, 1740), chunk_large_tensors=True),
    "2 GiB": of(lambda a, b: a + b, (65536, 16384), (65536, 16384)),
    "symbolic matmul": of(lambda a, b: torch.relu(a @ b) * 2, *MM, cores=8, bundle_symbolic_args=True),
    "MLP": of(models.MLP, (64, 128)),
    "BERT layer": of(models.BertLayer, (2, 64, 128)),
    "Llama block": of(models.LlamaBlock, (1, 64, 128), (64, 64), (64, 64)),
}
OURS = {**ELEMENTWISE, **REDUCTIONS, **MATMULS, **MOVES, **LOOPS, **OPTIONS}
WORKED = {
    f"worked: {case['name']}": Program(
        cases.function(case["name"]), cases.inputs(case), case["cores"], dict(case["options"])
    )
    for case in cases.TABLE["compiled"]
    if not case["fails"]
}
"""The worked cases of the front end, whose facts `expected.json` has as the real one gives them."""
PROGRAMS = {**WORKED, **OURS}
