"""torch-mlir's own end-to-end programs: the same text as bare torch-mlir, verdicts, and valid GPU code by target.

python -m benchmarks.torch_conformance PATH_OF_A_TORCH_MLIR_CHECKOUT [--sample N] [--first N] [--seconds N]
                                       [--only NAME,NAME] [--targets T,T] [--route explorer]

Nothing of the checkout is kept here. GPU code is assembled, not executed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import math
import multiprocessing
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from packaging import version

import irwidget
from benchmarks import bare, kernels
from irwidget.errors import IRWidgetError
from irwidget.private_torch import pytree

SECONDS = 300.0
_Route = Literal["robust", "explorer"]
_SUITE = "projects/pt1/python"


def suite(checkout: Path) -> list[Any]:
    """The programs of a checkout of llvm/torch-mlir. Raises SystemExit where there are none."""
    folder = checkout / _SUITE
    if not (folder / "torch_mlir_e2e_test").is_dir():
        raise SystemExit(f"{checkout} has no {_SUITE}/torch_mlir_e2e_test: it is no checkout of llvm/torch-mlir")
    sys.path.insert(0, str(folder))
    sys.modules.setdefault("multiprocess", multiprocessing)  # its framework asks for it; nothing of it is used here
    built: Any = types.ModuleType("torch_mlir._version")  # which a wheel lacks
    built.torch_version_for_comparison = lambda: version.parse(torch.__version__.partition("+")[0])
    built.version = version
    sys.modules.setdefault("torch_mlir._version", built)
    if importlib.util.find_spec("torchvision") is None:  # its programs are then left out
        for name in ("torchvision", "torchvision.models", "torchvision.ops"):
            empty: Any = types.ModuleType(name)
            empty.models = empty.ops = empty
            sys.modules[name] = empty
    importlib.import_module("torch_mlir_e2e_test.test_suite").register_all_tests()
    return list(importlib.import_module("torch_mlir_e2e_test.registry").GLOBAL_TEST_REGISTRY)


class _Inputs(Exception):
    """What a program calls its model with."""


def inputs(program: Any) -> tuple[torch.nn.Module, tuple[Any, ...]]:
    """A program's model and the inputs of its first call. Raises ValueError when it calls something else."""
    utilities = importlib.import_module("torch_mlir_e2e_test.framework").TestUtils
    torch.manual_seed(0)
    model = program.program_factory()

    class Recorder:
        def forward(self, *args: Any) -> Any:
            raise _Inputs(args)

    try:
        program.program_invoker(Recorder(), utilities())
    except _Inputs as call:
        return model.eval(), call.args[0]
    raise ValueError("it calls no forward")


def same(model: torch.nn.Module, args: tuple[Any, ...], target: str, made: str | None) -> str:
    """`same text`, `other text`, `more than bare torch-mlir`, `less than bare torch-mlir`, `neither`."""
    expected = bare.lowered(model, args, target)
    if made is None or expected is None:
        both = made is None and expected is None
        return "neither" if both else "less than bare torch-mlir" if made is None else "more than bare torch-mlir"
    return "same text" if made == expected else "other text"


def checked(model: torch.nn.Module, args: tuple[Any, ...], route: _Route = "robust") -> str:
    """The verdict at LLVM IR, with its reason unless it is `equal`; `refused: ...` where the program does not reach it.

    Its inputs are copies: some programs change them.
    """
    try:
        verdict = irwidget.lower(model, *_copies(args), to="llvm_ir", check=True, timeout=SECONDS, route=route).check
    except IRWidgetError as error:
        return _refused(error)
    if verdict is None:
        return "not checked"
    return verdict.state if verdict.state == "equal" else f"{verdict.state}: {str(verdict)[:300]}"


def _copies(args: tuple[Any, ...]) -> Any:
    return pytree.tree_map(lambda one: one.clone() if isinstance(one, torch.Tensor) else one, args)


def _refused(error: IRWidgetError) -> str:
    return "out of time" if "timed out" in str(error) else f"refused: {str(error).splitlines()[0][:160]}"


def assembled(low: irwidget.Lowering | None, target: str, problem: str) -> str:
    """`valid`, `invalid: ...`, `refused: ...`, or `no kernel` of what computes nothing."""
    failure = low.trace.failure if low is not None else None
    said = failure.message if failure else problem
    if low is None or failure:
        return "no kernel" if "no GPU kernel in it" in said else f"refused: {said.splitlines()[0][:160]}"
    return kernels.verdict(low, target)


_FINE = ("same text", "equal", "valid", "no kernel", "neither", "not reached")


def _results(
    model: torch.nn.Module, args: tuple[Any, ...], wanted: Sequence[str], route: _Route
) -> Iterator[tuple[str, str]]:
    """For each target how it went; what starts from linalg is `not reached` where linalg is not."""
    made: Mapping[str, irwidget.Lowering] = {}
    problem = ""
    types = [target for target in wanted if target != "check"]
    try:
        if types:
            kernels = route != "explorer"  # whose device functions are no kernels
            made = irwidget.lower(model, *_copies(args), to=types, kernels=kernels, timeout=SECONDS, route=route)
    except IRWidgetError as error:
        made, problem = error.lowerings, str(error)
    linalg = made.get("linalg_on_tensors_mlir")
    reached = linalg is None or linalg.trace.failure is None if made else not problem
    for target in wanted:
        low = made.get(target)
        if target in bare.OUTPUT_TYPES:
            yield target, same(model, args, target, low.text if low is not None and not low.trace.failure else None)
        elif not reached:
            yield target, "not reached"
        else:
            yield target, checked(model, args, route) if target == "check" else assembled(low, target, problem)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.torch_conformance", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--sample", type=int, default=1, metavar="N", help="every N-th program only")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with that program")
    parser.add_argument("--seconds", type=float, default=math.inf, metavar="N", help="begin no program after so long")
    parser.add_argument("--only", default="", metavar="NAME,NAME", help="these programs, of all")
    parser.add_argument("--targets", default="linalg_on_tensors_mlir,check,nvptx,amdgpu,spirv")
    parser.add_argument("--route", default="robust", choices=("robust", "explorer"))
    parsed = parser.parse_args(arguments)
    wanted = parsed.targets.split(",")
    counts: dict[str, Counter[str]] = {target: Counter() for target in wanted}
    programs, only = suite(parsed.checkout), set(filter(None, parsed.only.split(",")))
    if missing := only - {one.unique_name for one in programs}:
        raise SystemExit(f"{parsed.checkout} has no program {', '.join(sorted(missing))}")
    sampled = [one for one in programs if one.unique_name in only] if only else programs[parsed.first :: parsed.sample]
    started, done = time.monotonic(), 0
    for program in sampled:
        if time.monotonic() - started > parsed.seconds:
            break
        done += 1
        try:
            model, args = inputs(program)
        except Exception as error:
            print(f"{program.unique_name}: left out, {type(error).__name__}: {error}", flush=True)
            continue
        for target, found in _results(model, args, wanted, parsed.route):
            counts[target][found.partition(":")[0]] += 1
            if found not in _FINE:
                print(f"{program.unique_name}: {target}: {found}", flush=True)
    print(f"\n{done} of {len(sampled)} programs; GPU code is assembled, not executed")
    print("\n| target | " + "results |\n|---|---|")
    for target, found in counts.items():
        print(f"| {target} | {', '.join(f'{count} {what}' for what, count in found.most_common())} |")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
