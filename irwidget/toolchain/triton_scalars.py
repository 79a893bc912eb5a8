"""Scalars of a launch as its compiled kernel has them, for Triton's interpreter.

By itself the interpreter leaves floats to Python, where they take on the type of what they meet, and gives each int the
narrowest type that holds it, whatever a kernel's annotations say and though an int that is 1 is a constant.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irwidget.toolchain import triton_private

_KIND = re.compile(r"(i|u|fp|bf)(1|8|16|32|64)")


def as_compiled(
    kernel: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of a launch, and defaults, in which floats and ints have the types that Triton's launcher gives them.

    To be asked where the interpreter computes with bfloat16 as it should.
    """
    params = {one.name: one for one in kernel.params}
    args = [_typed(param, value) for param, value in zip(kernel.params, arguments, strict=False)]
    left_out = {one.name: one.default for one in kernel.params[len(args) :] if one.has_default}
    given = {**left_out, **keywords}
    named = {name: _typed(params[name], value) if name in params else value for name, value in given.items()}
    return (*args, *arguments[len(args) :]), named


def _typed(param: Any, value: Any) -> Any:
    """An argument as its parameter has it."""
    return value if param.is_constexpr else _scalar(value, param.annotation_type, not param.do_not_specialize)


def _scalar(value: Any, kind: str, specialized: bool) -> Any:
    """A scalar of a type, or of the one that Triton finds."""
    import triton.language as tl

    if type(value) is tuple:
        return tuple(_scalar(one, "", specialized) for one in value)
    if type(value) not in (bool, int, float):
        return value
    if not kind and type(value) is int:
        return tl.constexpr(1) if value == 1 and specialized else value
    match = _KIND.fullmatch(kind or "fp32" if type(value) is float else kind)
    return value if match is None else _of_type(value, match[0], match[1], match[2])


def _of_type(value: Any, kind: str, letters: str, bits: str) -> Any:
    import triton.language as tl

    module = triton_private.interpreter()
    if kind == "bf16":
        builder = module.interpreter_builder
        return tl.tensor(builder.cast_impl(builder.get_fp32(value), tl.bfloat16), tl.bfloat16)
    name = f"{_NAMES[letters]}{bits}"
    type_, stored = getattr(tl, name), np.bool_ if bits == "1" else name
    return tl.tensor(module.TensorHandle(np.array([value]).astype(stored), type_), type_)


_NAMES = {"i": "int", "u": "uint", "fp": "float"}
