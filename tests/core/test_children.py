"""Processes of ours, one by one: what they may use, what is said of their end, and that nothing of them is left."""

import contextlib
import faulthandler
import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import psutil
import pytest
import torch

from irwidget import phases
from irwidget.toolchain import budget, child, forked, processes, scratch
from tests.processes import descriptors

FRAMES = "".join(
    f"{number}  {file} 0x00007f00000000{number:02} {name} + 12\n"
    for number, (file, name) in enumerate([
        ("libA.so", "PrintStackTrace(int)"), ("libA.so", "RunSignalHandlers()"), ("libc.so.6", "raise"),
        ("libA.so", "mlir::inner(int)"), ("libA.so", "mlir::outer()"), ("libA.so", "mlir::main()"),
    ])
)  # fmt: skip


@pytest.mark.parametrize(("status", "said", "how"), [
    (None, "", "stopped answering"),
    (None, FRAMES, "stopped answering"),
    (0, "", "exited with status 0"),
    (3, "an error: one\nnothing\n  LLVM ERROR: two \nthree", "exited with status 3: LLVM ERROR: two"),
    (-11, "Error: " + "x" * 600, f"was killed by SIGSEGV: Error: {'x' * 493}"),
    (-11, FRAMES, "was killed by SIGSEGV in mlir::inner, mlir::outer"),
    (1, FRAMES, "exited with status 1"),
    (-6, f"Assertion failed\n{FRAMES}", "was killed by SIGABRT: Assertion failed"),
    (1, "rror: too early\n" + "." * 100_000, "exited with status 1"),
])  # fmt: skip
def test_how_a_process_ended(status, said, how):
    with processes.log() as log:
        log.write(said.encode())
        log.flush()
        assert processes.epitaph(status, log) == how
    assert processes.printed(log) == ""


def gone(pid):
    """Whether a process ends, which nobody of ours waits for."""
    until = time.monotonic() + 90
    with contextlib.suppress(psutil.NoSuchProcess):
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
    return True


TWO = ["sh", "-c", "sleep 600 & echo $!; wait"]


def test_a_session_ends_with_its_block_and_its_pipe():
    with processes.session(TWO, subprocess.PIPE, subprocess.DEVNULL) as ran:
        other = int(ran.stdout.readline())
    assert ran.returncode == -signal.SIGKILL
    assert ran.stdout.closed
    assert gone(other)
    with pytest.raises(OSError, match="no such"), processes.session(["no such"], 1, 2):
        raise AssertionError


def test_a_process_that_leads_nothing_is_ended_alone():
    with subprocess.Popen(TWO, stdout=subprocess.PIPE) as ran:
        other = int(ran.stdout.readline())
        processes.end(ran.pid)
        assert ran.wait() == -signal.SIGKILL
        assert psutil.Process(other).status() != psutil.STATUS_ZOMBIE
        os.kill(other, signal.SIGKILL)
    processes.end(ran.pid)  # there is none any more


def test_what_a_copy_of_this_process_may_do():
    before = descriptors()
    line = processes.Lifeline()
    line.given()
    (ours,) = descriptors() - before
    watched = faulthandler.is_enabled()

    def seen():
        return {
            "leads": os.getsid(0) == os.getpid(), "interrupts": signal.getsignal(signal.SIGINT) is signal.SIG_IGN,
            "core": resource.getrlimit(resource.RLIMIT_CORE), "collects": (gc.isenabled(), faulthandler.is_enabled()),
            "torch": torch.get_num_threads(), "kept": ours in descriptors(), "output": sys.stdout.name,
            "ours": processes.not_for_copies, "goes": open("/proc/self/oom_score_adj").read(),
        }  # fmt: skip

    torch.set_num_threads(2)
    assert forked.call(seen) == {
        "leads": True, "interrupts": True, "core": (0, 0), "collects": (False, False), "torch": 1, "kept": False,
        "ours": set(), "output": os.devnull, "goes": "1000\n",
    }  # fmt: skip
    assert (faulthandler.is_enabled(), ours in descriptors()) == (watched, True)
    line.close()
    line.close()
    assert ours not in descriptors()


def test_only_a_copy_itself_says_what_it_is_at():
    heard: list[str] = []

    def work():
        phases.entering("the copy's")
        if not (one := os.fork()):
            phases.entering("its child's")
            os._exit(0)
        os.waitpid(one, 0)

    with phases.heard(heard.append):
        forked.call(work)
    assert heard == ["the copy's", ""]


def test_the_memory_of_a_process_is_counted_in_bytes():
    assert processes.address_space() == pytest.approx(psutil.Process().memory_info().vms, rel=0.1)
    space, _ = forked.call(lambda: (resource.getrlimit(resource.RLIMIT_AS)[0], None), memory=1 << 33)
    assert space - (1 << 33) == pytest.approx(processes.address_space(), rel=0.1)


def test_what_a_copy_printed_before_it_died_is_told():
    def work():
        os.write(1, b"first\n")
        os.write(2, b"LLVM ERROR: second\n")
        os.kill(os.getpid(), signal.SIGSEGV)

    with pytest.raises(forked.Died, match=r"^was killed by SIGSEGV: LLVM ERROR: second$") as caught:
        forked.call(work)
    assert caught.value.printed == "first\nLLVM ERROR: second\n"


def test_a_copy_has_what_is_left_of_the_lowering():
    with budget.of(budget.Budget(0.2, 1 << 28)):
        with pytest.raises(MemoryError):
            forked.call(lambda: bytes(1 << 30))
        for seconds in (None, 60):
            with pytest.raises(forked.TimedOut):
                forked.call(lambda: time.sleep(60), seconds=seconds)
    with budget.of(budget.Budget(60)), pytest.raises(forked.TimedOut):
        forked.call(lambda: time.sleep(60), seconds=0.1)


