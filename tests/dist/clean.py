"""A clean environment with wheels of ours in it; the heavy dependencies are lent by the one that runs the tests."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import venv
from pathlib import Path


def wheel(project: Path, folder: Path) -> Path:
    """Build the wheel of a project, without network."""
    before = set(folder.glob("*.whl"))
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(project)],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (made,) = set(folder.glob("*.whl")) - before
    return made


def environment(folder: Path, *wheels: Path) -> Path:
    """The Python of an environment that has just these wheels. A path in a .pth file lends no editable installs."""
    venv.create(folder / "clean", with_pip=False)
    python = folder / "clean" / "bin" / "python"
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, *map(str, wheels)], check=True, capture_output=True, timeout=120)
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (folder / "home").mkdir()
    return python


def run(python: Path, script: str, *arguments: str) -> str:
    """What a script prints there. Raises AssertionError, with what it said, when it fails."""
    home = python.parents[2] / "home"
    ran = subprocess.run(
        [python, "-c", script, *arguments], cwd=home, env={"PATH": str(python.parent), "HOME": str(home)},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout
