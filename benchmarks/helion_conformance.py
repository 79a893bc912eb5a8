"""Helion's own tests with every launch replaced by our MLIR: `python benchmarks/helion_conformance.py CHECKOUT`.

CHECKOUT is a clone of pytorch/helion; nothing of it is changed. Arguments after
it pick files of its `test` folder (`test_examples.py`, without which all that
launch kernels), `--aten TYPE` an output type (linalg-on-tensors), `--limit` the
seconds that one test may take (60), `-k` tests by name as in pytest, `--json` a
file for all outcomes, `--progress` one to which each is appended when it is
known. `--beside TYPES` (several with commas) has each launch lowered to these
output types, too, from one binding; of a test each is *equal* where all its
launches make what the first type makes, which the test judges, as near as it
asks, or come as near to float64. With `--installed` the tests import the installed Helion in place of
their clone's. Each file is a pytest of its own, in which compiled configurations are
our modules, run on the CPU with their accesses checked.

A test that launches no kernel is not counted. Of the others:

* *equal*: the test passes, what the kernel computes and all that it says of it;
* *wrong*: its values differ from those that the test expects, or an access lies outside of a buffer;
* *reference*: ours are as near to the same kernel in float64 (Helion's eager mode) as the test asks, and those that
  the test expects are not; *undefined*: the kernel leaves its tensor in Helion's eager mode, too;
* *refused*: the kernel is not lowered, with the reason;
* *failed*: a pass or the run failed, or the process that the test runs in ended; *too slow*: over the limit;
* *other*: the values were equal where they were compared, and the test asks for something else, as a line of Triton.
"""

from __future__ import annotations

import argparse
import collections
import copy
import importlib
import importlib.metadata
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.helion_float64 import Launch

ROOT = Path(__file__).resolve().parents[1]
_SETTINGS = "IRWIDGET_CONFORMANCE"
"""The environment variable by which a pytest is told what to do, as JSON."""
_ELSEWHERE = (
    *("amd", "autotun", "cute", "dashboard", "dist", "flash", "llm", "metal", "pallas", "mtia", "tileir", "ptxas"),
    *("benchmark", "cache.py", "compile_time", "search_space", "best_available", "triton_overrides", "aot"),
)
"""Words in the names of files about other backends, or about tuning and timing."""
_OUT, _BEGUN, _LAUNCHED = "outcomes.json", "begun.txt", "launched"
"""Files of a pytest, and the line that the latter has for a launch, beside those for tests."""
OUTCOMES = ("equal", "reference", "undefined", "refused", "wrong", "failed", "too slow", "other")


if _SETTINGS in os.environ:  # as a plugin: before pytest puts the clone first, and with it its Helion
    importlib.import_module("helion")


class TooSlow(BaseException):
    """A test has taken longer than it may."""


