"""Logs that grow: what is shown while somebody writes them, in the terminal and in the view of a cell."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import time
from itertools import islice

import pytest

import irwidget
from irwidget import running
from irwidget.following import Pace, followed
from irwidget.views.terminal import Rows
from irwidget.views.widget import PassDiff
from tests.readers.test_open import BANNER, LOG, function, module
from tests.readers.test_running import HELP, here, program  # noqa: F401

PARTS = [BANNER.format(f"P{i} (p{i})") + module("f").replace("return", f"x.y{i}\n    return") for i in range(4)]


def names(found):
    return [[dump.name for dump in low.dumps] for low in found]


def test_a_file_is_followed_and_the_text_that_is_being_written_left_out(tmp_path):
    path = tmp_path / "x.log"
    path.write_text("configuring\n")
    going = followed(str(path), idle=0.5)
    threading.Timer(0.2, path.write_text, [PARTS[0] + PARTS[1][:-20]]).start()
    assert names(next(going)) == [["p0"]]
    with path.open("a") as file:
        file.write(PARTS[1][-20:] + PARTS[2])
    assert names(next(going)) == [["p0", "p1", "p2"]]
    with path.open("a") as file:
        file.write(PARTS[3][:-20])
    assert names(next(going)) == [["p0", "p1", "p2"]]
    assert names(next(going)) == [["p0", "p1", "p2", "p3 (cut off)"]]  # it has not grown for half a second
    path.write_text(PARTS[3])
    assert names(next(going)) == [["p3"]]  # somebody has begun it anew
    path.unlink()
    with pytest.raises(irwidget.UsageError, match="cannot be read"):
        next(going)


def test_the_end_of_a_log_that_takes_long_to_open_is_shown_too(tmp_path, monkeypatch):
    monkeypatch.setattr(Pace, "took", lambda self, _: setattr(self, "_next", time.monotonic() + 1))
    path = tmp_path / "x.log"
    path.write_text(PARTS[0] + PARTS[1][:-20])
    shown = [names(found) for found in islice(followed(str(path), idle=0.5), 2)]
    assert shown == [[["p0"]], [["p0", "p1 (cut off)"]]]


def test_the_end_of_a_module_of_llvm_is_not_known_before_the_next_dump(tmp_path):
    path = tmp_path / "x.log"
    head = "*** IR Dump At Start ***\n; ModuleID = 'x'\ndefine i32 @f() {\n  ret i32 0\n}\n"
    path.write_text(head + head.replace("At Start", "After X on [module]"))
    going = followed(str(path), idle=0.5)
    assert [names(found) for found in islice(going, 2)] == [[["input"]], [["input", "X"]]]


def test_a_stream_is_followed_to_its_end(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("".join(PARTS)))
    *_, last = followed("-")
    assert names(last) == [["p0", "p1", "p2", "p3"]]
    monkeypatch.setattr(sys, "stdin", io.StringIO("hello\n"))
    with pytest.raises(irwidget.UsageError, match="no dump that a reader knows"):
        list(followed("-"))
    with pytest.raises(irwidget.UsageError, match="There is no file or folder"):
        next(followed("/no/such.log"))


def test_rows_are_said_once():
    rows, found = Rows(), irwidget.open(LOG)
    traces = [low.trace for low in found]
    part = irwidget.open(LOG[: LOG.index("// -----// IR Dump After B")])
    first = list(rows.new([low.trace for low in part]))
    assert first == ["log -> mlir", "     0  a  +8", "     1  c  -1  +1"]
    assert list(rows.new(traces)) == ["     2  b  -3"]
    assert list(rows.new(traces)) == []


def test_the_command_line_prints_passes_as_they_come(tmp_path):
    page = str(tmp_path / "x.html")
    command = [sys.executable, "-m", "irwidget", "open", "-", "--follow", "--html", page]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, **pipes) as reading:
        for part, rows in ((PARTS[0], [["f", "->", "mlir"], ["0", "p0", "+6"]]), (PARTS[1], [["1", "p1", "-1", "+1"]])):
            reading.stdin.write(part)
            reading.stdin.flush()
            assert [reading.stdout.readline().split() for _ in rows] == rows  # before more is written
        reading.stdin.close()
        assert reading.stdout.read() == f"wrote {page}\n"
    assert reading.returncode == 0


def test_a_view_grows_and_follows_until_somebody_chooses():
    lows = [irwidget.open("".join(PARTS[:count])) for count in (2, 3, 4)]
    view = PassDiff([low.trace for low in lows[0]])
    assert (view.left, view.right) == (0, 1)
    view.grow([low.trace for low in lows[1]])
    assert (view.left, view.right) == (1, 2)
    view.left, view.right = 0, 1
    view.grow([low.trace for low in lows[2]], last=True)
    assert (view.left, view.right) == (0, 1)
    assert view.data == PassDiff([low.trace for low in lows[2]]).data
    assert view.stages() == ["p0", "p1", "p2", "p3"]
    view.grow([low.trace for low in lows[0]][:1])  # begun anew
    view.right = 1
    with pytest.raises(irwidget.UsageError):
        view.right = 3


def test_passes_of_a_command_come_while_it_runs(here):  # noqa: F811
    parts = [BANNER.format("A (a)") + module("f", "g"), BANNER.format("C (c)") + function("g", "x.y")]
    program(here, HELP + f"for part in {parts!r}:\n    sys.stderr.write(part); sys.stderr.flush(); time.sleep(1)\n")
    came: list[list[list[str]]] = []
    running.run("mine-opt x", came=lambda found: came.append(names(found)))
    assert came == [[["a"]], [["a", "c"]]]


def test_a_cell_shows_a_command_while_it_runs_and_its_last_word_stays(shell, here):  # noqa: F811
    from IPython.utils.capture import capture_output

    program(here, HELP + f"for part in {PARTS!r}:\n    sys.stderr.write(part); sys.stderr.flush(); time.sleep(0.7)\n")
    with capture_output() as shown:
        shell.run_cell_magic("lower", "--command", "mine-opt x")
    assert [dump.name for dump in shell.user_ns["_lowering"].dumps] == ["p0", "p1", "p2", "p3"]
    texts = [one.data["text/plain"] for one in shown.outputs]
    assert len(texts) == 2  # the first passes, and in their place all of them
    assert [("3  p3" in text) for text in texts] == [False, True]


def test_a_cell_follows_a_log(shell, tmp_path):
    from IPython.utils.capture import capture_output

    path = tmp_path / "x.log"
    path.write_text(PARTS[0])
    with capture_output() as shown:
        shell.run_line_magic("lower", f"--open {path} --follow")
    assert len(shown.outputs) == 1
    assert len(shell.user_ns["_lowering"].dumps) == 1
    with path.open("a") as file:
        file.write(PARTS[1])
    until = time.monotonic() + 20
    while len(shell.user_ns["_lowering"].dumps) < 2 and time.monotonic() < until:
        time.sleep(0.1)
    assert [dump.name for dump in shell.user_ns["_lowering"].dumps] == ["p0", "p1"]
    path.unlink()  # which ends it
    until = time.monotonic() + 20
    while any(one.name == "irwidget-follow" for one in threading.enumerate()) and time.monotonic() < until:
        time.sleep(0.1)
    assert not any(one.name == "irwidget-follow" for one in threading.enumerate())
