"""Blocks of a loop, put back into the function that they are of, or left alone."""

import pytest

from irwidget.readers.loops import put_loop

FUNCTION = """\
; Function Attrs: nounwind
define i32 @f(i32 %n, ptr %0) #0 {
entry:
  br label %loop

loop:                                             ; preds = %loop, %entry
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %1 = load i32, ptr %0
  %j = add i32 %i, %1
  %c = icmp slt i32 %j, %n
  br i1 %c, label %loop, label %exit

exit:                                             ; preds = %loop
  %2 = load i32, ptr %0
  ret i32 %2
}
"""
LOOP = """
; Preheader:
entry:
  %more = add i32 %n, 1
  br label %loop

; Loop:
loop:                                             ; preds = %loop, %entry
  %i = phi i32 [ 0, %entry ], [ %j, %loop ]
  %1 = load i32, ptr %0
  %j = add nsw i32 %i, %1
  %c = icmp slt i32 %j, %more
  br i1 %c, label %loop, label %exit

; Exit blocks
exit:                                             ; preds = %loop
  %2 = load i32, ptr %0
  ret i32 %2
"""


def test_its_blocks_are_the_newer_ones():
    assert put_loop(FUNCTION, LOOP) == (
        FUNCTION.replace("entry:\n", "entry:\n  %more = add i32 %n, 1\n")
        .replace("%j = add i32", "%j = add nsw i32")
        .replace("%j, %n\n", "%j, %more\n")
    )


NUMBERED = """\
define void @f(ptr %0, i64 %1) {
  %3 = load i64, ptr %0
  br label %4

4:                                                ; preds = %4, %2
  %5 = phi i64 [ %3, %2 ], [ %6, %4 ]
  %6 = add i64 %5, 1
  %7 = icmp slt i64 %6, %1
  br i1 %7, label %4, label %8

8:                                                ; preds = %4
  store i64 %6, ptr %0
  ret void
}
"""
ENTRY = """
; Preheader:
  %3 = load i64, ptr %0
  br label %4

; Loop:
4:                                                ; preds = %4, %2
  %5 = phi i64 [ %3, %2 ], [ %6, %4 ]
  %6 = add i64 %5, 1
  %7 = icmp slt i64 %6, %1
  br i1 %7, label %4, label %8
"""


def test_the_first_block_has_the_number_that_it_is_counted_by():
    assert put_loop(NUMBERED, ENTRY) == NUMBERED
    swift = ENTRY.replace("br i1 %7,", "br i1 %7, !prof !0,")
    assert put_loop(NUMBERED, swift) == NUMBERED.replace("br i1 %7,", "br i1 %7, !prof !0,")


def test_a_number_that_other_blocks_use_stands_for_the_same_value():
    swapped = ENTRY.replace("%6 = add i64 %5, 1\n  %7 = icmp slt i64 %6", "%6 = icmp slt i64 %5, %1\n  %7 = add i64 %5")
    assert put_loop(NUMBERED, swapped) is None
    apart = NUMBERED.replace("store i64 %6, ptr", "store i64 0, ptr")  # nobody else uses one of them
    assert put_loop(apart, ENTRY.replace("add i64", "add nsw i64")) == apart.replace("add i64", "add nsw i64")


def test_numbers_begin_at_the_beginning():
    named = FUNCTION.replace("%0", "%p").replace("%1", "%0").replace("%2", "%1")
    gone = LOOP[: LOOP.index("; Exit")].replace("  %1 = load i32, ptr %0\n", "").replace("%i, %1", "%i, 1")
    assert put_loop(named, gone) is None


def test_blocks_that_are_not_printed_stay():
    assert put_loop(FUNCTION, LOOP[: LOOP.index("; Exit")]) == put_loop(FUNCTION, LOOP)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (
            LOOP.replace("label %exit", "label %latch").replace("; Exit blocks\nexit:", "; Exit blocks\nlatch:"),
            "a new block",
        ),
        (LOOP.replace("label %loop\n\n; Loop", "label %exit\n\n; Loop"), "another successor"),
        (LOOP.replace("preds = %loop, %entry", "preds = %entry"), "other predecessors"),
        (LOOP.replace("label %loop, label %exit", "label %loop, label %gone"), "to a block that is not there"),
        (LOOP.replace("  %1 = load", "  %1 = load i8, ptr %0\n  %2 = load").replace("%i, %1", "%i, %2"), "numbers"),
        (LOOP[LOOP.index("loop:") + 5 : LOOP.index("; Exit")], "a block without a label"),
        ("", "nothing"),
    ],
)
def test_what_does_not_fit_is_left_alone(changed, why):
    assert put_loop(FUNCTION, changed) is None, why
    assert put_loop("declare void @f()\n", LOOP) is None
