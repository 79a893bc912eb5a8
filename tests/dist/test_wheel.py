"""The wheel, installed into a clean environment: no checkout, no Node, and the version said once."""

from __future__ import annotations

import zipfile
from pathlib import Path

import irwidget
from tests.dist import clean

ROOT = Path(__file__).resolve().parents[2]

SCRIPT = """
import shutil, sys
from importlib import metadata

import irwidget

assert irwidget.__file__.startswith(sys.prefix), irwidget.__file__
assert metadata.version("irwidget") == irwidget.__version__
assert shutil.which("node") is None
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

shell = InteractiveShell()
with capture_output() as said:
    shell.run_line_magic("load_ext", "irwidget")
    ran = shell.run_cell('''%%lower --to tosa_mlir
import torch
model, x = torch.nn.Linear(4, 2), torch.zeros(1, 4)''')
assert ran.success, ran.error_in_exec
lowering = shell.user_ns["_lowering"]
assert "tosa.matmul" in lowering.text or "tosa.conv2d" in lowering.text, lowering.text
assert "irw-bundle-viewer" in lowering.to_html()
from irwidget.toolchain import lock

assert lock.path().parent == __import__("pathlib").Path(lock.__file__).parent, lock.path()
print("lowered", len(lowering.dumps))
"""


def test_the_wheel_works_alone(tmp_path) -> None:
    made = clean.wheel(ROOT, tmp_path)
    assert irwidget.__version__ in made.name
    names = zipfile.ZipFile(made).namelist()
    assert {f"irwidget/static/{name}.js" for name in ("viewer", "stub", "page")} <= set(names)
    assert "irwidget/signatures.pyi" in names
    assert not [name for name in names if name.startswith(("tests", "js", "benchmarks"))]
    assert clean.run(clean.environment(tmp_path, made), SCRIPT).startswith("lowered ")
