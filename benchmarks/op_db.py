"""PyTorch's own database of operators (OpInfo): what becomes of each, by IR type.

python -m benchmarks.op_db [OP ...] [--to T,T] [--dtypes D,D] [--samples N] [--every N] [--first N] [--kernels]
                           [--packages FOLDER] [--results FILE] [--table]

Each operator is lowered with the first samples of its inputs that hold tensors, and its result is executed on the CPU
and judged by `--check`; with `--kernels` it becomes GPU kernels, which are assembled, not executed. FILE keeps what is
done, a line for each sample: the same command goes on where it stopped, and `--table` prints what is there.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import irwidget
from benchmarks import kernels
from irwidget.errors import ExportError, IRWidgetError, PassError, ToolError, UnsupportedError
from irwidget.private_torch import pytree

PACKAGES = ("expecttest",)
SECONDS = 60.0
Row = dict[str, Any]


def database(folder: Path) -> list[Any]:
    """The operators of PyTorch's database, whose package for tests is installed into the folder where it is not."""
    if not (folder / PACKAGES[0]).is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), *PACKAGES]
        subprocess.run(pip, check=True)
    sys.path.append(str(folder))
    return list(importlib.import_module("torch.testing._internal.common_methods_invocations").op_db)


def called(operator: Any) -> str:
    """The name of an operator in the database, with its variant."""
    return operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")


def program(operator: Any, sample: Any) -> tuple[Callable[..., Any], tuple[torch.Tensor, ...]]:
    """A function of the tensors of a sample, and these; what is no tensor is part of the function."""
    leaves, spec = pytree.tree_flatten((sample.input, sample.args, sample.kwargs))
    tensors = tuple(leaf for leaf in leaves if isinstance(leaf, torch.Tensor))

    def function(*given: torch.Tensor) -> Any:
        left = iter(given)
        filled = [next(left) if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        first, args, kwargs = pytree.tree_unflatten(filled, spec)
        return operator.op(first, *args, **kwargs)

    return function, tensors


def samples(operator: Any, dtype: torch.dtype, most: int) -> Iterator[Any]:
    """The first samples of an operator that hold tensors; none of one that does not take the dtype."""
    if dtype in operator.supported_dtypes("cpu"):
        torch.manual_seed(0)
        found = (one for one in operator.sample_inputs("cpu", dtype) if program(operator, one)[1])
        yield from itertools.islice(found, most)


def outcome(function: Callable[..., Any], tensors: tuple[torch.Tensor, ...], target: str, real: bool) -> str:
    """`equal`, `differs: ...`, `not checked: ...`, `valid`, `invalid: ...`; or where and why it ends.

    `refused: ...` is before any pass, `stops: ...` in one, `crashes: ...` in a tool.
    """
    inputs = [one.clone() for one in tensors]
    try:
        how: dict[str, Any] = {"kernels": True} if real else {"check": True}
        low = irwidget.lower(function, *inputs, to=target, name="function", timeout=SECONDS, **how)
    except ExportError as error:
        return f"refused: {_one_line(error)}"
    except UnsupportedError as error:
        return "no kernel" if "no GPU kernel in it" in str(error) else f"refused: {_one_line(error)}"
    except PassError as error:
        return f"stops: {_one_line(error)}"
    except ToolError as error:
        return f"{'out of time' if 'timed out' in str(error) else 'crashes'}: {_one_line(error)}"
    except IRWidgetError as error:
        return f"{type(error).__name__}: {_one_line(error)}"
    if real:
        return kernels.verdict(low, target)
    assert low.check
    return low.check.state if low.check.state == "equal" else f"{low.check.state}: {low.check!s}"


def _one_line(error: BaseException) -> str:
    return " / ".join(line.strip() for line in str(error).splitlines())[:600]


def _run(wanted: list[tuple[Any, torch.dtype]], targets: list[str], most: int, real: bool, file: Path) -> None:
    done = {(row["op"], row["dtype"], row["sample"], row["to"]) for row in _kept(file)}
    for (operator, dtype), target in itertools.product(wanted, targets):
        for number in range(most):
            key = (called(operator), str(dtype).removeprefix("torch."), number, target)
            if key in done:
                continue
            started = time.process_time()
            try:
                one = next(itertools.islice(samples(operator, dtype, most), number, None), None)
                found = "no sample" if one is None else outcome(*program(operator, one), target, real)
            except Exception as error:  # the database itself, or a defect of ours
                found = f"error: {type(error).__name__}: {_one_line(error)}"
            row = dict(zip(("op", "dtype", "sample", "to"), key, strict=True)) | {"found": found}
            with file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(row) + "\n")
            if found not in ("equal", "valid", "no sample"):
                print(f"{' '.join(map(str, key))}: {found[:200]} ({time.process_time() - started:.1f} s)", flush=True)


def _kept(file: Path) -> list[Row]:
    """The last line of each sample."""
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines()) if file.exists() else ()
    return list({(row["op"], row["dtype"], row["sample"], row["to"]): row for row in lines}.values())


def table(rows: list[Row]) -> str:
    """How many samples of each IR type and dtype end in which way, as Markdown."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        if row["found"] != "no sample":
            counts[row["to"], row["dtype"]][row["found"].partition(":")[0]] += 1
    kinds = sorted({kind for found in counts.values() for kind in found})
    lines = ["| IR type | dtype | samples | " + " | ".join(kinds) + " |", "|" + "---|" * (len(kinds) + 3)]
    for (target, dtype), found in counts.items():
        cells = [target, dtype, str(found.total()), *(str(found[kind]) for kind in kinds)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.op_db", description=__doc__)
    parser.add_argument("ops", nargs="*", metavar="OP", help="these operators only")
    parser.add_argument("--to", default="linalg_on_tensors_mlir")
    parser.add_argument("--dtypes", default="float32,int64,bool")
    parser.add_argument("--samples", type=int, default=2, metavar="N", help="of each operator and dtype")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="every N-th operator only")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="begin with that operator")
    parser.add_argument("--kernels", action="store_true", help="GPU kernels, and whether they are valid")
    parser.add_argument("--packages", type=Path, default=Path("build/op_db"), metavar="FOLDER")
    parser.add_argument("--results", type=Path, default=Path("build/op_db.jsonl"), metavar="FILE")
    parser.add_argument("--table", action="store_true", help="print what is done, run nothing")
    parsed = parser.parse_args(arguments)
    if not parsed.table:
        parsed.results.parent.mkdir(parents=True, exist_ok=True)
        operators = database(parsed.packages)[parsed.first :: parsed.every]
        chosen = [one for one in operators if not parsed.ops or called(one) in parsed.ops or one.name in parsed.ops]
        dtypes = [getattr(torch, name) for name in parsed.dtypes.split(",")]
        wanted = [(one, dtype) for dtype in dtypes for one in chosen]
        _run(wanted, parsed.to.split(","), parsed.samples, parsed.kernels, parsed.results)
    print(table(_kept(parsed.results)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1:])
