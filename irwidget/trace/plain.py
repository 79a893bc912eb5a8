"""A trace without its texts as JSON, and back, exactly.

Reading takes nothing on trust: what is not there, or of another kind, is an error that says what.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, TypeVar, cast, get_args, get_type_hints

from irwidget.trace import chunks
from irwidget.trace.data import Diagnostic, Dump, Failure, Severity, Step, Trace
from irwidget.trace.decode import damaged
from irwidget.trace.location import Location, Node
from irwidget.trace.scope import Scope
from irwidget.trace.texts import Texts
from irwidget.trace.verdicts import EAGER, Element, Verdict, VerdictState

_T = TypeVar("_T")
_SAFE = 2**53
"""Integers from here on are not exact in every reader of JSON."""
MOST_CALLERS = 100
"""How long a chain of callers may be."""


def frame_to_json(trace: Trace) -> dict[str, Any]:
    """All of a trace but its dumps, sources and attachments."""
    return {
        "target": trace.target,
        "name": trace.name,
        "tools": dict(trace.tools),
        "steps": [asdict(step) for step in trace.steps],
        "diagnostics": [asdict(one) for one in trace.diagnostics],
        "failure": asdict(trace.failure) if trace.failure else None,
        "facts": exact(dict(trace.facts)),
        "check": _verdict_to_json(trace.check) if trace.check else None,
        "nodes": [asdict(node) for node in trace.nodes],
        "every_pass": trace.every_pass,
    }


def frame_of(data: Any) -> dict[str, Any]:
    """The arguments of `Trace` that `frame_to_json` gave. Raises Damaged."""
    found = fields(data, target=str, name=str, tools=dict, facts=dict)
    steps = [Step(**fields(one, tool=str, arguments=str, name=str, program=bool)) for one in listed(data, "steps")]
    return {
        **found,
        "tools": texts(found["tools"]),
        "steps": tuple(steps),
        "diagnostics": tuple(map(_diagnostic_of, listed(data, "diagnostics"))),
        "failure": _failure_of(data["failure"]) if data["failure"] else None,
        "facts": inexact(found["facts"]),
        "check": verdict_of(data["check"]) if data["check"] else None,
        "nodes": tuple(map(_node_of, listed(data, "nodes"))),
        "every_pass": typed(data.get("every_pass", True), bool),
    }


def _node_of(data: Any) -> Node:
    found = fields(data, name=str, target=str, text=str, depth=int, symbolic=bool)
    return Node(**found, location=location_of(data["location"]))


def dump_to_json(dump: Dump) -> dict[str, Any]:
    """What is known of a dump before its text is here."""
    return {**_made_by(dump), "scope": asdict(dump.scope)}


def _made_by(dump: Dump) -> dict[str, Any]:
    return {
        "name": dump.name,
        "step": dump.step,
        "language": dump.language,
        "options": dump.options,
        "seconds": exact(dump.seconds),
        "pipeline": dump.pipeline,
    }


class DumpsToJson:
    """Gives `dump_to_json` of many dumps as a JSON array; what is the same of several is encoded once."""

    def __init__(self) -> None:
        self._scopes: dict[Scope, bytes] = {}
        self._made: dict[tuple[str, ...], bytes] = {}

    def __call__(self, dumps: Iterable[Dump]) -> list[bytes]:
        scopes: dict[int, bytes] = {}
        """By identity, which is looked up faster; all live as long as the dumps."""
        found: list[chunks.Pieces] = []
        for dump in dumps:
            scope = scopes.get(id(dump.scope))
            if scope is None:
                scope = scopes[id(dump.scope)] = self._scope(dump.scope)
            key = (dump.name, str(dump.step), dump.language, dump.options, repr(dump.seconds), dump.pipeline)
            made = self._made.get(key)
            if made is None:
                made = self._made[key] = chunks.to_json(_made_by(dump))[:-1]
            found.append((made, scope))
        return chunks.array_of(found)

    def _scope(self, scope: Scope) -> bytes:
        if scope not in self._scopes:
            self._scopes[scope] = b',"scope":%b}' % chunks.to_json(asdict(scope))
        return self._scopes[scope]


def dump_of(data: Any, texts: Texts, index: int) -> Dump:
    """A dump that `dump_to_json` described; its text is number `index` of these. Raises Damaged."""
    found = fields(data, name=str, step=int, language=str, options=str, pipeline=str)
    scope = Scope(**fields(data["scope"], kernel=str, function=str, loop=str, anchor=str))
    seconds = typed(inexact(data["seconds"]), float)
    return Dump(**found, texts=texts, index=index, scope=scope, seconds=seconds)


def exact(value: Any) -> Any:
    """Any value as JSON from which it can be made again.

    What JSON does not have is an object with a `$` that names its kind; what no kind fits is kept as its text.
    """
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return value if -_SAFE < value < _SAFE else {"$": "int", "hex": hex(value)}
    if kind is float:
        return value if math.isfinite(value) else {"$": "float", "text": repr(value)}
    if kind is list:
        return [exact(one) for one in value]
    if kind in (tuple, set, frozenset):
        return {
            "$": kind.__name__,
            "items": [exact(one) for one in (value if kind is tuple else sorted(value, key=repr))],
        }
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        if all(type(key) is str for key, _ in items) and "$" not in value:
            return {key: exact(one) for key, one in items}
        return {"$": "dict", "items": [[exact(key), exact(one)] for key, one in items]}
    if kind is complex:
        return {"$": "complex", "items": [exact(value.real), exact(value.imag)]}
    if kind is bytes:
        return {"$": "bytes", "base64": base64.b64encode(value).decode()}
    return {"$": "object", "type": f"{kind.__module__}.{kind.__qualname__}", "text": str(value)}


def inexact(data: Any) -> Any:
    """What `exact` was given; an object that it could not keep is its text. Raises Damaged."""
    if isinstance(data, list):
        return [inexact(one) for one in cast("list[Any]", data)]
    if not isinstance(data, dict):
        return data
    tagged = cast("dict[str, Any]", data)
    if "$" not in tagged:
        return {key: inexact(one) for key, one in tagged.items()}
    kind = tagged["$"]
    if kind not in _KINDS:
        raise damaged(f"it has a value of the kind {kind!r:.40}")
    return _KINDS[kind](tagged)


def _items(data: Mapping[str, Any]) -> list[Any]:
    return [inexact(one) for one in listed(data, "items")]


_KINDS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "int": lambda data: int(data["hex"], 16),
    "float": lambda data: float(data["text"]),
    "tuple": lambda data: tuple(_items(data)),
    "set": lambda data: set(_items(data)),
    "frozenset": lambda data: frozenset(_items(data)),
    "dict": lambda data: dict(_items(data)),
    "complex": lambda data: complex(*_items(data)),
    "bytes": lambda data: base64.b64decode(data["base64"], validate=True),
    "object": lambda data: typed(data["text"], str),
}


def typed(value: Any, kind: type[_T]) -> _T:
    """The value, which must be of this kind. Raises Damaged."""
    if type(value) is not kind and not (kind is float and type(value) is int):
        raise damaged(f"{value!r:.40} is no {kind.__name__}")
    return cast(_T, value)


def fields(data: Any, **kinds: type) -> dict[str, Any]:
    """The values of a JSON object that have these names, each of its kind. Raises Damaged."""
    found = typed(data, dict)
    if missing := kinds.keys() - found.keys():
        raise damaged(f"there is no {', '.join(sorted(missing))}")
    return {name: typed(found[name], kind) for name, kind in kinds.items()}


def listed(data: Any, name: str) -> list[Any]:
    """The list of this name in a JSON object. Raises Damaged."""
    return fields(data, **{name: list})[name]


def texts(data: Mapping[str, Any]) -> dict[str, str]:
    """An object whose values are texts. Raises Damaged."""
    return {name: typed(value, str) for name, value in data.items()}


def one_of(value: Any, kinds: Any) -> Any:
    """The value, which must be one of a Literal's. Raises Damaged."""
    if value not in get_args(kinds):
        raise damaged(f"{value!r:.40} is none of {', '.join(get_args(kinds))}")
    return value


