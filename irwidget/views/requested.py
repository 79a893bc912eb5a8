"""What a page may ask of experiments, read from its messages: nothing but what is named here reaches Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from irwidget.errors import UsageError
from irwidget.views.schema import experiments as schema

_DO = ("plan", "problems", "go", "without", "again", "stop", "rename", "remove", "recall", "files")


@dataclass(frozen=True)
class Asked:
    """A message of the page; what it does not say is as here."""

    do: str
    trace: int = 0
    stage: int = 0
    text: str | None = None
    passes: list[schema.ArrangedPass] | None = None
    name: str = ""
    check: bool = False
    experiment: int = 0
    experiments: tuple[schema.Experiment, ...] = ()


def asked_for(request: Mapping[str, Any]) -> Asked:
    """Read a message. Raises UsageError for one that is not understood."""
    try:
        do = request["do"]
        if do not in _DO:
            raise TypeError(do)
        passes = request.get("passes")
        return Asked(
            do,
            trace=_int(request.get("trace", 0)),
            stage=_int(request.get("stage", 0)),
            text=None if request.get("text") is None else _text(request["text"]),
            passes=None if passes is None else [_arranged(one) for one in passes],
            name=_text(request.get("name", ""))[:_NAME],
            check=_bool(request.get("check", False)),
            experiment=_int(request.get("experiment", 0)),
            experiments=tuple(_experiment(one) for one in request.get("experiments", ())),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"The page asked for something that is not understood ({error}): reload it") from None


_NAME = 200
"""Letters of a name that are kept."""


def _of(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError(f"{value!r} is no {kind.__name__}")
        return value

    return read


_int, _text, _bool = _of(int), _of(str), _of(bool)


def _arranged(one: Any) -> schema.ArrangedPass:
    options = {_text(name): _text(value) for name, value in one["options"].items()}
    return {"place": _int(one["place"]), "options": options}


def _edit(one: Any) -> schema.TextEdit:
    first, gone = _int(one["first"]), _int(one["gone"])
    if first < 0 or gone < 0:
        raise ValueError("lines are counted from 0")
    return {"first": first, "gone": gone, "lines": [_text(line) for line in one["lines"]], "of": _text(one["of"])}


def _experiment(one: Any) -> schema.Experiment:
    """An experiment as a notebook has kept it; what came of it is not taken from there."""
    stage, lowering = _int(one["stage"]), _int(one["lowering"])
    if stage < -1 or lowering < 0 or _int(one["id"]) < 1:
        raise ValueError("no such experiment")
    return {
        "id": _int(one["id"]),
        "name": _text(one["name"])[:_NAME],
        "parent": _int(one["parent"]),
        "lowering": lowering,
        "stage": stage,
        "after": _text(one["after"]),
        "edit": None if one["edit"] is None else _edit(one["edit"]),
        "passes": None if one["passes"] is None else [_arranged(each) for each in one["passes"]],
        "check": _bool(one["check"]),
        "state": "kept",
        "trace": -1,
        "message": "",
        "pipeline": _text(one["pipeline"]),
        "toolchain": _text(one.get("toolchain", "")),
        "switches": [_text(word) for word in one.get("switches", [])],
        "cell": _text(one.get("cell", "")),
        "outcome": None,
    }
