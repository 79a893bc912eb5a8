"""Runs lowered kernels, each in a process of its own: `python -m irwidget.helion.jit`.

Reads the names of folders from stdin, one a line as JSON, and answers each with
an exit status. A folder has `module.mlirbc`, `memory` with the bytes of all
tensors, and `arguments.json`: the pipelines that lead to the LLVM dialect and
the function's arguments. The kernel works in `memory` itself, so the caller reads
the results there; what it prints goes to `stdout` and `stderr` in the folder. A
pass that refuses ends with status 3 and a line of JSON on stdout. Nothing here
imports torch.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import mmap
import os
import select
import sys
import traceback
from pathlib import Path
from typing import Any

_INDEX = ctypes.c_int64

TO_BUFFERS = 2
"""The last pipelines, which take tensors to buffers and buffers to LLVM."""

PASS_FAILED = 3
"""Exit status when a pass refused the module."""

IDLE = 600.0
"""Seconds without a launch after which the process ends."""


def descriptor(rank: int) -> type[ctypes.Structure]:
    """The C struct of a ranked memref."""

    class Descriptor(ctypes.Structure):
        _fields_ = [
            ("allocated", ctypes.c_void_p),
            ("aligned", ctypes.c_void_p),
            ("offset", _INDEX),
            *([("sizes", _INDEX * rank), ("strides", _INDEX * rank)] if rank else []),
        ]

    return Descriptor


def pointers(arguments: list[dict[str, Any]], base: int) -> tuple[list[Any], list[Any]]:
    """The packed argument pointers of the function, and the objects that they point into."""
    kept: list[Any] = []
    packed: list[Any] = []
    for argument in arguments:
        if argument["kind"] == "tensor":
            rank = len(argument["sizes"])
            address = base + argument["offset"]
            struct: Any = descriptor(rank)(address, address, 0)
            if rank:
                struct.sizes[:] = argument["sizes"]
                struct.strides[:] = argument["strides"]
            pointer = ctypes.pointer(struct)
            holder = ctypes.pointer(ctypes.cast(pointer, ctypes.c_void_p))
            kept += [struct, pointer, holder]
        else:
            kinds = {"index": _INDEX, "f64": ctypes.c_double, "i1": ctypes.c_bool}
            value = kinds[argument["kind"]](argument["value"])
            holder = ctypes.pointer(value)
            kept += [value, holder]
        packed.append(ctypes.cast(holder, ctypes.c_void_p))
    return packed, kept


def lower(module: Any, pipelines: list[str]) -> None:
    """Take the module to the LLVM dialect, with a C interface for each function."""
    from irwidget.helion.bindings import ir
    from irwidget.toolchain import mlir

    for function in module.body.operations:
        if function.operation.name == "func.func":
            function.operation.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get(module.context)
    for position, pipeline in enumerate(pipelines):
        if position == len(pipelines) - TO_BUFFERS and _holds_narrow_floats(module):
            from irwidget.helion import narrow_floats

            narrow_floats.expand(module)
        if position == len(pipelines) - 1:
            from irwidget.helion import products

            products.reorder(module.operation)
        for planned in mlir.plan(pipeline, module.context):
            try:
                mlir.run(planned, module, verify=False)
            except mlir.PassFailed as error:
                place = next((str(d.location) for d in error.diagnostics if d.location), "")
                print(json.dumps({"pass": planned.name, "message": str(error), "place": place}), flush=True)
                raise SystemExit(PASS_FAILED) from None


def _holds_narrow_floats(module: Any) -> bool:
    text = str(module)
    return "f8E4M3FN" in text or "f8E5M2" in text or ("f64" in text and "f16" in text)


def launch(folder: Path) -> None:
    """Read the three files, compile, run."""
    description = json.loads((folder / "arguments.json").read_text())
    from irwidget.toolchain import mlir

    context = mlir.new_context()
    module = mlir.parse((folder / "module.mlirbc").read_bytes(), context)
    lower(module, description["pipelines"])
    from torch_mlir.execution_engine import ExecutionEngine

    engine = ExecutionEngine(module, opt_level=description["opt_level"])
    function = engine.raw_lookup("_mlir_ciface_" + description["function"])
    if not function:
        raise SystemExit(f"the compiled module has no function {description['function']}")
    with open(folder / "memory", "r+b") as handle:
        memory = mmap.mmap(handle.fileno(), 0)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        packed, kept = pointers(description["arguments"], base)
        array = (ctypes.c_void_p * max(1, len(packed)))(*[p.value for p in packed])
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(function)(ctypes.cast(array, ctypes.c_void_p))
        memory.flush()
        del kept


def _unbuffered() -> None:
    """Have C's stdout written at once: what an assertion says there is lost otherwise when it ends the process."""
    library = ctypes.CDLL(None)
    with contextlib.suppress(ValueError):  # a C library that names it in another way
        library.setvbuf(ctypes.c_void_p.in_dll(library, "stdout"), None, 2, 0)


def _launch_here(folder: Path) -> int:
    """A launch with its output in files; the exit status."""
    for name, descriptor_number in (("stdout", 1), ("stderr", 2)):
        opened = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(opened, descriptor_number)
        os.close(opened)
    status = 0
    _unbuffered()
    try:
        launch(folder)
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def serve() -> None:
    """Fork for each folder that stdin names, until it ends or nothing has come for a while."""
    importlib.import_module("torch_mlir.execution_engine")
    importlib.import_module("torch_mlir.passmanager")
    importlib.import_module("torch_mlir.dialects.torch")
    importlib.import_module("irwidget.toolchain.mlir")
    importlib.import_module("irwidget.helion.products")
    while select.select([sys.stdin], [], [], IDLE)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        child = os.fork()
        if child == 0:
            os._exit(_launch_here(Path(json.loads(line))))
        _, waited = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(waited), flush=True)


if __name__ == "__main__":
    serve()
