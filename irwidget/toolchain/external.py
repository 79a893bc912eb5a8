"""Real programs: the system's LLVM tools, torch-mlir-opt's binary, and the user's own.

Found by environment variable, then in /usr/lib/llvm-*/bin, then on PATH; an
LLVM older than 22 is refused. Arguments go to the program as a list.
"""

from __future__ import annotations

import ast
import codecs
import contextlib
import difflib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from irwidget import private_torch_mlir, registry
from irwidget.errors import near
from irwidget.toolchain import crashes, events, feeding, graphs, llvm, llvm_passes, llvm_state, mlir, printed, scratch
from irwidget.toolchain.language import detect, suffix
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState
from irwidget.trace import Content, Diagnostic, Step

OLDEST_LLVM = 22
_LINE = 500
"""Characters of what a program said that a message quotes; its diagnostic has more."""
_PATIENCE = 20
"""Seconds for a program that only says what it knows."""


_AFTER = re.compile(r"--?print-after(-all|=.+)")


@dataclass(frozen=True, slots=True)
class FoundProgram:
    """A program that can run a step."""

    path: str
    version: str = ""


@cache
def find(tool: str) -> FoundProgram | str:
    """The program for a tool, or why there is none, in words."""
    known = _known(tool)
    refused: list[str] = []
    for path in _candidates(tool):
        if not os.access(path, os.X_OK) or os.path.isdir(path):
            continue
        version = _llvm_version(path) if known.llvm else ""
        if known.llvm and int(version.split(".")[0] or 0) < OLDEST_LLVM:
            refused.append(f"{path} is LLVM {version or 'of unknown version'}")
            continue
        return FoundProgram(path, version)
    wanted = f"{tool} of LLVM {OLDEST_LLVM} or newer" if known.llvm else tool
    remedy = (
        f"apt-get install {known.package}, or set LLVM_BIN_PATH"
        if known.package
        else (f"set {known.variables[0]}" if known.variables else "install it")
    )
    return f"{wanted} was not found{': ' + '; '.join(refused) if refused else ''}. Next step: {remedy}"


def _known(tool: str) -> registry.Program:
    """How the program of a tool is found; anything else is looked for where LLVM's are, and on PATH."""
    registered = registry.tools.get(tool)
    return (registered.program if registered else None) or registry.Program()


def _candidates(tool: str) -> Iterator[str]:
    for variable in (*_known(tool).variables, "LLVM_BIN_PATH"):
        if value := os.environ.get(variable):
            yield value if os.path.isfile(value) else os.path.join(value, tool)
    if tool == "torch-mlir-opt":
        yield str(private_torch_mlir.libraries() / tool)
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


def tool(run: Run, state: State, step: Step, program: FoundProgram) -> Iterator[Pass]:
    """Run an LLVM tool as a program; mlir-opt leaves a dump after each of its passes."""
    arguments = shlex.split(step.arguments)
    run.tools[step.tool] = f"{program.version} ({program.path})".strip()
    if step.tool in ("mlir-opt", "torch-mlir-opt"):
        yield from _mlir_passes(run, state, step, program, arguments)
        return
    if step.tool == "opt" and not {"-S", "-disable-output"} & set(arguments):
        arguments.append("-S")
    if step.tool in llvm_passes.SHOWS:
        asked = arguments
        arguments = [word for word in asked if not llvm_passes.asks(word)]
        if asked != arguments:
            after = tuple(word for word in asked if _AFTER.fullmatch(word))
            yield from _every_pass(run, state, step, [program.path, *_without_output(arguments)], after)
    command = [program.path, *arguments]
    yield Pass(_name(step), lambda _: _run(run, state, step, command), step.arguments, pipeline=step.command)


def _name(step: Step) -> str:
    """As the embedded tool calls what it does with these arguments, so that both can be compared; else the program."""
    with contextlib.suppress(llvm.BadArguments, llvm.NotEmbedded, ValueError):
        if step.tool in llvm_passes.SHOWS:
            return llvm.pass_name(step.tool, llvm.settings(step.tool, step.arguments))
    return step.tool


