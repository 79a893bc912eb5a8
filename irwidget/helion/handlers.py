"""The table of Device IR ops: target name -> the function that emits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from irwidget.errors import UnsupportedError
from irwidget.helion import private

Handler = Callable[[Any, Any], Any]
"""Gets the emitter and an FX node, emits it and returns its value: an SSA value, a number, a list of those, or None."""

ANY_ATEN = "aten.*"
"""The target whose handler emits the ATen ops that have none of their own."""

_handlers: dict[str, Handler] = {}
_unsupported: dict[str, str] = {}


def register_handler(target: Any, function: Handler | None = None) -> Any:
    """Say how a Device IR op becomes MLIR; also a decorator.

    `target` is the FX target or its name (`aten.add.Tensor`, `load`). The
    function gets the emitter and the node: `emitter.value(node.args[0])` is an
    operand's SSA value, `emitter.builder` creates ops at the right place, and
    what it returns becomes the node's value. It replaces an earlier handler.
    """
    if function is None:
        return lambda decorated: register_handler(target, decorated)
    _handlers[private.target_name(target)] = function
    return function


def mark_unsupported(reason: str, *names: str) -> None:
    """Say that ops cannot be lowered, and why."""
    for name in names:
        _unsupported[name] = reason


def handler_for(name: str) -> Handler | None:
    """The handler of a target, None when there is none.

    Raises:
        UnsupportedError: the op is known to be impossible; the message is the reason.
    """
    if name in _handlers:
        return _handlers[name]
    if name in _unsupported:
        raise UnsupportedError(_unsupported[name])
    return None
