"""What going on from an edited dump costs: `python -m benchmarks.experiments [--rounds N]`, both sides in one run.

The whole lowering, from the model to its last text, against the rest of the passes from an edited dump of linalg to the
moment when the page has been given the last dump of both. What the browser does then is in benchmarks/viewer.
"""

from __future__ import annotations

import argparse
import statistics
import time

import irwidget
from benchmarks.lower import models
from irwidget.reports import table
from irwidget.trace import reading
from irwidget.views.experimenting import Experiments
from irwidget.views.widget import PassDiff

MODEL = "12-layer encoder, d=256"
OLD, NEW = "arith.cmpf ugt", "arith.cmpf oge"


def _whole() -> tuple[float, irwidget.Lowering]:
    model, x = models()[MODEL]
    started = time.perf_counter()
    lowering = irwidget.lower(model, x, to="linalg_on_tensors_mlir")
    _ = lowering.text
    return time.perf_counter() - started, lowering


def _rest(lowering: irwidget.Lowering, index: int) -> tuple[float, float]:
    """Seconds until the page has the last dumps, and until the passes have run."""
    text = lowering.dumps[index].text
    assert OLD in text, f"dump {index} has no {OLD}"
    started = time.perf_counter()
    lowering.edit(index, text.replace(OLD, NEW)).run()
    ran = time.perf_counter() - started
    time.sleep(5)  # texts of that run are printed meanwhile, which are not part of the next
    view = PassDiff([lowering.trace], lowerings=[lowering])
    experiments = Experiments(view, [lowering])
    given: list[tuple[float, bytes]] = []
    view.observe(lambda change: given.append((time.perf_counter(), change["new"])), "data")
    started = time.perf_counter()
    experiments.go(0, index, text.replace(OLD, NEW), None)
    while not view.experiments[0]["outcome"]:
        time.sleep(0.1)
    shown = next(at for at, data in given if _has_ends(data))
    view.close()
    return shown - started, ran


def _has_ends(data: bytes) -> bool:
    """Whether the page has the last dumps of both."""
    traces = reading.unpacked(data).traces
    return len(traces) == 2 and all(trace.dumps[-1].ready for trace in traces)


def rows(rounds: int) -> list[tuple[str, ...]]:
    """Of each dump that is edited: how many passes are left, the whole lowering, the rest, and their ratio."""
    whole, lowering = min((_whole() for _ in range(rounds)), key=lambda one: one[0])
    for dump in lowering.dumps:
        _ = dump.text
    found: list[tuple[str, ...]] = []
    names = [dump.name for dump in lowering.dumps]
    for name in ("convert-torch-to-linalg", "cse"):
        index = names.index(name)
        took = [_rest(lowering, index) for _ in range(rounds)]
        shown, ran = (statistics.median(one[i] for one in took) for i in (0, 1))
        left = len(names) - index - 1
        found.append((name, str(left), f"{whole:.2f}", f"{ran:.2f}", f"{shown:.2f}", f"{whole / shown:.1f}"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    head = ("edited after", "passes left", "whole lowering, s", "the rest, s", "until it is shown, s", "ratio")
    print(f"{MODEL}, to linalg_on_tensors_mlir\n\n{table([head, *rows(given.rounds)])}")


if __name__ == "__main__":
    main()
