"""From a launch to Triton's IR types."""

from __future__ import annotations

import linecache
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget.errors import PassError, UsageError, near
from irwidget.frontends.triton import failures
from irwidget.frontends.triton.inside import BigPasses
from irwidget.frontends.triton.launch import Launch
from irwidget.frontends.triton.specialization import Specialization
from irwidget.toolchain import lock, triton_archs, triton_passes, triton_private
from irwidget.toolchain.locations import is_user_file
from irwidget.toolchain.run import Options, Source
from irwidget.toolchain.triton_archs import DEFAULT, Arch, find
from irwidget.trace import Diagnostic, Step, Trace

TARGETS: Mapping[str, tuple[str, ...]] = {
    "triton_ir": ("ttir",),
    "triton_gpu_ir": ("ttir", "ttgir"),
    "triton_llvm_ir": ("ttir", "ttgir", "llir"),
    "triton_nvptx": ("ttir", "ttgir", "llir", "ptx", "cubin"),
    "triton_amdgpu": ("ttir", "ttgir", "llir", "amdgcn", "hsaco"),
    "triton_sass": ("ttir", "ttgir", "llir", "ptx", "cubin", "sass"),
}
"""Triton's stages for each IR type. The binary's stage (ptxas; AMD's assembler) leaves the text as it is."""
_DEFAULT_ARCH = {"triton_amdgpu": "gfx942"}


def steps(to: str, special: Specialization, *, llvm_passes: bool = False) -> tuple[Step, ...]:
    """The steps that a specialisation takes to an IR type. Raises UsageError when there is no such IR of it."""
    options = {**special.given, **special.chosen}
    return tuple(
        triton_passes.step(
            stage,
            special.arch.name,
            options,
            llvm_passes=llvm_passes,
            gluon=special.gluon,
            settings=special.settings,
        )
        for stage in stages(to, special.arch, gluon=special.gluon)
    )


def stages(to: str, arch: Arch, *, gluon: bool = False) -> tuple[str, ...]:
    """The stages that lead to an IR type. Raises UsageError when the architecture, or Gluon, has no such IR."""
    if to not in TARGETS:
        raise UsageError(f"{to!r} is not one of Triton's IR types. {near(to, TARGETS)}")
    found = TARGETS[to]
    unknown = [stage for stage in found if stage not in triton_passes.STAGES[arch.backend]]
    if unknown:
        maker, other = ("AMD", "triton_amdgpu") if arch.backend == "hip" else ("NVIDIA", "triton_nvptx or triton_sass")
        raise UsageError(f"{to} cannot be made for {arch.name}, which is {maker}'s: use {other}.")
    if gluon and found == ("ttir",):
        raise UsageError("A Gluon kernel has no TTIR: it names its layouts itself and begins at triton_gpu_ir.")
    return tuple(stage for stage in found if not (gluon and stage == "ttir"))


def default_arch(to: str) -> str:
    """The architecture of an IR type when none is given and there is no GPU."""
    return _DEFAULT_ARCH.get(to, DEFAULT)


def lower_launch(
    launch: Launch, to: str, arch: str | None = None, llvm_passes: bool = False, run: Options | None = None
) -> Trace:
    """A launch to one IR type; every pass is a dump. Raises as `lowering.lower`."""
    began, run = time.monotonic(), run or Options()
    target = find(arch or launch.arch)
    if arch is None and TARGETS[to][-1] not in triton_passes.STAGES[target.backend]:
        target = find(default_arch(to))  # a launch serves any architecture; this IR wants another maker's
    stages(to, target)
    special, source = _compiled(launch, target, run)
    if run.timeout is not None:  # the passes have what the front end has left
        run = replace(run, timeout=max(0.1, round(run.timeout - (time.monotonic() - began), 1)))
    trace = source.run(steps(to, special, llvm_passes=llvm_passes), run, target=to)
    told = _told(trace, launch, special, source)
    return replace(told, inside=BigPasses(source, trace, run))


def begin(launch: Launch, arch: str) -> None:
    """Compile a launch to TTIR, so that `lower_launch` need not. Raises as that."""
    _compiled(launch, find(arch), Options())


