"""Prints how far each family gets, as a markdown table: `python -m tests.helion.report [WORD ...]`.

Words pick cases by name or family, or output types. `--by-family` sums up. A
cell counts the kernels that bind / lower / verify / equal eager PyTorch.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from irwidget.errors import IRWidgetError
from irwidget.helion import EmittedKernel, emit_kernel
from tests.helion.cases import CASES, Case, difference

ATEN = ("raw", "linalg-on-tensors", "tosa", "stablehlo")
STAGES = ("bind", "lower", "strict", "equal")


@dataclass
class Outcome:
    case: Case
    aten: str
    reached: tuple[str, ...]
    note: str = ""


def attempts(case: Case, atens: Sequence[str]) -> list[Outcome]:
    """Bind and emit a case once, then take it to each output type."""
    try:
        kernel = emit_kernel(case.kernel, case.inputs(), case.config)
    except IRWidgetError as error:
        return [Outcome(case, aten, (), f"{type(error).__name__}: {error}") for aten in atens]
    return [attempt(case, kernel, aten) for aten in atens]


def attempt(case: Case, kernel: EmittedKernel, aten: str) -> Outcome:
    """Lower, verify and run one case in one output type."""
    inputs = case.inputs()
    reached = ["bind"]
    note = ""
    try:
        lowering = kernel.lower(aten, dumps=False)
        reached.append("lower")
        complaint = lowering.verify()
        if complaint is None:
            reached.append("strict")
        else:
            note = complaint.splitlines()[0]
        gap = difference(lowering.run(*case.inputs(), opt_level=0), case.expected(*inputs))
        if gap <= case.tolerance:
            reached.append("equal")
        else:
            note += f" differs by {gap:.2g}"
    except IRWidgetError as error:
        note += f" {type(error).__name__}: {error}"
    except Exception as error:
        note += f" BUG {type(error).__name__}: {error} {traceback.format_exc().splitlines()[-3]}"
    return Outcome(case, aten, tuple(reached), note.strip())


def main(words: Sequence[str]) -> int:
    atens = [w for w in words if w in ATEN] or ATEN
    by_family = "--by-family" in words
    names = [w for w in words if w not in ATEN and not w.startswith("--")]
    chosen = [c for c in CASES if not names or any(n in (str(c), c.family) for n in names)]
    outcomes: list[Outcome] = []
    for case in chosen:
        started = time.perf_counter()
        made = attempts(case, atens)
        outcomes += made
        took = time.perf_counter() - started
        for outcome in made:
            if "--verbose" in words or outcome.note:
                print(f"<!-- {case} {outcome.aten} {took:.1f}s {','.join(outcome.reached)} {outcome.note} -->")

    def group(case: Case) -> str:
        return case.family if by_family else str(case)

    rows = list(dict.fromkeys(map(group, chosen)))
    print("| | kernels | " + " | ".join(atens) + " |")
    print("|---|---|" + "---|" * len(atens))
    for row in [*rows, "all"]:
        cells: list[str] = []
        for aten in atens:
            mine = [o for o in outcomes if o.aten == aten and row in (group(o.case), "all")]
            cells.append(" / ".join(str(sum(stage in o.reached for o in mine)) for stage in STAGES))
        count = sum(row in (group(case), "all") for case in chosen)
        print(f"| {row} | {count} | " + " | ".join(cells) + " |")
    return 0 if all("equal" in o.reached and "strict" in o.reached for o in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
