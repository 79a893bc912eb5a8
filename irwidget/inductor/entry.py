"""torch.compile as irwidget registers it: front end, options and IR types. Imports neither torch nor Triton."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from irwidget.errors import IRWidgetError, ToolError
from irwidget.frontends import base
from irwidget.frontends.base import Begun, FrontEnd, Given, KernelBegun, Made
from irwidget.inductor.options import arch_of, patches
from irwidget.registry import Target, option
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Trace, Verdict, not_checked

if TYPE_CHECKING:
    from irwidget.inductor.data import CapturedCompilation


@dataclass(frozen=True, kw_only=True)
class CompileOptions:
    """The options of torch.compile's IR types."""

    arch: str | None = option(
        None, "the GPU: sm_80, sm_90, gfx942 ...; the CPU when not given", says="a text, as in 'sm_90'", metavar="ARCH"
    )
    mode: Literal["default", "reduce-overhead", "max-autotune-no-cudagraphs"] = option(
        "default", "torch.compile's mode"
    )
    dynamic: bool | None = option(
        None,
        "dynamic shapes: yes or no; as torch.compile decides when not given",
        read=lambda word: _yes(word),
        bare=True,
    )
    fullgraph: bool = option(False, "one graph, or an error")
    grad: bool | None = option(
        None, "gradients: yes or no; as the kernel's grad mode when not given", read=lambda word: _yes(word), bare=True
    )
    patches: str | Mapping[str, Any] | None = option(
        None,
        "settings of torch._inductor.config by name: 'epilogue_fusion=False, triton.max_tiles=2'",
        says="settings by name, as in 'epilogue_fusion=False'",
        allows=lambda value: value is None or isinstance(value, str | Mapping),
        read=str,
        metavar="SETTINGS",
    )
    config: str | int | None = option(
        None, "which of a kernel's configurations: its number, or XBLOCK=128", read=str, allows=lambda _: True
    )
    again: Sequence[Any] | None = option(
        None,
        "inputs of further calls, for what is compiled again: [(x2, y2), ...]",
        says="a list of inputs, as in [(x, y)]",
        allows=lambda value: value is None or isinstance(value, list | tuple),
    )


def _yes(word: str) -> bool:
    known = {"yes": True, "true": True, "no": False, "false": False}
    if word.lower() not in known:
        raise ValueError(word)
    return known[word.lower()]


def _target(name: str, language: str, summary: str, *needs: str) -> Target:
    return Target(
        name,
        "pytorch",
        language,
        summary=summary,
        options=CompileOptions,
        front_end="inductor",
        needs=needs,
        in_all=False,
    )


TARGETS = (
    _target("dynamo_fx", "fx", "Dynamo's graphs, from the bytecode"),
    _target("aot_joint", "fx", "AOTAutograd's joint graph of forward and backward"),
    _target("aot_forward", "fx", "the forward graph after partitioning"),
    _target("aot_backward", "fx", "the backward graph after partitioning"),
    _target("inductor_fx", "fx", "the graphs after Inductor's post-grad passes"),
    _target("inductor_loop_ir", "text", "Inductor's loop IR, fused and scheduled"),
    _target("inductor_python", "python", "Inductor's output code"),
    _target("inductor_cpp", "text", "Inductor's C++ kernels for the CPU"),
    _target("inductor_triton", "python", "Inductor's Triton kernels", "triton"),
    _target("inductor_ttgir", "mlir", "TTGIR of Inductor's Triton kernels", "triton"),
    _target("inductor_ptx", "ptx", "PTX of Inductor's Triton kernels", "triton"),
    _target("inductor_amdgcn", "amdgcn", "AMD assembly of Inductor's Triton kernels", "triton"),
    _target("inductor_sass", "sass", "SASS of Inductor's Triton kernels", "triton"),
)
NAMES = frozenset(target.name for target in TARGETS)


class _Compilation(KernelBegun):
    """An object under torch.compile, compiled once for each device."""

    def __init__(self, front_end: FrontEnd, given: Given) -> None:
        super().__init__(front_end, given)
        self._captured: dict[str | None, CapturedCompilation] = {}
        self._executions: dict[tuple[str | None, str], CapturedCompilation] = {}

    def captured(self, target: str) -> CapturedCompilation:
        """What torch.compile does to it for the device of an IR type."""
        from irwidget.inductor import lowering

        arch = arch_of(target, self.given.options)
        if arch not in self._captured:
            self._captured[arch] = lowering.captured(self.given, arch)
        return self._captured[arch]

    def make(self, target: Target, options: Options) -> Made:
        from irwidget.inductor import lowering
        from irwidget.inductor.why import Compilation

        captured = self.captured(target.name)
        arch = arch_of(target.name, self.given.options)
        trace = lowering.trace(captured, target.name, arch, self.given, options)
        return Made(trace, {"compilation": Compilation(captured)})

    def kept(self, made: Made) -> Mapping[str, Any]:
        return made.results

    def verdict(self, target: Target, trace: Trace, options: Options, source: Source | None = None) -> Verdict:
        from irwidget.inductor import checks
        from irwidget.toolchain import forked

        if source is not None:
            return not_checked(f"{target.name} is executed as torch.compile makes it, not as it was edited")
        arch = arch_of(target.name, self.given.options)
        try:
            executed = self._executed(arch, checks.executes(target.name, arch))
        except (ToolError, forked.Died) as error:
            return not_checked(f"it could not be executed: {error}")
        except (IRWidgetError, forked.TimedOut):
            raise
        except Exception as error:
            said = next(iter(str(error).strip().splitlines()), "")
            return not_checked(f"eager PyTorch fails: {type(error).__name__}: {said}".rstrip(": "))
        return checks.verdict(executed, trace, target.name, arch, each=self.given.check == "each")

    def _executed(self, arch: str | None, what: Literal["graphs", "code"]) -> CapturedCompilation:
        """A compilation whose graphs and code were executed."""
        from irwidget.inductor import lowering

        key = (arch, what)
        if key not in self._executions:
            self._executions[key] = lowering.captured(self.given, arch, what)
        return self._executions[key]


class Inductor(FrontEnd):
    """Takes modules, functions and what torch.compile makes of them."""

    name = "inductor"
    starts_from = "a PyTorch model, for torch.compile"
    packages = ("torch",)
    needs_torch = True
    without_dynamic_shapes = "torch.compile has dynamic=True, or --dynamic yes"

    def function(self, obj: Any) -> Any:
        return super().function(getattr(obj, "obj", obj))

    def recognises(self, obj: Any) -> bool:
        from irwidget.inductor.cells import Compiled

        return isinstance(obj, Compiled)

    def takes_over(self, obj: Any, target: Target) -> bool:
        return False

    def plan(self, wanted: Sequence[Target], options: Mapping[str, Any], route: str) -> list[Target]:
        planned = super().plan(wanted, options, route)
        for target in wanted:
            if target.name in NAMES:
                arch_of(target.name, options)
        patches(options.get("patches"))
        return planned

    def begin(self, given: Given) -> Begun:
        return _Compilation(self, given)

    def watched(self, source: str, note: base.Note) -> AbstractContextManager[object]:
        """Where a cell is lowered to an IR type of ours, what torch.compile makes says its inputs when called."""
        from irwidget.inductor import cells

        magic = source.split("\n", 1)[0]
        if not any(name in magic for name in NAMES) or "compile" not in source:
            return contextlib.nullcontext()
        return cells.calls(note)


FRONT_END = Inductor()
