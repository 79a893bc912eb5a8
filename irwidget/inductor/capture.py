"""Run torch.compile on the user's objects in a copy of the kernel, and send back what every pass left."""

from __future__ import annotations

import contextlib
import re
import time
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

from irwidget.errors import UnsupportedError
from irwidget.frontends import held, modes
from irwidget.frontends.cell import Call
from irwidget.inductor import attributes, printing, private, settings
from irwidget.inductor.breaks import Breaks
from irwidget.inductor.codegen import Codegen
from irwidget.inductor.data import CapturedCompilation, Phase, Stopped
from irwidget.inductor.execution import Eager, Execution
from irwidget.inductor.graphs import Graphs
from irwidget.inductor.guards import Guards
from irwidget.inductor.memory import unfused
from irwidget.inductor.origins import Origins
from irwidget.inductor.recorder import Recorder
from irwidget.inductor.rewrites import Rewrites
from irwidget.inductor.scheduling import Scheduling
from irwidget.toolchain import scratch
from irwidget.toolchain.locations import is_user_file
from irwidget.toolchain.triton_archs import find
from irwidget.trace import Location

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class CaptureRequest:
    """What is to be compiled, and how."""

    obj: Any
    inputs: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    again: Sequence[Call] = ()
    """Further calls, for which it may be compiled again."""
    in_place: bool = False
    """Whether it is compiled as `Module.compile` does it."""
    arch: str | None = None
    """The GPU; None for the CPU."""
    mode: str | None = None
    dynamic: bool | None = None
    fullgraph: bool = False
    patches: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings of torch._inductor.config."""
    grad: bool | None = None
    """Whether gradients are wanted; None: as the kernel's mode says."""
    backend: Any = None
    """A backend of the user's in place of Inductor."""
    instead_of: str = ""
    """What torch.compile was told that gives way to Inductor: `backend='eager'`, `use_aoti=True`."""
    further: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """What else torch.compile is told, by name; `guard_filter_fn` is one of its options."""
    watched: bool = True
    """Whether the passes are looked at; otherwise only the output code is kept, for comparison."""
    execute: Literal["", "graphs", "code"] = ""
    """What is executed on the inputs and compared: nothing, FX graphs, or the CPU's code, too."""
    each: bool = False
    """Whether each graph is executed; otherwise those that it takes for a verdict."""
    eager: Eager | None = None
    """What eager PyTorch does with the inputs, where something is executed."""
    threads: int = field(default_factory=lambda: _threads())
    """The threads that C++ is written for: those of the kernel, of which a copy has one."""

    def gradients(self) -> AbstractContextManager[object]:
        """The grad mode that is asked for; that of the call where none is."""
        import torch

        return torch.set_grad_enabled(torch.is_grad_enabled() if self.grad is None else self.grad)


def capture(asked: CaptureRequest) -> CapturedCompilation:
    """Compile, in this process, which does not survive it in a state to be used for anything else."""
    started, began = time.perf_counter(), time.process_time()
    private.uncompile(asked.obj)
    with scratch.folder() as folder:
        settings.put(folder, asked.threads)
        if asked.arch:
            from irwidget.inductor import gpu

            gpu.install(find(asked.arch))
        captured = _Capture(asked).run()
    return replace(captured, seconds=time.perf_counter() - started, processor=time.process_time() - began)


def eager(asked: CaptureRequest) -> Eager:
    """What the object returns as it is, and leaves behind, in this process, as `capture`. Raises what it raises."""
    import torch

    from irwidget.private_torch import called_as_written, pytree

    private.uncompile(asked.obj)
    before = {name: (one, one.detach().clone()) for name, one in _state(asked).items()}
    with called_as_written(), asked.gradients():
        returned = asked.obj(*asked.inputs, **asked.kwargs)
    leaves: list[Any] = pytree.tree_leaves(returned)
    after = _state(asked)
    kept = {name for name, (one, old) in before.items() if after.get(name) is one and attributes.same(one, old)}
    return Eager(
        tuple(one.detach() if isinstance(one, torch.Tensor) else one for one in leaves),
        {name: one.detach() for name, one in after.items() if name not in kept},
    )


