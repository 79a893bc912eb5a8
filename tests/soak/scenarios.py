"""What can happen to a session. After each, the kernel lives, the next cell is right, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from torch import nn

import irwidget
from irwidget.errors import IRWidgetError, LoweringInterrupted
from irwidget.toolchain import client
from tests.llvm.programs import PROGRAMS
from tests.soak.programs import Recipe, build, recipes

ROOT = Path(__file__).resolve().parents[2]


def next_is_right() -> None:
    """A lowering that executes and equals eager PyTorch."""
    torch.manual_seed(1)
    low = irwidget.lower(nn.Linear(3, 2), torch.randn(2, 3), to="linalg_on_tensors_mlir", check=True)
    assert low.trace.facts["check"]["ok"], low.trace.facts["check"]
    assert low.failure is None


def random_programs(count: int, number: int) -> Counter[str]:
    """Lower random programs; only an IRWidgetError may come out. Linalg is executed and compared."""
    outcomes: Counter[str] = Counter()

    @seed(number)
    @settings(
        max_examples=count, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(recipes)
    def each(recipe: Recipe) -> None:
        model, x = build(recipe)
        check = recipe.target == "linalg_on_tensors_mlir"
        try:
            low = irwidget.lower(model, x, to=recipe.target, timeout=60, check=check)
        except IRWidgetError as error:
            outcomes[type(error).__name__] += 1
            return
        assert all(dump.text for dump in low.dumps), recipe
        if check:
            assert low.trace.facts["check"]["ok"], (recipe, low.trace.facts["check"])
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


def _encoder() -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval(), torch.randn(1, 4, 16)


def interrupts(count: int, number: int) -> Counter[str]:
    """Ctrl-C at random moments of a lowering, each followed by a right one."""
    outcomes: Counter[str] = Counter()
    chance = random.Random(number)
    slowest = 0.0
    kept = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(count):
            model, x = _encoder()
            delay = chance.uniform(0.01, 2.5)
            sent = time.monotonic() + delay
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            try:
                irwidget.lower(model, x, to="nvptx")
                outcomes["finished first"] += 1
            except LoweringInterrupted:
                outcomes["LoweringInterrupted"] += 1
                slowest = max(slowest, time.monotonic() - sent)
            except KeyboardInterrupt:
                outcomes["KeyboardInterrupt"] += 1
                slowest = max(slowest, time.monotonic() - sent)
            except IRWidgetError as error:
                outcomes[type(error).__name__] += 1
            with contextlib.suppress(KeyboardInterrupt):
                timer.join()
                time.sleep(0.05)  # the signal of a lowering that had just finished
            next_is_right()
    finally:
        signal.signal(signal.SIGINT, kept)
    outcomes["slowest stop in ms"] = round(slowest * 1000)
    return outcomes


def worker_kills(count: int, number: int) -> Counter[str]:
    """The worker killed at random moments of a lowering, each followed by a right one."""
    outcomes: Counter[str] = Counter()
    chance = random.Random(number)
    for _ in range(count):
        model, x = _encoder()
        pid = client.worker().process.pid
        timer = threading.Timer(chance.uniform(0.01, 2.5), _kill, (pid,))
        timer.start()
        try:
            low = irwidget.lower(model, x, to="nvptx")
            with contextlib.suppress(IRWidgetError):
                _ = [dump.text for dump in low.dumps]
            outcomes["finished first"] += 1
        except IRWidgetError as error:
            outcomes[type(error).__name__] += 1
        timer.join()
        next_is_right()
    return outcomes


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


_LOWER = """
import sys
sys.path.insert(0, {root!r})
from tests.soak.scenarios import next_is_right
{before}
next_is_right()
import irwidget, torch
try:
    irwidget.lower(torch.nn.Linear(2, 2), torch.zeros(1, 2), to="nvptx")
    print("ok")
