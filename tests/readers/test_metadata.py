"""Numbers of metadata in functions that LLVM prints alone: those of the module, as -print-module-scope has them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import irwidget
from irwidget.readers.metadata import Free, as_before, free, used
from irwidget.readers.places import PlacedText
from irwidget.trace.renaming import equal

OPT = shutil.which("opt-22") or ""
PROGRAM = """\
define i32 @first(i32 %a) #0 !dbg !4 {
  %s = alloca i32
  store i32 %a, ptr %s, !dbg !8
  %b = load i32, ptr %s, !dbg !9
  %c = add i32 %b, 0, !dbg !10
  br label %end, !dbg !10
end:
  ret i32 %c, !dbg !11
}

define i32 @second(i32 %n) #1 !dbg !5 {
  %less = icmp slt i32 %n, 2, !dbg !12
  br i1 %less, label %end, label %more, !dbg !13
more:
  %m = add nsw i32 %n, -1, !dbg !14
  %f = call i32 @second(i32 %m) #2, !dbg !15, !range !17
  %p = mul nsw i32 %n, %f, !dbg !15
  br label %end, !dbg !13
end:
  %r = phi i32 [ 1, %0 ], [ %p, %more ]
  ret i32 %r, !dbg !16
}

attributes #0 = { noinline }
attributes #1 = { nounwind }
attributes #2 = { nounwind memory(none) }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C11, file: !1, isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/d")
!2 = !{i32 7, !"Dwarf Version", i32 5}
!3 = !{i32 2, !"Debug Info Version", i32 3}
!4 = distinct !DISubprogram(name: "first", scope: !1, file: !1, line: 1, type: !6, spFlags: 8, unit: !0)
!5 = distinct !DISubprogram(name: "second", scope: !1, file: !1, line: 9, type: !6, spFlags: 8, unit: !0)
!6 = !DISubroutineType(types: !7)
!7 = !{}
!8 = !DILocation(line: 2, column: 1, scope: !4)
!9 = !DILocation(line: 3, column: 1, scope: !4)
!10 = !DILocation(line: 4, column: 1, scope: !4)
!11 = !DILocation(line: 5, column: 1, scope: !4)
!12 = !DILocation(line: 10, column: 1, scope: !5)
!13 = !DILocation(line: 11, column: 1, scope: !5)
!14 = !DILocation(line: 12, column: 1, scope: !5)
!15 = !DILocation(line: 13, column: 1, scope: !5)
!16 = !DILocation(line: 14, column: 1, scope: !5)
!17 = !{i32 0, i32 100}
"""
PASSES = "globaldce,function(verify,mem2reg),function(instcombine,simplifycfg,early-cse),globaldce"


def _opened(path: Path, *flags: str) -> irwidget.Lowering:
    command = [OPT, "-disable-output", f"-passes={PASSES}", "-print-after-all", *flags, "-"]
    path.write_bytes(subprocess.run(command, input=PROGRAM.encode(), capture_output=True, check=True).stderr)
    (low,) = irwidget.open(path)
    return low


def _meant(text: str) -> list[str]:
    """The functions of a module with what their numbers stand for in the place of these."""
    explained = dict(re.findall(r"^(?:attributes )?([!#]\d+) = (.*)$", text, re.M))
    lines = [line.partition(";")[0].rstrip() for line in text.split("\n") if re.match(r"define|  |\}", line)]

    def spelt(line: str, deep: int = 0) -> str:
        return re.sub(r"[!#]\d+", lambda it: spelt(explained.get(it[0], "?"), deep + 1) if deep < 3 else "...", line)

    return [spelt(line) for line in lines]


@pytest.mark.skipif(not OPT, reason="no opt: apt-get install llvm-22")
def test_functions_have_the_numbers_of_their_module(tmp_path: Path) -> None:
    alone, module = _opened(tmp_path / "alone"), _opened(tmp_path / "m", "-print-module-scope")
    assert [dump.name for dump in alone.dumps] == [dump.name for dump in module.dumps]
    assert [dump.changed for dump in alone.dumps[:-1]] == [dump.changed for dump in module.dumps[:-1]]
    assert equal(*(dump.text.split("\n") for dump in alone.dumps[-2:]))
    assert [_meant(dump.text) for dump in alone.dumps] == [_meant(dump.text) for dump in module.dumps]
    late = [dump.text for dump in reversed(_opened(tmp_path / "late").dumps)]
    assert late[::-1] == [dump.text for dump in alone.dumps]


def test_what_no_line_tells_has_a_number_of_its_own() -> None:
    before = (
        "define void @f() !dbg !7 {\n  %1 = add i32 %0, 1, !dbg !8\n  call void @g(), !dbg !9\n  ret void, !dbg !9\n}\n"
    )
    after = (
        "define i8 @f() !dbg !3 {\n  %1 = shl i32 %0, 1, !dbg !4\n  call void @g(), !dbg !5\n  ret void, !dbg !6\n}\n"
    )
    # One number of before has become two: neither line tells which of them it is.
    assert _places(as_before(after, before, _free(10, 20))) == ["!7", "!20", "!21", "!22"]
    assert _places(as_before(after.replace("!4", "!40"), before, _free(10, 20))) == ["!7", "!40", "!41", "!42"]
    assert _places(as_before(after.replace("!4", "!9"), before, _free(4, 4))) == ["!7", "!10", "!5", "!6"]
    assert _places(as_before(after.replace("!6", "!5"), before, _free(4, 4))) == ["!7", "!4", "!9", "!9"]


def _free(first: int, own: int) -> dict[str, Free]:
    return dict.fromkeys("!#", Free(first, own))


ALONE = """\
; Function Attrs: {0}
define void @f() #{1} {{
  call void @g() #{2}
  call void @h() #{3}
  br i1 %a, label %b, label %c

