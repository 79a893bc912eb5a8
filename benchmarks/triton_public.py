"""Kernels of public repositories: their own tests as cells, without a GPU.

    python -m benchmarks.triton_public CHECKOUT TESTS... [--arch sm_90] [--cases 1] [--only WORD] [--equal] [--check]

Runs the test functions of a checkout (neither changed nor installed: it comes first on the path) as pytest does, each
as what a cell would run, and lowers every kernel that it launches to assembly. Printed are, of tests:

  whole    the test came to its end
  partly   it launched, and ended with a note where it needs a value
  refused  an error of ours ends it
  own      another error: the test's own (a skip, an assertion), a package that is missing, or a fault of ours

and of specialisations how many are lowered, how many Triton refuses itself, and how many only we fail on; at last,
how many of the checkout's files that define kernels have had one launched. Each file's first tests are run before its
second ones, so that what `--seconds` leaves out is no file. With `--equal` the texts and binaries of each are
compared with those of `triton.compile`. `--cases` is how many parameter sets of each test function are run. With
`--check` launches are executed, and it is said what the tests' own comparisons say of each.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import json
import signal
import sys
import time
import traceback
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import irwidget
from benchmarks.triton_conformance import STOPPED, by_triton, compared, told
from irwidget.errors import IRWidgetError
from irwidget.frontends import triton as frontend
from irwidget.frontends.triton.launch import Launch
from irwidget.toolchain.triton_archs import find

VERDICTS = ("agrees with", "differs", "compares nothing", "compares that with nothing", "reference at line")
"""By what words the reasons of verdicts are counted."""


class TestTooLong(BaseException):
    """A test that takes more than its time."""


@contextlib.contextmanager
def limit(seconds: int) -> Generator[None]:
    """Raise TestTooLong in the body after so many seconds."""

    def late(*_: Any) -> None:
        raise TestTooLong(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def chosen(items: list[Any], cases: int, only: str) -> list[Any]:
    """So many parameter sets of each test function, always the same ones."""
    groups: dict[str, list[Any]] = collections.defaultdict(list)
    for item in items:
        if only in item.nodeid:
            groups[item.nodeid.partition("[")[0]].append(item)
    digest = hashlib.sha256
    items = [
        item
        for group in groups.values()
        for item in sorted(group, key=lambda one: digest(one.name.encode()).hexdigest())[:cases]
    ]
    turns: collections.Counter[str] = collections.Counter()
    ordered: list[tuple[int, Any]] = []
    for item in items:
        turns[str(item.path)] += 1
        ordered.append((turns[str(item.path)], item))
    return [item for _, item in sorted(ordered, key=lambda one: one[0])]


def kernel_files(path: Path) -> set[str]:
    """The files of a checkout that define Triton kernels, tests left out."""
    found = (one for one in path.rglob("*.py") if "test" not in str(one.relative_to(path)))
    return {str(one.relative_to(path)) for one in found if "@triton.jit" in one.read_text(errors="replace")}


class PublicSuite:
    """A plugin of pytest's: runs tests for their launches, and lowers these."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.seen: set[str] = set()
        self.tests: collections.Counter[str] = collections.Counter()
        self.kernels: collections.Counter[str] = collections.Counter()
        self.ends = time.monotonic() + arguments.seconds
        self.path = Path(arguments.path).resolve()
        self.verdicts: collections.Counter[str] = collections.Counter()
        self.launches: Any = []
        self.running = contextlib.ExitStack()
        """Has the recording of the test that runs."""
        self.files: set[str] = set()
        """Those whose kernels were launched."""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        items[:] = chosen(items, self.arguments.cases, self.arguments.only)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: Any) -> Generator[None]:
        """A test's fixtures are evaluated as its own lines are: on the pretended machine, and recorded."""
        self.launches, self.running = [], contextlib.ExitStack()
        if time.monotonic() > self.ends:
            pytest.skip("no time is left")
        self.running.enter_context(limit(self.arguments.limit))
        recording = frontend.recording(self.arguments.arch, values=self.arguments.run or self.arguments.check)
        self.launches = self.running.enter_context(recording)
        try:
            yield
        except BaseException as error:
            self.ended(item, error)
            raise

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> bool:
        names = pyfuncitem._fixtureinfo.argnames
        try:
            pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
        except BaseException as error:
            self.ended(pyfuncitem, error)
        else:
            self.ended(pyfuncitem, None)
        return True

    def ended(self, item: Any, error: BaseException | None) -> None:
        """Count a test that came to its end, or to this error, and look at what it launched."""
        launches: Any = self.launches
        try:
            with self.running:
                if error is not None:
                    raise error
            notes = [note.message for note in launches.diagnostics]
            ended = [note for note in notes if note.startswith(STOPPED)]
            kind, said = ("partly", ended[0]) if ended else ("whole", "; ".join(notes))
        except IRWidgetError as error:
            kind, said = "refused", str(error)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            place = traceback.extract_tb(error.__traceback__)[-1]
            kind, said = "own", f"({place.filename}:{place.lineno}) {told(error)}"
            if self.arguments.verbose:
                traceback.print_exception(error)
        self.tests[kind] += 1
        self.say(test=item.nodeid, ended=kind, launches=len(launches), said=said[:400])
        self.look(launches)

    def look(self, launches: Any) -> None:
        """Lower what was launched, and say what the test's comparisons say of it."""
        for launch in launches:
            file = Path(launch.kernel.fn.__code__.co_filename)
            if file.is_relative_to(self.path):
                self.files.add(str(file.relative_to(self.path)))
        for launch in frontend.select(launches) if launches else ():
            if self.arguments.check:
                self.judge(launch)
            if time.monotonic() < self.ends:
                with limit(self.arguments.limit):
                    self.lower(launch)

    def judge(self, launch: Launch) -> None:
        with contextlib.suppress(IRWidgetError):
            verdict = irwidget.lower(launch, to="triton_ir", check=True).check
            reason = verdict.reason if verdict else ""
            kind = next((one for one in VERDICTS if one in reason), "other")
            self.verdicts[kind] += 1
            self.say(kernel=launch.name, check=reason)

    def lower(self, launch: Launch) -> None:
        try:
            special, _ = launch.compiled()
        except BaseException as error:
            self.kernels["refused by Triton"] += 1
            self.say(kernel=launch.name, found=told(error)[:400])
            return
        if special.key in self.seen:
            return
        self.seen.add(special.key)
        if int(hashlib.sha256(special.key.encode()).hexdigest(), 16) % self.arguments.every:
            self.kernels["captured"] += 1
            return
        try:
            if self.arguments.equal:
                same = compared(launch)
                kind, said = ("equal" if all(same.values()) else "different"), str(same)
            else:
                to = "triton_amdgpu" if find(launch.arch).backend == "hip" else "triton_nvptx"
                trace = frontend.lower(launch, to=to)
                failure = trace.failure
                kind, said = ("failed", f"{failure.pass_name}: {failure.message}") if failure else ("lowered", "")
        except BaseException as error:
            kind, said = "failed", told(error)
        if kind == "failed":
            try:
                by_triton(launch)
            except BaseException as error:
                kind, said = "refused by Triton", f"{told(error)[:300]} | {said}"
        self.kernels[kind] += 1
        if kind not in ("lowered", "equal"):
            self.say(kernel=launch.name, kind=kind, found=said[:600])

    def say(self, **what: Any) -> None:
        print(json.dumps(what), file=sys.__stdout__, flush=True)


