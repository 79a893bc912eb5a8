"""The diff: it is one, it is short, and Python and the browser find the same hunks.

js/test/hunks.json has pairs with the hunks that Python finds, for js/test/diff.test.ts;
`python -m tests.views.test_diff` writes it anew.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irwidget.trace import Scope, Trace, dump, syntax
from irwidget.views import diff
from irwidget.views.analysis import Analysis
from irwidget.views.diff import Hunk, Segment
from tests.views.lowerings import lower
from tests.views.peer import Peer

HUNKS = Path(__file__).parents[2] / "js/test/hunks.json"

numbers = st.lists(st.integers(0, 6), max_size=40)


def common(a: Sequence[int], b: Sequence[int]) -> int:
    """The length of the longest common subsequence, by its definition."""
    row = [0] * (len(b) + 1)
    for x in a:
        last = 0
        for j, y in enumerate(b):
            last, row[j + 1] = row[j + 1], last + 1 if x == y else max(row[j + 1], row[j])
    return row[-1]


def kept(a: Sequence[int], b: Sequence[int], hunks: Sequence[Hunk]) -> int:
    """How many lines are outside of the hunks, where both sides must be equal."""
    i = j = count = 0
    for one in [*hunks, Hunk(len(a), len(a), len(b), len(b))]:
        assert a[i : one.a0] == b[j : one.b0]
        count += one.a0 - i
        i, j = one.a1, one.b1
    return count


@given(numbers, numbers)
def test_it_keeps_as_many_lines_as_the_longest_common_subsequence(a, b):
    assert kept(a, b, diff.by_line(a, b)) == common(a, b)


@given(numbers, numbers, st.integers(1, 8))
def test_it_is_a_diff_under_any_cap(a, b, cap):
    kept(a, b, diff.by_line(a, b, cap))


def test_one_symbol_in_the_place_of_another_is_compared_with_it():
    a, b = [1, 2, 3, 4], [1, 2, 5, 4]
    cut = [Segment("f", 0, 1), Segment("g", 1, 4)], [Segment("f", 0, 1), Segment("h", 1, 4)]
    assert diff.by_symbol(a, b, *cut) == [Hunk(2, 3, 2, 3)]


def test_symbols_that_went_are_compared_with_nothing():
    a, b = [1, 2, 3, 9, 1, 2, 3], [9, 1, 2, 3]
    cut = [Segment("f", 0, 3), Segment("g", 3, 7)], [Segment("g", 0, 4)]
    assert diff.by_symbol(a, b, *cut) == [Hunk(0, 3, 0, 0)]


def test_what_closes_the_module_stays_when_its_last_symbol_goes_or_comes():
    a, b = [0, 1, 2, 9, 3, 2, 7, 8], [0, 1, 2, 7, 8]
    cut = [Segment("", 0, 1), Segment("f", 1, 3), Segment("g", 3, 8)], [Segment("", 0, 1), Segment("f", 1, 5)]
    assert diff.by_symbol(a, b, *cut) == [Hunk(3, 6, 3, 3)]
    assert diff.by_symbol(b, a, *cut[::-1]) == [Hunk(3, 3, 3, 6)]
    emptied = [0, 7, 8]
    assert diff.by_symbol(a, emptied, cut[0], [Segment("", 0, 3)]) == [Hunk(1, 6, 1, 1)]


@pytest.mark.parametrize(
    ("hunk", "shown"),
    [
        (Hunk(0, 3, 0, 3), []),
        (Hunk(4, 6, 4, 5), [Hunk(0, 1, 0, 0)]),
        (Hunk(6, 7, 6, 8), [Hunk(1, 2, 1, 3)]),
        (Hunk(9, 20, 9, 9), [Hunk(4, 5, 4, 4)]),
        (Hunk(12, 12, 6, 9), [Hunk(5, 5, 1, 4)]),  # A function that was moved: new here, gone elsewhere.
    ],
)
def test_a_part_has_the_hunks_that_touch_it(hunk, shown):
    assert diff.within([hunk], (5, 10), (5, 10)) == shown


LINES = (
    "module {", "  func.func @f(%a: f32) {", "  func.func @g1(%a: f32) {", "  func.func @g2() {", "  }", "}", "",
    "  %1 = arith.addf %a, %2 : f32", "  %3 = arith.addf %a, %4 : f32", "  return %1 : f32", "  return %a : f32",
    "^bb1:", "^bb2:  // pred: ^bb0", "#map1 = affine_map<(d0) -> (d0)>", "  %c = arith.constant 12 : i32",
    "define void @f(ptr %0) #1 {", "define void @g2() {", "declare float @expf(float)", "@g = global i32 1",
    "bb.1.entry:", "bb.2.entry:", "12:", "13:", "  br label %5, !dbg !7", "  br label %6, !dbg !9",
    ".visible .entry main(", ".func  (.param .b32 r) helper7(", "  @%p1 bra $L__BB0_2;", "  @%p2 bra $L__BB0_3;",
    "  ld.param.u64 %rd1, [f_param_0];", "%x:2 = f(%y#1)", "007 0 123456789012 é ÿ %00 %é1 = \u2028 @é1 =", "  else",
)  # fmt: skip
SCOPES = (Scope(), Scope(), Scope(anchor="func.func"), Scope(function="f"), Scope("k", "g2"), Scope("", "f", "%l"))
LANGUAGES = ("mlir", "llvm", "ptx", "python")


def edited(chance: random.Random, lines: Sequence[str]) -> list[str]:
    """Lines like these: some gone, some new, some in another place."""
    made = list(lines)
    for _ in range(chance.randrange(1 + len(made) // 3 + 1)):
        at = chance.randrange(len(made) + 1)
        match chance.randrange(3):
            case 0:
                del made[at : at + chance.randrange(4)]
            case 1:
                made[at:at] = chance.choices(LINES, k=chance.randrange(4))
            case _:
                moved = made[at : at + 5]
                del made[at : at + 5]
                to = chance.randrange(len(made) + 1)
                made[to:to] = moved
    return made


def random_traces(seed: int, count: int) -> Iterator[Trace]:
    """Lowerings whose dumps follow from each other, in all languages, of modules and of functions."""
    chance = random.Random(seed)
    for _ in range(count):
        lines = chance.choices(LINES, k=chance.randrange(60))
        dumps = []
        language = chance.choice(LANGUAGES)
        for _ in range(12):
            scope = chance.choice(SCOPES)
            dumps.append(dump("p", "\n".join(lines), step=0, language=language, scope=scope))
            lines = edited(chance, lines) if chance.random() < 0.8 else chance.choices(LINES, k=chance.randrange(30))
        yield Trace("t", tuple(dumps))


def long_trace() -> Trace:
    """Functions so long that their diff is capped."""
    chance = random.Random(1)
    lines = ["func.func @f() {", *(f"  %{i} = arith.addi {chance.randrange(40)}" for i in range(3500)), "}"]
    other = [line if chance.random() < 0.6 else f"  arith.addi {chance.randrange(40)}" for line in lines]
    return Trace("t", tuple(dump("p", "\n".join(one), step=0) for one in (lines, other, lines[::-1])))


@pytest.fixture(scope="module")
def peer(tmp_path_factory):
    with Peer(tmp_path_factory.mktemp("peer")) as made:
        yield made


def agree(peer: Peer, traces: Sequence[Trace]) -> int:
    """Hold the browser to what Python says; how many pairs that were."""
    said = peer.ask(traces)
    pairs = 0
    for trace, theirs in zip(traces, said["traces"], strict=True):
        ours = Analysis(trace)
        assert [one["right"] for one in theirs] == [i for i, before in enumerate(ours.before) if before >= 0]
        for one in theirs:
            left, right = one["left"], one["right"]
            assert left == ours.before[right]
            assert (one["delta"]["gone"], one["delta"]["added"]) == ours.delta(left, right)
            assert tuple(one["part"]) == ours.beside(left, right)
            for name, ignored in (("exact", False), ("blank", True)):
                found = [Hunk(**hunk) for hunk in one[name]]
                assert found == ours.hunks(left, right, ignore_renumbering=ignored)
            assert [Hunk(**hunk) for hunk in one["shown"]] == ours.shown(left, right)
            pairs += 1
    for one in said["lines"]:
        line = one["line"]
        assert one["blank"] == syntax.blank(line)
        assert one["symbol"] == syntax.symbol(line)
        languages = {syntax.syntax_of(made.language) for trace in traces for made in trace.dumps}
        for which, operation in zip(("mlir", "llvm", "asm"), one["operations"], strict=True):
            assert operation == (syntax.operation(line, which) if which in languages else "")
    return pairs


def test_python_and_the_browser_agree_on_random_dumps(peer):
    assert sum(agree(peer, list(random_traces(seed, 10))) for seed in range(32)) > 3000


def test_python_and_the_browser_agree_on_real_dumps(peer):
    assert agree(peer, [lower()]) == 20


def test_python_and_the_browser_agree_beyond_the_cap(peer):
    assert agree(peer, [long_trace()]) == 2


def cuts(chance: random.Random, length: int) -> list[Segment]:
    """A dump of this length, cut anywhere into symbols."""
    at = sorted({0, *(chance.randrange(length + 1) for _ in range(chance.randrange(6))), length})
    return [Segment(chance.choice("fgh"), i, j) for i, j in pairwise(at)]


def hunks() -> list[dict[str, Any]]:
    """Pairs of lines, a letter each, with and without cap and symbols, and their hunks."""
    chance = random.Random(3)
    found: list[dict[str, Any]] = []
    for i in range(400):
        letters = "abcdefghijklmnop"[: chance.randrange(1, 17)]
        a, b = ("".join(chance.choices(letters, k=chance.randrange(40 if i % 4 else 160))) for _ in "ab")
        cap = chance.randrange(1, 12) if i % 2 else 0
        cut = [] if i % 5 else [cuts(chance, len(a)), cuts(chance, len(b))]
        made = diff.by_symbol(a, b, *cut) if cut else diff.by_line(a, b, cap or 1 << 30)
        found.append({"a": a, "b": b, "cap": cap, "cuts": cut, "hunks": made})
    return found


def test_the_browsers_test_reads_what_python_finds():
    assert json.loads(HUNKS.read_text()) == json.loads(json.dumps(hunks())), "python -m tests.views.test_diff"


if __name__ == "__main__":
    HUNKS.write_text(json.dumps(hunks(), separators=(",", ":")) + "\n")
