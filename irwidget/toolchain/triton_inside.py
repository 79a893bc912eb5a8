"""Inside a big pass of Triton's: the IR between its steps, which the library prints when it is asked to.

The software pipeliner and Hopper's warp specialisation print it themselves (`dump-intermediate-steps`); passes that run
others, as Blackwell's warp specialisation does, print it as `MLIR_ENABLE_DUMP` has every pass print.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Generator

from irwidget.toolchain import triton_names, triton_state
from irwidget.toolchain.triton_state import TritonState

PASSES = frozenset({"tritongpu-pipeline", "nvgpu-warp-specialization", "tritongpu-automatic-warp-specialization"})
"""The passes that can be opened."""
OPTION = "dump-intermediate-steps="
"""What the text of a pass has that prints its own steps."""
_BANNER = re.compile(
    r"^// -----// (?:IR Dump Before (?P<kind>.+?): (?P<name>[^ {]+).*|"
    r"\w+ internal IR Dump After: (?P<inner>\w+) *)$\n?",
    re.M,
)


@contextlib.contextmanager
def printing() -> Generator[None]:
    """Have passes print the IR to stderr meanwhile."""
    kept = {name: os.environ.get(name) for name in ("MLIR_ENABLE_DUMP", "MLIR_DUMP_PATH")}
    os.environ["MLIR_ENABLE_DUMP"] = "1"
    os.environ.pop("MLIR_DUMP_PATH", None)
    try:
        yield
    finally:
        for name, value in kept.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def steps(printed: str) -> list[tuple[str, str | None]]:
    """The steps of a pass with the IR after each, of what it printed; None after the last: that is the pass's own.

    What is printed before a pass is what the one before has left; the first is what the whole pass was given.
    """
    banners = list(_BANNER.finditer(printed))
    found: list[tuple[str, str | None]] = []
    running = ""
    for i, banner in enumerate(banners):
        end = banners[i + 1].start() if i + 1 < len(banners) else len(printed)
        text = printed[banner.end() : end].rstrip("\n") + "\n"
        if banner["inner"]:
            found.append((banner["inner"], text))
            continue
        if running:
            found.append((running, text))
        running = "" if i == 0 else _name(banner)
    return [*found, (running, None)] if running else found


def _name(banner: re.Match[str]) -> str:
    """What a pass is called on the command line; one that is not registered by its class."""
    return banner["kind"].rpartition("::")[2] if banner["name"].startswith("unknown<") else banner["name"]


def states(printed: str, last: TritonState) -> list[tuple[str, TritonState]]:
    """The same as states; `last` is the one that the whole pass has left."""
    return [
        (name, last if text is None else TritonState("mlir", *triton_names.split(triton_state.anywhere(text))))
        for name, text in steps(printed)
    ]
