"""The joint search: never slower than today, repeatable, and its hints give the plan that it promises."""

from __future__ import annotations

import random
import signal
import threading
import time
from importlib.util import find_spec

import pytest
import torch

from irwidget import UsageError
from irwidget.spyre import TensorSpec, compile, search, searching, spyre_hint
from irwidget.spyre.plans import splits
from irwidget.spyre.searching import OPS
from irwidget.spyre.variants import choices
from irwidget.views.spyre import SpyreView
from tests.spyre.test_view import unpacked

METHODS = ["annealing", pytest.param("cpsat", marks=pytest.mark.skipif(not find_spec("ortools"), reason="no OR-Tools"))]


def softmax(x):
    return torch.softmax(x, 0)


@pytest.fixture(scope="module")
def program():
    return compile(softmax, [TensorSpec((512, 1024), dims=["M", "N"])])


def test_a_division_in_words_leaves_out_what_is_not_divided():
    assert splits({"d0": 2, "d1": 1, "d2": 8}) == "d0/2 d2/8"
    assert splits({"d0": 1}) == "none"


@pytest.mark.parametrize("method", METHODS)
def test_a_search_finds_the_split_that_keeps_a_softmax_in_lx(program, method):
    found = search(program, method=method, steps=1000)
    assert found.method == method
    assert found.today.us == program.estimate().us
    assert found.best.us < 0.5 * found.today.us
    assert found.best.us == found.best.program.estimate().us  # compiled, not hoped for
    assert "buf2" in found.best.program.scratchpad.addresses
    assert "buf2" not in program.scratchpad.addresses
    assert any(line.startswith("buf2 = exp: now in LX") for line in found.best.differences)
    times, peaks = [plan.us for plan in found.front], [plan.lx_peak for plan in found.front]
    assert times == sorted(times)
    assert peaks == sorted(peaks, reverse=True)
    assert found.front[-1].lx_peak == 0
    assert "compile(..., divisions=" in str(found)
    again = search(program, method=method, steps=1000)
    assert [(p.us, p.divisions, p.hints) for p in again.front] == [(p.us, p.divisions, p.hints) for p in found.front]


def test_the_choices_cost_what_the_program_is_estimated_to_cost(program):
    table = choices(program)
    today = dict.fromkeys(table.ops, 0)
    inside = searching.resident(table, today, program.options.lx_bytes)
    assert inside == set(program.scratchpad.addresses)
    assert searching.cost(table, today, program.options.lx_bytes) == pytest.approx(program.estimate().us)
    for op, variants in table.ops.items():
        assert dict(program.graph.op(op).splits) == variants[0].splits
        assert len({tuple(v.splits.items()) for v in variants}) == len(variants)


def test_the_hints_of_a_plan_give_the_plan(program):
    best = search(program, method="annealing", steps=1000).best
    hint = next(line for line in best.hints if "buf3 = sum" in line)
    given = eval(hint.partition("work_div=")[2].partition(")")[0])  # of our own making
    assert set(given) <= {"M", "N"}

    def summed(x):
        y = torch.exp(x)
        with spyre_hint(work_div=given):
            return y.sum(0)

    made = compile(summed, [TensorSpec((512, 1024), dims=["M", "N"])])
    wanted = {v: n for v, n in best.divisions["buf3"].items() if n > 1}
    assert {v: n for v, n in made.graph.ops[-1].splits if n > 1} == wanted


@pytest.mark.skipif(not find_spec("ortools"), reason="no OR-Tools")
def test_an_interrupt_ends_a_search(program, monkeypatch):
    from ortools.sat.python import cp_model

    solve, chance = cp_model.CpSolver.solve, random.Random(0)
    hard = cp_model.CpModel()  # Cornuejols and Dawande's market split: minutes
    bits = [hard.new_bool_var("") for _ in range(50)]
    for _ in range(6):
        sizes = [chance.randrange(100) for _ in bits]
        hard.add(sum(size * bit for size, bit in zip(sizes, bits, strict=True)) == sum(sizes) // 2)

    def interrupted(solver, _):
        threading.Timer(0.5, signal.pthread_kill, [threading.main_thread().ident, signal.SIGINT]).start()
        solver.parameters.max_time_in_seconds = 60
        return solve(solver, hard)

    monkeypatch.setattr(cp_model.CpSolver, "solve", interrupted)
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            search(program, method="cpsat")
    finally:
        signal.signal(signal.SIGINT, kept)
    assert time.monotonic() - began < 20


def test_where_nothing_is_faster_today_stays():
    def matmul(a, b):
        return a @ b

    program = compile(matmul, [TensorSpec((512, 1024)), TensorSpec((1024, 2048))])
    found = search(program, method="annealing", steps=300)
    assert found.best is found.today
    assert "Nothing that was tried is estimated faster" in str(found)


def test_what_a_search_refuses(program, monkeypatch):
    with pytest.raises(UsageError, match="method='magic' is not known"):
        search(program, method="magic")
    monkeypatch.setattr(searching, "_solver", lambda: False)
    with pytest.raises(UsageError, match="needs OR-Tools"):
        search(program, method="cpsat")
    monkeypatch.setattr(searching, "OPS", 2)
    with pytest.raises(UsageError, match="Search one layer"):
        search(program)
    assert OPS == 400


def test_the_view_searches_and_compiles_what_was_found(program, monkeypatch):
    monkeypatch.setattr(searching, "_solver", lambda: False)
    view = SpyreView(program)
    sent = []
    view.send = lambda *message: sent.append(message)
    view._asked(view, {"id": 1, "kind": "search"}, [])
    (answer, (buffer,)) = sent[0]
    assert answer == {"id": 1}
    found = unpacked(buffer)
    assert found["method"] == "annealing"
    best = found["plans"][0]
    assert best["us"] < view.picture["estimate"]["us"]
    view._asked(view, {"id": 2, "kind": "recompile", "change": {"divisions": best["divisions"]}}, [])
    assert view.picture["estimate"]["us"] == best["us"]
    view.close()