def _every_pass(run: Run, state: State, step: Step, command: list[str], after: tuple[str, ...]) -> Iterator[Pass]:
    """The passes of `opt` or `llc`, taken from what the program prints when it is asked for them.

    Those that `after` asks for (`-print-after-all`), else each that changed something. Where the program fails, the run
    for its result says why.
    """
    text = _input(run, state)
    with contextlib.suppress(llvm.Rejected):
        text = llvm.named(text)
    whole = () if step.tool == "llc" or "-print-module-scope" in command else ("-print-module-scope",)
    shows = (*after, *whole) if after else llvm_passes.SHOWS[step.tool]
    with scratch.folder() as folder, contextlib.suppress(OSError), contextlib.ExitStack() as stack:
        words = [*command, *shows, "-o", os.devnull]
        log = stack.enter_context(feeding.log_of(words, text.encode(), cwd=folder))
        for one in llvm_passes.split(codecs.iterdecode(log.pieces(), "utf-8", "replace"), every=bool(after)):

            def show(_: State, one: llvm_passes.Changed = one) -> State:
                return TextState(one.language, one.text, Content(one.text, True, one.places))

            yield Pass(one.name, show, "", one.scope, seconds=0.0)


def user_tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """The user's own program: IR on its input, new IR on its output.

    `{in}` and `{out}` in its command are files instead. A program that ends with an error and has not read its input
    is run once more as PyTorch Explorer runs it, `TOOL FLAGS INPUT -o OUTPUT`.
    """
    path, words = located(run, step)
    run.tools[words[0]] = path
    name = os.path.basename(words[0])
    command = [path, *words[1:]]
    yield Pass(name, lambda before: own(run, before, step, command), shlex.join(words[1:]), pipeline=step.command)


Take = Callable[[bytes], bytes]


def own(run: Run, before: State, step: Step, command: list[str], take: Take = bytes) -> State:
    """What the user's program makes of the IR; `take` gets what it said, and gives what is to be a diagnostic of it.

    Raises StepFailed when it fails.
    """
    text = _input(run, before)
    ending = suffix(before.language)
    with scratch.folder() as folder:
        source, result = (os.path.join(folder, name + ending) for name in ("in", "out"))
        Path(source).write_text(text, encoding="utf-8")
        placed = [word.replace("{in}", source).replace("{out}", result) for word in command]
        fed = _fed(step, placed, text if placed == command or not _has(command, "{in}") else "", run)
        problem = how_failed(fed, placed)
        if problem and fed.returncode > 0 and not fed.read and placed == command:
            shown = f"{os.path.basename(command[0])} FLAGS INPUT -o OUTPUT"
            fed = _fed(step, [*command, source, "-o", result], "", run)
            again = how_failed(fed, command)
            problem = f"{problem}\n  It had not read its input. Run as {shown}, {again}" if again else ""
            if not again:
                said = f"{os.path.basename(command[0])} did not read its input, and was run as {shown}"
                run.diagnostics.append(Diagnostic("remark", said))
        output = _said(run, step, command, replace(fed, stderr=take(fed.stderr)), text, problem)
        if os.path.exists(result):
            output = Path(result).read_bytes()
    return _state_of(run, before, step, output)


def _has(command: list[str], placeholder: str) -> bool:
    return any(placeholder in word for word in command)


def _fed(step: Step, command: list[str], text: str, run: Run) -> feeding.Fed:
    name = os.path.basename(command[0])
    try:
        return feeding.run(command, text.encode(), run.request.cwd or None)
    except OSError as error:
        raise StepFailed(events.Failed("tool", f"{name} cannot be run: {error}", name, step.tool)) from None


def how_failed(fed: feeding.Fed, command: list[str]) -> str:
    """How a program failed, in words; empty when it did not."""
    if not fed.returncode:
        return ""
    how = f"was killed by signal {-fed.returncode}" if fed.returncode < 0 else f"exited with {fed.returncode}"
    said = _words(fed.stderr)
    name = os.path.basename(command[0])
    if said.startswith(crashes.ASKS) and (where := crashes.place(said)):
        return f"{name} {how} in {where}"
    first = next((line for line in said.splitlines() if "error" in line.lower()), said.split("\n")[0])[:_LINE]
    return f"{name} {how}: {first}" if first else f"{name} {how} and said nothing"


def _words(stderr: bytes) -> str:
    """What a program said, as text: without the zeros that some fill files with."""
    return stderr.replace(b"\0", b"").decode(errors="replace").strip()


