"""Open what a run of torch-spyre left: a bundle folder, a folder of them, a host module with its OpSpecs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from irwidget.errors import UsageError
from irwidget.spyre.hardware import SEMANTICS
from irwidget.spyre.recorded import dumps
from irwidget.spyre.recorded.assembling import assemble
from irwidget.spyre.recorded.bundles import is_bundle, read_bundle, with_ops
from irwidget.spyre.recorded.data import FoundHost, FoundKernel, Named
from irwidget.spyre.recorded.hostcode import is_host_module, read_host
from irwidget.spyre.recorded.program import RecordedProgram
from irwidget.trace import Dump

_MOST = 20_000
"""Files of a folder that are looked at."""
_LARGEST = 64 << 20
"""Bytes of a host module that is read."""
UNKNOWN = "a recorded run"
FILES_OURS = f"OpSpecs of {UNKNOWN}; SuperDSC by ours, {SEMANTICS}"


def open(path: str | Path, *, name: str | None = None) -> RecordedProgram:
    """Open what a run left, in the view of Spyre programs.

    `path`: a folder with `sdsc_*.json` (a bundle), a folder of such folders, also beside the host module that names
    the kernels (what `SpyreProgram.write` writes, what Inductor's cache and `torch_compile_debug` hold), or the host
    module itself, whose OpSpecs are then all there is. `name` is what the program is called.

    Raises UsageError for what is none of these, is damaged, or holds several host modules.
    """
    found = opened(Path(path), name)
    if len(found) > 1:
        names = ", ".join(one.recorded for one in found[:5])
        raise UsageError(
            f"{path} holds {len(found)} host modules: open one of them ({names}), or irwidget.open them all"
        )
    return found[0]


def opened(path: Path, name: str | None = None) -> list[RecordedProgram]:
    """Everything that a run left at a path. Raises UsageError."""
    try:
        if path.is_dir():
            return _folder(path, name)
        if not path.is_file():
            raise UsageError(f"There is no file or folder {path}")
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return opened_text(text, name or path.stem, str(path))


def opened_text(text: str, name: str, source: str = "") -> list[RecordedProgram]:
    """The program of the text of a host module, its OpSpecs. Raises UsageError."""
    return [program(read_host(text, source or name), name, source or name, UNKNOWN)]


def _folder(path: Path, name: str | None) -> list[RecordedProgram]:
    if is_bundle(path):
        kernel = with_ops(read_bundle(path))
        return [program(FoundHost("", (kernel,), {}, (), ()), name or path.name, str(path), UNKNOWN)]
    hosts, folders = look(path)
    bundles = [read_bundle(folder) for folder in folders]
    if not hosts:
        if not bundles:
            raise UsageError(
                f"{path} holds neither SuperDSC files (sdsc_0.json, ...) nor a host module with OpSpecs: give a bundle"
                " folder of torch-spyre, or what SpyreProgram.write has written"
            )
        kernels = tuple(with_ops(kernel) for kernel in bundles)
        return [program(FoundHost("", kernels, {}, (), ()), name or path.name, str(path), UNKNOWN)]
    made: list[RecordedProgram] = []
    for host in hosts:
        found = read_host(host.read_text(encoding="utf-8", errors="replace"), str(host))
        label = name or (path.name if len(hosts) == 1 else host.stem)
        made.append(program(with_files(found, bundles), label, str(host if len(hosts) > 1 else path), UNKNOWN))
    return made


def look(path: Path) -> tuple[list[Path], list[Path]]:
    """Host modules and bundle folders below a folder, in the order of their names."""
    hosts: list[Path] = []
    folders: dict[Path, None] = {}
    for number, file in enumerate(sorted(path.rglob("*"))):
        if number >= _MOST:
            break
        if file.suffix == ".py" and file.is_file() and file.stat().st_size < _LARGEST:
            if is_host_module(file.read_text(encoding="utf-8", errors="replace")):
                hosts.append(file)
        elif file.name == "sdsc_0.json":
            folders[file.parent] = None
    return hosts, list(folders)


def with_files(host: FoundHost, bundles: Sequence[FoundKernel]) -> FoundHost:
    """The host module with the files of each kernel: those of the folder of its name, or that begins with it."""
    kernels: list[FoundKernel] = []
    for kernel in host.kernels:
        fitting = [b for b in bundles if b.name == kernel.name or b.name.startswith(f"{kernel.name}_")]
        longer = [k.name for k in host.kernels if k.name.startswith(f"{kernel.name}_")]
        fitting = [b for b in fitting if not any(b.name == n or b.name.startswith(f"{n}_") for n in longer)]
        files = fitting[-1] if fitting else None
        kernels.append(replace(kernel, files=files.files, bundle=files.bundle) if files else kernel)
    return replace(host, kernels=tuple(kernels))


def program(
    host: FoundHost,
    name: str,
    source: str,
    semantics: str,
    passes: Sequence[Dump] = (),
    named: Sequence[Named] = (),
    notes: Sequence[str] = (),
) -> RecordedProgram:
    """The program of a host module, with the dumps of what was found; `notes` are what to know of the run."""
    if semantics == UNKNOWN and not any(kernel.files for kernel in host.kernels):
        semantics = FILES_OURS
    trace = dumps.empty(name, semantics, {"recorded": source}, passes, notes)
    made = assemble(host, name=name, source=source, semantics=semantics, trace=trace, named=named)
    return dumps.written(made)
