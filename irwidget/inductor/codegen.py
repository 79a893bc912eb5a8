"""Looks on at code generation: which line of a kernel is written for which node, and the module that comes of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from irwidget.inductor import printing, private
from irwidget.inductor.data import InductorText, Moment
from irwidget.inductor.kernels import Defined, found
from irwidget.inductor.memory import estimated
from irwidget.inductor.origins import Origins
from irwidget.inductor.recorder import Recorder
from irwidget.inductor.schedule import Drawn, drawn
from irwidget.trace import Location


class Codegen:
    """The code of one compilation, told to its recorder."""

    def __init__(self, recorder: Recorder, origins: Origins) -> None:
        self._recorder, self._origins = recorder, origins
        self._noted: dict[str, list[Location | None]] = {}
        self._noted_ops: dict[str, None] = {}
        self._defined: dict[str, Defined] = {}
        """The kernels of the module that is being written."""
        self._runs: dict[str, str] = {}
        """Operation -> the kernel that is launched for it."""
        self._ops: dict[str, Location | None] = {}

    def watch(self) -> None:
        """Look on from now on, for the rest of this process."""
        virtual = private.get("virtualized")

        def noting(original: Callable[..., Any]) -> Callable[..., Any]:
            def write(buffer: Any, line: Any) -> None:
                original(buffer, line)
                node = getattr(virtual.kernel, "current_node", None)
                if node is not None:
                    self._note(node, line if isinstance(line, str) else getattr(line, "line", ""))

            return write

        def defining(original: Callable[..., Any]) -> Callable[..., Any]:
            def define(wrapper: Any, name: str, body: str, *args: Any, **kwargs: Any) -> Any:
                self._defined[name] = Defined(tuple(self._noted_ops), self._noted, body)
                self._runs.update(dict.fromkeys(self._noted_ops, name))
                self._noted, self._noted_ops = {}, {}
                return original(wrapper, name, body, *args, **kwargs)

            return define

        def calling(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(wrapper: Any, name: str, *args: Any, **kwargs: Any) -> Any:
                self._runs.update(dict.fromkeys(self._noted_ops, name))  # written once more, and found to be there
                self._noted, self._noted_ops = {}, {}
                node = getattr(virtual.graph.scheduler, "current_node", None)
                for op in node.get_nodes() if node is not None else ():
                    self._runs.setdefault(op.get_name(), name)
                return original(wrapper, name, *args, **kwargs)

            return call

        def compiling(original: Callable[..., Any]) -> Callable[..., Any]:
            def compile(graph: Any, code: Any) -> Any:
                self._finish(graph, code)
                return original(graph, code)

            return compile

        private.wrap("writeline", noting)
        private.wrap("define_kernel", defining)
        private.wrap("generate_kernel_call", calling)
        private.wrap("module_of_lines", compiling)

    def _note(self, node: Any, text: Any) -> None:
        """A line of a kernel has been written for an operation."""
        name = node.get_name()
        if name not in self._ops:
            self._ops[name] = printing.origins_place(printing.origins_of(node))
        self._noted_ops.setdefault(name)
        origin = self._origins.current()
        place = (printing.node_place(origin) if origin is not None else None) or self._ops[name]
        for line in text.split("\n") if isinstance(text, str) else ():
            if key := line.strip():
                self._noted.setdefault(key, []).append(place)
                if value := printing.assigned(key):
                    self._noted.setdefault(value, []).append(place)

    def _finish(self, graph: Any, code: Any) -> None:
        """The output code is there: keep it, its kernels, the schedule and its memory."""
        schedule = drawn(graph, max(self._recorder.graph, 0), self._recorder.direction)
        schedule.assign(self._runs)
        self._recorder.drawn.append(schedule)
        if (memory := estimated(graph, schedule, self._unfused())) is not None:
            self._recorder.memory.append(memory)
        self._recorder.add("output code", "code", self._output_code(code, schedule), "python")
        for left in (self._noted, self._noted_ops, self._defined, self._runs, self._ops):
            left.clear()

    def _unfused(self) -> tuple[Moment, ...]:
        recorder = self._recorder
        return recorder.unfused.get((max(recorder.graph, 0), recorder.direction), ())

    def _output_code(self, code: Any, schedule: Drawn) -> InductorText:
        """The module that Inductor writes: the lines of its kernels, and those of the calls."""
        text = printing.output_code(code.value)
        places = _calls(text, [(number, printing.node_place(node)) for number, node in code.line_map])
        launched = {op.kernel: op.places[-1] for op in schedule.ops if op.places and op.kind in ("loops", "template")}
        inside = {name: op.places[-1] for op in schedule.ops if op.places and op.subgraph for name in op.writes}
        for number, line in enumerate(text.split("\n")):
            call = _RUN.match(line)
            if call and places[number] is None:  # CUDA graphs cut the calls into functions without contexts
                places[number] = launched.get(call[1])
            made = _MADE.match(line)
            if made and places[number] is None:
                places[number] = inside.get(made[1] or made[2])
        for kernel, line in found(
            text, self._defined, schedule, max(self._recorder.graph, 0), self._recorder.direction
        ):
            self._recorder.kernels.append(kernel)
            if line >= 0:
                places[line : line + len(kernel.source.places)] = kernel.source.places
        return InductorText(text, tuple(places))


_RUN = re.compile(r"\s+(\w+)(?:\.run)?\(")
"""A kernel that the output code launches."""
_MADE = re.compile(r"\s+(?:(\w+) = \S+\(|.*\bout=(\w+)\)$)")
"""A buffer that a call makes or fills: branches, loops and regions are functions without contexts, too."""


def _calls(text: str, contexts: Sequence[tuple[int, Location | None]]) -> list[Location | None]:
    """For each line of the output code that calls something, the line that the wrapper wrote it for."""
    lines = text.split("\n")
    places: list[Location | None] = [None] * len(lines)
    ends = [number for number, _ in contexts[1:]]
    for (first, place), after in zip(contexts, [*ends, len(lines) + 1], strict=False):
        for number in range(first, min(after, len(lines) + 1)):
            line = lines[number - 1].strip()
            if line.startswith("return "):
                break
            if line and not line.startswith("#"):
                places[number - 1] = place
    return places
