"""Looks on at FX graphs: what AOTAutograd makes of them, and every pass that runs on them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from irwidget.inductor import printing, private
from irwidget.inductor.data import Direction, Phase
from irwidget.inductor.memory import unfused
from irwidget.inductor.recorder import Recorder


def _keeping_places(original: Callable[..., Any]) -> Callable[..., Any]:
    """What takes the place of a node has its line, where the pass gives it none."""

    def replace(node: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(other, "meta"):  # a number, which Dynamo puts in where it has taken a float for the example's
            return original(node, other, *args, **kwargs)
        place = None if "stack_trace" in other.meta or other.op == "placeholder" else printing.node_place(node)
        replaced = original(node, other, *args, **kwargs)
        if place is not None and "stack_trace" not in other.meta:
            other.meta.setdefault(printing.REPLACED, place)
        return replaced

    return replace


class Graphs:
    """The FX graphs of one compilation, told to its recorder."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def watch(self) -> None:
        """Look on from now on, for the rest of this process."""
        self._watch_graphs()
        self._watch_passes()
        private.wrap("replace_uses", _keeping_places)

    def _watch_graphs(self) -> None:
        def pre_grad(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, inputs: Any) -> Any:
                self._enter("pre_grad", module)
                self._recorder.say("pre_grad")
                made = original(module, inputs)
                self._recorder.say("joint")
                self._recorder.add_graph("pre-grad passes", "pre_grad", made)
                return made

            return run

        def joint(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, *args: Any, **kwargs: Any) -> Any:
                outer = self._recorder.root is None or self._recorder.phase != "joint"
                if outer:
                    self._enter("joint", module)
                    self._recorder.add_graph("aot autograd", "joint", module)
                    names = (node.name for node in module.graph.find_nodes(op="placeholder"))
                    frozen = dict(zip(names, private.to_freeze(), strict=False))
                    self._recorder.frozen[self._recorder.graph] = frozen
                made = original(module, *args, **kwargs)
                if outer:
                    self._recorder.root = None
                    self._recorder.add_graph("joint-graph passes", "joint", made)
                return made

            return run

        def partition(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, *args: Any, **kwargs: Any) -> Any:
                forward, backward = original(module, *args, **kwargs)
                halves: tuple[tuple[Direction, Any], ...] = (("forward", forward), ("backward", backward))
                for direction, half in halves:
                    self._recorder.direction = direction
                    self._recorder.unfused[max(self._recorder.graph, 0), direction] = unfused(half)
                    self._recorder.add_graph("partition", "partition", half)
                self._recorder.direction = ""
                return forward, backward

            return run

        def regions(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(*args: Any, **kwargs: Any) -> Any:
                with self._recorder.unexecuted():  # what passes make of a region takes none of the graph's inputs
                    return original(*args, **kwargs)

            return run

        def directed(direction: Direction) -> Callable[..., Any]:
            def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
                def run(*args: Any, **kwargs: Any) -> Any:
                    self._recorder.direction = "" if kwargs.get("is_inference") else direction
                    self._recorder.compiled.add((self._recorder.graph, self._recorder.direction))
                    try:
                        return original(*args, **kwargs)
                    finally:
                        self._recorder.direction = ""
                        self._recorder.say("joint")

                return run

            return wrap

        def post_grad(original: Callable[..., Any]) -> Callable[..., Any]:
            def run(module: Any, *args: Any, **kwargs: Any) -> Any:
                outer = self._recorder.phase != "post_grad" or self._recorder.root is None
                if outer:
                    self._enter("post_grad", module)
                    self._recorder.say("post_grad")
                    self._recorder.add_graph("before post-grad passes", "post_grad", module)
                original(module, *args, **kwargs)
                if outer:
                    self._recorder.root = None
                    self._recorder.add_graph("post-grad passes", "post_grad", module)
                    self._recorder.say("loops")

            return run

        private.wrap("run_pre_grad_passes", pre_grad)
        private.wrap("joint_graph_passes", joint)
        private.wrap("partition_fn", partition)
        private.wrap("partition_regions", regions)
        private.wrap("compile_fx_forward", directed("forward"))
        private.wrap("compile_fx_backward", directed("backward"))
        private.wrap("post_grad_passes", post_grad)

    def _enter(self, phase: Phase, module: Any) -> None:
        self._recorder.phase, self._recorder.root = phase, module
        self._recorder.began = time.perf_counter()

    def _watch_passes(self) -> None:
        observer = private.get("observer")
        enter, leave = observer.__enter__, observer.__exit__

        def entered(one: Any) -> Any:
            self._recorder.began = time.perf_counter()
            return enter(one)

        def left(one: Any, kind: Any, *rest: Any) -> Any:
            seconds = time.perf_counter() - self._recorder.began
            answer = leave(one, kind, *rest)
            if kind is None:
                root = self._recorder.root
                inside = root is not None and any(one.gm is part for part in root.modules())
                module = root if inside else one.gm
                self._recorder.add_graph(
                    one.passname, self._recorder.phase, module, seconds=seconds, options=one.subsystem or ""
                )
            return answer

        observer.__enter__, observer.__exit__ = entered, left
