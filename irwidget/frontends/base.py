"""What a front end is: it takes objects of a kind, and turns them into IR that passes can go on from.

One of another package derives from `FrontEnd` and says at least `name`, `recognises` and `source`; see
docs/extending.md.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from irwidget.errors import UsageError
from irwidget.expand import LLVMPasses
from irwidget.frontends import raw_text
from irwidget.frontends.cell import Candidate, NotebookCell
from irwidget.frontends.undo import bounded
from irwidget.lazy import cached_property
from irwidget.registry import Target, check, described, frontends, targets
from irwidget.toolchain.named import Constants
from irwidget.toolchain.run import Interrupted, Options, Source
from irwidget.trace import Step, Trace, Verdict, not_checked

Note = Callable[[Any, tuple[Any, ...], Mapping[str, Any]], None]
"""Told of an object that a cell calls, with its inputs."""


def looks(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[object]:
    """Of inputs what a compiler looks at: how tensors and arrays are laid out, values, which object any other is."""
    from irwidget.private_torch import pytree

    return [_look(leaf) for leaf in pytree.tree_leaves((args, dict(kwargs)))]


def _look(leaf: Any) -> object:
    import torch

    if isinstance(leaf, torch.Tensor):
        return leaf.shape, leaf.layout is torch.strided and leaf.stride(), leaf.dtype, leaf.requires_grad
    if leaf is None or isinstance(leaf, bool | int | float | complex | str | bytes):
        return type(leaf), leaf
    if hasattr(leaf, "__array_interface__"):  # NumPy's, whose == has no single answer
        return leaf.shape, leaf.strides, str(leaf.dtype)
    return id(leaf)


def own_inputs(obj: Any) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """The inputs, by position and by name, that an exported program was made with; None for what has none."""
    return obj.example_inputs if is_exported(obj) else None


def is_exported(obj: Any) -> bool:
    """Whether torch.export has made it."""
    exporting = sys.modules.get("torch.export")  # not imported for what is no model
    return exporting is not None and isinstance(obj, exporting.ExportedProgram)


@dataclass(frozen=True)
class Given:
    """An object and its inputs, as the user gave them, or those that an exported program has of its own."""

    obj: Any
    inputs: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    dynamic_shapes: Any = None
    """As torch.export takes them."""
    name: str | None = None
    """What the user calls it."""
    check: bool | Literal["each"] = False
    """Whether the result is to be executed and compared, or every dump."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The options of the IR types, by name, checked."""
    route: Literal["robust", "explorer"] = "robust"
    """PyTorch Explorer's takes a PyTorch model as torch-mlir alone does, right or wrong."""

    def __post_init__(self) -> None:
        if not self.inputs and not self.kwargs:
            inputs, kwargs = own_inputs(self.obj) or ((), {})
            object.__setattr__(self, "inputs", inputs)
            object.__setattr__(self, "kwargs", kwargs)

    @property
    def called(self) -> str:
        """What the result is called: as the user says, or as the class of a module, or the function."""
        usual = "IR" if isinstance(self.obj, str) else getattr(self.obj, "__name__", None) or type(self.obj).__name__
        return self.name or usual


@dataclass(frozen=True)
class Made:
    """What a front end gives: the trace, and what else it made, by name (`program`, `kernel`)."""

    trace: Trace
    results: Mapping[str, Any] = field(default_factory=dict[str, Any])
    constants: Constants | None = None
    """Those that texts of the trace may only name."""


