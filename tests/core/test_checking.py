"""--check: results of executed IR against eager PyTorch."""

import stat
import sys

import pytest
import torch
from torch import nn

import irwidget


class Several(nn.Module):
    """Several results of several dtypes, one of them a transposed view, and a scalar."""

    def forward(self, x, y):
        return torch.softmax(x @ y, -1), (x @ y).T, (x > 0), x.sum(), torch.argmax(y, 0)


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen.add_(x)
        return self.seen * 2


PROGRAMS = {
    "mlp": (nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)), (torch.randn(3, 16),)),
    "several": (Several(), (torch.randn(2, 3), torch.randn(3, 4))),
    "gelu": (nn.GELU(), (torch.randn(20),)),
    "mutated buffer": (Counter(), (torch.randn(3),)),
    "half": (nn.Linear(16, 4).half(), (torch.randn(3, 16).half(),)),
    "bfloat16": (nn.Linear(16, 4).bfloat16(), (torch.randn(3, 16).bfloat16(),)),
    "double": (nn.Linear(16, 4).double(), (torch.randn(3, 16).double(),)),
}
TARGETS = ["linalg_on_tensors_mlir", "stablehlo_mlir", "llvm_mlir"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_lowered_programs_equal_eager(program):
    model, inputs = PROGRAMS[program]
    before = [tensor.clone() for tensor in model.buffers()]
    for target, low in irwidget.lower(model, *inputs, to=TARGETS, check=True).items():
        verdict = low.trace.facts["check"]
        assert verdict["ok"], (target, verdict)
        assert low.diagnostics[-1].message.startswith("check: after ")
    for kept, now in zip(before, model.buffers(), strict=True):
        assert torch.equal(kept, now)


def test_the_cnn_equals_eager_at_every_level(cnn):
    low = irwidget.lower(cnn, torch.randn(2, 3, 8, 8), to="llvm_mlir", check="each")
    verdicts = low.trace.facts["check each"]
    assert len(verdicts) > 4
    assert all(verdict["ok"] for verdict in verdicts if verdict["max_abs"] is not None)
    assert sum(verdict["max_abs"] is not None for verdict in verdicts) > 4
    assert low.trace.facts["first wrong pass"] is None


@pytest.fixture
def wrong(tmp_path):
    """A tool that turns every addition into a subtraction."""
    path = tmp_path / "wrong"
    path.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.stdin.read().replace('arith.addf', 'arith.subf'))\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_wrong_rewrite_is_found_and_named(wrong, mlp):
    pipeline = f"mlir-opt --canonicalize | user-tool {wrong} | mlir-opt --cse"
    low = irwidget.lower(mlp, torch.randn(2, 4), to="linalg_on_tensors_mlir", pipeline=pipeline, check="each")
    assert low.trace.facts["first wrong pass"] == "wrong"
    assert low.diagnostics[-1].severity == "error"
    assert "DIFFERS from eager" in low.diagnostics[-1].message


def test_what_cannot_be_executed_says_so(monkeypatch, mlp):
    from irwidget import checking

    monkeypatch.setattr(checking, "LARGEST", 10)
    low = irwidget.lower(mlp, torch.randn(2, 4), to="tosa_mlir", check=True)
    assert low.trace.facts["check"]["max_abs"] is None
    assert "larger than" in low.diagnostics[-1].message
