"""`python -m irwidget reduce`: the smallest IR or program, on the command line."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irwidget import arguments, files, output
from irwidget.errors import IRWidgetError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from irwidget.reducing.report import Reduced
    from irwidget.reducing.search import Predicate
    from irwidget.result import Lowering
    from irwidget.trace import Step


def reduce(words: list[str]) -> None:
    """Make the IR of a file small that a pipeline fails on, or a program of Python, and print the report."""
    made = arguments.own("irwidget reduce", f"{reduce.__doc__} Other options: irwidget lower --help")
    made.add_argument("--contains", metavar="TEXT", help="what is wrong: the last dump contains this")
    known, rest = made.parse_known_args(words)
    if arguments.helped(made, words):
        return
    parsed = arguments.parse(rest, "irwidget reduce", objects=True)
    path = files.one(parsed.names, "irwidget reduce")
    python = path.suffix == ".py" or parsed.source == "python"
    if not python and parsed.to == "raw_ir":  # which a file of IR is
        parsed.to = None
    if python != bool(parsed.to) or not (python or parsed.pipeline):
        raise UsageError(
            "irwidget reduce takes a file of IR and the --pipeline that fails on it, without --to, or a Python file "
            "and --to TYPE"
        )
    if parsed.json and parsed.output == "-":
        raise UsageError("--json and -o - print both: leave one of them out, or write the IR to a file")
    text: str | None = known.contains
    predicate = None if text is None else lambda last: text in last
    reduced = (_python if python else _ir)(path, parsed, predicate)
    reduced = reduced if text is None else reduced.of_text(text)
    if parsed.output:
        output.ir(reduced.text, parsed.output)
    if parsed.json:
        about = {"operations": reduced.operations, "before": reduced.before, "complete": reduced.complete}
        print(output.as_json({**about, "text": reduced.text, "report": reduced.report}))
    elif parsed.output != "-":
        print(reduced.report)


def _smaller(best: Reduced) -> None:
    print(f"{best.operations} of {best.before} operations", file=sys.stderr)


def _python(path: Path, parsed: argparse.Namespace, predicate: Predicate | None) -> Reduced:
    from irwidget import reduction

    options = {**arguments.lower_options(parsed), **arguments.target_options(parsed, [parsed.to])}
    timeout = options.pop("timeout")
    how: dict[str, Any] = {"predicate": predicate, "seconds": timeout or 120.0, "progress": _smaller}
    return reduction.reduce(path, to=parsed.to, **how, **options)


_SECONDS = 60.0
_IN_FULL = 200_000
"""Characters of a file of which large constants are kept, as what fails may be about them."""
_ENDLESS = 120.0
"""Where each candidate that still fails takes its whole time."""


def _ir(path: Path, parsed: argparse.Namespace, predicate: Predicate | None) -> Reduced:
    from irwidget.lowering import lower
    from irwidget.reducing import failing, search

    text, seconds = files.read(path), parsed.timeout or _SECONDS
    said = {name: getattr(parsed, name) for name in ("pipeline", "external", "toolchain")}
    said["elide"] = parsed.elide and len(text) > _IN_FULL
    tried: list[Lowering] = []
    for _ in search.several():  # what does not always fail may in another run
        tried.append(_lowered(partial(lower, text, to="raw_ir", name=path.stem, timeout=seconds, **said)))
        if predicate or tried[-1].trace.failure:
            break
    low = tried[-1]
    if not (predicate or low.trace.failure):
        in_runs = f" in {len(tried)} runs" if len(tried) > 1 else ""
        raise UsageError(f"The pipeline does not fail on {path}{in_runs}{_elsewhere(text, low.trace.steps)}")
    failure = low.trace.failure
    if failure and failing.timed_out(failing.kind_of(failure)):
        seconds = max(seconds, _ENDLESS)
    return low.reduce(predicate, seconds=seconds, progress=_smaller)


def _lowered(lower: Callable[[], Lowering]) -> Lowering:
    """The lowering, also where it failed. Raises what nothing was made of."""
    try:
        return lower()
    except IRWidgetError as error:
        if error.lowering is None:
            raise
        return error.lowering


def _elsewhere(text: str, steps: Sequence[Step]) -> str:
    """Whether the installed programs fail on it, which may be of another LLVM; else what could be meant."""
    from irwidget.reducing import installed

    again = installed.run(text, steps, _SECONDS)
    if again is None or not again.fails:
        return ": --contains TEXT says what is wrong with its result"
    return f" as it runs here. {again.said}\nNext step: --external makes it small with the installed programs"