class Begun:
    """A front end at work on one object, for one IR type after the other: what they share is made once."""

    def __init__(self, front_end: FrontEnd, given: Given) -> None:
        self.front_end, self.given = front_end, given

    def prepare(self, options: Options) -> None:
        """Do what the passes wait for. Raises as `lower` does."""

    def lower(self, target: Target, extra: tuple[Step, ...], options: Options) -> Made:
        """To an IR type, then through the steps of a custom pipeline. A failed pass is in the trace.

        Raises Interrupted with the trace so far, and errors of ours for what is wrong before any pass.
        """
        return Made(
            run(self._source, (*target.steps, *extra), target.name, options, Trace("", (), name=self.given.called))
        )

    def verdict(self, target: Target, trace: Trace, options: Options, source: Source | None = None) -> Verdict:
        """How the result of a complete lowering compares with what it should be. Raises as `lower` does.

        `source` is what the trace was made of, where it is not what this front end made of the object.
        """
        edited = ", as it was edited," if source is not None else ""
        return not_checked(f"{target.name} of {self.front_end.starts_from}{edited} is not executed")

    def written(self, target: Target, options: Options) -> str:
        """What is lowered as a file of Python, where it takes one to say that; empty otherwise. Raises as `lower`."""
        return ""

    @cached_property
    def _source(self) -> Source:
        return self.front_end.source(self.given)


class FrontEnd:
    """Takes objects of one kind to IR. Stateless: what belongs to one object is in what `begin` returns."""

    name: str = ""
    """What `Target.front_end` names, and `Target.source` where that is the same."""
    starts_from: str = ""
    """What it takes, in words, for messages and tables: `a Helion kernel`."""
    packages: tuple[str, ...] = ()
    """The Python packages that it needs."""
    needs_torch: bool = False
    """Whether PyTorch must have been imported before it begins."""
    without_dynamic_shapes: str = "leave it out"
    """The next step where `Given.dynamic_shapes` would say nothing to it; empty for one that takes them."""

    # Lowering

    def function(self, obj: Any) -> Any:
        """The function of Python that an object of its kind stands for, whose text tells a reader what it is."""
        return getattr(obj, "forward", obj)

    def recognises(self, obj: Any) -> bool:
        """Whether an object is of its kind. Nothing is imported to find out."""
        return False

    def takes_over(self, obj: Any, target: Target) -> bool:
        """Whether it lowers this object to an IR type that another front end makes of other objects."""
        return False

    def plan(self, wanted: Sequence[Target], options: Mapping[str, Any], route: str) -> list[Target]:
        """The IR types with the steps that the options ask for. Raises UsageError for options that do not fit them."""
        planned: list[Target] = []
        for target in wanted:
            check(target.options, options)
            steps = target.plan(options_for(target, options)) if target.plan else target.steps
            planned.append(replace(target, steps=steps))
        return planned

    def source(self, given: Given) -> Source:
        """The IR that an object stands for. Raises UsageError, ExportError, UnsupportedError."""
        raise NotImplementedError

    def carried(self, given: Given, target: Target, options: Options) -> Given:
        """The same in a form that pickle can take to a process with other releases of its packages. Raises as `lower`.

        What makes a new object of it there is named in the file for the private names of its package.
        """
        return given

    def begin(self, given: Given) -> Begun:
        """Begin with one object."""
        return Begun(self, given)

    # Cells

    def claims(self, text: str) -> bool:
        """Whether the text of a cell speaks of objects of its kind, which then say what is lowered."""
        return False

    def candidates(self, cell: NotebookCell) -> list[Candidate] | None:
        """Run a cell in a way of its own and say what it wants lowered; None: as any cell, by its variables."""
        return None

    def watched(self, source: str, note: Note) -> AbstractContextManager[object]:
        """While a cell runs: have the calls of its objects noted."""
        return contextlib.nullcontext()

    def kernels(self, bound: Mapping[str, Any]) -> dict[str, Any]:
        """Of the variables that a cell sets, those that it is about."""
        return {name: value for name, value in bound.items() if self.recognises(value)}

    def parameters(self, obj: Any) -> list[inspect.Parameter]:
        """The inputs that an object of its kind takes."""
        return parameters(obj)


def options_for(target: Target, options: Mapping[str, Any]) -> Any:
    """Its options as an object of its own dataclass."""
    return target.options(**{name: options[name] for name in described(target.options) if name in options})


