"""Those who share the worker: threads, forks, lowerings with limits of their own. Nobody pays for another."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection

import psutil
import pytest
import torch

import irwidget
from irwidget import views
from irwidget.toolchain import client, events

TEXT = "func.func @f(%x: f32) -> f32 {\n  return %x : f32\n}\n"


def _raw(pipeline: str, text: str = TEXT, **options):
    return irwidget.lower(text, to="raw_ir", pipeline=pipeline, **options)


@pytest.fixture
def pool():
    with ThreadPoolExecutor(8) as made:
        yield made


def _began(job: Future[object] | None = None) -> None:
    """Wait until the worker runs a program, or `job` has ended: on a busy machine it may not be seen to run."""
    until = time.monotonic() + 60
    while not _children(client.worker().process.pid) and not (job and job.done()):
        assert time.monotonic() < until
        time.sleep(0.01)


def _children(pid: int) -> list[psutil.Process]:
    """None of a worker that another is just taking the place of."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).children()
    return []


def _expected(model, x):
    return [dump.text for dump in irwidget.lower(model, x, to="tosa_mlir").dumps]


def test_anothers_time_out_is_not_mine(pool, mlp):
    x = torch.randn(2, 4)
    expected = _expected(mlp, x)
    printing = irwidget.lower(mlp, x, to="tosa_mlir")
    slow = pool.submit(_raw, "user-tool sleep 60", timeout=2)
    _began(slow)
    queued = [pool.submit(irwidget.lower, mlp, x, to="tosa_mlir") for _ in range(3)]
    with pytest.raises(irwidget.ToolError, match=r"timed out \(after 2 s, the limit of this lowering\)"):
        slow.result(60)
    assert [[dump.text for dump in low.result(60).dumps] for low in queued] == [expected] * 3
    assert [dump.text for dump in printing.dumps] == expected


def test_a_jobs_time_begins_when_it_begins(pool, mlp):
    slow = pool.submit(_raw, "user-tool sh -c 'sleep 3.5; cat'")
    _began()
    queued = [pool.submit(_raw, "user-tool sh -c 'sleep 0.2; cat'", timeout=3) for _ in range(3)]
    assert [low.result(60).failure for low in (slow, *queued)] == [None] * 4


def test_anothers_crash_is_not_mine(pool, mlp):
    x = torch.randn(2, 4)
    expected = _expected(mlp, x)
    printing = irwidget.lower(mlp, x, to="tosa_mlir")
    crash = pool.submit(_raw, "user-tool sh -c 'sleep 1; kill -SEGV $PPID; sleep 9'")
    _began()
    queued = [pool.submit(irwidget.lower, mlp, x, to="tosa_mlir") for _ in range(3)]
    with pytest.raises(irwidget.ToolError, match=r"sh crashed \(the worker was killed by SIGSEGV"):
        crash.result(60)
    assert [[dump.text for dump in low.result(60).dumps] for low in queued] == [expected] * 3
    assert [dump.text for dump in printing.dumps] == expected


def test_an_interrupt_ends_the_job_and_nobody_elses(pool, mlp):
    """Whoever waits in the queue leaves it; whoever runs is ended, and the others go on."""
    pipeline = irwidget.Pipeline(TEXT, to="raw_ir", pipeline="user-tool sleep 60")
    waits = irwidget.Pipeline(TEXT, to="raw_ir", pipeline="mlir-opt --cse")
    pipeline.start()
    _began()
    waits.start()
    queued = pool.submit(_raw, "mlir-opt --canonicalize")
    time.sleep(0.3)
    waits.stop()
    with pytest.raises(irwidget.LoweringInterrupted):
        waits.wait(10)
    assert pipeline.status == "running"
    pipeline.stop()
    with pytest.raises(irwidget.LoweringInterrupted):
        pipeline.wait(10)
    assert queued.result(60).failure is None


