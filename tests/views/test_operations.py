"""What the browser reads of operations in a text is what MLIR finds when it parses it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import pytest
from torch_mlir import ir

from tests.views.lowerings import PASSES, lower
from tests.views.peer import Peer

NOT_PRINTED = frozenset({"scf.yield", "affine.yield", "scf.reduce"})
"""Terminators that are often left out of a text."""
HOLDS = frozenset({"linalg.matmul", "linalg.fill"})
"""Operations whose bodies are."""


MAP = "affine_map<(d0) -> (d0)>"
GENERIC = f'linalg.generic {{indexing_maps = [{MAP}, {MAP}], iterator_types = ["parallel"]}}'
CHAIN = "\n".join(
    f"""
    %{name} = {GENERIC} ins(%{name - 1} : tensor<8xf32>) outs(%e : tensor<8xf32>) {{
    ^bb0(%in: f32, %out: f32):
      %s = {op} %in : f32
      linalg.yield %s : f32
    }} -> tensor<8xf32>"""
    for name, op in enumerate(("math.exp", "math.tanh", "arith.negf"), 1)
)
FUSED = f"""func.func @f(%0: tensor<8xf32>) -> tensor<8xf32> {{
    %e = tensor.empty() : tensor<8xf32>{CHAIN}
    return %3 : tensor<8xf32>
}}"""
FUSING = ("linalg-fuse-elementwise-ops", "convert-linalg-to-loops", "canonicalize", "convert-linalg-to-affine-loops")


@pytest.fixture(scope="module")
def traces():
    return lower(), lower(FUSED, ("linalg-generalize-named-ops", *FUSING, *PASSES), "fused")


@pytest.fixture(scope="module")
def trace(traces):
    return traces[0]


@pytest.fixture(scope="module")
def answers(traces, tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("peer")) as peer:
        return peer.ask(traces)["operations"]


@pytest.fixture(scope="module")
def said(answers):
    return answers[0]


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
    assert flops["inline"] == flops["convert-linalg-to-loops"]
    assert flops["input"] is None  # it calls a function
    assert flops["convert-scf-to-cf"] is None
    names = [dump.name for dump in trace.dumps]
    assert said[names.index("lower-affine")]["cost"]["bytes"] == 8 * 4 * 4


def counted(text: str) -> Counter[str]:
    """How often each operation is in a module, those that its text leaves out, too."""
    counts: Counter[str] = Counter()

    def visit(op) -> None:
        counts[op.name] += 1
        for region in op.regions:
            for block in region:
                for inner in block:
                    visit(inner.operation)

    visit(ir.Module.parse(text).operation)
    return counts


def test_a_sentence_is_true_of_the_modules(traces, answers):
    sentences = 0
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        for trace, stages in zip(traces, answers, strict=True):
            for (before, after), stage in zip(pairwise(trace.dumps), stages[1:], strict=True):
                old, new = counted(before.text), counted(after.text)
                for word, part in re.findall(r"(removed|added) ([^;]*)", stage["sentence"]):
                    for number, name in re.findall(r"([\d,]+) ([a-z]\w*\.[\w.]+)", part):
                        more = new[name] - old[name]
                        assert more == int(number.replace(",", "")) * (1 if word == "added" else -1), stage["sentence"]
                        sentences += 1
    assert sentences > 40
    (fused,) = (stage["sentence"] for stage in answers[1] if "fused" in stage["sentence"])
    assert fused == "fused 3 linalg.generic into 1"
