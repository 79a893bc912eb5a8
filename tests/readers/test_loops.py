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
