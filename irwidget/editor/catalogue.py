"""The passes that each tool of a pipeline really has, with their options: what a page may pick from.

MLIR has no call that lists its registered passes. So a process of its own asks the tools that come with the wheels
and the LLVM programs of this machine for their `--help`, adds every string in the MLIR library that could be a name,
and keeps what MLIR's own parser takes for a pass; the parser then prints each pass's options with their defaults.

    python -m irwidget.editor.catalogue      prints it as JSON
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from irwidget import registry
from irwidget.errors import ToolError, UsageError, near
from irwidget.registry import imported
from irwidget.toolchain import option_values, processes

USER_TOOL = "user-tool"

_NOT_OFFERED = re.compile(
    r"test-.*|gpu-module-to-binary|gpu-lower-to-.*|view-op-graph|snapshot-op-locations|location-snapshot"
)
"""Passes that write files or start programs."""
_TORCH = re.compile(r"torch|stablehlo|chlo|vhlo|refback|tm-?tensor")
_KINDS = {**dict.fromkeys(("int", "uint", "long", "ulong"), "integer"), "number": "number", "filename": "filename"}
"""What `--help` calls the values of an option, and what they are here; others are text."""


@dataclass(frozen=True, slots=True)
class CataloguedOption:
    """An option of a pass."""

    name: str
    kind: str
    """`flag`, `integer`, `number`, `choice` or `text`."""
    default: str = ""
    choices: tuple[str, ...] = ()
    help: str = ""

    def check(self, value: str) -> None:
        """Raises UsageError for a value that the option cannot have."""
        if self.kind == "choice":
            if value not in self.choices:
                raise UsageError(f"{self.name} is one of {', '.join(self.choices)}, not {value!r}")
        else:
            option_values.check(self.name, self.kind, value)


@dataclass(frozen=True, slots=True)
class CataloguedPass:
    """A pass, or what else a tool can be told to do in one step."""

    name: str
    help: str = ""
    options: tuple[CataloguedOption, ...] = ()

    def check(self, options: Mapping[str, str]) -> None:
        """Raises UsageError for an option that the pass does not have, or a value that it cannot have."""
        known = {option.name: option for option in self.options}
        for name, value in options.items():
            if name not in known:
                has = near(name, known) if known else "It has none."
                raise UsageError(f"{self.name} has no option {name!r} to set here. {has}")
            known[name].check(value)


Catalogue = Mapping[str, Mapping[str, CataloguedPass]]
"""Tool -> name of a pass -> the pass."""

_lock = threading.Lock()
_found: Catalogue | None = None


def offered_tools() -> tuple[str, ...]:
    """The tools whose passes a page may pick from, unless it is told otherwise."""
    return tuple(tool.name for tool in registry.tools if tool.passes)


def catalogue() -> Catalogue:
    """All tools with their passes; found once per process, in about two seconds. Raises ToolError."""
    global _found
    with _lock:
        if _found is None:
            _found = from_json(_ask())
        return _found


def allowed(everything: Catalogue, tools: Collection[str]) -> Catalogue:
    """The part of the catalogue that is allowed, with the commands `user-tool ./mine --flag` among `tools`."""
    shown = {tool: everything[tool] for tool in tools if tool in everything}
    own = [command.removeprefix(USER_TOOL).strip() for command in tools if command.startswith(f"{USER_TOOL} ")]
    return {**shown, **({USER_TOOL: {command: CataloguedPass(command) for command in own}} if own else {})}


def check_allowed(tools: Collection[str]) -> tuple[str, ...]:
    """`tools` as given; raises UsageError for what is neither a tool nor `user-tool COMMAND`."""
    known = offered_tools()
    for tool in tools:
        if tool not in known and not re.fullmatch(rf"{USER_TOOL} +\S.*", tool):
            raise UsageError(
                f"allow_tools has {tool!r}. {near(tool, known)} A program of your own is written as the whole "
                "command that the page may pick: 'user-tool ./mine --flag'"
            )
    return tuple(dict.fromkeys(tools))


def to_json(found: Catalogue) -> str:
    return json.dumps({tool: [asdict(one) for one in passes.values()] for tool, passes in found.items()})


def from_json(text: str) -> Catalogue:
    def read(one: dict[str, Any]) -> CataloguedPass:
        options = (replace(CataloguedOption(**option), choices=tuple(option["choices"])) for option in one["options"])
        return CataloguedPass(one["name"], one["help"], tuple(options))

    return {tool: {one["name"]: read(one) for one in passes} for tool, passes in json.loads(text).items()}


def _ask() -> str:
    try:
        done = subprocess.run(
            processes.command("irwidget.editor.catalogue"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip().splitlines()
        raise ToolError(f"The passes cannot be listed: {said[-1] if said else error}", tool="catalogue") from None
    return done.stdout


# From here on: what runs in the process of its own.


def _collect() -> Catalogue:
    found: dict[str, dict[str, CataloguedPass]] = {}
    for tool in registry.tools:
        if tool.passes:
            try:
                found[tool.name] = {one.name: one for one in imported(tool.passes)()}
            except Exception as error:  # another package's tool must not cost ours
                sys.stderr.write(f"{tool.name}: {type(error).__name__}: {error}\n")
    return {tool: passes for tool, passes in found.items() if passes}


@functools.cache
def _mlir() -> tuple[Collection[CataloguedPass], Collection[str]]:
    """Every pass of MLIR and torch-mlir, and the names of those that only torch-mlir's program has."""
    from irwidget.toolchain import external

    helps: dict[str, CataloguedPass] = {}
    own: set[str] = set()
    for tool in ("mlir-opt", "torch-mlir-opt"):
        program = external.find(tool)
        if not isinstance(program, str):
            told = {one.name: one for one in _mlir_help(_said(program.path, "--help"))}
            helps |= told
            own |= set(told) if tool == "torch-mlir-opt" else set()
    return sorted(_registered(helps), key=lambda one: one.name), own


