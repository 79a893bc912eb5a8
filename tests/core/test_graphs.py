"""Graphs that MLIR's `view-op-graph` prints become attachments."""

from __future__ import annotations

import pytest

import irwidget
from tests.core.test_pipelines import needs_llvm

PROGRAM = """
func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32
  return %0 : i32 }
func.func @g(%a: i32) -> i32 { return %a : i32 }
"""


@pytest.mark.parametrize("how", [{}, {"isolate": False}, pytest.param({"external": True}, marks=needs_llvm)])
@pytest.mark.parametrize(
    ("passes", "names"),
    [
        ("--canonicalize --view-op-graph --cse", ["view-op-graph.dot"]),
        ("--view-op-graph --canonicalize --view-op-graph", ["view-op-graph.dot", "view-op-graph-2.dot"]),
        ("--pass-pipeline='builtin.module(func.func(view-op-graph))'", ["view-op-graph.dot", "view-op-graph-2.dot"]),
    ],
)
def test_view_op_graph_leaves_graphs(passes, names, how):
    low = irwidget.lower(PROGRAM, to="raw_ir", pipeline=f"mlir-opt {passes}", **how)
    assert list(low.trace.attachments) == names
    for graph in low.trace.attachments.values():
        assert graph.startswith(b"digraph G {")
        assert graph.rstrip().endswith(b"}")
        assert graph.count(b"{") == graph.count(b"}")
    assert b"arith.addi" in low.trace.attachments["view-op-graph.dot"]
