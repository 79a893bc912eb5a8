"""Execute the dumps of a lowering and find the first wrong pass.

Each level is executed through the standard route from its dialect, so that a custom pass is judged by another path
than its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from irwidget import llvm_routes
from irwidget.checking.allowance import Unchecked
from irwidget.checking.expected import Expected
from irwidget.checking.judge import ON_OTHERS, judge_all, unexplained
from irwidget.toolchain.events import Value
from irwidget.toolchain.execute import CRASHED, RESULTS
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Diagnostic, Dump, Failure, Step, Trace, Verdict

SECONDS = 60.0
"""The time-out of one execution, compilation included, when the user gives none."""
_TOGETHER = 300.0
"""That of all executions together."""

_FROM_TORCH = (
    "torchdynamo-export-to-torch-backend-pipeline{extra-library=},"
    "torch-backend-to-linalg-on-tensors-backend-pipeline{allow-non-finites=true}"
)
_FROM_TOSA = (
    "func.func(tosa-optional-decompositions,tosa-to-scf,tosa-to-linalg-named,tosa-to-linalg,"
    "tosa-to-arith,tosa-to-tensor)"
)
_FROM_STABLEHLO = "func.func(chlo-legalize-to-stablehlo),stablehlo-legalize-to-linalg,stablehlo-convert-to-signless"
_ALONG_NOTHING = "across dimensions = []"
"""A reduction that nothing lowers, and that StableHLO's simplification takes out."""
_LLVM = "llvm"


def check(source: Source, trace: Trace, options: Options, expected: Expected, *, each: bool) -> Verdict:
    """The verdict on a lowering: that of its last dump; of a wrong one, that of the first wrong pass.

    With `each` every dump that can stand alone is executed; otherwise the last that can, and when it is wrong, as many
    before it as it takes to find the pass.
    """
    verdict = _checked(source, trace, options, expected, each=each)
    if verdict.state == "equal" and expected.unexecuted:
        said = (verdict.reason, f"no input reached {', '.join(expected.unexecuted)}")
        return replace(verdict, reason="; ".join(filter(None, said)))
    return verdict


def _checked(source: Source, trace: Trace, options: Options, expected: Expected, *, each: bool) -> Verdict:
    runner = _DumpRunner(source, trace, options, expected)
    runnable = [i for i, dump in enumerate(trace.dumps) if (i == 0 or dump.changed) and route(dump) is not None]
    if not runnable:
        return Verdict("not checked", reason=_never(trace.dumps[-1]))
    if each:
        return _of_each(trace, [runner.verdict(i) for i in runnable])
    judged = next((v for v in map(runner.verdict, reversed(runnable)) if v.state != "not checked"), None)
    if judged is None:
        return runner.verdict(runnable[-1])
    if judged.state == "differs":
        return _first_wrong(runner, [i for i in runnable if i <= (judged.index or 0)])
    return last(trace, judged, runner.verdict(runnable[-1]).reason)


def _first_wrong(runner: _DumpRunner, candidates: list[int]) -> Verdict:
    """The first wrong pass before a dump that is wrong.

    Dumps of the torch dialect are executed by way of linalg. Where that may be what is wrong, as the start differs
    and the first dump of another dialect does not, the pass is one of those after that.
    """
    found = _halved(runner, candidates)
    others = [i for i in candidates if not _is_of_torch(runner.trace.dumps[i].text)]
    apart = found.index == 0 and others and others[0] > 0 and runner.verdict(others[0]).state == "equal"
    return _halved(runner, others) if apart else found


def _of_each(trace: Trace, verdicts: Sequence[Verdict]) -> Verdict:
    verdicts = _without_others(verdicts)
    wrong = next((verdict for verdict in verdicts if verdict.state == "differs"), None)
    judged = [verdict for verdict in verdicts if verdict.state != "not checked"]
    said = wrong or (last(trace, judged[-1], verdicts[-1].reason) if judged else verdicts[-1])
    return replace(said, each=tuple(verdicts))


