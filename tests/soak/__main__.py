"""`make soak`: python -m tests.soak [--programs 300] [--moments 25] [--seed N]. Prints figures; 1 when one failed."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from tests.soak import scenarios


def main() -> int:
    parser = argparse.ArgumentParser("python -m tests.soak")
    parser.add_argument("--programs", type=int, default=300)
    parser.add_argument("--moments", type=int, default=25, help="random moments for interrupts, and for kills")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"seed {chosen.seed}", flush=True)
    failed = 0

    def run(name: str, work: Callable[[], object]) -> None:
        nonlocal failed
        started = time.monotonic()
        try:
            said = work()
            text = ", ".join(f"{key}: {value}" for key, value in said.items()) if isinstance(said, dict) else str(said)
            failed += "FAILED" in text
        except BaseException as error:
            failed += 1
            text = f"FAILED: {type(error).__name__}: {str(error)[:2000]}"
            traceback.print_exc()
        print(f"{name:18} {time.monotonic() - started:6.0f} s  {text}", flush=True)

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as scratch:
        run("random programs", lambda: scenarios.random_programs(chosen.programs, chosen.seed))
        run("crash corpus", scenarios.crash_corpus)
        run("interrupts", lambda: scenarios.interrupts(chosen.moments, chosen.seed))
        run("worker kills", lambda: scenarios.worker_kills(chosen.moments, chosen.seed))
        run("hostile places", lambda: scenarios.hostile_places(Path(scratch)))
        run("kernel restarts", lambda: scenarios.kernel_restarts(3))
        run("left behind", lambda: scenarios.leftovers(lambda: scenarios.worker_kills(3, chosen.seed)))
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
