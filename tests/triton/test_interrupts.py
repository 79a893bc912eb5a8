"""An interrupt at any moment of a cell leaves the tensors of the process as they were."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest
import torch

from irwidget.errors import ToolError
from irwidget.frontends import triton
from irwidget.toolchain import budget, interrupts


def interrupt_inside(name: str, number: int) -> None:
    """Send this thread a signal as soon as a function of this name is called, once."""

    def profile(frame, event, called):
        if name in (event == "call" and frame.f_code.co_name, event == "c_call" and called.__name__):
            sys.setprofile(None)
            signal.raise_signal(number)

    sys.setprofile(profile)


@pytest.mark.parametrize("name", ["_set_meta_in_tls_dispatch_include", "_noted", "with_statistics"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGALRM])
def test_tensors_without_values_outlive_an_interrupt(name, number):
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)  # raises as a test suite's limit does
    try:
        outlive(name, number)
    finally:
        signal.signal(signal.SIGALRM, before)


def outlive(name, number):
    with triton.recording():
        x = torch.empty(8, 4, device="cuda")
        torch.einsum("ij,jk->ik", x, x.T)
        interrupt_inside(name, number)
        try:
            with pytest.raises(KeyboardInterrupt):
                torch.einsum("ij,jk->ik", x, x.T)
        finally:
            sys.setprofile(None)
        assert torch.einsum("ij,jk->ik", x, x.T).shape == (8, 8)
    assert signal.getsignal(number) is signal.default_int_handler


def test_what_is_the_users_inside_ends_at_once_and_the_rest_afterwards():
    said = []
    with pytest.raises(KeyboardInterrupt), interrupts.held(), interrupts.held():  # noqa: PT012 what comes first is the point
        signal.raise_signal(signal.SIGINT)
        said.append("held")
        with pytest.raises(KeyboardInterrupt), interrupts.raised():
            signal.raise_signal(signal.SIGINT)
        said.append("raised")
    assert said == ["held", "raised"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_other_threads_and_handlers_are_left_alone():
    def work() -> None:
        with interrupts.held():
            found.append((signal.getsignal(signal.SIGINT), interrupts.waits(threading.get_ident())))

    found: list[object] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [(signal.default_int_handler, False)]
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with interrupts.held():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def test_a_limit_waits_for_what_holds_interrupts_back():
    done = []
    with pytest.raises(ToolError, match="timed out"), budget.Budget(0.05).enforced("this"):  # noqa: PT012
        with interrupts.held():
            for _ in range(30):
                time.sleep(0.01)
            done.append(True)
        while True:
            time.sleep(0.01)
    assert done == [True]
