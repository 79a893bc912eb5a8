"""Triton's interpreter, run in a copy of this process: watched, and with floats that NumPy does not have.

NumPy has no bfloat16: the interpreter keeps its bits as integers, adds these as such, and cuts off what does not fit
where a GPU rounds. Here such operations are done in float32 and rounded to nearest, which gives what one rounding does.
"""

from __future__ import annotations

import functools
import traceback
import types
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import numpy as np

from irwidget.toolchain import triton_private, triton_scalars


class Watch(Protocol):
    """Is told of each access of an interpreted kernel to memory, before it happens: addresses, and bytes at each."""

    def placed(self, pointers: Any) -> Any:
        """The addresses that are accessed for those that the kernel names."""
        ...

    def read(self, pointers: Any, width: int) -> None: ...
    def write(self, pointers: Any, width: int) -> None: ...


class _Watched:
    """The native half of the interpreter, which accesses memory, with a `watch` in front."""

    def __init__(self, native: Any, watch: Watch) -> None:
        self._native, self._watch = native, watch

    def __getattr__(self, name: str) -> Any:
        return getattr(self._native, name)

    def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
        pointers = self._watch.placed(pointers)
        self._watch.read(_where(pointers, mask), np.dtype(dtype).itemsize)
        return self._native.load(pointers, mask, other, dtype)

    def store(self, pointers: Any, values: Any, mask: Any) -> Any:
        pointers = self._watch.placed(pointers)
        self._watch.write(_where(pointers, mask), values.dtype.itemsize)
        return self._native.store(pointers, values, mask)

    def atomic_rmw(self, how: Any, pointers: Any, values: Any, mask: Any, order: Any) -> Any:
        pointers = self._watch.placed(pointers)
        chosen = _where(pointers, mask)
        self._watch.read(chosen, values.dtype.itemsize)
        self._watch.write(chosen, values.dtype.itemsize)
        return self._native.atomic_rmw(how, pointers, values, mask, order)

    def atomic_cas(self, pointers: Any, expected: Any, values: Any, order: Any) -> Any:
        pointers = self._watch.placed(pointers)
        self._watch.read(pointers, values.dtype.itemsize)
        self._watch.write(pointers, values.dtype.itemsize)
        return self._native.atomic_cas(pointers, expected, values, order)


def _where(pointers: Any, mask: Any) -> Any:
    return np.asarray(pointers)[np.asarray(mask, dtype=bool)]


def interpret(
    kernel: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    grid: tuple[int, ...],
    watch: Watch | None = None,
) -> None:
    """Execute a launch by Triton's interpreter, which changes the process: it is for a copy that ends afterwards.

    The interpreter is made for a process in which all kernels were defined as interpreted ones; here the functions
    that a kernel calls were compiled ones, and become interpreted when they are called. `watch` is told of accesses.
    Raises NotImplementedError for floats of 8 bits and others that would not be computed as on a GPU.
    """
    module = triton_private.interpreter()
    interpreted, native = module.InterpretedFunction, getattr(module, triton_private.NATIVE)
    if watch is not None:
        setattr(module, triton_private.NATIVE, _Watched(getattr(native, "_native", native), watch))
    _round_to_nearest(module)
    for home in triton_private.grid_dependencies():  # launches are executed one after the other
        home.gdc_wait = home.gdc_launch_dependents = lambda **options: None

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        return interpreted(_with_closure(function.fn))(*args, **kwargs)

    def bound(function: Any, instance: Any, owner: Any = None) -> Any:
        return function if instance is None else partial(call, function, instance)

    function = triton_private.jit_function()
    triton_private.knobs().runtime.interpret = True
    function.__call__ = call
    function.__get__ = bound  # methods of aggregates
    args, named = triton_scalars.as_compiled(kernel, arguments, keywords)
    try:
        interpreted(_with_closure(kernel.fn)).run(*args, grid=grid, warmup=False, **named)
    except Exception as error:
        if (name := _outside_of_the_interpreter(error)) is None:
            raise
        raise NotImplementedError(f"{name} is not executed by Triton's interpreter: a library's for a GPU") from None


def _outside_of_the_interpreter(error: BaseException) -> str | None:
    """The function of a library (libdevice) that an error is about, for only a compiler calls it; None for another."""
    while error.__cause__ is not None:
        error = error.__cause__
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    if not frames or "_semantic" not in str(error):
        return None
    return getattr(frames[-1].f_locals.get("fn"), "__name__", None)


@functools.cache
def _with_closure(function: Any) -> Any:
    """A function that finds the variables of its closure among its globals, for the interpreter compiles it anew."""
    if not function.__closure__:
        return function
    free = {
        name: cell.cell_contents
        for name, cell in zip(function.__code__.co_freevars, function.__closure__, strict=True)
        if cell != types.CellType()  # not set yet
    }
    scope = {**function.__globals__, **free}
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    return copy


# --- floats that NumPy does not have ----------------------------------------------------------------

COMPUTING = "binary_op unary_op create_fma create_rsqrt create_erf create_dot".split()
"""Methods of the interpreter's builder that compute with numbers."""
_done: set[int] = set()


