"""The first diverging pass of a kernel over five releases of Triton: `python -m benchmarks.toolchains [VERSIONS ...]`.

Cold: no environment is there, pip installs each (into a folder of this run, deleted afterwards). Started: a new process
with all environments made. Warm: the same again in that process. Each line is the wall time from the first call to the
last difference found; pip's own downloads are part of it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

VERSIONS = ("3.4.0", "3.5.1", "3.6.0", "3.7.1", "3.9.0")


def _differences(versions: list[str]) -> list[str]:
    """What is said of each release beside the one before it."""
    import irwidget
    from benchmarks.toolchains_kernel import arguments, matmul
    from irwidget.toolchains import process

    process.begin([f"triton=={version}" for version in versions])
    made = [
        irwidget.lower(matmul, *arguments(), to="triton_nvptx", arch="sm_90", toolchain=f"triton=={version}")
        for version in versions
    ]
    return [f"{b}: {irwidget.compare(x, y).summary}" for b, x, y in zip(versions[1:], made, made[1:], strict=False)]


def _timed(versions: list[str], times: int) -> None:
    said: list[str] = []
    for _ in range(times):
        began = time.perf_counter()
        said = _differences(versions)
        print(f"{time.perf_counter() - began:.1f} s", flush=True)
    print("\n".join(said), flush=True)


def main() -> None:
    parsed = argparse.ArgumentParser(description=__doc__)
    parsed.add_argument("versions", nargs="*", default=list(VERSIONS))
    parsed.add_argument("--here", type=int, default=0, help=argparse.SUPPRESS)
    given = parsed.parse_args()
    if given.here:
        _timed(given.versions, given.here)
        return
    with tempfile.TemporaryDirectory(prefix="irwidget-toolchains-") as folder:
        environment = {**os.environ, "IRWIDGET_TOOLCHAINS": folder}
        for name, times in (("cold", 1), ("started, warm", 2)):
            command = [sys.executable, "-m", "benchmarks.toolchains", "--here", str(times), *given.versions]
            print(f"{name}:", flush=True)
            subprocess.run(command, env=environment, check=True)


if __name__ == "__main__":
    main()