def _said(run: Run, step: Step, command: list[str], fed: feeding.Fed, text: str, problem: str) -> bytes:
    """The output of a program; what it said besides is a diagnostic. Raises StepFailed when it failed."""
    name = os.path.basename(command[0])
    said = graphs.take(_words(fed.stderr), run.attachments).strip()
    if problem:
        if "dense_resource<" in text and run.request.elide and not run.request.keep_constants:
            problem += "\n  It was given the weights elided; --no-elide (elide=False) gives them in full"
        found = (Diagnostic("error", crashes.kept(said)),) if said else ()
        raise StepFailed(events.Failed("tool", problem, name, step.tool, found, pipeline=step.command))
    if said:
        run.diagnostics.append(Diagnostic("remark", f"{name}: {printed.shortened(said)}"))
    return fed.stdout


def located(run: Run, step: Step) -> tuple[str, list[str]]:
    """The path of a user's program and the words of its command. Raises StepFailed when there is none."""
    words = shlex.split(step.arguments)
    if not words:
        raise StepFailed(events.Failed("usage", "user-tool needs a program: user-tool ./mine --flag", tool=step.tool))
    name = words[0]
    path = shutil.which(os.path.join(run.request.cwd, name) if os.sep in name else name)
    if path is None:
        raise StepFailed(events.Failed("tool", f"user-tool: {_missing(name, run.request.cwd)}", name, step.tool))
    return path, words


def _missing(name: str, cwd: str) -> str:
    """Why there is no such program, with the near matches."""
    path = os.path.join(cwd, name)
    folders = [os.path.dirname(path)] if os.sep in name else os.environ.get("PATH", "").split(os.pathsep)
    if os.path.isdir(path):
        return f"{name!r} is a folder, not a program"
    if os.path.isfile(path):
        return f"{name!r} is a file, but {_no_program(path, name)}"
    found: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            found.update(os.listdir(folder))
    close = difflib.get_close_matches(os.path.basename(name), found, n=3, cutoff=0.7)
    hint = f" Did you mean {' or '.join(os.path.join(os.path.dirname(name), one) for one in close)}?" if close else ""
    where = "" if os.sep in name else f" on PATH; give its path, as in ./{name}"
    return f"there is no program {name!r}{where}.{hint}"


def _no_program(path: str, name: str) -> str:
    """Why a file cannot be run from here, and what to do where something can be done."""
    if os.sep not in name:
        return f"not on PATH: give its path, as in ./{name}"
    try:
        with open(path, "rb") as file:
            start = file.read(4)
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    if start[:2] == b"#!" or start == b"\x7fELF":
        return f"nobody may execute it: chmod +x {name}"
    return "not a program: it starts neither with #! nor as an executable"


_REFUSED = re.compile(
    r"Unknown command line argument|no such option|not refer to a registered pass|for the -[\w-]+ option|unbalanced|"
    r"invalid value|unknown .*pass|failed to add|is not a registered"
)


def refusal(program: FoundProgram, step: Step) -> str:
    """Why an LLVM program would refuse a command line, in its own words; empty when it would not.

    Before anything is read or written, the programs take their whole command line apart, and `--version` ends them
    there. Passes are looked up later, so these are also tried on an empty module.
    """
    words = _without_output(shlex.split(step.arguments))
    said = _asked([program.path, *words, "--version"])
    if step.tool in ("mlir-opt", "torch-mlir-opt"):
        said += _asked([program.path, *words, "-o", os.devnull], "module {}\n")
    elif step.tool == "opt":
        for word in words:
            if re.match(r"--?passes=", word):
                said += _asked([program.path, word, "-disable-output"])
    lines = [re.sub(r"^\S+: ", "", line).strip() for line in said if _REFUSED.search(line) or "Did you mean" in line]
    lines.sort(key=lambda line: "Unknown command line argument" not in line and "Did you mean" not in line)
    told = " ".join(line.partition("  Try: ")[0] for line in lines[:2])
    if unknown := re.search(r"unknown (?:\w+ )?pass (?:name )?'([\w-]+)'", told):
        told += _known_as(unknown[1], _asked([program.path, "--print-passes"]))
    return told


