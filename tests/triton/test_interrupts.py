"""An interrupt at any moment of a cell leaves the tensors of the process as they were."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from irwidget.errors import ToolError
from irwidget.frontends import triton
from irwidget.frontends.triton import tensors
from irwidget.toolchain import budget, interrupts


@contextlib.contextmanager
def interrupted(owner: Any, name: str, number: int) -> Iterator[None]:
    """A signal comes when a function is called, once."""
    usual, struck = getattr(owner, name), False

    def striking(*args: Any, **kwargs: Any) -> Any:
        nonlocal struck
        if not struck:
            struck = True
            signal.raise_signal(number)
        return usual(*args, **kwargs)

    setattr(owner, name, striking)
    try:
        yield
        raise AssertionError(f"{name} was not called" if not struck else "it went on")
    finally:
        setattr(owner, name, usual)


PLACES = [
    (torch._C, "_set_meta_in_tls_dispatch_include"),
    (tensors._FakeMode, "_noted"),
    (tensors, "with_statistics"),
]


@pytest.fixture
def alarmed():
    """SIGALRM raises as a test suite's limit does; the limit of this test would look like the signal."""
    left = signal.setitimer(signal.ITIMER_REAL, 0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    yield
    signal.signal(signal.SIGALRM, before)
    signal.setitimer(signal.ITIMER_REAL, *left)


@pytest.mark.parametrize(("owner", "name"), PLACES)
def test_tensors_without_values_outlive_an_interrupt(owner, name):
    outlive(owner, name, signal.SIGINT)


@pytest.mark.usefixtures("alarmed")
@pytest.mark.parametrize(("owner", "name"), PLACES)
def test_tensors_without_values_outlive_a_limit(owner, name):
    outlive(owner, name, signal.SIGALRM)


def outlive(owner, name, number):
    with triton.recording():
        x = torch.empty(8, 4, device="cuda")
        torch.einsum("ij,jk->ik", x, x.T)
        with pytest.raises(KeyboardInterrupt), interrupted(owner, name, number):
            torch.einsum("ij,jk->ik", x, x.T)
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


def test_what_waits_is_handled_once_and_after_what_is_the_users_again():
    said = []
    before = signal.signal(signal.SIGINT, lambda number, frame: said.append((number, frame.f_code.co_name)))

    def other() -> None:
        signal.raise_signal(signal.SIGINT)

    try:
        with interrupts.held():
            assert interrupts.waits(threading.get_ident())
            assert not interrupts.waits(threading.get_ident() + 1)
            with interrupts.raised():
                assert not interrupts.waits(threading.get_ident())
                signal.raise_signal(signal.SIGINT)
            assert len(said) == 1
            signal.raise_signal(signal.SIGINT)
            other()
            assert len(said) == 1
        assert said[1:] == [(signal.SIGINT, "other")]
    finally:
        signal.signal(signal.SIGINT, before)


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
