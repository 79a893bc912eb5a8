"""Logs that another program has passed on, and IR that LLVM's banners stand above and LLVM does not know."""

from __future__ import annotations

import pytest

import irwidget

MLIR = """\
a word before
// -----// IR Dump After A (a-pass) //----- //
module {
  func.func @main(%arg0: i32) -> i32 {
    %c1 = arith.constant 1 : i32
    %0 = arith.addi %arg0, %c1 : i32
    return %0 : i32
  }
}

x.mlir:3:5: warning: said between
// -----// IR Dump After Canonicalizer (canonicalize) //----- //
module {
  func.func @main(%arg0: i32) -> i32 {
    return %arg0 : i32
  }
}
"""
LLVM = """\
; *** IR Dump After SROAPass on f ***
define i32 @f(i32 %x) {
entry:
  %y = add i32 %x, 1

  ret i32 %y
}
; *** IR Dump After InstCombinePass on f ***
define i32 @f(i32 %x) {
entry:
  ret i32 %x
}
"""


def prefixed(log: str, prefix: str) -> str:
    """Each line behind a prefix, in which `#` is the number of the line."""
    lines = log.removesuffix("\n").split("\n")
    return "".join(f"{prefix.replace('#', f'{i:04}')}{line}".rstrip() + "\n" for i, line in enumerate(lines, 1))


def read(log: str | bytes) -> list[list]:
    return [
        [*((dump.name, str(dump.scope), dump.language, dump.text) for dump in low.dumps), *map(str, low.diagnostics)]
        for low in irwidget.open(log, name="log")
    ]


@pytest.mark.parametrize("log", [MLIR, LLVM], ids=["mlir", "llvm"])
@pytest.mark.parametrize(
    "prefix",
    [
        "2026-11-02T03:04:05.#Z ", "E   ", "[rank0]: ", "worker-1  | ", "\x1b[36mworker-1  |\x1b[0m ", "> ", "// ",
        "[1,0]<stderr>:", "12:#:01 INFO \t", "(a+b)* [.] ", "    ", "\t",
    ],
)  # fmt: skip
def test_what_stands_before_each_line_is_left_out(log, prefix):
    assert read(prefixed(log, prefix)) == read(log)


