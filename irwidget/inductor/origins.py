"""Which FX node each operation of a loop nest comes from.

Inductor inlines the functions that it lowers nodes to into one another, and knows of a loop nest only all of its nodes.
Here each of these functions says, while it runs, which node it was made for; the operations that are traced meanwhile
keep that, through every later copy of the loop nest, up to the line of code that is written for them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from irwidget.inductor import private

_KEY = "irwidget_origin"


class Origins:
    """The origins of one compilation."""

    def __init__(self) -> None:
        self.lowering: Any = None
        """The FX node that is being lowered."""
        self._running: Any = None
        self._virtual = private.get("virtualized")

    def watch(self) -> None:
        """Note origins from now on, for the rest of this process."""
        private.wrap("ir_node_made", self._made)
        private.wrap("loop_tracer", self._traced)

    def current(self) -> Any:
        """The FX node of the operation for which code is being written; None where that is not known."""
        node = getattr(self._virtual.interpreter, "current_node", None)
        return node.meta.get(_KEY) if node is not None else None

    def _made(self, original: Callable[[Any], None]) -> Callable[[Any], None]:
        def made(one: Any) -> None:
            original(one)
            function = getattr(one, "inner_fn", None)
            if callable(function) and self.lowering is not None and not hasattr(function, _KEY):
                object.__setattr__(one, "inner_fn", self._naming(function, self.lowering))

        return made

    def _naming(self, function: Callable[..., Any], node: Any) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any) -> Any:
            before, self._running = self._running, node
            try:
                return function(*args)
            finally:
                self._running = before

        setattr(inner, _KEY, node)
        return inner

    def _traced(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def create(tracer: Any, *args: Any, **kwargs: Any) -> Any:
            proxy = original(tracer, *args, **kwargs)
            origin = self._running if self._running is not None else self.current()
            if origin is not None:
                proxy.node.meta[_KEY] = origin
            return proxy

        return create
