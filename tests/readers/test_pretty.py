"""MLIR's pretty debug information: what it opens as is what the usual one opens as, whole, by the real tools."""

from __future__ import annotations

import shutil
import subprocess

import pytest
import torch
from torch_mlir import fx, ir
from torch_mlir.dialects import torch as dialect

import irwidget
from irwidget.readers import pretty
from irwidget.readers.places import placed
from irwidget.trace import Location

PROGRAM = """
#a = loc("a.py":3:8)
#b = loc("dir/c.py":10:4)
module {
  func.func @f(%a: i32 loc("a.py":1:7), %b: i32, %c: i1) -> i32 {
    %0 = arith.addi %a, %b : i32 loc(#a)
    %1 = arith.muli %0, %b {s = "x, y.py:3:4"} : i32 loc(fused[#a, #b])
    %2 = arith.muli %1, %b : i32 loc("mul"(#a))
    %3 = arith.muli %2, %b : i32 loc(callsite(#b at #a))
    %4 = arith.muli %3, %b : i32 loc(unknown)
    %5 = scf.if %c -> i32 {
      scf.yield %4 : i32 loc(#b)
    } else {
      scf.yield %3 : i32 loc(#a)
    } loc(#b)
    return %5 : i32 loc("x"(callsite(#a at fused[#b, callsite(#b at #a)])))
  } loc("a.py":1:1)
} loc(unknown)
"""


class Attending(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True)

    def forward(self, x):
        y = self.layer(x)
        return torch.softmax(y, -1), y.sum()


def modules():
    context = ir.Context()
    dialect.register_dialect(context)
    yield ir.Module.parse(PROGRAM, context)
    yield ir.Module.parse(
        PROGRAM.replace("scf.yield %4", "memref.alloc() : memref<4xf32>\n      scf.yield %4"), context
    )
    program = torch.export.export(Attending().eval(), (torch.ones(2, 4, 16),))
    for form in ("torch", "linalg-on-tensors", "tosa"):
        yield fx.export_and_import(program, output_type=form)


def test_it_is_read_as_the_usual_form():
    for module in modules():
        for local in (False, True):
            how = {"enable_debug_info": True, "use_local_scope": local, "large_elements_limit": 10}
            usual = module.operation.get_asm(**how)
            assert not pretty.is_pretty(usual)
            want = placed("mlir", usual)
            assert sum(one is not None for one in want[1]) > 8
            assert placed("mlir", module.operation.get_asm(pretty_debug_info=True, **how)) == want


def test_what_has_none_is_left_as_it_is():
    for text in (
        "module {\n}\n",
        "module {\n  x.y\n}\n",
        "module {\n  x.y a.py:3:4\n}\n",
        "#map = affine_map<(d0) -> (d0)>\nmodule {\n} a.py:3:4\n}\n",
        "",
    ):
        assert placed("mlir", text) == (text, ())


@pytest.mark.skipif(not shutil.which("mlir-opt-22"), reason="needs mlir-opt-22")
@pytest.mark.parametrize("scope", [(), ("--mlir-print-local-scope",), ("--mlir-print-ir-module-scope",)])
def test_a_log_opens_with_the_same_dumps(tmp_path, scope):
    (tmp_path / "f.mlir").write_text(PROGRAM)
    passes = "--pass-pipeline=builtin.module(func.func(canonicalize,cse),convert-arith-to-llvm)"

    def dumps(*flags: str):
        command = ["mlir-opt-22", "f.mlir", "--mlir-print-debuginfo", passes, "--mlir-disable-threading"]
        command += ["--mlir-print-ir-after-all", *scope, *flags]
        said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stderr
        (low,) = irwidget.open(said)
        return [(one.name, one.text, tuple(one.locations)) for one in low.dumps]

    usual = dumps()
    assert [name for name, _, _ in usual] == ["canonicalize", "cse", "convert-arith-to-llvm"]
    assert Location("a.py", 3, 8) in usual[0][2]
    assert dumps("--mlir-pretty-debuginfo") == usual


def test_an_expression_that_takes_long_to_compile_waits_for_the_first_place():
    pretty._at_end.cache_clear()
    assert not pretty.is_pretty("func.func @f() {\n  return\n}\n")
    assert pretty._at_end.cache_info().currsize == 0
    assert pretty.is_pretty("func.func @f() {\n  return a.py:1:2\n} a.py:3:8\n")
    assert pretty._at_end.cache_info().currsize == 1
