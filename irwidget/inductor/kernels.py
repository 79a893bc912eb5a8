"""The kernels in Inductor's output code: their sources, and what launches them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from irwidget.inductor import printing, private
from irwidget.inductor.data import Direction, Kernel
from irwidget.inductor.schedule import Drawn
from irwidget.trace import Location

_DEFINED = re.compile(r"^(\w+) = async_compile\.(\w+)\((?:'(?P<function>\w+)', )?.*?(?P<quote>'''|\"\"\")\n?", re.M)


def found(
    text: str,
    noted: Mapping[str, tuple[tuple[str, ...], Mapping[str, list[Location | None]]]],
    schedule: Drawn,
    graph: int,
    direction: Direction,
) -> Iterator[tuple[Kernel, int]]:
    """The kernels that an output module defines, each with the number of lines before its source.

    `noted` has for each name its operations and the lines that were noted as they were written.
    """
    for match in _DEFINED.finditer(text):
        name, compiler, quote = match[1], match[2], match["quote"]
        end = text.find(quote, match.end())
        source = text[match.end() : end if end >= 0 else len(text)]
        ops, lines = noted.get(name, ((), {}))
        ops = ops or tuple(op.name for op in schedule.ops if op.kernel == name)  # a template is written as a whole
        whole = schedule.places(ops)
        content = printing.placed(source, lines, whole)
        before = text.count("\n", 0, match.end())
        triton = compiler == "triton"
        launch = launched(source, match["function"] or name) if triton else {}
        yield Kernel(name, "python" if triton else "text", content, graph, direction, tuple(ops), **launch), before


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
