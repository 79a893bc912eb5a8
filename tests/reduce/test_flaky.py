"""Failures that do not always come."""

import re
from dataclasses import replace

import pytest

from irwidget import cli, reduction_worker
from irwidget.reducing.report import Rate
from irwidget.reducing.tasks import IRTask
from irwidget.trace import Step

TEXT = """\
func.func @f(%a: f32, %b: f32, %m: memref<f32>) -> (f32, f32) {
  %e = math.erf %a : f32
  %0 = arith.addf %a, %b : f32
  memref.store %0, %m[] : memref<f32>
  memref.store %a, %m[] : memref<f32>
  return %e, %0 : f32, f32
}
"""


@pytest.fixture
def program(tmp_path):
    """A program that takes math.erf in three of four runs."""
    path = tmp_path / "mine"
    path.write_text(
        "#!/bin/sh\nprintf x >>$0.runs\ntext=$(cat)\nif [ $(($(wc -c <$0.runs) % 4)) = 0 ]; then\n"
        "case $text in *math.erf*) echo error: no erf >&2; exit 3;; esac\nfi\nprintf '%s\\n' \"$text\"\n"
    )
    path.chmod(0o755)
    return path


def test_what_fails_in_one_of_four_runs_becomes_small_and_the_report_says_how_often(program, tmp_path, capsys):
    (tmp_path / "in.mlir").write_text(TEXT)
    words = ["reduce", str(tmp_path / "in.mlir"), "--pipeline", f"user-tool {program}"]
    assert cli.main(words) == 0
    report = capsys.readouterr().out
    assert "Reduced from 6 operations to 3.\nIt does not always fail: it did in" in report
    program.write_text("#!/bin/sh\ncat\n")
    assert cli.main(words) == 2
    assert re.search(r"The pipeline does not fail on \S+ in \d runs: --contains TEXT", capsys.readouterr().err)


def test_a_candidate_runs_until_it_fails_as_is_looked_for(program):
    task = IRTask(TEXT, (Step("user-tool", str(program)),))
    kinds = [reduction_worker.outcome(task).kind for _ in range(4)]
    assert kinds[:3] == [None, None, None]
    found = [reduction_worker.outcome(replace(task, times=times, looked_for=kinds[3])).kind for times in (3, 9)]
    assert found == [None, kinds[3]]
    assert len(program.with_name("mine.runs").read_text()) == 8


@pytest.mark.parametrize(("failed", "of", "runs"), [(5, 5, 1), (2, 3, 3), (1, 2, 5), (1, 5, 10), (0, 5, 10)])
def test_in_how_many_runs_a_candidate_is_seen_to_fail(failed, of, runs):
    assert Rate(failed, of).runs == runs
