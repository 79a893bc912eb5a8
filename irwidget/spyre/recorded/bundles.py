"""Bundle folders: the SuperDSC files of a kernel, and an OpSpec for each where nothing else says what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irwidget.errors import UsageError
from irwidget.spyre.recorded.data import FoundArg, FoundKernel, FoundOp
from irwidget.spyre.recorded.plans import ReadFile, read_file
from irwidget.spyre.recorded.writing import BUNDLE

FILE = re.compile(r"sdsc_(\d+)\.json")


def is_bundle(folder: Path) -> bool:
    """Whether a folder holds SuperDSC files."""
    return any(FILE.fullmatch(path.name) for path in folder.iterdir()) if folder.is_dir() else False


def read_bundle(folder: Path) -> FoundKernel:
    """The files of a bundle, without OpSpecs. Raises UsageError for what cannot be read."""
    found: dict[int, Path] = {}
    for path in folder.iterdir():
        if match := FILE.fullmatch(path.name):
            found[int(match[1])] = path
    files = {found[n].name: _json(found[n]) for n in sorted(found)}
    bundle = folder / BUNDLE
    try:
        text = bundle.read_text(encoding="utf-8", errors="replace") if bundle.is_file() else ""
    except OSError as error:
        raise UsageError(f"{bundle} cannot be read: {error}") from None
    return FoundKernel(folder.name, (), files, text)


def _json(path: Path) -> Mapping[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no SuperDSC: {error}") from None
    if not isinstance(value, dict):
        raise UsageError(f"{path} is no SuperDSC: an object is wanted")
    return value  # pyright: ignore[reportUnknownVariableType]


def with_ops(kernel: FoundKernel) -> FoundKernel:
    """The kernel with an OpSpec for each file: its symbols are the labels with a `_`, as in `N_`, in whole sticks."""
    reads = [read_file(f"{kernel.name}/{name}", file) for name, file in kernel.files.items()]
    return FoundKernel(kernel.name, tuple(_op(read) for read in reads), kernel.files, kernel.bundle)


def _op(read: ReadFile) -> FoundOp:
    args = tuple(_arg(read, i, i < len(read.tensors) - 1) for i in range(len(read.tensors)))
    out: Mapping[str, int] = read.tensors[-1]["scale"]
    reduced = any(n > 1 and out.get(d, -1) <= 0 for d, n in read.sizes.items())
    space = tuple((f"{d}_", n, read.splits.get(d, 1)) for d, n in read.sizes.items())
    return FoundOp(read.opfunc, reduced, space, args, {})


def _arg(read: ReadFile, number: int, is_input: bool) -> FoundArg:
    """An argument from a labelled tensor: its device dims from the order of its layout class, the innermost first."""
    tensor = read.tensors[number]
    eps, stick = int(tensor["eps"]), str(tensor["stick"])
    sizes: list[int] = []
    coordinates: list[str] = []
    for dim in reversed(tensor["order"]):
        if tensor["scale"].get(dim, -1) <= 0:
            continue
        gap = tensor["gaps"].get(dim, 0)
        rounded = read.opfunc == "ReStickifyOpHBM" and dim != stick and gap < min(eps, read.sizes[dim])
        extent = read.sizes[dim] + (-gap if rounded else gap)  # its sizes are rounded up for both of its sticks
        sizes.append(-(-extent // eps) if dim == stick else extent)
        coordinates.append(f"floor({dim}_/{eps})" if dim == stick else f"{dim}_")
    inside = tensor["scale"].get(stick, -1) > 0
    lane = f"Mod({stick}_, {eps})" if inside else "0"
    start = min(tensor["addresses"].values(), default=0)
    return FoundArg(
        is_input, -1, str(tensor["dataFormat_"]), (*sizes, eps), (*coordinates, lane),
        str(tensor["place"]), max(start, 0), f"symbol{-start}" if start < 0 else "",
    )  # fmt: skip