def torch_mlir_passes() -> list[CataloguedPass]:
    """The passes of `torch-mlir-opt`."""
    passes, own = _mlir()
    return [one for one in passes if _TORCH.search(one.name) or one.name in own]


def mlir_passes() -> list[CataloguedPass]:
    """The passes of `mlir-opt`."""
    return [one for one in _mlir()[0] if not _TORCH.search(one.name)]


def translations() -> list[CataloguedPass]:
    """What `mlir-translate` does."""
    return [CataloguedPass("mlir-to-llvmir", "Translate the LLVM dialect to LLVM IR")]


def code_generation() -> list[CataloguedPass]:
    """What `llc` does."""
    level = CataloguedOption("O", "choice", "2", ("0", "1", "2", "3"), "Optimisation level")
    return [CataloguedPass("codegen", "Generate code for a target", (level, *_TARGET))]


def _said(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return done.stdout


_LINE = re.compile(r"^( +)(--?|=)([\w.-]+)(?:\[?=<([^>]*)>\]?)? +- ?(.*)$")


def _mlir_help(text: str) -> Iterator[CataloguedPass]:
    """The passes in what `mlir-opt --help` prints: a pass is indented by 6, its options by 8, their choices follow."""
    name, about = "", ""
    options: list[CataloguedOption] = []
    for line in text[text.find("Compiler passes to run") :].splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        indent, groups = len(match[1]), match.groups()
        dashes, word, kind, said = groups[1], groups[2], groups[3], groups[4]
        if dashes == "=":
            if options:
                last = options[-1]
                options[-1] = CataloguedOption(last.name, "choice", "", (*last.choices, word), last.help)
        elif indent == 6:
            if name:
                yield CataloguedPass(name, about, tuple(options))
            name, about, options = word, said.strip(), []
        elif indent == 8 and name:
            options.append(
                CataloguedOption(word, "flag" if kind is None else _KINDS.get(kind, "text"), help=said.strip())
            )
        elif indent < 6 and name:
            break
    if name:
        yield CataloguedPass(name, about, tuple(options))


def _registered(helps: Mapping[str, CataloguedPass]) -> Iterator[CataloguedPass]:
    """The passes that MLIR's parser knows, each with the options that it prints."""
    from irwidget.toolchain import mlir, mlir_names

    context = mlir.new_context()
    for name in {*helps, *(name for name in mlir_names.in_library() if "-" in name)}:
        if _NOT_OFFERED.fullmatch(name):
            continue
        printed = mlir_names.printed(f"any({name})", context)
        if printed is None:
            continue
        yield _with_defaults(helps.get(name, CataloguedPass(name)), printed)


def _with_defaults(told: CataloguedPass, printed: str) -> CataloguedPass:
    body = re.fullmatch(rf"[\w.]+\({re.escape(told.name)}\{{([^{{}}]*)\}}\)", printed)
    defaults = dict(pair.split("=", 1) for pair in body[1].split() if "=" in pair) if body else {}
    options = {option.name: option for option in told.options}
    for name, default in defaults.items():
        before = options.get(name) or CataloguedOption(name, option_values.kind_of(default))
        options[name] = CataloguedOption(name, before.kind, default, before.choices, before.help)
    # MLIR rewords what it prints, so an option that only --help has may be an older MLIR's.
    return CataloguedPass(
        told.name,
        told.help,
        tuple(
            option
            for option in sorted(options.values(), key=lambda one: one.name)
            if not option_values.REACHES_OUT.search(option.name) and option.kind != "filename"
        ),
    )


_TRIPLES = ("nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa", "spirv64-unknown-unknown", "x86_64-unknown-linux-gnu")
_TARGET = (
    CataloguedOption("mtriple", "choice", "", _TRIPLES, "What to generate code for"),
    CataloguedOption("mcpu", "text", help="The processor: sm_80, gfx942 ..."),
    CataloguedOption("mattr", "text", help="Features to add or take away: +ptx80"),
)
_SWITCHES = (
    CataloguedOption("vectorize-loops", "flag", "true", help="Run the loop vectoriser"),
    CataloguedOption("vectorize-slp", "flag", "true", help="Run the SLP vectoriser"),
)


def opt_passes() -> Iterator[CataloguedPass]:
    """The levels of `opt`, and its single passes where the program is installed."""
    from irwidget.toolchain import external

    for level in range(4):
        yield CataloguedPass(f"O{level}", f"LLVM's pipeline at level {level}", (*_TARGET, *_SWITCHES))
    program = external.find("opt")
    if isinstance(program, str):
        return
    names = re.findall(r"^  ([a-z][a-z0-9-]*)$", _said(program.path, "--print-passes"), re.M)
    for name in sorted(set(names)):
        if not re.search(r"view|dot-|print|bitcode|write|profile-load|instrprof", name):
            yield CataloguedPass(name, f"run by the program opt {program.version}")


def triton_passes() -> Iterator[CataloguedPass]:
    """The passes of `triton-opt`, where Triton is installed."""
    try:
        from irwidget.toolchain import triton_opt

        known = triton_opt.known()
    except ImportError:
        return
    kinds = {"bool": "flag", "int": "integer", "str": "text"}
    for one in known.values():
        options = (CataloguedOption(name, kinds[kind]) for name, kind in zip(one.options, one.types, strict=True))
        yield CataloguedPass(one.name, "", tuple(options))


if __name__ == "__main__":
    sys.stdout.write(to_json(_collect()))
