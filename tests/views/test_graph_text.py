"""Graphs of control flow as text, for where no browser draws them."""

from __future__ import annotations

import irwidget
from irwidget.views import fallbacks, graph_text

CODE = """define i32 @foo(i32 %x) {
entry:
  br label %loop
loop:
  %c = icmp eq i32 %x, 0
  br i1 %c, label %loop, label %out
out:
  ret i32 2
}
"""
PICTURE = """CFG for 'foo' function (foo.dot, 3 nodes)
+------------------+
| entry:           |
|   br label %loop |
+------------------+
  v loop
+-------------------------------------+
| loop:                               |
|   %c = icmp eq i32 %x, 0            |
|   br i1 %c, label %loop, label %out |
+-------------------------------------+
  T ^ loop   F v out
+-------------+
| out:        |
|   ret i32 2 |
+-------------+"""


def test_the_control_flow_of_opt_is_a_picture_in_text_and_html() -> None:
    low = irwidget.lower(CODE, to="raw_ir", pipeline="opt -passes=dot-cfg", timeout=60)
    assert fallbacks.text([low.trace]).endswith(f"\n\n{PICTURE}")
    html = fallbacks.html([low.trace])
    assert "CFG for &#x27;foo&#x27; function (foo.dot, 3 nodes)</summary>" in html
    assert "T ^ loop   F v out" in html


def test_a_graph_with_labels_on_its_edges() -> None:
    dot = 'digraph G {\n  a [label="one\\ntwo"];\n  "b.c" [shape=box];\n  a -> "b.c" [label="x"];\n  a -> d;\n}\n'
    lines = graph_text.drawn("g.dot", dot).split("\n")
    assert lines[0] == "g.dot (3 nodes)"
    assert lines[1:6] == ["+-----+", "| one |", "| two |", "+-----+", '  x v "b.c"   v d']


def test_a_large_graph_is_cut() -> None:
    dot = "digraph G {\n" + "".join(f'  n{i} [label="{i}"];\n' for i in range(100)) + "}\n"
    lines = graph_text.drawn("g.dot", dot).split("\n")
    assert len(lines) == graph_text.LINES
    assert lines[-1] == "... 222 more lines"
