"""Constants of MLIR of which a text has the name and the type alone, as one value everywhere."""

from __future__ import annotations

import re

from irwidget.trace import syntax

_NAMED = re.compile(
    r"dense_resource<([^>]*)>(?= : (?:tensor|vector|memref)<(?:[0-9]+x)*(i1|(?:[su]?i|b?f)\d\w*|index)>)"
)


def filled(text: str) -> str:
    """The text with a value for each constant that it leaves out and whose type says which there are: a half, one or
    true.
    """
    missing = set(syntax.left_out(text))
    return _NAMED.sub(lambda found: f"dense<{_value(found[2])}>" if found[1] in missing else found[0], text)


def _value(kind: str) -> str:
    return "true" if kind == "i1" else "5.000000e-01" if "f" in kind else "1"
