"""python -m irwidget."""

import json

import pytest

from irwidget import cli
from tests.core.test_kernel_cells import HELION

MODEL = """
import torch
net = torch.nn.Linear(4, 8)
x = torch.randn(2, 4)
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def test_a_file_is_lowered_like_a_cell(model, capsys):
    assert cli.main(["lower", str(model), "--to", "tosa_mlir"]) == 0
    assert "convert-torch-to-tosa" in capsys.readouterr().out


def test_the_reproducer_of_an_error_reproduces_it(tmp_path, capsys):
    path = tmp_path / "before.mlir"
    path.write_text("func.func @f() -> i32 {\n  %0 = arith.constant 1 : i32\n  return %0 : i32\n}\n")
    words = ["lower", str(path), "--to", "raw_ir", "--pipeline", "mlir-opt --convert-func-to-llvm", "--no-dumps"]
    assert cli.main(words) == 0
    assert "llvm.func @f" in capsys.readouterr().out


def test_a_notebook_becomes_an_offline_page(tmp_path, model, capsys):
    cells = ["%load_ext irwidget", f"%%lower --to tosa_mlir\n{MODEL}", "%lower net x --to stablehlo_mlir"]
    notebook = tmp_path / "n.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}))
    page = tmp_path / "n.html"
    assert cli.main(["export", str(notebook), "--html", str(page)]) == 0
    text = page.read_text()
    assert "<script" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_a_notebook_of_kernels_and_programs_shows_their_own_views(tmp_path):
    spyre = "import torch\ndef f(a):\n    return torch.exp(a)\na = torch.zeros(64, 128, dtype=torch.float16)"
    cells = [
        "%load_ext irwidget", f"%%lower --to spyre_superdsc,spyre_host\n{spyre}", f"%%lower --to helion_mlir{HELION}",
        "import irwidget.spyre\nprogram = irwidget.spyre.compile(f, [a], name='again')\nprogram", "program",
    ]
    notebook = tmp_path / "n.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}))
    assert cli.main(["export", str(notebook), "--html", str(tmp_path / "n.html")]) == 0
    text = (tmp_path / "n.html").read_text()
    views = {name: text.count(f'data-bundle="{name}"') for name in ("spyre", "helion", "viewer")}
    assert views == {"spyre": 2, "helion": 1, "viewer": 1}
    assert all(text.count(f'id="irw-bundle-{name}"') == 1 for name in views)
    assert "spyre_host" in text
    assert "again" in text


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["lowr"], 2, "Did you mean lower"), (["lower", "nowhere.py", "--to", "tosa_mlir"], 2, "no file nowhere.py"),
        (["export", "nowhere.ipynb"], 2, "no file nowhere.ipynb"), (["lower"], 2, "takes one file"),
        (["export", __file__], 2, "is no notebook"),
    ],
)
def test_bad_commands(words, code, message, capsys):
    assert cli.main(words) == code
    assert message in capsys.readouterr().err


def test_tables(capsys):
    assert cli.main(["targets"]) == cli.main(["doctor"]) == 0
    assert "spyre_superdsc" in capsys.readouterr().out
