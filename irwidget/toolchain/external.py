"""Real programs: the system's LLVM tools, torch-mlir-opt's binary, and the user's own.

Found by environment variable, then in /usr/lib/llvm-*/bin, then on PATH; an
LLVM older than 22 is refused. Arguments go to the program as a list.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from irwidget.dumps import Diagnostic, Step
from irwidget.toolchain import events, graphs, llvm_state, mlir, scratch
from irwidget.toolchain.language import detect
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState

OLDEST_LLVM = 22
_VARIABLES = {
    "torch-mlir-opt": ("TORCH_MLIR_OPT_PATH",),
    "triton-opt": ("TRITON_OPT_PATH",),
    "triton-llvm-opt": ("TRITON_OPT_PATH",),
}
_LLVM_TOOLS = ("mlir-opt", "mlir-translate", "opt", "llc")
_PACKAGES = {"mlir-opt": "mlir-22-tools", "mlir-translate": "mlir-22-tools", "opt": "llvm-22", "llc": "llvm-22"}


@dataclass(frozen=True, slots=True)
class Program:
    """A program that can run a step."""

    path: str
    version: str = ""


@cache
def find(tool: str) -> Program | str:
    """The program for a tool, or why there is none, in words."""
    refused: list[str] = []
    for path in _candidates(tool):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            continue
        version = _llvm_version(path) if tool in _LLVM_TOOLS else ""
        if tool in _LLVM_TOOLS and int(version.split(".")[0] or 0) < OLDEST_LLVM:
            refused.append(f"{path} is LLVM {version or 'of unknown version'}")
            continue
        return Program(path, version)
    wanted = f"{tool} of LLVM {OLDEST_LLVM} or newer" if tool in _LLVM_TOOLS else tool
    remedy = f"apt-get install {_PACKAGES[tool]}, or set LLVM_BIN_PATH" if tool in _PACKAGES else (
        f"set {_VARIABLES[tool][0]}" if tool in _VARIABLES else "install it"
    )
    return f"{wanted} was not found{': ' + '; '.join(refused) if refused else ''}. Next step: {remedy}"


def _candidates(tool: str) -> Iterator[str]:
    for variable in (*_VARIABLES.get(tool, ()), "LLVM_BIN_PATH"):
        if value := os.environ.get(variable):
            yield value if os.path.isfile(value) else os.path.join(value, tool)
    if tool == "torch-mlir-opt":
        import torch_mlir  # pyright: ignore[reportMissingImports]

        yield os.path.join(next(iter(torch_mlir.__path__)), "_mlir_libs", tool)
    folders = Path("/usr/lib").glob("llvm-*/bin")
    yield from (str(folder / tool) for folder in sorted(folders, key=_number, reverse=True))
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        yield os.path.join(folder, tool)


def _number(folder: Path) -> int:
    digits = re.search(r"\d+", folder.parent.name)
    return int(digits[0]) if digits else 0


def _llvm_version(path: str) -> str:
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    match = re.search(r"LLVM version (\d+[.\d]*)", said)
    return match[1] if match else ""


def tool(run: Run, state: State, step: Step, program: Program) -> Iterator[Pass]:
    """Run an LLVM tool as a program; mlir-opt leaves a dump after each of its passes."""
    arguments = shlex.split(step.arguments)
    run.tools[step.tool] = f"{program.version} ({program.path})".strip()
    if step.tool in ("mlir-opt", "torch-mlir-opt"):
        yield from _mlir_passes(run, state, step, program, arguments)
        return
    if step.tool == "opt" and not {"-S", "-disable-output"} & set(arguments):
        arguments.append("-S")
    command = [program.path, *arguments]
    yield Pass(step.tool, lambda before: _run(run, before, step, command), step.arguments, pipeline=str(step))


def user_tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The user's own program: IR on its input (or in the file `{in}`), new IR on its output (or in `{out}`)."""
    words = shlex.split(step.arguments)
    if not words:
        raise StepFailed(events.Failed("usage", "user-tool needs a program: user-tool ./mine --flag", tool=step.tool))
    path = shutil.which(os.path.join(run.request.cwd, words[0]) if os.sep in words[0] else words[0])
    if path is None:
        message = f"user-tool: there is no program {words[0]!r} on PATH; give its path, as in ./{words[0]}"
        raise StepFailed(events.Failed("tool", message, words[0], step.tool))
    command = [path, *words[1:]]
    run.tools[words[0]] = path
    name = os.path.basename(words[0])
    yield Pass(name, lambda before: _run(run, before, step, command), shlex.join(words[1:]), pipeline=str(step))