def test_texts_that_are_made_again_let_others_go_first(pool, tmp_path):
    runs = tmp_path / "runs"
    runs.write_text("0\n")
    tool = f"sh -c 'n=$(cat {runs}); echo $((n + 1)) > {runs}; test $n != 1 || sleep 60; cat'"
    pipeline = irwidget.Pipeline(TEXT, to="raw_ir", pipeline=f"user-tool {tool} | user-tool sleep 60")

    def wait(for_it):
        until = time.monotonic() + 60
        while not for_it():
            assert time.monotonic() < until
            time.sleep(0.01)

    pipeline.start()
    wait(lambda: pipeline.steps[1].state == "running")
    pipeline.stop()
    with pytest.raises(irwidget.LoweringInterrupted) as stop:
        pipeline.wait(10)
    text = pool.submit(lambda: stop.value.lowering.dumps[1].text)
    wait(lambda: runs.read_text() == "2\n")
    assert _raw("mlir-opt --canonicalize", timeout=20).failure is None
    assert text.result(30) == _raw("user-tool cat").dumps[1].text
    assert runs.read_text() == "3\n"


def test_another_memory_limit_has_another_worker(pool, mlp):
    slow = pool.submit(_raw, "user-tool sh -c 'sleep 2; cat'")
    _began()
    assert irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir", memory=2).failure is None
    assert slow.result(60).failure is None


@pytest.mark.parametrize("stopped", ["idle", "new"])
def test_a_worker_that_is_stopped_is_replaced(stopped, mlp):
    """Half of 50 MB is in the pipe when nobody reads any more."""
    big = f"// {'x' * 50_000_000}\n{TEXT}"
    if stopped == "new":
        client.shutdown()
    os.kill(client.worker().process.pid, signal.SIGSTOP)
    began = time.monotonic()
    with pytest.raises(irwidget.ToolError, match=r"timed out \(after 2 s, .*; the worker did not answer"):
        _raw("mlir-opt --cse", big, timeout=2)
    assert time.monotonic() - began < 10
    assert _raw("mlir-opt --cse", timeout=30).failure is None


@pytest.mark.parametrize("event", [events.Began, events.PassStarted])
def test_a_reader_that_cannot_read_tells_those_who_wait(event, monkeypatch):
    """Before the job has begun it is run again; after that, it is told."""
    real = Connection.recv
    broken = threading.Event()

    def recv(self):
        answer = real(self)
        if not broken.is_set() and isinstance(answer[1], event):
            broken.set()
            raise MemoryError
        return answer

    client.shutdown()
    monkeypatch.setattr(Connection, "recv", recv)
    if event is events.Began:
        assert _raw("mlir-opt --cse").failure is None
    else:
        with pytest.raises(irwidget.ToolError, match=r"could not be read here \(MemoryError"):
            _raw("mlir-opt --cse")
    assert broken.is_set()
    assert _raw("mlir-opt --cse").failure is None


CHILD = """
import os, sys, torch, irwidget
from irwidget.toolchain import client, events
model, x = torch.nn.Linear(2, 3), torch.ones(1, 2)
before = irwidget.lower(model, x, to="tosa_mlir")
mine = client.worker().process.pid
child = os.fork()
if child == 0:
    low = irwidget.lower(torch.nn.Linear(2, 3), x, to="tosa_mlir")
    said = [client.worker().process.pid != mine, low.text.count("tosa.matmul"), len(before.dumps[3].text) > 100]
    print(*said, flush=True)
    sys.exit(0)  # its exit handlers run
_, status = os.waitpid(child, 0)
assert client.worker().process.pid == mine
print(status, len(before.dumps[3].text) > 100, irwidget.lower(model, x, to="tosa_mlir").failure)
"""


def _python(code: str, **options) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True, **options)


def test_a_copy_of_the_process_has_a_worker_of_its_own():
    with _python(CHILD) as ran:
        assert ran.communicate(timeout=120)[0].splitlines() == ["True 1 True", "0 True None"]


