"""What the real front end gives for functions of its own tests (`recorded.json.xz`), and ours in its form."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Sequence
from functools import cache
from math import inf, nan
from pathlib import Path
from typing import Any

import torch

from irwidget.errors import IRWidgetError
from irwidget.spyre import SpyreProgram, TensorSpec, compile

FILE = Path(__file__).parent / "recorded.json.xz"
Ops = list[dict[str, Any]]


@cache
def functions() -> dict[str, dict[str, Any]]:
    """Name -> `code` (its ATen graph as Python), `inputs` ([shape, dtype, stride] each), `error`, `ops`.

    `error` is the first line of what the real front end raised, or empty. Each of `ops` has the OpFunc, the
    iteration space as [size, split] (`it`), constants as text (`const`), and per tensor (`args`) in or out, data
    format, device extents, coordinates and address.
    """
    return json.loads(lzma.decompress(FILE.read_bytes()))


def function(code: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"torch": torch, "inf": inf, "nan": nan, "device": torch.device}
    exec(code, namespace)  # our own table
    return lambda *tensors: namespace["forward"](None, *tensors)


def ours(recorded: dict[str, Any]) -> Ops | None:
    """The ops that we compile the function to; None when we refuse it."""
    specs = [TensorSpec(shape, dtype, stride=stride) for shape, dtype, stride in recorded["inputs"]]
    try:
        return ops_of(compile(function(recorded["code"]), specs))
    except IRWidgetError:
        return None


def ops_of(program: SpyreProgram) -> Ops:
    found: Ops = []
    for kernel in program.kernels:
        found += [
            {
                "op": spec.op,
                "it": [[str(n), split] for n, split in spec.iteration_space.values()],
                "const": {name: str(value) for name, value in spec.constants.items()},
                "args": [
                    [
                        "in" if arg.is_input else "out",
                        arg.device_dtype,
                        list(arg.device_size),
                        [str(c) for c in arg.device_coordinates],
                        {arg.allocation[0]: arg.allocation[1]},
                    ]
                    for arg in spec.args
                ],
            }
            for spec in kernel.specs
        ]
    return found


def agrees(recorded: dict[str, Any], made: Ops | None) -> bool:
    return made is None if recorded["error"] else made == recorded["ops"]


def shown(ops: Sequence[dict[str, Any]] | None) -> str:
    """Ops, a tensor per line."""
    if ops is None:
        return "refused"
    lines: list[str] = []
    for op in ops:
        lines.append(f"{op['op']} {op.get('it')} {op.get('const')}")
        lines += [f"    {arg}" for arg in op.get("args", ())]
    return "\n".join(lines)