class _Plugin:
    """Counts what becomes of tests that launch kernels."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.launches = 0
        self.error: str = ""
        self.kind = ""
        self.prints = False
        """Whether a kernel of the test prints on the device, which is left out."""
        self.settled = ""
        """What was settled by float64 of a comparison that did not hold."""
        self.outcomes: list[dict[str, Any]] = []
        self.ran: list[Launch] = []
        self.lowered: dict[Any, Any] = {}
        """Bound kernels of a test, which keep their ids, and what each was lowered to for arguments of one kind."""
        self.unlike: list[tuple[str, Launch, Any, str]] = []
        """Launches of which another output type made something else: the type, the launch, what it made, and how."""
        self.tolerances: dict[str, float] = {}
        """The largest that a test compares with."""
        self.judge: Any = None
        """PyTorch's own `assert_close`."""
        self.beside: dict[str, tuple[str, str]] = {}
        """What became of a test's launches in the other output types, and why."""

    def launch(self, bound: Any, config: Any, arguments: tuple[Any, ...]) -> Any:
        """Run a bound kernel on arguments, lowered by us."""
        from benchmarks.helion_float64 import Launch
        from irwidget.errors import IRWidgetError, UnsupportedError
        from irwidget.helion import emit_kernel

        self.launches += 1
        self._begun(_LAUNCHED)
        try:
            asked = (id(bound), str(config), str([*map(_kind, arguments)]))
            if asked not in self.lowered:
                kernel = emit_kernel(bound.kernel, arguments, config)
                self.prints |= any(remark.message.startswith("device_print") for remark in kernel.emission.remarks)
                self.lowered[asked] = bound, kernel.lower(self.settings["aten"], dumps=False), kernel
            _, lowering, kernel = self.lowered[asked]
            ran = Launch(bound.kernel, config, arguments)
            ran.returned = lowering.run(*arguments, opt_level=1, timeout=self.settings["limit"], check_bounds=True)
            self.ran.append(ran)
            for aten in self.settings["beside"]:
                if self.beside.get(aten, ("equal",))[0] == "equal":
                    self.beside[aten] = self._other(aten, kernel, ran)
            return ran.returned
        except IRWidgetError as error:
            self.error = str(error)
            self.kind = "refused" if isinstance(error, UnsupportedError) else "failed"
            if "outside of a buffer" in self.error:
                self.kind = "undefined" if Launch(bound.kernel, config, arguments).leaves_its_tensors() else "wrong"
            raise

    def _other(self, aten: str, kernel: Any, ran: Launch) -> tuple[str, str]:
        """What becomes of a launch in another output type, and why."""
        from irwidget.errors import IRWidgetError, UnsupportedError

        if ran.before is None:
            return "too slow", "its arguments are too large to keep"
        arguments = copy.deepcopy(ran.before)
        try:
            lowering = kernel.lower(aten, dumps=False)
            limit = self.settings["limit"]
            returned = lowering.run(*arguments, opt_level=1, timeout=limit, check_bounds=True)
        except UnsupportedError as error:
            return "refused", str(error)
        except IRWidgetError as error:
            return ("too slow" if "ran longer than" in str(error) else "failed"), str(error)
        if unlike := ran.unlike(self.judge, (returned, arguments)):
            self.unlike.append((aten, ran, (returned, arguments), unlike))
        return "equal", ""

    def close(self, original: Any, actual: Any, expected: Any, **options: Any) -> None:
        """As `torch.testing.assert_close`, where float64 does not settle it for what was launched."""
        given = {name: options[name] for name in ("rtol", "atol") if options.get(name) is not None}
        self.tolerances |= {name: max(value, self.tolerances.get(name, 0.0)) for name, value in given.items()}
        try:
            original(actual, expected, **options)
        except AssertionError as error:
            tolerances = {name: options.get(name) for name in ("rtol", "atol")}
            if not any(launch.nearer(original, actual, expected, tolerances) for launch in self.ran):
                raise
            self.settled = f"{type(error).__name__}: {error}"

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if item.nodeid not in self.settings["done"]]

    def pytest_runtest_protocol(self, item: Any) -> None:
        self.launches, self.error, self.kind, self.settled, self.prints = 0, "", "", "", False
        self.lowered.clear()
        self.beside.clear()
        self.unlike.clear()
        self.tolerances.clear()
        self.ran.clear()
        self._begun(item.nodeid)

    def _begun(self, what: str) -> None:
        with Path(self.settings["begun"]).open("a") as file:
            file.write(what + "\n")

    def pytest_runtest_call(self, item: Any) -> None:
        signal.setitimer(signal.ITIMER_REAL, self.settings["limit"])

    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.when != "call":
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        if not self.launches:
            return
        error = call.excinfo
        kind, why = ("reference", self.settled) if self.settled else ("equal", "")
        if error is not None and error.typename in ("Skipped", "SkipTest"):
            return
        if error is not None:
            text = f"{error.typename}: {error.value}"
            kind, why = self._kind(error.typename, text)
        taken = round(call.stop - call.start, 2)
        for aten, ran, made, how in self.unlike:
            if ran.unlike(self.judge, made, self.tolerances):
                self.beside[aten] = "wrong", how
        new = [{"test": item.nodeid, "aten": self.settings["aten"], "outcome": kind, "why": why, "seconds": taken}]
        new += [
            {"test": item.nodeid, "aten": aten, "outcome": outcome, "why": said, "seconds": taken}
            for aten in self.settings["beside"]
            for outcome, said in (self.beside.get(aten, (kind, why)),)
        ]
        self.outcomes += new
        self._write()
        if shown := self.settings["progress"]:
            with Path(shown).open("a") as file:
                file.writelines(json.dumps(one) + "\n" for one in new)

    def _kind(self, name: str, text: str) -> tuple[str, str]:
        if name == "TooSlow" or "ran longer than" in self.error:
            return "too slow", ""
        if self.kind:
            return self.kind, self.error
        values = any(word in text for word in ("not close", "Mismatched", "not equal", "nan", "False is not true"))
        source = "def " in text or "tl." in text
        return ("wrong" if values and not source and not self.prints else "other"), text

    def pytest_sessionfinish(self) -> None:
        self._write()

    def _write(self) -> None:
        Path(self.settings["out"]).write_text(json.dumps(self.outcomes))


