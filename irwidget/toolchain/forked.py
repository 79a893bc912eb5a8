"""Run Python that needs the user's objects, and may crash or take long, in a copy of this process.

`call(function)` forks: the copy has every object of the kernel without sending one, shares their memory, and may die.
What is sent back is data. Where a process cannot be copied (not Linux; CUDA in use) the function runs here.
"""

from __future__ import annotations

import contextlib
import copyreg
import faulthandler
import gc
import io
import logging
import os
import pickle
import random
import select
import struct
import sys
import threading
import time
import traceback
import warnings
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from irwidget import phases
from irwidget.toolchain import budget, processes, scratch

if TYPE_CHECKING:
    import torch

_logger = logging.getLogger(__name__)
_T = TypeVar("_T")
_CHUNK = 1 << 20
_HEAD = struct.Struct("<?Q")
"""Before all that a copy sends: whether it is the answer, or the name of a phase, and how many bytes it has."""
_GLANCE = 0.1
"""Seconds between looks for an interrupt: Python runs signal handlers only between its own instructions."""


class Died(Exception):
    """The copy ended before it answered; the message says how, in words."""

    def __init__(self, how: str, printed: str = "") -> None:
        super().__init__(how)
        self.printed = printed
        """The last that it printed."""


class TimedOut(budget.TimeIsUp):
    """The copy took longer than it was given."""


@dataclass(frozen=True)
class Raised:
    """An exception and its causes, as what can be sent: each by value where that can be pickled, and as text."""

    chain: tuple[tuple[bytes, str], ...]

    @classmethod
    def of(cls, error: BaseException) -> Raised:
        """What to send of an exception, its `__cause__` and so on, which are taken apart."""
        chain: list[tuple[bytes, str]] = []
        cause: BaseException | None = error
        while cause is not None and len(chain) < _CAUSES:
            following = cause.__cause__
            # One by one: packages that pickle exceptions with their causes and frames lose all for one that cannot be,
            # and a text of one is made by going through all of its causes.
            cause.__cause__ = cause.__context__ = cause.__traceback__ = None
            text = "".join(traceback.format_exception_only(cause)).strip()
            try:
                data = pickle.dumps(cause)
                pickle.loads(data)
            except Exception:
                data = b""
            chain.append((data, text))
            cause = following
        return cls(tuple(chain))

    def again(self) -> BaseException:
        """The exception, to be raised here; what could not be sent by value is a RuntimeError with its text."""
        above: BaseException | None = None
        for data, text in reversed(self.chain):
            error: BaseException = pickle.loads(data) if data else RuntimeError(text)
            error.__cause__ = above
            above = error
        assert above is not None
        return above


_CAUSES = 1000
"""Links of a chain that are sent: a kernel that calls itself has one for each call."""


def available(*, cuda: bool = True) -> bool:
    """Whether this process can be copied: on Linux. Where the copy needs `cuda`, only while that is not in use.

    CUDA's contexts do not survive a fork; a copy that leaves them alone lives well beside them.
    """
    torch = sys.modules.get("torch")
    # not is_initialized(), which says yes while we pretend that there is a GPU
    in_use = torch is not None and vars(torch.cuda).get("_initialized", False)
    return sys.platform == "linux" and not (cuda and in_use)


def call(
    function: Callable[[], _T],
    *,
    seconds: float | None = None,
    memory: int | None = None,
    cuda: bool = True,
    stop: threading.Event | None = None,
) -> _T:
    """The value of `function()`, computed in a copy of this process; the value is pickled.

    `seconds` limits its time and `memory` what it may allocate beyond what this process has, in bytes; so does the
    budget of the lowering under way. An exception of the function is raised here with its causes, without traceback.
    `cuda=False` says that it leaves CUDA alone. Raises Died when the copy crashes, TimedOut when its time is up,
    MemoryError at the memory limit; an interrupt ends the copy, and so does `stop`, set on another thread, as one.
    """
    if not available(cuda=cuda):
        return function()
    whole = budget.current()
    left = whole.left() if whole else None
    seconds = left if seconds is None else seconds if left is None else min(seconds, left)
    memory = memory or (whole.memory if whole else None) or processes.memory_limit()
    # The clock is looked at here: what is raised from outside could strike before the copy has been ended.
    with whole.watched() if whole else contextlib.nullcontext():
        answer = _asked(function, seconds, memory, stop)
    if not isinstance(answer, Raised):
        return cast("_T", answer)
    raise answer.again()


def _asked(function: Callable[[], object], seconds: float | None, memory: int, stop: threading.Event | None) -> object:
    """What a copy answers, which is ended with this."""
    log = processes.log()
    with log:
        data = b""
        child, results, lifeline = _fork(function, memory, log)
        try:
            data = _read(child, results, None if seconds is None else time.monotonic() + seconds, stop)
        except BaseException:
            processes.end(child)
            raise
        finally:
            os.close(results)
            if data:  # it has only its memory to give back, which takes a while when that is large
                threading.Thread(target=_reap, args=(child,), name="irwidget-reap", daemon=True).start()
                status = 0
            else:
                status = _reap(child)
                scratch.clear(child)
            lifeline.close()
        if not data:
            died = Died(processes.epitaph(status, log), processes.printed(log))
            _logger.debug("a copy of this process, %d, %s", child, died)
            raise died
    return pickle.loads(data)


