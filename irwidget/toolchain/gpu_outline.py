"""Outline a program's GPU kernels: all that touches memory leaves the host's code.

MLIR's passes make kernels of parallel loops. What they leave on the host (loops that depend on each other, as of a sort
or a scan, reductions to one value, single loads and stores) becomes kernels of one thread; a failed assertion ends the
kernel by a trap, since parallel loops with assertions are left alone too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from irwidget.toolchain import events, mlir, mlir_opt
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, refuse
from irwidget.trace import Step

TO_PARALLEL_LOOPS = (
    "builtin.module(func.func(refback-generalize-tensor-pad,refback-generalize-tensor-concat),"
    "one-shot-bufferize{allow-unknown-ops allow-return-allocs-from-loops bufferize-function-boundaries"
    " function-boundary-type-conversion=identity-layout-map},"
    "func.func(tm-tensor-bufferize),refback-mlprogram-bufferize,canonicalize,cse,"
    "func.func(tm-tensor-to-loops,refback-munge-memref-copy,convert-linalg-to-parallel-loops),"
    "fold-memref-alias-ops,func.func(math-extend-to-supported-types{target-type=f32}),convert-math-to-funcs,"
    "convert-complex-to-standard,canonicalize,cse)"
)
TO_LAUNCHES = (
    "builtin.module("
    "func.func(scf-parallel-loop-tiling{parallel-loop-tile-sizes=4,4 no-min-max-bounds=false}),canonicalize,"
    "func.func(gpu-map-parallel-loops),convert-parallel-loops-to-gpu,canonicalize,cse)"
)
TO_KERNELS = "builtin.module(lower-affine,func.func(gpu-launch-sink-index-computations),gpu-kernel-outlining)"

_TOUCHES = frozenset(
    ("memref.load", "memref.store", "memref.copy", "memref.atomic_rmw", "memref.generic_atomic_rmw", "llvm.intr.trap")
)
_STRUCTURED = frozenset(("scf.for", "scf.if", "scf.while", "scf.parallel", "scf.index_switch", "scf.execute_region"))
_PURE = ("arith.", "math.", "complex.", "index.", "affine.apply", "affine.min", "affine.max", "memref.dim")
_INSIDE = ("scf.", "memref.atomic_yield", "func.call")
"""What else may stand inside of a loop that is moved: ends of regions, calls of functions that compute a number."""

_ONE_THREAD = """
func.func @one(%c1: index) {
  gpu.launch blocks(%bx, %by, %bz) in (%gx = %c1, %gy = %c1, %gz = %c1)
      threads(%tx, %ty, %tz) in (%lx = %c1, %ly = %c1, %lz = %c1) {
    gpu.terminator
  }
  return
}
"""


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """From linalg on tensors to kernels, in a `gpu.module` each, and the host's code that launches them."""
    before = mlir_opt.as_mlir(run, state, step)
    yield from mlir_opt.tool(run, before, Step("mlir-opt", TO_PARALLEL_LOOPS))
    yield _changing("assert-to-trap", _assertions_trap)
    yield from mlir_opt.tool(run, before, Step("mlir-opt", TO_LAUNCHES))
    yield _changing("outline-serial-code", _outline)
    yield from mlir_opt.tool(run, before, Step("mlir-opt", TO_KERNELS))


def _changing(name: str, change: Any) -> Pass:
    def apply(state: State) -> State:
        assert isinstance(state, MlirState)
        with state.module.operation.location:
            change(state.module.operation)
        return state

    return Pass(name, apply)


def _assertions_trap(module: Any) -> None:
    """`cf.assert` becomes a trap under the opposite condition."""
    from torch_mlir.dialects import arith, scf  # pyright: ignore[reportMissingImports]

    ir = mlir.ir
    found: list[Any] = []

    def look(operation: Any) -> Any:
        if operation.name == "cf.assert":
            found.append(operation)
        return ir.WalkResult.ADVANCE

    module.walk(look)
    for operation in found:
        with ir.InsertionPoint(operation), operation.location:
            one = arith.ConstantOp(ir.IntegerType.get_signless(1), 1)
            failed = arith.XOrIOp(operation.operands[0], one.result)
            branch = scf.IfOp(failed.result)
            with ir.InsertionPoint(branch.then_block):
                ir.Operation.create("llvm.intr.trap")
                scf.YieldOp([])
        operation.erase()


def _outline(module: Any) -> None:
    """Wrap what touches memory on the host into launches of one thread."""
    for function in list(module.regions[0].blocks[0].operations):
        if function.operation.name == "func.func" and function.operation.attributes["sym_name"].value == "main":
            _of_regions(function.operation)


def _of_regions(operation: Any) -> None:
    for region in operation.regions:
        for block in region.blocks:
            _of_block(block)


def _of_block(block: Any) -> None:
    run: list[Any] = []
    for operation in [one.operation for one in block.operations]:
        if _is_pure(operation) or _is_serial(operation):
            run.append(operation)
            continue
        _of_run(run)
        run = []
        if operation.name != "gpu.launch":
            _of_regions(operation)
    _of_run(run)


def _is_pure(operation: Any) -> bool:
    return operation.name.startswith(_PURE)


def _is_serial(operation: Any) -> bool:
    """Whether it touches memory, and a single thread of a GPU could do it."""
    return operation.name in _TOUCHES or (operation.name in _STRUCTURED and _movable(operation))


