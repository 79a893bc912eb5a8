"""The public IR types of Spyre: one program, its passes as dumps, cut where the target lies."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from irwidget.errors import UsageError, near
from irwidget.spyre import printing
from irwidget.spyre.compiler import STEPS, compile
from irwidget.spyre.program import SpyreProgram
from irwidget.spyre.reasons import idle_cores
from irwidget.trace import Dump, Trace

_LAST_PASS = {
    "spyre_fx": "rewrites",
    "spyre_loop_ir": "scratchpad_planning",
    "spyre_opspec": "opspec",
    "spyre_kernelspec": "opspec",
    "spyre_superdsc": "superdsc",
    "spyre_bundle": "bundle_mlir",
    "spyre_host": "host_module",
}
"""Target -> the pass whose dump is its IR."""
_FIRST_OF = {"fx": ("rewrites",), "loop-ir": ("scratchpad_planning",), "scheduler": (), "codegen": ()}
"""Step -> our passes that end it: what the front end of another commit does there may be called otherwise."""
TARGETS = tuple(_LAST_PASS)


def lower(obj: Any, inputs: Any, to: str | Sequence[str] = "spyre_superdsc", **options: Any) -> Any:
    """Lower a function, module or compiled SpyreProgram; a Trace, or a dict of them when `to` names several.

    `inputs` and `options` are those of `irwidget.spyre.compile`; the object is compiled once.
    """
    wanted = [to] if isinstance(to, str) else list(to)
    for target in wanted:
        if target not in _LAST_PASS:
            raise UsageError(f"{target!r} is no Spyre target. {near(target, TARGETS)}")
    program = obj if isinstance(obj, SpyreProgram) else compile(obj, inputs, **options)
    made = {target: view(program, target) for target in wanted}
    return made[wanted[0]] if isinstance(to, str) else made


def view(program: SpyreProgram, target: str) -> Trace:
    """The trace of a program up to a target."""
    trace = program.trace
    dumps: list[Dump] = []
    last = _LAST_PASS[target]
    if program.recorded and all(dump.name != last for dump in trace.dumps):
        steps = [i for i, name in enumerate(STEPS) if last in _FIRST_OF[name]]
        last = next((d.name for d in reversed(trace.dumps) if d.step in steps), last)
    for dump in trace.dumps:
        dumps.append(dump)
        if target == "spyre_loop_ir" and dump.name == "lower" and not program.recorded:
            dumps.append(_inductor(program))
        if dump.name == last:
            break
    if target == "spyre_kernelspec":
        dumps[-1] = printing.lazy_dump(
            "kernelspec",
            dumps[-1].step,
            "python",
            lambda: printing.kernelspecs(program.steps),
            dumps[-2],
            options="",
            seconds=0.0,
        )
    return replace(
        trace,
        target=target,
        dumps=tuple(dumps),
        steps=trace.steps[: dumps[-1].step + 1],
        sources=_sources(program),
        facts={**trace.facts, **_facts(program)},
    )


def _inductor(program: SpyreProgram) -> Dump:
    """Inductor's loop-level IR beside ours; made when somebody reads it, as importing Inductor takes seconds."""

    def show() -> printing.Printed:
        from irwidget.spyre.inductor import loop_level_ir

        return loop_level_ir(program.captured), ()

    return printing.lazy_dump(
        "inductor_loop_ir", list(STEPS).index("loop-ir"), "text", show, None, options="", seconds=0.0
    )


def _sources(program: SpyreProgram) -> dict[str, str]:
    files = dict.fromkeys(op.line[0] for op in program.graph.ops if op.line[0])
    texts_of = {name: "".join(linecache.getlines(name)) for name in files}
    return {name: text for name, text in texts_of.items() if text}


def _facts(program: SpyreProgram) -> dict[str, Any]:
    return {
        "placed_in_lx": sorted(program.scratchpad.addresses),
        "not_in_lx": dict(program.scratchpad.reasons),
        "idle_cores": dict(idle_cores(program)),
    }