def _reap(child: int) -> int | None:
    """Wait for the end of a copy: its exit status, None when somebody else has taken it."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:
        return None


def _fork(function: Callable[[], object], memory: int, log: IO[bytes]) -> tuple[int, int, processes.Lifeline]:
    """Start the copy: its process id, where its answer can be read, and what ends it when it is closed."""
    results, answers = os.pipe()
    lifeline = processes.Lifeline()
    seeded = random.getstate()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # other threads: the copy uses none of their locks
        child = os.fork()
    if child == 0:
        random.setstate(seeded)  # which Python seeds anew after a fork
        os.close(results)
        _serve(function, answers, lifeline.theirs, memory, log)
    os.close(answers)
    lifeline.given()
    return child, results, lifeline


def _serve(function: Callable[[], object], answers: int, lifeline: int, memory: int, log: IO[bytes]) -> NoReturn:
    """The copy's whole life. It leaves nothing of the kernel's behind it: no exit handlers, no finalizers."""
    status = 1
    try:
        gc.disable()
        faulthandler.disable()  # the epitaph says it, to the one who waits
        os.setsid()
        processes.confine(lifeline, processes.address_space() + memory)
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # the kernel's streams are sockets
        processes.first_to_go()
        if torch := sys.modules.get("torch"):
            torch.set_num_threads(1)  # the threads of OpenMP's pool are not in the copy
        with os.fdopen(answers, "wb") as stream:
            with phases.heard(_teller(stream)):
                answer = _answer(function)
            stream.write(_HEAD.pack(True, len(answer)))
            stream.write(answer)
        status = 0
    finally:
        os._exit(status)


def _teller(stream: IO[bytes]) -> Callable[[str], None]:
    """Tells the process that this is a copy of which phase begins."""
    own = os.getpid()

    def tell(phase: str) -> None:
        if os.getpid() == own:  # and no process that the function has made
            said = phase.encode()
            stream.write(_HEAD.pack(False, len(said)) + said)
            stream.flush()

    return tell


def _answer(function: Callable[[], object]) -> bytes:
    try:
        return _pickled(function())
    except BaseException as error:
        return pickle.dumps(Raised.of(error))


def _pickled(value: object) -> bytes:
    data = io.BytesIO()
    pickler = pickle.Pickler(data, pickle.HIGHEST_PROTOCOL)
    if torch := sys.modules.get("torch"):
        pickler.dispatch_table = ChainMap[Any, Any]({torch.Tensor: _reduced}, copyreg.dispatch_table)
    pickler.dump(value)
    return data.getvalue()


_NOT_PICKLED = ("float8_", "float4_", "complex32", "uint16", "uint32", "uint64")
"""How the names of dtypes begin that torch pickles, and then does not read."""


def _reduced(tensor: torch.Tensor) -> Any:
    """How a tensor is pickled: of those dtypes, by its bytes."""
    import torch

    if not str(tensor.dtype).removeprefix("torch.").startswith(_NOT_PICKLED):
        return tensor.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    plain = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    return _of_bytes, (plain.reshape(-1).view(torch.uint8), tensor.dtype, tensor.shape)


def _of_bytes(data: torch.Tensor, dtype: torch.dtype, shape: torch.Size) -> torch.Tensor:
    return data.view(dtype).reshape(shape)


def _read(child: int, results: int, deadline: float | None, stop: threading.Event | None = None) -> bytes:
    """What the copy answers; nothing when it has died. The phases that it goes through are told on.

    Raises TimedOut at the deadline, KeyboardInterrupt at `stop`. The end of the pipe says nothing: copies that other
    threads make meanwhile have it open, too.
    """
    data, told = bytearray(), False
    while True:
        while len(data) >= _HEAD.size and len(data) >= (end := _HEAD.size + _HEAD.unpack_from(data)[1]):
            said = bytes(memoryview(data)[_HEAD.size : end])
            if _HEAD.unpack_from(data)[0]:
                if told:
                    phases.entering(whole.doing if (whole := budget.current()) else "")
                return said
            phases.entering(said.decode())
            told = True
            del data[:end]
        left = _GLANCE if deadline is None else min(_GLANCE, deadline - time.monotonic())
        if left <= 0:
            raise TimedOut
        if stop is not None and stop.is_set():
            raise KeyboardInterrupt
        gone = os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        if select.select([results], [], [], 0 if gone else left)[0]:
            chunk = os.read(results, _CHUNK)
            data += chunk
            gone = gone or not chunk
            if chunk:
                continue
        if gone:
            return b""
