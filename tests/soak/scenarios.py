"""What can happen to a session. After each, the kernel lives, the next cell is right, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import psutil
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from jupyter_core.utils import ensure_event_loop
from torch import nn

import irwidget
from irwidget.errors import IRWidgetError, LoweringInterrupted, ToolError
from irwidget.toolchain import client
from tests import processes
from tests.kernels import kernel
from tests.llvm.programs import PROGRAMS
from tests.soak import company
from tests.soak.programs import Recipe, build, recipes

ROOT = Path(__file__).resolve().parents[2]


def next_is_right() -> None:
    """A lowering that executes and equals eager PyTorch."""
    torch.manual_seed(1)
    low = irwidget.lower(nn.Linear(3, 2), torch.randn(2, 3), to="linalg_on_tensors_mlir", check=True)
    assert low.check.ok, low.check
    assert low.failure is None


def random_programs(count: int, number: int, seconds: float = 480) -> Counter[str]:
    """Lower random programs; only an IRWidgetError may come out. Linalg is executed and compared."""
    outcomes: Counter[str] = Counter()
    until = time.monotonic() + seconds

    @seed(number)
    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(recipes)
    def each(recipe: Recipe) -> None:
        if time.monotonic() > until:
            outcomes["not run, out of time"] += 1
            return
        model, x = build(recipe)
        check = recipe.target == "linalg_on_tensors_mlir"
        try:
            low = irwidget.lower(model, x, to=recipe.target, timeout=60, check=check)
        except IRWidgetError as error:
            outcomes[type(error).__name__] += 1
            return
        assert all(dump.text for dump in low.dumps), recipe
        if check:
            assert low.check.ok, (recipe, low.check)
            outcomes["equal to eager"] += 1
        else:
            outcomes["ok"] += 1

    each()
    return outcomes


def crash_corpus() -> Counter[str]:
    """Programs that end LLVM on PyTorch Explorer's route, and tools that end themselves."""
    outcomes: Counter[str] = Counter()
    cnn = next(program for program in PROGRAMS if program.name == "cnn")
    for target in ("nvptx", "amdgpu", "spirv"):
        model, inputs = cnn.make()
        try:
            irwidget.lower(model, *inputs, to=target, route="explorer", timeout=60)
            outcomes["ok"] += 1
        except IRWidgetError as error:
            kept = error.lowering is not None and len(error.lowering.dumps) > 0
            outcomes[f"{type(error).__name__}, dumps kept" if kept else "FAILED: no dumps"] += 1
    for tool in ("sh -c 'kill -SEGV $$'", "sh -c 'exit 3'", "sh -c 'cat; echo broken >&2; kill -9 $$'", "sleep 60"):
        try:
            irwidget.lower("func.func @f() { return }", to="raw_ir", pipeline=f"user-tool {tool}", timeout=3)
            outcomes["ok"] += 1
        except IRWidgetError as error:
            outcomes[type(error).__name__] += 1
    next_is_right()
    return outcomes


def odd_kernels(count: int, number: int) -> Counter[str]:
    """Triton kernels of the crash corpus, in any order and again and again: errors of ours, and the kernel lives."""
    from tests.crashers import kernels

    outcomes: Counter[str] = Counter()
    for case in random.Random(number).choices(kernels.CORPUS.cases, k=count):
        try:
            case.run()
            outcomes["ok"] += 1
        except IRWidgetError as error:
            outcomes[type(error).__name__] += 1
    next_is_right()
    return outcomes


def texts_after_time_outs(count: int, number: int) -> Counter[str]:
    """Lowerings that run out of time at random moments; then every dump is looked at, last first."""
    outcomes: Counter[str] = Counter()
    chance = random.Random(number)
    _, passes = _durations()
    slowest = 0.0
    for _ in range(count):
        model, x = _encoder()
        try:
            low: irwidget.Lowering | None = irwidget.lower(model, x, to="nvptx", timeout=chance.uniform(0.05, passes))
            outcomes["finished first"] += 1
        except ToolError as error:
            low = error.lowering
            outcomes["timed out"] += 1
        began = time.monotonic()
        for dump in reversed(low.dumps if low else ()):
            try:
                assert dump.text.strip(), dump
                outcomes["texts"] += 1
            except IRWidgetError:
                outcomes["texts not available"] += 1
        slowest = max(slowest, time.monotonic() - began)
        next_is_right()
    outcomes["slowest look in ms"] = round(slowest * 1000)
    return outcomes


