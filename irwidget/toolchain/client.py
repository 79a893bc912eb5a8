"""The queue of jobs for the worker process: whoever waits, on whatever thread, is served in turn.

One thread owns the queue and the workers; everybody else leaves a note in its mailbox, which an interrupt cannot tear.
One job at a time runs its passes; texts of those before it are printed in between. When the worker ends, the job that
it worked on has ended it, and is told so. The others never hear of it: those that wait are run in a new worker, and
those whose texts were still to be printed are run again when the texts are looked at.

Jobs with another memory limit, or of a toolchain, have a worker of their own.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import logging
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from irwidget.toolchain import events, processes
from irwidget.toolchain.workers import Worker

_logger = logging.getLogger(__name__)
MOST_ATTEMPTS = 3
"""How often a job is given to a new worker when the one before ended without having begun with it."""
STARTING = 2.0
"""Seconds for a new worker to begin with its first job that are not the job's."""
_WAIT = 5


class WorkerDied(Exception):
    """The worker ended before it answered; the message says how, in words. `fault`: while it worked on this job."""

    def __init__(self, how: str, *, fault: bool = True) -> None:
        super().__init__(how)
        self.fault = fault


class Job:
    """A request on its way through a worker. It does nothing before `begin`."""

    def __init__(
        self,
        request: events.Request | events.Prepare,
        memory_limit: int | None = None,
        side: int = 0,
        folders: tuple[str, ...] = (),
    ) -> None:
        self.request = request
        self.memory_limit = memory_limit or processes.memory_limit()
        self.side = side
        """The number of the worker among those that run side by side; 0 is the one for everything else."""
        self.folders = folders
        """What the worker imports from before all else."""
        self.events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.attempts = 0
        self.sent: float | None = None
        """When it was given to a worker; None in the queue."""
        self.began = False
        """Whether the worker has said that it begins."""
        self.alone = True
        """Whether no other source had used the worker's memory."""
        self.fresh = False
        """Whether it wants to be alone."""
        self.gives_way = False
        """Whether others go first, also where it runs already: it is begun anew after them."""
        self._pid = os.getpid()
        self._lane: _Lane | None = None

    def begin(self) -> None:
        """Get in the queue. Raises WorkerDied when this process can start no thread."""
        try:
            _desk.post(lambda desk: desk.lane(self.memory_limit, self.side, self.folders).take(self))
        except RuntimeError as error:
            raise WorkerDied(f"could not be started ({error})") from None

    def cancel(self) -> None:
        """Give up: leave the queue, or end the worker where it is at work on this."""
        _desk.post(lambda _: self._lane.drop(self) if self._lane else None)

    def make_room(self) -> None:
        """Have texts of others, which the worker prints and prints, wait for this job."""
        _desk.post(lambda _: self._lane.make_room(self) if self._lane else None)

    @property
    def has_worker(self) -> bool:
        """Whether time that passes is this job's: the worker is at it, or owes it an answer."""
        lane = self._lane
        if lane is None:
            return False
        if lane.running is self:
            return self.began or (not lane.printing and time.monotonic() - (self.sent or 0) > lane.patience)
        return lane.running is None and next(iter(lane.printing), None) is self  # in one look: the desk changes it

    @property
    def behind_texts(self) -> bool:
        """Whether the worker prints texts of others before it looks at this job."""
        lane = self._lane
        return lane is not None and lane.running is self and not self.began and bool(lane.printing)

    def next(self, timeout: float | None = None) -> events.Event | None:
        """The next event; None after the last.

        Raises WorkerDied when the worker ends first, and queue.Empty after `timeout` seconds.
        """
        if os.getpid() != self._pid:
            raise WorkerDied("belongs to the process that this is a copy of", fault=False)
        event = self.events.get(timeout=timeout) if timeout != 0 else self.events.get_nowait()
        if isinstance(event, WorkerDied):
            self.events.put(event)
            raise WorkerDied(str(event), fault=event.fault)
        return event


