"""What the command line prints: the IR itself, one diff, the passes, colours."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import types
from dataclasses import replace
from pathlib import Path

import pytest

import irwidget
from irwidget import __main__, cli, terminal
from irwidget.errors import ToolError
from irwidget.result import save
from irwidget.trace import Trace, dump, syntax
from irwidget.views.terminal import timed
from tests.late import late_dump

IR = """\
func.func @f(%a: i32) -> i32 {
  %0 = arith.constant 0 : i32
  %1 = arith.addi %a, %0 : i32
  return %1 : i32
}
"""
WORDS = ["lower", "a.mlir", "--pipeline", "mlir-opt --canonicalize --cse"]
OUT = "module {\n  func.func @f(%arg0: i32) -> i32 {\n    return %arg0 : i32\n  }\n}\n"


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    (tmp_path / "a.mlir").write_text(IR)


def printed(capsys, *words: str, code: int = 0) -> str:
    assert cli.main([*WORDS, *words]) == code
    out, err = capsys.readouterr()
    return err if code else out


def test_the_ir_itself(capsys, tmp_path):
    assert printed(capsys, "-o", "-") == OUT
    assert printed(capsys, "-o", "out.mlir") == ""
    assert (tmp_path / "out.mlir").read_text() == OUT
    assert "cannot be written" in printed(capsys, "-o", "no/where", code=2)
    assert cli.main(["lower", "-"]) == 2
    assert "takes a file, not standard input" in capsys.readouterr().err


def test_the_ir_itself_has_all_values(capsys, tmp_path):
    (tmp_path / "net.py").write_text("import torch\nnet, x = torch.nn.Linear(9, 7), torch.ones(2, 9)\n")
    for to, kept in (("tosa_mlir", "0x04000000"), ("llvm_ir", "[7 x [9 x float]] [[9 x float] [float")):
        words = ["-o", "net.ir", "--save", "net.irtrace", "--html", "net.html"]
        assert cli.main(["lower", "net.py", "--to", to, *words]) == 0
        assert kept in (tmp_path / "net.ir").read_text()
        assert syntax.left_out((tmp_path / "net.ir").read_text()) == []
        assert capsys.readouterr() == ("wrote net.irtrace\nwrote net.html\n", "")
    assert cli.main(["lower", "net.py", "--to", "tosa_mlir", "--save", "elided.irtrace"]) == 0
    assert cli.main(["open", "elided.irtrace", "-o", "net.ir"]) == 0
    said = "The IR leaves out values of constants (__elided__ and 1 more): elide=False and --no-elide keep them\n"
    assert capsys.readouterr().err == said


def test_several_ir_types_are_asked_for_at_once_and_one_is_chosen(capsys, tmp_path):
    (tmp_path / "net.py").write_text("import torch\nnet, x = torch.nn.Linear(9, 7), torch.ones(2, 9)\n")
    both = ["--to", "torch_mlir", "--to", "tosa_mlir", "--save", "net.irtrace", "--html", "net.html"]
    assert cli.main(["lower", "net.py", *both, "-o", "-"]) == 0
    out, err = capsys.readouterr()
    assert ("torch.aten" in out, "tosa.matmul" in out, err) == (True, True, "wrote net.irtrace\nwrote net.html\n")
    assert cli.main(["show", "net.irtrace", "--to", "torch_mlir", "-o", "-"]) == 0
    out = capsys.readouterr().out
    assert ("torch.aten" in out, "tosa.matmul" in out) == (True, False)


def test_of_what_a_file_holds_those_are_chosen_that_are_named(capsys):
    assert cli.main(["lower", "a.mlir", "--pipeline", "mlir-opt --canonicalize", "--save", "one.irtrace"]) == 0
    two = irwidget.lower(IR, to="raw_ir", pipeline="mlir-opt --cse", name="cse")
    save([irwidget.load("one.irtrace"), two], "two.irtrace")
    capsys.readouterr()
    for command, model in (("show", "a.mlir"), ("show", "0"), ("open", "a.mlir")):
        assert cli.main([command, "two.irtrace", "--model", model, "--to", "raw_ir", "-o", "-"]) == 0
        assert capsys.readouterr() == (OUT, "")
    assert cli.main(["compare", "two.irtrace"]) == 0
    whole = capsys.readouterr().out
    assert cli.main(["compare", "one.irtrace", "two.irtrace", "--model", "1"]) == 2
    assert "Nothing in one.irtrace is --model 1. It holds 0: a.mlir to raw_ir" in capsys.readouterr().err
    assert cli.main(["compare", "one.irtrace", "two.irtrace"]) == 2
    said = "\n".join(f"  {name}" for name in ("one.irtrace 0: a.mlir", "two.irtrace 0: a.mlir", "two.irtrace 1: cse"))
    assert said.replace("mlir\n", "mlir to raw_ir\n") + " to raw_ir" in capsys.readouterr().err
    assert whole.rstrip() == str(irwidget.compare(irwidget.load("one.irtrace"), two)).rstrip()


def test_a_file_is_there_whole_or_as_it_was(capsys, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    (tmp_path / "old.mlir").write_text("as it was")
    os.chmod(tmp_path / "old.mlir", 0o640)
    (tmp_path / "link").symlink_to("old.mlir")
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        codes = [cli.main([*WORDS, "-o", name]) for name in ("old.mlir", "new.mlir")]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (codes, capsys.readouterr().err.count("cannot be written: File too large")) == ([2, 2], 2)
    assert sorted(os.listdir(tmp_path)) == ["a.mlir", "link", "old.mlir"]
    assert (tmp_path / "old.mlir").read_text() == "as it was"
    printed(capsys, "-o", "link")
    assert (tmp_path / "old.mlir").read_text() == OUT
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "old.mlir").stat().st_mode & 0o777 == 0o640
    if os.path.exists("/dev/full"):
        assert "No space left" in printed(capsys, "-o", "/dev/full", code=2)


@pytest.mark.parametrize(
    ("to", "code", "said"),
    [
        (">/dev/full", 1, "UsageError: Standard output cannot be written: No space left on device\n"),
        ("--json >/dev/full", 1, '{"error": {"type": "UsageError", "message": "Standard output cannot be'),
        (">&-", 0, ""),
        ("--jsn >&- 2>&-", 2, ""),
    ],
)
def test_standard_output_that_takes_nothing_is_no_traceback(to, code, said):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = f"{sys.executable} -m irwidget targets {to}"
    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, env=environment)
    assert (ran.returncode, ran.stderr[: len(said)], ran.stdout) == (code, said, "")
    assert "Traceback" not in ran.stderr


def test_an_interrupt_while_it_is_imported_is_one_line(monkeypatch, capsys):
    class Slow(types.ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "irwidget.cli", Slow("irwidget.cli"))
    assert __main__.run() == 130
    assert capsys.readouterr() == ("", "interrupted\n")


def test_a_name_that_is_no_text_is_json_all_the_same(capsys):
    os.rename("a.mlir", name := os.fsdecode(b"caf\xe9.mlir"))
    assert cli.main(["lower", name, "--json"]) == 0
    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out)["lowerings"][0]["name"] == name


def test_the_passes(capsys):
    rows = printed(capsys, "--passes").splitlines()
    assert rows[0] == "a.mlir -> raw_ir"
    assert rows[1].split() == ["#", "pass", "gone", "new", "ms"]
    assert [row.split()[:3] for row in rows[2:]] == [
        ["0", "input", "+7"],
        ["1", "canonicalize", "-3"],
        ["2", "cse", rows[4].split()[2]],
    ]
    assert re.fullmatch(r" *2  cse +\d+\.\d", rows[4].rstrip())


def test_what_is_not_known_of_a_pass_is_said_beside_it():
    def gone():
        raise ToolError("gone", tool="worker")

    known = dump("a", "x\n", step=0)
    rows = timed(Trace("t", (known, late_dump("b", gone), replace(known, name="c"), replace(known, name="d"))))
    assert [row.split() for row in rows.splitlines()[2:]] == [
        ["0", "a", "+1"],
        ["1", "b", "not", "available"],
        ["2", "c", "not", "compared"],
        ["3", "d"],
    ]


@pytest.mark.parametrize("wanted", ["canonicalize", "1"])
def test_what_one_pass_has_changed(capsys, wanted):
    lines = printed(capsys, "--diff", wanted).splitlines()
    assert lines[:3] == ["--- 0 input", "+++ 1 canonicalize", "@@ -1,7 +1,5 @@"]
    assert [line for line in lines[3:] if line[0] in "+-"] == [
        "-    %c0_i32 = arith.constant 0 : i32",
        "-    %0 = arith.addi %arg0, %c0_i32 : i32",
        "-    return %0 : i32",
        "+    return %arg0 : i32",
    ]
    assert printed(capsys, "--diff", "cse").endswith("no change\n")
    assert "Did you mean canonicalize?" in printed(capsys, "--diff", "canonicalise", code=2)
    assert "has no pass '9'" in printed(capsys, "--diff", "9", code=2)


def test_colours_when_asked_for_and_where_they_are_seen(capsys, monkeypatch):
    plain = printed(capsys)
    assert "\x1b" not in plain
    shown = printed(capsys, "--color", "always")
    assert re.sub(r"\x1b\[\d+m", "", shown) == plain
    assert "\x1b[31m-    return %0 : i32\x1b[0m" in shown
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert printed(capsys) == shown
    assert printed(capsys, "--color", "never") == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed(capsys) == plain


def test_only_the_counts_of_a_row_are_coloured():
    assert terminal.coloured("3  a-1 +b    -4  +12") == "3  a-1 +b    \x1b[31m-4\x1b[0m  \x1b[32m+12\x1b[0m"
    assert terminal.coloured("2-4  3 passes, no change") == "\x1b[2m2-4  3 passes, no change\x1b[0m"
    assert terminal.coloured("  %0 = a.b") == "  %0 = a.b"


class Screen(io.TextIOWrapper):
    def isatty(self):
        return True


PAGER = """
import os, signal, sys
os.kill(int(sys.argv[1]), signal.SIGINT)
open("seen", "wb").write(sys.stdin.buffer.read())
"""


def test_a_pager_gets_the_letters_of_the_terminal_and_keeps_ctrl_c(monkeypatch, tmp_path):
    screen = Screen(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stdin", screen)
    (tmp_path / "pager.py").write_text(PAGER)
    text = "größer → 1\n" * 100
    monkeypatch.setenv("PAGER", f"{sys.executable} {tmp_path}/pager.py {os.getpid()}")
    handler = signal.getsignal(signal.SIGINT)
    terminal.show(text)
    assert Path("seen").read_bytes() == "größer \\u2192 1\n".encode("latin-1") * 100
    assert signal.getsignal(signal.SIGINT) is handler
    monkeypatch.delenv("PAGER")
    monkeypatch.setenv("TERM", "dumb")
    terminal.show("a\n" * 100, "never")
    screen.flush()
    assert screen.buffer.getvalue() == b"a\n" * 100 + b"\n"