def main() -> None:
    from irwidget.frontends.triton.device import machine

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("tests", nargs="+", help="files and folders in the checkout")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--cases", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument(
        "--every", type=int, default=1, help="lower one in so many kernels; the rest is compiled to TTIR"
    )
    parser.add_argument("--equal", action="store_true")
    parser.add_argument("--run", action="store_true", help="execute launches, so that tensors have values")
    parser.add_argument("--check", action="store_true", help="--run, and what the tests' own comparisons say")
    parser.add_argument("--seconds", type=float, default=600, help="for all tests together; the rest is not run")
    parser.add_argument("--limit", type=int, default=60, help="seconds for a test, and for a kernel")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    path = arguments.path.resolve()
    sys.path[:0] = [str(path), str(path / "src")]
    suite = PublicSuite(arguments)
    given = ["-q", "-s", "-p", "no:cacheprovider", "-W", "ignore", "--continue-on-collection-errors"]
    given += [f"--rootdir={path}", *(str(path / one) for one in arguments.tests)]
    with machine(find(arguments.arch)), contextlib.redirect_stdout(sys.stderr):
        pytest.main(given, plugins=[suite])
    print(f"tests: {dict(suite.tests)}; specialisations: {dict(suite.kernels)}", flush=True)
    files = kernel_files(path)
    if arguments.check:
        print(f"verdicts: {dict(suite.verdicts)}", flush=True)
    print(f"files with kernels: {len(suite.files & files)} launched of {len(files)}; {sorted(suite.files)}", flush=True)


if __name__ == "__main__":
    main()
