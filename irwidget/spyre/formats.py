"""Which torch dtype becomes which device format, and which op takes which (docs/spyre-rules.md: Data formats)."""

from __future__ import annotations

from dataclasses import dataclass

from irwidget.errors import UnsupportedError, near

FORMAT_NUMBERS = {
    "SEN169_FP16": 0,
    "IEEE_FP32": 1,
    "INVALID": 2,
    "SEN143_FP8": 3,
    "SEN152_FP8": 4,
    "SEN153_FP9": 5,
    "SENINT2": 6,
    "SENINT4": 7,
    "SENINT8": 8,
    "SENINT16": 9,
    "SENINT24": 10,
    "IEEE_INT64": 11,
    "IEEE_INT32": 12,
    "SENUINT32": 13,
    "SENUINT2": 14,
    "IEEE_FP16": 15,
    "BOOL": 16,
    "BFLOAT16": 17,
    "SEN18F_FP24": 18,
}


@dataclass(frozen=True, slots=True)
class DeviceFormat:
    """How elements of a dtype lie on the device."""

    name: str
    elements_per_stick: int

    @property
    def bytes(self) -> int:
        return 128 // self.elements_per_stick


_DL16 = DeviceFormat("SEN169_FP16", 64)
_FORMATS = {
    "float16": _DL16,
    "bfloat16": _DL16,
    "bool": _DL16,
    "float32": DeviceFormat("IEEE_FP32", 32),
    "int32": DeviceFormat("IEEE_INT32", 32),
    "int64": DeviceFormat("IEEE_INT32", 32),
    "int8": DeviceFormat("SENINT8", 128),
    "int16": DeviceFormat("SENINT16", 64),
    "uint8": DeviceFormat("SENUINT32", 32),
    "float8_e4m3fn": DeviceFormat("SEN143_FP8", 128),
    "float8_e5m2fnuz": DeviceFormat("SEN152_FP8", 128),
}

_FP32_OPS = frozenset(
    (
        "add",
        "sub",
        "mul",
        "where",
        "realdiv",
        "relufwd",
        "reciprocal",
        "mean",
        "sum",
        "max",
        "min",
        "layernormscale",
        "abs",
        "neg",
        "exp",
        "sigmoid",
        "exx2",
        "layernormnorm",
        "identity",
        "sqrt",
        "rsqrt",
        "topkvalue",
        "topkindex",
        "floor",
        "maximum",
        "minimum",
    )
)
_FP8_OPS = frozenset({"qfp8ch", "fp8todl16", "batchmatmulfp8"})
_ANY_FORMAT_OPS = frozenset({"identity", "dl16tofp32", "fp32todl16", "fp8todl16"})

_CASTS = {
    ("float16", "float32"): "dl16tofp32",
    ("bfloat16", "float32"): "dl16tofp32",
    ("float32", "float16"): "fp32todl16",
    ("float32", "bfloat16"): "fp32todl16",
    ("float8_e4m3fn", "float16"): "fp8todl16",
    ("float16", "bool"): "identity",
    ("bool", "float16"): "identity",
    ("float16", "bfloat16"): "identity",
    ("bfloat16", "float16"): "identity",
}


def dtype_name(dtype: object) -> str:
    """`float16` from "float16", `torch.float16` or `numpy.float16`."""
    text = str(dtype).rsplit(".", 1)[-1].strip("'<>")
    return {"half": "float16", "float": "float32", "long": "int64", "int": "int32"}.get(text, text)


def device_format(dtype: str) -> DeviceFormat:
    """The format of a torch dtype by name; UnsupportedError for those the device has none for."""
    found = _FORMATS.get(dtype)
    if found is None:
        raise UnsupportedError(
            f"Spyre has no device format for {dtype}: cast the tensor to float16 or float32 first. "
            + near(dtype, _FORMATS)
        )
    return found


def cast_op(source: str, target: str) -> str | None:
    """The OpFunc that casts on the device; None when the cast has to run on the CPU."""
    return _CASTS.get((source, target))


def check_format(op: str, dtype: str, where: str = "") -> None:
    """Refuse a data format that an OpFunc does not take."""
    fmt = device_format(dtype).name
    if fmt == "SEN169_FP16" or op in _ANY_FORMAT_OPS:
        return
    if fmt == "IEEE_FP32" and op in _FP32_OPS:
        return
    if fmt in ("SEN143_FP8", "SEN152_FP8") and op in _FP8_OPS:
        return
    raise UnsupportedError(
        f"Spyre backend does not support: {op} on DataFormats.{fmt}{where}. Cast its operands to float16."
    )
