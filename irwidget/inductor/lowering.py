"""From an object to a trace: torch.compile in a copy of the kernel, then Triton's own route for each kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from irwidget import imports, private_torch
from irwidget.errors import ExportError, ToolError, UsageError
from irwidget.frontends.base import Given
from irwidget.frontends.cell import Call
from irwidget.inductor import private
from irwidget.inductor.cells import Compiled
from irwidget.inductor.data import DOES, PHASES, CapturedCompilation, InductorStage, Kernel, Phase
from irwidget.inductor.options import TRITON, check_names, patches
from irwidget.toolchain import budget, forked
from irwidget.toolchain.run import Options
from irwidget.trace import Diagnostic, Dump, Failure, Location, Scope, Step, Trace, dump

STEPS: tuple[tuple[Step, tuple[Phase, ...]], ...] = (
    (Step("torch.compile", DOES["dynamo"], "Dynamo"), ("bytecode", "dynamo")),
    (Step("torch.compile", DOES["pre_grad"], "pre-grad"), ("pre_grad",)),
    (Step("torch.compile", DOES["joint"], "AOTAutograd"), ("joint", "partition")),
    (Step("torch.compile", DOES["post_grad"], "post-grad"), ("post_grad",)),
    (Step("torch.compile", DOES["loops"], "loop IR"), ("loops",)),
    (Step("torch.compile", DOES["code"], "code"), ("code",)),
)
_STEP_OF = {phase: number for number, (_, phases) in enumerate(STEPS) for phase in phases}
LAST: Mapping[str, Phase] = {
    "dynamo_fx": "dynamo",
    "aot_joint": "joint",
    "aot_forward": "partition",
    "aot_backward": "partition",
    "inductor_fx": "post_grad",
    "inductor_loop_ir": "loops",
}
"""IR type -> the last phase that it shows; all of them for code."""
FURTHER = ("recompile_limit", "guard_filter_fn", "shapes_spec", "isolate_recompiles")
"""What torch.compile takes and is passed on as it is."""


def captured(given: Given, arch: str | None, execute: Literal["", "graphs", "code"] = "") -> CapturedCompilation:
    """What torch.compile does to an object, and with `execute` what comes of that on the CPU.

    Raises UsageError, ToolError, UnsupportedError, and what the object raises when it is executed.
    """
    import torch

    from irwidget.inductor import capture
    from irwidget.inductor import settings as torch_settings

    capture.check_machine()
    with budget.uncounted("the import of torch.compile"):
        imports.wait(private.WARM)
    options = dict(given.options)
    settings = patches(options.get("patches"))
    check_names(settings, private.config(private.INDUCTOR))
    obj = getattr(given.obj, private.MADE, given.obj)
    told: Mapping[str, Any] = obj.options if isinstance(obj, Compiled) else private.compiled_with(obj)
    options = {**_said(told), **{name: value for name, value in options.items() if value is not None}}
    settings = {**(told.get("options") or {}), **settings}
    in_place = obj.in_place if isinstance(obj, Compiled) else private.is_compiled_in_place(obj)
    obj = obj.obj if isinstance(obj, Compiled) else obj
    obj = private.get("innermost_fn")(obj) if private_torch.is_compiled_function(obj) else obj
    obj = private_torch.uncompiled_module(obj)
    obj = obj.module() if isinstance(obj, torch.export.ExportedProgram) else obj
    _check(obj, given)
    asked = capture.CaptureRequest(
        obj,
        given.inputs,
        given.kwargs,
        in_place=in_place,
        arch=arch,
        mode=options.get("mode"),
        dynamic=options.get("dynamic"),
        fullgraph=bool(options.get("fullgraph")),
        patches=settings,
        grad=options.get("grad"),
        backend=options.get("backend"),
        instead_of=told.get("instead_of", ""),
        further={name: told[name] for name in FURTHER if name in told},
        again=_further(options.get("again"), given),
    )
    try:
        if arch:
            from irwidget.inductor import gpu as gpu  # imported once here, not in every copy
        else:
            torch_settings.try_compiler()
        if arch or execute:
            torch_settings.hash_triton()
        if not torch.cuda.is_available():  # they are made once for each process, for the device that it has
            torch_settings.warm()
        if execute:
            eager = forked.call(lambda: capture.eager(asked), cuda=False)
            asked = replace(asked, execute=execute, each=given.check == "each", eager=eager)
        return forked.call(lambda: capture.capture(asked), cuda=False)
    except forked.Died as death:
        raise ToolError(f"torch.compile crashed on {given.called}: the process {death}", tool="torch.compile") from None
    except MemoryError:
        raise ToolError(f"torch.compile ran out of memory on {given.called}", tool="torch.compile") from None


def _further(again: Any, given: Given) -> tuple[Call, ...]:
    """The inputs of further calls: those that the user names, and those that the cell has made."""
    found = tuple(one if isinstance(one, tuple) else (one,) for one in again or ())
    compiled = given.obj if isinstance(given.obj, Compiled) else None
    for inputs in found:
        _check(compiled.obj if compiled else given.obj, replace(given, inputs=inputs))
    made: Sequence[Call] = compiled.calls[1:] if compiled else ()
    return (*(Call(inputs, given.kwargs) for inputs in found), *made)


def _said(told: Mapping[str, Any]) -> dict[str, Any]:
    """Of what torch.compile was told, what the options of an IR type may say otherwise; and the backend."""
    return {name: told[name] for name in ("dynamic", "fullgraph", "backend") if told.get(name) is not None}


def _check(obj: Any, given: Given) -> None:
    from irwidget.frontends import torch as export

    if isinstance(obj, str) or not export.is_model(obj):
        raise UsageError(f"torch.compile takes a torch.nn.Module or a function, not {type(obj).__name__}")
    if error := export.bind_error(obj, given.inputs, given.kwargs):
        raise error


# Traces


def trace(captured: CapturedCompilation, target: str, arch: str | None, given: Given, options: Options) -> Trace:
    """The trace up to an IR type. What failed after it is not its concern. Raises ExportError, UsageError."""
    name = given.obj.name if isinstance(given.obj, Compiled) and not given.name else given.called
    last = LAST.get(target, "code")
    kept = [stage for stage in captured.stages if PHASES.index(stage.phase) <= PHASES.index(last)]
    if target in ("aot_forward", "aot_backward"):
        kept = [stage for stage in kept if stage.direction in ("", target.removeprefix("aot_"))]
    many = len({stage.graph for stage in captured.stages}) > 1
    dumps = list(_dumps(kept, many))
    stopped = captured.stopped
    failure = None
    if stopped is not None and PHASES.index(stopped.phase) <= PHASES.index(last):
        where = (Diagnostic("error", stopped.message, stopped.place),) if stopped.place else ()
        message = stopped.message + (f"\n  node {stopped.node}" if stopped.node else "")
        failure = Failure(_STEP_OF[stopped.phase], STEPS[_STEP_OF[stopped.phase]][0].name, message, where,
                          tool="torch.compile")  # fmt: skip
    made = Trace(
        target,
        tuple(dumps),
        tuple(step for step, _ in STEPS[: _STEP_OF[last] + 1]),
        diagnostics=tuple(_diagnostics(captured)),
        tools=_tools(),
        failure=failure,
        name=name,
        sources=captured.sources,
        facts=_facts(captured, arch),
    )
    if last in ("loops", "code") and captured.ops:
        made = _with_report(made, captured)
    if failure is not None:
        return made
    if not any(stage.phase != "bytecode" for stage in kept):
        raise _no_graph(name, captured)
    _has(captured, target)
    if target.startswith("inductor_") and last == "code" and target != "inductor_python":
        return _with_kernels(made, captured, target, arch, given, options)
    return _joined(made, kept, target, captured.restarted)


def _no_graph(name: str, captured: CapturedCompilation) -> ExportError:
    """The error where Dynamo runs everything as it is."""
    why = "; ".join(f"{one.cause} To change it: {one.cure}" if one.cure else one.cause for one in captured.breaks)
    if off := private.switched_off():
        return ExportError(f"Dynamo makes no graph of {name}: it is switched off by {off}")
    cause = why or "it leaves such modules to eager PyTorch, or nothing in it computes with tensors"
    return ExportError(f"Dynamo makes no graph of {name}: {cause}")


def _has(captured: CapturedCompilation, target: str) -> None:
    trained = any(stage.direction == "backward" for stage in captured.stages)
    if target in ("aot_joint", "aot_backward") and not trained:
        raise UsageError(
            f"{target} is of training, and this is compiled for inference: no input or parameter wants a gradient, or "
            "gradients are switched off (torch.no_grad, --grad no)"
        )


def _dumps(stages: Sequence[InductorStage], many: bool) -> Iterator[Dump]:
    before: dict[Scope, str] = {}
    for stage in stages:
        graph = f"graph {stage.graph}" if many and stage.phase != "bytecode" else ""
        scope = Scope(graph, ", ".join(part for part in (stage.direction, stage.subgraph) if part))
        text = stage.content.text
        yield dump(
            stage.name,
            text,
            step=_STEP_OF[stage.phase],
            language=stage.language,
            changed=before.get(scope) != text,
            locations=stage.content.places,
            options=stage.options,
            seconds=stage.seconds,
            scope=scope,
        )
        before[scope] = text


def _joined(made: Trace, stages: Sequence[InductorStage], target: str, restarted: frozenset[int]) -> Trace:
    """With a last dump of all graphs, where there are several."""
    last: dict[tuple[int, str, str], InductorStage] = {}
    for stage in stages:
        if stage.phase == LAST.get(target, "code") and stage.graph not in restarted:
            last[stage.graph, stage.direction, stage.subgraph] = stage
    if target == "aot_joint":
        last = {key: stage for key, stage in last.items() if not key[1]}
    if len(last) < 2:
        return made
    parts = [(_title(*key), stage.content.text, stage.content.places) for key, stage in last.items()]
    return _with_all(made, parts, made.dumps[-1].language, "all graphs")


def _with_report(made: Trace, captured: CapturedCompilation) -> Trace:
    """With the answers to why, as a text of its own before the last schedule."""
    from irwidget.inductor.report import report
    from irwidget.inductor.why import Compilation

    lines = list(report(Compilation(captured)))
    text = "\n".join(line for line, _ in lines) + "\n"
    step = _STEP_OF["loops"]
    report = dump("why", text, step=step, language="text", locations=tuple(place for _, place in lines),
                  scope=Scope("why"))  # fmt: skip
    at = max((i for i, one in enumerate(made.dumps) if one.step == step), default=len(made.dumps))
    return replace(made, dumps=(*made.dumps[:at], report, *made.dumps[at:]))


def _title(graph: int, direction: str, subgraph: str = "") -> str:
    return ", ".join(part for part in (f"graph {graph}", direction, subgraph) if part)


_COMMENT = {"ptx": "//", "amdgcn": ";", "sass": "//", "mlir": "//", "text": "//"}


def _with_all(made: Trace, parts: Sequence[tuple[str, str, Sequence[Location | None]]], language: str, name: str,
              comment: str = "") -> Trace:  # fmt: skip
    """With one more dump, of several texts under their names."""
    text: list[str] = []
    places: list[Location | None] = []
    mark = comment or _COMMENT.get(language, "#")
    for title, one, lines in parts:
        text.append(f"{mark} {title}\n{one.rstrip()}\n\n")
        count = text[-1].count("\n") - 1
        places += [None, *(*lines, *[None] * count)[:count]]
    last = dump(name, "".join(text), step=len(made.steps) - 1, language=language, locations=tuple(places))
    return replace(made, dumps=(*made.dumps, last))


def _with_kernels(
    made: Trace, captured: CapturedCompilation, target: str, arch: str | None, given: Given, options: Options
) -> Trace:
    """With the generated kernels, and what Triton makes of each."""
    from irwidget.inductor import onward

    kernels = distinct(captured.kernels, "text" if target == "inductor_cpp" else "python")
    if not kernels:
        return _with_none(made, captured, target)
    parts = [(f"kernel {one.title}", one.source.text, one.source.places) for one in kernels]
    language = kernels[0].language
    made = _with_all(made, parts, language, "kernels", "//" if target == "inductor_cpp" else "#")
    to = TRITON.get(target)
    return onward.lowered(made, kernels, to, arch or "", given.options.get("config"), options) if to else made


def distinct(kernels: Sequence[Kernel], language: str) -> list[Kernel]:
    """Each kernel once: graphs may share one."""
    found = {(one.name, one.source.text): one for one in kernels if one.language == language}
    return list(found.values())


def _with_none(made: Trace, captured: CapturedCompilation, target: str) -> Trace:
    """Where all is done by kernels that are called, not generated: said, not left empty."""
    called = list(dict.fromkeys(op.kernel for op in captured.called))
    kind = "C++" if target == "inductor_cpp" else "Triton"
    instead = f": {', '.join(called)} is called instead" if called else ", and calls none"
    said = f"Inductor generates no {kind} kernel{instead}"
    language = {"inductor_cpp": "text", "inductor_triton": "python"}.get(target, "text")
    mark = "//" if target == "inductor_cpp" else "#"
    last = dump("kernels", f"{mark} {said}\n", step=len(made.steps) - 1, language=language)
    return replace(made, dumps=(*made.dumps, last), diagnostics=(*made.diagnostics, Diagnostic("warning", said)))


def _diagnostics(captured: CapturedCompilation) -> Iterator[Diagnostic]:
    for one in captured.breaks:
        yield Diagnostic("warning", f"graph break: {one.reason}", one.place)
    for remark in captured.remarks:
        yield Diagnostic("remark", remark)


def _facts(captured: CapturedCompilation, arch: str | None) -> dict[str, Any]:
    generated = [kernel.name for kernel in captured.kernels]
    return {
        "device": arch or "cpu",
        "graphs": len(captured.graphs),
        "graph breaks": len(captured.breaks),
        "kernels generated": len(generated),
        "kernels called": len(captured.called),
        "fusions": captured.fusions,
        "peak memory": {
            f"{_title(one.graph, one.direction)}": f"{one.peak} bytes, as Inductor estimates" for one in captured.memory
        },
    }


def _tools() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {"torch": version("torch")}
    with contextlib.suppress(PackageNotFoundError):
        found["triton"] = version("triton")
    return found
