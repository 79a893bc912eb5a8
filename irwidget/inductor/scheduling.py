"""Looks on at lowering to loops and at the scheduler: loop IR after each step, what was fused, and why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

import sympy

from irwidget.inductor import printing, private
from irwidget.inductor.data import FusionRejection, Phase
from irwidget.inductor.origins import Origins
from irwidget.inductor.recorder import Recorder

_UNSAID = "the back end refuses the pair and does not say why"


class Scheduling:
    """The loop IR of one compilation, told to its recorder."""

    def __init__(self, recorder: Recorder, origins: Origins) -> None:
        self._recorder, self._origins = recorder, origins
        self._round = 0

    def watch(self) -> None:
        """Look on from now on, for the rest of this process."""
        self._watch_scheduler()
        self._watch_refusals()

    def _watch_scheduler(self) -> None:
        def lowering(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(graph: Any, node: Any) -> Any:
                self._recorder.phase = "loops"
                before, self._origins.lowering = self._origins.lowering, node
                try:
                    return original(graph, node)
                except Exception:
                    if not self._recorder.lowered:
                        self._recorder.lowered, self._recorder.node = node.format_node() or str(node), node
                    raise
                finally:
                    self._origins.lowering = before

            return run

        def shows(name: str, then: Phase, *, first: bool = False) -> Callable[..., Any]:
            def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
                def run(*args: Any, **kwargs: Any) -> Any:
                    if first:
                        self._round = 0
                    answer = original(*args, **kwargs)
                    self._add(name, args[0])
                    self._recorder.say(then)
                    return answer

                return run

            return wrap

        def fusing(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(scheduler: Any, nodes: Any, *args: Any, **kwargs: Any) -> Any:
                self._round += 1
                answer = original(scheduler, nodes, *args, **kwargs)
                self._add(f"fusion round {self._round}", answer)
                return answer

            return run

        def fused(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **kwargs: Any) -> Any:
                self._recorder.fusions += 1
                return original(*args, **kwargs)

            return run

        def changes(name: str) -> Callable[..., Any]:
            def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
                def run(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
                    answer = original(scheduler, *args, **kwargs)
                    self._add(name, scheduler.nodes)
                    return answer

                return run

            return wrap

        def reordered(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **kwargs: Any) -> Any:
                answer = original(*args, **kwargs)
                self._add("reorder_for_peak_memory", answer)
                return answer

            return run

        private.wrap("loop_text", _remembered)
        private.wrap("set_text", _remembered_sets)
        _remember_expressions()
        private.wrap("run_node", lowering)
        private.wrap("log_ir_pre_fusion", shows("lowering to loops", "loops", first=True))
        private.wrap("fuse_nodes_once", fusing)
        private.wrap("fuse_two_nodes", fused)
        private.wrap("merge_loops", changes("merge_loops"))
        private.wrap("combo_kernels", changes("create_combo_kernel_nodes"))
        private.wrap("reorder_for_peak_memory", reordered)
        private.wrap("log_ir_post_fusion", shows("schedule", "code"))

    def _add(self, name: str, nodes: Any) -> None:
        """Keep the nodes of the scheduler that is at work as the loop IR after a pass."""
        self._recorder.add(name, "loops", printing.schedule(nodes), "text", subgraph=private.subgraph())

    def _watch_refusals(self) -> None:
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
            self._recorder.fusion_rejections.append(
                FusionRejection(first, second, said, self._round, self._recorder.graph, self._recorder.direction)
            )

        def asked(original: Callable[..., Any]) -> Callable[..., Any]:
            def can_fuse(scheduler: Any, first: Any, second: Any, *args: Any, **kwargs: Any) -> Any:
                said = len(self._recorder.fusion_rejections)
                answer = original(scheduler, first, second, *args, **kwargs)
                if not answer and len(self._recorder.fusion_rejections) == said:
                    names = tuple(first.get_operation_names()), tuple(second.get_operation_names())
                    why = _unsaid(first, second)
                    self._recorder.fusion_rejections.append(
                        FusionRejection(*names, why, self._round, self._recorder.graph, self._recorder.direction)
                    )
                return answer

            return can_fuse

        why.__init__, why.__call__ = begun, refused
        private.wrap("can_fuse", asked)


def _unsaid(first: Any, second: Any) -> str:
    """Why a back end refuses a pair without a word, as that for C++ does: what its rules see in the loops of both."""
    device = first.get_device()
    if device is None or device.type != "cpu" or first.is_template() or second.is_template():
        return _UNSAID
    loops = [one.group[1] for one in (first, second)]
    if any(len(one) != 2 or not all(isinstance(part, tuple) for part in one) for one in loops):
        return _UNSAID
    waits = bool(first.get_operation_names() & second.ancestors)
    together = len(first.get_nodes()) + len(second.get_nodes())
    if not waits and together > private.config(private.INDUCTOR).cpp.max_horizontal_fusion_size:
        return f"exceeds cpp.max_horizontal_fusion_size: {together} operations together"
    shown = ", and ".join(_extents(*one) for one in loops)
    if waits and first.is_reduction():
        return f"the second waits for the whole reduction: loops of {shown}"
    return f"the loops do not match: {shown}" if loops[0] != loops[1] else _UNSAID


def _extents(kept: Sequence[Any], reduced: Sequence[Any]) -> str:
    """`8 x 64 over 32`: the extents of loops, and those that they reduce over."""
    said = " x ".join(map(str, kept)) or "one element"
    return f"{said} over {' x '.join(map(str, reduced))}" if reduced else said


def _remembered(original: Callable[..., Any]) -> Callable[..., Any]:
    """The text of a loop nest, made once: each dump shows most of those that the one before has shown."""

    def debug_str(block: Any, name: str = "block") -> str:
        key = (name, len(block.graph.nodes))
        texts = block.graph.__dict__.setdefault("_irwidget_texts", {})
        if key not in texts:
            texts[key] = original(block, name)
        return texts[key]

    return debug_str


def _remembered_sets(original: Callable[[Any], str]) -> Callable[[Any], str]:
    """The text of a set of dependencies, made once: they do not change, and most dumps show those of the one before."""
    texts: dict[tuple[int, ...], tuple[list[Any], str]] = {}

    def pformat(shown: Any) -> str:
        if not isinstance(shown, Set):
            return original(shown)
        parts: list[Any] = list(shown)
        key = tuple(map(id, parts))
        if key not in texts:
            texts[key] = (parts, original(shown))
        return texts[key][1]

    return pformat


def _remember_expressions() -> None:
    """The text of a size or an index, made once for each object: loop IR shows hundreds of them, thousands of times.

    SymPy's expressions do not change.
    """
    original: Callable[[Any], str] = sympy.Basic.__str__
    texts: dict[int, tuple[Any, str]] = {}

    def text(self: Any) -> str:
        known = texts.get(id(self))
        if known is None:
            known = texts[id(self)] = (self, original(self))
        return known[1]

    sympy.Basic.__str__ = sympy.Basic.__repr__ = text