def _movable(operation: Any) -> bool:
    for region in operation.regions:
        for block in region.blocks:
            for one in block.operations:
                inner = one.operation
                known = inner.name in _TOUCHES or inner.name.startswith((*_PURE, *_INSIDE))
                if not known or not _movable(inner):
                    return False
    return True


def _of_run(run: Sequence[Any]) -> None:
    """Launch the serial operations among neighbours; one whose result the host needs is left, and divides them."""
    serial = [operation for operation in run if _is_serial(operation)]
    if not any(_writes(operation) for operation in serial):
        return
    for place, operation in enumerate(run):
        if operation in serial and _needed_outside(operation, run):
            _of_run(run[:place])
            _of_regions(operation)
            _of_run(run[place + 1 :])
            return
    members = [one for one in run if one in serial or (_has_users(one) and not _needed_outside(one, run))]
    _launch(members, serial[-1])


def _writes(operation: Any) -> bool:
    return operation.name != "memref.load"


def _has_users(operation: Any) -> bool:
    return any(True for result in operation.results for _ in result.uses)


def _needed_outside(operation: Any, run: Sequence[Any]) -> bool:
    """Whether something that stays on the host uses a result, by way of arithmetic too."""
    block = operation.block
    for result in operation.results:
        for use in result.uses:
            user = _in_block(use.owner.operation, block)
            if user not in run or (_is_pure(user) and _needed_outside(user, run)):
                return True
    return False


def _in_block(operation: Any, block: Any) -> Any:
    """The operation of a block that holds another, or is it."""
    while operation.block != block:
        operation = operation.parent.operation
    return operation


def _launch(members: Sequence[Any], last: Any) -> None:
    """Move operations into a launch of one thread, in place of the last of them."""
    from torch_mlir.dialects import arith  # pyright: ignore[reportMissingImports]

    ir = mlir.ir
    with ir.InsertionPoint(last), last.location:
        one = arith.ConstantOp(ir.IndexType.get(), 1).result
        template = ir.Module.parse(_ONE_THREAD)
        made = template.body.operations[0].regions[0].blocks[0].operations[0]
        launch = made.operation.clone()
    for place in range(len(launch.operands)):
        launch.operands[place] = one
    end = launch.regions[0].blocks[0].operations[0]
    for operation in members:
        operation.move_before(end)


_TARGET = re.compile(r"(nvptx|amdgpu|spirv)(?: (\w+))?")


def to_llvm(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The kernels in the LLVM dialect, with the intrinsics of the GPU that the step's argument names: `nvptx sm_80`.

    A kernel takes bare pointers where all its buffers have static shapes; otherwise sizes and strides go with them.
    """
    asked = _TARGET.fullmatch(step.arguments)
    if asked is None:
        raise refuse(step, f"{step.tool} takes nvptx, amdgpu or spirv and an architecture, not {step.arguments!r}")
    before = mlir_opt.as_mlir(run, state, step)
    kernels = _kernel_types(before.module.operation)
    if not kernels:
        said = "There is no GPU kernel in it: the program computes nothing, it returns inputs and constants"
        raise StepFailed(events.Failed("unsupported", said, tool=step.tool))
    yield from mlir_opt.tool(run, before, Step("mlir-opt", _pipeline(asked[1], asked[2] or "", _are_bare(kernels))))


def _kernel_types(module: Any) -> list[Any]:
    """The types of the kernels' arguments."""
    found: list[Any] = []

    def look(operation: Any) -> Any:
        if operation.name == "gpu.func":
            found.extend(operation.attributes["function_type"].value.inputs)
            found.append(None)
        return mlir.ir.WalkResult.ADVANCE

    module.walk(look)
    return found


def _are_bare(types: Sequence[Any]) -> bool:
    """Whether all buffers have static shapes and lie in order."""
    buffers = [kind for kind in types if isinstance(kind, mlir.ir.MemRefType)]
    return all(kind.has_static_shape and kind.affine_map.is_permutation for kind in buffers)


def _pipeline(gpu: str, arch: str, bare: bool) -> str:
    prepare = "expand-strided-metadata,lower-affine"
    tidy = "reconcile-unrealized-casts,canonicalize,cse"
    pointers = "use-bare-ptr-memref-call-conv=true" if bare else ""
    if gpu == "nvptx":
        integers = "convert-math-to-llvm"  # of those that the conversion to NVVM has for 32 bits only
        inner = f"{prepare},convert-scf-to-cf,convert-gpu-to-nvvm{{{pointers}}},{integers},convert-nvvm-to-llvm,{tidy}"
        return f"builtin.module(nvvm-attach-target{{chip={arch} O=2}},gpu.module({inner}))"
    if gpu == "amdgpu":
        inner = f"{prepare},convert-scf-to-cf,convert-gpu-to-rocdl{{chipset={arch} {pointers}}},{tidy}"
        return f"builtin.module(rocdl-attach-target{{chip={arch} O=2}},gpu.module({inner}))"
    return (
        f"builtin.module(gpu.module({prepare},arith-emulate-unsupported-floats{{source-types=bf16 target-type=f32}},"
        "arith-expand{include-bf16=true},convert-gpu-to-llvm-spv{use-64bit-index=true}),convert-scf-to-cf,"
        f"gpu.module(convert-to-llvm),convert-math-to-libm,gpu.module(convert-to-llvm,{tidy}))"
    )