def _input(run: Run, state: State) -> str:
    """The text that a program reads; MLIR keeps its locations, so that lines stay linked to the source."""
    if isinstance(state, MlirState):
        elide = run.request.elide and not run.request.keep_constants
        return state.asm(elide=elide)
    return state.render(run.request.elide).text


def _run(run: Run, before: State, step: Step, command: list[str]) -> State:
    """Run a program on the IR; what it prints is the new IR, nothing means that it only looked."""
    with scratch.folder() as folder:
        source, result = os.path.join(folder, "in"), os.path.join(folder, "out")
        text = _input(run, before)
        if any("{in}" in word for word in command):
            Path(source).write_text(text, encoding="utf-8")
        placed = [word.replace("{in}", source).replace("{out}", result) for word in command]
        own = step.tool == "user-tool"
        output = _call(step, placed, text, run, run.request.cwd or None if own else folder)
        if os.path.exists(result):
            output = Path(result).read_bytes()
        for path in (*Path(folder).glob("*.dot"), *Path(folder).glob(".*.dot")):
            run.attachments[path.name.lstrip(".")] = path.read_bytes()
    return _state_of(run, before, step, output)


def _call(step: Step, command: list[str], text: str, run: Run, folder: str | None) -> bytes:
    name = os.path.basename(command[0])
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, cwd=folder)
    except OSError as error:
        raise StepFailed(events.Failed("tool", f"{name} cannot be run: {error}", name, step.tool)) from None
    said = graphs.take(done.stderr.decode(errors="replace"), run.attachments).strip()
    if done.returncode:
        how = f"was killed by signal {-done.returncode}" if done.returncode < 0 else f"exited with {done.returncode}"
        first = next((line for line in said.splitlines() if "error" in line.lower()), said.split("\n")[0])
        if "dense_resource<" in text and run.request.elide and not run.request.keep_constants:
            first += "\n  It was given the weights elided; --no-elide (elide=False) gives them in full"
        diagnostic = Diagnostic("error", said[-4000:])
        raise StepFailed(
            events.Failed("tool", f"{name} {how}: {first}", name, step.tool, (diagnostic,), pipeline=str(step))
        )
    if said:
        run.diagnostics.append(Diagnostic("remark", f"{name}: {said[-4000:]}"))
    return done.stdout


def _state_of(run: Run, before: State, step: Step, output: bytes) -> State:
    if not output.strip():
        return before
    try:
        text = output.decode()
    except UnicodeDecodeError:
        text = ""
    if not text or "\0" in text:
        name = f"{step.tool}-{len(run.attachments)}.bin"
        run.attachments[name] = output
        return TextState("text", f"{len(output)} bytes, kept as the attachment {name}\n\n{_hex(output)}")
    language = detect(text)
    if language == "mlir":
        if run.request.keep_constants:
            with contextlib.suppress(mlir.PassFailed):
                return MlirState(mlir.parse(text, run.context()))
        return TextState("mlir", text, mlir.content(text))
    return llvm_state.same_kind(before, language, text) if isinstance(before, TextState) else TextState(language, text)


def _hex(data: bytes, most: int = 4096) -> str:
    """A readable view of bytes, 16 a line."""
    lines: list[str] = []
    for start in range(0, min(len(data), most), 16):
        row = data[start : start + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start:08x}  {row.hex(' '):47}  {shown}")
    if len(data) > most:
        lines.append(f"... {len(data) - most} bytes more")
    return "\n".join(lines) + "\n"


def _mlir_passes(run: Run, state: State, step: Step, program: Program, arguments: list[str]) -> Iterator[Pass]:
    """mlir-opt once, with a file after every pass: only then are its passes known."""
    with scratch.folder() as folder:
        tree = os.path.join(folder, "tree")
        command = [
            program.path, *arguments, "--mlir-print-debuginfo", "--mlir-disable-threading",
            "--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", f"--mlir-print-ir-tree-dir={tree}",
        ]
        result = _run(run, state, step, command)
        dumped = _in_order(Path(tree))
        states = [_state_of(run, state, step, path.read_bytes()) for path in dumped[:-1]] + [result]
        names = [_pass_name(path) for path in dumped] or [step.tool]
    for name, after in zip(names, states, strict=True):
        yield Pass(name, lambda _, after=after: after, pipeline=str(step))


def _in_order(tree: Path) -> list[Path]:
    """The dumps in the order in which they were made: file names begin with counters such as 2_0_."""
    def counters(path: Path) -> tuple[int, ...]:
        numbers = re.match(r"(\d+(?:_\d+)*)_", path.name)
        return tuple(int(n) for n in numbers[1].split("_")) if numbers else ()

    return sorted(tree.rglob("*.mlir"), key=counters)


def _pass_name(path: Path) -> str:
    return re.sub(r"^\d+(_\d+)*_", "", path.stem)
