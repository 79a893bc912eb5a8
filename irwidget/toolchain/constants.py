"""The values of constants in MLIR attributes, as bytes: elements row-major, little-endian, a byte for each boolean."""

from __future__ import annotations

import re
from typing import Any

from irwidget.toolchain import mlir

_BLOB = re.compile(r'"0x([0-9A-Fa-f]*)"')
_ALIGNMENT = 4
"""Bytes before a blob that tell its alignment."""
_FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}


def values(attribute: Any) -> bytes:
    """The elements of a dense or resource attribute.

    Raises PassFailed for an element type of which only MLIR knows how it lies in memory.
    """
    return _blob(attribute) if is_resource(attribute) else _dense(mlir.ir.DenseElementsAttr(attribute))


def is_resource(attribute: Any) -> bool:
    """Whether its values are in a resource of the module."""
    try:
        mlir.ir.DenseElementsAttr(attribute)
    except ValueError:
        return True
    return False


def _blob(attribute: Any) -> bytes:
    """A resource's bytes. The bindings have no way to them but the text, in which they are hexadecimal."""
    ir = mlir.ir
    with ir.Location.unknown(attribute.context):
        module = ir.Module.create()
        module.operation.attributes["irwidget.value"] = attribute
        text = module.operation.get_asm()
    found = _BLOB.search(text, text.rfind("{-#")) if "{-#" in text else None
    if found is None:
        raise mlir.PassFailed(f"no values are here of the constant of type {attribute.type}", ())
    return bytes.fromhex(found[1][2 * _ALIGNMENT :])


def _dense(dense: Any) -> bytes:
    import numpy

    element = str(dense.type.element_type)
    count = 1
    for extent in dense.type.shape:
        count *= extent
    kind = _numpy(element)
    if kind is None:
        raise mlir.PassFailed(f"the values of a constant of {element} cannot be read", ())
    if dense.is_splat:
        return numpy.full(count, dense.get_splat_value().value, kind).tobytes()
    ir = mlir.ir
    numbers: Any = (ir.DenseFPElementsAttr if element in _FLOATS else ir.DenseIntElementsAttr)(dense)
    try:
        return numpy.array(list(numbers)).astype(kind).tobytes()
    except TypeError:  # half precision, which the iterator lacks, has a buffer
        pass
    try:
        return numpy.array(numbers).astype(kind).tobytes()
    except (TypeError, ValueError):  # the bindings have no numbers for it, as for bf16
        return _printed(str(dense), kind)


def _printed(text: str, kind: Any) -> bytes:
    """The values of a constant as MLIR prints them: all bytes, or numbers, of which some are written as bits."""
    import numpy

    body = text[text.index("<") + 1 : text.rindex(">", 0, text.rindex(" : "))]
    if body.startswith('"0x'):
        return bytes.fromhex(body[3:-1])
    bits = numpy.dtype(f"uint{8 * kind.itemsize}")
    made = [
        bits.type(int(number, 16)) if number.startswith("0x") else numpy.array(float(number)).astype(kind).view(bits)
        for number in _NUMBER.findall(body)
    ]
    return numpy.array(made, bits).tobytes()


_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?")


def _numpy(element: str) -> Any:
    """The numpy type of MLIR's element type; None where there is none."""
    import ml_dtypes
    import numpy

    if element in _FLOATS:
        return numpy.dtype(ml_dtypes.bfloat16 if element == "bf16" else _FLOATS[element])
    if element == "i1":
        return numpy.dtype("bool")
    match = re.fullmatch(r"([su]?)i(8|16|32|64)", element)
    return numpy.dtype(f"{'u' if match[1] == 'u' else ''}int{match[2]}") if match else None