def natural(value: Any, below: int) -> int:
    """A number from 0 up to, and without, a limit. Raises Damaged."""
    if not 0 <= typed(value, int) < below:
        raise damaged(f"{value} is out of range")
    return value


def _diagnostic_of(data: Any) -> Diagnostic:
    found = fields(data, severity=str, message=str)
    notes = tuple(map(_diagnostic_of, listed(data, "notes")))
    return Diagnostic(one_of(found["severity"], Severity), found["message"], location_of(data["location"]), notes)


def location_of(data: Any, depth: int = 0) -> Location | None:
    if data is None:
        return None
    if depth > MOST_CALLERS:
        raise damaged("a place has too many callers")
    found = fields(data, file=str, line=int, column=int, name=str)
    return Location(**found, caller=location_of(data["caller"], depth + 1))


def _failure_of(data: Any) -> Failure:
    found = fields(data, step=int, pass_name=str, message=str, kind=str, tool=str, reproducer=str)
    one_of(found["kind"], get_type_hints(Failure)["kind"])
    return Failure(**found, diagnostics=tuple(map(_diagnostic_of, listed(data, "diagnostics"))))


def _verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    found = asdict(replace(verdict, each=()))
    if verdict.element:
        found["element"]["index"] = list(verdict.element.index)
    return {**exact(found), "each": [_verdict_to_json(one) for one in verdict.each]}


def verdict_of(data: Any) -> Verdict:
    """The verdict of a file. Raises Damaged."""
    found = fields(data, state=str, dump=str, reason=str)
    one_of(found["state"], VerdictState)
    errors: dict[str, Any] = {
        name: None if data[name] is None else typed(inexact(data[name]), float) for name in ("error", "eager_error")
    }
    return Verdict(
        **found,
        **errors,
        index=None if data["index"] is None else typed(inexact(data["index"]), int),
        element=None if data["element"] is None else _element_of(data["element"]),
        each=tuple(map(verdict_of, listed(data, "each"))),
        reference=typed(data.get("reference", EAGER), str),
    )


def _element_of(data: Any) -> Element:
    found = fields(data, result=str, index=list)
    got, want = inexact(data["got"]), inexact(data["want"])
    for value in (got, want):
        if type(value) not in (int, float, complex, bool):
            raise damaged(f"{value!r:.40} is no number")
    return Element(found["result"], tuple(typed(inexact(one), int) for one in found["index"]), got, want)
