"""Lowerings on several threads: one export at a time, nobody pays for the waiting, and forks go on."""

import os
import sys
import threading
import time

import pytest
import torch
from torch.fx.proxy import TracerBase

import irwidget
from irwidget.errors import LoweringInterrupted
from irwidget.toolchain import budget, client


class _Slow:
    """A model whose export goes on until it is told to end, on a thread of its own."""

    def __enter__(self):
        self.begun, self.over = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._lower)
        self.thread.start()
        assert self.begun.wait(60)
        return self

    def _lower(self):
        def slow(x):
            self.begun.set()
            assert self.over.wait(60)
            return x + 1

        self.low = irwidget.lower(slow, torch.ones(2), to="torch_mlir")

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def test_waiting_for_ones_turn_does_not_count():
    lock, held = threading.Lock(), budget.Budget(60)
    lock.acquire()
    threading.Timer(3, lock.release).start()
    began = time.monotonic()
    with budget.of(held), budget.turn(lock, "waiting"):
        assert time.monotonic() - began - held.spent > 2.5
    assert held.left() > 0


def test_two_exports_at_once_leave_the_process_as_it_was():
    before = sys.stderr, TracerBase._filter_traceback_frames
    with _Slow() as other:
        threading.Timer(1, other.over.set).start()
        low = irwidget.lower(torch.nn.Linear(2, 2), torch.ones(1, 2), to="torch_mlir")
    assert "torch.aten.mm" in low.text
    assert other.low.failure is None
    assert (sys.stderr, TracerBase._filter_traceback_frames) == before


def _interrupt_when_waiting(thread):
    """Ctrl-C once that thread waits for its turn; an earlier one would meet the test, and end it."""
    waits = budget.turn.__wrapped__.__code__
    until = time.monotonic() + 60
    while time.monotonic() < until:
        frame = sys._current_frames().get(thread)
        while frame is not None and frame.f_code is not waits:
            frame = frame.f_back
        if frame is not None:
            time.sleep(0.3)  # it goes nowhere
            os.kill(os.getpid(), 2)
            return
        time.sleep(0.05)


def test_an_interrupt_while_another_thread_exports_leaves_the_turn_free():
    with _Slow() as other:
        threading.Thread(target=_interrupt_when_waiting, args=(threading.get_ident(),)).start()
        with pytest.raises(LoweringInterrupted, match=r"torch.export after \d+ s"):
            irwidget.lower(torch.nn.Linear(2, 2), torch.ones(1, 2), to="torch_mlir")
        other.over.set()
    assert irwidget.lower(torch.nn.Linear(2, 2), torch.ones(1, 2), to="torch_mlir").text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_waits_for_the_export_of_another_thread_and_lowers():
    irwidget.lower(torch.nn.Linear(2, 2), torch.ones(1, 2), to="torch_mlir")  # torch's own first imports
    with _Slow() as other:
        threading.Timer(1, other.over.set).start()
        child = os.fork()
        if not child:
            code = 1
            try:
                irwidget.lower(torch.nn.Linear(2, 2), torch.ones(1, 2), to="torch_mlir")
                client.shutdown()
                code = 0
            finally:
                os._exit(code)
        until = time.monotonic() + 60
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.kill(child, 9)
                os.waitpid(child, 0)
                pytest.fail("the fork hangs")
            time.sleep(0.05)
    assert os.waitstatus_to_exitcode(ended[1]) == 0
