"""Open what a Triton JIT cache holds: kernels that were compiled before, perhaps on another machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from irwidget.errors import UsageError
from irwidget.frontends.triton.compiling import TARGETS
from irwidget.toolchain import triton_facts, triton_state
from irwidget.toolchain.tool import StepFailed
from irwidget.trace import Dump, Step, Trace, dump

_TEXTS = {"source": "mlir", "ttir": "mlir", "ttgir": "mlir", "llir": "llvm", "ptx": "ptx", "amdgcn": "amdgcn"}
_BINARIES = ("cubin", "hsaco")


def from_cache(directory: str | Path, to: str = "") -> list[Trace]:
    """The kernels in a Triton cache directory (`~/.triton/cache`, or one entry of it), one trace per specialisation.

    The stages are the dumps; a cubin is disassembled where nvdisasm is at hand. `to` leaves out
    kernels that were not compiled to that IR type, and the stages after it.

    Raises UsageError when nothing of Triton's is found.
    """
    root = Path(directory).expanduser()
    if not root.is_dir():
        raise UsageError(f"there is no directory {root}")
    found = [trace for folder, name in sorted(_entries(root)) if (trace := _trace(folder, name, to))]
    if not found:
        wanted = f"with {to} " if to else ""
        raise UsageError(
            f"no kernel {wanted}in {root}: a Triton cache has files such as KERNEL.ttir, KERNEL.ttgir and KERNEL.json"
        )
    return found


def _entries(root: Path) -> Iterator[tuple[Path, str]]:
    """Each compiled kernel: the folder of a specialisation, and the name that its files share."""
    seen: set[tuple[Path, str]] = set()
    for path in root.rglob("*"):
        if path.suffix[1:] in (*_TEXTS, *_BINARIES) and (path.parent, path.stem) not in seen:
            seen.add((path.parent, path.stem))
            yield path.parent, path.stem


def _trace(folder: Path, name: str, to: str) -> Trace | None:
    metadata = _metadata(folder / f"{name}.json")
    dumps: list[Dump] = []
    facts: dict[str, Any] = {**triton_facts.metadata(metadata), "cached_in": str(folder)}
    for stage, language in _TEXTS.items():
        path = folder / f"{name}.{stage}"
        if path.exists():
            dumps.append(_stage(path, stage, language, dumps))
    attachments = {path.name: path.read_bytes() for kind in _BINARIES if (path := folder / f"{name}.{kind}").exists()}
    cubin = attachments.get(f"{name}.cubin")
    if cubin is not None and to in {"", "triton_sass"}:
        dumps += _sass(cubin, len(dumps))
    dumps = _up_to(dumps, to)
    if not dumps:
        return None
    if dumps[-1].language == "amdgcn":
        facts.update(triton_facts.amdgcn(dumps[-1].text))
    target = metadata.get("target") or {}
    if target:
        facts["arch"] = f"sm_{target['arch']}" if target.get("backend") == "cuda" else str(target.get("arch"))
    version = metadata.get("triton_version")
    return Trace(
        to or "triton_cache",
        tuple(dumps),
        tuple(Step("triton", "", one.name) for one in dumps),
        tools={"triton": str(version)} if version else {},
        name=name,
        attachments=attachments,
        facts=facts,
    )


def _metadata(path: Path) -> dict[str, Any]:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {}


def _stage(path: Path, stage: str, language: str, before: list[Dump]) -> Dump:
    content = triton_state.content(language, path.read_text(errors="replace"))
    changed = not before or before[-1].text != content.text
    return dump(stage, content.text, step=len(before), language=language, changed=changed, locations=content.locations)


def _sass(cubin: bytes, step: int) -> list[Dump]:
    from irwidget.toolchain.triton_passes import disassemble

    try:
        content = triton_state.content("sass", disassemble(cubin))
    except (ImportError, StepFailed):  # without Triton's nvdisasm the cubin is still attached
        return []
    return [dump("sass", content.text, step=step, language="sass", locations=content.locations)]


def _up_to(dumps: list[Dump], to: str) -> list[Dump]:
    """The dumps up to the stage that an IR type ends with; none when it is not there."""
    if not to:
        return dumps
    last = next(stage for stage in reversed(TARGETS[to]) if stage not in _BINARIES)
    stages = [one.name for one in dumps]
    return dumps[: stages.index(last) + 1] if last in stages else []
