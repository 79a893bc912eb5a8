"""From a launch, or from TTIR and TTGIR text, to Triton's IR types."""

from __future__ import annotations

import json
import linecache
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from typing import Any

from irwidget.errors import UsageError, near
from irwidget.frontends.triton import failures
from irwidget.frontends.triton.launch import Launch, Specialization
from irwidget.frontends.triton.recorder import recording
from irwidget.toolchain import triton_passes, triton_private
from irwidget.toolchain.language import require_unicode
from irwidget.toolchain.locations import is_user_file
from irwidget.toolchain.run import Options, Source
from irwidget.toolchain.triton_archs import DEFAULT, Arch, find
from irwidget.toolchain.triton_state import require
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


def steps(to: str, arch: str, options: Mapping[str, Any], *, llvm_passes: bool = False) -> tuple[Step, ...]:
    """The steps of an IR type. Raises UsageError when the architecture has no such IR."""
    target = find(arch)
    return tuple(
        triton_passes.step(stage, target.name, options, llvm_passes=llvm_passes) for stage in _stages(to, target)
    )


def _stages(to: str, arch: Arch) -> tuple[str, ...]:
    if to not in TARGETS:
        raise UsageError(f"{to!r} is not one of Triton's IR types. {near(to, TARGETS)}")
    stages = TARGETS[to]
    unknown = [stage for stage in stages if stage not in triton_passes.STAGES[arch.backend]]
    if unknown:
        maker, other = ("AMD", "triton_amdgpu") if arch.backend == "hip" else ("NVIDIA", "triton_nvptx or triton_sass")
        raise UsageError(f"{to} cannot be made for {arch.name}, which is {maker}'s: use {other}.")
    return stages


def default_arch(to: str) -> str:
    """The architecture of an IR type when none is given and there is no GPU."""
    return _DEFAULT_ARCH.get(to, DEFAULT)


def lower(
    obj: Any,
    *args: Any,
    to: str,
    arch: str | None = None,
    grid: Any = None,
    signature: str | Sequence[Any] = "",
    config: str | int | None = None,
    llvm_passes: bool = False,
    run: Options | None = None,
    **keywords: Any,
) -> Trace:
    """Lower a kernel to one of Triton's IR types; every pass is a dump.

    `obj` is a Launch, a kernel (`@triton.jit`, also with autotuner and heuristics), or the text of a
    `.ttir` or `.ttgir` file. A kernel takes its arguments here: tensors (fake and meta ones too), numbers,
    or Triton types (`"*fp16:16"`, `"i32"`), constexprs and launch options by keyword. `signature` is the
    same as one string: `"*fp32:16, *fp32:16, i32:16, 1024"`. `config` picks one of the autotuner's
    configurations, by number or by what it says (`"BLOCK=128"`).

    Failures of a pass are in `Trace.failure`. Raises UsageError, PassError when the kernel does not
    compile, ToolError without Triton.
    """
    require()
    began, run = time.monotonic(), run or Options()
    if to not in TARGETS:
        raise UsageError(f"{to!r} is not one of Triton's IR types. {near(to, TARGETS)}")
    if isinstance(obj, str):
        return _lower_text(obj, to, arch, llvm_passes, run, keywords)
    if not isinstance(obj, Launch):
        given = (*args, *_parse_signature(signature))
        with recording(arch or default_arch(to), seconds=run.timeout, memory=run.memory) as launches:
            obj.run(*given, grid=grid or (1,), warmup=True, **keywords)
        obj = select(launches, config)[0]
    launch: Launch = obj
    target = find(arch or launch.arch)
    if arch is None and TARGETS[to][-1] not in triton_passes.STAGES[target.backend]:
        target = find(default_arch(to))  # a launch serves any architecture; this IR wants another maker's
    _stages(to, target)
    special, source = _compiled(launch, target, run)
    if run.timeout is not None:  # the passes have what the front end has left
        run = replace(run, timeout=max(0.1, round(run.timeout - (time.monotonic() - began), 1)))
    trace = source.run(steps(to, target.name, special.given, llvm_passes=llvm_passes), run, target=to)
    return _told(trace, launch, special, source)


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
    diagnostics = (*launch.notes, *trace.diagnostics)
    shared = trace.facts.get("shared_memory", 0)
    if shared > special.arch.shared_memory:
        diagnostics = (
            *diagnostics,
            Diagnostic(
                "warning",
                f"{launch.name} needs {shared} bytes of shared memory and {special.arch.name} has "
                f"{special.arch.shared_memory}: a launch would fail",
                launch.location,
            ),
        )
    return replace(
        trace,
        name=launch.name,
        diagnostics=diagnostics,
        sources=_sources(str(source.data)),
        facts={**{name: value for name, value in facts.items() if value is not None}, **trace.facts},
        tools={**trace.tools, **tools(special.arch, trace.steps)},
    )


def select(launches: Sequence[Launch], config: str | int | None = None) -> list[Launch]:
    """The launches to show. Of the autotuner's configurations of a kernel: the chosen one, which without a GPU
    is the first; or the one that `config` names, by its number or by what it says (`"BLOCK=128, num_warps=4"`).

    Raises UsageError, with the configurations there are, when `config` fits none.
    """
    groups: dict[tuple[int, str], list[Launch]] = {}
    for i, launch in enumerate(launches):
        key = (id(launch.kernel), str(launch.location)) if launch.config else (i, "")
        groups.setdefault(key, []).append(launch)
    return [launch for group in groups.values() for launch in _pick(group, config)]


