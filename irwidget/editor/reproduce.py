"""A pipeline under edit as text: the lines that reproduce it, and its fallbacks for terminals, GitHub and nbval."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from irwidget import private_ipython, registry
from irwidget.editor.chain import PassInvocation
from irwidget.views.markup import table, tag


class Names:
    """How the user's own code calls the model and its inputs, and what else was said."""

    def __init__(
        self,
        obj: Any,
        inputs: Sequence[Any],
        kwargs: Mapping[str, Any] | None,
        dynamic_shapes: Any,
        options: Mapping[str, Any],
        external: bool,
        given: Sequence[str] | None,
    ) -> None:
        default = "text" if isinstance(obj, str) else "model"
        guessed = [_variable(one) for one in (obj, *inputs)]
        usual = [default, *(f"x{i}" if i else "x" for i in range(len(inputs)))]
        self.model, *self.inputs = (next(filter(None, names)) for names in zip_longest(given or (), guessed, usual))
        self.told = [""] if isinstance(obj, str) else list(given or [self.model, *self.inputs])
        """What a magic is told; an empty model is the one that its cell defines."""
        self.shapes = "" if dynamic_shapes is None else _variable(dynamic_shapes) or "dynamic_shapes"
        self.others = [("kwargs", "kwargs")] if kwargs else []
        self.others += [("dynamic_shapes", self.shapes)] if self.shapes else []
        self.options = dict(options)
        self.external = external


def _variable(value: Any) -> str:
    """The name of the user's variable that holds this very object; empty when there is none."""
    shell = private_ipython.running()
    space: Mapping[str, Any] = shell.user_ns if shell else {}
    return next((name for name, held in list(space.items()) if held is value and not name.startswith("_")), "")


def magic_line(names: Names, target: str, pipeline: str) -> str:
    """`%%lower --to nvptx --model net --inputs x --pipeline 'mlir-opt --cse'`"""
    words = ["--to", target]
    model, *inputs = names.told
    words += ["--model", model] if model else []
    words += ["--inputs", ",".join(inputs)] if inputs else []
    words += ["--dynamic-shapes", names.shapes] if names.shapes else []
    for name, value in names.options.items():
        words += _flag(target, name, value)
    if pipeline:
        words += ["--pipeline", pipeline, *(["--external"] if names.external else [])]
    return f"%%lower {shlex.join(words)}"


def _flag(target: str, name: str, value: Any) -> list[str]:
    """How the magic is told an option; nothing for a switch that is left as it is."""
    known = registry.targets.get(target)
    option = registry.described(known.options).get(name) if known else None
    if option is None or not option.flag:
        return [f"--{name.replace('_', '-')}", str(value)]
    if option.read is None:
        return [option.flag] if value == option.bare else []
    return [option.flag, str(value)]


def call(names: Names, target: str, pipeline: str) -> str:
    """`irwidget.lower(net, x, to="nvptx", pipeline="mlir-opt --cse")`"""
    said = [f"to={target!r}", *(f"{name}={value}" for name, value in names.others)]
    said += [f"{name}={value!r}" for name, value in names.options.items()]
    if pipeline:
        said += [f"pipeline={pipeline!r}", *(["external=True"] if names.external else [])]
    return f"irwidget.lower({', '.join([names.model, *names.inputs, *said])})"


@dataclass(frozen=True)
class Summary:
    """What a pipeline under edit says of itself, and how it is told as text and as HTML."""

    name: str
    """The model or kernel."""
    target: str
    """The IR type that the pipeline goes on from."""
    status: str
    steps: Sequence[PassInvocation]
    message: str
    """What went wrong; empty when nothing did."""
    magic: str
    call: str

    @property
    def text(self) -> str:
        """The steps as a table, what went wrong, and the lines that reproduce it."""
        lines = [self._title]
        lines += [
            f"  {i}  {tool:16}{what}{f'  ({state})' if state else ''}"
            for i, (tool, what, state) in enumerate(self._rows, 1)
        ]
        lines += [self.message] if self.message else []
        return "\n".join([*lines, self.magic, self.call, ""])

    @property
    def html(self) -> str:
        """The same as HTML that reads well without styles and scripts."""
        rows = [(str(i), *row) for i, row in enumerate(self._rows, 1)]
        return tag(
            "div",
            tag("p", tag("strong", self._title)),
            table(("#", "tool", "pass", "state"), rows) if rows else "",
            tag("p", self.message) if self.message else "",
            tag("pre", f"{self.magic}\n{self.call}"),
        )

    @property
    def _title(self) -> str:
        return f"Pipeline of {self.name} from {self.target}: {self.status}"

    @property
    def _rows(self) -> list[tuple[str, str, str]]:
        """Tool, pass with options, and state of each step; equal for equal pipelines: no times."""
        return [
            (
                link.tool,
                link.label + "".join(f" {key}={value}" for key, value in link.options),
                "disabled" if not link.enabled else link.state,
            )
            for link in self.steps
        ]