class _Lane:
    """The queue for workers of one memory limit, and the worker that there is. Only the desk's thread changes it."""

    def __init__(self, desk: _Desk, memory_limit: int, folders: tuple[str, ...] = ()) -> None:
        self.memory_limit, self.folders = memory_limit, folders
        self.waiting: deque[Job] = deque()
        self.running: Job | None = None
        self.printing: list[Job] = []
        """Those whose texts are on their way, in the order in which the worker prints them."""
        self.worker: Worker | None = None
        self.patience = 0.0
        self._keys: set[str] = set()
        self._desk = desk
        self._numbers = itertools.count()
        self._jobs: dict[int, Job] = {}
        self._leaves = False
        """Whether the worker is ended when it has nothing to do any more."""
        self._leaving: set[Job] = set()
        """Jobs whose owner has ended the worker and expects no answer."""

    @property
    def idle(self) -> bool:
        return self.running is None and not self.waiting and not self.printing

    def take(self, job: Job) -> None:
        job._lane, self._leaves = self, False  # pyright: ignore[reportPrivateUsage]
        self.waiting.append(job)
        if self.running is not None and self.running.gives_way and not job.gives_way:
            self._put_off(self.running)
        self.go_on()

    def _put_off(self, job: Job) -> None:
        """Have the job that runs wait for those that do not give way."""
        self.running = None
        job.sent, job.began = None, False
        job.attempts -= 1
        self.waiting.appendleft(job)
        self.end("was ended")

    def drop(self, job: Job) -> None:
        if job in self.waiting:
            self.waiting.remove(job)
            job.events.put(WorkerDied("was not asked any more"))
        elif job is self.running or job in self.printing:
            self._leaving.add(job)
            self.end("was ended")

    def make_room(self, job: Job) -> None:
        if job is self.running and not job.began and self.printing:
            self.end("was ended")

    def go_on(self) -> None:
        """Give the worker its next job, and have a worker for it."""
        if self.running is not None or not self.waiting or self._desk.closed:
            return None
        job = next((one for one in self.waiting if not one.gives_way), self.waiting[0])
        key = job.request.key if isinstance(job.request, events.Request) else ""
        if job.fresh and self.worker is not None and self._keys - {key}:
            return self.end("was ended")
        try:
            worker = self.start()
        except BaseException as error:
            self.waiting.remove(job)
            job.events.put(WorkerDied(f"could not be started ({type(error).__name__}: {error})"))
            return self.go_on()
        number = next(self._numbers)
        self.waiting.remove(job)
        self._jobs[number] = self.running = job
        job.alone = not self._keys - {key}
        self._keys |= {key} - {""}
        job.attempts += 1
        job.began, job.sent = False, time.monotonic()
        try:
            worker.send(number, job.request, lambda error: self._desk.post(lambda _: self._unsent(worker, error)))
        except BaseException as error:
            self._unsent(worker, error)
        return None

    def start(self) -> Worker:
        """The worker, a new one if need be."""
        if self.worker is None:
            self._keys = set()
            self.patience = STARTING
            self.worker = Worker(self.memory_limit, self._heard, self._ended, self.folders)
        return self.worker

    def end(self, how: str) -> None:
        """End the worker now."""
        worker = self.worker
        if worker is not None:
            worker.kill()
            self._gone(worker, how)

    def _heard(self, worker: Worker, number: int, event: Any) -> None:
        """On the worker's thread. What happens goes to the job directly, and what moves the queue to the desk as well.

        An answer that nobody waits for is of a job that its owner has dropped.
        """
        job = self._jobs.get(number)
        if job is None or worker is not self.worker:
            return
        if isinstance(event, events.Began):
            self.patience = 0.0
            job.began = True
        if event is None or isinstance(event, events.Finished | events.Failed | events.Lost):
            self._desk.post(lambda _: self._answered(worker, number, event))
        job.events.put(event)

    def _answered(self, worker: Worker, number: int, event: Any) -> None:
        job = self._jobs.get(number)
        if job is None or worker is not self.worker:
            return
        if job is self.running:
            self.running = None
            self.printing.append(job)
        if event is None:
            self.printing.remove(job)
            del self._jobs[number]
        self.go_on()
        if self._leaves:
            self.leave()

    def leave(self) -> None:
        """End the worker as soon as it has nothing to do."""
        self._leaves = not self.idle
        if self.idle:
            self.end("was ended")

    def _unsent(self, worker: Worker, error: BaseException) -> None:
        if worker is self.worker and (job := self.running) is not None:
            self._leaving.add(job)
            job.events.put(WorkerDied(f"could not be asked ({type(error).__name__}: {error})"))
            self.end("was ended")

    def _ended(self, worker: Worker) -> None:
        """On the worker's thread, at its end."""
        self._desk.post(lambda _: self._gone(worker, worker.epitaph))

    def _gone(self, worker: Worker, how: str) -> None:
        """The worker has ended: tell the job that it worked on, and run again who only waited."""
        if worker is not self.worker:
            return
        self.worker = None
        running, self.running = self.running, None
        printing, self.printing = self.printing, []
        self._jobs = {}
        culprit = next((job for job in (running, *printing) if job in self._leaving), None)
        if culprit is None:
            culprit = running if running and running.began else printing[0] if printing else None
        _logger.debug("the worker %s; %d jobs wait, %d were printing", how, len(self.waiting), len(printing))
        for job in printing:
            job.events.put(WorkerDied(how, fault=job is culprit))
        if running is not None and running is culprit:
            running.events.put(WorkerDied(how))
        elif running is not None and culprit is None and running.attempts >= MOST_ATTEMPTS:
            running.events.put(WorkerDied(f"{how} before it began with this, {MOST_ATTEMPTS} times"))
        elif running is not None:
            running.sent, running.began = None, False
            self.waiting.appendleft(running)
        self._leaving.clear()
        self.go_on()


