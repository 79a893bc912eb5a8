"""How many single faults does `--check` find, and how often is it wrong about programs without one?

    python -m benchmarks.check_mutants [--faults N] [--programs NAME] [--alarms]

Faults are put into the text of dumps at six levels, which are then executed as `--check` does. A fault that the check
calls equal is run on eight other sets of inputs: where the results are those of the right program everywhere, it is no
fault (the programs mean the same); otherwise it has survived. `--alarms` checks programs without faults in all dtypes.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

import irwidget
from benchmarks.check import faults
from benchmarks.check.programs import Program, models, operations
from irwidget.checking import check, expected
from irwidget.checking.judge import judge_all
from irwidget.errors import IRWidgetError
from irwidget.frontends import torch as frontend
from irwidget.toolchain.execute import CRASHED, RESULTS
from irwidget.toolchain.run import Options, Source
from irwidget.trace import Dump, Step, dump

LEVELS = {
    "torch": "torch_mlir",
    "TOSA": "tosa_mlir",
    "StableHLO": "stablehlo_mlir",
    "linalg": "linalg_on_tensors_mlir",
    "LLVM dialect": "llvm_mlir",
    "LLVM IR": "llvm_ir",
}
OTHERS = 8
"""Sets of inputs that tell an equivalent program from a fault that was missed."""
SECONDS = 20.0


def model_of(program: Program) -> Any:
    """The program as something that PyTorch exports: a function with as many parameters as it has inputs."""
    keywords = getattr(program.model, "args", None)
    if keywords is None:
        return program.model
    function, count = keywords
    return (lambda x: function(x)) if count == 1 else (lambda x, y: function(x, y))


class Subject:
    """A program with its dumps in full and what it should return, for several sets of inputs."""

    def __init__(self, program: Program) -> None:
        self.program, self.model = program, model_of(program)
        self._expected: dict[int, expected.Expected] = {}
        inputs = self.inputs(0)
        try:
            made: Mapping[str, Any] = irwidget.lower(self.model, *inputs, to=list(LEVELS.values()), elide=False)
        except IRWidgetError as error:
            made = error.lowerings
        whole = {name: low for name, low in made.items() if not low.failure}
        self.dumps: dict[str, Dump] = {
            level: whole[target].dumps[-1] for level, target in LEVELS.items() if target in whole
        }

    def inputs(self, seed: int) -> tuple[Any, ...]:
        return self.program.make(torch.Generator().manual_seed(seed))

    def expected(self, seed: int) -> expected.Expected:
        if seed not in self._expected:
            inputs = self.inputs(seed)
            kept = expected.ExportedCopy.of(frontend.export(self.model, inputs))
            self._expected[seed] = expected.expect(self.model, inputs, {}, kept, seconds=SECONDS)
        return self._expected[seed]

    def run(self, text: str, language: str, seed: int) -> tuple[str, Any]:
        """`equal`, `differs` or `not checked` for a text on a set of inputs, and what it returned or why it did not."""
        one = dump("fault", text, step=-1, language=language)
        route = check.route(one)
        if route is None:
            return "not checked", "no route"
        wanted = self.expected(seed)
        how = Options(keep_constants=True, elide=False, invocation=wanted.invocation(SECONDS, -1), timeout=2 * SECONDS)
        trace = Source(text, language).run((Step("execute", route),), how)
        if trace.failure:
            crashed = trace.failure.pass_name == CRASHED
            return ("differs" if crashed else "not checked"), trace.failure.message
        values = trace.facts[RESULTS]
        return judge_all("fault", 1, values, wanted.cases).state, values


def score(subject: Subject, level: str, most: int, tell: Callable[[str], None]) -> Counter[str]:
    """How the faults of a program at a level fared."""
    counted: Counter[str] = Counter()
    right = subject.dumps.get(level)
    if right is None:
        tell(f"{subject.program.name} at {level} is left out: it does not lower to it")
        return Counter({"left out": 1})
    state, _ = subject.run(right.text, right.language, 0)
    if state != "equal":
        tell(f"{subject.program.name} at {level} is left out: {state} without a fault")
        return Counter({"left out": 1})
    for fault in faults.faults(right.text, level, most, seed=len(right.text)):
        state, said = subject.run(fault.text, right.language, 0)
        if state == "equal":
            state = "equivalent" if equivalent(subject, right, fault) else "survived"
        if state == "survived":
            line = fault.text.splitlines()[fault.line - 1].strip()
            tell(f"{subject.program.name} at {level} survived ({fault.kind}, line {fault.line}): `{line[:80]}`")
        if state == "not checked":
            refused = "does not parse" in str(said) or "time" not in str(said)
            state = "refused" if refused else "not checked"
        counted[state] += 1
        counted[f"{state}: {fault.kind}"] += 1
    return counted


def equivalent(subject: Subject, right: Dump, fault: faults.Fault) -> bool:
    """Whether a program with a fault is equal to eager for all other inputs, too."""
    return all(subject.run(fault.text, right.language, seed)[0] == "equal" for seed in range(1, OTHERS + 1))


def scores(programs: Sequence[Program], most: int, tell: Callable[[str], None]) -> dict[str, Counter[str]]:
    """For each level, how the faults of all programs fared; survivors and what was left out are told one by one."""
    found: dict[str, Counter[str]] = {level: Counter() for level in LEVELS}
    for program in programs:
        try:
            subject = Subject(program)
            subject.expected(0)
        except (IRWidgetError, expected.Unchecked) as error:
            tell(f"{program.name} is left out: {str(error).splitlines()[0][:100]}")
            continue
        for level in LEVELS:
            found[level] += score(subject, level, most, tell)
    return found


def alarms(programs: Sequence[Program]) -> Counter[str]:
    """What the check says of programs without a fault."""
    counted: Counter[str] = Counter()
    for program in programs:
        inputs = program.make(torch.Generator().manual_seed(0))
        try:
            low = irwidget.lower(model_of(program), *inputs, to="llvm_ir", check=True, timeout=60)
        except IRWidgetError as error:
            counted["does not lower"] += 1
            print(f"{program.name}: {str(error).splitlines()[0][:150]}", flush=True)
            continue
        assert low.check
        counted[low.check.state] += 1
        if low.check.state != "equal":
            print(f"{program.name}: {low.check}"[:300], flush=True)
    return counted


def _row(cells: Sequence[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=4, help="at most so many of a program at a level")
    parser.add_argument("--every", type=int, default=1, help="take only every n-th program: a sample")
    parser.add_argument("--programs", default="", help="only those whose name contains this")
    parser.add_argument("--alarms", action="store_true", help="check programs without faults instead")
    given = parser.parse_args()
    chosen = [one for one in models() if given.programs in one.name][:: given.every]
    if given.alarms:
        counted = alarms([*chosen, *(one for one in operations() if given.programs in one.name)])
        print(", ".join(f"{count} {state}" for state, count in counted.most_common()))
        return
    told: list[str] = []
    found = scores(chosen, given.faults, told.append)
    print(f"{len(chosen)} programs\n")
    heads = ("level", "programs", "faults", "found", "survived", "equivalent", "not executed", "found of the faults")
    print(_row(heads), _row(["---"] * len(heads)), sep="\n")
    for level, counted in found.items():
        real = counted["differs"] + counted["survived"]
        rest = [counted[state] for state in ("differs", "survived", "equivalent", "not checked")]
        share = f"{counted['differs'] / real:.1%}" if real else "-"
        print(_row([level, len(chosen) - counted["left out"], sum(rest), *rest, share]))
    print("\n" + "\n".join(f"- {line}" for line in told))


if __name__ == "__main__":
    main()
