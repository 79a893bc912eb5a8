"""In which way something fails: what of a message is of one program alone, and which failures are no such thing."""

from dataclasses import replace

import pytest

from irwidget.reducing import failing
from irwidget.reducing.failing import Kind, kind_of
from irwidget.reducing.pool import Pool
from irwidget.reducing.search import Search
from irwidget.reducing.tasks import IRTask, Outcome
from irwidget.trace import Failure, Verdict


def test_a_result_is_wrong_where_it_differs():
    assert failing.of_verdict(Verdict("differs", "cse", 3, "1 of 2 differs")) == Kind(
        "differs", "cse", "", "the result differs from eager PyTorch"
    )
    assert [failing.of_verdict(Verdict(state, "cse", 3, "said")) for state in ("equal", "not checked")] == [None, None]


def test_a_front_end_names_what_it_refuses_first():
    said = "net is no 'x.net' of net, net.weight"
    assert kind_of(Failure(0, "front end of torch", said), "net").message == "it is no 'x.net' of net, net.weight"
    assert kind_of(Failure(0, "cse", said), "net").message == said
    assert kind_of(Failure(0, "front end of torch", "x.net, 'net', network"), "net").message == "x.net, 'net', network"


@pytest.mark.parametrize(
    "said",
    [
        "timed out (after 5 s, the limit of this lowering)",
        "timed out (after 60 s, the limit of a candidate); it could not be stopped for 3 s more",
    ],
)
def test_which_limit_ran_out_is_no_matter(said):
    found = kind_of(Failure(0, "cse", f"cse {said}", kind="tool"))
    assert found == Kind("tool", "cse", "", "cse timed out")
    assert failing.timed_out(found)
    assert not failing.timed_out(kind_of(Failure(0, "cse", f"cse {said}")))
    assert not failing.timed_out(None)


def test_a_value_is_told_where_it_is_what_is_not_known():
    said = "the IR does not parse: {} %a\n  at line 2, column 11:\n  %0 = math.erf %a : f32\n                ^"
    unknown, other = (kind_of(Failure(0, "parse", said.format(why))) for why in ("undeclared", "odd"))
    assert (unknown.operation, other.operation) == ("math.erf of %a", "math.erf")


@pytest.mark.parametrize("shown", ['%0 = "a.b"(%1) {{kind = {}}}', '"a.b"(%1) {{kind = {}}}'])
def test_attributes_of_an_operation_that_is_shown_are_of_one_program(shown):
    kinds = {kind_of(Failure(0, "p", f"failed to legalize 'a.b': {shown.format(one)}")) for one in ("plain", "other")}
    assert kinds == {Kind("pass", "p", "a.b", "failed to legalize 'a.b'")}


def test_a_failure_that_lists_no_operation_is_not_one_that_lists_some():
    listing = Kind("pass", "p", "a.b", "failed", frozenset({"a.b", "c.d"}))
    fewer, none, more = (replace(listing, among=frozenset(one)) for one in ({"a.b"}, (), {"a.b", "e.f"}))
    assert [listing.includes(one) for one in (listing, fewer, none, more, None)] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("said", "operation"),
    [
        ("unable to legalize instruction: %3:_(s8) = G_LOAD %0:_(p0) :: (load (s5) from %ir.p, align 2)", "G_LOAD"),
        ("unable to legalize instruction: G_STORE %3:_(s5), %0:_(p0)", "G_STORE"),
        ("cannot select: %6:vr128(<4 x s32>), %7:vecr(<4 x s32>) = G_UNMERGE_VALUES %3:vr256", "G_UNMERGE_VALUES"),
        ("unable to map instruction: %17:_(s32) = G_INTRINSIC intrinsic(@llvm.ctpop.i5), %0", "llvm.ctpop.i5"),
        ("Cannot select: intrinsic %llvm.nvvm.shfl.sync.idx", "llvm.nvvm.shfl.sync.idx"),
        ("unable to translate instruction: call", ""),
    ],
)
def test_what_a_back_end_cannot_select_is_the_operation(said, operation):
    crash = "llc: pass codegen crashed (the worker was killed by SIGABRT: LLVM ERROR: {} (in function: {}))"
    one, other = (kind_of(Failure(0, "codegen", crash.format(said, name), kind="tool")) for name in ("f", "src.2"))
    assert (one.operation, one) == (operation, other)


def test_a_predicate_is_asked_of_complete_lowerings_only():
    with Pool() as pool:
        search = Search(pool, lambda text: IRTask(text, ()), str, None, lambda text: "math.erf" not in text, 1.0)
        failed = Outcome(Kind("pass", "cse", "", "failed"))
        assert [search.same(one) for one in (Outcome(None, "arith.addf"), Outcome(None, "math.erf"), failed)] == [
            True, False, False,
        ]  # fmt: skip


def test_of_candidates_side_by_side_the_first_is_taken():
    with Pool(2) as pool:
        assert [pool.first([("", one), ("", other)], lambda *_: True) for one, other in
                ((True, True), (False, True), (False, False))] == [0, 1, None]  # fmt: skip
