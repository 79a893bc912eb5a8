"""Take operations out of a module, as many as can go while a test still holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from irwidget.reducing.operations import ModuleText, function_of, results_of_function, type_of_function

Test = Callable[[str], bool]
"""Whether a text still fails in the way that is looked for."""


def smaller(text: str, fails: Test) -> Iterator[str]:
    """Smaller and smaller texts of which `fails` holds; the last one has nothing more that can be taken out.

    `text` is a module in generic form of which it holds.
    """
    best = text
    while True:
        before = best
        for shrink in (_functions, _results, _chunks, _wrappers, _forwards):
            for found in shrink(best, fails):
                yield (best := found)
        if best == before:
            return


def _functions(text: str, fails: Test) -> Iterator[str]:
    """Without each function; yields every text that still fails."""
    while True:
        module = ModuleText(text)
        others = [one.start for one in module.operations if one.parent is module.operations[0]]
        smaller = next((t for start in others if len(others) > 1 and fails(t := module.without({start}))), None)
        if smaller is None:
            return
        yield (text := smaller)


def _results(text: str, fails: Test) -> Iterator[str]:
    """Without results of functions: all of them, or one by one."""
    for index in range(len(ModuleText(text).functions)):
        module = ModuleText(text)
        function = module.functions[index]
        count = _count_of_results(module, function.start)
        if count and fails(smaller := module.without((), returns={function.start: ()})):
            yield (text := smaller)
            continue
        for result in reversed(range(count if count > 1 else 0)):
            module = ModuleText(text)
            kept = [i for i in range(_count_of_results(module, function.start)) if i != result]
            if fails(smaller := module.without((), returns={function.start: kept})):
                yield (text := smaller)


def _count_of_results(module: ModuleText, start: int) -> int:
    return len(results_of_function(type_of_function(module.lines[start])))


def _chunks(text: str, fails: Test) -> Iterator[str]:
    """Without more and more operations: halves, quarters, down to each one."""
    size = max(1, len(ModuleText(text).removable()) // 2)
    while True:
        at = 0
        while True:
            module = ModuleText(text)
            candidates = [one for one in reversed(module.removable()) if function_of(one) is not None]
            chunk = candidates[at : at + size]
            if not chunk:
                break
            if fails(smaller := module.without({one.start for one in chunk})):
                yield (text := smaller)
            else:
                at += size
        if size == 1:
            return
        size = max(1, size // 2)


def _wrappers(text: str, fails: Test) -> Iterator[str]:
    """With the regions of an operation in its place."""
    return _each(
        text,
        fails,
        lambda module: [one.start for one in module.unwrappable() if function_of(one)],
        lambda module, start: module.without((), unwrapped={start}),
    )


def _forwards(text: str, fails: Test) -> Iterator[str]:
    """With an operand of an operation in place of its result."""
    return _each(
        text,
        fails,
        lambda module: [one.start for one in module.removable() if one.results and one.operands],
        lambda module, start: module.without({start}, forward=True),
    )


def _each(
    text: str, fails: Test, places: Callable[[ModuleText], list[int]], change: Callable[[ModuleText, int], str]
) -> Iterator[str]:
    """With one change after the other, at the places of a module where it can be made."""
    at = 0
    while True:
        module = ModuleText(text)
        found = places(module)
        if at >= len(found):
            return
        if fails(smaller := change(module, found[at])):
            yield (text := smaller)
        else:
            at += 1
