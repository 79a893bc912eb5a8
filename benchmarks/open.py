"""Opening other compilers' logs, against splitting them in plain Python.

    python -m benchmarks.open [LOG ...] [--megabytes 200]

Without a log, IREE's of the tests is repeated, each time with other names, up to so many megabytes. Each side runs in a
process of its own, in turn, on the same file. Prints seconds and the peak of memory, above a log of two lines', for
  list    `irwidget.open`: all dumps with names, scopes, and what changed
  first   the first diff as the browser gets it: the two stages that a view opens with, after `list`
  page    the offline page, and its size; not above 300 MB
  split   all of the file in memory, `re.split` at the banners, and each dump compared with the one before it
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "tests" / "readers" / "data" / "iree.log.gz"
MOST_OF_A_PAGE = 300_000_000


def made(megabytes: int, path: Path) -> Path:
    """A log of that size."""
    text = gzip.decompress(SAMPLE.read_bytes())
    with path.open("wb") as file:
        number = 0
        while file.tell() < megabytes * 1_000_000:
            file.write(text.replace(b"scale", b"scale%d" % number))
            number += 1
    return path


def peak() -> float:
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def opened(path: str) -> dict[str, float]:
    """Our side."""
    import irwidget
    from irwidget.views.offline import page
    from irwidget.views.packing import Packer, opening

    page([low.trace for low in irwidget.open("module {\n}\n")])  # what each side loads once, for any log
    base, began = peak(), time.perf_counter()
    found = irwidget.open(path)
    said = {"dumps": float(sum(len(low.dumps) for low in found)), "lowerings": float(len(found))}
    said["list"] = time.perf_counter() - began
    said["list MB"] = peak() - base
    began = time.perf_counter()
    left, right = opening(found[0].trace)
    Packer([low.trace for low in found]).add({(0, left), (0, right)})
    said |= {"first": time.perf_counter() - began, "first MB": peak() - base}
    if Path(path).stat().st_size <= MOST_OF_A_PAGE:
        began = time.perf_counter()
        text = page([low.trace for low in found], "page")
        said |= {"page": time.perf_counter() - began, "page size MB": len(text) / 1e6}
    said["peak MB"] = peak() - base
    return said


def split(path: str) -> dict[str, float]:
    """Plain Python."""
    base, began = peak(), time.perf_counter()
    text = Path(path).read_text(errors="replace")
    parts = re.split(r"^(?:// -----// |[;#]? ?\*\*\* )IR Dump .*$", text, flags=re.M)[1:]
    changed = sum(one != other for one, other in itertools.pairwise(parts))
    spent = time.perf_counter() - began
    return {"dumps": float(len(parts)), "changed": float(changed), "list": spent, "peak MB": peak() - base}


def measured(side: str, path: Path) -> dict[str, float]:
    """What a side says in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.open", "--side", side, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        logs = [Path(one) for one in arguments.logs] or [made(arguments.megabytes, Path(folder, "iree.log"))]
        print("| log | MB | dumps | list, s | MB | first, s | MB | page, s | its MB | peak, MB | split, s | peak, MB |")
        print("|---|---|---|---|---|---|---|---|---|---|---|---|")
        for log in logs:
            ours, theirs = measured("opened", log), measured("split", log)
            names = ("list", "list MB", "first", "first MB", "page", "page size MB", "peak MB")
            cells = [f"{ours[name]:.3g}" if name in ours else "-" for name in names]
            other = [f"{theirs[name]:.3g}" for name in ("list", "peak MB")]
            row = [log.name, f"{log.stat().st_size / 1e6:.1f}", f"{ours['dumps']:.0f}", *cells, *other]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", nargs="*")
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--side", choices=("opened", "split"))
    asked = parser.parse_args()
    if asked.side:
        print(json.dumps({"opened": opened, "split": split}[asked.side](asked.logs[0])))
    else:
        main(asked)