def _without_others(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Verdicts without what another route than the lowering's own is to blame for.

    The program of the start can be no other than eager PyTorch's where a dump that was made of it is equal.
    """
    judged = [verdict for verdict in verdicts if verdict.state != "not checked"]
    right = next((verdict for verdict in judged if verdict.state == "equal"), None)
    if not judged or judged[0].index != 0 or right is None or right is judged[0]:
        return list(verdicts)
    reason = f"the route that executed it is wrong, as what was made of it is equal after {right.dump}"
    start = verdicts.index(right)
    others = (
        replace(verdict, state="not checked", reason=reason, error=None, element=None)
        if verdict.state == "differs"
        else verdict
        for verdict in verdicts[:start]
    )
    return [*others, *verdicts[start:]]


def with_start(verdict: Verdict, start: str) -> Verdict:
    """A verdict that says of a program that is wrong before any pass has run what made it: `start`, or what runs it."""
    if verdict.state != "differs" or verdict.index != 0:
        return verdict
    why = f"{start} is wrong, or a pass of the standard route that executes it"
    return replace(verdict, reason=f"{verdict.reason}; no pass had run yet: {why}")


def last(trace: Trace, judged: Verdict, why: str = "") -> Verdict:
    """The verdict on a whole lowering by that on the last dump that was executed: equal only where it ends in that.

    `why` says why none after it was.
    """
    if judged.state == "not checked" or judged.index is None:
        return judged
    after = [dump for dump in trace.dumps[judged.index + 1 :] if dump.changed]
    if not after:
        return judged
    reason = f"{why or _never(after[-1])}; the last dump that was, after {judged.dump}, is equal"
    return replace(judged, state="not checked", reason=reason)


def _halved(runner: _DumpRunner, candidates: list[int]) -> Verdict:
    """Between a dump that is right and the last, which is wrong: the pass that made it so, by halving."""
    low, high = -1, len(candidates) - 1
    while high - low > 1:
        middle = (low + high) // 2
        tried = next(
            (
                m
                for m in (*range(middle, high), *range(middle - 1, low, -1))
                if runner.verdict(candidates[m]).state != "not checked"
            ),
            None,
        )
        if tried is None:
            break
        if runner.verdict(candidates[tried]).state == "differs":
            high = tried
        else:
            low = tried
    wrong = runner.verdict(candidates[high])
    if low < 0 and candidates[high] > 0:
        return replace(wrong, reason=f"{wrong.reason}; no dump before it was executed")
    if low < 0 or candidates[high] - candidates[low] == 1:
        return wrong
    between = candidates[high] - candidates[low] - 1
    right = runner.verdict(candidates[low]).dump
    passes = f"{between} dump{'s' if between > 1 else ''}"
    return replace(wrong, reason=f"{wrong.reason}; it was equal after {right}, and {passes} between were not executed")


def closely(
    name: str, index: int | None, calls: Sequence[Sequence[Value]], expected: Expected
) -> tuple[Verdict, Expected]:
    """The verdict on what was returned, and what was expected, by more evaluations where the verdict hangs on these.

    They are made before a result is called wrong; where they fail, it is not.
    """
    found = judge_all(name, index, calls, expected.cases)
    if found.state != "differs" or expected.closer is None:
        return found, expected
    try:
        closer = expected.closer()
    except Unchecked as error:
        return unexplained(found, error), replace(expected, closer=partial(_again, error))
    return judge_all(name, index, calls, closer.cases), closer


def _again(error: Unchecked) -> Expected:
    """What has failed is not tried for the next dump."""
    raise error


class _DumpRunner:
    """Executes dumps, each once."""

    def __init__(self, source: Source, trace: Trace, options: Options, expected: Expected) -> None:
        self.source, self.trace, self.options, self.expected = source, trace, options, expected
        self._deadline = time.monotonic() + (_TOGETHER if options.timeout is None else options.timeout)
        self._verdicts: dict[int, Verdict] = {}

    def verdict(self, index: int) -> Verdict:
        """Execute a dump, by its number."""
        if index not in self._verdicts:
            self._verdicts[index] = self._execute(index)
        return self._verdicts[index]

    def _execute(self, index: int) -> Verdict:
        dump = self.trace.dumps[index]
        seconds = min(SECONDS, self._deadline - time.monotonic())
        if seconds <= 0:
            return Verdict("not checked", dump.name, index, "the time limit was reached before it was executed")
        trace = self._run(index, self.expected, seconds)
        if trace.failure is None:
            verdict, self.expected = closely(dump.name, index, trace.facts[RESULTS], self.expected)
            return verdict
        reason = trace.failure.message.splitlines()[0]
        if trace.failure.pass_name == CRASHED:
            how = f"the compiled program {reason}{_printed(trace.failure)}, and eager PyTorch returns"
            return Verdict("differs", dump.name, index, self._on_others(index, seconds) + how)
        return Verdict("not checked", dump.name, index, f"after {dump.name} it was not executed: {reason}")

    def _run(self, index: int, expected: Expected, seconds: float) -> Trace:
        steps, position = _place(self.trace, index)
        how = replace(self.options, dumps=True, progress=None, invocation=expected.invocation(seconds, position))
        return self.source.run((*steps, Step("execute", route(self.trace.dumps[index]) or "")), how)

    def _on_others(self, index: int, seconds: float) -> str:
        """Of a program that crashes: whether it is right on the user's own inputs."""
        first, *others = self.expected.cases
        alone = self._run(index, replace(self.expected, cases=(first,)), seconds) if others else None
        if alone is None or alone.failure is not None:
            return ""
        right = judge_all("", index, alone.facts[RESULTS], (first,)).state == "equal"
        return ON_OTHERS if right else ""


def _printed(failure: Failure) -> str:
    """What a program said before it crashed, as a failed assertion does."""
    said = [line for one in failure.diagnostics[:1] for line in one.message.splitlines() if line.strip()]
    return f" after it printed {said[-1].strip()!r}" if said else ""


def _place(trace: Trace, index: int) -> tuple[tuple[Step, ...], int]:
    """The steps up to a dump, and which of the last one's dumps it is."""
    number = trace.dumps[index].step
    first = next(i for i, dump in enumerate(trace.dumps) if dump.step == number)
    complete = trace.every_pass or index == 0
    return trace.steps[: number + 1], index - first if complete else -1


@dataclass(frozen=True, slots=True)
class _Level:
    """Dialects that stand alone, and the pipeline that leads on from them."""

    found: Callable[[str], bool]
    pipeline: str


def _is_of_torch(text: str) -> bool:
    return "!torch." in text


_LEVELS = (
    _Level(_is_of_torch, _FROM_TORCH),
    _Level(lambda text: _ALONG_NOTHING in text, f"func.func(stablehlo-aggressive-simplification),{_FROM_STABLEHLO}"),
    _Level(lambda text: " chlo." in text or "stablehlo." in text, _FROM_STABLEHLO),
    _Level(lambda text: "tosa." in text, _FROM_TOSA),
)


def route(dump: Dump) -> str | None:
    """The standard pipeline from a dump's dialects to LLVM's, empty for LLVM IR; None when nothing executes it."""
    text = dump.text
    if dump.language == _LLVM:
        return "" if " @main(" in text else None
    if dump.language != "mlir" or "torch_c." in text or "@main" not in text or "gpu.module" in text:
        return None
    if "llvm.func @main" in text:
        return "builtin.module(canonicalize)"
    first = next((level.pipeline for level in _LEVELS if level.found(text)), "")
    rest = [
        step.arguments.removeprefix("builtin.module(").removesuffix(")")
        for step in (llvm_routes.LOOPS, llvm_routes.TO_LLVM)
    ]
    return f"builtin.module({','.join(part for part in (first, *rest) if part)})"


_NEVER = {"ptx": "PTX", "amdgcn": "AMD's assembly", "spirv": "SPIR-V", "sass": "SASS", "x86asm": "assembly"}


def _never(dump: Dump) -> str:
    """Why the IR after a pass is not executed."""
    if dump.language in _NEVER:
        return f"{_NEVER[dump.language]} is not executed"
    return f"what {dump.name} leaves is no module with @main that can be executed"


def with_verdict(trace: Trace, verdict: Verdict) -> Trace:
    """The trace with the verdict, in words too."""
    severity = "error" if verdict.state == "differs" else "warning" if verdict.state == "not checked" else "remark"
    said = Diagnostic(severity, verdict.message)
    return replace(trace, check=verdict, diagnostics=(*trace.diagnostics, said))
