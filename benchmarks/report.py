"""Run every benchmark again and write what it prints into docs/benchmarks.md:

    python -m benchmarks.report [--quick] [NAME ...]

The file keeps its text; what stands between `<!-- begin NAME -->` and `<!-- end NAME -->` is replaced, and added at the
end where it is not there yet. One benchmark runs at a time, so that they do not measure each other. `--quick` runs each
as briefly as it can and only prints: it shows that they work.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
SUPPORT = ROOT / "docs" / "support.md"
LIMIT = 3600
"""Seconds for one benchmark."""

COMMANDS = {
    "lower": ["-m", "benchmarks.lower"],
    "targets": ["-m", "benchmarks.targets"],
    "experiments": ["-m", "benchmarks.experiments"],
    "weights": ["-m", "benchmarks.weights"],
    "triton": ["-m", "benchmarks.triton"],
    "helion": ["benchmarks/helion.py"],
    "helion families": ["benchmarks/helion.py", "--table"],
    "spyre": ["benchmarks/spyre.py"],
    "viewer": ["-m", "benchmarks.viewer"],
    "viewer of Spyre": ["-m", "benchmarks.viewer.spyre"],
    "check": ["-m", "benchmarks.check_mutants"],
    "false alarms": ["-m", "benchmarks.check_mutants", "--alarms"],
    "support": ["-m", "benchmarks.support_table"],
    "torch.compile": ["-m", "benchmarks.inductor"],
    "torch.compile by program": ["-m", "benchmarks.inductor", "--table", "--assemble"],
}
QUICK = {
    "lower": ["--rounds", "1"],
    "experiments": ["--rounds", "1"],
    "triton": ["--rounds", "1", "--runs", "1"],
    "weights": ["--rounds", "1", "--gigabytes", "0.25"],
    "viewer": ["--sizes", "1k", "--no-rerun"],
    "viewer of Spyre": ["--times", "1"],
    "check": ["--programs", "mlp"],
    "false alarms": ["--programs", "mlp"],
    "support": ["mlp"],
    "torch.compile": ["--rounds", "1", "--devices", "sm_90"],
    "torch.compile by program": ["mlp"],
}


def replaced(page: str, name: str, block: str) -> str:
    """The page with the block of that name, in its place or at the end."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    section = f"{begin}\n{block.rstrip()}\n{end}"
    if begin in page:
        return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: section, page, count=1, flags=re.DOTALL)
    return f"{page.rstrip()}\n\n## {name}\n\n{section}\n"


def machine() -> str:
    """What the figures were measured on."""
    from irwidget.sweeps.driver import toolchain

    versions = ", ".join(f"{name} {version}" for name, version in toolchain().items())
    cores = len(os.sched_getaffinity(0))
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {versions}"


def run(name: str, *, quick: bool) -> tuple[str, bool]:
    """What a benchmark printed, as Markdown, and whether it ended well."""
    command = [*COMMANDS[name], *(QUICK.get(name, []) if quick else [])]
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, *command], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    spent = time.monotonic() - started
    shown = f"`python {' '.join(command)}`, {datetime.now(UTC):%Y-%m-%d}, {spent:.0f} s; {machine()}"
    body = done.stdout.strip() if "|---" in done.stdout else f"```text\n{done.stdout.strip()}\n```"
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
    return f"{shown}\n\n{body}", done.returncode == 0


def main(arguments: list[str]) -> int:
    quick = "--quick" in arguments
    names = [argument for argument in arguments if argument != "--quick"]
    unknown = set(names) - set(COMMANDS)
    if unknown:
        print(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    failed: list[str] = []
    for name in names or COMMANDS:
        block, well = run(name, quick=quick)
        if not well:
            failed.append(name)
            continue
        if quick:
            print(f"## {name}\n\n{block}\n", flush=True)
            continue
        page = SUPPORT if name == "support" else PAGE
        page.write_text(replaced(page.read_text(encoding="utf-8"), name, block), encoding="utf-8")
        print(f"{name}: written to {page.relative_to(ROOT)}", flush=True)
    if failed:
        print(f"failed, and left as they were: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
