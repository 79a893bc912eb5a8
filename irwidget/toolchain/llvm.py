"""LLVM 22 by llvmlite: `opt -O2` and `llc` on text, embedded.

A fatal error of LLVM ends the process, so this belongs in the worker, and SPIR-V in a copy of it for each module.
Nothing here sets LLVM's command-line options: they are global to a process.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from irwidget.errors import near
from irwidget.toolchain import forked, gpu_archs, parsing
from irwidget.toolchain.triples import normalised
from irwidget.trace import Diagnostic, Location


class BadArguments(Exception):
    """Arguments that the embedded tool does not have."""


class NotEmbedded(BadArguments):
    """The real program may know the argument."""


class Rejected(Exception):
    """LLVM refused the IR; the message shows the line. `parsed`: it was read before."""

    def __init__(self, message: str, diagnostic: Diagnostic, *, parsed: bool = False) -> None:
        super().__init__(message)
        self.diagnostic = diagnostic
        self.parsed = parsed

    def __reduce__(self) -> tuple[Callable[..., Rejected], tuple[str, Diagnostic]]:
        """Pickled: SPIR-V is made in a copy of the process."""
        return partial(Rejected, parsed=self.parsed), (str(self), self.diagnostic)


@dataclass(frozen=True, slots=True)
class Settings:
    """What a command line of `opt` or `llc` asks for."""

    level: int | None = None
    """0 to 3; None when not given: no passes for `opt`, 2 for `llc`."""
    triple: str = ""
    cpu: str = ""
    features: str = ""
    unroll_loops: bool = True
    vectorize_loops: bool = True
    vectorize_slp: bool = True
    print_changed: bool = False
    """Show the IR after every pass that changed it."""


_VALUED = {"mtriple": "triple", "mcpu": "cpu", "mattr": "features"}
_SWITCHES = {
    "opt": {"vectorize-loops": "vectorize_loops", "vectorize-slp": "vectorize_slp"},
    "llc": {},
}
_TRUTH = {"": True, "true": True, "1": True, "false": False, "0": False}


def settings(tool: str, arguments: str) -> Settings:
    """Read the command line of `opt` or `llc`. Raises BadArguments for what only the real program has."""
    found: dict[str, Any] = {}
    words = iter(shlex.split(arguments))
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-"):
            raise NotEmbedded(f"embedded {tool} has no argument {word!r}")
        if name in (*_VALUED, "o") and not equals:
            value = next(words, "")
        if name in _VALUED:
            found[_VALUED[name]] = value
        elif re.fullmatch(r"O[0-3]", name):
            found["level"] = int(name[1])
        elif name in _SWITCHES[tool] and value in _TRUTH:
            found[_SWITCHES[tool][name]] = _TRUTH[value]
        elif name == "disable-loop-unrolling" and tool == "opt":
            found["unroll_loops"] = False
        elif name == "print-changed" and value in ("", "quiet"):
            found["print_changed"] = True
        elif (name, value) not in {("S", ""), ("", ""), ("filetype", "asm"), ("o", "-")}:
            known = ["O2", *_VALUED, *_SWITCHES[tool], "print-changed", *(["disable-loop-unrolling"] * (tool == "opt"))]
            raise NotEmbedded(f"embedded {tool} has no option {word!r}. {near(name, known)}")
    made = Settings(**found)
    made = replace(made, triple=normalised(made.triple))
    _check_cpu(made)
    return made


def pass_name(tool: str, asked: Settings) -> str:
    """What the whole of `opt` or `llc` is called as a pass."""
    if tool == "llc":
        return "codegen"
    return "verify" if asked.level is None else f"default<O{asked.level}>"


def _check_cpu(asked: Settings) -> None:
    """LLVM only warns of a processor that it does not know, then generates code for another."""
    for prefix, known in (("nvptx", gpu_archs.NVPTX), ("amdgcn", gpu_archs.AMDGPU)):
        generic = "generic" in asked.cpu or asked.cpu in ("sm_20", "sm_21")
        if asked.triple.startswith(prefix) and asked.cpu and asked.cpu not in known and not generic:
            raise BadArguments(f"{asked.triple} has no processor {asked.cpu!r}. {near(asked.cpu, known)}")


@cache
def _binding() -> Any:
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding


def parse(text: str) -> Any:
    """A verified module. Raises Rejected."""
    try:
        module = _binding().parse_assembly(text)
    except RuntimeError as error:
        raise _rejected(text, str(error).removeprefix("LLVM IR parsing error\n").strip()) from None
    return _verified(module, text)


def _verified(module: Any, text: str) -> Any:
    try:
        module.verify()
    except RuntimeError as error:
        raise _rejected(text, str(error).strip()) from None
    return module


def _rejected(text: str, said: str) -> Rejected:
    """LLVM's parser says where: `<string>:12:34: error: ...`; its verifier does not."""
    match = re.match(r"(<string>):(\d+):(\d+): error: (.*)", said)
    if not match:
        return Rejected(said, Diagnostic("error", said))
    place = Location(match[1], int(match[2]), int(match[3]))
    found = parsing.placed(text, Diagnostic("error", match[4], place), match[1])
    return Rejected(f"the IR does not parse: {parsing.explained(text, found)}", found)