def _encoder() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), torch.randn(1, 4, 16)


class _Struck:
    """One lowering that a blow falls on `delay` seconds after its first pass began, or after it was asked for."""

    def __init__(self, blow: Callable[[], None], delay: float, *, in_export: bool = False) -> None:
        self.timer = threading.Timer(delay, self._strike)
        self.blow = blow
        self.in_export = in_export
        self.begun = 0
        self.struck: float | None = None

    def _strike(self) -> None:
        self.struck = time.monotonic()
        self.blow()

    def lower(self) -> None:
        model, x = _encoder()
        if self.in_export:
            self.timer.start()
        irwidget.lower(model, x, to="nvptx", progress=self._pass_begins)

    def _pass_begins(self, *_: object) -> None:
        self.begun += 1
        if self.begun == 1 and not self.in_export:
            self.timer.start()

    def check_kept(self, low: irwidget.Lowering | None, how: str) -> None:
        """Every pass that had ended is a dump, with its text, and the failure says what happened."""
        assert low is not None
        assert low.failure is not None
        assert how in low.failure.message, low.failure
        assert len(low.dumps) >= self.begun, (len(low.dumps), self.begun)  # dump 0, and the passes before the last
        assert all(dump.text for dump in low.dumps)


@cache
def _durations() -> tuple[float, float]:
    """Seconds of the lowering as a whole, and of its passes: moments are drawn from within."""
    next_is_right()
    started = time.monotonic()
    first: list[float] = []
    model, x = _encoder()
    irwidget.lower(model, x, to="nvptx", progress=lambda *_: first.append(time.monotonic()))
    return time.monotonic() - started, time.monotonic() - first[0]


def interrupts(count: int, number: int) -> Counter[str]:
    """Ctrl-C at random moments of a lowering, each followed by a right one. Most must land in it."""
    outcomes: Counter[str] = Counter()
    chance = random.Random(number)
    whole, passes = _durations()
    slowest = 0.0
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for index in range(count):
            in_export = index % 3 == 2
            one = _Struck(
                lambda: os.kill(os.getpid(), signal.SIGINT),
                chance.uniform(0, 0.9 * (whole if in_export else passes)),
                in_export=in_export,
            )
            try:
                one.lower()
                outcomes["finished first"] += 1
            except LoweringInterrupted as stop:
                slowest = max(slowest, time.monotonic() - (one.struck or 0))
                if one.begun:
                    one.check_kept(stop.lowering, "was interrupted")
                outcomes["in the passes, dumps kept" if one.begun else "before them"] += 1
            with contextlib.suppress(KeyboardInterrupt):
                one.timer.join()
                time.sleep(0.05)  # the signal of a lowering that had just finished
            next_is_right()
    finally:
        signal.signal(signal.SIGINT, kept)
    assert outcomes["finished first"] <= count // 2, outcomes
    outcomes["slowest stop in ms"] = round(slowest * 1000)
    return outcomes


def worker_kills(count: int, number: int) -> Counter[str]:
    """The worker killed at random moments of its passes, each followed by a right lowering. Most must land in them."""
    outcomes: Counter[str] = Counter()
    chance = random.Random(number)
    _, passes = _durations()
    for _ in range(count):
        pid = client.worker().process.pid
        one = _Struck(lambda pid=pid: os.kill(pid, signal.SIGKILL), chance.uniform(0, 0.9 * passes))
        try:
            one.lower()
            outcomes["finished first"] += 1
        except ToolError as error:
            one.check_kept(error.lowering, "crashed (the worker was killed by SIGKILL")
            outcomes["in the passes, dumps kept"] += 1
        one.timer.join()
        next_is_right()
    assert outcomes["finished first"] <= count // 2, outcomes
    return outcomes


_SESSION = """
import sys
sys.path.insert(0, {root!r})
{before}
import irwidget, torch
from tests.soak.scenarios import next_is_right
irwidget.lower(torch.nn.Linear(2, 2), torch.zeros(1, 2), to="nvptx")
{after}
next_is_right()
print("next right")
"""
_NO_ROOM = """
import resource, signal
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
"""
_SAVE = """
low = irwidget.lower(torch.nn.Linear(2, 2), torch.zeros(1, 2), to="tosa_mlir")
for write in (low.save, low.to_html, lambda path: irwidget.sweep({"l": (torch.nn.Linear(2, 2), torch.zeros(1, 2))},
                                                                 ["tosa_mlir"], path=path + ".parquet")):
    try:
        write(sys.argv[1] + "/file")
        print("FAILED: not full")
    except (OSError, irwidget.IRWidgetError) as error:
        print(type(error).__name__)
"""


