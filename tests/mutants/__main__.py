"""`make mutants`: python -m tests.mutants [--count 200] [--all] [--seed N] [--only PART].

Prints the score and the survivors. cosmic-ray's operators change the code in one place; the tests of that part of the
code should notice. Each run is in a copy of the tree.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

from tests.mutants.parts import PARTS

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "mutants"
OPERATORS = tuple(
    f"core/{name}"
    for name in """
    ReplaceBinaryOperator_Add_Sub ReplaceBinaryOperator_Sub_Add ReplaceBinaryOperator_Mul_FloorDiv
    ReplaceBinaryOperator_FloorDiv_Mul ReplaceBinaryOperator_Mod_Mul ReplaceBinaryOperator_BitOr_BitAnd
    ReplaceBinaryOperator_BitAnd_BitOr ReplaceBinaryOperator_LShift_RShift ReplaceComparisonOperator_Eq_NotEq
    ReplaceComparisonOperator_NotEq_Eq ReplaceComparisonOperator_Lt_LtE ReplaceComparisonOperator_LtE_Lt
    ReplaceComparisonOperator_Gt_GtE ReplaceComparisonOperator_GtE_Gt ReplaceComparisonOperator_Is_IsNot
    ReplaceComparisonOperator_IsNot_Is ReplaceUnaryOperator_Delete_Not ReplaceUnaryOperator_Delete_USub
    AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd
    ReplaceBreakWithContinue ReplaceContinueWithBreak NumberReplacer ZeroIterationForLoop
    """.split()
)
WORKERS = 2


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    part: str
    path: str
    operator: str
    occurrence: int
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.operator.removeprefix('core/')} ({self.occurrence})"


def mutants(part: str, path: Path) -> Iterator[Mutant]:
    """All of a file, but those that no test could see: in annotations, which nothing evaluates, and decorators."""
    tree = get_ast_from_path(path)
    unseen = list(_unseen(ast.parse(path.read_text(encoding="utf-8"))))
    for name in OPERATORS:
        operator = get_operator(name)()
        spots = (start for node in ast_nodes(tree) for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(spots):
            if not any(first <= start < last for first, last in unseen):
                yield Mutant(part, str(path.relative_to(ROOT)), name, occurrence, start[0])


def _unseen(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for node in ast.walk(tree):
        found = [
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
        ]
        typing = isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for one in (*found, node if typing else None):
            if isinstance(one, ast.AST):
                yield (one.lineno, one.col_offset), (one.end_lineno, one.end_col_offset)  # pyright: ignore


def copies() -> SimpleQueue[Path]:
    """Folders to run in, one for each worker."""
    shutil.rmtree(WORK, ignore_errors=True)
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    free: SimpleQueue[Path] = SimpleQueue()
    for number in range(WORKERS):
        folder = WORK / str(number)
        for name in filter(None, names.split("\0")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
        (folder / "js/node_modules").symlink_to(ROOT / "js/node_modules")  # what bundles the browser's code for a test
        free.put(folder)
    return free


def tested(folder: Path, tests: tuple[str, ...], limit: float) -> bool:
    """Whether the tests pass there."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        ran = subprocess.run(
            command, cwd=folder, env={**_environment(), "PYTHONPATH": str(folder)}, capture_output=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return False
    return ran.returncode == 0


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


def survives(mutant: Mutant, free: SimpleQueue[Path], limits: dict[str, float]) -> bool:
    """Whether the tests of its part pass with it."""
    folder = free.get()
    target = folder / mutant.path
    original = target.read_text(encoding="utf-8")
    try:
        changed = mutate_code(original, get_operator(mutant.operator)(), mutant.occurrence)
        if changed is None:
            return False
        target.write_text(changed, encoding="utf-8")
        return tested(folder, PARTS[mutant.part].tests, limits[mutant.part])
    finally:
        target.write_text(original, encoding="utf-8")
        free.put(folder)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=PARTS)
    asked = parser.parse_args()
    parts = {name: part for name, part in PARTS.items() if asked.only in (None, name)}
    found = [one for name, part in parts.items() for path in part.files(ROOT) for one in mutants(name, path)]
    chosen = found if asked.all else random.Random(asked.seed).sample(found, min(asked.count, len(found)))
    free = copies()
    limits: dict[str, float] = {}
    for name in sorted({one.part for one in chosen}):
        began = time.monotonic()
        folder = free.get()
        if not tested(folder, PARTS[name].tests, 900):
            print(f"{name}: its tests fail without any change")
            return 1
        free.put(folder)
        limits[name] = 20 + 4 * (time.monotonic() - began)
    with ThreadPoolExecutor(WORKERS) as pool:
        left = list(pool.map(lambda one: survives(one, free, limits), chosen))
    survivors = [one for one, lives in zip(chosen, left, strict=True) if lives]
    for name in parts:
        of = [one for one in chosen if one.part == name]
        killed = len(of) - sum(1 for one in survivors if one.part == name)
        print(f"{name}: {killed} of {len(of)} killed")
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} killed, of {len(found)} possible; survivors:")
    print(*map(str, sorted(survivors, key=str)), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
