"""What one lowering may take: seconds that stand still while others have the worker, and parts of a larger budget."""

import time

import pytest

from irwidget import phases
from irwidget.errors import ToolError, UsageError
from irwidget.toolchain import budget
from irwidget.toolchain.budget import Budget


def test_a_part_has_no_more_than_the_whole():
    whole = Budget(60)
    assert Budget().left() is None
    assert Budget(within=Budget()).left() is None
    assert 59 < Budget(within=whole).left() <= 60
    assert 59 < Budget(1000, within=whole).left() <= 60
    assert 9 < Budget(10, within=whole).left() <= 10
    assert 9 < Budget(10, within=Budget()).left() <= 10


def test_the_limit_that_runs_out_first_is_named():
    whole = Budget(5, of="all of it")
    assert Budget(3, of="this pass", within=whole).limit == "after 3 s, the limit of this pass"
    assert Budget(9, of="this pass", within=whole).limit == "after 5 s, the limit of all of it"
    assert Budget(None, of="this pass", within=whole).limit == "after 5 s, the limit of all of it"
    assert [str(whole.exceeded("cse", late)) for late in (0.4, 7.2)] == [
        "cse timed out (after 5 s, the limit of all of it)",
        "cse timed out (after 5 s, the limit of all of it); it could not be stopped for 7 s more",
    ]


def test_what_is_waited_for_counts_for_neither_part_nor_whole():
    whole = Budget(60)
    part = Budget(within=whole)
    both = whole, part
    for one in both:
        one._started -= 50  # as if it had gone on for so long
    part.queued(20)
    assert [round(one.spent) for one in both] == [30, 30]
    part.pause()
    for one in both:
        one._paused -= 10  # as if it had stood for so long
    part.pause()
    assert [round(one.spent) for one in both] == [20, 20], "the clock stands still"
    part.resume()
    part.resume()
    assert [round(one.spent) for one in both] == [20, 20]
    part.pause()
    for one in both:
        one._paused -= 10
    part.resume(counted=True)
    assert [round(one.spent) for one in both] == [20, 20]


def test_what_is_over_is_not_begun_and_what_is_watched_not_ended():
    over, begun = Budget(0.0001), []
    time.sleep(0.001)
    assert over.to_enforce
    with pytest.raises(ToolError, match=r"^cse timed out \(after 0.0001 s") as raised, over.enforced("cse"):
        begun.append(1)
    assert (raised.value.tool, begun) == ("cse", [])
    with over.watched(), over.watched():
        assert not over.to_enforce
    assert over.to_enforce
    assert not Budget().to_enforce
    assert not Budget(60).to_enforce


def test_what_is_going_on_is_said_and_what_was_before_again():
    one, heard = Budget(), []
    with phases.heard(heard.append), one.named("outer"):
        with one.named("inner"):
            assert one.doing == "inner"
        assert (one.doing, heard) == ("outer", ["outer", "inner", "outer"])
        with pytest.raises(ValueError, match="x"), one.named("inner"):
            raise ValueError("x")
        assert (one.doing, heard[-2:]) == ("outer", ["inner", "outer"])
        with pytest.raises(KeyboardInterrupt), one.named("interrupted"):
            raise KeyboardInterrupt
    assert one.doing == "the preparation"
    assert heard[-1] == ""


def test_a_budget_is_the_threads_while_it_lasts():
    outer, inner = Budget(), Budget()
    with budget.of(outer), budget.of(inner) as same:
        assert budget.current() is inner is same
    assert budget.current() is None
    with budget.of(outer):
        outer._started -= 50
        with pytest.raises(KeyboardInterrupt), budget.uncounted("a start"):  # noqa: PT012
            outer._paused -= 20
            raise KeyboardInterrupt
        assert round(outer.spent) == 50, "who reports it says for how long"
        assert outer.doing == "a start"
        with budget.uncounted("a start"):
            outer._paused -= 20
        assert round(outer.spent) == 30


@pytest.mark.parametrize("seconds", [0, -1, True, "5", None, float("nan"), float("inf"), 1e30])
def test_what_is_no_limit(seconds):
    with pytest.raises(UsageError, match="a limit is a number of seconds above 0, not "):
        budget.limit(seconds)


def test_a_limit_is_a_float():
    assert repr(budget.limit(3)) == "3.0"
