"""Real lowerings for the tests of the views: torch-mlir's own passes, one at a time, on a small program."""

from __future__ import annotations

import re
import time

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from irwidget.trace import Location, Scope, Trace, dump

SOURCE = """\
def model(x, w):
    y = x @ w
    y = y + 1.0
    return relu(y)
"""

PROGRAM = """
#map = affine_map<(d0, d1) -> (d0, d1)>
module {
  func.func @helper(%x: f32) -> f32 {
    %c = arith.constant 1.0 : f32 loc("cell":3:0)
    %r = arith.addf %x, %c : f32 loc("cell":3:0)
    return %r : f32 loc("cell":3:0)
  }
  func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x4xf32>) -> tensor<8x4xf32> {
    %zero = arith.constant 0.0 : f32 loc("cell":2:0)
    %e = tensor.empty() : tensor<8x4xf32> loc("cell":2:0)
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32> loc("cell":2:0)
    %m = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x4xf32>)
                       outs(%f : tensor<8x4xf32>) -> tensor<8x4xf32> loc("cell":2:0)
    %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
                        ins(%m : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %p = func.call @helper(%a) : (f32) -> f32 loc("cell":3:0)
      %z = arith.constant 0.0 : f32 loc("cell":4:0)
      %q = arith.maximumf %p, %z : f32 loc("cell":4:0)
      linalg.yield %q : f32 loc("cell":4:0)
    } -> tensor<8x4xf32> loc("cell":4:0)
    return %r : tensor<8x4xf32> loc("cell":4:0)
  }
}
"""

PASSES = (
    "inline", "canonicalize", "cse", "symbol-dce", "one-shot-bufferize{bufferize-function-boundaries}",
    "canonicalize", "cse", "func.func(convert-linalg-to-loops)", "lower-affine", "convert-scf-to-cf",
    "expand-strided-metadata", "lower-affine", "convert-arith-to-llvm", "convert-index-to-llvm",
    "finalize-memref-to-llvm", "convert-func-to-llvm", "convert-cf-to-llvm", "reconcile-unrealized-casts",
    "canonicalize", "cse",
)  # fmt: skip

_LOCATION = re.compile(r' loc\((?:"([^"]*)":(\d+):(\d+)|[^()]*|callsite\(.*\)|fused.*)\)$')


def _read(module: ir.Module) -> tuple[str, tuple[Location | None, ...]]:
    """The text without locations, and the location of each line."""
    printed = module.operation.get_asm(enable_debug_info=True, use_local_scope=True).rstrip("\n").split("\n")
    lines: list[str] = []
    places: list[Location | None] = []
    for line in printed:
        found = _LOCATION.search(line)
        lines.append(re.sub(r' loc\("[^"]*":\d+:\d+\)', "", line[: found.start()] if found else line))
        places.append(Location("cell", int(found[2]), 0) if found and found[1] == "cell" else None)
    return "\n".join(lines) + "\n", tuple(places)


def lower(
    program: str = PROGRAM, passes: tuple[str, ...] = PASSES, name: str = "model", target: str = "llvm_mlir"
) -> Trace:
    """Run the passes one by one and keep what each left."""
    with ir.Context():
        module = ir.Module.parse(program)
        text, places = _read(module)
        dumps = [dump("input", text, step=-1, locations=places)]
        for one in passes:
            started = time.perf_counter()
            PassManager.parse(f"builtin.module({one})").run(module.operation)
            seconds = time.perf_counter() - started
            before, (text, places) = text, _read(module)
            nested = re.fullmatch(r"func\.func\((.*)\)", one)
            bare, _, options = (nested[1] if nested else one).partition("{")
            dumps.append(
                dump(
                    bare,
                    text,
                    step=0,
                    changed=text != before,
                    locations=places,
                    options=options.rstrip("}"),
                    seconds=seconds,
                    scope=Scope(anchor="func.func" if nested else ""),
                )
            )
    return Trace(target, tuple(dumps), name=name, sources={"cell": SOURCE})
