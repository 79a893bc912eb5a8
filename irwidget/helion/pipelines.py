"""From the raw module to each output type, and from there to LLVM, as steps of textual pipelines.

These are torch-mlir's own pipelines without the passes that insist on tensors
at function boundaries (a kernel's function takes buffers), and without those
that find nothing to do: there is one function to inline, nothing is quantised,
and a canonicalize at the end of each step makes the same module as one after
every few passes.
"""

from __future__ import annotations

from irwidget.errors import UsageError, near
from irwidget.helion import tools
from irwidget.trace import Step

ATEN = ("raw", "linalg-on-tensors", "tosa", "stablehlo")
"""The forms that ATen nodes can take in the module."""

_TORCH = (
    "builtin.module(func.func(torch-reduce-op-variants,torch-decompose-complex-ops,torch-recompose-complex-ops,"
    "canonicalize))"
)

_CLEAN = "torch-finalizing-backend-type-conversion,canonicalize,cse"

_OUTPUT = {
    "linalg-on-tensors": (
        "builtin.module(func.func(convert-torch-to-tmtensor{allow-non-finites=true},"
        "convert-torch-to-linalg{allow-non-finites=true},cse,convert-torch-to-scf,convert-torch-to-arith,"
        f"convert-torch-to-tensor,{_CLEAN}))"
    ),
    "tosa": (
        "builtin.module(func.func(convert-torch-to-tosa{require-full-tosa-conversion=false},convert-torch-to-arith,"
        f"tosa-layerwise-constant-fold,tosa-reduce-transposes,tosa-make-broadcastable,{_CLEAN}))"
    ),
    "stablehlo": (
        "builtin.module(func.func(convert-torch-to-stablehlo{allow-non-finites=true},chlo-legalize-to-stablehlo,"
        f"convert-torch-to-arith,cse,{_CLEAN},stablehlo-canonicalize-dynamism,canonicalize))"
    ),
}

_TO_LINALG = {
    "tosa": (
        "builtin.module(func.func(tosa-to-linalg-named,tosa-to-linalg,tosa-to-arith,tosa-to-tensor,tosa-to-scf),"
        "canonicalize,cse)"
    ),
    "stablehlo": "builtin.module(stablehlo-legalize-to-linalg,canonicalize,cse)",
}

_REPAIRED = {"tosa": (Step(tools.EXTREMA, ""),)}

_BUFFERS = (
    "builtin.module(canonicalize,linalg-fuse-elementwise-ops,canonicalize,cse,"
    "one-shot-bufferize{bufferize-function-boundaries "
    "allow-return-allocs-from-loops=true function-boundary-type-conversion=identity-layout-map},"
    "func.func(scf-forall-to-for),buffer-deallocation-pipeline,canonicalize,cse)"
)

NOT_DEALLOCATED = "memref.generic_atomic_rmw"
"""MLIR's deallocation does not know this op; modules with it keep their buffers to the end."""

_ASSERT = "generate-runtime-verification,"
"""Asserts before every access of memory that it lies inside its buffer."""

# Buffers before constants: the size of a dim whose number is no constant of arith any more is read from the stack,
# which grows with every turn of a loop. Once more after them: an atomic whose body computes has none of arith then.
# Functions of the C library before formulas of MLIR's, whose asinh of -1e5 is -inf, and of 1e-8 is 0.
_LLVM = (
    "builtin.module(func.func(refback-munge-memref-copy),func.func(convert-linalg-to-loops,"
    "math-extend-to-supported-types,arith-emulate-unsupported-floats{source-types=bf16 target-type=f32}),"
    "expand-strided-metadata,lower-affine,convert-scf-to-cf,memref-expand,func.func(arith-expand{include-bf16=true}),"
    "convert-math-to-llvm,convert-math-to-libm,math-expand-ops,convert-math-to-llvm,"
    "expand-strided-metadata,lower-affine,finalize-memref-to-llvm,convert-index-to-llvm,"
    "convert-arith-to-llvm,finalize-memref-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,reconcile-unrealized-casts,canonicalize,cse)"
)


def check(aten: str) -> None:
    """Raise UsageError for an output type that does not exist."""
    if not isinstance(aten, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UsageError(
            f"The output type is one of {', '.join(ATEN)}, not a {type(aten).__name__}; "
            "a kernel's arguments are one tuple: lower_kernel(kernel, (x, y))."
        )
    if aten not in ATEN:
        raise UsageError(f"There is no output type {aten!r} for ATen nodes. {near(aten, ATEN)}")


_INSTEAD = (
    "convert-torch-to-arith,",
    "convert-torch-to-linalg{allow-non-finites=true},convert-torch-to-scf,"
    "convert-torch-to-arith,convert-torch-to-tensor,",
)
"""Where tosa and stablehlo take what they have no form for to linalg."""


def steps(aten: str, *, instead: bool = False) -> tuple[Step, ...]:
    """The steps from the raw module to an output type; none for `raw`.

    With `instead`, nodes that tosa or stablehlo has no form for become linalg.
    """
    check(aten)
    if aten == "raw":
        return ()
    to = _OUTPUT[aten].replace(*_INSTEAD, 1) if instead and aten in FALLBACK else _OUTPUT[aten]
    return (
        Step("torch-mlir-opt", _TORCH, "torch backend"),
        Step("torch-mlir-opt", to, f"to {aten}"),
    )


def last_pass(aten: str) -> str:
    """The name of the last pass of `steps`."""
    return _OUTPUT[aten].rstrip(")").rpartition(",")[2]


FALLBACK = ("tosa", "stablehlo")
"""Output types that lack some ops, which linalg has."""


_NODE = (
    "builtin.module(func.func(torch-match-quantized-custom-ops),"
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=})"
)


def node_steps(aten: str) -> tuple[Step, ...]:
    """The steps for a module of one imported node, whose function takes tensors: torch-mlir's own pipelines."""
    check(aten)
    options = "" if aten == "tosa" else "{allow-non-finites=true}"
    return (
        Step("torch-mlir-opt", _NODE, "torch backend"),
        Step("torch-mlir-opt", f"builtin.module(torch-backend-to-{aten}-backend-pipeline{options})", f"to {aten}"),
    )


def llvm_steps(aten: str, *, deallocate: bool = True, check_bounds: bool = False) -> tuple[Step, ...]:
    """The steps from an output type to the LLVM dialect; `raw` goes by linalg.

    With `check_bounds`, what is made of it ends with a message where an access lies outside of its buffer.
    """
    check(aten)
    first = steps("linalg-on-tensors") if aten == "raw" else ()
    if aten in _TO_LINALG:
        first = (Step("torch-mlir-opt", _TO_LINALG[aten], "to linalg"), *_REPAIRED.get(aten, ()))
    buffers = _BUFFERS if deallocate else _BUFFERS.replace("buffer-deallocation-pipeline,", "")
    llvm = _LLVM.replace("builtin.module(", f"builtin.module({_ASSERT}", 1) if check_bounds else _LLVM
    narrow, digits = Step(tools.NARROW_FLOATS, ""), Step(tools.DIGITS, "")
    return (*first, narrow, Step("mlir-opt", buffers, "bufferize"), digits, Step("mlir-opt", llvm, "to llvm"))


LEFTOVERS = ("torch.", "torch_c.", "chlo.", "tm_tensor.")
"""Dialects that must be gone after the lowering to an output type other than raw."""