b:
  call void @g() #{3}
  br label %c

c:
  call void @g() #{2}
  ret void, !dbg !5
}}
"""


def test_attributes_have_the_numbers_of_the_module() -> None:
    """LLVM counts those of calls from the last that a function has: with one more there, all are others."""
    before = ALONE.format("cold", 0, 8, 9)
    assert as_before(ALONE.format("cold", 0, 4, 5), before, _free(12, 20)) == before
    assert as_before(ALONE.format("cold", 1, 5, 6), before, _free(12, 20)) == before
    # The function's own are told by the comment above it; what is new there has a number that nothing explains.
    assert as_before(ALONE.format("hot", 1, 5, 6), before, _free(12, 20)) == ALONE.format("hot", 20, 8, 9)
    one = ALONE.format("cold", 1, 5, 6).replace("  call void @g() #6", "  call void @g() #5")
    assert re.findall(r"#\d+", as_before(one, before, _free(12, 20))) == ["#0", "#20", "#21", "#20", "#20"]


def test_the_exits_of_a_loop_come_after_its_last_block() -> None:
    """As LLVM prints a loop alone: lines that are in other blocks, too, are told by the label of theirs."""
    exits = [f"{name}:\n  call void @g() #{{}}\n  ret void, !dbg !{{}}\n\n" for name in "xyz"]
    loop = "l:\n  call void @h()\n  br i1 %a, label %l, label %x\n\n"
    before = "".join(one.format(20 + i, 30 + i) for i, one in enumerate(exits)) + loop
    alone, own = ("".join(exits[i].format(a + i, b + i) for i in (2, 1, 0)) for a, b in ((3, 6), (20, 30)))
    part = f"; Loop:\n{loop}; Exit blocks\n"
    assert as_before(part + alone, before, _free(12, 40)) == part + own


def _places(text: str) -> list[str]:
    return re.findall(r"!dbg (!\d+)", text)


def test_a_number_that_is_none_is_text() -> None:
    long = "!" + "1" * 5000  # more digits than Python makes a number of
    assert as_before(f"  ret void, !dbg {long}", f"  ret void, !dbg {long}", _free(0, 0)) == f"  ret void, !dbg {long}"


def test_what_nothing_refers_to_is_not_explained() -> None:
    text = "define void @f() {\n  ret void, !dbg !2\n}\n!2 = !DILocation(scope: !3)\n!3 = !{}\n!4 = !{!3}\n"
    assert used(PlacedText(text, (None,) * 7)) == PlacedText(text.replace("!4 = !{!3}\n", ""), (None,) * 6)
    assert free(text, 0) == {"!": Free(5, 5), "#": Free(0, 0)}
    assert free("define void @f() {\n}\nattributes #3 = { cold }\n", 7) == {"!": Free(0, 7), "#": Free(4, 11)}
    text = "define void @f() #1 {\n  ret void\n}\n\nattributes #0 = { cold }\nattributes #1 = { hot }\n"
    assert used(PlacedText(text)) == PlacedText(text.replace("attributes #0 = { cold }\n", ""))
