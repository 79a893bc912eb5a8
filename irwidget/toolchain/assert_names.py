"""The names of assertions' messages, which MLIR numbers by a counter of the process: from zero in every module."""

from __future__ import annotations

import re
from typing import Any

PASSES = frozenset(("convert-cf-to-llvm", "convert-to-llvm"))
"""The passes that make them."""
_NAME = re.compile(r"assert_msg_(\d+)")


def of(module: Any) -> dict[int, Any]:
    """The messages of a module by their numbers."""
    found: dict[int, Any] = {}
    for one in module.body.operations:
        operation = one.operation
        if operation.name == "llvm.mlir.global" and (name := _NAME.fullmatch(operation.attributes["sym_name"].value)):
            found[int(name[1])] = operation
    return found


def number_from_zero(module: Any, before: dict[int, Any], symbols: Any) -> None:
    """Give the messages that are not of `before` the numbers that they have in a process of their own.

    `symbols` is MLIR's SymbolTable.
    """
    made = {number: operation for number, operation in of(module).items() if number not in before}
    following = 0
    for number, operation in sorted(made.items(), key=lambda item: item[0]):
        while following in before:
            following += 1
        if number != following:
            symbols.replace_all_symbol_uses(f"assert_msg_{number}", f"assert_msg_{following}", module.operation)
            symbols.set_symbol_name(operation, f"assert_msg_{following}")
        following += 1
