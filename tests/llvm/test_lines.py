"""Source lines from the model to PTX and AMDGCN, as data; the text is what LLVM prints without them."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

import irwidget
from irwidget.frontends import importing
from irwidget.frontends import torch as frontend
from irwidget.toolchain import events, literals, llvm, llvm_debug, mlir, translate
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import Run, WorkerSession
from tests.llvm.test_targets import named

SOURCE = """\
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 8)

    def forward(self, x):
        y = self.linear(x)
        y = torch.tanh(y)
        return y * 3.0
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    path = tmp_path_factory.mktemp("lines") / "mymodel.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("mymodel", path)
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    sys.modules["mymodel"] = made
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize(("target", "instruction"), [
    ("llvm_mlir", r"llvm\.fmul.*llvm\.fmul|llvm\.fmul"),
    ("llvm_ir", "fmul"),
    ("nvptx", r"mul\.(?:rn\.)?f32"),
    ("amdgpu", "v_mul_f32"),
    ("sass", "FMUL"),
])  # fmt: skip
def test_lines_reach_the_last_dump(module: ModuleType, target: str, instruction: str) -> None:
    lowering = irwidget.lower(module.Model(), torch.zeros(4, 16), to=target)
    dump = lowering.dumps[-1]
    lines = dump.text.splitlines()
    assert len(dump.locations) == len(lines)
    files = {place.file for place in dump.locations if place}
    assert {Path(file).name for file in files} == {"mymodel.py"}
    assert {place.line for place in dump.locations if place} >= {9, 10, 11}
    scaled = [
        place.line
        for line, place in zip(lines, dump.locations, strict=True)
        if place and re.search(instruction, line) and place.line == 11
    ]
    assert scaled, f"no {instruction} of line 11"
    assert not re.search(r"!dbg|DILocation|^\s*\.loc|^\s*\.file", dump.text, re.M)


@pytest.mark.parametrize("program", ["mlp", "cnn", "sort"])  # whose code needs no functions that are linked before
@pytest.mark.parametrize(("opt", "llc"), [
    ("-O2 -mtriple=nvptx64-nvidia-cuda -mcpu=sm_80", "-mtriple=nvptx64-nvidia-cuda -mcpu=sm_80 -mattr=+ptx80"),
    ("-O1 -mtriple=amdgcn-amd-amdhsa -mcpu=gfx942 -disable-loop-unrolling",
     "-mtriple=amdgcn-amd-amdhsa -mcpu=gfx942"),
    ("-O2 -mtriple=spirv64-unknown-unknown", "-mtriple=spirv64-unknown-unknown"),
])  # fmt: skip
def test_text_without_lines_is_what_llvm_prints_without_them(program: str, opt: str, llc: str) -> None:
    plain, marked = _with_and_without_lines(program)
    assert llvm_debug.llvm(marked)[0] == plain
    plain, marked = (llvm.optimize(text, llvm.settings("opt", opt)) for text in (plain, marked))
    assert llvm_debug.llvm(marked)[0] == plain
    asked = llvm.settings("llc", llc)
    plain, marked = llvm.emit(plain, asked), llvm.emit(marked, asked)
    stripped = llvm_debug.content(llvm.language(asked.triple), marked).text
    if "spirv" in asked.triple:  # LLVM numbers the ids of SPIR-V, and pads after them, differently in every process
        plain, stripped = (re.sub(r"%\d+\s*", "%id ", text) for text in (plain, stripped))
    assert stripped == plain


def _with_and_without_lines(program: str) -> tuple[str, str]:
    """LLVM IR of a program, translated without and with its lines."""
    from torch_mlir.dialects import llvm as dialect

    torch.manual_seed(0)
    model, inputs = named(program).make()
    imported = importing.import_program(frontend.export(model, inputs, {}, None, program), program)
    run = Run(events.Request((), None, "", elide=False), WorkerSession().hold(""))
    state = MlirState(mlir.parse(imported.bytecode, run.context()))
    for step in irwidget.targets()["llvm_mlir"].steps:
        for planned in mlir.plan(step.arguments, run.context()):
            mlir.run(planned, state.module)
    plain = literals.rewrite(dialect.translate_module_to_llvmir(state.module.operation))
    return plain, translate.translate(state.module.operation.clone(), run).text


def test_other_metadata_keeps_its_meaning() -> None:
    text = """\
define void @main() !dbg !3 {
  br label %1, !dbg !5

1:                                                ; preds = %1, %0
  br label %1, !dbg !5, !llvm.loop !6
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}

!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "cell.py", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "main", scope: !1, file: !1, line: 1, type: !4, unit: !0)
!4 = !DISubroutineType(types: !8)
!5 = !DILocation(line: 7, scope: !3)
!6 = distinct !{!6, !5, !7}
!7 = !{!"llvm.loop.mustprogress"}
!8 = !{}
"""
    shown, places = llvm_debug.llvm(text)
    assert (
        shown
        == """\
define void @main() {
  br label %1

1:                                                ; preds = %1, %0
  br label %1, !llvm.loop !1
}

!llvm.module.flags = !{!0}

!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.mustprogress"}
"""
    )
    assert [place.line if place else 0 for place in places[:5]] == [1, 7, 0, 0, 7]