@pytest.mark.parametrize(
    "prefix",
    [
        lambda i: f"{i:6}\t", lambda i: f"[ {i * 3.7:8.2f}s] ", lambda i: ("INFO: ", "DEBUG: ")[i // 6 % 2],
        lambda i: f"[{('7f3a2b', '7f3bcc')[i // 6 % 2]}] ", lambda i: f"12:00:01 {('AM', 'PM')[i // 6 % 2]} | ",
        lambda i: f"I1130 09:59:50.{i:06} 4321 pass_manager.cc:{120 - i % 5}] ",
    ],
)  # fmt: skip
def test_prefixes_of_which_more_than_numbers_varies(prefix):
    """Numbers that are filled up with blanks, or in hexadecimal; words."""
    for log in (MLIR, LLVM):
        lines = log.removesuffix("\n").split("\n")
        assert read("".join(f"{prefix(i)}{line}\n" for i, line in enumerate(lines))) == read(log)


def test_colours_and_wide_characters_are_left_out():
    plain = read(MLIR)
    assert read(MLIR.replace("// -----//", "\x1b[0;32m// -----//").replace("//----- //", "//----- //\x1b[0m")) == plain
    assert read(MLIR.replace("module", "\x1b[1mmodule\x1b[m")) == plain
    for encoding in ("utf-16-le", "utf-16-be"):
        assert read(f"\ufeff{MLIR}é".encode(encoding)) == read(f"{MLIR}é")
    assert read(f"\ufeff{LLVM}") == read(LLVM)


def test_lines_of_processes_that_come_in_turn_are_put_together():
    """Each by its number; places in messages are those of the log as it is."""
    other = MLIR.replace("@main", "@other")
    pairs = zip(MLIR.splitlines(), other.splitlines(), strict=True)
    log = "".join(f"[rank0] 10:{i:02}: {one}\n[rank1] 10:{i:02}: {two}\n" for i, (one, two) in enumerate(pairs))
    zero, one = read(log)
    assert [zero[:2], one[:2]] == [read(MLIR)[0][:2], read(other)[0][:2]]
    assert [said.partition(": remark: ")[0] for said in (*zero[2:], *one[2:]) if "a word" in said] == ["log:1", "log:2"]


def test_what_is_first_said_late_in_a_log_is_a_prefix_too():
    passes = MLIR[MLIR.index("//") :]
    log = "".join(f"9:{i // 60:02}:{i % 60:02} AM {line}" for i, line in enumerate((passes * 600).splitlines(True)))
    late = log + "".join(f"1:00:{i:02} PM {line}" for i, line in enumerate((passes * 3).splitlines(True)))
    texts = [dump.text for low in irwidget.open(late) for dump in low.dumps]
    assert texts == [row[3] for row in read(passes)[0][:2]] * 603


HALIDE = "Lowering after a:\nfor (x, 0, 1) {\n}\n\nsaid\nLowering after b:\n12 {\n\n"


@pytest.mark.parametrize(
    "prefix", ["", "2026-11-02T03:04:#.12Z ", "E   ", "[rank0]: ", "w-1  | ", "    ", "\x1b[36mw|\x1b[0m"]
)
def test_logs_of_other_compilers_have_prefixes_too(prefix):
    assert read(prefixed(HALIDE * 2, prefix)) == read(HALIDE * 2)
    assert len(read(HALIDE)[0]) > 2


def test_a_log_of_which_some_lines_are_not_indented_is_read_where_it_is():
    log = "".join(f"  {line}" if line.startswith("//") else line for line in MLIR.splitlines(True))
    assert [row[3] for row in read(log)[0][:2]] == [row[3] for row in read(MLIR)[0][:2]]


def test_what_stands_before_banners_alone_is_no_prefix():
    log = MLIR.replace("// -----// IR", "[pass.cpp:12] // -----// IR")
    assert sum("[pass.cpp:12]" in str(said) for said in irwidget.open(log)[0].diagnostics) == 2
    assert [text for *_, text in read(log)[0][:2]] == [text for *_, text in read(MLIR)[0][:2]]


def test_numbers_that_are_too_long_are_none():
    log = prefixed(MLIR, "[7] ") + "[" + "9" * 10_000 + "] word\n"
    assert [text for *_, text in read(log)[0][:2]] == [text for *_, text in read(MLIR)[0][:2]]


HIR = """\
<0>          BEGIN REGION { }
<12>               + DO i1 = 0, 9, 1   <DO_LOOP>
<5>                |   (%A)[i1] = i1;
<12>               + END LOOP
<0>          END REGION
"""


def test_another_ir_than_llvms_below_its_banners_is_shown_as_it_is():
    said = "\nFunction: foo\n\n"
    changed = HIR.replace("0, 9, 1", "9, 0, -1")
    log = f"*** IR Dump Before HIR Loop Reversal (hir-loop-reversal) ***{said}{HIR}"
    log += f"\n*** IR Dump After HIR Loop Reversal (hir-loop-reversal) ***{said}{changed}"
    assert read(log) == [
        [
            ("input", "foo", "text", f"{said[1:]}{HIR}"),
            ("hir-loop-reversal", "foo", "text", f"{said[1:]}{changed}"),
        ]
    ]


def test_a_log_with_dumps_of_two_formats_says_so():
    found = irwidget.open(HALIDE * 2 + MLIR)
    assert found.format == "passes"
    (said,) = [one for one in found[0].diagnostics if "format=" in one.message]
    assert "format='halide'" in said.message
    assert irwidget.open(HALIDE * 2 + MLIR, format="halide")[0].dumps[0].name == "a"
    assert not [one for log in (MLIR, HALIDE) for one in irwidget.open(log)[0].diagnostics if "format=" in one.message]
