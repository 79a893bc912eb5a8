"""The arguments of `%%lower`, `%lower` and `python -m irwidget lower`: one parser, three skins."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import Any, NoReturn

from irwidget.errors import UsageError, near
from irwidget.options import from_word, memory_bytes
from irwidget.toolchain.run import Options


class _Parser(argparse.ArgumentParser):
    """argparse that raises our own error, with the near matches, instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            unknown = message.removeprefix(prefix).split()[0]
            raise UsageError(f"{self.prog} has no option {unknown!r}. {near(unknown, option_names())}")
        raise UsageError(f"{self.prog}: {message}. See {self.prog} --help.")


def parser(prog: str, *, objects: bool) -> argparse.ArgumentParser:
    """`objects`: take names of a model and its inputs as positional arguments."""
    made = _Parser(prog, description="Lower a model, kernel or IR and see every pass.", allow_abbrev=False)
    if objects:
        made.add_argument("names", nargs="*", metavar="NAME", help="a model or kernel, then its inputs")
    made.add_argument("--to", metavar="TYPE", help="IR type, or several separated by commas; --targets lists them")
    made.add_argument("--all", action="store_true", help="every IR type that the model can be lowered to")
    made.add_argument("--pipeline", metavar="TEXT", help="go on with a custom pipeline: 'mlir-opt --cse | opt -O2'")
    made.add_argument("--external", action="store_true", help="run the pipeline's tools as real programs")
    made.add_argument(
        "--route",
        type=from_word("route"),
        default="robust",
        metavar="ROUTE",
        help="robust, or explorer: PyTorch Explorer's",
    )
    made.add_argument(
        "--from",
        dest="source",
        choices=("text", "python"),
        default="text",
        help="raw_ir: the cell is IR, or Python that prints it",
    )
    made.add_argument("--arch", help="what to generate code for: sm_80, gfx942, ...")
    made.add_argument("--aten", help="helion_mlir: raw, linalg-on-tensors, tosa or stablehlo")
    if not prog.startswith("irwidget"):
        made.add_argument("--interactive", action="store_true", help="edit and run the pipeline as a widget")
    if objects:
        made.add_argument("--from-cache", metavar="DIR", help="open what a Triton JIT cache holds")
    made.add_argument("--config", help="which of an autotuner's configurations: its number, or BLOCK=128")
    made.add_argument("--cores", type=int, help="Spyre: how many cores, 1 to 32")
    made.add_argument("--O", type=from_word("O"), metavar="LEVEL", help="LLVM's optimisation level")
    made.add_argument("--kernels", action="store_true", help="outline real GPU kernels")
    made.add_argument("--llvm-passes", action="store_true", help="a dump after every LLVM pass that changed something")
    made.add_argument(
        "--check",
        nargs="?",
        const=True,
        type=from_word("check"),
        metavar="each",
        help="execute the result and compare it with eager PyTorch; each: every dump",
    )
    made.add_argument("--model", metavar="NAME", help="the variable that holds the model")
    made.add_argument("--inputs", metavar="NAMES", help="variables for its inputs, separated by commas")
    made.add_argument("--name", help="what to call it in the view")
    made.add_argument("--text", action="store_true", help="print the text twin instead of the widget")
    made.add_argument("--out", metavar="VAR", help="bind the result to this variable too")
    made.add_argument("--html", metavar="FILE", help="write one offline, interactive page")
    made.add_argument("--save", metavar="FILE", help="keep all of it in an .irtrace file, which irwidget.load opens")
    made.add_argument("--no-dumps", action="store_true", help="keep the last dump only")
    made.add_argument("--no-elide", action="store_true", help="print large constants in full")
    made.add_argument("--in-process", action="store_true", help="run the passes in this process, not in the worker")
    made.add_argument("--timeout", type=from_word("timeout"), metavar="S", help="seconds for all of it")
    made.add_argument("--memory", type=from_word("memory"), metavar="GIB", help="most memory for the worker")
    made.add_argument("--targets", action="store_true", help="print the table of IR types")
    made.add_argument("--doctor", action="store_true", help="check this machine against toolchain.lock")
    return made


def parse(line: str | Sequence[str], prog: str, *, objects: bool) -> argparse.Namespace:
    """Parse a line. Raises UsageError; `--help` prints and gives a namespace whose `help_shown` is true."""
    made = parser(prog, objects=objects)
    try:
        words = shlex.split(line) if isinstance(line, str) else list(line)
    except ValueError as error:
        raise UsageError(f"{prog}: {error} in {line!r}") from None
    try:
        parsed = made.parse_args(words)
    except SystemExit:
        parsed = argparse.Namespace(help_shown=True)
    return parsed


def option_names() -> list[str]:
    """Every long option."""
    actions: list[Any] = parser("", objects=True)._actions  # pyright: ignore[reportPrivateUsage]
    return sorted(name for action in actions for name in action.option_strings if name.startswith("--"))


def split(names: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()] if names else []


def lower_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `irwidget.lower` that the arguments ask for."""
    options: dict[str, Any] = {
        "dumps": not parsed.no_dumps,
        "elide": not parsed.no_elide,
        "isolate": not parsed.in_process,
        "timeout": parsed.timeout,
        "pipeline": parsed.pipeline,
        "external": parsed.external,
        "route": parsed.route,
        "check": parsed.check or False,
        "memory": parsed.memory,
    }
    return {**options, **target_options(parsed)}


def target_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """Those that belong to what is lowered."""
    names = ("arch", "O", "kernels", "llvm_passes", "aten", "config", "cores")
    return {name: value for name in names if (value := getattr(parsed, name))}


def plan_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `irwidget.planning.planned`: what can be checked before a cell runs."""
    return {
        "pipeline": parsed.pipeline,
        "route": parsed.route,
        "external": parsed.external,
        "target_options": target_options(parsed),
        "options": Options(isolate=not parsed.in_process, memory=memory_bytes(parsed.memory)),
    }


def pipeline_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `irwidget.Pipeline` that the arguments ask for. Raises UsageError for what it lacks."""
    options = lower_options(parsed)
    refused = {
        "no-dumps": not options.pop("dumps"),
        "check": options.pop("check"),
        "route": options.pop("route") != "robust",
        "all": parsed.all,
        "text": parsed.text,
        "html": parsed.html,
        "save": parsed.save,
    }
    if flag := next((flag for flag, given in refused.items() if given), None):
        raise UsageError(f"--interactive shows every pass of the usual route in a widget: leave out --{flag}")
    return {**options, "pipeline": options["pipeline"] or ""}