Note = Callable[["_Desk"], object]


class _Desk:
    """The thread that owns the lanes, and its mailbox. Of each process its own."""

    def __init__(self) -> None:
        self.lanes: dict[tuple[int, int, tuple[str, ...]], _Lane] = {}
        self.closed = False
        """Whether this process ends: no worker is started any more."""
        self._mailbox: queue.SimpleQueue[Note] = queue.SimpleQueue()
        self._only = threading.Lock()

    def post(self, note: Note) -> None:
        """Have something done, soon; in order."""
        self._mailbox.put(note)
        if not self._only.locked():
            threading.Thread(target=self._work, name="irwidget-queue", daemon=True).start()

    def lane(self, memory_limit: int, side: int = 0, folders: tuple[str, ...] = ()) -> _Lane:
        """The lane for a memory limit and a toolchain's folders. Workers of others that have nothing to do are ended
        when one is made.
        """
        if (memory_limit, side, folders) not in self.lanes:
            for key, other in list(self.lanes.items()):
                if other.idle and key not in ((processes.memory_limit(), 0, ()), (memory_limit, key[1], folders)):
                    other.end("was ended")
                    del self.lanes[key]
            self.lanes[memory_limit, side, folders] = _Lane(self, memory_limit, folders)
        return self.lanes[memory_limit, side, folders]

    def leave_sides(self) -> None:
        """End the workers that ran side by side, each when it has nothing to do any more."""
        for (_, side, _), lane in self.lanes.items():
            if side:
                lane.leave()

    @property
    def asleep(self) -> bool:
        """Whether nothing was ever asked for."""
        return not self._only.locked() and self._mailbox.empty()

    def end_all(self) -> list[Worker]:
        """End every worker. Those who wait get a new one."""
        ended = [lane.worker for lane in self.lanes.values() if lane.worker is not None]
        for lane in self.lanes.values():
            lane.end("was ended")
        return ended

    def _work(self) -> None:
        if not self._only.acquire(blocking=False):
            return  # two were started at once
        while True:
            note = self._mailbox.get()
            try:
                note(self)
            except BaseException as error:  # nobody may wait for a thread that is gone
                self._fail(error)
            del note

    def _fail(self, error: BaseException) -> None:
        """Something of ours went wrong: all who wait are told, and the next begins anew."""
        lanes, self.lanes = self.lanes, {}
        for lane in lanes.values():
            died = WorkerDied(f"could not be used ({type(error).__name__}: {error})")
            for job in (lane.running, *lane.printing, *lane.waiting):
                if job is not None:
                    job.events.put(died)
            if lane.worker is not None:
                lane.worker.kill()


_desk = _Desk()


def worker(memory_limit: int | None = None) -> Worker:
    """The worker for a memory limit (bytes), started when there is none. Raises OSError when it cannot be."""
    ready: Future[Worker] = Future()

    def start(desk: _Desk) -> None:
        try:
            lane = desk.lane(memory_limit or processes.memory_limit())
            if lane.worker is not None and not lane.worker.alive:
                lane.end("has ended")
            ready.set_result(lane.start())
        except BaseException as error:
            ready.set_exception(error)

    _desk.post(start)
    return ready.result()


def warm() -> None:
    """Start a worker, as it will be needed soon; without waiting for it."""
    _desk.post(lambda desk: _quietly(desk.lane(processes.memory_limit()).start))


def _quietly(function: Callable[[], object]) -> None:
    with contextlib.suppress(Exception):  # who needs it says it better
        function()


def end_sides() -> None:
    """End the workers that ran side by side, once they have printed their texts."""
    _desk.post(lambda desk: desk.leave_sides())


def prepare(module: str) -> None:
    """Have the worker import a module meanwhile, as it will be needed soon."""
    with contextlib.suppress(WorkerDied):
        Job(events.Prepare(module)).begin()


def shutdown() -> None:
    """End the workers; the next request starts another. Jobs of other threads are run again."""
    if _desk.asleep:
        return
    done: Future[list[Worker]] = Future()
    _desk.post(lambda desk: done.set_result(desk.end_all()))
    with contextlib.suppress(TimeoutError):
        for one in done.result(_WAIT):
            one.over.wait(_WAIT)


def _at_exit() -> None:
    _desk.closed = True
    shutdown()


def _in_copy() -> None:
    """A copy of this process has workers of its own; those of its parent are none of its business."""
    global _desk
    lanes = list(_desk.lanes.values())
    _desk = _Desk()
    for lane in lanes:
        if lane.worker is not None:
            lane.worker.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_copy)
atexit.register(_at_exit)
