"""Waiting for what a run reports, and for the texts that it leaves, by a clock that goes on when it is told to."""

import queue
import threading
import time

import pytest

from irwidget.errors import ToolError
from irwidget.toolchain import client, events, streams, texts
from irwidget.toolchain.budget import Budget, TimeIsUp
from irwidget.toolchain.tool import WorkerSession
from irwidget.trace import Content, dump


class Scripted:
    """A stream that gives what it is told to, in order: events, errors, and what it calls for them."""

    def __init__(self, *script, begins=None):
        self.script, self.begins = list(script), begins
        self.done, self.asked = [], []

    def begin(self):
        self.done.append("begin")
        if self.begins:
            raise self.begins

    def cancel(self):
        self.done.append("cancel")

    def next(self, timeout=None):
        self.asked.append(timeout)
        one = self.script.pop(0) if self.script else queue.Empty()
        if isinstance(one, BaseException):
            raise one
        return one() if callable(one) else one


class Queued(Scripted, client.Job):
    """A job that others are served before."""

    has_worker = False
    behind_texts = False

    def make_room(self):
        self.done.append("room")


def printed(number, text="", changed=True):
    return events.Printed(number, Content(text, changed) if text else None)


def died(fault=True):
    return client.WorkerDied("was killed", fault=fault)


def test_without_a_limit_nobody_looks_at_the_clock():
    stream = Scripted(None, printed(0, "a"))
    assert streams.next_event(stream, Budget()) is None
    assert streams.next_event(stream, Budget(), threading.Event()) == printed(0, "a")
    assert stream.asked == [None, 0.1]


@pytest.fixture
def clock(monkeypatch):
    """Goes on by its seconds when a stream is waited for."""
    monkeypatch.setattr(time, "monotonic", Clock.read)
    return Clock


class Clock:
    now = 1000.0

    @classmethod
    def read(cls):
        return cls.now


def later(seconds, what=None):
    def wait():
        Clock.now += seconds
        if what is None:
            raise queue.Empty
        if isinstance(what, BaseException):
            raise what
        return what

    return wait


@pytest.mark.usefixtures("clock")
def test_a_limit_is_looked_at_and_heeded_before_what_has_come():
    stream = Scripted(queue.Empty(), printed(0, "a"), printed(1, "b"))
    assert streams.next_event(stream, Budget(60)) == printed(0, "a")
    assert streams.next_event(stream, Budget(0.0625)) == printed(1, "b")
    assert stream.asked == [0.1, 0.1, 0.0625]
    with pytest.raises(TimeIsUp):
        streams.next_event(Scripted(printed(0, "a")), Budget(0))
    stop = threading.Event()
    stop.set()
    for limit in (None, 60, 0):
        with pytest.raises(KeyboardInterrupt):
            streams.next_event(Scripted(printed(0, "a")), Budget(limit), stop)


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("has_worker", "spent"), [(True, [5, 9, 16]), (False, [0, 0, 7])])
def test_time_counts_while_the_worker_is_at_it(has_worker, spent):
    watch = Budget(60)
    stream = Queued(later(2), later(3, printed(0, "a")))
    stream.has_worker = has_worker
    assert streams.next_event(stream, watch) == printed(0, "a")
    assert watch.spent == spent[0]
    stream.script = [later(4, died())]
    with pytest.raises(client.WorkerDied):
        streams.next_event(stream, watch)
    assert (watch.spent, stream.done) == (spent[1], [])
    assert streams.next_event(Scripted(later(7), None), watch) is None
    assert watch.spent == spent[2]


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("limit", "behind", "waits", "done"), [
    (60, True, [11, 2, 9, 2], ["room", "room"]),
    (60, True, [5, 5], []),
    (60, True, [6, 5, 5, 6], ["room", "room"]),
    (60, False, [11, 11], []),
    (None, True, [11, 11], []),
    (5, True, [4, 3], ["room"]),
])  # fmt: skip
def test_texts_of_others_hold_up_a_job_that_has_a_limit_for_a_while(limit, behind, waits, done):
    stream = Queued(*map(later, waits), None)
    stream.behind_texts = behind
    assert streams.next_event(stream, Budget(limit), threading.Event()) is None
    assert stream.done == done


def made(*scripts, count=3, stream=None, begins=(), **more):
    """Texts, and the streams of all runs that they had made again."""
    again = [
        Scripted(*script, begins=begin)
        for script, begin in zip(scripts, (*begins, *[None] * len(scripts)), strict=False)
    ]
    left = list(again)
    return texts.StreamedTexts(stream, count, again=lambda: left.pop(0), **more), again


def test_texts_that_arrive_and_those_that_are_the_one_before():
    stream = Scripted(printed(7, "x"), events.Began(), printed(-1, "y"), printed(3, "y"), printed(2), None)
    before = [dump("input", "a", step=-1)]
    stream.script[2:2] = [printed(0), printed(1, "b")]
    found, _ = made(stream=stream, before=before)
    assert found.content(2) == Content("b", changed=False)
    assert [found.content(i) for i in (0, 1)] == [Content("a", changed=False), Content("b")]
    assert stream.script == [None]


