"""A launch of a Triton kernel as data, and the IR that it compiles to first.

Nothing here needs a GPU: the arguments are kept as what specialisation looks at
(type, alignment, size), so one launch can be compiled for any architecture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from irwidget.frontends.triton.front_end import ttir
from irwidget.frontends.triton.specialization import Specialization, specialize
from irwidget.toolchain import triton_settings
from irwidget.toolchain.run import Source
from irwidget.toolchain.triton_archs import find
from irwidget.toolchain.triton_settings import Settings
from irwidget.trace import Diagnostic, Location


@dataclass(frozen=True, slots=True)
class LaunchComparison:
    """A comparison of the user's own: `torch.testing.assert_close(y, x + x)`."""

    place: Location | None
    equal: bool | None
    """None where the cell reads how far they are apart and does not say how far they may be."""
    said: str = ""
    """In what they differ, or how far."""
    doubt: str = ""
    """Why what launches have written before is left to chance."""
    exact: bool = True
    """Whether what the launch has written is compared, as it is; else what operations have made of it."""
    asked: bool = True
    """Whether the cell ends where they differ."""
    bits: bool = False
    """Whether floats are compared bit by bit."""
    open: bool = False
    """Whether they differ and nobody knows if they should not, as after `if equal(y, x): print(...)`."""


@dataclass(frozen=True)
class Launch:
    """`kernel[grid](*arguments, **keywords)`, as one specialisation."""

    kernel: Any
    """The JITFunction, without the autotuner and heuristics around it."""
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any]
    """By name: arguments, what autotuner and heuristics chose, and options such as num_warps."""
    arch: str
    """What the launch was captured for."""
    grid: tuple[int, ...] | None = None
    location: Location | None = None
    """The line that launched it."""
    config: str = ""
    """The autotuner's configuration: `BLOCK=128, num_warps=4`."""
    tuning: int = 0
    """Which call of an autotuner it belongs to, counted from 1; 0 where there is none."""
    siblings: tuple[Launch, ...] = field(default=(), repr=False, compare=False)
    """All configurations that the autotuner's call has, this one among them, in their order."""
    chosen: bool = True
    """False for a configuration that the autotuner tried on a GPU and did not choose."""
    notes: tuple[Diagnostic, ...] = ()
    """What there is to say of the cell that launched it."""
    settings: Settings = ()
    """Triton's settings where it was launched (see `triton_settings`)."""
    ended: str = ""
    """Why the cell that launched it was run no further, where that is not its own end."""
    compared: list[LaunchComparison] = field(default_factory=list["LaunchComparison"], repr=False, compare=False)
    """What the cell compared with what this launch, executed by the CPU, has written."""
    outside: list[str] = field(default_factory=list[str], repr=False, compare=False)
    """What this launch, executed by the CPU, does outside of its tensors: `reads ...`, `writes ...`."""
    sources: dict[str, tuple[Specialization, Source]] = field(
        default_factory=dict[str, "tuple[Specialization, Source]"], repr=False, compare=False
    )
    """What was compiled to TTIR so far, by architecture."""

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: without what this process's Triton has compiled, which another's may compile otherwise."""
        return {**vars(self), "sources": {}, "compared": [], "outside": []}

    @property
    def name(self) -> str:
        return str(self.kernel.__name__)

    def specialised(self, arch: str | None = None) -> Specialization:
        """What Triton compiles the kernel for on an architecture. Raises UsageError for wrong arguments."""
        with triton_settings.applied(self.settings):
            return specialize(self.kernel, self.arguments, self.keywords, find(arch or self.arch))

    def compiled(
        self, arch: str | None = None, *, seconds: float | None = None, memory: int | None = None
    ) -> tuple[Specialization, Source]:
        """The specialisation and its TTIR for an architecture; compiled once, so that targets share their steps.

        Raises Triton's CompilationError or PassError when the kernel does not compile, UsageError for wrong
        arguments, ToolError when Triton's front end crashes, or takes more `seconds` or `memory` (bytes) than given.
        """
        target = find(arch or self.arch)
        if target.name not in self.sources:
            special = self.specialised(target.name)
            with triton_settings.applied(self.settings):
                text = ttir(special, self.location, seconds=seconds, memory=memory)
            name = "ast-to-ttgir" if special.gluon else "ast-to-ttir"
            self.sources[target.name] = special, Source(text, "triton", name=name)
        return self.sources[target.name]