def _state(asked: CaptureRequest) -> dict[str, torch.Tensor]:
    """The tensors that a program can change, by what they are: the same names in copies of one process."""
    from irwidget.private_torch import pytree

    given = pytree.tree_leaves((asked.inputs, asked.kwargs))
    inputs = {f"input {number}": one for number, one in enumerate(given) if held.is_plain(one)}
    return {**inputs, **held.state(asked.obj)}


class _Capture:
    def __init__(self, asked: CaptureRequest) -> None:
        self.asked = asked
        self.recorder = Recorder(snapshots=bool(asked.execute))
        self.outputs: list[str] = []
        self.execution = Execution(self.recorder) if asked.execute else None
        self.guards = Guards()
        self.codes: list[tuple[types.CodeType, types.CodeType]] = []
        self.failed: Exception | None = None
        """What Inductor raised: Dynamo keeps some kinds to itself, and runs the frame as it is."""
        self.given_up: dict[int, Exception] = {}
        """By graph, what Inductor raised of the kinds after which Dynamo warns and goes on without that graph."""
        self.breaks = Breaks()

    def run(self) -> CapturedCompilation:
        import torch

        asked, recorder = self.asked, self.recorder
        self.breaks.watch()
        private.wrap("create_graph", self._moved_graphs)
        private.wrap("module_of_lines", self._not_built)
        if asked.watched:
            origins = Origins()
            origins.watch()
            for one in (
                Graphs(recorder),
                Rewrites(recorder),
                Scheduling(recorder, origins),
                Codegen(recorder, origins),
            ):
                one.watch()
        self.guards.watch()
        hook = private.get("register_bytecode_hook")(self._bytecode)
        stopped: Stopped | None = None
        code = _code_of(asked.obj)
        if code is not None:
            recorder.add("bytecode", "bytecode", printing.bytecode(code), "text")

        def backend(module: Any, inputs: Sequence[Any]) -> Any:
            return self._backend(module, inputs)

        backend.__name__ = "inductor" if asked.backend is None else _name(asked.backend)  # Dynamo's messages have it
        options: dict[str, Any] = {"dynamic": asked.dynamic, "fullgraph": asked.fullgraph, **asked.further}
        if "guard_filter_fn" in options:
            options["options"] = {"guard_filter_fn": options.pop("guard_filter_fn")}
        try:
            # oneDNN's operations are the CPU's: what PyTorch's C++ would choose of them is in no graph for a GPU.
            onednn = torch.backends.mkldnn.flags(enabled=False) if asked.arch else contextlib.nullcontext()
            with asked.gradients(), onednn:
                recorder.say("dynamo")
                whole = private.call_of(asked.obj) if asked.in_place else asked.obj
                compiled = torch.compile(whole, backend=backend, **options)
                returned = compiled(*asked.inputs, **asked.kwargs)
                if self.execution is not None and asked.eager is not None:
                    self.execution.judge_dynamo(returned, asked.eager, _state(asked))
                for call in asked.again:
                    with call.modes(), asked.gradients():
                        compiled(*call.args, **call.kwargs)
                self._check_whole()
                if self.execution is not None:
                    with modes.USUAL():
                        self.execution.judge(each=asked.each)
        except Exception as error:
            stopped = self._stopped(error)
        finally:
            hook.remove()
        return self._captured(stopped)

    # What is compiled

    def _backend(self, module: Any, inputs: Sequence[Any]) -> Any:
        """Dynamo's backend: let Inductor compile, and give Dynamo the graph itself to run, on the user's tensors."""
        kept = _copied(module)
        with contextlib.ExitStack() as stack:
            given = list(inputs)
            if self.asked.arch:
                from irwidget.inductor import gpu

                given = stack.enter_context(gpu.moved(module, given))
            self.recorder.begin_graph(module)
            if self.asked.watched:
                self.recorder.unfused[self.recorder.graph, ""] = unfused(module)
            if self.asked.arch:
                from irwidget.inductor import attention

                attention.put(module)
            try:
                compiled = self._compile(module, given)
                self.recorder.say("dynamo")
            except private.get("RestartAnalysis"):
                self.recorder.restarted.add(self.recorder.graph)
                raise
            except private.get("left_to_eager") as error:
                self.given_up[self.recorder.graph] = error
                raise
            except Exception as error:
                self.failed = error
                raise
        return kept.forward if self.execution is None else self.execution.noting(kept, compiled)

    def _compile(self, module: Any, inputs: list[Any]) -> Any:
        asked = self.asked
        patches = {**private.get("list_mode_options")(asked.mode or "default", asked.dynamic), **asked.patches}
        backend = asked.backend or private.get("compile_fx")
        if asked.backend is None:
            return backend(module, inputs, config_patches=patches)
        with private.config(private.INDUCTOR).patch(patches):
            return backend(module, inputs)

    def _check_whole(self) -> None:
        """Raises what kept a graph from being compiled, or a graph in two halves from having both."""
        if self.failed is not None:
            raise self.failed
        if self.given_up and not self.outputs:
            raise next(reversed(self.given_up.values()))
        if not self.asked.watched or self.asked.backend is not None:
            return
        halves = {(stage.graph, stage.direction) for stage in self.recorder.stages if stage.direction}
        for graph, direction in sorted(halves - self.recorder.compiled):
            if graph in self.given_up:
                continue
            raise RuntimeError(f"AOTAutograd did not have the {direction} half of graph {graph} compiled")

    def _moved_graphs(self, original: Any) -> Any:
        """AOTAutograd's graph, whose constants were traced on the CPU, on the GPU with the rest."""

        def create(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            if self.asked.arch:
                from irwidget.inductor import gpu

                gpu.relabel(made)
            return made

        return create

    def _not_built(self, original: Any) -> Any:
        """The output code is kept, and compiled only to be executed: Dynamo runs the graph instead."""

        def module(graph: Any, code: Any) -> Any:
            self.outputs.append(printing.output_code(code.value))
            call: Callable[[Any], Any] = lambda inputs: ()  # noqa: E731
            if self.execution is not None:
                build = self.asked.execute == "code"
                call = self.execution.slot((lambda: original(graph, code).call) if build else None)
            return SimpleNamespace(call=call, runner=None, __file__="output_code.py")

        return module

    def _bytecode(self, before: types.CodeType, after: types.CodeType) -> None:
        self.codes.append((before, after))

    # What is known at the end

    def _captured(self, stopped: Stopped | None) -> CapturedCompilation:
        recorder = self.recorder
        ops = tuple(op for schedule in recorder.drawn for op in schedule.ops)
        files = {place.file: None for stage in recorder.stages for place in stage.content.places if place is not None}
        return CapturedCompilation(
            tuple(recorder.stages),
            tuple(recorder.kernels),
            ops,
            tuple(recorder.fusion_rejections),
            recorder.fusions,
            self.breaks.found(),
            self.guards.held(before for before, _ in self.codes),
            self.guards.recompilations(),
            tuple(recorder.rewrites),
            tuple(recorder.memory),
            stopped,
            self._remarks(),
            tuple(self.outputs),
            printing.sources(files),
            tuple(self.execution.verdicts) if self.execution else (),
            self.execution.unbuilt if self.execution else "",
            frozenset(recorder.restarted),
        )

    def _remarks(self) -> tuple[str, ...]:
        from irwidget.inductor import attention

        said = [f"graph {number} is given up in AOTAutograd: Dynamo takes numbers of Python's in it for constants, and "
                f"begins anew as graph {number + 1}" for number in sorted(self.recorder.restarted)]  # fmt: skip
        said += [f"scaled_dot_product_attention is taken to the {kernel} kernel of {self.asked.arch}"
                for kernel in dict.fromkeys(attention.chosen)]  # fmt: skip
        if self.asked.instead_of:
            kind = "Inductor with cpp_wrapper=True" if self.asked.instead_of == "use_aoti=True" else "Inductor"
            said.append(f"torch.compile was told {self.asked.instead_of}, which gives way to {kind} here")
        if self.asked.backend is not None and not self.outputs:
            said.append(f"the backend {_name(self.asked.backend)} has Inductor generate no code")
        if self.asked.arch:
            from irwidget.inductor import gpu

            said += [f"{name} is the first of several templates: without a GPU none is timed" for name in gpu.untimed]
            said += [f"{name} is not launched: what it writes has no values for code after a graph break"
                     for name in gpu.unlaunched]  # fmt: skip
            if _has_recurrent(self.asked.obj):
                said.append("RNN, LSTM and GRU are taken apart into operations: cuDNN's kernels are never taken")
        return tuple(said)

    def _stopped(self, error: Exception) -> Stopped:
        recorder = self.recorder
        place = printing.node_place(recorder.node) if recorder.node is not None else _user_line(error)
        lowered = recorder.lowered
        if recorder.broken is not None and recorder.broken[0] is getattr(error, "inner_exception", error):
            _, place, lowered = recorder.broken
        phase: Phase = recorder.phase if recorder.graph >= 0 else "dynamo"
        said = _message(error)
        if self.asked.arch and (takes := _TAKES_GPU.search(said)):
            said = f"{takes[1]} takes a GPU: torch.compile runs it on {self.asked.arch} while it traces the program."
            said += "\n  Lower it without --arch, for the CPU."
            said += " A gradient that is sparse is such: --grad no has none, sparse=False a dense one."
        if isinstance(getattr(error, "inner_exception", error), private.get("SkipFrame")):  # bfloat16 before sm_80
            said = f"torch.compile leaves this program to eager PyTorch on {self.asked.arch}: {said.split(': ')[-1]}"
            said += "\n  Lower it for another architecture (sm_80 and later have bfloat16), or in another dtype."
        if error in self.given_up.values():
            said += (
                "\n  torch.compile goes on after this: it warns, and leaves the whole of that frame to eager PyTorch."
            )
        return Stopped(said, phase, place, lowered)


def _threads() -> int:
    import torch

    return torch.get_num_threads()


def _name(backend: Any) -> str:
    return getattr(backend, "__name__", None) or type(backend).__name__


def _copied(module: Any) -> Any:
    """A graph with its own nodes and those of the graphs in it, on the same tensors; its regions are inlined."""
    import copy

    import torch

    from irwidget.inductor import regions

    graph = copy.deepcopy(module.graph)
    for node in graph.nodes:
        if regions.is_region(node.target):
            node.target = regions.inlined
    made = torch.fx.GraphModule(module, graph)
    for name, part in made.named_children():
        if isinstance(part, torch.fx.GraphModule):
            setattr(made, name, _copied(part))
    return made


_TAKES_GPU = re.compile(r"Could not run '(aten::[\w.]+)' with arguments from the '\w*CUDA' backend")
"""What PyTorch's C++ says where it makes a tensor on the device itself, which a build for the CPU does not have."""


def _has_recurrent(obj: Any) -> bool:
    """Whether a model has an RNN, LSTM or GRU of PyTorch's."""
    import torch

    return isinstance(obj, torch.nn.Module) and any(isinstance(one, torch.nn.RNNBase) for one in obj.modules())


def _code_of(obj: Any) -> types.CodeType | None:
    import torch

    function = obj.forward if isinstance(obj, torch.nn.Module) else obj
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", None)


def _message(error: Exception) -> str:
    """What torch says, without its advice on environment variables."""
    text = str(error).split("\n\nSet TORCHDYNAMO_VERBOSE")[0].split("\n\nYou can suppress")[0]
    return f"{type(error).__name__}: {text.strip()}"


def _user_line(error: BaseException) -> Location | None:
    from irwidget.frontends.torch import user_line

    stack = getattr(error, "real_stack", None)
    ours = [frame for frame in stack or () if is_user_file(frame.filename)]
    return Location(ours[-1].filename, ours[-1].lineno) if ours else user_line(error)


def check_machine() -> None:
    """Raises UnsupportedError where a process cannot be copied: all of this changes the torch of its process."""
    from irwidget.toolchain import forked

    if not forked.available(cuda=False):
        raise UnsupportedError("torch.compile is opened in a copy of the process, which takes Linux")
