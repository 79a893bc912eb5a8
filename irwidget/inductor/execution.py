"""The graphs of a compilation as they come, kept to be executed at its end. Lives in a copy of the kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from irwidget.frontends import modes
from irwidget.inductor import executing
from irwidget.inductor.attributes import Changes
from irwidget.inductor.executing import Graph, Slot
from irwidget.inductor.recorder import Recorder
from irwidget.inductor.reference import first_line, own
from irwidget.trace import Verdict

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Eager:
    """What a program does as it is."""

    returned: tuple[Any, ...]
    """What it returns, flat."""
    left: Mapping[str, torch.Tensor]
    """The tensors that it changes or makes and does not return: inputs, parameters, gradients, optimizers' states."""


def _apart(code: Callable[..., Any]) -> Callable[..., Any]:
    """Code in a thread of its own: those that OpenMP has for the thread that made this copy are not in it."""

    def call(args: Any) -> Any:
        import torch

        grad, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()

        def work() -> Any:
            with torch.inference_mode(inference), torch.set_grad_enabled(grad):
                return code(args)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(work).result()

    return call


class Execution:
    """What there is to execute of one compilation, and what came of it."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._graphs: dict[int, Graph] = {}
        self._slots: dict[tuple[int, str], Slot] = {}
        self.verdicts: list[tuple[int, Verdict]] = []
        self._dynamo = Verdict("not checked", "dynamo")
        self.unbuilt = ""
        """Why code was not built."""

    def slot(self, build: Callable[[], Any] | None) -> Slot:
        """What AOTAutograd is to call for the graph that is being compiled; with its code, where that can be built."""
        recorder = self._recorder
        slot = self._slots.setdefault((recorder.graph, recorder.direction), Slot())
        slot.first = self._first()
        if build is not None and not self.unbuilt:
            try:
                slot.code = _apart(build())
            except Exception as error:
                self.unbuilt = f"{type(error).__name__}: {first_line(error)}"
        return slot

    def _first(self) -> Any:
        """The graph that is being compiled, as AOTAutograd made it."""
        recorder = self._recorder
        wanted = "partition" if recorder.direction else "aot autograd"
        found = [number for number, stage in enumerate(recorder.stages) if stage.name == wanted
                 and (stage.graph, stage.direction) == (max(recorder.graph, 0), recorder.direction)]  # fmt: skip
        return (recorder.snapshots or {}).get(found[-1]) if found else None

    def noting(self, module: Any, compiled: Any) -> Callable[..., Any]:
        """What Dynamo is to call for a graph: the graph itself, with its inputs kept."""
        number = self._recorder.graph
        slots = {direction: slot for (graph, direction), slot in self._slots.items() if graph == number}
        frozen = self._recorder.frozen.get(number, {})
        graph = self._graphs[number] = Graph(module, compiled, slots, frozen=frozen)

        def call(*args: Any) -> Any:
            if graph.calls:
                return module.forward(*args)
            graph.calls.append(own(args))
            graph.modes = modes.current()
            changes = Changes(module)
            returned = module.forward(*args)
            graph.held = changes.found()
            return returned

        return call

    def judge_dynamo(self, returned: Any, eager: Eager, state: Mapping[str, torch.Tensor]) -> None:
        """Compare what the program returns and leaves behind with Dynamo's graphs in it, and as it is."""
        dynamo = executing.of_dynamo(returned, eager.returned)
        if dynamo.ok:
            dynamo = executing.of_state(state, eager.left)
        self._dynamo = dynamo

    def _of_dynamo(self) -> Verdict:
        """What is said of Dynamo's graphs when all of them have been executed."""
        dynamo = self._dynamo
        if dynamo.state != "differs":
            return dynamo
        random = next((graph.random for graph in self._graphs.values() if graph.random), "")
        if any(executing.has_open_memory(graph.module) for graph in self._graphs.values()):
            random = "which may be memory that nothing has written"
        return replace(dynamo, state="not checked", reason=f"{dynamo.reason}, {random}") if random else dynamo

    def judge(self, *, each: bool) -> None:
        """Execute and compare everything."""
        snapshots = self._recorder.snapshots or {}
        for number, graph in self._graphs.items():
            stages = {i: one for i, one in enumerate(self._recorder.stages) if one.graph == number}
            rest = {i: one for i, one in stages.items() if one.phase != "dynamo"}
            if graph.calls:
                self.verdicts += executing.verdicts(graph, rest, snapshots, each=each)
            else:
                reason = "a graph was compiled and not called"
                self.verdicts += executing.unexecuted(rest, snapshots, reason)
        dynamo = self._of_dynamo()
        for i, stage in enumerate(self._recorder.stages):
            if stage.phase == "dynamo" and stage.graph in self._graphs:
                self.verdicts.append((i, dynamo))
