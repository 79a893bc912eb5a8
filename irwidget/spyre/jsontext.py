"""JSON with a line per value, as `json.dumps(value, indent=1)` writes it, in a fraction of its time.

Python's encoder leaves its C code as soon as lines are indented, and SuperDSC files are most of a page.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from json.encoder import encode_basestring_ascii
from typing import Any

Known = dict[tuple[str, int], str]
"""Texts by what they are of, as JSON on one line, and how deep they stand."""


def indented(value: Any, margin: str = "\n", known: Known | None = None) -> str:
    """The text of JSON-able data; `margin` is the line break and the indentation of the line that it starts on.

    With `known`, equal parts at two depths are written once: the layers of a model have the same files but for a few
    addresses.
    """
    kind = type(value)
    if known is not None and len(margin) in _DEPTHS and kind in (dict, list) and len(value) > 1:
        key = (json.dumps(value), len(margin))
        if key not in known:
            known[key] = indented(value, margin)
        return known[key]
    if kind is str:
        return encode_basestring_ascii(value)
    if kind is int:
        return int.__repr__(value)
    deeper = margin + " "
    if isinstance(value, Mapping):
        if not value:
            return "{}"
        entries: Any = value.items()
        lines = [f"{_key(key)}: {indented(one, deeper, known)}" for key, one in entries]
        return f"{{{deeper}{f',{deeper}'.join(lines)}{margin}}}"
    if isinstance(value, list | tuple):
        if not value:
            return "[]"
        items: Any = value
        return f"[{deeper}{f',{deeper}'.join(indented(one, deeper, known) for one in items)}{margin}]"
    return json.dumps(value)


_DEPTHS = (6, 10)
"""Letters of the margins at which equal parts are looked for: what SuperDSC files say of cores, and of a tensor."""


def _key(key: Any) -> str:
    return encode_basestring_ascii(key if isinstance(key, str) else json.dumps(key))  # what json does with other keys
