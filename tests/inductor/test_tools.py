"""Sweeps and the command line over torch.compile's IR types."""

import pytest

import irwidget
from irwidget import cli
from tests.inductor import programs

PROGRAM = """
import torch

def scaled(x):
    return x.sin() * 2

x = torch.ones(32)
"""


@pytest.mark.exhaustive  # a process of its own imports all of torch.compile
def test_a_sweep_takes_an_architecture(tmp_path):
    import torch

    swept = irwidget.sweep(
        {"apart": (programs.apart, torch.randn(8, 8))},
        {"h100": {"to": "inductor_triton", "arch": "sm_90"}},
        path=tmp_path / "sweep.parquet",
    )
    assert swept["apart", "h100"].status == "ok", str(swept)
    assert "@triton.jit" in swept.lowering("apart", "h100").text


def test_the_command_line_prints_the_kernels(tmp_path, capsys):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    assert cli.main(["lower", str(path), "--to", "inductor_triton", "--arch", "gfx942"]) == 0
    said = capsys.readouterr().out
    assert "scaled on gfx942: 1 generated, 0 called; peak 128 B (unfused 256 B)" in said
    assert "triton_poi_fused_mul_sin_0" in said
