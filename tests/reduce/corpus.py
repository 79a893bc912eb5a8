"""Failures with known causes, fifteen of each kind: MLIR, LLVM IR, PyTorch, kernels of Triton, kernels of Helion.

Each is a small cause among much that has nothing to do with it. `python -m benchmarks.reduce` and
`pytest tests/reduce --exhaustive` make all of them small.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A program, how it is lowered, and what must be left of it."""

    name: str
    kind: str
    """`mlir`, `llvm`, `pytorch`, `triton` or `helion`."""
    text: str
    how: tuple[str, ...]
    """A custom pipeline for IR; of Python, what `irwidget lower FILE` has after it."""
    left: str
    """What the smallest program still has."""
    predicate: Callable[[str], bool] | None = None
    """Of the last text, where no pass fails."""


def _has(word: str) -> Callable[[str], bool]:
    return lambda text: word in text


# MLIR

_TO_LLVM = "mlir-opt --convert-scf-to-cf --convert-cf-to-llvm --convert-arith-to-llvm --convert-func-to-llvm"
_TRANSLATED = f"{_TO_LLVM} | mlir-translate --mlir-to-llvmir"


def _module(middle: str, count: int = 40, more: str = "") -> str:
    """A function with a cause between additions, beside others."""
    names = ["%a", *(f"%s{i}" for i in range(count))]
    lines = [f"%s{i} = arith.addf {names[i]}, %b : f32" for i in range(count)]
    lines[count // 2 : count // 2] = middle.strip().split("\n")
    body = "\n".join(f"  {line}" for line in lines)
    arguments = "%a: f32, %b: f32, %i: index, %n: i32, %m: memref<8xf32>, %v: vector<8xf32>, %z: i1" + more
    return (
        f"func.func @f({arguments}) -> f32 {{\n{body}\n  return {names[-1]} : f32\n}}\n"
        "func.func @other(%a: i32) -> i32 {\n  %0 = arith.muli %a, %a : i32\n  return %0 : i32\n}\n"
    )


_UNTRANSLATED = {
    "math.erf": "%q = math.erf %s3 : f32",
    "memref.load": "%q = memref.load %m[%i] : memref<8xf32>",
    "tensor.from_elements": "%q = tensor.from_elements %s1, %s2 : tensor<2xf32>",
    "vector.reduction": "%q = vector.reduction <add>, %v : vector<8xf32> into f32",
    "complex.create": "%q = complex.create %s1, %s2 : complex<f32>\n%q2 = complex.re %q : complex<f32>",
    "index.add": "%q = index.add %i, %i",
    "affine.apply": "%q = affine.apply affine_map<(d0) -> (d0 + 1)>(%i)",
    "linalg.fill": "linalg.fill ins(%s1 : f32) outs(%m : memref<8xf32>)",
    "gpu.thread_id": "%q = gpu.thread_id x",
}
_LOOP = """\
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%r = scf.for %k = %c0 to %i step %c1 iter_args(%x = %s1) -> (f32) {
  %w = scf.if %z -> f32 {
    %q = math.atan %x : f32
    scf.yield %q : f32
  } else {
    scf.yield %x : f32
  }
  scf.yield %w : f32
}"""
MLIR = [
    *(Case(name, "mlir", _module(text), (_TRANSLATED,), name) for name, text in _UNTRANSLATED.items()),
    Case("in a loop", "mlir", _module(_LOOP), (_TRANSLATED,), "math.atan"),
    Case(
        "a cast that nothing reconciles",
        "mlir",
        _module(_UNTRANSLATED["memref.load"]),
        (f"{_TO_LLVM} --convert-index-to-llvm --reconcile-unrealized-casts | mlir-translate --mlir-to-llvmir",),
        "memref",
    ),
    Case(
        "a type of an argument",
        "mlir",
        _module(_UNTRANSLATED["math.erf"], more=", %t: tensor<8xf32>"),
        (_TRANSLATED,),
        "tensor<8xf32>",
    ),
    Case(
        "no SPIR-V for it",
        "mlir",
        _module("%q = math.erf %s3 : f32"),
        (
            "mlir-opt --convert-math-to-spirv --convert-arith-to-spirv --convert-func-to-spirv | mlir-translate "
            "--mlir-to-llvmir",
        ),
        "",
    ),
    Case(
        "what canonicalisation leaves",
        "mlir",
        _module(
            "%k = arith.index_cast %i : index to i32\n%q = arith.remsi %n, %k : i32\n"
            "%w = arith.sitofp %q : i32 to f32\nmemref.store %w, %m[%i] : memref<8xf32>"
        ),
        ("mlir-opt --canonicalize --cse",),
        "arith.remsi",
        _has("arith.remsi"),
    ),
    Case(
        "a store that stays",
        "mlir",
        _module("memref.store %s4, %m[%i] : memref<8xf32>"),
        ("mlir-opt --canonicalize --cse --symbol-dce",),
        "memref.store",
        _has("memref.store"),
    ),
]

# LLVM IR


def _function(middle: str, *, declares: str = "", attributes: str = "", count: int = 40) -> str:
    names = ["%a", *(f"%s{i}" for i in range(count))]
    lines = [f"%s{i} = add i32 {names[i]}, %b" for i in range(count)]
    lines[count // 2 : count // 2] = middle.strip().split("\n")
    body = "\n".join(f"  {line}" for line in lines)
    return (
        "@table = global [4 x i32] [i32 1, i32 2, i32 3, i32 4]\n"
        f"{declares}\ndeclare i32 @callee(i32)\n"
        f"define i32 @f(i32 %a, i32 %b, ptr %p, i64 %l, double %d) {attributes} {{\nentry:\n"
        "  %c0 = icmp sgt i32 %a, 0\n  br i1 %c0, label %then, label %done\nthen:\n"
        f"{body}\n  br label %done\ndone:\n  %r = phi i32 [ 0, %entry ], [ {names[-1]}, %then ]\n  ret i32 %r\n}}\n"
        "define i32 @g(i32 %x) {\n  %y = call i32 @f(i32 %x, i32 %x, ptr null, i64 0, double 0.0)\n  ret i32 %y\n}\n"
    )


def _llvm(name: str, how: str, left: str, middle: str, **more: object) -> Case:
    predicate = more.pop("predicate", None)
    return Case(name, "llvm", _function(middle, **more), (how,), left, predicate)  # type: ignore[arg-type]


LLVM = [
    Case(
        "an indirect branch for PTX",
        "llvm",
        _function("%q = xor i32 %s1, 5").replace("br label %done", "indirectbr ptr %p, [label %done]"),
        ("llc -mtriple=nvptx64",),
        "indirectbr",
    ),
    _llvm(
        "a garbage collector that there is not", "opt -O1 | llc", "gc", "%q = xor i32 %s1, 5", attributes='gc "none"'
    ),
    _llvm(
        "a stack that BPF lacks",
        "llc -mtriple=bpf",
        "call",
        "%q = call i32 @six(i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 %s1)",
        declares="declare i32 @six(i32, i32, i32, i32, i32, i32, i32)",
    ),
    _llvm(
        "a calling convention that BPF lacks",
        "llc -mtriple=bpf",
        "ghccc",
        "%q = xor i32 %s1, 5",
        declares="define ghccc i32 @m(i32 %a) {\n  %q = add i32 %a, 1\n  ret i32 %q\n}",
    ),
    _llvm(
        "a register that there is not", "llc -mtriple=x86_64", "asm", 'call void asm sideeffect "", "{nosuch}"(i32 %s3)'
    ),
    _llvm("a constraint that is not known", "llc -mtriple=x86_64", "asm", '%q = call i32 asm "", "=W,W"(i32 %s3)'),
    _llvm("a wide atomic", "llc -mtriple=bpf", "atomicrmw", "%q = atomicrmw nand ptr %p, i32 %s3 seq_cst"),
    _llvm(
        "a dynamic stack on BPF",
        "llc -mtriple=bpf",
        "alloca",
        "%q = alloca i32, i64 %l\nstore volatile i32 %s2, ptr %q",
    ),
    _llvm(
        "a named register",
        "llc -mtriple=x86_64",
        "read_register",
        "%q = call i64 @llvm.read_register.i64(metadata !0)",
        declares='declare i64 @llvm.read_register.i64(metadata)\n!0 = !{!"nosuch"}',
    ),
    _llvm("floats on BPF", "llc -mtriple=bpf", "fdiv", "%q = fdiv double %d, 3.0\nstore double %q, ptr %p"),
    _llvm(
        "a module that does not verify",
        "opt -passes=verify",
        "@llvm",
        "%q = call i32 @llvm.abs.i32(i32 %s3, i1 %c0)",
        declares="declare i32 @llvm.abs.i32(i32, i1)",
    ),
    _llvm(
        "what optimising leaves",
        "opt -O2",
        "sdiv",
        "%q = sdiv i32 %s3, %b\n%w = call i32 @callee(i32 %q)",
        predicate=_has("sdiv"),
    ),
    _llvm(
        "a call that stays", "opt -O2", "@callee", "%q = call i32 @callee(i32 %s3)", predicate=_has("call i32 @callee")
    ),
    _llvm(
        "an instruction of the machine",
        "llc -mtriple=x86_64",
        "bswap",
        "%q = call i32 @llvm.bswap.i32(i32 %s3)\nstore i32 %q, ptr %p",
        declares="declare i32 @llvm.bswap.i32(i32)",
        predicate=_has("bswap"),
    ),
    _llvm(
        "a volatile store",
        "opt -O3",
        "store volatile",
        "store volatile i32 %s9, ptr %p",
        predicate=_has("store volatile"),
    ),
]

# PyTorch


def _model(middle: str, *, inputs: str = "torch.randn(8, 16)", body: str = "y = self.layers(x)") -> str:
    return textwrap.dedent(f"""\
        import torch
        import irwidget

        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                blocks = [torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.GELU(), torch.nn.LayerNorm(16))]
                self.layers = torch.nn.Sequential(*blocks)

            def forward(self, x):
                {body}
                z = {middle}
                return self.layers(y), z

        irwidget.explore(Net().eval(), {inputs})
        """)


_LINALG = ("--to", "linalg_on_tensors_mlir")
_UNSUPPORTED = {
    "linalg_eigh": "torch.linalg.eigh(y @ y.T)[0] + 1",
    "linalg_svd": "torch.linalg.svdvals(y) * 2",
    "linalg_qr": "torch.linalg.qr(y)[0] - y.mean()",
    "linalg_solve": "torch.linalg.solve(y @ y.T, y)",
    "cholesky": "torch.linalg.cholesky(y @ y.T)",
    "linalg_lu": "torch.linalg.lu_factor(y @ y.T)[0]",
    "geqrf": "torch.geqrf(y)[0] * y",
    "grid_sampler_3d": "torch.nn.functional.grid_sample(y.view(1, 1, 2, 8, 8), y[:3].view(1, 2, 2, 4, 3))",
    "mode": "torch.mode(y)[0] + 1",
    "special_bessel_j0": "torch.special.bessel_j0(y) + y",
    "igamma": "torch.special.gammainc(y.abs(), y.abs())",
    "polygamma": "torch.polygamma(2, y) * y",
    "histc": "torch.histc(y, 4) + 1",
    "linalg_eig": "torch.linalg.eig(y[:, :8])[0].real",
    "segment_reduce": "torch.lgamma(y) + y",
}
PYTORCH = [Case(name, "pytorch", _model(middle), _LINALG, "") for name, middle in _UNSUPPORTED.items()]

# Kernels


def _triton(middle: str, *, more: str = "") -> str:
    return textwrap.dedent(f"""\
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def helper(x):
            return x * 2 + 1

        @triton.jit
        def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
            pid = tl.program_id(0)
            offsets = pid * BLOCK + tl.arange(0, BLOCK)
            mask = offsets < n
            x = tl.load(x_ptr + offsets, mask=mask)
            x = helper(x)
            for i in range(4):
                x = x + tl.exp(x) * i
            {middle}
            tl.store(y_ptr + offsets, x, mask=mask)

        x, y = torch.ones(1024), torch.ones(1024)
        kernel[(8,)](x, y, 1024, BLOCK=128{more})
        """)


_TTGIR = ("--to", "triton_gpu_ir", "--arch", "sm_90")
_REFUSED = {
    "a range that is no power of two": "z = tl.arange(0, 100)",
    "a range that ends first": "z = tl.arange(8, 8)",
    "a product of vectors": "z = tl.dot(x, x)",
    "shapes that do not fit": "z = x + tl.arange(0, 64)",
    "a view of another size": "z = tl.reshape(x, (3, 5))",
    "a name that is not there": "z = nothing + x",
    "a transpose of a vector": "z = tl.permute(x, (1, 0))",
    "a reduction over what is not there": "z = tl.sum(x, axis=3)",
    "an assertion": "tl.static_assert(BLOCK == 64, 'small')",
    "a loop that breaks": "while n > 0:\n                break",
    "a float that is shifted": "z = 1.0 << 1",
    "a shape that is no power of two": "z = tl.full((33,), 0, dtype=tl.int64)",
    "a dimension of nothing": "z = tl.expand_dims(None, -1)",
}
_HELION = """\
import torch
import irwidget
import helion
import helion.language as hl

@helion.kernel(config=helion.Config(block_sizes=[32]), static_shapes=True)
def kernel(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        a = x[tile] + y[tile]
        b = torch.exp(a) * 2
        {middle}
        out[tile] = a + b
    return out

irwidget.explore(kernel, torch.ones(256), torch.ones(256))
"""
_REFUSED_HELION = {
    "an operator that Helion lacks": "c = torch.linalg.eigh(a)",
    "a name that Helion does not find": "c = nothing + a",
    "a tile of a tile": "for inner in hl.grid(helion):\n            b = b + 1",
    "a product of vectors": "c = hl.dot(a, b)",
    "a view of another size": "c = a.view(5, 7)",
    "shapes that do not fit": "c = a + y[0:3]",
    "a size that depends on values": "c = torch.nonzero(a)",
    "a value as a number": "c = a.sum().item()",
    "an exception": "try:\n            b = b + 1\n        except ValueError:\n            b = b + 2",
    "a scan by no function": "c = hl.associative_scan(None, a, dim=0)",
    "an assertion": "assert tile.begin == 3",
    "a return from a loop": "return b",
}
_MODULE_OF = ("--to", "helion_mlir")


def _helion(name: str, middle: str, *more: str, left: str = "", predicate: Callable[[str], bool] | None = None) -> Case:
    return Case(name, "helion", _HELION.format(middle=middle), (*_MODULE_OF, *more), left, predicate)


TRITON = [
    *(Case(name, "triton", _triton(middle), _TTGIR, "") for name, middle in _REFUSED.items()),
    Case("a loop that is pipelined", "triton", _triton("x = tl.sqrt(x)"), _TTGIR, "sqrt", _has("math.sqrt")),
    Case("an atomic", "triton", _triton("tl.atomic_add(y_ptr + offsets, x)"), _TTGIR, "atomic", _has("tt.atomic_rmw")),
]
HELION = [
    *(_helion(name, middle) for name, middle in _REFUSED_HELION.items()),
    _helion("no translation of it", "b = torch.erf(a)", "--pipeline", _TRANSLATED),
    _helion("an error function", "b = torch.erf(a)", left="erf", predicate=_has("math.erf")),
    _helion("an atomic", "hl.atomic_add(out, [tile], a)", left="atomic", predicate=_has("memref.atomic_rmw")),
]
CASES = [*MLIR, *LLVM, *PYTORCH, *TRITON, *HELION]
