"""How compiled code is called: MLIR's calling convention, and arguments and results as arrays of words.

A memref is a pointer twice, an offset, sizes and strides, one argument each, and the same in a struct as a result;
several results are a struct of them. A function put beside the one that is called takes all of them from one array of
words and leaves the results in another, so that nothing here depends on how structs are returned.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from irwidget.toolchain.events import Array, Invocation, MemRef, Value

ENTRY = "irwidget.call"
"""The name of the function put beside."""
_WORD = 8


class NotCallable(Exception):
    """The function is not one that takes and returns what it should; the message says why."""


@dataclass(frozen=True, slots=True)
class ReturnedValue:
    """Where a result is among the words that the wrapper writes."""

    word: int
    rank: int | None
    """Of a tensor; None for a number."""
    itemsize: int
    kind: str
    """LLVM's type of a number."""


@dataclass(frozen=True, slots=True)
class CallingConvention:
    """How a function is called."""

    wrapper: str
    """LLVM IR of the function put beside."""
    arguments: tuple[str, ...]
    """LLVM's types of its arguments."""
    results: tuple[ReturnedValue, ...]
    words: int
    """Of all results together."""
    function: str
    """Its name."""


def plan(signature: Any, invocation: Invocation) -> CallingConvention:
    """How to call a function of this LLVM type, and where its results will be. Raises NotCallable."""
    name = invocation.function
    arguments = tuple(str(kind) for kind in signature.get_function_parameters())
    returned = signature.get_function_return()
    single = [str(returned)] if str(returned) != "void" else []
    parts = list(returned.elements) if returned.is_struct and not _is_memref(returned) else []
    kinds = [str(part) for part in parts] or single
    types = parts or ([returned] if single else [])
    if len(kinds) != len(invocation.results):
        raise NotCallable(f"@{name} returns {len(kinds)} results, and eager PyTorch {len(invocation.results)}")
    results: list[ReturnedValue] = []
    word = 0
    for part, itemsize in zip(types, invocation.results, strict=True):
        rank = _rank(part) if _is_memref(part) else None
        if (rank is None) != (itemsize is None):
            wanted = "tensor" if itemsize else "number"
            raise NotCallable(f"@{name} returns {part} where eager PyTorch returns a {wanted}")
        results.append(ReturnedValue(word, rank, itemsize or 0, str(part)))
        word += 1 if rank is None else 3 + 2 * rank
    wrapper = _wrapper(name, str(returned), arguments, kinds, results, bool(parts))
    return CallingConvention(wrapper, arguments, tuple(results), word, name)


def _is_memref(kind: Any) -> bool:
    elements = [str(element) for element in kind.elements] if kind.is_struct else []
    return elements[:3] == ["ptr", "ptr", "i64"]


def _rank(kind: Any) -> int:
    elements = list(kind.elements)
    return elements[3].element_count if len(elements) > 3 else 0


def _wrapper(
    name: str,
    returned: str,
    arguments: Sequence[str],
    kinds: Sequence[str],
    results: Sequence[ReturnedValue],
    several: bool,
) -> str:
    """LLVM IR of a function that loads the arguments from one array of words and stores the results in another."""
    callee = f'@"{name}"'
    lines = [f"declare {returned} {callee}({', '.join(arguments)})", f'define void @"{ENTRY}"(ptr %in, ptr %out) {{']
    for number, kind in enumerate(arguments):
        lines.append(f"  %p{number} = getelementptr i8, ptr %in, i64 {_WORD * number}")
        lines.append(f"  %a{number} = load {kind}, ptr %p{number}")
    passed = ", ".join(f"{kind} %a{number}" for number, kind in enumerate(arguments))
    lines.append(f"  {'%r = ' if kinds else ''}call {returned} {callee}({passed})")
    for number, (kind, result) in enumerate(zip(kinds, results, strict=True)):
        value = "%r"
        if several:
            value = f"%e{number}"
            lines.append(f"  {value} = extractvalue {returned} %r, {number}")
        lines.append(f"  %o{number} = getelementptr i8, ptr %out, i64 {_WORD * result.word}")
        lines.append(f"  store {kind} {value}, ptr %o{number}")
    return "\n".join([*lines, "  ret void", "}", ""])


def arguments(
    call: CallingConvention, values: Sequence[Value | MemRef], base: int, hold: Callable[[bytes], int]
) -> Any:
    """The words that the wrapper loads for a set of inputs. Raises NotCallable.

    `base` is the address of the memory of buffers, and `hold` puts bytes into memory and says where.
    """
    words: list[bytes] = []
    for value in values:
        if isinstance(value, Array):
            address = hold(value.data)
            numbers = (address, address, 0, *value.shape, *_strides(value.shape))
            words += [number.to_bytes(_WORD, "little") for number in numbers]
        elif isinstance(value, MemRef):
            numbers = (base + value.start, base + value.start, 0, *value.shape, *value.strides)
            words += [number.to_bytes(_WORD, "little") for number in numbers]
        elif isinstance(value, float):
            words.append(bytes(ctypes.c_double(value)))
        else:
            words.append(int(value).to_bytes(_WORD, "little", signed=True))
    if len(words) != len(call.arguments):
        takes = f"@{call.function} takes {len(call.arguments)} words of arguments"
        raise NotCallable(f"{takes}, and the inputs have {len(words)}")
    data = b"".join(words)
    return ctypes.create_string_buffer(data, max(1, len(data)))


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def read(result: ReturnedValue, words: Any) -> Value:
    """A result: a number, or a tensor's elements, row-major whatever its strides."""
    if result.rank is None:
        return _number(result.kind, int(words[result.word]))
    _, aligned, offset, *rest = words[result.word : result.word + 3 + 2 * result.rank]
    shape, strides = rest[: result.rank], rest[result.rank :]
    size = result.itemsize
    if any(extent < 0 for extent in shape):
        return Array(b"", tuple(shape))
    if strides == _strides(shape):
        return Array(ctypes.string_at(aligned + offset * size, math.prod(shape) * size), tuple(shape))
    data = bytearray()
    for index in itertools.product(*map(range, shape)):
        place = offset + sum(i * stride for i, stride in zip(index, strides, strict=True))
        data += ctypes.string_at(aligned + place * size, size)
    return Array(bytes(data), tuple(shape))


def _number(kind: str, word: int) -> int | float | bool:
    data = word.to_bytes(_WORD, "little", signed=True)
    if kind == "double":
        return ctypes.c_double.from_buffer_copy(data).value
    if kind == "float":
        return ctypes.c_float.from_buffer_copy(data).value
    width = int(kind.removeprefix("i"))
    if width == 1:
        return bool(data[0] & 1)
    return int.from_bytes(data[: width // 8], "little", signed=True)
