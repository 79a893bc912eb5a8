"""What AMD's GPUs have on the stack is in the private address space."""

import pytest
import torch
from torch import nn

import irwidget
from irwidget.toolchain.gpu_stack import privately
from tests.llvm.test_parity import program

TEXT = """\
define void @f(ptr %p) {
  %1 = alloca [2 x i64], i64 1, align 8
  %a = alloca { ptr, ptr addrspace(3) }, align 8, !dbg !4
  %"a b" = alloca i32
  %own = alloca i32, align 4, addrspace(5)
  %own.dbg = alloca i32, align 4, addrspace(5), !dbg !4
  store ptr %a, ptr %p ; %c = alloca
  ret void
}
"""


def test_only_what_is_not_there_is_put_there() -> None:
    assert (
        privately(TEXT)
        == """\
define void @f(ptr %p) {
  %stack.1 = alloca [2 x i64], i64 1, align 8, addrspace(5)
  %1 = addrspacecast ptr addrspace(5) %stack.1 to ptr
  %stack.a = alloca { ptr, ptr addrspace(3) }, align 8, addrspace(5), !dbg !4
  %a = addrspacecast ptr addrspace(5) %stack.a to ptr, !dbg !4
  %"stack.a b" = alloca i32, addrspace(5)
  %"a b" = addrspacecast ptr addrspace(5) %"stack.a b" to ptr
  %own = alloca i32, align 4, addrspace(5)
  %own.dbg = alloca i32, align 4, addrspace(5), !dbg !4
  store ptr %a, ptr %p ; %c = alloca
  ret void
}
"""
    )
    assert privately(privately(TEXT)) == privately(TEXT)


@pytest.mark.external
def test_the_programs_take_what_a_model_of_open_sizes_becomes() -> None:
    model, rows = nn.Sequential(nn.Linear(4, 8), nn.ReLU()), {0: torch.export.Dim("rows")}
    low = irwidget.lower(model, torch.randn(3, 4), to="amdgpu", dynamic_shapes=(rows,), check=True)
    names = [dump.name for dump in low.dumps]
    assert names[-3:] == ["alloca-to-private", "default<O2>", "codegen"]
    assert "the last dump that was, after default<O2>, is equal" in str(low.check)
    before, private, optimized = (dump.text for dump in low.dumps[-4:-1])
    assert before.count(" = alloca ") == private.count(", addrspace(5)") == private.count("addrspacecast") > 0
    for text in (private, optimized):
        assert program("llc", "-O2 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx942", text)


def test_a_model_without_a_stack_has_no_such_pass() -> None:
    low = irwidget.lower(nn.ReLU(), torch.randn(3), to="amdgpu")
    assert "alloca-to-private" not in [dump.name for dump in low.dumps]
