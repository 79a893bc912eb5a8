"""Which releases of a package there are."""

from __future__ import annotations

import re
import subprocess
import sys

from irwidget.errors import ToolError
from irwidget.toolchains import pip_settings
from irwidget.toolchains.fitting import oldest

_FINAL = re.compile(r"\d+(\.\d+)*(\.post\d+)?")


def of(package: str) -> tuple[str, ...]:
    """The final releases of a package that pip has for this Python, the oldest first; of those that irwidget knows to
    be too old, none. Raises ToolError where pip cannot say.
    """
    command = [sys.executable, "-m", "pip", "index", "versions", package, "--disable-pip-version-check", "--no-input"]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"pip cannot be asked for the releases of {package}: {error}", tool="pip") from None
    line = next((one for one in ran.stdout.splitlines() if one.startswith("Available versions:")), "")
    found = [one.strip() for one in line.partition(":")[2].split(",") if _FINAL.fullmatch(one.strip())]
    if not found:
        said = (ran.stderr.strip().splitlines() or ["it says nothing"])[-1]
        cause = pip_settings.blamed(ran.stderr)
        raise ToolError(
            f"pip knows no releases of {package} ({said[:300]}). {cause + '. ' if cause else ''}"
            "Name them: versions=[...], --versions A,B",
            tool="pip",
        )
    return tuple(sorted((one for one in found if number(one) >= number(oldest(package))), key=number))


def number(version: str) -> tuple[int, ...]:
    """A release as numbers, to be ordered by."""
    return tuple(int(one) for one in re.findall(r"\d+", version))
