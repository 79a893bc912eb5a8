"""LLVM's installed programs beside llvmlite's: the same passes, one by one, and the first that differs."""

from __future__ import annotations

import os
import re
import subprocess

import pytest
import torch

import irwidget
from irwidget.toolchain import llvm
from tests.llvm import programs

LOOP = """define i32 @sum(ptr %p, i32 %n) !dbg !4 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %s = phi i32 [ 0, %entry ], [ %added, %loop ]
  %at = getelementptr i32, ptr %p, i32 %i, !dbg !7
  %v = load i32, ptr %at, !dbg !7
  %added = add i32 %s, %v, !dbg !7
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 %added, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!3}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "us", emissionKind: FullDebug)
!1 = !DIFile(filename: "sum.c", directory: "/no/such")
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "sum", scope: !1, file: !1, line: 1, type: !5, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{}
!7 = !DILocation(line: 3, column: 2, scope: !4)
"""


def _of(function, *inputs):
    return lambda: irwidget.lower(function, *inputs, to="llvm_ir", elide=False).text


NVPTX = "nvptx64-nvidia-cuda"
PROGRAMS = {
    "unrolled": lambda: programs.UNROLLED,
    "loop": lambda: LOOP,
    "softmax": _of(lambda x, y: torch.softmax(x @ y, 1), torch.ones(4, 8), torch.ones(8, 4)),
    "cumsum": _of(lambda x: x.cumsum(0).relu(), torch.ones(7)),
    "count": _of(lambda x: (x > 0).sum() * 2, torch.ones(9)),
    "cat": _of(lambda x, y: torch.cat([x, y]).sin(), torch.ones(3), torch.ones(4)),
}


def _both(text, pipeline, other=""):
    return irwidget.compare(
        irwidget.lower(text, to="raw_ir", pipeline=pipeline),
        irwidget.lower(text, to="raw_ir", pipeline=other or pipeline, external=True),
    )


@pytest.mark.external
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_pass_is_llvmlites(name):
    """Both are LLVM 22."""
    text = PROGRAMS[name]()
    for pipeline, least in {
        "opt -O2 -print-changed": 4,
        "llc -O2 -print-changed": 8,
        "opt -O1": 1,
        "llc -O1": 1,
    }.items():
        found = _both(text, pipeline)
        assert {pair.state for pair in found.passes} == {"same"}, pipeline
        assert len(found.passes) > least
        assert found.ends_the_same
        assert [dump.name for dump in found.left.dumps] == [dump.name for dump in found.right.dumps]
        assert found.summary.endswith("the results are the same")
        assert [dump.language for dump in found.left.dumps] == [dump.language for dump in found.right.dumps]


@pytest.mark.external
def test_a_triple_that_stands_alone_is_the_target_of_both():
    """`opt` takes layout, costs and processor from it, and keeps a layout that the text has."""
    alone = 'target triple = "x86_64-unknown-linux-gnu"\n'
    for head in (alone, f'target datalayout = "e-i64:64"\n{alone}'):
        for pipeline in ("opt", "opt -O2 -print-changed", "opt -O2 -mcpu=x86-64-v3", f"opt -O1 -mtriple={NVPTX}"):
            found = _both(head + LOOP, pipeline)
            assert found.ends_the_same, (head, pipeline)
            assert {pair.state for pair in found.passes} == {"same"}
    assert 'target datalayout = "e-m:e-' in irwidget.lower(alone + LOOP, to="raw_ir", pipeline="opt").text
    assert "target-cpu" not in irwidget.lower(LOOP, to="raw_ir", pipeline="opt -O2 -mcpu=x86-64-v3").text
    assert _both(LOOP, "opt -O2 -mcpu=x86-64-v3").ends_the_same  # of no target


@pytest.mark.external
def test_the_first_pass_that_differs_and_the_lines_of_the_source():
    found = _both(LOOP, "opt -O2 -print-changed", f"opt -O2 -print-changed -mtriple={NVPTX}")
    assert found.first.name == "GlobalOptPass"
    assert "+target datalayout = " in str(found)
    assert not found.ends_the_same
    last = [one.line for one in found.right.dumps[-2].locations if one]
    assert 3 in last


@pytest.mark.external
def test_a_program_of_other_options_shows_its_passes_and_one_that_fails_why():
    low = irwidget.lower(LOOP, to="raw_ir", pipeline="opt -passes=instcombine,loop-rotate,gvn -print-changed")
    assert low.dumps[-1].name == "opt"
    assert "loop-rotate" in " ".join(dump.name for dump in low.dumps) or len(low.dumps) > 2
    assert all("define i32 @sum" in dump.text for dump in low.dumps)
    with pytest.raises(irwidget.IRWidgetError, match=r"opt .*expected"):
        irwidget.lower("define i32 @f( {", to="raw_ir", pipeline="opt -O2 -print-changed", external=True)


_NAMED_BY_OPT = r"; \*\*\* IR Dump After (.+?) on (?:loop )?(.+?)(?: \(invalidated\))? \*\*\*\n"
_NAMED_BY_LLC = r"(?:# )?\*\*\* IR Dump After .+ \(([\w-]+)\)() \*\*\*:?\n"


@pytest.mark.external
@pytest.mark.parametrize(
    "command",
    [
        "opt -O3 -print-after-all",
        "opt -O2 --print-after=instcombine,sroa",
        "llc -O2 -print-after-all",
        "llc -O1 -print-after=machine-cse,isel",
    ],
)
def test_every_pass_that_a_program_is_asked_to_print_is_a_dump(command):
    tool, level, *asked = command.split()
    low = irwidget.lower(programs.UNROLLED, to="raw_ir", pipeline=command, external=True)
    asked += ["-print-module-scope", "-S"] if tool == "opt" else []
    program = [f"/usr/lib/llvm-22/bin/{tool}", level, *asked, "-o", os.devnull]
    done = subprocess.run(program, input=llvm.named(programs.UNROLLED), capture_output=True, text=True, check=True)
    _, *rest = re.split(f"^{_NAMED_BY_OPT if tool == 'opt' else _NAMED_BY_LLC}", done.stderr, flags=re.M)
    names, units, bodies = rest[::3], rest[1::3], [body.strip() for body in rest[2::3]]
    assert [(dump.name, dump.text.strip()) for dump in low.dumps[1:-1]] == list(zip(names, bodies, strict=True))
    shown = [str(dump.scope) for dump in low.dumps[1:-1]]
    if tool == "llc":
        assert shown.count("main") == shown.count("other") > 0
    else:
        assert shown == ["module" if unit == "[module]" else unit.strip("()") for unit in units]
        assert {"main", "other"} <= set(shown)
    assert low.diagnostics == ()
    plain = irwidget.lower(programs.UNROLLED, to="raw_ir", pipeline=f"{tool} {level}", external=True)
    assert low.text == plain.text
