"""Whether JSON is what a TypedDict says it is."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict


def faults(value: Any, hint: Any, place: str = "") -> Iterator[str]:
    """Where a value is not of its type, key by key; keys that the type does not have are faults, too."""
    kind, inner = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        fields = {name.rstrip("_"): one for name, one in hints.items()}
        optional = {name for name, one in fields.items() if get_origin(one) is NotRequired}
        if not isinstance(value, dict):
            yield f"{place}: {value!r} is not {hint.__name__}"
            return
        yield from (f"{place}.{name} is missing" for name in sorted(fields.keys() - value.keys() - optional))
        yield from (f"{place}.{name} is not in {hint.__name__}" for name in sorted(value.keys() - fields.keys()))
        for name in fields.keys() & value.keys():
            one = get_args(fields[name])[0] if name in optional else fields[name]
            yield from faults(value[name], one, f"{place}.{name}")
    elif kind is Literal:
        if value not in inner:
            yield f"{place}: {value!r} is not one of {inner}"
    elif kind is types.UnionType:
        if all(list(faults(value, one)) for one in inner):
            yield f"{place}: {value!r} is not {hint}"
    elif kind in (list, tuple):
        items = inner if kind is tuple else inner * len(value) if isinstance(value, list) else ()
        if not isinstance(value, list) or len(items) != len(value):
            yield f"{place}: {value!r} is not {hint}"
            return
        for i, (item, one) in enumerate(zip(value, items, strict=True)):
            yield from faults(item, one, f"{place}[{i}]")
    elif kind is dict:
        for name, item in value.items():
            yield from faults(item, inner[1], f"{place}[{name!r}]")
    elif hint is float:
        if type(value) not in (int, float):
            yield f"{place}: {value!r} is no number"
    elif type(value) is not hint:
        yield f"{place}: {value!r} is not {hint}"
