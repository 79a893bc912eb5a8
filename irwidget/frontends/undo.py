"""Leave torch and the user's model as they were, however an export ended.

torch.export puts fake tensors in the place of a model's parameters, and settings and kernels of operators in the place
of others, while it runs. It puts all back as it ends, but an exception that comes from outside, Ctrl-C or the end of a
time limit, can fall between a change and the note that it has to be undone.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any

from irwidget.errors import IRWidgetError
from irwidget.frontends import held
from irwidget.frontends.turns import alone
from irwidget.private_torch import (
    CONFIGS,
    kernels,
    mode_depths,
    pop_modes,
    put_back_kernels,
    tensor_places,
    traced_as_written,
)
from irwidget.toolchain import budget


@contextlib.contextmanager
def tracing(tracer: str, model: Any, *around: AbstractContextManager[object]) -> Generator[None]:
    """Trace a model when it is this thread's turn, within the time limit and `around` it.

    The limit ends first: an exception from outside does not hit what puts everything back.
    """
    with alone(tracer), held.as_it_was(model), _undone(model), contextlib.ExitStack() as stack:
        for one in around:
            stack.enter_context(one)
        with traced_as_written(), budget.enforced(tracer):
            yield


@contextlib.contextmanager
def bounded(doing: str) -> Generator[None]:
    """End what a front end does when the time is up, and leave torch as it was."""
    with _undone(None), budget.enforced(doing):
        yield


@contextlib.contextmanager
def _undone(model: Any) -> Generator[None]:
    """Put back what an export that fails, or is ended, has left changed; where none does, it costs a millisecond.

    An interrupt that torch has made another error of, by hitting its tidying up, is an interrupt again.
    """
    tensors, settings, modes, operators = _tensors_of(model), _settings(), mode_depths(), kernels()
    try:
        yield
    except BaseException as error:
        pop_modes(modes)
        put_back_kernels(operators)
        for config, before in settings:
            _reset(config, before)
        for place, before in tensors:
            if any(place.get(name) is not tensor for name, tensor in before.items()) or len(place) != len(before):
                place.clear()
                place.update(before)
        if not isinstance(error, IRWidgetError) and (ended := _ending(error)) not in (None, error):
            raise ended from None
        raise


def _ending(error: BaseException) -> BaseException | None:
    """The interrupt that an error comes from."""
    seen: set[int] = set()
    inner: BaseException | None = error
    while inner is not None and id(inner) not in seen:
        if not isinstance(inner, Exception):
            return inner
        seen.add(id(inner))
        inner = inner.__cause__ or inner.__context__
    return None


def _tensors_of(model: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Where each module keeps its parameters and buffers, and what is there."""
    if not isinstance(model, getattr(sys.modules.get("torch.nn"), "Module", ())):
        return []
    return [(place, dict(place)) for module in model.modules() for place in tensor_places(module)]


def _settings() -> list[tuple[Any, dict[str, Any]]]:
    """Torch's settings as they are."""
    found: list[tuple[Any, dict[str, Any]]] = []
    for name in CONFIGS:
        if (config := sys.modules.get(name)) is not None and hasattr(config, "get_config_copy"):
            found.append((config, config.get_config_copy()))
    return found


def _reset(config: Any, before: dict[str, Any]) -> None:
    now: dict[str, Any] = config.get_config_copy()
    for name, value in before.items():
        if now.get(name) is not value and now.get(name) != value:
            with contextlib.suppress(Exception):  # one that cannot be set was not changed by an export
                setattr(config, name, value)
