"""Logs whose lines end as Windows' do, that a progress bar has written into, or that somebody has put into objects."""

from __future__ import annotations

import json

import pytest

import irwidget
from tests.readers.test_loops import FUNCTION, LOOP
from tests.readers.test_prefixes import HALIDE, LLVM, MLIR, prefixed, read

LOOPS = (
    f"*** IR Dump After Module Verifier (verify) ***\n{FUNCTION}"
    f"*** IR Dump After Loop Strength Reduction (loop-reduce) ***{LOOP}"
)


@pytest.mark.parametrize("log", [MLIR, LLVM, HALIDE * 2, LOOPS], ids=["mlir", "llvm", "halide", "loops"])
@pytest.mark.parametrize("end", ["\r\n", "\r\r\n"])
def test_ends_of_lines_are_one_whatever_the_system(log, end):
    assert read(log.replace("\n", end)) == read(log)
    assert read(log.replace("\n", end).encode("utf-16")) == read(log)


def test_what_a_progress_bar_has_written_is_a_line_of_its_own():
    """Places are those of the log as it is, in which the bar and what follows it are one line."""
    (plain,) = irwidget.open(LLVM + "x.c:1:1: warning: said\n", name="log")
    for banner in ("; *** IR Dump After", "define i32 @f"):
        log = LLVM.replace(banner, f"  0%|     | 0/10\r 50%|##   | 5/10 [00:01<00:01]\r{banner}") + "\nsaid last\n"
        (low,) = irwidget.open(log, name="log")
        assert [dump.name for dump in low.dumps] == [dump.name for dump in plain.dumps]
        texts = ["".join(line for line in dump.text.splitlines(True) if "%|" not in line) for dump in low.dumps]
        assert texts == [dump.text for dump in plain.dumps]
        last = low.diagnostics[-1]
        assert last.location
        assert (last.message, last.location.line) == ("said last", log.count("\n"))


def test_a_banner_of_llvms_behind_what_another_has_printed_is_one():
    banner = "*** IR Dump After InstCombinePass on f ***"
    log = LLVM.replace("; ***", "***")
    assert [row[:2] for row in read(log)[0]] == [("SROAPass", "f"), ("InstCombinePass", "f")]
    noisy = irwidget.open(log.replace(banner, f" 30%|### | 3/10 {banner}"))
    assert [(dump.name, dump.text) for dump in noisy[0].dumps] == [(row[0], row[3]) for row in read(log)[0]]
    assert [said.message for said in noisy[0].diagnostics] == [" 30%|### | 3/10 "]
    quoted = log.replace("  ret i32 %x", f'  ret i32 %x ; "{banner}" was printed')
    assert [row[:2] for row in read(quoted)[0]] == [row[:2] for row in read(log)[0]]


def docker(log: str) -> str:
    """As Docker keeps it: long lines in parts."""
    parts = [part for line in log.splitlines(True) for part in (line[:60], line[60:]) if part]
    time = "2026-11-30T10:00:00.1Z"
    return "".join(json.dumps({"log": part, "stream": "stderr", "time": time}) + "\n" for part in parts)


def dumps(log: str) -> list[list]:
    return [[row for row in low if isinstance(row, tuple)] for low in read(log)]


@pytest.mark.parametrize("log", [MLIR, LLVM, HALIDE * 2, prefixed(MLIR, "E   ")], ids=["mlir", "llvm", "halide", "E"])
def test_lines_in_objects_are_taken_out(log):
    assert dumps(docker(log)) == dumps(log)
    for field in ("MESSAGE", "message", "msg"):
        lines = "".join(json.dumps({"n": i, field: line}) + "\n" for i, line in enumerate(log.splitlines()))
        assert dumps(lines) == dumps(log)
    assert dumps(json.dumps({"level": "debug", "message": log}) + "\n") == dumps(log)


def test_places_in_messages_are_the_lines_of_the_objects():
    lines = ["a word before\nand another\n", *MLIR.splitlines()[1:], "said last"]
    (low,) = irwidget.open("".join(json.dumps({"message": line}) + "\n" for line in lines), name="log")
    first, *_, last = low.diagnostics
    assert [str(first.location), first.message] == ["log:1", "a word before\nand another"]
    assert [str(last.location), last.message] == [f"log:{len(lines)}", "said last"]


def test_objects_that_are_no_log_stay_what_they_are():
    with pytest.raises(irwidget.UsageError, match="is no dump that a reader knows"):
        irwidget.open(json.dumps({"message": 3}) + "\n" + json.dumps({"message": "x"}) + "\n")