def _compiled(launch: Launch, target: Arch, run: Options) -> tuple[Specialization, Source]:
    try:
        return launch.compiled(target.name, seconds=run.timeout, memory=run.memory)
    except Exception as error:
        told = failures.compile_error(error)
        if told is None:
            raise
        raise told from error


def _told(trace: Trace, launch: Launch, special: Specialization, source: Source) -> Trace:
    """The trace with what is known of the launch."""
    facts: dict[str, Any] = {
        "arch": special.arch.name,
        "specialization": str(special),
        "grid": launch.grid,
        "config": launch.config or None,
        "launched_at": f"line {launch.location.line}" if launch.location else None,
        "signature": {name: str(kind) for name, kind in special.signature.items()},
    }
    missing = [
        Diagnostic("warning", f"{launch.name} {one}: a launch would fail", launch.location)
        for one in too_much(special.arch, trace.facts)
    ]
    return replace(
        trace,
        name=launch.name,
        diagnostics=(*launch.notes, *trace.diagnostics, *missing),
        sources=sources(str(source.data)),
        facts={**{name: value for name, value in facts.items() if value is not None}, **trace.facts},
        tools={**trace.tools, **tools(special.arch, trace.steps)},
    )


def too_much(arch: Arch, facts: Mapping[str, Any]) -> Iterator[str]:
    """What a kernel needs more of than a GPU has."""
    warps, registers = facts.get("num_warps", 0), facts.get("registers", 0)
    asked = [
        ("bytes of shared memory", facts.get("shared_memory", 0), arch.shared_memory),
        ("threads in a block", warps * arch.warp_size, triton_archs.THREADS),
        ("columns of tensor memory", facts.get("tensor_memory", 0), triton_archs.TENSOR_COLUMNS),
    ]
    if arch.backend == "cuda":
        asked.append(("registers in a block", warps * triton_archs.registers_of_a_warp(registers), arch.registers))
    for what, needs, has in asked:
        if needs > has:
            yield f"needs {needs} {what} and {arch.name} has {has}"


_FILE = re.compile(r'loc\("([^"]+)":\d+')


def sources(text: str) -> dict[str, str]:
    """The user's files that the locations of IR name."""
    files = dict.fromkeys(name for name in _FILE.findall(text) if is_user_file(name))
    read = {name: "".join(linecache.getlines(name)) for name in files}
    return {name: source for name, source in read.items() if source}


def tools(arch: Arch, steps: Sequence[Step]) -> dict[str, str]:
    """Triton with its version, and that of ptxas where it ran: Triton has two, or the user's own."""
    found = {"triton": lock.installed("triton") or "missing"}
    if any(step.name == "cubin" for step in steps):
        nvidia = triton_private.knobs().nvidia
        ptxas = nvidia.ptxas_blackwell if arch.capability >= 100 else nvidia.ptxas
        found["ptxas"] = ptxas.version
    return found


def binary_facts(launch: Launch) -> dict[str, Any]:
    """Registers, shared memory ... of a launch's binary. Raises PassError when it cannot be made."""
    to = "triton_amdgpu" if find(launch.arch).backend == "hip" else "triton_nvptx"
    trace = lower_launch(launch, to)
    if trace.failure:
        raise PassError(trace.failure.message, tool=trace.failure.tool, pass_name=trace.failure.pass_name)
    return dict(trace.facts)


def asm(launch: Launch) -> dict[str, Any]:
    """The last text of each stage, and the binary, by Triton's names."""
    to = "triton_amdgpu" if find(launch.arch).backend == "hip" else "triton_sass"
    trace = lower_launch(launch, to)
    found: dict[str, Any] = {str(trace.step_of(dump) or "source"): dump.text for dump in trace.dumps}
    for name, data in trace.attachments.items():
        found[name.rsplit(".", 1)[-1]] = data
    return found


def captured_metadata(launch: Launch, special: Specialization) -> dict[str, Any]:
    """What Triton's `CompiledKernel.metadata` says of a launch: target, options, memory in bytes."""
    facts = binary_facts(launch)
    return {
        **vars(special.options),
        **facts,
        "name": launch.name,
        "target": triton_private.gpu_target(special.arch),
        "shared": facts.get("shared_memory", 0),
    }