def test_a_copy_that_is_stopped_from_another_thread_is_ended(tmp_path):
    stop, said = threading.Event(), tmp_path / "pid"

    def work():
        said.write_text(f"{os.getpid()}")
        stop.set()
        time.sleep(600)

    timer = threading.Thread(target=lambda: [time.sleep(0.05), stop.set()])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        forked.call(work, stop=stop)
    timer.join()
    assert not said.exists() or gone(int(said.read_text()))


def test_where_cuda_is_in_use_what_needs_it_runs_here(monkeypatch):
    monkeypatch.setattr(torch.cuda, "_initialized", True)
    assert [forked.available(cuda=cuda) for cuda in (True, False)] == [False, True]
    assert forked.call(os.getpid) == os.getpid()
    assert forked.call(os.getpid, cuda=False) != os.getpid()


class Unreadable(Exception):
    """What pickle sends, and does not read."""

    def __init__(self, one, two):
        super().__init__(one)


def test_an_error_that_cannot_be_read_is_sent_as_text_and_long_chains_are_cut():
    assert pickle.dumps(Unreadable("a", "b"))
    again = forked.Raised.of(Unreadable("a", "b")).again()
    assert (type(again), str(again).rpartition(".")[2]) == (RuntimeError, "Unreadable: a")
    error = ValueError("0")
    for number in range(1, 1500):
        above = ValueError(str(number))
        above.__cause__ = error
        error = above
    found, told = forked.Raised.of(error).again(), []
    while found is not None:
        told.append(str(found))
        found = found.__cause__
    assert told == [str(1499 - number) for number in range(1000)]


def test_conjugates_and_unsigned_integers_come_back():
    sent = torch.tensor([1 + 2j, 3], dtype=torch.complex32)
    assert forked.call(lambda: sent.conj()).to(torch.complex64).tolist() == [1 - 2j, 3]
    assert forked.call(lambda: torch.tensor([7], dtype=torch.uint32)).tolist() == [7]


SERVES = """
import os, resource, subprocess, sys, tempfile
from irwidget.toolchain import child
connection = child.serving()
while True:
    connection.send(eval(connection.recv()))
"""


def test_a_child_has_what_it_is_given_and_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "serves_tests.py").write_text(SERVES)
    monkeypatch.syspath_prepend(tmp_path)
    before = descriptors()
    one = child.Child("serves_tests", memory=1 << 35, first=("/no/such", str(tmp_path)))

    def ask(code):
        one.connection.send(code)
        return one.connection.recv()

    assert one.alive
    assert ask("resource.getrlimit(resource.RLIMIT_AS)") == (1 << 35, 1 << 35)
    assert ask("(os.getpid(), os.getsid(0), sys.path[:2])") == (one.process.pid,) * 2 + (["/no/such", str(tmp_path)],)
    assert ask("os.environ['IRWIDGET_INSTALLED']") == f"/no/such:{tmp_path}"
    log, nowhere = ask("(child.hush(), [os.readlink(f'/proc/self/fd/{n}') for n in (2, 1)])[1]")
    assert ("irwidget-log" in log, nowhere) == (True, os.devnull)
    left = ask("tempfile.mkdtemp(prefix=f'irwidget-{os.getpid()}-')")
    other = ask("subprocess.Popen(['sleep', '600']).pid")
    ask("os.write(2, b'LLVM ERROR: at last')")
    one.connection.send("os._exit(4)")
    one.end()
    assert (one.alive, one.epitaph) == (False, "exited with status 4: LLVM ERROR: at last")
    assert gone(other), "what it began, too"
    assert not os.path.exists(left)
    assert descriptors() <= before
    ended = []
    with monkeypatch.context() as context:
        context.setattr(processes, "end", ended.append)
        one.kill()
    assert ended == [], "its number may be another's"


def test_a_child_that_is_killed_is_said_to_have_ended_as_is_known_better():
    ends = []
    for said in ("", "sent what nobody understands"):
        one = child.Child("irwidget.toolchain.worker")
        one.kill()
        one.end(said)
        ends.append((one.process.returncode, one.epitaph))
    assert ends == [(-9, "was killed by SIGKILL"), (-9, "sent what nobody understands")]


def test_a_child_that_cannot_start_leaves_nothing_and_a_copy_has_not_its_end(monkeypatch):
    kept: list[bool] = []

    def popen(*_, pass_fds, **__):
        theirs = {one for one in descriptors() if one[0] == pass_fds[0]}
        kept.append(bool(forked.call(lambda: theirs & descriptors())))
        raise OSError("no process")

    before = descriptors()
    with monkeypatch.context() as context:
        context.setattr(subprocess, "Popen", popen)
        with pytest.raises(OSError, match="no process"):
            child.Child("irwidget.toolchain.worker")
    assert kept == [False]
    gc.collect()
    assert descriptors() <= before
    with pytest.raises(FileNotFoundError, match="^the toolchain is gone from /no/such, /nor/this: "):
        child.Child("irwidget.toolchain.worker", first=("/no/such", "/nor/this"))


def test_only_what_a_process_left_is_cleared():
    with scratch.folder() as mine, tempfile.TemporaryDirectory(prefix="irwidget-99999999-") as theirs:
        scratch.clear(9999999)
        assert (os.path.isdir(mine), os.path.isdir(theirs)) == (True, True)
        assert os.path.basename(mine).startswith(f"irwidget-{os.getpid()}-")
        scratch.clear(os.getpid())
        assert (os.path.exists(mine), os.path.isdir(theirs)) == (False, True)
        os.mkdir(mine)
