"""The user's lines in what LLVM prints of a program that has debug information, by the real tools."""

from __future__ import annotations

import shutil
import subprocess

import pytest

import irwidget
from irwidget.readers.places import PlacedText
from irwidget.readers.putting import PutTarget, put
from irwidget.trace import Location

PROGRAM = """
target triple = "x86_64-unknown-linux-gnu"
define i32 @f(i32 %x) !dbg !4 {
  %y = mul i32 %x, %x, !dbg !9
    #dbg_value(i32 %y, !10, !DIExpression(), !7)
  %z = add i32 %y, %x, !dbg !7
  ret i32 %z, !dbg !8
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "x.c", directory: "/home")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DISubroutineType(types: !{null})
!4 = distinct !DISubprogram(name: "f", file: !1, line: 3, type: !3, unit: !0, scopeLine: 3)
!5 = distinct !DISubprogram(name: "sq", file: !6, line: 1, type: !3, unit: !0)
!6 = !DIFile(filename: "sq.h", directory: "/home")
!7 = !DILocation(line: 4, column: 7, scope: !4)
!8 = !DILocation(line: 5, column: 3, scope: !4)
!9 = !DILocation(line: 2, column: 9, scope: !5, inlinedAt: !7)
!10 = !DILocalVariable(name: "v", scope: !4, file: !1, line: 77, type: !11)
!11 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
"""
ADDED, INLINED, RETURNED = (4, 7), (2, 9, 4, 7), (5, 3)


def printed(tool: str, *flags: str) -> str:
    """What a tool prints of the program, on both streams."""
    program = str(shutil.which(tool))
    ran = subprocess.run([program, *flags, "-o", "-"], input=PROGRAM, capture_output=True, text=True, check=True)
    return ran.stderr or ran.stdout


def numbers(place: Location | None) -> tuple[int, ...]:
    """Line and column, and those of what called it."""
    return (place.line, place.column, *numbers(place.caller)) if place else ()


def lines_of(dump: irwidget.Dump) -> list[tuple[str, tuple[int, ...]]]:
    """The lines of a dump that name a place, by their first words, and the numbers of these."""
    lines = dump.text.removesuffix("\n").split("\n")
    assert len(lines) == len(dump.locations)
    places = zip(lines, dump.locations, strict=True)
    return [(" ".join(line.split()[:3]), numbers(place)) for line, place in places if place]


@pytest.mark.external
def test_each_text_has_the_lines_that_its_debug_information_says():
    passes = irwidget.open(printed("opt-22", "-passes=dce", "-S", "-print-after-all", "-print-module-scope"))
    (function,) = passes[0].dumps
    assert lines_of(function) == [
        ("define i32 @f(i32", (3, 0)), ("%y = mul", INLINED), ("%z = add", ADDED), ("ret i32 %z,", RETURNED)
    ]  # fmt: skip
    assert {place.file for place in function.locations if place} == {"/home/x.c", "/home/sq.h"}
    (machine,) = irwidget.open(printed("llc-22", "-O0", "-print-after=prologepilog"))[0].dumps
    assert lines_of(machine) == [
        ("renamable $eax =", INLINED), ("renamable $eax =", INLINED), ("DBG_VALUE renamable $eax,", ADDED),
        ("renamable $eax =", ADDED), ("RET64 implicit killed", RETURNED),
    ]  # fmt: skip
    assert {place.file for place in machine.locations if place} == {"x.c", "sq.h"}
    assembly = irwidget.open(printed("llc-22"))[0].dumps[0]
    assert lines_of(assembly) == [
        (".loc 1 2", INLINED), ("movl %edi, %eax", INLINED), ("imull %edi, %eax", INLINED),
        (".loc 2 4", ADDED), ("addl %edi, %eax", ADDED), (".loc 2 5", RETURNED), ("retq", RETURNED),
    ]  # fmt: skip
    assert {place.file for place in assembly.locations if place} == {"/home/x.c", "/home/sq.h"}


@pytest.mark.external
def test_numbers_of_a_function_that_is_put_back_are_said_to_be_its_own():
    (low,) = irwidget.open(printed("opt-22", "-O1", "-S", "-print-after-all"))
    assert [one.message.partition(", on, ")[2][:68] for one in low.diagnostics] == [
        "functions were printed alone, in which LLVM numbers metadata (!3) an"
    ]


def test_places_go_with_the_functions_that_are_put_into_a_module():
    def define(name, number):
        return f"define i32 @{name}() {{\n  ret i32 {number}\n}}\n"

    f, g = Location("x.c", 1), Location("x.c", 2)
    whole = PlacedText(define("f", 0) + "\n" + define("g", 0))
    both = PlacedText(define("g", 2) + "\n" + define("f", 1), (None, g, None, None, None, f, None))
    made = PlacedText(define("f", 1) + "\n" + define("g", 2), (None, f, None, None, None, g, None, None))
    assert put(whole, both, PutTarget("llvm", "", "", several=("f", "g"))) == made
    assert put(whole, both, PutTarget("llvm", "", "", several=("f", "h"))) is None
    module = "#m = 1\nmodule {\n  func.func @f() {\n    a.b #m\n  }\n  func.func @g() {\n    a.c\n  }\n}\n"
    part = PlacedText("#x = 2\nfunc.func @g() {\n  a.c #x\n}\n", (None, f, g, None, None))
    found = put(PlacedText(module, (None,) * 10), part, PutTarget("mlir", "func.func", "g"))
    assert found == PlacedText(
        module.replace("#m = 1", "#m = 1\n#x = 2").replace("a.c", "a.c #x"),
        (*(None,) * 6, f, g, None, None, None),
    )
    part = PlacedText("func.func @f() {\n  a.d\n}\n", (f, g, None, None))
    found = put(PlacedText(module, (None,) * 10), part, PutTarget("mlir", "func.func", "f"))
    left = module.replace("#m = 1\n", "").replace("a.b #m", "a.d")
    assert found == PlacedText(left, (None, f, g, *(None,) * 6)), "the alias is gone, and its line"
