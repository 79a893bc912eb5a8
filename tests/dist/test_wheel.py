"""The wheel, installed into a clean environment: no checkout, no Node, and the version said once."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import irwidget

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
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)],
        check=True, capture_output=True, timeout=120,
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert irwidget.__version__ in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    assert {f"irwidget/static/{name}.js" for name in ("viewer", "stub", "page")} <= set(names)
    assert not [name for name in names if name.startswith(("tests", "js", "benchmarks"))]

    # the heavy dependencies are lent by this environment; a path in a .pth file lends no editable installs
    venv.create(tmp_path / "clean", with_pip=False)
    python = tmp_path / "clean" / "bin" / "python"
    site = Path(subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], check=True, capture_output=True,
        text=True,
    ).stdout.strip())  # fmt: skip
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True, timeout=120)
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    home = tmp_path / "home"
    home.mkdir()
    ran = subprocess.run(
        [python, "-c", SCRIPT], cwd=home, env={"PATH": str(python.parent), "HOME": str(home)}, capture_output=True,
        text=True, timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("lowered ")
