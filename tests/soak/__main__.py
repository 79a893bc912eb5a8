"""`make soak`: python -m tests.soak [--programs 300] [--moments 25] [--seed N]. Prints figures; 1 when one failed.

About half an hour on two cores: random programs stop after eight minutes, and forty fresh kernels take longer.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.soak import company, first_cells, live_page, scenarios


class Report:
    """Runs scenarios, prints what each found, and remembers which failed."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.done: list[str] = []
        self.failed: list[str] = []

    def run(self, name: str, work: Callable[[], Mapping[str, object] | str]) -> None:
        started = time.monotonic()
        try:
            said = work()
            text = said if isinstance(said, str) else ", ".join(f"{key}: {value}" for key, value in said.items())
        except BaseException as error:
            traceback.print_exc()
            text = f"FAILED: {type(error).__name__}: {str(error)[:2000]}"
        self.done.append(name)
        if "FAILED" in text:
            self.failed.append(name)
        print(f"{name:18} {time.monotonic() - started:6.0f} s  {text}", flush=True)

    def end(self) -> int:
        spent = time.monotonic() - self.started
        print(f"{len(self.done)} scenarios in {spent:.0f} s, failed: {', '.join(self.failed) or 'none'}")
        return bool(self.failed)


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.soak")
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--moments", type=int, default=25, help="random moments for interrupts, and for kills")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"seed {chosen.seed}", flush=True)
    report = Report()

    def everything() -> None:
        report.run("beside others", lambda: company.lowerings_beside_others(60, chosen.seed))
        report.run("live page", lambda: live_page.live_page(30, chosen.seed))
        report.run("random programs", lambda: scenarios.random_programs(chosen.programs, chosen.seed))
        report.run("crash corpus", scenarios.crash_corpus)
        report.run("odd kernels", lambda: scenarios.odd_kernels(8 * chosen.moments, chosen.seed))
        report.run("late texts", lambda: scenarios.texts_after_time_outs(chosen.moments, chosen.seed))
        report.run("interrupts", lambda: scenarios.interrupts(chosen.moments, chosen.seed))
        report.run("worker kills", lambda: scenarios.worker_kills(chosen.moments, chosen.seed))
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as scratch:
            report.run("hostile places", lambda: scenarios.hostile_places(Path(scratch)))
        report.run("first cells", lambda: first_cells.first_cells(40, chosen.seed, loaded=True))
        report.run("kernel restarts", lambda: scenarios.kernel_restarts(3))

    with tempfile.TemporaryDirectory() as own:  # other programs use /tmp, too
        os.environ["TMPDIR"] = tempfile.tempdir = own
        report.run("left behind", lambda: scenarios.leftovers(everything))
        tempfile.tempdir = None
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
