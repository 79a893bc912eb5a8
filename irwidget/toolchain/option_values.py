"""What a page may set of the options of a pass: their kinds, and the values that cannot reach out of it."""

from __future__ import annotations

import re

from irwidget.errors import UsageError

REACHES_OUT = re.compile(
    r"librar|path|file|dir(ectory)?$|toolkit|cmd|command|plugin|script|link|pipeline|^opts$|^l$|^config$|url|host-?name"
)
"""Options that name files, folders or programs: never offered to a page."""
_VALUES = {
    "flag": re.compile(r"true|false"),
    "integer": re.compile(r"-?\d{1,18}"),
    "number": re.compile(r"-?\d{1,18}(\.\d{1,18})?(e-?\d{1,3})?"),
    "text": re.compile(r"[A-Za-z0-9_+*.,:@-]{1,200}"),
}
_WORDS = {
    "flag": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "text": "letters, digits and _+*.,:@-",
}
"""What a value may be; text has nothing that could end an option, a pass or a word, and names no path."""


def check(name: str, kind: str, value: str) -> None:
    """Raises UsageError for a value that an option of this kind (`flag`, `integer`, `number`, `text`) cannot have."""
    if not _VALUES[kind].fullmatch(value) or ".." in value:
        raise UsageError(f"{name} wants {_WORDS[kind]}, not {value!r}")


def kind_of(value: str) -> str:
    """The kind of an option by a value that it has."""
    if value in ("true", "false"):
        return "flag"
    return "integer" if re.fullmatch(r"-?\d+", value) else "text"
