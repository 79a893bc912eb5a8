"""PyTorch's dtypes and the element types of MLIR that hold them."""

from __future__ import annotations

import torch

from irwidget.helion.bindings import ir

_ELEMENT_TYPES = {
    torch.float64: "f64",
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.int16: "i16",
    torch.int8: "i8",
    torch.uint8: "i8",
    torch.bool: "i1",
    torch.uint16: "i16",
    torch.uint32: "i32",
    torch.uint64: "i64",
    torch.float4_e2m1fn_x2: "i8",  # two to a byte
    torch.float8_e4m3fn: "f8E4M3FN",
    torch.float8_e5m2: "f8E5M2",
    torch.float8_e4m3fnuz: "f8E4M3FNUZ",
    torch.float8_e5m2fnuz: "f8E5M2FNUZ",
}

WIDER = {
    torch.uint8: torch.int32,
    torch.uint16: torch.int32,
    torch.uint32: torch.int64,
    torch.uint64: torch.int64,
}
"""The signed dtype that stands for an unsigned one in calculations."""


def element_type_name(dtype: torch.dtype) -> str:
    """MLIR's name for a dtype, such as `f32`.

    Raises:
        KeyError: MLIR's stock dialects have no type for it.
    """
    return _ELEMENT_TYPES[dtype]


def is_float(element: ir.Type) -> bool:
    """Whether an element type is a floating-point one."""
    return not isinstance(element, (ir.IntegerType, ir.IndexType))