def machine(asked: Settings) -> Any:
    """The target machine; None when no target is named. Raises BadArguments for an unknown triple."""
    if not asked.triple:
        return None
    binding = _binding()
    try:
        target = binding.Target.from_triple(asked.triple)
    except RuntimeError as error:
        raise BadArguments(f"-mtriple={asked.triple}: {error}") from None
    level = 2 if asked.level is None else asked.level
    made = target.create_target_machine(
        cpu=asked.cpu, features=asked.features, opt=level, reloc="default", codemodel="default"
    )
    made.set_asm_verbosity(True)
    return made


def _is_target(triple: str) -> bool:
    """Whether LLVM has a back end for a triple."""
    try:
        _binding().Target.from_triple(triple)
    except RuntimeError:
        return False
    return True


def _own_target(text: str, asked: Settings) -> Settings:
    """What is asked for, with the target that the IR names where the command line names none. Raises Rejected."""
    named = _TRIPLE.search(text)
    if asked.triple or named is None:
        return asked
    own = replace(asked, triple=named[1])
    try:
        _check_cpu(own)
    except BadArguments as error:
        raise Rejected(str(error), Diagnostic("error", str(error)), parsed=True) from None
    return own


_TRIPLE = re.compile(r'^[ \t]*target[ \t]+triple[ \t]*=[ \t]*"(.+)"', re.M)
_LAYOUT = re.compile(r'^[ \t]*target[ \t]+datalayout[ \t]*=[ \t]*"(.+)"', re.M)


def _parse_for(triple: str, layout: str, text: str) -> Any:
    """A module read for a target: alignments that the text leaves out are this layout's, and what the target forbids
    is refused. Raises Rejected.
    """
    bare = _LAYOUT.sub("", _TRIPLE.sub("", text))
    try:
        module = parse(f'target datalayout = "{layout}" {bare}')
    except Rejected:
        parse(text)  # says the place in the text as it was given
        raise
    module.triple = triple  # of a text with debug information, LLVM ends the process where its target forbids something
    return _verified(module, text)


_AFTER_ATTRIBUTES = re.compile(
    r' (?:section "|partition "|comdat\b|gc "|prefix |prologue |personality |!\w+ !\d|\{$)|$'
)
"""What follows the attributes of a function ("LLVM Language Reference", section Functions)."""

_UNUSUAL = re.compile(r"^[ \t]*define\b(?!.*@.*\{$)|^[ \t]*declare\b(?!.*@.*\).*$)|^[ \t]+(?:define|declare)\b", re.M)
"""A function whose head is not all of one line, as LLVM prints it."""


def _with_processor(text: str, asked: Settings) -> str:
    """`opt` and `llc` write -mcpu and -mattr into the functions that do not say otherwise."""
    wanted = {"target-cpu": asked.cpu, "target-features": asked.features}
    words = "".join(f' "{name}"="{value}"' for name, value in wanted.items() if value)
    if not words or '"target-cpu"=' in text:
        return text
    if _UNUSUAL.search(text):
        text = str(parse(text))

    def add(line: re.Match[str]) -> str:
        place = _AFTER_ATTRIBUTES.search(line[0], line[0].index("@"))
        assert place
        return line[0][: place.start()] + words + line[0][place.start() :]

    return re.sub(r"^(?:define|declare) .*$", add, text, flags=re.M)


