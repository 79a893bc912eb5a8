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
from irwidget.toolchain import (
    asking,
    crashes,
    events,
    feeding,
    graphs,
    llvm,
    llvm_passes,
    llvm_state,
    mlir,
    mlir_flags,
    printed,
    scratch,
)
from irwidget.toolchain.language import detect, suffix
from irwidget.toolchain.mlir import MlirState
from irwidget.toolchain.tool import Pass, Run, State, StepFailed, TextState
from irwidget.trace import WHOLE, Content, Diagnostic, Scope, Step

OLDEST_LLVM = 22
_LINE = 500
"""Characters of what a program said that a message quotes; its diagnostic has more."""


_AFTER = re.compile(r"--?print-after(-all|=.+)")
KILLED = "was killed by signal"
"""What is said of a program that a signal ended."""


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
            yield from _every_pass(run, state, step, [program.path, *asking.without_output(arguments)], after)
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
    how = f"{KILLED} {-fed.returncode}" if fed.returncode < 0 else f"exited with {fed.returncode}"
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


_DUMPED = ("--mlir-print-ir-after-all", "--mlir-print-ir-module-scope", "--disable-symbolication")
_FAILED = re.compile(rb"// -----// IR Dump After .* Failed \(")
"""Begins what is printed of the IR that a failing pass leaves."""


def _mlir_passes(run: Run, state: State, step: Step, program: FoundProgram, arguments: list[str]) -> Iterator[Pass]:
    """mlir-opt once, with a file after every pass: only then are its passes known.

    Printing may crash on what a pass leaves before the verifier has seen it. So how it fails is what it does when it
    prints nothing between passes; those before are kept.
    """
    words = [program.path, *arguments, "--mlir-print-debuginfo", "--mlir-disable-threading"]
    result: State | None = None
    dumped: list[tuple[str, bytes]] = []
    if run.request.dumps or run.request.stop_after is not None:
        with scratch.folder() as folder:
            tree = Path(folder, "tree")
            with contextlib.suppress(StepFailed):
                result = _run(run, state, step, [*words, *_DUMPED, f"--mlir-print-ir-tree-dir={tree}"])
            paths = _in_order(tree)
            if _side_by_side(paths):
                paths = _as_run(paths, _printed_order([*words, *_DUMPED], _input(run, state)))
            dumped = [(_pass_name(path), path.read_bytes()) for path in paths]
    last = ""
    if dumped and (result is not None or _FAILED.match(dumped[-1][1])):
        last, _ = dumped.pop()
    names = [*(name for name, _ in dumped), *([last] if last else [])]
    apart = iter(_apart(step.tool, program, arguments, names))
    for name, data in dumped:
        yield _over(name, _state_of(run, state, step, data), next(apart))
    if result is not None:
        yield _over(last or step.tool, result, next(apart) if dumped else ("", WHOLE, step.command))
    else:
        yield Pass(last or step.tool, lambda _: _to_failure(run, state, step, words), pipeline=step.command)


def _to_failure(run: Run, state: State, step: Step, words: list[str]) -> State:
    """Run mlir-opt, which leaves a file where a pass fails. Raises StepFailed, which names that pass where it is known.

    What is killed while it prints that runs again without.
    """
    with scratch.folder() as folder:
        tree = Path(folder, "tree")
        try:
            return _run(run, state, step, [*words, "--mlir-print-ir-after-failure", f"--mlir-print-ir-tree-dir={tree}"])
        except StepFailed as failed:
            failure = failed.failure
            left = _in_order(tree)
    if left and KILLED in failure.message:
        return _run(run, state, step, words)
    raise StepFailed(replace(failure, pass_name=_pass_name(left[-1]) if left else failure.pass_name))


def _over(name: str, after: State, own: tuple[str, Scope, str]) -> Pass:
    """A pass that a program has run."""
    return Pass(name, lambda _: after, *own, seconds=0.0)


_PASSES = re.compile(r"^Pass Manager with \d+ passes:\n(.*?^\))", re.M | re.S)


def _apart(tool: str, program: FoundProgram, arguments: list[str], names: list[str]) -> list[tuple[str, Scope, str]]:
    """Options and scope of the first passes of mlir-opt, and what runs each by itself: of several functions, or where
    there are other options than passes, no pipeline says that.
    """
    asked = [program.path, *asking.without_output(arguments), "--dump-pass-pipeline", "-o", os.devnull]
    found = _PASSES.search("\n".join(asking.asked(asked, "module {}\n"))) if names else None
    leaves = [mlir.reparsable(leaf) for leaf in mlir.leaves(found[1])] if found else []
    known = {"pass-pipeline", mlir_flags.UNREGISTERED, *(leaf.name for leaf in leaves)}
    if [leaf.name for leaf in leaves[: len(names)]] != names or any(_flag(word) not in known for word in arguments):
        return [("", WHOLE, "")] * len(names)
    return [(leaf.options, leaf.scope, mlir_flags.alone(tool, leaf, arguments)) for leaf in leaves]


def _flag(word: str) -> str:
    return word.lstrip("-").partition("=")[0]


def _in_order(tree: Path) -> list[Path]:
    """The dumps in the order of the counters that file names begin with, such as 2_0_, which those of one folder have:
    several operations that passes of one group ran on, one after the other, have the same.
    """
    return sorted(tree.rglob("*.mlir"), key=_counters)


def _counters(path: Path) -> tuple[int, ...]:
    numbers = re.match(r"(\d+(?:_\d+)*)_", path.name)
    return tuple(int(n) for n in numbers[1].split("_")) if numbers else ()


def _side_by_side(paths: list[Path]) -> bool:
    """Whether several operations have passes in one place of the pipeline."""
    places = {(_counters(path)[:-1], path.parent) for path in paths}
    return len({counters for counters, _ in places}) < len(places)


_BANNER = re.compile(
    rb"^// -----// IR Dump After .*?\(([\w-]+)\) \('([\w.]+)' operation(?:: @(.+))?\) //----- //$", re.M
)


def _printed_order(command: list[str], text: str) -> list[tuple[str, str]]:
    """Names of passes and folders in the order in which they are printed where no files are asked for."""
    with scratch.folder() as folder, contextlib.suppress(OSError):
        said = feeding.run(command, text.encode(), folder).stderr
        found = [[part.decode(errors="replace") for part in one] for one in _BANNER.findall(said)]
        return [(name, f"{kind.replace('.', '_')}_{symbol or 'no-symbol-name'}") for name, kind, symbol in found]
    return []


def _as_run(paths: list[Path], order: list[tuple[str, str]]) -> list[Path]:
    """The dumps in the order in which their passes were printed; none where that does not tell of them all."""
    left, found = list(paths), list[Path]()
    for name, folder in order:
        path = next((one for one in left if (_pass_name(one), one.parent.name) == (name, folder)), None)
        if path is None:
            return []
        left.remove(path)
        found.append(path)
    return [] if left else found


def _pass_name(path: Path) -> str:
    return re.sub(r"^\d+(_\d+)*_", "", path.stem)
