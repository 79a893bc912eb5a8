"""MLIR in generic form: take operations, results, functions and regions out of a module."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from irwidget.reducing import engine
from irwidget.reducing.engine import Test
from irwidget.reducing.operations import (
    ModuleText,
    OperationText,
    function_of,
    results_of_function,
    type_of_function,
)


def smaller(text: str, fails: Test[str]) -> Iterator[str]:
    """Smaller and smaller texts that still fail; the last one has nothing more that can be taken out.

    `text` is a module in generic form that fails.
    """
    return engine.smallest(text, fails, WAYS)


def count(text: str) -> int:
    """How many operations a module has, itself not counted."""
    return ModuleText.of(text).count()


def _functions(text: str, fails: Test[str]) -> Iterator[str]:
    """Without each function and what stands beside them, as long as one is left."""

    def changes(text: str) -> list[engine.Change[str]]:
        module = ModuleText.of(text)
        others = [one.start for one in module.operations if one.parent is not None and one.parent.is_module]
        return [
            partial(module.without, {start}, arguments=arguments)
            for start in (others if len(others) > 1 else [])
            for arguments in (False, True)
        ]

    return engine.each(text, fails, changes)


def _results(text: str, fails: Test[str]) -> Iterator[str]:
    """Without results of functions: all of them, or one by one."""

    def changes(text: str) -> list[engine.Change[str]]:
        module = ModuleText.of(text)
        found: list[engine.Change[str]] = []
        for start in (function.start for function in module.functions):
            count = len(results_of_function(type_of_function(module.lines[start])))
            if count:
                found.append(partial(module.without, (), returns={start: ()}))
                found.append(partial(module.without, (), returns={start: ()}, arguments=True))
            for result in reversed(range(count if count > 1 else 0)):
                found.append(partial(module.without, (), returns={start: [i for i in range(count) if i != result]}))
        return found

    return engine.each(text, fails, changes)


def _inside(module: ModuleText) -> list[OperationText]:
    return [one for one in reversed(module.removable()) if not one.is_function]


def _operations(text: str, fails: Test[str], *, arguments: bool) -> Iterator[str]:
    """Without more and more operations, the last first; with all arguments, for what they are to blame."""

    def without(text: str, start: int, stop: int) -> str:
        module = ModuleText.of(text)
        return module.without({one.start for one in _inside(module)[start:stop]}, arguments=arguments)

    return engine.chunks(text, fails, lambda text: len(_inside(ModuleText.of(text))), without)


def _wrappers(text: str, fails: Test[str]) -> Iterator[str]:
    """With the regions of an operation in its place, and what they end with in that of its results."""

    def changes(text: str) -> list[engine.Change[str]]:
        module = ModuleText.of(text)
        return [
            partial(module.without, (), unwrapped={one.start}, yielded=yielded)
            for one in module.unwrappable()
            if function_of(one)
            for yielded in ((True, False) if one.results else (False,))
        ]

    return engine.each(text, fails, changes)


def _forwards(text: str, fails: Test[str]) -> Iterator[str]:
    """With an operand of an operation in place of its result."""

    def changes(text: str) -> list[engine.Change[str]]:
        module = ModuleText.of(text)
        found = [one for one in module.removable() if one.results and one.operands]
        return [partial(module.without, {one.start}, forward=number) for one in found for number in _choices(one)]

    return engine.each(text, fails, changes)


_CHOICES = 16


def _choices(one: OperationText) -> range:
    """How many operands can stand for a result of it."""
    return range(min(_CHOICES, max(1, *(len(one.alike(kind)) for kind in one.types))))


def _endings(text: str, fails: Test[str]) -> Iterator[str]:
    """With what an operation gives returned in place of all that comes after it, the first one first."""

    def changes(text: str) -> list[engine.Change[str]]:
        module = ModuleText.of(text)
        return [
            partial(module.ending, function, one)
            for function in module.functions
            if module.blocks(function) == 1
            for one in function.children[:-2]
            if one.results
        ]

    return engine.each(text, fails, changes)


def _alone(text: str, fails: Test[str]) -> Iterator[str]:
    """With one operation in place of all that is in a function, and what it gives returned."""

    def changes(text: str) -> list[engine.Change[str]]:
        module = ModuleText.of(text)
        return [
            partial(module.alone, function, one)
            for function in module.functions
            if module.blocks(function) == 1
            for one in module.removable()
            if function_of(one) is function and len(function.children) > 1 and not _is_alone(function, one)
        ]

    return engine.each(text, fails, changes)


def _is_alone(function: OperationText, one: OperationText) -> bool:
    return [child for child in function.children if not child.last] == [one]


WAYS = {
    "functions": _functions,
    "results": _results,
    "operations": partial(_operations, arguments=False),
    "operations, arguments kept": partial(_operations, arguments=True),
    "regions in place of their operations": _wrappers,
    "operands in place of results": _forwards,
    "results returned early": _endings,
    "an operation alone": _alone,
}