LOADER = """
import torch, irwidget
class Data(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, i):
        return irwidget.lower(lambda x: x + (i + 1), torch.ones(2), to="tosa_mlir").text.count("tosa.add")
irwidget.lower(torch.nn.ReLU(), torch.ones(2), to="tosa_mlir")
loader = torch.utils.data.DataLoader(Data(), num_workers=2, multiprocessing_context="fork")
print([int(x) for x in loader], irwidget.lower(torch.nn.ReLU(), torch.ones(2), to="tosa_mlir").failure)
"""


def test_a_data_loaders_workers_may_lower():
    with _python(LOADER) as ran:
        assert ran.communicate(timeout=180)[0] == "[1, 1, 1, 1] None\n"


KERNEL = """
import os, time, torch, irwidget
from irwidget.toolchain import client, events
irwidget.lower(torch.nn.ReLU(), torch.ones(2), to="tosa_mlir")
child = os.fork()
if child == 0:
    time.sleep(120)
print(client.worker().process.pid, child, flush=True)
time.sleep(120)
"""


def test_a_copy_does_not_keep_the_worker_alive():
    with _python(KERNEL) as kernel:
        worker, child = (psutil.Process(int(pid)) for pid in kernel.stdout.readline().split())
        try:
            kernel.kill()
            worker.wait(10)
            assert child.is_running()
        finally:
            child.kill()


def _text_in_time(dump):
    try:
        return dump.text
    except irwidget.ToolError:
        return ""


def test_texts_that_take_too_long_are_given_up_in_time(tmp_path):
    """Their passes run again, as long as the first time and no longer; what is missing then is missing at once."""
    for seconds in (4, 16, 48):  # which takes 1 s, and a worker that begins, on a busy machine several
        text = TEXT.replace("@f", f"@f{seconds}")
        with pytest.raises(irwidget.ToolError, match="timed out") as caught:
            _raw("user-tool sh -c 'sleep 1; cat' | user-tool sh -c 'cat; sleep 60'", text, timeout=seconds)
        found = [bool(_text_in_time(dump)) for dump in caught.value.lowering.dumps]
        if found == [True, True]:
            break
    assert found == [True, True]
    once = tmp_path / "once"
    with pytest.raises(irwidget.ToolError, match="timed out") as caught:
        _raw(f"user-tool sh -c 'test -e {once} && sleep 60; touch {once}; cat' | user-tool sleep 60", timeout=4)
    dumps = caught.value.lowering.dumps
    began = time.monotonic()
    for dump in dumps[1:]:
        with pytest.raises(irwidget.ToolError, match=r"missing: it could not be made again in time \(after 4 s"):
            _ = dump.text
    assert time.monotonic() - began < 12
    assert (len(dumps), dumps[0].text) == (2, TEXT), "what was given is there"
    shown = views.text([caught.value.lowering.trace])
    assert shown.count("not available") >= len(dumps) - 1


def test_whether_the_worker_prints_for_a_job_is_seen_in_one_look():
    """The desk's thread may have emptied the list since it was seen to hold something."""

    class EmptiedMeanwhile(list[client.Job]):
        def __bool__(self) -> bool:
            return True

    job = client.Job(None, 1 << 30)
    job._lane = types.SimpleNamespace(running=None, printing=EmptiedMeanwhile())
    assert not job.has_worker
    job._lane.printing = [job]
    assert job.has_worker


@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("began", [True, False])
@pytest.mark.parametrize("printing", [True, False])
def test_texts_make_room_for_a_job_that_was_sent_and_has_not_begun(running, began, printing):
    """Ended for anything else, the worker would lose what it is at."""

    class Lane(client._Lane):
        def end(self, how: str) -> None:
            self.ended = how

    job, other = client.Job(None, 1 << 30), client.Job(None, 1 << 30)
    lane = Lane(client._Desk(), 1 << 30)
    lane.running, job.began, lane.printing, lane.ended = job if running else other, began, [other][:printing], ""
    lane.make_room(job)
    assert bool(lane.ended) == (running and not began and printing)