except irwidget.IRWidgetError as error:
    print(type(error).__name__)
{after}
"""
_FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
"""
_SAVE_FULL = """
try:
    irwidget.lower(torch.nn.Linear(2, 2), torch.zeros(1, 2), to="tosa_mlir").to_html(sys.argv[1] + "/page.html")
    print("not full")
except OSError as error:
    print("save:", type(error).__name__)
"""


def hostile_places(scratch: Path) -> dict[str, str]:
    """A full disk, a home that cannot be written, no temporary folder: each in a process of its own."""
    cases: dict[str, tuple[list[str], dict[str, str], str, str]] = {
        "disk full": ([], {}, _FULL, _SAVE_FULL),
        "read-only home": ([], {"HOME": "/proc/1/none", "XDG_CACHE_HOME": "/proc/1/none"}, "", ""),
        "no TMPDIR": ([], {"TMPDIR": "/proc/1/none"}, "", ""),
    }
    unshared = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro,size=4k none /tmp && exec "$@"', "sh"]
    if subprocess.run([*unshared, "true"], capture_output=True).returncode == 0:
        cases["no /tmp"] = (unshared, {"TMPDIR": "/proc/1/none"}, "", "")
    found: dict[str, str] = {}
    for name, (prefix, environment, before, after) in cases.items():
        script = _LOWER.format(root=str(ROOT), before=before, after=after)
        cwd = "/" if name == "no /tmp" else str(scratch)
        ran = subprocess.run(
            [*prefix, sys.executable, "-B", "-c", script, str(scratch)], cwd=cwd, env={**os.environ, **environment},
            capture_output=True, text=True, timeout=180,
        )
        said = ran.stdout.strip().replace("\n", ", ") or ran.stderr.strip().rsplit("\n", 1)[-1]
        found[name] = said if ran.returncode == 0 else f"FAILED: {said}"
    return found


def kernel_restarts(count: int) -> Counter[str]:
    """A kernel with an open widget, restarted in the middle of a lowering; the next cell is right, no worker stays."""
    from jupyter_client.manager import KernelManager

    cell = ("%load_ext irwidget\nimport torch, irwidget\n"
            "low = irwidget.lower(torch.nn.Linear(4, 2), torch.zeros(1, 4), to='nvptx')\nlow")  # fmt: skip
    outcomes: Counter[str] = Counter()
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(ROOT))
    channel = manager.client()
    channel.start_channels()
    try:
        for _ in range(count):
            channel.wait_for_ready(timeout=60)
            reply = channel.execute_interactive(cell, timeout=120, output_hook=lambda _: None)
            assert reply["content"]["status"] == "ok", reply["content"]
            workers = _workers(manager)
            assert workers
            busy = "[irwidget.lower(torch.nn.Linear(4, 2), torch.zeros(1, 4), to='amdgpu') for _ in range(99)]"
            channel.execute(busy)
            time.sleep(random.uniform(0, 1))
            manager.restart_kernel(now=True)
            _, alive = psutil.wait_procs(workers, timeout=10)
            assert not alive, alive
            outcomes["restarted, workers gone"] += 1
    finally:
        channel.stop_channels()
        manager.shutdown_kernel(now=True)
    return outcomes


def _workers(manager: object) -> list[psutil.Process]:
    kernel = psutil.Process(manager.provisioner.process.pid)  # type: ignore[attr-defined]
    return [child for child in kernel.children(recursive=True) if "irwidget.toolchain.worker" in child.cmdline()]


def leftovers(work: Callable[[], object]) -> dict[str, int]:
    """Processes, open files and temporary files that are there after some work and were not before it."""
    next_is_right()

    def look() -> tuple[int, int, int]:
        client.shutdown()
        me = psutil.Process()
        made = [name for name in os.listdir("/tmp") if "irwidget" in name or name.startswith("tmp")]
        return len(me.children(recursive=True)), me.num_fds(), len(made)

    before = look()
    work()
    after = look()
    names = ("processes", "file descriptors", "temporary files")
    return {name: new - old for name, old, new in zip(names, before, after, strict=True)}
