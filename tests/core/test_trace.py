"""A lowering as data: steps by number, scopes as structures, two lowerings joined."""

from dataclasses import replace

import pytest

import irwidget
from irwidget.editor import chain, outcome
from irwidget.errors import IRWidgetError, UsageError
from irwidget.routes import find
from irwidget.trace import WHOLE, Computed, Content, Diagnostic, Dump, Failure, Scope, Step, Trace, dump

ADD = "define i32 @f(i32 %x) {\n  %a = mul i32 %x, 6\n  %b = add i32 %a, 0\n  ret i32 %b\n}\n"
TWICE = "opt -O1 | user-tool sed s/mul/sub/ | opt -O1"


def test_a_dump_is_of_the_step_of_its_number_when_two_have_the_same_name():
    low = irwidget.lower(ADD, to="raw_ir", pipeline=TWICE)
    assert [d.step for d in low.dumps] == [-1, 0, 1, 2]
    assert [str(low.trace.step_of(d)) for d in low.dumps] == ["None", "opt -O1", "user-tool sed s/mul/sub/", "opt -O1"]


def test_the_passes_inside_a_dump_are_those_of_its_own_step():
    low = irwidget.lower(ADD, to="raw_ir", pipeline=TWICE)
    first, last = low.expand(1), low.expand(3)
    assert first[-1].text == low.dumps[1].text
    assert last[-1].text == low.dumps[3].text
    assert {one.step for one in last} == {3 - 1}
    assert all("mul" not in one.text for one in last)
    assert any("mul" in one.text for one in first)
    with pytest.raises(UsageError, match="Dump 2 is of user-tool sed"):
        low.expand(2)


def test_a_pipelines_steps_are_given_the_dumps_of_their_numbers():
    links = chain.parse(TWICE)
    low = irwidget.lower(ADD, to="raw_ir", pipeline=TWICE)
    _, ran = outcome.with_outcome(outcome.route_of(find("raw_ir")), links, low.trace, "done")
    assert [link.stage for link in ran] == [1, 2, 3]
    with pytest.raises(IRWidgetError) as caught:
        irwidget.lower(ADD, to="raw_ir", pipeline="opt -O1 | user-tool false | opt -O1")
    links = chain.parse("opt -O1 | user-tool false | opt -O1")
    trace = caught.value.lowering.trace
    assert trace.failure.step == 1
    _, ran = outcome.with_outcome(outcome.route_of(find("raw_ir")), links, trace, "failed")
    assert [link.state for link in ran] == ["done", "failed", ""]


def test_what_a_pipeline_leaves_out_or_switches_off_has_no_step():
    links = list(chain.parse(TWICE))
    links[0] = replace(links[0], enabled=False)
    line = chain.text(links)
    low = irwidget.lower(ADD, to="raw_ir", pipeline=line)
    _, ran = outcome.with_outcome(outcome.route_of(find("raw_ir")), links, low.trace, "done")
    assert [(link.state, link.stage) for link in ran] == [("", -1), ("done", 1), ("done", 2)]


def one(name: str, step: int) -> Dump:
    return dump(name, f"{name}\n", step=step)


def test_a_trace_goes_on_in_another():
    before = Trace(
        "a", (one("input", -1), one("x", 0)), (Step("opt", "-O1"),), (Diagnostic("note", "one"),), {"opt": "1"},
        name="model", sources={"cell": "x = 1"}, attachments={"k.cubin": b"1"}, facts={"arch": "sm_80"},
    )  # fmt: skip
    failed = Failure(1, "cse", "no")
    after = Trace(
        "b", (one("input", -1), one("y", 0), one("z", 1)), (Step("opt", "-O2"), Step("llc", "")),
        (Diagnostic("note", "two"),), {"llc": "2"}, failed, "IR", {}, {"k.o": b"2"}, {"arch": "sm_90", "spills": 0},
    )  # fmt: skip
    both = before.then(after)
    assert both == Trace(
        "b", (one("input", -1), one("x", 0), one("y", 1), one("z", 2)),
        (Step("opt", "-O1"), Step("opt", "-O2"), Step("llc", "")),
        (Diagnostic("note", "one"), Diagnostic("note", "two")),
        {"opt": "1", "llc": "2"}, Failure(2, "cse", "no"), "model", {"cell": "x = 1"},
        {"k.cubin": b"1", "k.o": b"2"}, {"arch": "sm_90", "spills": 0},
    )  # fmt: skip
    assert both.step_of(both.failure) == Step("llc", "")
    assert [d.text for d in both.dumps] == ["input\n", "x\n", "y\n", "z\n"]
    empty = replace(before, dumps=(), steps=())
    assert empty.then(after).dumps == after.dumps
    assert empty.then(replace(after, failure=Failure(-1, "", "no"))).failure.step == -1


def test_a_pipeline_that_fails_after_a_front_end_of_its_own_keeps_what_that_made():
    from tests.triton.kernels import add_kernel

    with pytest.raises(IRWidgetError) as caught:
        irwidget.lower(
            add_kernel, "*fp32:16", "*fp32:16", "*fp32:16", "i32:16", BLOCK=128, to="triton_llvm_ir",
            pipeline="opt -passes=verify | user-tool false",
        )  # fmt: skip
    trace = caught.value.lowering.trace
    names = [str(trace.step_of(d)) for d in trace.dumps[1:]]
    assert list(dict.fromkeys(names)) == ["ttir", "ttgir", "llir", "opt -passes=verify"]
    assert str(trace.step_of(trace.failure)) == "user-tool false"


@pytest.mark.parametrize(
    ("scope", "said", "outer"),
    [
        (WHOLE, "module", None),
        (Scope(anchor="func.func"), "func.func", None),
        (Scope(function="f"), "f", WHOLE),
        (Scope(function="f", loop="%l"), "%l in function f", Scope(function="f")),
        (Scope("k"), "k", WHOLE),
        (Scope("k", "f"), "k: f", Scope("k")),
        (Scope("k", "f", "%l"), "k: %l in function f", Scope("k", "f")),
    ],
)
def test_scopes_are_one_in_another(scope, said, outer):
    assert (str(scope), scope.outer, scope.whole) == (said, outer, outer is None)


def test_a_computed_text_is_made_once_and_when_it_is_read():
    made: list[int] = []

    def make() -> Content:
        made.append(1)
        return Content("x")

    lazy = Dump("p", 0, "text", Computed(make))
    assert (lazy.ready, made) == (True, [])
    assert [lazy.text, lazy.text, lazy.arrived, lazy.content.text] == ["x"] * 4
    assert made == [1]
