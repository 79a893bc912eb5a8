"""Why two things are not one kernel; an answer is true when changing what it names changes the outcome."""

import pytest
import torch

import irwidget
from irwidget.errors import UsageError
from tests.inductor import programs

X, W = torch.randn(64, 64), torch.randn(64, 64)


def kernels(low):
    return {op.kernel for op in low.results["compilation"].captured.ops if op.kind == "loops"}


@pytest.fixture(scope="module")
def low():
    return irwidget.lower(programs.attended, X, W, to="inductor_triton")


def test_two_lines_in_one_kernel(low):
    answer = low.why("relu", "softmax")
    assert (answer.answer, answer.reasons) == ("fused", ())


def test_a_call_is_not_fused_and_says_what_would_change_it(low):
    answer = low.why("x @ w", "relu")
    assert answer.answer == "not fused"
    assert "extern_kernels.mm" in str(answer)
    assert "max_autotune" in str(answer)
    assert low.why("x @ w").answer == "called"


def test_a_piece_of_a_line_means_what_it_calls(low):
    ops = low.results["compilation"].find("softmax")
    assert ops
    assert all(any("softmax" in target for target in op.targets) for op in ops)
    assert {op.kind for op in low.results["compilation"].find("x @ w")} == {"extern"}


def test_a_reason_that_is_taken_away_is_no_longer_there():
    apart = irwidget.lower(programs.attended, X, W, to="inductor_triton", patches={"max_fusion_size": 1})
    answer = apart.why("op1", "op2")
    assert answer.answer == "not fused"
    assert "exceeds max fusion" in answer.reasons
    assert answer.cures == ("raise max_fusion_size",)
    together = irwidget.lower(programs.attended, X, W, to="inductor_triton", patches="max_fusion_size=64")
    assert together.why("op1", "op2").answer == "fused"


def test_what_the_scheduler_did_not_compare_is_said_so():
    low = irwidget.lower(lambda x, w: (x.sin(), w.cos().sum(0)), X, W, to="inductor_triton")
    assert low.why("op0", "op1").answer in ("not compared", "not fused")
    assert len(kernels(low)) == 2


def test_the_report_is_a_dump_with_lines(low):
    (report,) = [dump for dump in low.dumps if dump.name == "why"]
    assert "called, not generated (1):" in report.text
    assert "peak memory of graph 0" in report.text
    assert any(report.locations)


def test_names_that_are_none(low):
    with pytest.raises(UsageError, match="No operation of the schedule is of 'softmin'"):
        low.why("softmin")
    with pytest.raises(UsageError, match="of what torch.compile makes"):
        irwidget.lower(programs.apart, X, to="torch_mlir").why("x")
