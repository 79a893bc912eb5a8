"""Which ATen op becomes which OpFunc (docs/spyre-rules.md: Op selection)."""

from __future__ import annotations

POINTWISE = {
    "abs": "abs",
    "exp": "exp",
    "floor": "floor",
    "gelu": "gelufwd",
    "log": "log",
    "neg": "neg",
    "reciprocal": "reciprocal",
    "relu": "relufwd",
    "rsqrt": "rsqrt",
    "sigmoid": "sigmoid",
    "silu": "silu",
    "sqrt": "sqrt",
    "tanh": "tanh",
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "logical_and": "mul",
    "div": "realdiv",
    "maximum": "maximum",
    "minimum": "minimum",
    "eq": "equal",
    "ne": "notequal",
    "ge": "greaterequal",
    "gt": "greaterthan",
    "le": "lesserequal",
    "lt": "lesserthan",
    "where": "where3",
}
"""ATen packet -> OpFunc of elementwise ops."""
COMPARISONS = frozenset({"eq", "ne", "ge", "gt", "le", "lt", "logical_and"})
REDUCTIONS = {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min"}
NONSTICK = frozenset({"sum", "max", "min", "mean"})
"""Reductions that get the suffix `nonstick` when the reduced dim is not the stick."""
FALLBACKS = frozenset(
    [
        "cumsum",
        "arange",
        "sin",
        "cos",
        "embedding",
        "isin",
        "tril",
        "triu",
        "bitwise_xor",
        "bitwise_or",
        "argmax",
        "argmin",
        "index_copy",
        "any",
        "normal",
        "random",
        "normal_functional",
        "unfold",
        "reshape_via_cpu",
        "to_dtype_cpu",
        "scalar_tensor",
        "index_put",
        "eye",
        "linspace",
        "randn",
        "rand",
        "bernoulli",
    ]
)
"""Ops that run on the host and cut the kernels."""
HOST_REASONS = {"bits": "the bytes of a tensor are others in the formats of the device"}
"""Why an op of ours runs on the host that upstream does not call there."""
LX_ATEN_OPS = frozenset(["max", "amax", "sum", "exp", "sub", "mul", "mean", "add", "rsqrt"])
"""ATen names whose results may lie in the scratchpad by default."""
MASK_CONSTANT = "samv-maskvalue"
MASK_VALUES = {"max": float("-inf"), "min": float("inf")}
"""What fills the padding of a reduced stick; 0 for every other reduction."""


def mask_value(func: str) -> float:
    return MASK_VALUES.get(func, 0.0)
