"""The process of a toolchain: lowers what it is sent with the releases that it imports.

`irwidget.toolchains.process` starts it, with the folders of the toolchain before all others.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from irwidget import imports, phases
from irwidget.errors import IRWidgetError, LoweringInterrupted
from irwidget.lowering import Lowering, lower
from irwidget.toolchain import child, locations, triton_layouts
from irwidget.toolchains import fitting
from irwidget.toolchains.work import Answer, Began, Message, Phase, Questions, Ready, Work
from irwidget.trace import file


def main() -> None:
    connection = child.serving()
    child.hush()
    imports.begin()
    sending = threading.Lock()

    def tell(message: Message) -> None:
        with sending:
            connection.send_bytes(pickle.dumps(message))

    with contextlib.suppress(EOFError, ConnectionError):
        while True:
            work: Work | Questions = pickle.loads(connection.recv_bytes())
            tell(_interruptible(work, tell))


def _interruptible(work: Work | Questions, tell: Callable[[Message], None]) -> Answer:
    """Answer; an interrupt, which the kernel sends, ends the lowering and no more."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return _answered(work, tell)
    except KeyboardInterrupt as stop:
        return _answer({}, stop)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answered(work: Work | Questions, tell: Callable[[Message], None]) -> Answer:
    try:
        with phases.heard(lambda phase: tell(Phase(phase))):
            imports.wait(imports.TORCH + imports.OURS)  # which a thread imports: two at once get halves of modules
            fitting.require(work.packages)
            if isinstance(work, Questions):
                tell(Ready())
                return Answer(b"", layouts=tuple(triton_layouts.ask(work.asked) if work.asked else ()))
            (obj, inputs, options), to = work.parcel.opened(locations.of_toolchain(work.folders)), work.to
            tell(Ready())
            made: Any = lower(
                obj,
                *inputs,
                to=to,
                progress=lambda started, step, seconds: tell(Began(started, step, seconds)),
                timeout=work.timeout,
                **options,
            )
        return _answer(made if isinstance(made, Mapping) else {made.target: made}, None)
    except (IRWidgetError, LoweringInterrupted) as error:
        lowerings = error.lowerings or ({error.lowering.target: error.lowering} if error.lowering else {})
        return _answer(lowerings, error)
    except Exception as error:  # of the user's, of the release, or of ours
        told = IRWidgetError(f"{type(error).__name__}: {error}")
        return _answer({}, told)


def _answer(made: Mapping[str, Lowering], error: BaseException | None) -> Answer:
    """What was made, with all texts."""
    failed = next((name for name, one in made.items() if error and one is getattr(error, "lowering", None)), "")
    data = file.packed([one.trace for one in made.values()]) if made else b""
    if isinstance(error, KeyboardInterrupt):
        return Answer(data, tuple(made), failed=failed, interrupted=str(error) or "interrupted")
    if isinstance(error, IRWidgetError):
        error.lowering, error.lowerings = None, {}
    return Answer(data, tuple(made), pickle.dumps(error) if error else b"", failed)


if __name__ == "__main__":
    importlib.import_module("irwidget.hosted").main()  # so that what it pickles is of a module that has a name
