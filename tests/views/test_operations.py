"""What the browser reads of operations in a text is what MLIR finds when it parses it."""

from __future__ import annotations

import pytest
from torch_mlir import ir

from tests.views.lowerings import PASSES, lower
from tests.views.peer import Peer

NOT_PRINTED = frozenset({"scf.yield", "affine.yield", "scf.reduce"})
"""Terminators that are often left out of a text."""
HOLDS = frozenset({"linalg.matmul", "linalg.fill"})
"""Operations whose bodies are."""


@pytest.fixture(scope="module")
def trace():
    return lower()


@pytest.fixture(scope="module")
def said(trace, tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("peer")) as peer:
        return peer.ask([trace])["operations"][0]


def below(op, depth: int):
    """Depth and name of each operation in the order of the text."""
    yield depth, op.name
    if op.name in HOLDS:
        return
    for region in op.regions:
        for block in region:
            for inner in block:
                if inner.operation.name not in NOT_PRINTED:
                    yield from below(inner.operation, depth + 1)


def uses(function) -> set[str]:
    """Which operations of a function use, themselves or inside of them, what which others have made."""
    inner = [one.operation for region in function.regions for block in region for one in block]
    found: set[str] = set()

    def visit(op, user: int) -> None:
        for operand in op.operands:
            for i, one in enumerate(inner):
                if i != user and not isinstance(operand.owner, ir.Block) and one == operand.owner.operation:
                    found.add(f"{i}>{user}")
        for region in op.regions:
            for block in region:
                for one in block:
                    visit(one.operation, user)

    for i, one in enumerate(inner):
        visit(one, i)
    return found


def test_tree_and_graph_are_those_of_the_module(trace, said):
    functions = 0
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        for dump, theirs in zip(trace.dumps, said, strict=True):
            module = ir.Module.parse(dump.text)
            assert [tuple(one) for one in theirs["tree"]] == list(below(module.operation, 0)), dump.name
            ours = [one.operation for one in module.body if one.operation.name.endswith(".func")]
            assert [set(one) for one in theirs["uses"]] == [uses(one) for one in ours], dump.name
            functions += len(ours)
    assert functions > len(PASSES)


def test_costs_are_said_while_the_text_has_them(trace, said):
    flops = {dump.name: one["cost"]["flops"] for dump, one in zip(trace.dumps, said, strict=True)}
    product = 2 * 8 * 16 * 4
    assert flops["convert-linalg-to-loops"] == product + 2 * 8 * 4 + 1  # and the function that is called
    assert flops["input"] is None  # it calls a function
    assert flops["convert-scf-to-cf"] is None
    names = [dump.name for dump in trace.dumps]
    assert said[names.index("lower-affine")]["cost"]["bytes"] == 8 * 4 * 4
