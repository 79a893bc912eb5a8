"""`--check` of what torch.compile makes: from what was executed of each stage to a verdict on the dumps of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from irwidget.inductor.data import CapturedCompilation, InductorStage
from irwidget.trace import Trace, Verdict, not_checked

_NEVER = {
    "inductor_loop_ir": "loop IR is not executed",
    "inductor_triton": "Triton kernels are not executed: --check runs on the CPU",
    "inductor_ttgir": "TTGIR is not executed: --check runs on the CPU",
    "inductor_ptx": "PTX is not executed: --check runs on the CPU",
    "inductor_amdgcn": "AMD's assembly is not executed: --check runs on the CPU",
    "inductor_sass": "SASS is not executed: --check runs on the CPU",
}
"""Why the last text of an IR type is not executed."""


def executes(target: str, arch: str | None) -> Literal["graphs", "code"]:
    """What is executed for an IR type: FX graphs, and the code where it is the CPU's."""
    return "code" if target in ("inductor_cpp", "inductor_python") and arch is None else "graphs"


def verdict(captured: CapturedCompilation, trace: Trace, target: str, arch: str | None, *, each: bool) -> Verdict:
    """The verdict on a lowering of which everything that can be executed was."""
    if captured.stopped is not None:
        return not_checked(
            f"torch.compile failed as it compiled it once more, to execute it: {captured.stopped.message}"
        )
    dumps = dumps_of(captured.stages, trace)
    judged = _by_dump(captured, dumps)
    made = _of_all(captured, trace, target, arch, dumps, judged)
    return replace(made, each=tuple(judged[index] for index in sorted(judged))) if each else made


def dumps_of(stages: Sequence[InductorStage], trace: Trace) -> dict[int, int]:
    """Stage -> dump of a trace that was made of a like compilation; those that it does not have are left out."""
    found: dict[int, int] = {}
    at = 0
    for number, stage in enumerate(stages):
        for index in range(at, len(trace.dumps)):
            one = trace.dumps[index]
            if (one.name, one.language, one.text) == (stage.name, stage.language, stage.content.text):
                found[number] = index
                at = index + 1
                break
    return found


def _by_dump(captured: CapturedCompilation, dumps: Mapping[int, int]) -> dict[int, Verdict]:
    found: dict[int, Verdict] = {}
    for number, one in captured.verdicts:
        if number in dumps:
            reason = one.reason or _unbuilt(captured)
            found[dumps[number]] = replace(
                one, dump=captured.stages[number].name, index=dumps[number],
                reason=reason if one.state == "not checked" else one.reason,
            )  # fmt: skip
    return found


def _unbuilt(captured: CapturedCompilation) -> str:
    return f"the code was not built: {captured.unbuilt}" if captured.unbuilt else ""


def _of_all(
    captured: CapturedCompilation, trace: Trace, target: str, arch: str | None, dumps: Mapping[int, int],
    judged: Mapping[int, Verdict],
) -> Verdict:  # fmt: skip
    wrong = min((index for index, one in judged.items() if one.state == "differs"), default=None)
    if wrong is not None:
        return _first_wrong(trace, judged, wrong)
    equal = [index for index in sorted(judged) if judged[index].state == "equal"]
    if not equal:
        return next(iter(judged.values()), not_checked("nothing of it could be executed"))
    last = judged[equal[-1]]
    why = _unexecuted(captured, target, arch, dumps, judged)
    if why:
        return replace(last, state="not checked", reason=f"{why}; the last dump that was, after {last.dump}, is equal")
    ends = [judged[index] for index in _ends(captured, dumps)]
    unreached = "; ".join(dict.fromkeys(one.reason for one in ends if one.reason))
    return replace(
        last, reason=unreached, index=len(trace.dumps) - 1, dump=trace.dumps[-1].name,
        error=_largest(one.error for one in ends), eager_error=_largest(one.eager_error for one in ends),
    )  # fmt: skip


def _unexecuted(
    captured: CapturedCompilation,
    target: str,
    arch: str | None,
    dumps: Mapping[int, int],
    judged: Mapping[int, Verdict],
) -> str:
    """Why a lowering of which nothing is wrong is not known to be right; empty where it is."""
    if reason := _of_no_graph(captured, dumps, judged):
        return reason
    if target in _NEVER:
        return _NEVER[target]
    if target == "inductor_python" and arch is not None:
        return "the code is not executed: --check runs on the CPU"
    for index in _ends(captured, dumps):
        one = judged.get(index)
        if one is None or one.state != "equal":
            return (one.reason if one else "") or "the last graph was not executed"
    return ""


def _of_no_graph(captured: CapturedCompilation, dumps: Mapping[int, int], judged: Mapping[int, Verdict]) -> str:
    """Why nothing of a graph was executed but what Dynamo made of it; empty where of each something was."""
    graphs: dict[int, list[Verdict]] = {}
    for number, index in dumps.items():
        stage = captured.stages[number]
        if index in judged and stage.phase != "dynamo":
            graphs.setdefault(stage.graph, []).append(judged[index])
    unexecuted = (found for found in graphs.values() if all(one.state == "not checked" for one in found))
    return next((found[0].reason for found in unexecuted), "")


def _ends(captured: CapturedCompilation, dumps: Mapping[int, int]) -> list[int]:
    """The dumps with which each graph and half of one ends."""
    stages = captured.stages
    last: dict[tuple[int, str], int] = {}
    phases = {stages[number].phase for number in dumps}
    final = "code" if "code" in phases else "loops" if "loops" in phases else ""
    for number, index in dumps.items():
        stage = stages[number]
        if stage.graph in captured.restarted:
            continue
        if stage.phase != "bytecode" and (not final or stage.phase == final):
            last[stage.graph, stage.direction] = index
    halves = {graph for graph, direction in last if direction}
    return sorted(index for (graph, direction), index in last.items() if direction or graph not in halves)


def _first_wrong(trace: Trace, judged: Mapping[int, Verdict], wrong: int) -> Verdict:
    """The verdict on the first wrong pass, with what was not executed before it."""
    one = judged[wrong]
    scope = trace.dumps[wrong].scope
    before = [index for index in judged if index < wrong and judged[index].state == "equal"]
    right = max(before, default=None)
    first = (right + 1) if right is not None else 0
    between = [
        index for index in range(first, wrong)
        if trace.dumps[index].changed and trace.dumps[index].scope == scope
        and trace.dumps[index].language == trace.dumps[wrong].language
    ]  # fmt: skip
    if not between:
        return one
    said = f"it was equal after {judged[right].dump}, and " if right is not None else ""
    passes = f"{len(between)} dump{'s' if len(between) > 1 else ''}"
    return replace(one, reason=f"{one.reason}; {said}{passes} between were not executed")


def _largest(errors: Iterable[float | None]) -> float | None:
    known = [one for one in errors if one is not None]
    return max(known, default=None)
