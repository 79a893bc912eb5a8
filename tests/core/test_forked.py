"""Work in a copy of this process: values and errors come back, crashes do not."""

import os
import random
import signal
import tempfile
import threading
import time

import psutil
import pytest
import torch

from irwidget import phases
from irwidget.errors import PassError
from irwidget.toolchain import budget, forked, scratch
from irwidget.trace import Diagnostic
from tests import processes


class _Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(one)
        self.lock = threading.Lock()  # which nothing can send


def _raise(error):
    raise error


def test_the_value_is_computed_elsewhere_on_the_objects_of_this_process():
    here = object()
    assert forked.call(lambda: (id(here), os.getpid())) != (id(here), os.getpid())
    assert forked.call(lambda: id(here)) == id(here)
    assert len(forked.call(lambda: b"x" * 10_000_000)) == 10_000_000


def test_random_numbers_of_a_copy_are_those_that_would_be_drawn_here():
    draws = (random.random, lambda: torch.rand(()).item())
    first = [forked.call(draw) for draw in draws]
    assert first == [forked.call(draw) for draw in draws] == [draw() for draw in draws]


@pytest.mark.parametrize("kind", ["float8_e5m2", "float8_e8m0fnu", "uint16", "uint64", "complex32", "bfloat16"])
def test_tensors_of_every_dtype_come_back(kind):
    table = (2.0 ** torch.arange(6).reshape(3, 2)).to(getattr(torch, kind))
    for sent in (table.mT, table[1, 1]):
        got = forked.call(lambda sent=sent: sent)
        assert (got.dtype, got.shape) == (sent.dtype, sent.shape)
        assert got.to(torch.float32).tolist() == sent.to(torch.float32).tolist()


def test_the_phases_of_a_copy_are_heard_here():
    heard: list[str] = []

    def work():
        phases.entering("first")
        one = forked.call(lambda: phases.entering("of a copy's copy") or 1)
        phases.entering("second")
        return one + 1

    with phases.heard(heard.append):
        assert forked.call(work) == 2
        assert forked.call(lambda: 1) == 1
        with budget.of(budget.Budget()), budget.enforced("here"):
            assert forked.call(work) == 2
    assert heard == [
        *("first", "of a copy's copy", "", "second", ""),
        *("here", "first", "of a copy's copy", "here", "second", "here", ""),
    ]


def test_errors_come_back_by_value_or_as_text():
    with pytest.raises(ZeroDivisionError, match="division"):
        forked.call(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="_Unpicklable: what"):
        forked.call(lambda: _raise(_Unpicklable("what", 2)))


def test_causes_come_with_an_error():
    def refuse():
        try:
            raise _Unpicklable("deep", 1) from ValueError("deeper")
        except _Unpicklable as error:
            raise PassError("refused", tool="opt", pass_name="cse", diagnostics=(Diagnostic("error", "no"),)) from error

    with pytest.raises(PassError, match="refused") as caught:
        forked.call(refuse)
    assert (caught.value.tool, caught.value.pass_name, caught.value.diagnostics[0].message) == ("opt", "cse", "no")
    cause = caught.value.__cause__
    assert isinstance(cause, RuntimeError)
    assert "_Unpicklable: deep" in str(cause)
    assert repr(cause.__cause__) == "ValueError('deeper')"


def test_a_crash_is_told_in_words():
    with pytest.raises(forked.Died, match="SIGSEGV"):
        forked.call(lambda: os.kill(os.getpid(), signal.SIGSEGV))
    with pytest.raises(forked.Died, match="exited with status 3"):
        forked.call(lambda: os._exit(3))


def test_a_copy_that_takes_too_long_is_ended():
    began = time.monotonic()
    with pytest.raises(forked.TimedOut):
        forked.call(lambda: time.sleep(60), seconds=0.3)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("end", [lambda: os._exit(3), lambda: time.sleep(60)], ids=["dies", "is ended"])
def test_files_of_a_copy_that_cannot_tidy_up_are_removed(end, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = tmp_path / "made"

    def work():
        with scratch.folder() as folder:
            made.write_text(folder)
            end()

    with pytest.raises((forked.Died, forked.TimedOut)):
        forked.call(work, seconds=1)
    assert os.path.dirname(made.read_text()) == str(tmp_path)
    assert [one.name for one in tmp_path.iterdir()] == ["made"]


def test_memory_is_limited_beyond_what_this_process_has():
    with pytest.raises(MemoryError):
        forked.call(lambda: bytes(1 << 30), memory=1 << 28)


def test_torch_computes_in_the_copy_after_its_threads_were_used_here():
    import torch

    matrix = torch.randn(600, 600)
    want = matrix @ matrix
    assert torch.allclose(forked.call(lambda: matrix @ matrix), want, rtol=1e-3, atol=1e-3)


def test_no_copy_outlives_the_budget_of_its_lowering():
    """The limit is enforced from outside, too, by an exception that must not strike before the copy is ended."""
    from irwidget.errors import ToolError
    from irwidget.toolchain import budget

    for _ in range(20):
        with budget.of(budget.Budget(0.1)), pytest.raises(ToolError, match="timed out"), budget.enforced("this"):
            forked.call(lambda: time.sleep(60))
    here = psutil.Process().cmdline()
    assert [one for one, words in processes.alive().items() if words == here] == []
