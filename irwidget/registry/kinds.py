"""What can be registered: an IR type, a tool, a view. Front ends are `irwidget.frontends.base.FrontEnd`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from irwidget.registry.fields import NoOptions
from irwidget.trace import Step


@dataclass(frozen=True, slots=True)
class Target:
    """An IR type that something can be lowered to."""

    name: str
    source: str
    """What it starts from: `pytorch`, `triton`, `helion`, `spyre`, `raw`, or what another package brings."""
    language: str
    steps: tuple[Step, ...] = ()
    summary: str = ""
    options: type = field(default=NoOptions, compare=False)
    """The frozen dataclass of its options, made with `irwidget.registry.option`."""
    plan: Callable[[Any], tuple[Step, ...]] | None = field(default=None, compare=False)
    """Its steps as an object of `options` asks for; None when they are always `steps`."""
    more_options: bool = field(default=False, compare=False)
    """Whether the front end takes options beside those, as a launch takes a kernel's own."""
    front_end: str = ""
    """The name of the front end that makes it; `source` when empty."""
    needs: tuple[str, ...] = field(default=(), compare=False)
    """Python packages that it needs beside those of its front end and its tools."""
    in_all: bool = field(default=True, compare=False)
    """Whether `--all` asks for it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "front_end", self.front_end or self.source)


@dataclass(frozen=True, slots=True)
class Program:
    """How the real program of a tool is found: by these variables, in LLVM's folders, on PATH."""

    variables: tuple[str, ...] = ()
    """Environment variables with its path, or that of its folder; LLVM_BIN_PATH is always looked at."""
    package: str = ""
    """The package of the system that has it."""
    llvm: bool = False
    """Whether it is LLVM's, and must not be older than the oldest that is known to work."""


Runs = Callable[[Any, Any, Step], Iterator[Any]]
"""`(run, state, step)` of `irwidget.toolchain.tool` -> the passes that it runs on the state."""


@dataclass(frozen=True, slots=True)
class Tool:
    """What a step can name.

    `run`, `check` and `passes` are functions, or where to find one (`"package.module:function"`), imported when first
    called: the worker imports the tools that it runs and no others.
    """

    name: str
    run: Runs | str
    """Given the IR as it is, yields the passes of a step; each runs before the next is asked for."""
    summary: str = ""
    check: Callable[[Any, Step], object] | str = ""
    """`(run, step)`: reads a step's arguments without any IR. Raises StepFailed for what it would refuse,
    NeedsProgram for what only the real program can do."""
    reads: str = ""
    """The language it takes; empty when any, or nobody knows."""
    leaves: str = ""
    """The language it gives; empty when that depends."""
    only_for: str = ""
    """The arguments for which `reads` and `leaves` hold; of others nothing is known. Empty: for all."""
    program: Program | None = None
    """The real program, which runs what the embedded tool cannot; None when there is no such program."""
    package: str = ""
    """The Python package that it is part of."""
    in_pipelines: bool = True
    """Whether a custom pipeline is offered it; it may name others as well, as scripts of an experiment do."""
    flags_are_passes: bool = False
    """Whether each of its flags is a pass, so that neighbours can be written as one call."""
    passes: Callable[[], Iterable[Any]] | str = ""
    """Lists the passes that a page may pick from, as `irwidget.editor.catalogue.CataloguedPass`."""

    def languages(self, arguments: str) -> tuple[str, str]:
        """What it reads and leaves when it is called so."""
        return (self.reads, self.leaves) if self.only_for in ("", arguments) else ("", "")


@dataclass(frozen=True, slots=True)
class View:
    """How results are shown. A result has a `trace`, and perhaps `results` that its front end made."""

    name: str
    fits: Callable[[Sequence[Any]], bool]
    """Whether it shows these results; of the views that do, the first is taken, those of other packages before ours."""
    show: Callable[[Sequence[Any], str | None], Any]
    """`(results, key)` -> what a notebook displays; showing again with the same key replaces the view before."""
    page: Callable[[Sequence[Any], str], str]
    """`(results, title)` -> one offline HTML page."""
    text: Callable[[Sequence[Any]], str]
    """What a terminal shows."""

    @classmethod
    def of_one(cls, name: str, module: str, fits: Callable[[Sequence[Any]], bool] = lambda _: False) -> View:
        """A view of one result, which `show`, `page` and `text` of a module draw: it is imported when one is shown.

        Unless it `fits`, it is shown of what asks for it by its name.
        """

        def drawn(what: str) -> Callable[..., Any]:
            return lambda results, *given: imported(f"{module}:{what}")(results[0], *given)

        return cls(name, fits, drawn("show"), drawn("page"), drawn("text"))


def imported(what: Any) -> Any:
    """An object, or the one that `"package.module:name"` names. Raises ImportError, AttributeError."""
    if not isinstance(what, str):
        return what
    module, _, name = what.partition(":")
    return getattr(importlib.import_module(module), name)