def pytest_configure(config: Any) -> None:
    """Pytest's hook: this file is a plugin of the pytests that it starts."""
    plugin = _Plugin(json.loads(os.environ[_SETTINGS]))
    config.pluginmanager.register(plugin)
    import torch

    from irwidget.helion import private

    testing, bound_type = private.module("_testing"), private.module("runtime.kernel").BoundKernel
    testing.DEVICE = torch.device("cpu")
    checkout = Path(plugin.settings["checkout"])
    testing.EXAMPLES_DIR, testing.PRETUNED_KERNELS_DIR = checkout / "examples", checkout / "pretuned_kernels"
    original: Any = bound_type.compile_config
    own = {"depth": 0}

    def compile_config(bound: Any, chosen: Any = None, **options: Any) -> Any:
        if own["depth"]:
            return original(bound, chosen, **options)
        chosen = bound._require_implicit_config() if chosen is None else chosen

        def run(*arguments: Any, **given: Any) -> Any:
            own["depth"] += 1
            try:
                if "_launcher" in given:  # the test has something of its own done in place of a launch
                    return original(bound, chosen, **options)(*arguments, **given)
                return plugin.launch(bound, chosen, arguments)
            finally:
                own["depth"] -= 1

        return run

    bound_type.compile_config = compile_config
    plugin.judge = close = torch.testing.assert_close
    torch.testing.assert_close = lambda actual, expected, **options: plugin.close(close, actual, expected, **options)
    bound_type.autotune = lambda bound, arguments, **_: _take_default(bound)
    if not torch.accelerator.is_available():
        torch.accelerator.synchronize = lambda *_args, **_options: None  # there is nothing to wait for
    entered = private.pretended_gpu()
    entered.__enter__()
    signal.signal(signal.SIGALRM, _too_slow)


def _take_default(bound: Any) -> Any:
    config = bound.config_spec.default_config()
    bound.set_config(config)
    return config


def _kind(argument: Any) -> Any:
    """What of an argument a kernel is lowered for."""
    import torch

    if isinstance(argument, torch.Tensor):
        return argument.dtype, tuple(argument.shape), argument.stride()
    return [_kind(one) for one in argument] if isinstance(argument, (list, tuple)) else argument


def _too_slow(*_: Any) -> None:
    raise TooSlow