def _pick(group: list[Launch], config: str | int | None) -> list[Launch]:
    """The launch of a kernel's configurations that is wanted, with a note that lists them all."""
    if not group[0].config:
        return group
    listed = "".join(f"\n  {i}: {launch.config}" for i, launch in enumerate(group))
    if config is None:
        found = next((launch for launch in group if launch.chosen), group[0])
    elif isinstance(config, int) or config.isdigit():
        found = group[int(config)] if int(config) < len(group) else None
    else:
        wanted = _words(config)
        found = next((launch for launch in group if wanted <= _words(launch.config)), None)
    if found is None:
        raise UsageError(f"{group[0].name} has no configuration {config!r}. It has:{listed}")
    if len(group) == 1:
        return [found]
    note = f"{found.name} is tuned; this is configuration {group.index(found)} of{listed}"
    return [replace(found, notes=(*found.notes, Diagnostic("remark", note, found.location)))]


def _words(config: str) -> set[str]:
    return {re.sub(r"\s*[:=]\s*", "=", word.strip()) for word in config.split(",") if word.strip()}


def _parse_signature(signature: str | Sequence[Any]) -> list[Any]:
    """`"*fp32:16, i32, 1024"` as arguments: types stay text, the rest is read as JSON where it is that."""
    if not isinstance(signature, str):
        return list(signature)
    values: list[Any] = []
    for word in (word.strip() for word in signature.split(",")):
        if word:
            try:
                values.append(json.loads(word))
            except ValueError:
                values.append(word)
    return values


_FILE = re.compile(r'loc\("([^"]+)":\d+')


def _sources(text: str) -> dict[str, str]:
    """The user's files that the locations of IR name."""
    files = dict.fromkeys(name for name in _FILE.findall(text) if is_user_file(name))
    read = {name: "".join(linecache.getlines(name)) for name in files}
    return {name: source for name, source in read.items() if source}


def tools(arch: Arch, steps: Sequence[Step]) -> dict[str, str]:
    """Triton with its version, and that of ptxas where it ran: Triton has two, or the user's own."""
    found = {"triton": metadata.version("triton")}
    if any(step.name == "cubin" for step in steps):
        nvidia = triton_private.knobs().nvidia
        ptxas = nvidia.ptxas_blackwell if arch.capability >= 100 else nvidia.ptxas
        found["ptxas"] = ptxas.version
    return found


_WARPS = re.compile(r'"?ttg\.num-warps"? = (\d+)')
_CTAS = re.compile(r'"?ttg\.num-ctas"? = (\d+)')
_TARGET = re.compile(r'ttg\.target = "(?:cuda|hip):(\w+)"')
_NAME = re.compile(r"tt\.func public @(\w+)")


def _lower_text(
    text: str, to: str, arch: str | None, llvm_passes: bool, run: Options, options: Mapping[str, Any]
) -> Trace:
    """Start from TTIR or TTGIR. As in Triton, the stage that made it is not run again, unless it is the target."""
    require_unicode(text)
    is_ttgir = _WARPS.search(text) is not None
    if "tt.func" not in text:
        raise UsageError("this is neither TTIR nor TTGIR: there is no tt.func in it")
    if is_ttgir and to == "triton_ir":
        raise UsageError("TTGIR cannot be raised to triton_ir")
    written_for = _TARGET.search(text)
    target = find(arch or (written_for[1] if written_for else default_arch(to)))
    given = dict(options)
    for name, pattern in (("num_warps", _WARPS), ("num_ctas", _CTAS)):
        if match := pattern.search(text):
            given[name] = int(match[1])
    stages = _stages(to, target)
    first = "ttgir" if is_ttgir else "ttir"
    whole = stages[-1] == first or "tt.call @" in text  # calls: this is what the front end made, not yet inlined
    rest = stages if whole else stages[stages.index(first) + 1 :]
    source = Source(text, "triton", name=first)
    planned = [triton_passes.step(stage, target.name, given, llvm_passes=llvm_passes) for stage in rest]
    trace = source.run(planned, run, target=to)
    name = _NAME.search(text)
    return replace(
        trace,
        name=name[1] if name else "kernel",
        sources=_sources(text),
        tools={**trace.tools, **tools(target, planned)},
        facts={"arch": target.name, **trace.facts},
    )


def binary_facts(launch: Launch) -> dict[str, Any]:
    """Registers, shared memory ... of a launch's binary. Raises PassError when it cannot be made."""
    from irwidget.errors import PassError

    trace = lower(launch, to="triton_amdgpu" if find(launch.arch).backend == "hip" else "triton_nvptx")
    if trace.failure:
        raise PassError(trace.failure.message, tool=trace.failure.tool, pass_name=trace.failure.pass_name)
    return dict(trace.facts)


def asm(launch: Launch) -> dict[str, Any]:
    """The last text of each stage, and the binary, by Triton's names."""
    to = "triton_amdgpu" if find(launch.arch).backend == "hip" else "triton_sass"
    trace = lower(launch, to=to)
    found: dict[str, Any] = {str(trace.step_of(dump) or "source"): dump.text for dump in trace.dumps}
    for name, data in trace.attachments.items():
        found[name.rsplit(".", 1)[-1]] = data
    return found
