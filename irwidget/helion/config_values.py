"""What a configuration's fields may say, where Helion itself takes anything: Triton fails later, or nothing does."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from typing import Any

from irwidget.errors import near
from irwidget.helion import private

MOST_WARPS = 32
"""A block has 1,024 threads at most (CUDA's C++ programming guide, compute capabilities), a warp 32."""
_OF_TRITON = {
    "load_eviction_policies": ("evict_first", "evict_last"),
    "load_cache_modifiers": (".ca", ".cs", ".cv"),
    "store_cache_modifiers": (".wb", ".cg"),
}
"""What `tl.load` and `tl.store` take beside what Helion has names for, which hands it on as it is."""
_ONE_EACH = {"indexing": "load and store", "atomic_indexing": "atomic"}
"""Lists that must not be too short -> what they have an entry for. Of others Helion has a default for the rest."""
_HERE = "Helion has it for NVIDIA's GPUs from compute capability 10.0 on alone, and there is none here"


def wrong(bound: Any, config: Any) -> str:
    """What of a configuration with every field filled in can be no kernel's, with the nearest that can; else nothing.

    Args:
        bound: Helion's bound kernel.
        config: a `helion.Config` that Helion has taken.
    """
    found = (*_numbers(config.config), *_texts(config.config), *_counts(bound, config))
    return "; ".join(found)


def said_of(error: Exception) -> str:
    """An error of Helion's about a value, with what it leaves out."""
    said = str(error)
    return f"{said} ({_HERE})" if "range_warp_specializes" in said and "expected 0" in said else said


def _numbers(fields: Mapping[str, Any]) -> Iterator[str]:
    warps, stages = fields.get("num_warps", 1), fields.get("num_stages", 1)
    if type(warps) is not int or not 1 <= warps <= MOST_WARPS or warps & (warps - 1):
        yield f"num_warps must be a power of two from 1 to {MOST_WARPS}, not {warps!r}"
    if type(stages) is not int or stages < 0:
        yield f"num_stages must be an integer of 0 or more, not {stages!r}"


def _texts(fields: Mapping[str, Any]) -> Iterator[str]:
    """Of fields that choose from texts, the values that are none of these."""
    for name, kind in typing.get_type_hints(private.config_type().__init__).items():
        choices = list(dict.fromkeys(one for one in _literals(kind) if isinstance(one, str)))
        if name not in fields or not choices:
            continue
        given = fields[name] if isinstance(fields[name], (list, tuple)) else [fields[name]]
        for value in given:
            if value is not None and value not in (*choices, *_OF_TRITON.get(name, ())):
                hint = near(str(value), [one for one in choices if one])
                yield f"{name} has no {value!r}. {hint}".rstrip(".")


def _literals(kind: Any) -> Iterator[Any]:
    """What a type allows by `Literal`, in unions and lists, too."""
    if typing.get_origin(kind) is typing.Literal:
        yield from typing.get_args(kind)
    else:
        for one in typing.get_args(kind):
            yield from _literals(one)


def _counts(bound: Any, config: Any) -> Iterator[str]:
    """Lists that have fewer entries than Helion asks for as it generates code, which is tried where that may be."""
    default = bound.config_spec.default_config().config
    for name, what in _ONE_EACH.items():
        given, own = config.config.get(name), default.get(name)
        if not isinstance(given, list) or not isinstance(own, list) or not given or len(given) >= len(own):
            continue
        try:
            private.triton_program(bound, config)
        except Exception as error:
            if f"exceeds {name} config length" in str(error):
                yield f"{name} has {len(given)} of {len(own)} entries: one for each {what}, or a text for all"
