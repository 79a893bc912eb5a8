"""How the modules `decomposed_*` say which operators their functions stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def new_table() -> tuple[dict[str, Function], Callable[..., Callable[[Function], Function]]]:
    """An empty table, and the decorator that puts a function into it under names.

    A name is that of ATen's operator, with its overload where that is not the default: `mm`, `max.dim`.
    """
    table: dict[str, Function] = {}

    def decomposes(*names: str) -> Callable[[Function], Function]:
        def keep(function: Function) -> Function:
            table.update(dict.fromkeys(names, function))
            return function

        return keep

    return table, decomposes
