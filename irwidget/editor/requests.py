"""What a page may ask of a pipeline under edit: every message is taken apart here before anything is done.

A page picks tools, passes and options that Python has found and allowed; it never names a program, a path or an
argument of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from irwidget.editor import chain
from irwidget.editor.catalogue import USER_TOOL, Catalogue
from irwidget.editor.chain import PassInvocation
from irwidget.errors import UsageError, near

MOST_STEPS = 200
_FIELDS: Mapping[str, Mapping[str, type]] = {
    "add": {"tool": str, "pass": str, "options": dict, "after": int},
    "edit": {"step": int, "tool": str, "pass": str, "options": dict},
    "remove": {"step": int},
    "move": {"step": int, "to": int},
    "enable": {"step": int, "on": bool},
    "target": {"name": str},
    "run": {"step": int},
    "stop": {},
}
"""For each request, its fields and their types; all are wanted. `run` to step 0 is the whole pipeline."""


@dataclass(frozen=True, slots=True)
class EditorRequest:
    """A request that has the right form."""

    do: str
    fields: Mapping[str, Any]


def number(content: object) -> int | None:
    """The number of a message, to answer it; None when it has none."""
    value = cast(Mapping[str, object], content).get("id") if isinstance(content, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None


def read(content: object) -> EditorRequest:
    """The request in a message of the page. Raises UsageError for any other content."""
    if not isinstance(content, Mapping):
        raise UsageError("A request is an object with the fields `id` and `do`")
    message = cast(Mapping[object, object], content)
    do = message.get("do")
    if not isinstance(do, str) or do not in _FIELDS:
        raise UsageError(f"A pipeline cannot {str(do)[:40]!r}. It can {', '.join(_FIELDS)}.")
    wanted = _FIELDS[do]
    fields: dict[str, Any] = {}
    for name, kind in wanted.items():
        value = message.get(name)
        if type(value) is not kind:
            raise UsageError(f"{do} wants {name} as {kind.__name__}")
        fields[name] = value
    if extra := set(message) - set(wanted) - {"id", "do"}:
        raise UsageError(f"{do} has no field {str(next(iter(extra)))[:40]!r}")
    return EditorRequest(do, fields)


def edited(
    links: Sequence[PassInvocation], asked: EditorRequest, allowed: Catalogue, fresh: Callable[[], int]
) -> tuple[PassInvocation, ...]:
    """The steps after an edit that a page asked for. Raises UsageError for what is not there or not allowed."""
    field = asked.fields
    if asked.do == "add":
        if len(links) >= MOST_STEPS:
            raise UsageError(f"A pipeline has at most {MOST_STEPS} steps here")
        at = place(links, field["after"]) + 1 if field["after"] else 0
        added = _link(field["tool"], field["pass"], field["options"], allowed)
        return (*links[:at], replace(added, id=fresh()), *links[at:])
    at = place(links, field["step"])
    rest = (*links[:at], *links[at + 1 :])
    match asked.do:
        case "remove":
            return rest
        case "move":
            to = max(0, min(field["to"], len(rest)))
            return (*rest[:to], links[at], *rest[to:])
        case "enable":
            return (*links[:at], replace(links[at], enabled=field["on"]), *links[at + 1 :])
        case _:
            return (*links[:at], _changed(links[at], field, allowed), *links[at + 1 :])


def place(links: Sequence[PassInvocation], step: int) -> int:
    """Where the step with this id is. Raises UsageError."""
    for index, link in enumerate(links):
        if link.id == step:
            return index
    raise UsageError("This step is no longer in the pipeline")


def _link(tool: str, name: str, options: Mapping[object, object], allowed: Catalogue) -> PassInvocation:
    if tool not in allowed:
        raise UsageError(f"{tool[:80]!r} is no tool that allow_tools names here. {near(tool[:80], allowed)}")
    known = allowed[tool].get(name)
    if known is None:
        raise UsageError(f"{tool} has no pass {name[:80]!r} here. {near(name[:80], list(allowed[tool])[:500])}")
    given = _texts(options)
    known.check(given)
    if tool == USER_TOOL:
        return PassInvocation(tool, arguments=name)
    return PassInvocation(tool, name, tuple(sorted(given.items())))


def _changed(before: PassInvocation, field: Mapping[str, Any], allowed: Catalogue) -> PassInvocation:
    """The step with other options, or another pass in its place; options that only Python may set stay."""
    after = _link(field["tool"], field["pass"], field["options"], allowed)
    if before.name and (before.tool, before.name) == (after.tool, after.name):
        settable = [option.name for option in allowed[after.tool][after.name].options]
        return chain.with_options(before, dict(after.options), settable)
    return replace(after, id=before.id, enabled=before.enabled)


def _texts(options: Mapping[object, object]) -> dict[str, str]:
    if len(options) > 100:
        raise UsageError("Too many options")
    given: dict[str, str] = {}
    for name, value in options.items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise UsageError("Options are texts")
        given[name] = value
    return given