def optimize(text: str, asked: Settings) -> str:
    """`opt -O<level>`: the whole-module pipeline of the new pass manager.

    As with `opt`, the target is that of the command line, else that of the IR, and one that LLVM has not is none; a
    layout that the IR names is kept.
    """
    own = _own_target(text, asked)
    target = machine(own) if asked.triple or _is_target(own.triple) else None
    if target is None:
        module = parse(text)
    else:
        layout = _LAYOUT.search(text)
        module = _parse_for(own.triple, layout[1] if layout else str(target.target_data), _with_processor(text, own))
    if asked.level is None:
        return str(module)
    binding = _binding()
    tuning = binding.create_pipeline_tuning_options(asked.level)
    tuning.loop_unrolling = asked.unroll_loops
    tuning.loop_vectorization = asked.vectorize_loops
    tuning.slp_vectorization = asked.vectorize_slp and asked.level > 1  # as opt has it
    builder = binding.create_pass_builder(target, tuning)
    builder.getModulePassManager().run(module, builder)
    return str(module)


def link(text: str, library: bytes) -> str:
    """`llvm-link --only-needed --internalize`: the module with those functions of a bitcode library that it calls."""
    module = parse(text)
    before = {function.name for function in module.functions if not function.is_declaration}
    module.link_in(_binding().parse_bitcode(library))
    for symbol in (*module.functions, *module.global_variables):
        if not symbol.is_declaration and symbol.name not in before and symbol.linkage.name == "external":
            symbol.linkage = "internal"
    _run_pass(module, "global_dead_code_eliminate")
    return str(module)


def named(text: str) -> str:
    """`opt -passes=instnamer`: every value has a name."""
    module = parse(text)
    _run_pass(module, "instruction_namer")
    return str(module)


def _run_pass(module: Any, name: str) -> None:
    builder = _binding().create_pass_builder(None, _binding().create_pipeline_tuning_options(0))
    passes = _binding().create_new_module_pass_manager()
    add = getattr(passes, f"add_{name}_pass", None)
    if add is not None:
        add()
        passes.run(module, builder)
        return
    older = _binding().create_module_pass_manager()  # llvmlite 0.44
    getattr(older, f"add_{name}_pass")()
    older.run(module)


def emit(text: str, asked: Settings) -> str:
    """`llc`: assembly for the target that is asked for, that the IR names, or this machine."""
    asked = _own_target(text, asked)
    if not asked.triple:
        asked = replace(asked, triple=str(_binding().get_process_triple()))
    elif not _is_target(asked.triple):
        said = f"unable to get target for {asked.triple!r}, which the IR names"
        raise Rejected(said, Diagnostic("error", said), parsed=True)
    if not asked.triple.startswith("spirv"):
        return _emitted(text, asked)
    _binding()  # loaded once, here, rather than in every copy
    try:
        return forked.call(lambda: _emitted(text, asked), cuda=False)
    except forked.Died as death:
        raise Rejected(said := f"LLVM {death}", Diagnostic("error", said), parsed=True) from None


def _emitted(text: str, asked: Settings) -> str:
    """Assembly. For SPIR-V, only the first of a process is right.

    Its back end keeps the ids of blocks, by address, in a static table, so that a later module may find those of an
    earlier one: ids are then defined twice, or are others in each run (llvm-project, issue 160613).
    """
    target = machine(asked)
    module = _parse_for(asked.triple, str(target.target_data), _with_processor(text, asked))
    return target.emit_assembly(module)


_LANGUAGES = (("nvptx", "ptx"), ("amdgcn", "amdgcn"), ("spirv", "spirv"), ("x86_64", "x86asm"), ("i686", "x86asm"))


def language(triple: str) -> str:
    """What the assembly of a target is called."""
    triple = triple or str(_binding().get_process_triple())
    return next((name for prefix, name in _LANGUAGES if triple.startswith(prefix)), "text")
