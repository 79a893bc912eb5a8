"""Tests at an end of the version ranges of pyproject.toml: `python tests/dist/ranges.py oldest|newest FOLDER`.

Makes an environment in FOLDER with the oldest, or the newest, version that is allowed of every package named there,
installs irwidget into it, and runs the tests that need neither a browser nor LLVM's programs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = ["tests/helion/test_contract.py", "tests/triton/test_contract.py"]
"""What other packages' private names must do: what a new release breaks is named there, so they come first."""
TESTS = [
    *CONTRACTS,
    "tests/core",
    "tests/views",
    "tests/sweep",
    "tests/helion/test_lowering.py",
    "tests/triton/test_capture.py",
]
NAMED = re.compile(r"([\w-]+)(?:>=|==)([\w.]+?)(?:\.\*)?(?:,|$)")


def oldest() -> list[str]:
    """Constraints for pip: every direct dependency, of the extras too, at its lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [entry for name, entries in project["optional-dependencies"].items() if name != "all" for entry in entries]
    found = [NAMED.match(entry) for entry in [*project["dependencies"], *extras]]
    return sorted({f"{match[1]}=={match[2]}" for match in found if match})


def main(end: str, folder: Path) -> int:
    """The status of the tests."""
    if not (folder / "bin").exists():
        venv.create(folder, with_pip=True)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(oldest() if end == "oldest" else []) + "\n", encoding="utf-8")
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint", constraints]
    # torch first: pip would look for a newer one, with gigabytes of CUDA, while it resolves the rest
    subprocess.run([*pip, next(entry for entry in oldest() if entry.startswith("torch=="))], check=True)
    subprocess.run([*pip, "--upgrade", "--upgrade-strategy", "eager", "--editable", f"{ROOT}[triton,helion,sweep,dev]"],
                   check=True)  # fmt: skip
    subprocess.run([python, "-m", "pip", "list", "--format=freeze"], check=True)
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not heavy and not external", *TESTS], cwd=ROOT
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
