"""From a launch, or from TTIR and TTGIR text, to Triton's IR types."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget.errors import UsageError, near
from irwidget.frontends.triton import grids
from irwidget.frontends.triton.compiling import TARGETS, default_arch, lower_launch, sources, stages, tools
from irwidget.frontends.triton.inside import BigPasses
from irwidget.frontends.triton.launch import Launch
from irwidget.frontends.triton.recorder import recording
from irwidget.frontends.triton.stand_ins import named_type
from irwidget.toolchain import triton_passes
from irwidget.toolchain.language import require_unicode
from irwidget.toolchain.run import Options, Source
from irwidget.toolchain.triton_archs import find
from irwidget.toolchain.triton_state import require
from irwidget.trace import Diagnostic, Trace


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
    values: bool = False,
    **keywords: Any,
) -> Trace:
    """Lower a kernel to one of Triton's IR types; every pass is a dump.

    `obj` is a Launch, a kernel (`@triton.jit`, also with autotuner and heuristics), or the text of a
    `.ttir` or `.ttgir` file. A kernel takes its arguments here: tensors (fake and meta ones too), numbers,
    or Triton types (`"*fp16:16"`, `"i32"`), constexprs and launch options by keyword. `signature` is the
    same as one string: `"*fp32:16, *fp32:16, i32:16, 1024"`. `config` picks one of the autotuner's
    configurations, by number or by what it says (`"BLOCK=128"`). With `values` the launch is executed, too, by
    the CPU, on the tensors that are given; `run` says how the passes run.

    Failures of a pass are in `Trace.failure`. Raises UsageError, PassError when the kernel does not
    compile, ToolError without Triton.
    """
    require()
    run = run or Options()
    if to not in TARGETS:
        raise UsageError(f"{to!r} is not one of Triton's IR types. {near(to, TARGETS)}")
    if isinstance(obj, str):
        return _lower_text(obj, to, arch, llvm_passes, run, keywords)
    given = (*args, *parse_signature(signature))
    asked = arch or default_arch(to)
    launch = launch_of(obj, *given, arch=asked, grid=grid, config=config, run=run, values=values, **keywords)
    return lower_launch(launch, to, arch, llvm_passes, run)


def launch_of(
    obj: Any,
    *args: Any,
    arch: str,
    grid: Any = None,
    config: str | int | None = None,
    run: Options | None = None,
    values: bool = False,
    compiles: bool = True,
    **keywords: Any,
) -> Launch:
    """A launch as it is, or that of a kernel with its arguments; see `lower`. Raises as `recording`.

    Unless it `compiles`, the kernel may be one that Triton's front end refuses.
    """
    if isinstance(obj, Launch):
        return obj
    run = run or Options()
    grid = (1,) if grid is None else grid
    typed, keywords = _typed(obj, args, keywords, grid)
    with recording(arch, seconds=run.timeout, memory=run.memory, values=values) as launches:
        launches.later = not compiles
        obj.run(*typed, grid=grid, warmup=not values, **keywords)
    return select(launches, config)[0]


def _typed(obj: Any, args: Sequence[Any], keywords: Mapping[str, Any], grid: Any) -> tuple[list[Any], dict[str, Any]]:
    """Arguments, those that are types given as text among them. Raises UsageError for what is no grid."""
    kernel = obj
    while not hasattr(kernel, "params"):
        kernel = kernel.fn
    if not callable(grid):
        grids.dimensions(kernel, grid)
    constants = {param.name for param in kernel.params if param.is_constexpr}
    names = [*kernel.arg_names, *[""] * len(args)]
    typed = [one if name in constants else named_type(one) for name, one in zip(names, args, strict=False)]
    return typed, {name: one if name in constants else named_type(one) for name, one in keywords.items()}


def select(launches: Sequence[Launch], config: str | int | None = None) -> list[Launch]:
    """The launches to show. Of the autotuner's configurations of a kernel: the chosen one, which without a GPU
    is the first; or the one that `config` names, by its number or by what it says (`"BLOCK=128, num_warps=4"`).

    Raises UsageError, with the configurations there are, when `config` fits none.
    """
    groups: dict[tuple[int, int], list[Launch]] = {}
    for i, launch in enumerate(launches):
        groups.setdefault((launch.tuning, 0 if launch.tuning else i), []).append(launch)
    picked = [(group, _pick(group, config)) for group in groups.values()]
    if config is not None and not any(found for _, found in picked):
        listed = "".join(f"\n  {i}: {launch.config}" for i, launch in enumerate(next(iter(groups.values()), [])))
        tuned = any(launch.config for launch in launches)
        has = f"{launches[0].name} has no configuration {config!r}. It has:{listed}" if tuned else ""
        raise UsageError(has or f"There is no configuration {config!r}: nothing that was launched is tuned")
    return [found or _pick(group, None) or group[0] for group, found in picked]


def _pick(group: list[Launch], config: str | int | None) -> Launch | None:
    """The launch of a kernel's configurations that is wanted, with a note that lists them all; None if there is none.

    A kernel without configurations has none that could be named.
    """
    if not group[0].config:
        return group[0] if config is None else None
    listed = "".join(f"\n  {i}: {launch.config}" for i, launch in enumerate(group))
    if config is None:
        found = next((launch for launch in group if launch.chosen), group[0])
    elif isinstance(config, int) or config.isdigit():
        found = group[int(config)] if int(config) < len(group) else None
    else:
        wanted = _words(config)
        found = next((launch for launch in group if wanted <= _words(launch.config)), None)
    if found is None or len(group) == 1:
        return found
    note = f"{found.name} is tuned; this is configuration {group.index(found)} of{listed}"
    return replace(found, siblings=tuple(group), notes=(*found.notes, Diagnostic("remark", note, found.location)))


def _words(config: str) -> set[str]:
    return {re.sub(r"\s*[:=]\s*", "=", word.strip()) for word in config.split(",") if word.strip()}


def parse_signature(signature: str | Sequence[Any]) -> list[Any]:
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
    found = stages(to, target)
    first = "ttgir" if is_ttgir else "ttir"
    whole = found[-1] == first or "tt.call @" in text  # calls: this is what the front end made, not yet inlined
    rest = found if whole else found[found.index(first) + 1 :]
    source = Source(text, "triton", name=first)
    planned = [triton_passes.step(stage, target.name, given, llvm_passes=llvm_passes) for stage in rest]
    trace = source.run(planned, run, target=to)
    name = _NAME.search(text)
    return replace(
        trace,
        inside=BigPasses(source, trace, run),
        name=name[1] if name else "kernel",
        sources=sources(text),
        tools={**trace.tools, **tools(target, planned)},
        facts={"arch": target.name, **trace.facts},
    )
