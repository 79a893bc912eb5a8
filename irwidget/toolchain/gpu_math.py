"""Mathematical functions by the names that the libraries of GPUs have for them.

Kernels call functions of the C library (`erff`) and LLVM's intrinsics (`llvm.tanh.f32`), for most of which a GPU has no
instruction: its back end ends the process or leaves a call that nothing resolves. NVIDIA's libdevice, AMD's OCML and
OpenCL have nearly all of them, by names of their own. The first two are bitcode to be linked; of OpenCL's, LLVM's
SPIR-V back end makes instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from irwidget.toolchain.gpu_kernels import Kernels, on_each
from irwidget.toolchain.llvm_state import same_kind
from irwidget.toolchain.tool import Pass, Run, State, TextState, refuse
from irwidget.trace import Step

TOOL = "rename-libm"

_COMMON = frozenset(
    """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2 expm1 fabs fdim floor
    fma fmax fmin fmod hypot lgamma log log10 log1p log2 nextafter pow remainder rint round rsqrt sin sinh sqrt tan
    tanh tgamma trunc
    """.split()
)
"""Functions that all three libraries have, by the C library's names ("The OpenCL C Specification", Math Functions;
"libdevice User's Guide"; OCML's documentation)."""
_TRANSCENDENTAL = frozenset("acos asin atan atan2 cos cosh exp exp10 exp2 log log10 log2 pow sin sinh tan tanh".split())
"""Intrinsics of LLVM that are no instruction, or only a rough one, of a GPU."""
_WIDTH = {"float": "f32", "double": "f64"}


@dataclass(frozen=True, slots=True)
class Library:
    """How a library spells its functions."""

    name: str
    spell: Callable[[str, str, int], str]
    """The symbol of a function, of LLVM's type `float` or `double`, of so many arguments."""
    intrinsics: frozenset[str] = _TRANSCENDENTAL
    """LLVM's intrinsics that become its functions."""


LIBRARIES: Mapping[str, Library] = {
    library.name: library
    for library in (
        Library("libdevice", lambda name, kind, _: f"__nv_{name}{'f' if kind == 'float' else ''}"),
        Library("ocml", lambda name, kind, _: f"__ocml_{name}_{_WIDTH[kind]}"),
        Library("opencl", lambda name, kind, count: f"_Z{len(name)}{name}{kind[0] * count}", frozenset()),
    )
}

_SYMBOL = re.compile(r"@(?:__nv_(?P<nv>\w+)|__ocml_(?P<ocml>\w+)_(?P<width>f32|f64)|_Z(?P<size>\d+)(?P<cl>[a-z]\w*))\(")
_DECLARED = re.compile(
    r"^declare (?:[^@\n]* )?(?P<kind>float|double) @"
    r"(?P<symbol>(?P<libm>[a-z]\w*)|llvm\.(?P<intrinsic>\w+)\.(?P<width>f32|f64))\((?P<arguments>[^)]*)\)[^\n]*\n",
    re.M,
)


def tool(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Rename the functions that kernels call to those of a library, the step's argument: `erff` to `__nv_erff`."""
    library = LIBRARIES.get(step.arguments)
    if library is None:
        raise refuse(step, f"{TOOL} knows {', '.join(LIBRARIES)}, not {step.arguments!r}")
    if not isinstance(state, Kernels | TextState) or state.language != "llvm":
        raise refuse(step, f"{TOOL} reads LLVM IR, but it was given {state.language}")

    def work(_: str, before: TextState) -> TextState:
        return same_kind(before, "llvm", renamed(before.text, library))

    yield from on_each(
        state,
        f"libm-to-{library.name}",
        work,
        "",
        f"{TOOL} {library.name}",
        needed=lambda text: bool(_names(text.text, library)),
    )


def renamed(text: str, library: Library) -> str:
    """LLVM IR that calls a library's functions in place of libm's and LLVM's."""
    names = _names(text, library)
    if not names:
        return text
    known = set(re.findall(r"^(?:declare|define) [^@\n]*@([\w.]+)\(", text, re.M))
    pattern = re.compile(rf"@({'|'.join(map(re.escape, names))})(?![\w.])")

    def declared(line: re.Match[str]) -> str:
        old = line["symbol"]
        if old not in names:
            return line[0]
        if (new := names[old]) in known:  # a library function twice: as libm's and as LLVM's
            return ""
        known.add(new)
        return line[0]

    return pattern.sub(lambda match: f"@{names[match[1]]}", _DECLARED.sub(declared, text))


def _names(text: str, library: Library) -> dict[str, str]:
    """The library's name for each function that the text declares and the library has."""
    found: dict[str, str] = {}
    for line in _DECLARED.finditer(text):
        kind, count = line["kind"], line["arguments"].count(",") + 1
        if line["intrinsic"]:
            function = line["intrinsic"] if line["intrinsic"] in library.intrinsics else ""
            wanted = line["width"]
        else:
            function, wanted = _libm(line["libm"])
        if function and wanted == _WIDTH[kind]:
            found[line["symbol"]] = library.spell(function, kind, count)
    return found


_BFLOAT_CONSTANT = re.compile(r"\bbfloat 0xR([0-9A-Fa-f]{4})\b|(?<=, )0xR([0-9A-Fa-f]{4})\b")
_BFLOAT_ARITHMETIC = re.compile(r"^.*(?: f\w+ | [su]itofp | call )(?:.*\W)?bfloat\b.*$", re.M)


def bfloat_to_i16(run: Run, state: State, step: Step) -> Iterator[Pass]:
    """Keep bfloat16 in memory as integers of 16 bits, where arithmetic is done in float32 already.

    SPIR-V has no such type, and needs none when a program only loads and stores it.
    """
    if not isinstance(state, Kernels | TextState) or state.language != "llvm":
        raise refuse(step, f"{step.tool} reads LLVM IR, but it was given {state.language}")

    def work(_: str, before: TextState) -> TextState:
        return same_kind(before, "llvm", with_i16(before.text))

    yield from on_each(state, step.tool, work, "", step.tool, needed=lambda text: bool(_stored_only(text.text)))


def _stored_only(text: str) -> bool:
    return bool(re.search(r"\bbfloat\b", text)) and not _BFLOAT_ARITHMETIC.search(text)


def with_i16(text: str) -> str:
    """LLVM IR with i16 in place of bfloat, of the same bits."""
    text = _BFLOAT_CONSTANT.sub(lambda m: f"{'bfloat ' if m[1] else ''}{int(m[1] or m[2], 16)}", text)
    return re.sub(r"\bbfloat\b", "i16", text)


def _libm(symbol: str) -> tuple[str, str]:
    """The function and the width that a symbol of the C library stands for: `erff` is `erf` of `f32`."""
    if symbol in _COMMON:
        return symbol, "f64"
    single = symbol.removesuffix("f")
    return (single, "f32") if single != symbol and single in _COMMON else ("", "")


def of_libm(text: str) -> dict[str, str]:
    """For each function of these libraries that LLVM IR calls, the C library's name."""
    found: dict[str, str] = {}
    for match in _SYMBOL.finditer(text):
        if match["nv"]:
            name, width = _libm(match["nv"])
        elif match["ocml"]:
            name, width = match["ocml"], match["width"]
        else:
            size = int(match["size"])
            name, width = match["cl"][:size], "f32" if match["cl"][size:].startswith("f") else "f64"
        if name in _COMMON:
            found[match[0][1:-1]] = name + ("f" if width == "f32" else "")
    return found
