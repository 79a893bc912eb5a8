"""Triton's own tests and tutorials: what irwidget shows of their kernels against what Triton itself compiles.

    python -m benchmarks.triton_conformance CHECKOUT [--arch sm_90] [--cases 1] [--only WORD]
    python -m benchmarks.triton_conformance CHECKOUT --tutorials [--arch sm_80 sm_90] [--only WORD] [--run]

The first runs the functions of `python/test/unit/language` as pytest does, without a GPU, and compiles every kernel
that they launch twice: by `triton.compile`, and pass by pass. Printed is, by stage, how many texts and binaries are
equal, and of how many kernels all lines come from the same source lines. `--cases` is how many parameter sets of each
function are run, `--only` a part of a test's name, as `test_core.py::test_dot`.

The second runs the tutorials, each as one cell, and counts them: *whole* (all that it launches is lowered, and the cell
came to its end), *partly* (kernels are shown, then something was missing), *refused* (the tutorial says that it is not
for the architecture), *launches nothing* (as a script: its tests do), *failed*.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from irwidget.errors import IRWidgetError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.failures import compile_error
from irwidget.frontends.triton.launch import Launch
from irwidget.toolchain import triton_private, triton_state
from irwidget.toolchain.triton_archs import find

STOPPED = "the cell was run up to here"
"""Begins the note of a cell that could not go on."""
ROOT = Path(__file__).resolve().parents[1]
ARCHS = ("sm_80", "sm_90", "sm_100", "sm_120", "gfx942", "gfx950")
LANGUAGES = {"ttir": "mlir", "ttgir": "mlir", "llir": "llvm", "ptx": "ptx", "amdgcn": "amdgcn"}
BINARIES = ("cubin", "hsaco")


def told(error: BaseException) -> str:
    """What an error says, its cause first: those of Triton's own quote the source of the kernel before it."""
    ours = compile_error(error) if isinstance(error, Exception) else None
    return f"{type(error).__name__}: {ours or error}"


def by_triton(launch: Launch) -> dict[str, Any]:
    """The stages of a launch as `triton.compile` makes them, by their names."""
    import triton

    special, _ = launch.compiled()
    source = triton_private.ast_source(special.kernel, special.signature, special.constants, special.attributes)
    knobs = triton_private.knobs()
    with tempfile.TemporaryDirectory() as folder, knobs.cache.scope(), contextlib.redirect_stdout(io.StringIO()):
        knobs.cache.dir = folder
        target = triton_private.gpu_target(special.arch)
        return dict(triton.compile(source, target=target, options=vars(special.options)).asm)


def compared(launch: Launch) -> dict[str, bool]:
    """Of each stage whether ours is Triton's. Raises what either raises."""
    real = by_triton(launch)
    trace = frontend.lower(launch, to="triton_amdgpu" if find(launch.arch).backend == "hip" else "triton_nvptx")
    if trace.failure:
        raise RuntimeError(f"{trace.failure.pass_name}: {trace.failure.message}")
    ours = {str(trace.step_of(dump) or "source"): dump for dump in trace.dumps}
    found = {}
    for stage, language in {"source": "mlir", **LANGUAGES}.items():
        if stage in real and stage in ours:
            content = triton_state.content(language, real[stage])
            found[stage] = ours[stage].text == content.text
            found["lines"] = found.get("lines", True) and ours[stage].locations == content.locations
    for kind in BINARIES:
        if kind in real:
            found[kind] = next(iter(trace.attachments.values()), b"") == real[kind]
    return found


class Suite:
    """A plugin of pytest's: runs a few cases of each test for their launches, and compares these."""

    def __init__(self, arch: str, cases: int, only: str) -> None:
        self.arch, self.cases, self.only = arch, cases, only
        self.seen: set[str] = set()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        groups: dict[str, list[Any]] = collections.defaultdict(list)
        for item in items:
            if self.only in item.nodeid:
                groups[item.nodeid.partition("[")[0]].append(item)
        digest = hashlib.sha256
        items[:] = [
            item
            for group in groups.values()
            for item in sorted(group, key=lambda one: digest(one.name.encode()).hexdigest())[: self.cases]
        ]

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool:
        launches: list[Launch] = []
        names = pyfuncitem._fixtureinfo.argnames
        try:
            with frontend.recording(self.arch) as launches:
                pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            self.say(pyfuncitem, "capture", told(error))
        for launch in launches:
            special, _ = launch.compiled()
            if special.key in self.seen:
                continue
            self.seen.add(special.key)
            try:
                self.say(pyfuncitem, launch.name, compared(launch))
            except Exception as error:
                self.say(pyfuncitem, launch.name, told(error))
        return True

    def say(self, item: Any, kernel: str, what: Any) -> None:
        print(json.dumps({"test": item.name, "kernel": kernel, "found": what}), file=sys.__stdout__, flush=True)


def run_kernels(path: Path, arch: str, cases: int, only: str) -> None:
    """The child: runs the suite under a driver that names the architecture, and prints a line for each kernel."""
    from irwidget.frontends.triton.device import machine

    folder = path / "python/test/unit/language"
    file = folder / only.partition("::")[0]
    root = path / "python/test"
    given = ["-q", "-s", "-p", "no:cacheprovider", "-W", "ignore", f"--rootdir={root}", f"--confcutdir={root}"]
    given.append(str(file if file.is_file() else folder))
    with machine(find(arch)), contextlib.redirect_stdout(sys.stderr):
        pytest.main(given, plugins=[Suite(arch, cases, only)])


