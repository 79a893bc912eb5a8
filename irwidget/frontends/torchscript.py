"""TorchScript: the graph that torch.jit.trace records, with the user's line for every line of it."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Mapping
from typing import Any

from irwidget.dumps import Dump, Location, Step, Trace, dump
from irwidget.errors import UsageError
from irwidget.frontends import torch as frontend
from irwidget.frontends.undo import undone
from irwidget.toolchain.locations import is_user_file

STEP = Step("torch.jit.trace", "check_trace=False", "torch.jit.trace")
_PLACE = re.compile(r" # (\S+):(\d+):(\d+)$")


def lower(model: Any, inputs: tuple[Any, ...], kwargs: Mapping[str, Any], name: str) -> Trace:
    """Trace a module or function: the graph as recorded, then with its submodules inlined.

    Raises ExportError with the user's line when the model cannot run, and
    UsageError for an ExportedProgram, which has no Python left to trace.
    """
    import torch

    if isinstance(model, torch.export.ExportedProgram):
        raise UsageError("torch_script_graph_ir needs the module itself; an ExportedProgram cannot be traced again")
    started = time.perf_counter()
    try:
        # Under no_grad a fused attention op would hide the layers; torch calls tracing deprecated on every use.
        with undone(model), warnings.catch_warnings():
            warnings.simplefilter("ignore", category=DeprecationWarning)
            warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)  # pyright: ignore[reportPrivateImportUsage]
            trace: Any = torch.jit.trace
            keywords = {"example_kwarg_inputs": dict(kwargs)} if kwargs else {}
            traced = trace(model, inputs, check_trace=False, **keywords)
    except Exception as error:
        raise frontend.explain(error, name, "torch.jit.trace") from error
    seconds = time.perf_counter() - started
    dumps = (_dump("torch.jit.trace", traced.graph, seconds), _dump("inline", traced.inlined_graph, 0.0))
    return Trace(
        "torch_script_graph_ir", dumps, (STEP,), name=name, tools={"torch": torch.__version__},
        sources=frontend.read_sources(place.file for d in dumps for place in d.locations if place),
    )


def _dump(name: str, graph: Any, seconds: float) -> Dump:
    lines = str(graph).rstrip("\n").split("\n")
    places: list[Location | None] = []
    for number, line in enumerate(lines):
        found = _PLACE.search(line)
        lines[number] = line[: found.start()] if found else line
        user = found and is_user_file(found[1])
        places.append(Location(found[1], int(found[2]), int(found[3])) if found and user else None)
    return dump(
        name, "\n".join(lines) + "\n", step=STEP.name, language="torchscript", locations=tuple(places), seconds=seconds
    )