def _known_as(name: str, listed: list[str]) -> str:
    """What `--print-passes` has of a name that is no pass where it stands: another kind of pass, or near matches."""
    kinds: dict[str, str] = {}
    kind = ""
    for line in listed:
        if found := re.match(r"  ([a-z][\w-]*)(<.*)?$", line):
            kinds.setdefault(found[1], kind)
        elif line and not line.startswith(" "):
            kind = line.rstrip(":")
    if name in kinds:
        return f". --print-passes has it among {kinds[name]!r}, which do not stand here"
    return f". {near(name, kinds)}" if kinds else ""


def _without_output(words: list[str]) -> list[str]:
    """The words of a command line but for `-o FILE`."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word in ("-o", "--o"):
            next(rest, None)
        elif not re.match(r"--?o=", word):
            kept.append(word)
    return kept


def _asked(command: list[str], text: str = "") -> list[str]:
    with scratch.folder() as folder:
        try:
            done = subprocess.run(
                command,
                input=text,
                capture_output=True,
                text=True,
                errors="replace",
                cwd=folder,
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
    return [*done.stderr.splitlines(), *done.stdout.splitlines()]


def _input(run: Run, state: State) -> str:
    """The text that a program reads; MLIR keeps its locations, so that lines stay linked to the source."""
    if isinstance(state, MlirState):
        elide = run.request.elide and not run.request.keep_constants
        return state.asm(elide=elide)
    return state.render(run.request.elide).text


def _run(run: Run, before: State, step: Step, command: list[str]) -> State:
    """Run a program of LLVM on the IR; what it prints is the new IR, nothing means that it only looked."""
    with scratch.folder() as folder:
        text = _input(run, before)
        name = os.path.basename(command[0])
        try:
            fed = feeding.run(command, text.encode(), folder)
        except OSError as error:
            raise StepFailed(events.Failed("tool", f"{name} cannot be run: {error}", name, step.tool)) from None
        output = _said(run, step, command, fed, text, how_failed(fed, command))
        for path in (*Path(folder).glob("*.dot"), *Path(folder).glob(".*.dot")):
            run.attachments[path.name.lstrip(".")] = path.read_bytes()
    return _state_of(run, before, step, output)


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
    if language == "text" and isinstance(before, TextState) and _is_as(before, text):
        language = before.language
    if language == "mlir":
        if run.request.keep_constants:
            with contextlib.suppress(mlir.PassFailed):
                # In a context of its own: in that of the module before, its resources would be renamed.
                return MlirState(mlir.parse(text, mlir.new_context()))
        return TextState("mlir", text, mlir.content(text))
    return llvm_state.same_kind(before, language, text) if isinstance(before, TextState) else TextState(language, text)


def _is_as(before: TextState, text: str) -> bool:
    """Whether a text of which no sign tells the language is in that of the text before: unchanged, or Python."""
    if before.language != "python":
        return text.strip() == before.text.strip()
    try:
        return any(not isinstance(statement, ast.Expr) for statement in ast.parse(text).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


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


def _mlir_passes(run: Run, state: State, step: Step, program: FoundProgram, arguments: list[str]) -> Iterator[Pass]:
    """mlir-opt once, with a file after every pass: only then are its passes known."""
    with scratch.folder() as folder:
        tree = os.path.join(folder, "tree")
        command = [
            program.path,
            *arguments,
            "--mlir-print-debuginfo",
            "--mlir-disable-threading",
            "--mlir-print-ir-after-all",
            "--mlir-print-ir-module-scope",
            f"--mlir-print-ir-tree-dir={tree}",
        ]
        result = _run(run, state, step, command)
        dumped = _in_order(Path(tree))
        states = [_state_of(run, state, step, path.read_bytes()) for path in dumped[:-1]] + [result]
        names = [_pass_name(path) for path in dumped] or [step.tool]
    for name, after in zip(names, states, strict=True):
        yield Pass(name, lambda _, after=after: after, pipeline=step.command, seconds=0.0)


def _in_order(tree: Path) -> list[Path]:
    """The dumps in the order in which they were made: file names begin with counters such as 2_0_."""

    def counters(path: Path) -> tuple[int, ...]:
        numbers = re.match(r"(\d+(?:_\d+)*)_", path.name)
        return tuple(int(n) for n in numbers[1].split("_")) if numbers else ()

    return sorted(tree.rglob("*.mlir"), key=counters)


def _pass_name(path: Path) -> str:
    return re.sub(r"^\d+(_\d+)*_", "", path.stem)
