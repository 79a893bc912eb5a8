"""What tests of lowerings share."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def rewriting(tmp_path: Path) -> Callable[[str, str], Path]:
    """Makes a tool that replaces one text by another; gives its path."""

    def make(old: str, new: str) -> Path:
        path = tmp_path / "wrong"
        path.write_text(f"#!{sys.executable}\nimport sys\nprint(sys.stdin.read().replace({old!r}, {new!r}))\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make
