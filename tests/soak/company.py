"""Lowerings beside others, two threads and a fork at every third; and what they leave: memory, descriptors, threads."""

from __future__ import annotations

import difflib
import gc
import os
import random
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil

import irwidget
from irwidget.toolchain import client
from tests.soak.programs import TARGETS, UNARY, Recipe, build

FIRST = 10
"""Lowerings after which every program has been lowered once: what is held from then on is measured."""
_MOST = 128
"""MB that the kernel or the worker may have grown by at the end. Workers of quiet runs grew by 9 to 40 MB; one grew by
97 for a reason that is not known."""
_PATIENCE = 120.0
"""Seconds for a lowering in a fork, which imports nothing but shares two cores."""


@dataclass(frozen=True)
class Held:
    """What this process and its worker hold."""

    kernel: int
    """MB of memory that is no file's."""
    worker: int
    descriptors: int
    threads: int

    @staticmethod
    def now() -> Held:
        gc.collect()
        me = psutil.Process()
        memory = [_anonymous(pid) for pid in (me.pid, client.worker().process.pid)]
        return Held(*memory, me.num_fds(), me.num_threads())

    def __str__(self) -> str:
        return f"{self.kernel} MB, worker {self.worker} MB, {self.descriptors} descriptors, {self.threads} threads"


def _anonymous(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) >> 10


def lowerings_beside_others(count: int, number: int) -> dict[str, object]:
    """Lower the same ten programs again and again, in company at every third; each text must be that of the first."""
    chance = random.Random(number)
    texts = _Texts(chance)
    early = None
    for index in range(count):
        with ExitStack() as company:
            if index % 3 == 2:
                company.enter_context(_Thread(lambda: texts.again(chance.choice(texts.recipes))))
                company.enter_context(_Thread(lambda: texts.again(chance.choice(texts.recipes))))
                company.enter_context(_Fork(lambda: texts.again(texts.recipes[0])))
            texts.again(texts.recipes[index % len(texts.recipes)])
        if index + 1 == FIRST:
            early = Held.now()
    late = Held.now()
    assert early
    assert late.descriptors <= early.descriptors + 2, (early, late)
    assert late.threads <= early.threads + 2, (early, late)
    assert max(late.kernel - early.kernel, late.worker - early.worker) <= _MOST, (early, late)
    return {"lowerings": count, "of them in company": count // 3, f"after {FIRST}": early, "at the end": late}


class _Texts:
    """Programs, made before there are threads to share a seed with, and what each was lowered to in quiet."""

    def __init__(self, chance: random.Random) -> None:
        ops = [name for name in UNARY if name != "double"]
        self.recipes = [
            Recipe(2 + index % 3, 4 + index % 4, tuple(chance.choices(ops, k=3)), index % 2 == 0, target)
            for index, target in enumerate((*TARGETS, "nvptx")[:FIRST])
        ]
        self._built = {recipe: build(recipe) for recipe in self.recipes}
        self._first = {recipe: self._lowered(recipe) for recipe in self.recipes}

    def again(self, recipe: Recipe) -> None:
        for one, other in zip(self._lowered(recipe), self._first[recipe], strict=True):
            assert one == other, (recipe, "".join(difflib.unified_diff(other.splitlines(True), one.splitlines(True))))

    def _lowered(self, recipe: Recipe) -> list[str]:
        """The text after every pass, or what was refused."""
        model, x = self._built[recipe]
        try:
            low = irwidget.lower(model, x, to=recipe.target, timeout=_PATIENCE)
        except irwidget.IRWidgetError as error:
            return [str(error)]
        return [dump.text for dump in low.dumps]


class _Thread:
    """Work on a thread; leaving waits for it and raises what it raised."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work
        self._thread = threading.Thread(target=self._run)
        self._error: BaseException | None = None

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self._error = error

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._thread.join()
        if self._error:
            raise self._error


class _Fork:
    """Work in a copy of this process; leaving waits for it and demands that it ended well, and with it its worker."""

    def __init__(self, work: Callable[[], None]) -> None:
        self._work = work

    def __enter__(self) -> None:
        self._child = os.fork()
        if not self._child:
            code = 1
            try:
                self._work()
                client.shutdown()
                code = 0
            except BaseException:
                traceback.print_exc(file=sys.__stderr__)
            finally:
                os._exit(code)

    def __exit__(self, *_: object) -> None:
        until = time.monotonic() + _PATIENCE
        while not (ended := os.waitpid(self._child, os.WNOHANG))[0]:
            if time.monotonic() > until:
                os.kill(self._child, 9)
                os.waitpid(self._child, 0)
                raise AssertionError(f"a fork was not through after {_PATIENCE:g} s")
            time.sleep(0.05)
        assert ended[1] == 0, f"a fork ended with {os.waitstatus_to_exitcode(ended[1])}"