def run_file(checkout: Path, file: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The outcomes of one file of Helion's tests, in a pytest of its own, and one more after each that a test ends."""
    outcomes: list[dict[str, Any]] = []
    done: list[str] = []
    while True:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            ended = _run_pytest(checkout, file, options, folder, done)
            outcomes += json.loads((folder / _OUT).read_text()) if (folder / _OUT).exists() else []
            begun = (folder / _BEGUN).read_text().splitlines() if (folder / _BEGUN).exists() else []
        tests = [line for line in begun if line != _LAUNCHED]
        if not ended or not tests:
            if ended:
                print(f"{file.name}: {ended}")
            return outcomes
        done += tests
        if begun[-1] == _LAUNCHED:
            why = f"process ended: {ended}"
            outcomes += [
                {"test": tests[-1], "aten": aten, "outcome": "failed", "why": why, "seconds": 0.0}
                for aten in _atens(options)
            ]


def _atens(options: argparse.Namespace) -> list[str]:
    """The output types that are asked for, the one that tests judge first."""
    return [options.aten, *(aten for aten in options.beside.split(",") if aten)]


def _run_pytest(checkout: Path, file: Path, options: argparse.Namespace, folder: Path, done: list[str]) -> str:
    """Run what is not done of a file; what its process said last where it did not come to its end."""
    settings = {"checkout": str(checkout), "aten": options.aten, "limit": options.limit, "done": done}
    settings |= {"beside": _atens(options)[1:]}
    settings |= {"out": str(folder / _OUT), "begun": str(folder / _BEGUN)}
    settings["progress"] = str(options.progress.resolve()) if options.progress else ""
    helion = str(importlib.metadata.distribution("helion").locate_file("")) if options.installed else str(checkout)
    paths = os.pathsep.join([str(ROOT), helion, str(checkout), os.environ.get("PYTHONPATH", "")])
    environment = {
        **os.environ, _SETTINGS: json.dumps(settings), "PYTHONPATH": paths, "HELION_AUTOTUNE_EFFORT": "none",
        "TORCHINDUCTOR_CACHE_DIR": str(folder),
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "benchmarks.helion_conformance"]
    # arguments of frames are not printed: PyTorch ends the process over some of its tensors
    command += ["-p", "no:cacheprovider", "--tb=short", "-p", "no:xdist", "--rootdir", str(checkout), str(file)]
    command += ["-k", options.select] if options.select else []
    finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if options.verbose:
        print(finished.stdout[-20000:])
    if finished.returncode in (0, 1, 5):
        return ""
    said = re.search(r"^ *what\(\): *(.*)|^Fatal Python error: (.*)", finished.stderr, re.MULTILINE)
    return next(filter(None, said.groups())) if said else f"{finished.stdout[-400:]} {finished.stderr[-400:]}"


def _report(name: str, outcomes: list[dict[str, Any]]) -> None:
    """Print what became of the tests of a file in one output type, and why of those that are not equal."""
    if not outcomes:
        return
    counts = collections.Counter(outcome["outcome"] for outcome in outcomes)
    shown = "  ".join(f"{kind} {counts[kind]}" for kind in OUTCOMES if counts[kind])
    print(f"{name:36} {outcomes[0]['aten']:18} {shown}", flush=True)
    for outcome in outcomes:
        if outcome["outcome"] != "equal":
            why = " ".join(outcome["why"].split())[:220]
            print(f"    {outcome['outcome']}: {outcome['test'].rpartition('::')[2]} ({outcome['seconds']} s) {why}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--aten", default="linalg-on-tensors")
    parser.add_argument("--beside", default="", help="other output types, with commas")
    parser.add_argument("--limit", type=float, default=60.0)
    parser.add_argument("-k", dest="select", default="")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--progress", type=Path)
    parser.add_argument("--installed", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    checkout = options.checkout.resolve()
    files = [checkout / "test" / name for name in options.files] or sorted(
        file for file in (checkout / "test").glob("test_*.py") if not any(word in file.name for word in _ELSEWHERE)
    )
    everything: list[dict[str, Any]] = []
    for file in files:
        outcomes = run_file(checkout, file, options)
        everything += outcomes
        for aten in _atens(options):
            _report(file.name, [outcome for outcome in outcomes if outcome["aten"] == aten])
    for aten in _atens(options):
        own = [outcome["outcome"] for outcome in everything if outcome["aten"] == aten]
        print(f"{aten}, {len(own)} tests: " + ", ".join(f"{own.count(kind)} {kind}" for kind in OUTCOMES))
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
