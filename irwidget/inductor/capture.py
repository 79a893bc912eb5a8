"""Run torch.compile on the user's objects in a copy of the kernel, and send back what every pass left."""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

from irwidget.errors import UnsupportedError
from irwidget.inductor import printing, private
from irwidget.inductor.data import Break, CapturedCompilation, Phase, Stopped
from irwidget.inductor.recorder import Recorder
from irwidget.toolchain.locations import is_user_file
from irwidget.toolchain.triton_archs import find
from irwidget.trace import Location


@dataclass(frozen=True)
class CaptureRequest:
    """What is to be compiled, and how."""

    obj: Any
    inputs: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict[str, Any])
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
    watched: bool = True
    """Whether the passes are looked at; otherwise only the output code is kept, for comparison."""


def capture(asked: CaptureRequest) -> CapturedCompilation:
    """Compile, in this process, which does not survive it in a state to be used for anything else."""
    started, began = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory(prefix="irwidget-inductor-") as folder:
        _settings(folder)
        if asked.arch:
            from irwidget.inductor import gpu

            gpu.install(find(asked.arch))
        captured = _Capture(asked).run()
    return replace(captured, seconds=time.perf_counter() - started, processor=time.process_time() - began)


def _settings(folder: str) -> None:
    """No caches but our own, one process, no pools of compilers."""
    import os

    os.environ["TORCHINDUCTOR_CACHE_DIR"] = folder
    os.environ["TRITON_CACHE_DIR"] = folder
    inductor = private.config(private.INDUCTOR)
    inductor.force_disable_caches = True
    inductor.compile_threads = 1
    inductor.cpp.vec_isa_ok = True
    private.put("backward_now", True)
    private.put("is_of_modules", lambda translator: False)
    private.get("dynamo_reset")()
    joint, post = private.get("joint_lazy_init"), private.get("post_grad_lazy_init")
    warm(joint, post)
    private.put("joint_lazy_init", lambda *_: None)
    private.put("post_grad_lazy_init", lambda *_: None)


def warm(joint: Any = None, post: Any = None) -> None:
    """Have Inductor trace its patterns, which every compilation of a process shares."""
    import torch

    (joint or private.get("joint_lazy_init"))(torch.device("cpu"))
    (post or private.get("post_grad_lazy_init"))()


class _Capture:
    def __init__(self, asked: CaptureRequest) -> None:
        self.asked = asked
        self.recorder = Recorder()
        self.outputs: list[str] = []
        self.codes: list[tuple[types.CodeType, types.CodeType]] = []

    def run(self) -> CapturedCompilation:
        import torch

        asked, recorder = self.asked, self.recorder
        private.get("graph_breaks").clear()
        private.wrap("create_graph", self._moved_graphs)
        private.wrap("module_of_lines", self._not_built)
        if asked.watched:
            recorder.watch()
        hook = private.get("register_bytecode_hook")(self._bytecode)
        stopped: Stopped | None = None
        code = _code_of(asked.obj)
        if code is not None:
            recorder.add("bytecode", "bytecode", printing.bytecode(code), "text")
        options: dict[str, Any] = {"backend": self._backend, "dynamic": asked.dynamic, "fullgraph": asked.fullgraph}
        gradients = torch.is_grad_enabled() if asked.grad is None else asked.grad
        try:
            with torch.set_grad_enabled(gradients):
                torch.compile(asked.obj, **options)(*asked.inputs, **asked.kwargs)
        except Exception as error:
            stopped = self._stopped(error)
        finally:
            hook.remove()
        return self._captured(stopped)

    # What is compiled

    def _backend(self, module: Any, inputs: Sequence[Any]) -> Any:
        """Dynamo's backend: let Inductor compile, and give Dynamo the graph itself to run, on the user's tensors."""
        import copy

        import torch

        kept = torch.fx.GraphModule(module, copy.deepcopy(module.graph))
        with contextlib.ExitStack() as stack:
            given = list(inputs)
            if self.asked.arch:
                from irwidget.inductor import gpu

                given = stack.enter_context(gpu.moved(module, given))
            self.recorder.begin_graph(module, given)
            if self.asked.arch:
                from irwidget.inductor import attention

                attention.put(module)
            self._compile(module, given)
        return kept.forward

    def _compile(self, module: Any, inputs: list[Any]) -> None:
        asked = self.asked
        patches = {**private.get("list_mode_options")(asked.mode or "default", asked.dynamic), **asked.patches}
        backend = asked.backend or private.get("compile_fx")
        if asked.backend is None:
            backend(module, inputs, config_patches=patches)
        else:
            with private.config(private.INDUCTOR).patch(patches):
                backend(module, inputs)

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
        """The output code is kept, and not compiled: Dynamo runs the graph instead."""

        def module(graph: Any, code: Any) -> Any:
            self.outputs.append(printing.output_code(code.value))
            return SimpleNamespace(call=lambda inputs: (), runner=None, __file__="output_code.py")

        return module

    def _guards(self) -> tuple[str, ...]:
        """What Dynamo's graphs hold for: when one of these is not true, it compiles again."""
        entries = private.get("cache_entries")
        found = [part for before, _ in self.codes for entry in entries(before) for part in
                 getattr(entry.guard_manager, "code_parts", ())]  # fmt: skip
        return tuple(dict.fromkeys(re.sub(r"0x[0-9a-f]+|\b\d{12,}\b", "...", part) for part in found))

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
            self._breaks(),
            self._guards(),
            tuple(recorder.memory),
            stopped,
            self._remarks(),
            tuple(self.outputs),
            printing.sources(files),
        )

    def _remarks(self) -> tuple[str, ...]:
        from irwidget.inductor import attention

        counts = {kernel: attention.chosen.count(kernel) for kernel in dict.fromkeys(attention.chosen)}
        said = [f"scaled_dot_product_attention is taken to the {kernel} kernel of {self.asked.arch} ({count} times)"
                for kernel, count in counts.items()]  # fmt: skip
        if self.asked.arch:
            from irwidget.inductor import gpu

            said += [f"{name} is the first of several templates: without a GPU none is timed" for name in gpu.untimed]
        return tuple(said)

    def _breaks(self) -> tuple[Break, ...]:
        return tuple(dict.fromkeys(_break(one) for one in private.get("graph_breaks")))

    def _stopped(self, error: Exception) -> Stopped:
        recorder = self.recorder
        place = printing.node_place(recorder.node) if recorder.node is not None else _user_line(error)
        phase: Phase = recorder.phase if recorder.graph >= 0 else "dynamo"
        return Stopped(_message(error), phase, place, recorder.lowered)


def _code_of(obj: Any) -> types.CodeType | None:
    import torch

    function = obj.forward if isinstance(obj, torch.nn.Module) else obj
    function = getattr(function, "__func__", function)
    return getattr(function, "__code__", None)


def _break(reason: Any) -> Break:
    """One of Dynamo's reasons why it ended a graph, with the innermost line of the user's."""
    frames = [Location(frame.filename, frame.lineno or 0) for frame in reason.user_stack or ()]
    ours = [frame for frame in frames if is_user_file(frame.file)]
    return Break(str(reason.reason).strip(), (ours or frames or [None])[-1])


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
