"""The kernels in Inductor's output code: their sources, and what launches them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from irwidget.inductor import printing, private
from irwidget.inductor.data import Direction, Kernel
from irwidget.inductor.schedule import Drawn
from irwidget.trace import Location

_DEFINED = re.compile(r"^(\w+) = async_compile\.(\w+)\((?:'(?P<function>\w+)', )?.*?(?P<quote>'''|\"\"\")\n?", re.M)


class Defined(NamedTuple):
    """A kernel as it is given to the output module that is being written."""

    ops: tuple[str, ...]
    lines: Mapping[str, list[Location | None]]
    """The lines that were noted as they were written."""
    body: str
    """What defines it: a call of Inductor's compiler, or C++."""


def found(
    text: str, defined: Mapping[str, Defined], schedule: Drawn, graph: int, direction: Direction
) -> Iterator[tuple[Kernel, int]]:
    """The kernels that an output module defines, each with the number of lines before its source.

    Where the module is C++ (`cpp_wrapper`), Triton kernels are not in it: their number is -1.
    """

    def made(name: str, source: str, compiler: str, function: str | None) -> Kernel:
        one = defined.get(name, Defined((), {}, ""))
        ops = one.ops or tuple(op.name for op in schedule.ops if op.kernel == name)  # a template is written as a whole
        content = printing.placed(source, one.lines, schedule.places(ops))
        triton = compiler == "triton"
        launch = launched(source, function or name) if triton else {}
        return Kernel(name, "python" if triton else "text", content, graph, direction, tuple(ops), **launch)

    known: set[str] = set()
    for match, source in _definitions(text):
        known.add(match[1])
        before = text.count("\n", 0, match.end())
        yield made(match[1], source, match[2], match["function"]), before
    for name, one in defined.items():
        if name in known:
            continue
        for match, source in _definitions(f"{name} = {one.body}"):
            yield made(name, source, match[2], match["function"]), -1
        if (at := text.find(one.body)) >= 0 and one.body and not one.body.startswith("async_compile."):
            yield made(name, one.body, "cpp", None), text.count("\n", 0, at)


def _definitions(text: str) -> Iterator[tuple[re.Match[str], str]]:
    """What a text defines by calls of Inductor's compiler, with the source of each."""
    for match in _DEFINED.finditer(text):
        end = text.find(match["quote"], match.end())
        yield match, text[match.end() : end if end >= 0 else len(text)]


def launched(source: str, name: str) -> dict[str, Any]:
    """What Inductor's launcher says of a Triton kernel: signature, constants, facts of arguments, configurations."""
    tuner: Any = getattr(private.get("load_kernel")(source), name, None)
    if tuner is None:
        return {}
    meta = tuner.triton_meta
    signature = {key: str(value) for key, value in meta["signature"].items()}
    names = list(signature)
    divisible: list[str] = []
    for config in meta.get("configs") or ():
        for path, facts in dict(config).items():
            position = path[0] if isinstance(path, tuple) else path
            if any(fact[0] == "tt.divisibility" for fact in facts):
                divisible.append(names[position])
    constants = {str(key): value for key, value in (meta.get("constants") or {}).items()}
    return {
        "signature": signature,
        "constants": constants,
        "divisible": tuple(divisible),
        "configs": tuple(_config(one) for one in tuner.configs),
    }


def _config(config: Any) -> dict[str, Any]:
    """One configuration of Inductor's tuner: block sizes, warps, stages."""
    return {**config.kwargs, "num_warps": config.num_warps, "num_stages": config.num_stages}