def _round_to_nearest(module: Any) -> None:
    """Have the interpreter's module compute with bfloat16 as a GPU does, once."""
    if id(module) in _done:
        return
    _done.add(id(module))
    setattr(module, triton_private.CONVERT, partial(_converted, getattr(module, triton_private.CONVERT)))
    builder, handle = module.InterpreterBuilder, module.TensorHandle
    for name in COMPUTING:
        setattr(builder, name, _in_single(getattr(builder, name), handle))
    builder.cast_impl = _cast_by_single(builder.cast_impl)
    builder.get_bf16 = _constant
    builder.create_atomic_rmw = _refusing(builder.create_atomic_rmw)
    builder.create_dot_scaled = _refusing_bfloat16(builder.create_dot_scaled)
    for kind in (module.ReduceOps, module.ScanOps):
        kind.apply_impl = _refusing(kind.apply_impl)


def _bits(value: Any) -> bool:
    """Whether a handle, or a tensor, has floats that are kept as integers."""
    handle = getattr(value, "handle", value)
    kind = getattr(getattr(handle, "dtype", None), "scalar", None)
    return kind is not None and kind.is_floating() and handle.data.dtype.kind == "u"


def _is_bfloat16(kind: Any) -> bool:
    return str(kind.scalar) == "bf16"


def _in_single(method: Callable[..., Any], handle: Any) -> Callable[..., Any]:
    """A method that computes with bfloat16 in float32 and rounds its result."""
    import triton.language as tl

    def computing(builder: Any, *given: Any) -> Any:
        narrow = [one for one in given if isinstance(one, handle) and _bits(one)]
        if not narrow:
            return method(builder, *given)
        if method.__name__ == "create_dot" and not any(map(_is_bfloat16, (one.dtype for one in narrow))):
            return method(builder, *given)
        _refuse([one for one in narrow if not _is_bfloat16(one.dtype)])
        wide = [builder.cast_impl(one, tl.float32) if any(one is other for other in narrow) else one for one in given]
        made = method(builder, *wide)
        last = [one for one in given if isinstance(one, handle)][-1]
        if not _bits(last):
            return made
        made = handle(made.data, tl.float32)
        return builder.cast_impl(made, tl.bfloat16) if made.data.dtype.kind == "f" else handle(made.data, last.dtype)

    return computing


def _constant(builder: Any, value: float) -> Any:
    """A number in bfloat16: as Triton's front end makes it, by way of six decimals."""
    import triton.language as tl

    return builder.cast_impl(builder.get_fp32(float(f"{np.float32(value):f}")), tl.bfloat16)


def _cast_by_single(cast: Callable[..., Any]) -> Callable[..., Any]:
    """A cast from or to bfloat16 by way of float32, which the interpreter knows how to do."""
    import triton.language as tl

    def casting(builder: Any, source: Any, kind: Any) -> Any:
        one, other = source.dtype.scalar, kind.scalar
        if _is_bfloat16(one) and other not in (tl.float32, tl.bfloat16):
            source = cast(builder, source, tl.float32)
        if _is_bfloat16(other) and one not in (tl.float32, tl.bfloat16):
            source = cast(builder, source, tl.float32)
        elif _bits(source) and not _is_bfloat16(one):
            _refuse([source])
        return cast(builder, source, kind)

    return casting


def _refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method that does not take what it would compute with as with integers."""

    def refusing(owner: Any, *given: Any, **options: Any) -> Any:
        _refuse([one for value in given for one in (value if isinstance(value, list | tuple) else [value])])
        return method(owner, *given, **options)

    return refusing


def _refusing_bfloat16(method: Callable[..., Any]) -> Callable[..., Any]:
    def refusing(owner: Any, *given: Any) -> Any:
        _refuse([one for one in given if _bits(one) and _is_bfloat16(one.dtype)])
        return method(owner, *given)

    return refusing


def _refuse(values: Sequence[Any]) -> None:
    for one in values:
        if _bits(one):
            kind = getattr(one, "handle", one).dtype.scalar
            raise NotImplementedError(f"Triton's interpreter does not compute this in {kind}")


_TORCHS = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32", "fp64": "float64"}
_EIGHT = {
    "fp8e5": "float8_e5m2",
    "fp8e4nv": "float8_e4m3fn",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}
_SIGNED = {1: "int8", 2: "int16", 4: "int32", 8: "int64"}


def _converted(original: Callable[..., Any], values: Any, one: Any, other: Any, rounding: Any) -> Any:
    """Floats in another format, as unsigned integers; rounded to nearest, to even, unless towards zero is asked."""
    import torch

    kinds = _TORCHS | _EIGHT
    if str(one) not in kinds or str(other) not in kinds:
        raise NotImplementedError(f"Triton's interpreter does not convert {one} to {other} as a GPU does")
    if rounding is not None and not str(rounding).endswith("RTNE"):
        return original(values, one, other, rounding)
    before, after = (getattr(torch, kinds[str(kind)]) for kind in (one, other))
    bits: Any = torch.from_numpy(values.copy()).contiguous()
    given = bits.view(getattr(torch, _SIGNED[before.itemsize])).view(before)
    if str(other) in _EIGHT and not bool((given.float().abs() <= torch.finfo(after).max).all()):
        raise NotImplementedError(f"what is too large for {other} differs from GPU to GPU")
    made = given.to(after).view(getattr(torch, _SIGNED[after.itemsize]))
    return made.numpy().view(f"u{after.itemsize}").reshape(values.shape)
