"""Steps as the stock programs run them: the passes that torch-mlir brings are in its own program only."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from irwidget.experiments.passes import GENERIC, others, textual, with_flags
from irwidget.toolchain import asking, external, mlir, mlir_flags, mlir_names
from irwidget.trace import Step

_EMBEDDED, _OWN = "mlir-opt", "torch-mlir-opt"
_TORCH = re.compile(r"(?:^|[-(])(?:torch|refback|tm-tensor|stablehlo|chlo|vhlo)\b")
_TOSA = re.compile(r"(?:^|[-(])tosa-")
"""Passes of TOSA, which torch-mlir's routes run with its own, and its program lacks."""
_ANCHORED = re.compile(r"(any|[\w]+\.[\w.]+)\((.*)\)", re.DOTALL)
"""Passes on the operations of a name: `func.func(cse,canonicalize)`."""
_FOREIGN = (f"--{mlir_flags.UNREGISTERED}", f"--{GENERIC}")
"""With which `mlir-opt` reads and writes what is left of torch-mlir's dialects between its own passes."""


def programs(steps: Sequence[Step]) -> tuple[Step, ...]:
    """What runs the same: steps of `mlir-opt`, which has torch-mlir's passes here, in parts where they use these, and
    steps of `torch-mlir-opt` where they use those of TOSA.
    """
    parts = [part for step in steps for part in _parts(step)]
    if not any(map(is_foreign, parts)):
        return tuple(parts)
    made = [Step(_OWN, "")] if is_foreign(parts[-1]) else []  # as its own program prints it
    for part, following in zip(reversed(parts), [None, *reversed(parts)], strict=False):
        generic = made and part.tool == _OWN and following and (is_foreign(following) or GENERIC in made[-1].arguments)
        made.append(replace(part, arguments=with_flags(part.arguments, [f"--{GENERIC}"])) if generic else part)
    return ((Step(_OWN, f"--{GENERIC}"),) if is_foreign(parts[0]) else ()) + tuple(reversed(made))


def is_foreign(part: Step) -> bool:
    """Whether it is passes that torch-mlir's program lacks, run by another on what it writes."""
    return part.tool == _EMBEDDED and GENERIC in part.arguments


def _parts(step: Step) -> Iterator[Step]:
    pipeline, flags = textual(step.arguments), others(step.arguments)
    as_text = pipeline.startswith("builtin.module(")
    passes = [*_single(pipeline)] if as_text else [one for one in shlex.split(step.arguments) if one not in flags]
    where = [_program(one, step.tool) for one in passes]
    if step.tool not in (_EMBEDDED, _OWN) or {*where} <= {step.tool}:
        yield step
        return
    for program, group in groupby(zip(where, passes, strict=True), key=lambda one: one[0]):
        some = [one for _, one in group]
        inside = ",".join(one.removeprefix("builtin.module(")[:-1] for one in some)
        arguments = f"builtin.module({inside})" if as_text else shlex.join(some)
        own = _FOREIGN if (step.tool, program) == (_OWN, _EMBEDDED) else flags
        yield replace(step, tool=program, arguments=with_flags(arguments, own))


def _program(one: str, tool: str) -> str:
    """Which program has a pass of a tool."""
    if tool == _OWN:
        return _EMBEDDED if _TOSA.search(one) and not _TORCH.search(one) else _OWN
    return _OWN if _TORCH.search(one) else _EMBEDDED


_NO_OPTION = re.compile(r"no such option ([\w-]+).*?failed to add `([\w-]+)` with", re.DOTALL)


def taken(step: Step) -> tuple[Step, list[str]]:
    """A command as the program of its tool takes it that is here, and what there is to say of that.

    The passes here are of a later LLVM than released programs: an option that these lack is left out where it stands at
    its default, and another program that has all is named instead. Where neither is enough, what is refused is said.
    """
    said: list[str] = []
    program, kept = external.find(step.tool), step
    if isinstance(program, str):
        return step, said
    name = f"{step.tool} {program.version}".strip()
    while why := asking.refusal(program.path, kept):
        lacks = _NO_OPTION.search(why)
        fewer = _without_default(kept, lacks[1], lacks[2]) if lacks else None
        if lacks is None or fewer is None:
            return _elsewhere(step, f"{name} refuses this: {why}")
        kept = fewer
        said.append(
            f"{name} has no option {lacks[1]} of {lacks[2]}: left out here, where it stands at its default; "
            f"what {name} does without it is not checked"
        )
    return kept, said


def _without_default(step: Step, option: str, name: str) -> Step | None:
    """The step without an option of a pass; None where that does not stand at its default."""
    default = re.search(rf"[{{ ]({option}=[^ }}]*)", mlir_names.printed(f"any({name})", mlir.new_context()) or "")
    if default is None:
        return None
    written = re.compile(rf"((?<![\w-]){name}\{{[^{{}}]*?)\b{re.escape(default[1])}(?=[ }}]) ?")
    kept = written.sub(r"\1", step.arguments)
    return replace(step, arguments=kept) if kept != step.arguments else None


def _elsewhere(step: Step, said: str) -> tuple[Step, list[str]]:
    """A step of `mlir-opt` by the program of the MLIR that ran, where that is here and takes it."""
    program, other = external.find(_OWN), replace(step, tool=_OWN)
    if step.tool != _EMBEDDED or isinstance(program, str) or asking.refusal(program.path, other):
        return step, [said]
    return other, [f"{said}; {_OWN} has the passes that ran"]


def _single(pipeline: str) -> Iterator[str]:
    """The passes of a textual pipeline, each as a pipeline of its own."""
    for one in _split(pipeline):
        if found := _ANCHORED.fullmatch(one):
            yield from (f"{found[1]}({inner})" for inner in _single(found[2]))
        else:
            yield one


def _split(pipeline: str) -> Iterator[str]:
    """What commas outside of brackets separate."""
    depth = start = 0
    for at, mark in enumerate(pipeline):
        depth += (mark in "({") - (mark in ")}")
        if mark == "," and not depth:
            yield pipeline[start:at]
            start = at + 1
    yield pipeline[start:]
