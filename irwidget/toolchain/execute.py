"""Execute a module on the CPU with MLIR's ExecutionEngine, on real inputs: the tool behind `--check`.

The IR is copied, taken to the LLVM dialect by the pipeline that the step gives,
compiled and called. It runs in the worker: wrong IR may well crash.
"""

from __future__ import annotations

import ctypes
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from irwidget.dumps import Step
from irwidget.toolchain import mlir
from irwidget.toolchain.events import Array, Invocation
from irwidget.toolchain.mlir_opt import as_mlir
from irwidget.toolchain.tool import Pass, Run, State, refuse

RESULTS = "results"
"""The fact that holds what `@main` returned: a tuple of Array."""


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Execute `@main` on the request's invocation; the IR itself goes on unchanged."""
    start = as_mlir(run, state, step)
    invocation = run.request.invocation
    if invocation is None:
        raise refuse(step, "execute needs the inputs of @main")

    def apply(before: State) -> State:
        module = mlir.parse(mlir.bytecode(start.module), start.module.operation.context)
        for planned in mlir.plan(step.arguments, module.context):
            mlir.run(planned, module)
        run.facts[RESULTS] = call(module, invocation)
        return before

    yield Pass("execute", apply)


def call(module: Any, invocation: Invocation) -> tuple[Array, ...]:
    """Call `@main` of a module in the LLVM dialect.

    A memref is a pointer twice, an offset, sizes and strides there: one word
    each as an argument, and the same words in a struct as a result.
    """
    from torch_mlir.execution_engine import ExecutionEngine  # pyright: ignore[reportMissingImports]

    engine = ExecutionEngine(module, opt_level=1)
    buffers = [ctypes.create_string_buffer(array.data, max(1, len(array.data))) for array in invocation.inputs]
    words: list[int] = []
    for array, buffer in zip(invocation.inputs, buffers, strict=True):
        address = ctypes.addressof(buffer)
        words += [address, address, 0, *array.shape, *_strides(array.shape)]
    arguments = (ctypes.c_int64 * max(1, len(words)))(*words)
    results = (ctypes.c_int64 * max(1, sum(3 + 2 * rank for rank, _ in invocation.results)))()
    pointers = [ctypes.addressof(arguments) + 8 * i for i in range(len(words))]
    pointers += [ctypes.addressof(results)] if invocation.results else []
    packed = (ctypes.c_void_p * max(1, len(pointers)))(*pointers)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.raw_lookup("main"))(ctypes.addressof(packed))
    taken = iter(results)
    return tuple(
        _read(list(itertools.islice(taken, 3 + 2 * rank)), rank, itemsize) for rank, itemsize in invocation.results
    )


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def _read(words: Sequence[int], rank: int, itemsize: int) -> Array:
    """A result's elements, row-major whatever its strides."""
    _, aligned, offset, *rest = words
    shape, strides = rest[:rank], rest[rank:]
    if strides == _strides(shape):
        return Array(ctypes.string_at(aligned + offset * itemsize, math.prod(shape) * itemsize), tuple(shape))
    data = bytearray()
    for index in itertools.product(*map(range, shape)):
        place = offset + sum(i * stride for i, stride in zip(index, strides, strict=True))
        data += ctypes.string_at(aligned + place * itemsize, itemsize)
    return Array(bytes(data), tuple(shape))