def parameters(obj: Any) -> list[inspect.Parameter]:
    """The parameters of a callable or of a module's forward; none where they cannot be told."""
    try:
        return list(inspect.signature(getattr(obj, "forward", obj)).parameters.values())
    except (TypeError, ValueError):
        return []


def of_kind(obj: Any) -> FrontEnd | None:
    """The front end whose kind an object is; None for models, functions and text, which are nobody's alone."""
    return next((one for one in frontends if frontends.ask(one, lambda one: one.recognises(obj), False)), None)


def check_kind(given: Given, wanted: Sequence[Target]) -> None:
    """Raise UsageError for an object of a kind that none of some IR types starts from."""
    kind = of_kind(given.obj)
    if kind is not None and all(find(given.obj, target) is not kind for target in wanted):
        names = ", ".join(target.name for target in targets if target.front_end == kind.name)
        raise UsageError(f"{given.called} is {kind.starts_from}: lower it to one of the IR types {names}")


def check_dynamic_shapes(given: Given, front_end: FrontEnd) -> None:
    """Raise UsageError for dynamic shapes that would say nothing."""
    if given.dynamic_shapes is None:
        return
    if step := front_end.without_dynamic_shapes:
        why = f"has no part in lowering {front_end.starts_from}: {step}"
    elif is_exported(given.obj):
        why = f"has made {given.called} already: give them to torch.export.export, and leave them out here"
    else:
        return
    raise UsageError(f"dynamic_shapes is torch.export's, which {why}.")


def find(obj: Any, target: Target) -> FrontEnd:
    """The front end that takes an object to an IR type. Raises UsageError when there is none."""
    for one in frontends:
        if frontends.ask(one, lambda one: one.takes_over(obj, target), False):
            return one
    return frontends.find(target.front_end, "front end")


def run(source: Source, steps: Sequence[Step], target: str, options: Options, before: Trace) -> Trace:
    """Run steps on a source, after what has been done before it. Raises Interrupted."""

    def finish(trace: Trace) -> Trace:
        return before.then(replace(trace, inside=LLVMPasses(source, trace, options)))

    try:
        return finish(source.run(steps, options, target=target))
    except Interrupted as stop:
        raise Interrupted(finish(stop.trace)) from None


def go_on(trace: Trace, extra: tuple[Step, ...], target: str, options: Options) -> Trace:
    """Through a custom pipeline, from the text that a front end has given. Raises Interrupted."""
    if trace.failure or not extra:
        return replace(trace, steps=(*trace.steps, *extra))
    last = trace.dumps[-1]
    return run(raw_text.source(last.text, extra, known=last.language), extra, target, options, trace)


class KernelBegun(Begun):
    """An object whose front end has a compiler of its own; a custom pipeline goes on from the text that it gives."""

    def make(self, target: Target, options: Options) -> Made:
        """Lower to an IR type. Raises Interrupted, and errors of ours."""
        raise NotImplementedError

    def kept(self, made: Made) -> Mapping[str, Any]:
        """What is still true of the results when a custom pipeline has gone on."""
        return {}

    def lower(self, target: Target, extra: tuple[Step, ...], options: Options) -> Made:
        """Lower by `make`, and go on with `extra`.

        Raises Interrupted, and UsageError where no text is left to go on from.
        """
        try:
            with bounded(f"the front end of {self.front_end.name.capitalize()}"):
                made = self.make(target, options)
        except Interrupted as stop:
            raise Interrupted(replace(stop.trace, steps=(*stop.trace.steps, *extra))) from None
        trace = replace(made.trace, name=self.given.name) if self.given.name else made.trace
        results = made.results if trace.failure or not extra else self.kept(made)
        return Made(go_on(trace, extra, target.name, options), results)


def refuse_kind(obj: Any, to: str, wanted: str) -> UsageError:
    """The error for an object that an IR type does not start from."""
    return UsageError(f"{to} starts from {wanted}, not from a {type(obj).__name__}")
