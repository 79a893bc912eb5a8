"""What a model's weights cost: `python -m benchmarks.weights [--rounds N] [--gigabytes G]` prints ratios.

Every measurement is a process of its own, which lowers a small model first and the measured one then. Memory is what
such a process and those that it starts have together, beyond what they had before, pages that they share counted once.
"""

from __future__ import annotations

import argparse
import os
import select
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO

import torch
from torch import nn

from irwidget.reports import table

MIB = 2**20
_GLANCE = 0.02


class Block(nn.Module):
    """A block of GPT-2."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        split = self.attention(self.before(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.projection(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(nn.functional.gelu(self.wide(self.between(x)), approximate="tanh"))


class Gpt2(nn.Module):
    """GPT-2 small has 12 blocks of width 768."""

    def __init__(self, words: int = 50257, width: int = 768, blocks: int = 12) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(1024, width)
        self.blocks = nn.Sequential(*(Block(width, 12) for _ in range(blocks)))
        self.after, self.head = nn.LayerNorm(width), nn.Linear(width, words, bias=False)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.words(ids) + self.places(torch.arange(ids.shape[1]))
        return self.head(self.after(self.blocks(x)))


def gpt2() -> tuple[nn.Module, torch.Tensor]:
    return Gpt2().eval(), torch.arange(64).reshape(1, 64)


def layers(size: int) -> Callable[[], tuple[nn.Module, torch.Tensor]]:
    """Eight layers that have `size` bytes of weights together."""
    width = round((size / 8 / 4) ** 0.5)

    def make() -> tuple[nn.Module, torch.Tensor]:
        parts = [part for _ in range(8) for part in (nn.Linear(width, width, bias=False), nn.ReLU())]
        return nn.Sequential(*parts).eval(), torch.ones(1, width)

    return make


def bare(model: nn.Module, x: torch.Tensor) -> None:
    from torch_mlir import fx

    fx.export_and_import(model, x, output_type="linalg-on-tensors")


def ours(model: nn.Module, x: torch.Tensor) -> None:
    import irwidget

    irwidget.lower(model, x, to="linalg_on_tensors_mlir")


def with_values(model: nn.Module, x: torch.Tensor) -> None:
    """A pass of the user's own: nobody knows whether it looks at the weights."""
    import irwidget

    irwidget.lower(model, x, to="linalg_on_tensors_mlir", pipeline="mlir-opt --canonicalize")


def in_full(model: nn.Module, x: torch.Tensor) -> None:
    """The last text only, which has the weights in it."""
    import irwidget

    _ = irwidget.lower(model, x, to="torch_mlir", elide=False, dumps=False).text


def checked(model: nn.Module, x: torch.Tensor) -> None:
    import irwidget

    irwidget.lower(model, x, to="linalg_on_tensors_mlir", check=True)


WORKS: dict[str, Callable[[nn.Module, torch.Tensor], None]] = {
    "bare": bare,
    "ours": ours,
    "with values": with_values,
    "in full": in_full,
    "checked": checked,
}


@dataclass(frozen=True)
class Cost:
    """Of one lowering."""

    seconds: float
    memory: int
    """Bytes at most, beyond what was there before."""


def measured(work: str, size: int, rounds: int = 1) -> Cost:
    """Medians over processes that lower a model of so many bytes, or GPT-2 small (0).

    Time and memory come from different processes: looking at a process's pages takes its time.
    """
    seconds = statistics.median(_run(work, size, watch=False).seconds for _ in range(rounds))
    return Cost(seconds, _run(work, size, watch=True).memory)


def _run(work: str, size: int, *, watch: bool) -> Cost:
    command = [sys.executable, "-m", "benchmarks.weights", "--one", work, "--bytes", str(size)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdin
        assert child.stdout
        child.stdout.readline()
        before = most = resident(child.pid)
        child.stdin.write(b"go\n")
        child.stdin.flush()
        if watch:
            most = _most(child.pid, child.stdout, before)
        said = child.stdout.readline()
        child.kill()
    if not said:
        raise RuntimeError(f"{work} at {size} bytes ended with {child.returncode}")
    return Cost(float(said), most - before)


def _most(pid: int, said: IO[bytes], most: int) -> int:
    """The memory of a process at most, until it prints something or ends."""
    while not select.select([said], [], [], _GLANCE)[0]:
        most = max(most, resident(pid))
    return most


def one(work: str, size: int) -> None:
    """The measured process."""
    warnings.simplefilter("ignore")
    run = WORKS[work]
    run(*layers(2**10)())
    model, x = layers(size)() if size else gpt2()
    print("ready", flush=True)
    sys.stdin.readline()
    started = time.perf_counter()
    run(model, x)
    print(time.perf_counter() - started, flush=True)
    sys.stdin.readline()


def resident(pid: int) -> int:
    """Bytes of a process and its children; 0 when one has come or gone meanwhile, so that pages were counted twice."""
    before = list(_family(pid))
    found = sum(_resident(one) for one in before)
    return found if before == list(_family(pid)) else 0


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        children = [open(f"/proc/{pid}/task/{task}/children", encoding="ascii").read() for task in tasks]  # noqa: SIM115
    except OSError:
        return
    for child in " ".join(children).split():
        yield from _family(int(child))


def _resident(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
            return sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith("Pss:"))
    except OSError:
        return 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--one", choices=WORKS, help=argparse.SUPPRESS)
    parser.add_argument("--bytes", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        one(arguments.one, arguments.bytes)
        return
    rounds, large, small = arguments.rounds, int(arguments.gigabytes * 2**30), 2**14
    rows: list[tuple[str, ...]] = [("what", "seconds", "MiB more", "against", "seconds", "MiB more", "ratio", "goal")]
    a, b = measured("ours", 0, rounds), measured("bare", 0, rounds)
    rows.append(row("GPT-2 small to linalg", a, "fx.export_and_import", b, a.seconds / b.seconds, "time <= 0.33"))
    name = f"{arguments.gigabytes:g} GiB"
    a, b = measured("ours", large, rounds), measured("ours", small, rounds)
    rows.append(row(f"{name} to linalg", a, "tiny weights", b, a.seconds / b.seconds, "time <= 1.2, 100 MiB"))
    for work, size in (("with values", large), ("in full", 2**26), ("checked", 2**25)):
        a, b = measured(work, size), measured(work, small)
        more = (a.memory - b.memory) / size
        goal = "weights once" if work == "with values" else "-"
        rows.append(row(f"{size / 2**30:g} GiB {work}", a, "tiny weights", b, more, f"{goal} (memory / weights)"))
    print(table(rows))


def row(what: str, a: Cost, against: str, b: Cost, ratio: float, goal: str) -> tuple[str, ...]:
    return (
        what,
        f"{a.seconds:.2f}",
        f"{a.memory / MIB:.0f}",
        against,
        f"{b.seconds:.2f}",
        f"{b.memory / MIB:.0f}",
        f"{ratio:.2f}",
        goal,
    )


if __name__ == "__main__":
    main()
