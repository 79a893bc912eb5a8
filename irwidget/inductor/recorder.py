"""Looks on while torch.compile works, and keeps what every pass leaves. Lives in a copy of the kernel.

Each `_watch_...` puts itself around functions of PyTorch's (`private.SITES`), which do what they always do.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from irwidget.inductor import printing, private
from irwidget.inductor.data import (
    Direction,
    FusionRejection,
    InductorStage,
    InductorText,
    Kernel,
    MemoryEstimate,
    Phase,
    Stopped,
)
from irwidget.inductor.kernels import found
from irwidget.inductor.memory import estimated
from irwidget.inductor.origins import Origins
from irwidget.inductor.schedule import Drawn, drawn
from irwidget.trace import Location

_UNSAID = "the back end refuses the pair and does not say why"


class Recorder:
    """What has been seen of one compilation so far."""

    def __init__(self) -> None:
        self.stages: list[InductorStage] = []
        self.kernels: list[Kernel] = []
        self.drawn: list[Drawn] = []
        """The final schedules."""
        self.fusion_rejections: list[FusionRejection] = []
        self.fusions = 0
        self.memory: list[MemoryEstimate] = []
        self.phase: Phase = "dynamo"
        self.graph = -1
        self.direction: Direction = ""
        self.node: Any = None
        """The FX node that is being lowered."""
        self.lowered = ""
        """Its line, when it is the one that cannot be lowered."""
        self.stopped: Stopped | None = None
        self._origins = Origins()
        self._round = 0
        self._began = time.perf_counter()
        self._root: Any = None
        self._noted: dict[str, list[Location | None]] = {}
        self._noted_ops: dict[str, None] = {}
        self._defined: dict[str, tuple[tuple[str, ...], dict[str, list[Location | None]]]] = {}
        """The kernels of the module that is being written: their operations, and the lines noted for them."""
        self._runs: dict[str, str] = {}
        """Operation -> the kernel that is launched for it."""
        self._ops: dict[str, Location | None] = {}

    def add(
        self,
        name: str,
        phase: Phase,
        content: InductorText,
        language: str = "fx",
        *,
        seconds: float = -1,
        options: str = "",
    ) -> None:
        """Keep a text as the IR after a pass. Without `seconds`, it took as long as has passed since the last one."""
        self.phase = phase
        took = seconds if seconds >= 0 else time.perf_counter() - self._began
        stage = InductorStage(name, phase, language, content, max(self.graph, 0), self.direction, took, options)
        self.stages.append(stage)
        self._began = time.perf_counter()

    def add_graph(self, name: str, phase: Phase, module: Any, **more: Any) -> None:
        """Keep an FX graph."""
        self.add(name, phase, printing.graph(module), **more)

    # FX

    def begin_graph(self, module: Any, inputs: Sequence[Any]) -> None:
        """Dynamo has made another graph."""
        self.graph += 1
        self.direction = ""
        self.add_graph("dynamo", "dynamo", module)

    def watch(self) -> None:
        """Look on from now on, for the rest of this process."""
        self._origins.watch()
        self._watch_graphs()
        self._watch_passes()
        self._watch_scheduler()
        self._watch_code()

    def _watch_graphs(self) -> None:
        def pre_grad(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, inputs: Any) -> Any:
                self._enter("pre_grad", module)
                made = original(module, inputs)
                self.add_graph("pre-grad passes", "pre_grad", made)
                return made

            return run

        def joint(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, *args: Any, **kwargs: Any) -> Any:
                outer = self._root is None or self.phase != "joint"
                if outer:
                    self._enter("joint", module)
                    self.add_graph("aot autograd", "joint", module)
                made = original(module, *args, **kwargs)
                if outer:
                    self._root = None
                    self.add_graph("joint-graph passes", "joint", made)
                return made

            return run

        def partition(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, *args: Any, **kwargs: Any) -> Any:
                forward, backward = original(module, *args, **kwargs)
                self.direction = "forward"
                self.add_graph("partition", "partition", forward)
                self.direction = "backward"
                self.add_graph("partition", "partition", backward)
                self.direction = ""
                return forward, backward

            return run

        def directed(direction: Direction) -> Callable[..., Any]:
            def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
                def run(*args: Any, **kwargs: Any) -> Any:
                    self.direction = "" if kwargs.get("is_inference") else direction
                    try:
                        return original(*args, **kwargs)
                    finally:
                        self.direction = ""

                return run

            return wrap

        def post_grad(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, *args: Any, **kwargs: Any) -> Any:
                outer = self.phase != "post_grad" or self._root is None
                if outer:
                    self._enter("post_grad", module)
                    self.add_graph("before post-grad passes", "post_grad", module)
                original(module, *args, **kwargs)
                if outer:
                    self._root = None
                    self.add_graph("post-grad passes", "post_grad", module)

            return run

        private.wrap("run_pre_grad_passes", pre_grad)
        private.wrap("joint_graph_passes", joint)
        private.wrap("partition_fn", partition)
        private.wrap("compile_fx_forward", directed("forward"))
        private.wrap("compile_fx_backward", directed("backward"))
        private.wrap("post_grad_passes", post_grad)

    def _enter(self, phase: Phase, module: Any) -> None:
        self.phase, self._root = phase, module
        self._began = time.perf_counter()

    def _watch_passes(self) -> None:
        observer = private.get("observer")
        enter, leave = observer.__enter__, observer.__exit__

        def entered(one: Any) -> Any:
            self._began = time.perf_counter()
            return enter(one)

        def left(one: Any, kind: Any, *rest: Any) -> Any:
            seconds = time.perf_counter() - self._began
            answer = leave(one, kind, *rest)
            if kind is None:
                inside = self._root is not None and any(one.gm is part for part in self._root.modules())
                module = self._root if inside else one.gm
                self.add_graph(one.passname, self.phase, module, seconds=seconds, options=one.subsystem or "")
            return answer

        observer.__enter__, observer.__exit__ = entered, left

    # Loops

    def _watch_scheduler(self) -> None:
        def lowering(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(graph: Any, node: Any) -> Any:
                self.phase = "loops"
                before, self._origins.lowering = self._origins.lowering, node
                try:
                    return original(graph, node)
                except Exception:
                    if not self.lowered:
                        self.lowered, self.node = node.format_node() or str(node), node
                    raise
                finally:
                    self._origins.lowering = before

            return run

        def shows(name: str, where: int = 0, *, first: bool = False) -> Callable[..., Any]:
            def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
                def run(*args: Any, **kwargs: Any) -> Any:
                    if first:
                        self._round = 0
                    answer = original(*args, **kwargs)
                    self.add(name, "loops", printing.schedule(args[where]), "text")
                    return answer

                return run

            return wrap

        def fusing(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(scheduler: Any, nodes: Any, *args: Any, **kwargs: Any) -> Any:
                self._round += 1
                answer = original(scheduler, nodes, *args, **kwargs)
                self.add(f"fusion round {self._round}", "loops", printing.schedule(answer), "text")
                return answer

            return run

        def fused(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **kwargs: Any) -> Any:
                self.fusions += 1
                return original(*args, **kwargs)

            return run

        def changes(name: str) -> Callable[..., Any]:
            def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
                def run(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
                    answer = original(scheduler, *args, **kwargs)
                    self.add(name, "loops", printing.schedule(scheduler.nodes), "text")
                    return answer

                return run

            return wrap

        def reordered(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **kwargs: Any) -> Any:
                answer = original(*args, **kwargs)
                self.add("reorder_for_peak_memory", "loops", printing.schedule(answer), "text")
                return answer

            return run

        private.wrap("loop_text", _remembered)
        private.wrap("run_node", lowering)
        private.wrap("log_ir_pre_fusion", shows("lowering to loops", first=True))
        private.wrap("fuse_nodes_once", fusing)
        private.wrap("fuse_two_nodes", fused)
        private.wrap("merge_loops", changes("merge_loops"))
        private.wrap("combo_kernels", changes("create_combo_kernel_nodes"))
        private.wrap("reorder_for_peak_memory", reordered)
        private.wrap("log_ir_post_fusion", shows("schedule"))
        self._watch_fusion_rejections()

    def _watch_fusion_rejections(self) -> None:
        why = private.get("why_no_fuse")
        begin, refuse = why.__init__, why.__call__
        nodes: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}

        def begun(one: Any, first: Any, second: Any) -> None:
            begin(one, first, second)
            nodes[id(one)] = (tuple(first.get_operation_names()), tuple(second.get_operation_names()))

        def refused(one: Any, reason: str, *args: Any) -> None:
            refuse(one, reason, *args)
            first, second = nodes.get(id(one), ((one.name1,), (one.name2,)))
            said = reason % args if args else reason
            self.fusion_rejections.append(FusionRejection(first, second, said, self._round, self.graph, self.direction))

        def asked(original: Callable[..., Any]) -> Callable[..., Any]:
            def can_fuse(scheduler: Any, first: Any, second: Any, *args: Any, **kwargs: Any) -> Any:
                said = len(self.fusion_rejections)
                answer = original(scheduler, first, second, *args, **kwargs)
                if not answer and len(self.fusion_rejections) == said:  # the back end for C++ does not say why
                    names = tuple(first.get_operation_names()), tuple(second.get_operation_names())
                    self.fusion_rejections.append(
                        FusionRejection(*names, _UNSAID, self._round, self.graph, self.direction)
                    )
                return answer

            return can_fuse

        why.__init__, why.__call__ = begun, refused
        private.wrap("can_fuse", asked)

    # Code

    def _watch_code(self) -> None:
        virtual = private.get("virtualized")

        def noting(original: Callable[..., Any]) -> Callable[..., Any]:
            def write(buffer: Any, line: Any) -> None:
                original(buffer, line)
                node = getattr(virtual.kernel, "current_node", None)
                if node is not None:
                    self._note(node, line if isinstance(line, str) else getattr(line, "line", ""))

            return write

        def defining(original: Callable[..., Any]) -> Callable[..., Any]:
            def define(wrapper: Any, name: str, *args: Any, **kwargs: Any) -> Any:
                self._defined[name] = (tuple(self._noted_ops), self._noted)
                self._runs.update(dict.fromkeys(self._noted_ops, name))
                self._noted, self._noted_ops = {}, {}
                return original(wrapper, name, *args, **kwargs)

            return define

        def calling(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(wrapper: Any, name: str, *args: Any, **kwargs: Any) -> Any:
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
        schedule = drawn(graph, max(self.graph, 0), self.direction)
        schedule.assign(self._runs)
        self.drawn.append(schedule)
        if (memory := estimated(graph, schedule)) is not None:
            self.memory.append(memory)
        self.add("output code", "code", self._output_code(code, schedule), "python")
        for left in (self._noted, self._noted_ops, self._defined, self._runs, self._ops):
            left.clear()

    def _output_code(self, code: Any, schedule: Drawn) -> InductorText:
        """The module that Inductor writes: the lines of its kernels, and those of the calls."""
        text = printing.output_code(code.value)
        places = _calls(text, [(number, printing.node_place(node)) for number, node in code.line_map])
        launched = {op.kernel: op.places[-1] for op in schedule.ops if op.places and op.kind in ("loops", "template")}
        for number, line in enumerate(text.split("\n")):
            call = _RUN.match(line)
            if call and places[number] is None:  # CUDA graphs cut the calls into functions without contexts
                places[number] = launched.get(call[1])
        for kernel, line in found(text, self._defined, schedule, max(self.graph, 0), self.direction):
            self.kernels.append(kernel)
            places[line : line + len(kernel.source.places)] = kernel.source.places
        return InductorText(text, tuple(places))


_RUN = re.compile(r"\s+(\w+)(?:\.run)?\(")
"""A kernel that the output code launches."""


def _remembered(original: Callable[..., Any]) -> Callable[..., Any]:
    """The text of a loop nest, made once: each dump shows most of those that the one before has shown."""

    def debug_str(block: Any, name: str = "block") -> str:
        key = (name, len(block.graph.nodes))
        texts = block.graph.__dict__.setdefault("_irwidget_texts", {})
        if key not in texts:
            texts[key] = original(block, name)
        return texts[key]

    return debug_str


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