def hostile_places(scratch: Path) -> dict[str, str]:
    """A full disk, a home that cannot be written, no temporary folder: each in a session of its own."""
    nowhere = "/proc/1/none"
    everywhere = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR"), nowhere)
    cases: dict[str, tuple[str, dict[str, str], str, str]] = {
        "nothing can be written": ("", {}, _NO_ROOM, _SAVE),
        "read-only home": ("", {"HOME": nowhere, "XDG_CACHE_HOME": nowhere}, "", ""),
        "no TMPDIR": ("", {"TMPDIR": nowhere}, "", ""),
    }
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0:
        full = f"mount -t tmpfs -o size=64k none {scratch} && cd {scratch} && dd if=/dev/zero of=fill bs=1k 2>&-; "
        here = {name: str(scratch) for name in everywhere}
        cases["disk full"] = (full, here, "", _SAVE)
    if "disk full" in cases and not Path(sys.executable).is_relative_to("/tmp"):
        cases["no /tmp"] = ("mount -t tmpfs -o ro,size=4k none /tmp && cd / && ", everywhere, "", "")
    found: dict[str, str] = {}
    environment = {name: value for name, value in os.environ.items() if name != "TORCHINDUCTOR_CACHE_DIR"}
    for name, (mount, changed, before, after) in cases.items():
        command = [sys.executable, "-B", "-c", _SESSION.format(root=str(ROOT), before=before, after=after)]
        shell = ["unshare", "--mount", "sh", "-c", mount + 'exec "$@"', "sh"] if mount else []
        ran = subprocess.run(
            [*shell, *command, str(scratch)],
            cwd=scratch,
            env=environment | changed,
            capture_output=True,
            text=True,
            timeout=180,
        )
        said = ", ".join(ran.stdout.split("\n")).strip(", ")
        found[name] = said if ran.returncode == 0 else f"FAILED: {ran.stderr.strip().rsplit(chr(10), 1)[-1]}"
    return found


def kernel_restarts(count: int) -> Counter[str]:
    """A kernel with an open widget, restarted in the middle of a lowering; the next cell is right, no worker stays."""
    cell = ("%load_ext irwidget\nimport torch, irwidget\n"
            "low = irwidget.lower(torch.nn.Linear(4, 2), torch.zeros(1, 4), to='nvptx')\nlow")  # fmt: skip
    outcomes: Counter[str] = Counter()
    with kernel(cwd=str(ROOT)) as (manager, channel):
        for _ in range(count):
            channel.wait_for_ready(timeout=60)
            reply = channel.execute_interactive(cell, timeout=120, output_hook=lambda _: None)
            assert reply["content"]["status"] == "ok", reply["content"]
            workers = processes.workers(manager.provisioner.process.pid, recursive=True)
            assert workers
            busy = "[irwidget.lower(torch.nn.Linear(4, 2), torch.zeros(1, 4), to='amdgpu') for _ in range(99)]"
            channel.execute(busy)
            time.sleep(random.uniform(0, 1))
            manager.restart_kernel(now=True)
            _, alive = psutil.wait_procs(workers, timeout=10)
            assert not alive, alive
            outcomes["restarted, workers gone"] += 1
    return outcomes


def leftovers(work: Callable[[], object]) -> str:
    """Do some work; no process, file descriptor or temporary file may be there after it that was not before it.

    Tells the memory, too: it grows by all that is imported meanwhile.
    """
    for _ in range(company.FIRST):
        next_is_right()
    ensure_event_loop()  # jupyter_client makes one for whoever starts a kernel, and keeps it: three descriptors
    early = company.Held.now()

    def look() -> tuple[list[str], int, set[str]]:
        client.shutdown()
        me = psutil.Process()
        found = [str(child) for child in processes.alive(recursive=True)]
        return found, me.num_fds(), set(os.listdir(tempfile.gettempdir()))

    before = look()
    work()
    next_is_right()
    late = company.Held.now()
    alive, descriptors, made = look()
    assert len(alive) <= len(before[0]), (before[0], alive)
    assert descriptors <= before[1] + 2, descriptors - before[1]  # not one per worker
    assert made <= before[2], made - before[2]
    nothing = "no process, no file descriptor, no temporary file"
    return f"{nothing}; after {company.FIRST} lowerings: {early}; at the end: {late}"
