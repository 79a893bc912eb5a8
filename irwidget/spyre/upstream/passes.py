"""The passes of the real front end, recorded as they run: the graph, the loop IR or the kernels after each."""

from __future__ import annotations

import contextlib
import functools
import inspect
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from irwidget.spyre.upstream import private

Recorded = tuple[str, int, str, str, float]
"""Name of the pass, number of its step, language, text after it, seconds."""

_FX, _LOOPS, _SCHEDULER = 0, 1, 2


@dataclass
class Recorder:
    """What the passes of a compilation left."""

    dumps: list[Recorded] = field(default_factory=list[Recorded])
    now: str = ""
    """The pass that runs."""
    operations: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The buffers of the ops, in the order of the kernels."""
    formatted: Callable[[Any], str] | None = None
    """How the front end prints its loop IR, where it says so."""

    def begin(self) -> None:
        """Forget what was recorded."""
        self.dumps, self.operations, self.now = [], [], ""

    def watch(self, module: ModuleType) -> int:
        """Record the passes of every pipeline that `torch_spyre._inductor.passes` defines; how many there are."""
        self.formatted = private.printer(module)
        found = 0
        for name, kind in list(vars(module).items()):
            mine = inspect.isclass(kind) and kind.__module__ == module.__name__ and "__call__" in dir(kind)
            if mine and name.startswith("Custom") and "Pass" in name:
                self._watch_class(kind)
                found += 1
        return found

    def _watch_class(self, kind: Any) -> None:
        begun, called = kind.__init__, kind.__call__

        @functools.wraps(begun)
        def init(this: Any, *args: Any, **kwargs: Any) -> None:
            begun(this, *args, **kwargs)
            passes = getattr(this, "passes", None)
            if isinstance(passes, list):
                this.passes = [self._recorded(one) for one in passes]  # pyright: ignore[reportUnknownVariableType]

        @functools.wraps(called)
        def call(this: Any, given: Any, *args: Any, **kwargs: Any) -> Any:
            self._first(given)
            made = called(this, given, *args, **kwargs)
            if not isinstance(getattr(this, "passes", None), list):
                self._add(kind.__name__, given if made is None else made, 0.0)
            self._note(given if made is None else made)
            return made

        kind.__init__, kind.__call__ = init, call

    def _recorded(self, run: Callable[..., Any]) -> Callable[..., Any]:
        name = _name(run)

        @functools.wraps(run)
        def recorded(given: Any, *args: Any, **kwargs: Any) -> Any:
            self.now, begun = name, time.perf_counter()
            made = run(given, *args, **kwargs)
            self._add(name, given if made is None else made, time.perf_counter() - begun)
            self.now = ""
            return made

        return recorded

    def _first(self, given: Any) -> None:
        """What a kind of IR is before the first pass over it."""
        step, _, _ = self._shown(given)
        if step >= 0 and all(dump[1] != step for dump in self.dumps):
            self._add(("post_grad", "lower", "schedule")[step], given, 0.0)

    def _add(self, name: str, given: Any, seconds: float) -> None:
        step, language, text = self._shown(given)
        if step >= 0:
            self.dumps.append((name, step, language, text, seconds))

    def _shown(self, given: Any) -> tuple[int, str, str]:
        if isinstance(given, list):
            nodes: list[Any] = given
            lines = [_node(node) for node in nodes]
            return (_SCHEDULER, "text", "\n".join(lines) + "\n") if lines else (-1, "", "")
        operations = getattr(given, "operations", None)
        if isinstance(operations, list):
            return _LOOPS, "text", self._operations(operations)  # pyright: ignore[reportUnknownArgumentType]
        if hasattr(given, "nodes"):
            return _FX, "fx", f"{given}\n"
        return -1, "", ""

    def _operations(self, operations: list[Any]) -> str:
        if self.formatted is not None:
            with contextlib.suppress(Exception):  # it moves with the commits
                return self.formatted(operations)
        return "".join(f"{op.get_operation_name()}: {op}\n" for op in operations)

    def _note(self, given: Any) -> None:
        """Keep what is known of the buffers while it is: the last pipeline's word counts."""
        if isinstance(given, list):
            nodes: list[Any] = given
            with contextlib.suppress(Exception):  # names and lines are a help, and no more
                found = [_operation(node.node) for outer in nodes for node in _leaves(outer)]
                self.operations = [one for one in found if one is not None]


def _name(run: Any) -> str:
    """A pass by its name; `mm_to_bmm_pass` for a pattern's method `apply`."""
    name = str(getattr(run, "__name__", type(run).__name__))
    owner = getattr(run, "__self__", None)
    if name == "apply" and owner is not None:
        return str(getattr(owner, "pass_name", None) or getattr(owner, "name", None) or type(owner).__name__)
    return name.removeprefix("_maybe_").lstrip("_")


def _node(node: Any) -> str:
    names = [f"{leaf.get_name()} ({_writes(leaf)})" for leaf in _leaves(node)]
    return f"{type(node).__name__} {node.get_name()}: {', '.join(names)}"


def _leaves(node: Any) -> Iterator[Any]:
    """The nodes in a node: of a fused one those that it was made of, of a loop its body."""
    inner = node.get_nodes()
    if len(inner) == 1 and inner[0] is node:
        yield node
        return
    for one in inner:
        yield from _leaves(one)


def _writes(node: Any) -> str:
    with contextlib.suppress(Exception):
        return ", ".join(str(name) for name in node.get_buffer_names())
    return ""


def _operation(made: Any) -> dict[str, Any] | None:
    """What is known of the buffer that an operation computes; None for what runs on the host."""
    if type(made).__name__ != "ComputedBuffer":
        return None
    layout = made.layout
    name = made.get_name()
    if hasattr(layout, "target"):  # written into another buffer
        name, layout = layout.target.get_name(), layout.real_layout() if hasattr(layout, "real_layout") else layout
    device = getattr(layout, "device_layout", None)
    return {
        "name": name,
        "size": [int(n) for n in layout.size],
        "stride": [int(n) for n in layout.stride],
        "dtype": str(layout.dtype).removeprefix("torch."),
        "layout": None if device is None else described(device),
        **_origin(made),
    }


def described(layout: Any) -> dict[str, Any]:
    """A SpyreTensorLayout as plain data."""
    return {
        "device_size": list(layout.device_size),
        "stride_map": list(layout.stride_map),
        "format": layout.device_dtype.name,
        "tag": layout.element_arrangement.name,
    }


def _origin(made: Any) -> dict[str, Any]:
    """The line, the module and the ATen op that an operation comes from."""
    for node in getattr(made, "origins", ()):
        said = node.meta.get("stack_trace") or ""
        aten = str(node.target).removeprefix("aten.").partition(".")[0]
        return {"said": str(said), "aten": aten}
    return {}