def tutorial(path: Path, arch: str, *, values: bool) -> dict[str, Any]:
    """One tutorial as a cell: what it launches, and how it ended."""
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.user_ns["__file__"] = str(path)
    os.chdir(path.parent)
    sys.path.insert(0, str(path.parent))
    sys.argv = [str(path)]
    source = path.read_text()
    ended: BaseException | None = None
    said = io.StringIO()
    launches: Any = []
    try:
        with contextlib.redirect_stdout(said), frontend.recording(arch, values=values) as launches:
            ran = shell.run_cell(source, store_history=False)
            ended = ran.error_before_exec or ran.error_in_exec
    except IRWidgetError as error:
        ended = error
    lowered, wrong = [], []
    for launch in frontend.select(launches) if launches else []:
        try:
            to = "triton_amdgpu" if find(arch).backend == "hip" else "triton_nvptx"
            trace = frontend.lower(launch, to=to)
            (wrong if trace.failure else lowered).append(launch.name)
            if trace.failure:
                ended = ended or RuntimeError(f"{launch.name}: {trace.failure.pass_name}: {trace.failure.message}")
        except Exception as error:
            wrong.append(launch.name)
            ended = ended or error
    reason = told(ended)[:400] if ended else ""
    notes = [note.message for note in getattr(launches, "diagnostics", [])]
    reason = reason or next((note for note in notes if note.startswith(STOPPED)), "")
    return {
        "notes": notes,
        "launches": len(launches),
        "lowered": lowered,
        "wrong": wrong,
        "reason": reason,
        "kind": type(ended).__name__,
    }


def verdict(found: dict[str, Any]) -> str:
    """What a tutorial counts as."""
    if found["wrong"]:
        return "failed"
    if not found["reason"]:
        return "whole" if found["lowered"] else "launches nothing"
    if found["lowered"]:
        return "partly"
    refused = found["kind"] in ("RuntimeError", "AssertionError", "SystemExit", "Skipped")
    return "refused" if refused else "failed"


def child(command: list[str], timeout: float) -> list[Any]:
    """The JSON lines that this file, run again, prints; a line that says so where it takes too long or dies."""
    words = [sys.executable, "-m", "benchmarks.triton_conformance", *command, "--child"]
    with tempfile.TemporaryFile("w+") as log:
        try:
            done = subprocess.run(
                words, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, timeout=timeout, check=False
            )
            text, code = done.stdout, done.returncode
        except subprocess.TimeoutExpired as late:
            text, code = (late.stdout or b"").decode(), -1
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return (
        lines if lines or code == 0 else [{"reason": f"ended with {code}", "lowered": [], "wrong": ["?"], "kind": ""}]
    )


def report_kernels(path: Path, arch: str, arguments: argparse.Namespace) -> None:
    began = time.monotonic()
    given = [str(path), "--arch", arch, "--cases", str(arguments.cases), "--only", arguments.only]
    lines = child(given, arguments.timeout)
    equal: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    for line in lines:
        found = line.get("found")
        if isinstance(found, dict):
            for stage, same in found.items():
                total[stage] += 1
                equal[stage] += same
            if not all(found.values()):
                print(f"  differs: {line['test']} {line['kernel']}: {[s for s, same in found.items() if not same]}")
        elif line.get("kernel") != "capture" or arguments.verbose:
            print(f"  {line.get('test')} {line.get('kernel')}: {str(found)[:300]}")
    stages = ", ".join(f"{stage} {equal[stage]} of {total[stage]}" for stage in total)
    print(f"{arch}: equal {stages or 'nothing'} ({time.monotonic() - began:.0f} s)", flush=True)


def report_tutorials(path: Path, arch: str, arguments: argparse.Namespace) -> None:
    folder = path / "python/tutorials"
    for files in (sorted(folder.glob("*.py")), sorted((folder / "gluon").glob("[0-9]*.py"))):
        counts: collections.Counter[str] = collections.Counter()
        for file in files:
            if arguments.only in str(file):
                given = [str(file), "--tutorials", "--arch", arch, *(["--run"] if arguments.run else [])]
                (found,) = child(given, arguments.timeout)
                kind = verdict(found)
                counts[kind] += 1
                shown = ", ".join(dict.fromkeys(found["lowered"]))
                said = " | ".join(filter(None, [found["reason"], *found.get("notes", [])]))
                print(f"  {arch} {file.stem}: {kind}; {shown}; {said}", flush=True)
        print(f"{arch} {files[0].parent.name}: {dict(counts)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--tutorials", action="store_true")
    parser.add_argument("--run", action="store_true", help="tutorials: execute launches, so that tensors have values")
    parser.add_argument("--arch", nargs="+", default=[])
    parser.add_argument("--cases", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        (arch,) = arguments.arch
        if arguments.tutorials:
            print(json.dumps(tutorial(arguments.path, arch, values=arguments.run)), flush=True)
        else:
            run_kernels(arguments.path, arch, arguments.cases, arguments.only)
        return
    for arch in arguments.arch or (ARCHS if arguments.tutorials else ("sm_90",)):
        (report_tutorials if arguments.tutorials else report_kernels)(arguments.path.resolve(), arch, arguments)


if __name__ == "__main__":
    main()
