"""What was shown outlives its kernel."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from dataclasses import replace

import pytest

import irwidget
from irwidget import ToolError, journal
from irwidget.trace import Trace, dump, file
from irwidget.views.lowerings import show
from irwidget.views.widget import PassDiff
from tests import kernels
from tests.format import traces
from tests.views.lowerings import lower

SHOWN = """
%load_ext irwidget
ir = "func.func @f(%a: i32) -> i32 { %b = arith.addi %a, %a : i32 return %b : i32 }"
%lower ir --to raw_ir --pipeline "mlir-opt --canonicalize --cse" --name kept
"""
HALF = """
import threading
from irwidget.trace import Trace, dump
from irwidget.views import show
from tests.late import late_dump
late = late_dump("late", threading.Event().wait)
view = show([Trace("half", (dump("a", "one\\n", step=0), dump("b", "two\\n", step=0), late), name="m")])
"""


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv(journal.KEEP, str(tmp_path / "recent"))
    return tmp_path / "recent"


@pytest.fixture
def kernel(kept):
    with kernels.kernel(env={**os.environ, "PYTHONPATH": os.getcwd()}) as started:
        yield started


def test_what_a_killed_kernel_had_shown_can_be_opened(kernel):
    manager, client = kernel
    for cell in (SHOWN, HALF):
        reply = client.execute_interactive(cell, timeout=120, output_hook=lambda _: None)
        assert reply["content"]["status"] == "ok", reply["content"]
    wait_for(lambda: len(irwidget.recent()) == 2 and irwidget.recent()[1].complete)
    os.kill(manager.provisioner.pid, signal.SIGKILL)
    wait_for(lambda: not client.is_alive())

    half, whole = irwidget.recent()
    assert (whole.name, whole.target, whole.complete) == ("kept", "raw_ir", True)
    assert (half.name, half.target, half.complete) == ("m", "half", False)
    assert abs(time.time() - half.time.timestamp()) < 300
    assert str(irwidget.recent()).splitlines()[0].endswith(str(half.path))
    assert "ends early" in str(half)
    low = irwidget.load(whole)
    assert [one.name for one in low.dumps][1:] == ["canonicalize", "cse"]
    assert "arith.addi" in low.text
    assert not low.diagnostics
    low = irwidget.load(half)
    assert [one.text for one in low.dumps[:2]] == ["one\n", "two\n"]
    assert "ends early" in low.diagnostics[0].message
    with pytest.raises(ToolError, match="ends before it"):
        _ = low.dumps[2].text


def wait_for(true) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_it_is_exact_private_and_only_what_was_shown(kept):
    PassDiff([lower()]).close()
    assert irwidget.recent() == []
    old = os.umask(0)
    try:
        show([lower()]).close()
    finally:
        os.umask(old)
    (found,) = irwidget.recent()
    assert stat.S_IMODE(found.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    made = lower()
    low = irwidget.load(found)
    assert found.complete
    for one, other in zip(low.dumps, made.dumps, strict=True):
        assert one.content == other.content


def test_the_files_are_few_and_small(kept, monkeypatch):
    monkeypatch.setattr(journal, "MOST_FILES", 3)
    for i in range(5):
        writer = file.Writer([Trace("t", (dump("a", f"{i}", step=0),))], heard=journal.Journal())
        writer.add()
        writer.finish()
    assert [irwidget.load(one).text for one in irwidget.recent()] == ["4", "3", "2"]
    monkeypatch.setattr(journal, "MOST_BYTES", 2000)
    monkeypatch.setattr(journal, "MOST_OF_ONE", 1000)
    before = {one.path for one in irwidget.recent()}
    noise = os.urandom(3000).hex()
    writer = file.Writer([Trace("t", (dump("a", "5", step=0), dump("b", noise, step=0)))], heard=journal.Journal())
    for place in ((0, 0), (0, 1)):
        writer.add([place])
    writer.finish()
    (last,) = (one for one in irwidget.recent() if one.path not in before)
    assert not last.complete
    assert last.path.stat().st_size < 1000
    assert [one.ready for one in irwidget.load(last).dumps] == [True, False]
    assert sum(one.path.stat().st_size for one in irwidget.recent()) <= 2000


def test_it_can_be_switched_off(kept, monkeypatch):
    monkeypatch.setenv(journal.KEEP, "off")
    show([lower()]).close()
    assert irwidget.recent() == []
    assert str(irwidget.recent()) == "Nothing has been shown yet"
    assert not kept.exists()


@pytest.mark.parametrize("how", ["file", "full", "others"])
def test_a_folder_that_takes_nothing_costs_only_a_line_in_the_log(kept, monkeypatch, caplog, how):
    if how == "file":
        kept.write_text("not a folder")
    elif how == "full":
        write = os.write
        monkeypatch.setattr(journal.os, "write", lambda number, data: full() if len(data) > 12 else write(number, data))
    else:
        kept.mkdir()
        monkeypatch.setattr(journal.os, "getuid", lambda: 12345)
    caplog.set_level("INFO", "irwidget")
    diff = show([lower()])
    assert len(diff.stages()) == 21
    diff.close()
    assert [one.message.split(":")[0] for one in caplog.records] == ["What is shown is not kept"]


def full() -> int:
    raise OSError(28, "No space left on device")


def test_it_says_nothing_on_the_terminal(kept):
    kept.write_text("not a folder")
    script = "from tests.views.lowerings import lower\nfrom irwidget.views import show\nshow([lower()])"
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_file_that_cannot_be_read_is_left_out(kept):
    show([lower()]).close()
    for name, data in (
        ("1-1-1.irtrace", b"x"),
        ("2-1-1.irtrace", b""),
        ("3-1-1.irtrace", b"\x89IRT\r\n\x1a\n\x03\0\0\0"),
    ):
        (kept / name).write_bytes(data)
    assert len(irwidget.recent()) == 1


def test_a_lost_text_is_kept_with_its_reason(kept):
    made = traces.whole()
    view = show([replace(made, nodes=())])
    wait_for(lambda: irwidget.recent()[0].complete)
    view.close()
    (found,) = irwidget.recent()
    with pytest.raises(ToolError, match="the worker died"):
        _ = irwidget.load(found).dumps[2].content