def test_what_is_here_is_said_without_waiting():
    stream = Scripted(printed(1, "b"), queue.Empty(), died(), None)
    found, _ = made(stream=stream)
    assert [found.ready(0), found.ready(1), found.ready(0)] == [False, True, False]
    assert (found.arrived(0), found.arrived(1)) == (None, "b")
    found.known[2] = "result"
    assert (found.arrived(2), found.text(2), found.text(1), found.ready(2)) == ("result", "result", "b", False)
    assert set(stream.asked) == {0}
    stream.script = [None]
    assert not found.ready(0), "after the last event, too"
    found, (again,) = made([printed(0, "a")], stream=Scripted(None))
    assert (found.ready(0), found.content(0).text, again.done) == (False, "a", ["begin"])


def test_passes_run_again_for_what_is_missing_and_have_other_numbers():
    stream = Scripted(printed(0, "a"), died())
    found, (again,) = made([printed(5, "x"), printed(6, "b"), printed(7, "c")], stream=stream, count=2, offset=5)
    assert (found.content(1).text, found.content(0).text, again.done) == ("b", "x", ["begin"])


@pytest.mark.parametrize(("scripts", "begins", "said"), [
    ([[died()]] * 3, (), "it was killed"),
    ([[None]] * 3, (), ""),
    ([[died(fault=False)]] * 3 + [[died()]] * 3, (), "it was killed"),
    ([[]] * 3, [died()] * 3, "it was killed"),
    ([[died()], [None], [None]], (), ""),
])  # fmt: skip
def test_what_the_worker_dies_of_is_given_up(scripts, begins, said):
    found, again = made(*scripts, begins=begins)
    how = f" ({said})" if said else ""
    for _ in range(2):
        with pytest.raises(ToolError) as caught:
            found.content(0)
        assert str(caught.value) == f"The worker dies while it prints this dump again{how}: give it more memory"
    assert [one.done for one in again] == [["begin"]] * len(again), "and no further run"


def test_a_text_that_comes_makes_up_for_deaths():
    found, _ = made(*[[died()]] * 2, [printed(0, "a"), died()], [died()], [printed(1, "b")])
    assert [found.content(i).text for i in (0, 1)] == ["a", "b"]


@pytest.mark.usefixtures("clock")
def test_time_that_is_up_is_told_at_once_from_then_on():
    stream = Scripted(later(2), later(2))
    found, _ = made([printed(0, "a")], stream=stream, seconds=3)
    for index in (0, 1):
        with pytest.raises(ToolError) as caught:
            found.content(index)
        limit = "it could not be printed in time (after 3 s, the limit of this lowering)"
        assert str(caught.value) == f"The text of this dump is missing: {limit}"
    assert stream.done == ["cancel"]


@pytest.mark.usefixtures("clock")
def test_a_run_that_is_made_again_has_all_of_the_time():
    found, (again,) = made([later(4), printed(0, "a")], stream=Scripted(later(2), later(2, died())), seconds=5)
    assert found.content(0).text == "a"
    assert again.done == ["begin"]
    found, _ = made([later(3), printed(1, "b")], stream=Scripted(later(4), printed(0, "a"), died()), seconds=5)
    assert [found.content(i).text for i in (0, 1)] == ["a", "b"]
    found, (again,) = made([later(4), later(4), printed(0, "a")], stream=None, seconds=5)
    with pytest.raises(ToolError, match="could not be made again in time"):
        found.content(0)
    assert again.done == ["begin", "cancel"]


@pytest.mark.usefixtures("clock")
def test_what_is_waited_for_several_texts_is_one_time():
    stream = Scripted(later(2, printed(0, "a")), later(2, printed(1, "b")), later(2), printed(2, "c"))
    found, _ = made(stream=stream, seconds=5)
    assert [found.content(i).text for i in (0, 1)] == ["a", "b"]
    with pytest.raises(ToolError, match="in time"):
        found.content(2)


@pytest.mark.parametrize("replaying", [True, False])
def test_an_interrupt_ends_only_a_run_that_is_made_again(replaying):
    stopped = [KeyboardInterrupt(), printed(0, "a")]
    stream = Scripted(died()) if replaying else Scripted(*stopped)
    found, (again,) = made(stopped, stream=stream)
    with pytest.raises(KeyboardInterrupt):
        found.content(0)
    assert (stream.done, again.done) == ([], ["begin", "cancel"] if replaying else [])
    assert found.content(0).text == "a"


def test_an_interrupt_leaves_what_only_prints_alone():
    found, (again,) = made([printed(0, "a"), KeyboardInterrupt(), printed(1, "b")], stream=None)
    assert found.content(0).text == "a"
    with pytest.raises(KeyboardInterrupt):
        found.content(1)
    assert (again.done, found.content(1).text) == (["begin"], "b")


def test_events_of_this_process_are_made_when_they_are_waited_for():
    stream = streams.Local(events.Request((), "a", "key", language="text"), WorkerSession())
    with pytest.raises(queue.Empty):
        stream.next(0)
    found = []
    while event := stream.next():
        found.append(type(event))
    assert found[-1] is events.Printed
    assert stream.next() is None
