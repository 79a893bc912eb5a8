"""An experiment as files: its text, and the commands that run the passes on it, ours and those of the tools."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from irwidget import output
from irwidget.experiments import stock
from irwidget.experiments.passes import Planned, others, textual, with_flags
from irwidget.toolchain.language import suffix
from irwidget.trace import Step, Trace, syntax

PROGRAMS = {"torch-mlir-opt", "mlir-opt", "triton-opt", "mlir-translate", "opt", "llc"}
"""Tools that are programs of the same name, which read a file and take `-o`."""
_LACKING = "what asks for them fails here, and elide=False where it was lowered has them written"
_LEAVES = {"mlir-translate": "ll", "opt": "ll", "llc": "s"}
_STAGES = ("ttir", "ttgir")
"""The stages of Triton whose IR it takes from a folder instead of its own."""
_KERNEL = re.compile(r"tt\.func public @([\w$.]+)")


def save(
    folder: Path,
    edited: str,
    planned: Sequence[Planned],
    pipeline: str,
    trace: Trace,
    index: int,
    words: Sequence[str] = (),
) -> Path:
    """Write into a folder, made if need be; the path of the text, which stands for dump `index` of the trace.

    `run.sh` takes irwidget's command line, which has the pipeline of the tools and `words`; `tools.sh` the programs
    themselves, which must be installed. Of a Triton kernel between its stages, `override.sh PROGRAM` has Triton itself
    compile the text in place of its own IR. Raises UsageError when they cannot be written.
    """
    folder = output.folder(folder)
    text = output.write(folder / f"edited{suffix(trace.dumps[index].language)}", edited)
    command = ["python", "-m", "irwidget", "lower", text.name, "--to", "raw_ir"]
    command += ["--pipeline", pipeline] if pipeline else []
    names = ", ".join(syntax.left_out(edited))
    lacking = [f"# {text.name} leaves out the values of {names}: {_LACKING}"] if names else []
    _script(folder / "run.sh", [*lacking, shlex.join([*command, *words])])
    made = ", ".join(f"{name} {version}" for name, version in trace.tools.items())
    late = any("tm_tensor." in one for one in (edited, *(dump.text for dump in trace.dumps[index + 1 :])))
    said = f"# What ran was {made}: programs of another release may have other options." if made else "#"
    _script(folder / "tools.sh", [said, *lacking, "set -e", *_commands(planned, text.name, late=late)])
    if triton := _override(edited, trace, index):
        name, ir = triton
        output.write(folder / name, ir)
        _script(folder / "override.sh", _OVERRIDE.format(name=shlex.quote(name)).splitlines())
    return text


_OVERRIDE = """\
# Usage: sh override.sh my_program.py. The first run tells the folder that Triton looks in, the second compiles {name}.
# Launch with the options that the kernel was lowered with; an autotuned one takes triton.Config(..., ir_override=...).
set -e
here=$PWD
TRITON_ALWAYS_COMPILE=1 TRITON_KERNEL_DUMP=1 TRITON_DUMP_DIR="$here/dump" python "$1"
for dumped in dump/*/{name}; do
  mkdir -p "override/$(basename "$(dirname "$dumped")")"
  cp {name} "override/$(basename "$(dirname "$dumped")")/"
done
TRITON_ALWAYS_COMPILE=1 TRITON_KERNEL_OVERRIDE=1 TRITON_OVERRIDE_DIR="$here/override" python "$1\""""


def _script(path: Path, lines: Sequence[str]) -> None:
    output.write(path, "\n".join(['cd "$(dirname "$0")"', *lines, ""]))


_LATE = re.compile(r"(?:^|[-(,])tm-tensor-")
"""Passes on a dialect of torch-mlir's that lasts while those of `mlir-opt` run, which does not read it."""


def _commands(planned: Sequence[Planned], before: str, *, late: bool) -> Iterator[str]:
    """The programs in order, each on the file that the one before has left; those that are none, as a comment. With
    `late`, operations of tm_tensor are there until the last pass on them has run.
    """
    steps = stock.programs([one.step for one in planned])
    at = 0
    for number, (_, group) in enumerate(groupby(steps, key=_together), 1):
        passes = list(group)
        tool = passes[0].tool
        unread = late and tool == "mlir-opt" and any(_LATE.search(one.arguments) for one in steps[at:])
        if tool not in PROGRAMS or unread:
            why = "mlir-opt does not read tm_tensor, whose operations are here" if unread else "no program does this"
            yield f"# {passes[0].command}: {why}; run.sh does"
            yield "exit 1"
            return
        at += len(passes)
        after = f"{number}.{_LEAVES.get(tool, 'mlir')}"
        bodies = [re.fullmatch(r"builtin\.module\((.*)\)", textual(one.arguments), re.DOTALL) for one in passes]
        if all(bodies):
            inner = ",".join(body[1] for body in bodies if body)
            words = f"--pass-pipeline={shlex.quote(f'builtin.module({inner})')}"
            asked = Step(tool, with_flags(words, others(passes[0].arguments)))
        else:
            asked = passes[0]
        asked, said = stock.taken(asked)
        if stock.is_foreign(passes[0]):
            said = [*said, "torch-mlir-opt lacks these passes; those of another release of LLVM may do otherwise"]
        yield from (f"# {one}" for one in said)
        yield f"{asked.command}{' -S' if tool == 'opt' else ''} {before} -o {after}"
        before = after


def _together(one: Step) -> tuple[str, object]:
    """What passes that one command runs have in common."""
    alone = not textual(one.arguments).startswith("builtin.module(")
    return one.tool, id(one) if alone else tuple(others(one.arguments))


def _override(edited: str, trace: Trace, index: int) -> tuple[str, str] | None:
    """The file that Triton takes in place of its own, and its text; None where that is no stage's end."""
    dump = trace.dumps[index]
    step, kernel = trace.step_of(dump), _KERNEL.search(edited)
    ends = index + 1 == len(trace.dumps) or trace.dumps[index + 1].step != dump.step
    if step is None or kernel is None or step.tool != "triton" or str(step) not in _STAGES or not ends:
        return None
    return f"{kernel[1]}.{step}", edited
