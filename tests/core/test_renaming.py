"""Texts that are equal apart from renumbered names, and texts that only look so."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irwidget.trace import debug_info, renaming

MLIR = """\
#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>, %c0: index, %c4: index, %b: i1) -> (tensor<4xf32>, f32) {
    %cst = arith.constant 0.0 : f32
    %0 = arith.subf %arg0, %arg1 : tensor<4xf32>
    %1:2 = "my.pair"(%0, %cst) {map = #map} : (tensor<4xf32>, f32) -> (tensor<4xf32>, f32)
    %2 = scf.for %arg2 = %c0 to %c4 step %c0 iter_args(%arg3 = %1#1) -> (f32) {
      %3 = arith.addf %arg3, %cst : f32
      scf.yield %3 : f32
    }
    cf.cond_br %b, ^bb1(%2 : f32), ^bb2
  ^bb1(%4: f32):  // pred: ^bb0
    return %1#0, %4 : tensor<4xf32>, f32
  ^bb2:  // pred: ^bb0
    return %1#0, %2 : tensor<4xf32>, f32
  }
  func.func @g(%arg0: f32) -> f32 {
    return %arg0 : f32
  }
}""".splitlines()
LLVM = """\
define float @f(ptr %0, float %1) {
  %3 = icmp eq ptr %0, null
  br i1 %3, label %4, label %6
4:                                                ; preds = %2
  %5 = fsub float %1, 1.0
  br label %8
6:                                                ; preds = %2
  %7 = fsub float 1.0, %1
  br label %8
8:                                                ; preds = %6, %4
  %9 = phi float [ %5, %4 ], [ %7, %6 ]
  ret float %9, !dbg !7
}
!7 = !{}""".splitlines()


def with_other_names(lines, of):
    """Every name renamed by a function of it; the labels of LLVM IR with the values that they are named like."""
    renamed = [
        re.sub(r"(?<!\w)([%^#])([A-Za-z_]*)(\d+)(?=(?:[:#]\d)?\b)", lambda f: f[1] + of(f[2], int(f[3])), line)
        for line in lines
    ]
    return [re.sub(r"^(\d+):", lambda f: f"{of('', int(f[1]))}:", line) for line in renamed]


@pytest.mark.parametrize("text", [MLIR, LLVM], ids=["mlir", "llvm"])
def test_every_renaming_is_equal(text):
    assert renaming.equal(text, text)
    assert renaming.equal(text, with_other_names(text, lambda word, number: f"{word}{number + 100}"))
    assert renaming.equal(text, with_other_names(text, lambda word, number: f"{word}{977 * number % 1009}"))


@pytest.mark.parametrize(
    ("text", "line", "new"),
    [
        (MLIR, 4, "    %0 = arith.subf %arg1, %arg0 : tensor<4xf32>"),
        (MLIR, 4, "    %0 = arith.subf %arg0, %arg0 : tensor<4xf32>"),
        (MLIR, 7, "      %3 = arith.addf %cst, %arg3 : f32"),
        (MLIR, 8, "      scf.yield %arg3 : f32"),
        (MLIR, 6, "    %2 = scf.for %arg2 = %c4 to %c0 step %c0 iter_args(%arg3 = %1#1) -> (f32) {"),
        (MLIR, 6, "    %2 = scf.for %arg2 = %c0 to %c4 step %c0 iter_args(%arg3 = %1#0) -> (f32) {"),
        (MLIR, 10, "    cf.cond_br %b, ^bb2(%2 : f32), ^bb1"),
        (MLIR, 12, "    return %1#1, %4 : tensor<4xf32>, f32"),
        (MLIR, 14, "    return %1#0, %4 : tensor<4xf32>, f32"),
        (LLVM, 2, "  br i1 %3, label %6, label %4"),
        (LLVM, 10, "  %9 = phi float [ %7, %4 ], [ %5, %6 ]"),
        (LLVM, 11, "  ret float %7, !dbg !7"),
    ],
)
def test_another_operand_is_no_renaming(text, line, new):
    changed = [*text[:line], new, *text[line + 1 :]]
    assert changed != text
    assert not renaming.equal(text, changed)
    assert not renaming.equal(changed, text)
    found = renaming.differing(zip(text, changed, strict=True))
    assert found
    assert min(found) >= line


def test_a_line_of_one_text_defines_names_anew():
    old = ["  %0 = a.a", "  %1 = a.b", "  use %0, %1"]
    new = ["  %0 = a.a", "  use %0, %7"]
    assert renaming.differing([(old[0], new[0]), (old[1], None), (old[2], new[1])]) == []
    new = ["  %0 = a.a", "  use %0, %0"]
    assert renaming.differing([(old[0], new[0]), (old[1], None), (old[2], new[1])]) == [2]


def test_the_names_of_another_function_are_other_names():
    function = ["func.func @f(%arg0: f32) {", "  %0 = a.a %arg0 : f32", "  return %0 : f32", "}"]
    other = ["func.func @f(%arg0: f32) {", "  %5 = a.a %arg0 : f32", "  return %5 : f32", "}"]
    assert renaming.equal([*function, *function], [*function, *other])


@pytest.mark.parametrize(
    ("pairs", "differing"),
    [
        # what a line ahead has promised holds, also where only one text has the label
        ([("  br label %4", "  br label %9"), ("4:", None), (None, "9:"), ("  br label %4", "  br label %8")], [3]),
        # a name that one text defines again is another value from there on
        ([("  %0 = a.a", "  %0 = a.a"), ("  %0 = a.b", None), (None, "  %5 = a.c"), ("  use %0", "  use %5")], []),
        ([("  %0 = a.a", "  %0 = a.a"), ("  %0 = a.b", None), ("  use %0", "  use %0")], []),
        # as many results, one by one
        ([("  %0:2 = a.a", "  %0:3 = a.a")], [0]),
        # labels are those of their function, metadata and attributes those of the module
        (
            [
                ("define void @f() {", "define void @f() {"),
                ("  br label %4, !dbg !7", "  br label %9, !dbg !8"),
                ("define void @g() {", "define void @g() {"),
                ("  br label %4, !dbg !7", "  br label %4, !dbg !9"),
                ("  br label %4, !dbg !7", "  br label %4, !dbg !8"),
            ],
            [3],
        ),
    ],
)
def test_names_are_followed_through_lines_of_one_text_and_functions(pairs, differing):
    assert renaming.differing(pairs) == differing
    assert renaming.differing([(new, old) for old, new in pairs]) == differing


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12), st.permutations(range(12)))
def test_it_says_what_an_oracle_says(uses, order):
    """Straight-line programs: values by number, equal exactly when every operand is the value of the same place."""

    def text(names, operands):
        return [f"  %{names[i]} = op %{names[a]}, %{names[b]}" for i, (a, b) in enumerate(operands, 4)]

    names = [*range(4), *(4 + n for n in order)]
    heads = ["func.func @f(%0: f32, %1: f32, %2: f32, %3: f32) {"]
    operands = [(a, b) for a, b in uses]
    assert renaming.equal(heads + text(range(100), operands), heads + text(names, operands))
    flipped = [(b, a) for a, b in operands]
    same = flipped == operands
    assert renaming.equal(heads + text(range(100), operands), heads + text(names, flipped)) == same


PTX = """\
.visible .entry f()
{
\t.loc\t1 2 0
$L__func_begin0:
\tret;
$L__tmp1:
}
\t.file\t1 "a.mlir"
\t.section\t.debug_info
\t{
.b8 1
\t}
\t.section\t.debug_macinfo\t{\t}
.visible .entry g()
"""
GCN = """\
.Lfunc_begin0:
\t.loc\t1 2 0
\ts_endpgm
.Lfunc_end0:
\t.section\t.debug_abbrev
\t.byte\t1
\t.section\t.rodata
\t.p2align\t6
"""
LL = """\
define void @f(i32 %a) !dbg !4 {
    #dbg_value(i32 %a, !7, !DIExpression(), !6)
  br label %b, !dbg !6, !llvm.loop !8
b:
  ret void, !dbg !6
}
!llvm.dbg.cu = !{!0}
!llvm.ident = !{!9}
!0 = distinct !DICompileUnit(file: !1)
!1 = !DIFile(filename: "a.c")
!4 = distinct !DISubprogram(name: "f", retainedNodes: !5)
!5 = !{!7, null}
!6 = !DILocation(line: 3)
!7 = !DILocalVariable(name: "a")
!8 = distinct !{!8, !6}
!9 = !{!"clang"}
!10 = !{}
!11 = !{null}
!12 = !{!13}
!13 = !{!7}
"""


@pytest.mark.parametrize(
    ("language", "text", "left"),
    [
        ("ptx", PTX, ".visible .entry f()\n{\n\tret;\n}\n.visible .entry g()"),
        ("amdgcn", GCN, "\ts_endpgm\n.Lfunc_end0:\n\t.section\t.rodata\n\t.p2align\t6"),
        (
            "llvm",
            LL,
            "define void @f(i32 %a) {\n  br label %b, !llvm.loop !8\nb:\n  ret void\n}\n!llvm.ident = !{!9}\n"
            '!8 = distinct !{!8, !6}\n!9 = !{!"clang"}\n!10 = !{}\n!11 = !{null}',
        ),
        ("mlir", '#di_file = #llvm.di_file<"a">\nmodule {\n  llvm.intr.dbg.value %a\n}\n', "module {\n}"),
        ("python", ".loc 1\n", ".loc 1"),
    ],
)
def test_debug_information_is_left_out_and_nothing_else(language, text, left):
    assert "\n".join(debug_info.without(language, text)) == left
