"""What `xdsl-opt a.mlir -p canonicalize,cse,convert-x --print-between-passes` prints (xDSL 0.74)."""

from __future__ import annotations

import irwidget

MODULE = """\
builtin.module {
  func.func @f(%a: i32) -> i32 {
    %c = arith.constant 1 : i32
    %b = arith.addi %a, %c : i32
    func.return %b : i32
  }
}
"""
CHANGED = MODULE.replace("addi", "muli")
LOG = f"""\
IR after canonicalize:
{MODULE}


a.py:7: UserWarning: slow
IR after cse:
{MODULE}


IR after convert-x:
{CHANGED}


{CHANGED}"""


def test_xdsls_passes():
    (low,) = found = irwidget.open(LOG)
    assert found.format == "xdsl"
    assert low.name == "f"
    assert [(dump.name, dump.step, dump.options, dump.text, dump.changed) for dump in low.dumps] == [
        ("canonicalize", 0, "", MODULE, True), ("cse", 0, "", MODULE, False),
        ("convert-x", 0, "", CHANGED, True), ("output", 0, "", CHANGED, False),
    ]  # fmt: skip
    assert [one.message for one in low.diagnostics] == ["a.py:7: UserWarning: slow"]


def test_words_that_begin_like_a_banner_are_none():
    (low,) = irwidget.open(LOG.replace("a.py:7: UserWarning: slow", "IR after all of this is the same"))
    assert len(low.dumps) == 4
