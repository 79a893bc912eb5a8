"""`python -m irwidget lower|targets|doctor|export`: the text twin of the magic."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path
from typing import Any

from irwidget import arguments, reports
from irwidget.errors import IRWidgetError, UsageError, near

USAGE = """usage: irwidget lower FILE --to TYPE [options]   lower the models of a Python file, or a file of IR
       irwidget export NOTEBOOK --html FILE     its lowerings as one offline, interactive page
       irwidget targets                         the IR types
       irwidget doctor                          this machine against toolchain.lock"""


def main(argv: list[str] | None = None) -> int:
    """Run a command; 0 when it went well, 1 when a lowering failed, 2 for a bad command line."""
    words = sys.argv[1:] if argv is None else argv
    commands = {"lower": _lower, "export": _export, "targets": _targets, "doctor": _doctor}
    if not words or words[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if words else 2
    try:
        if words[0] not in commands:
            raise UsageError(f"irwidget has no command {words[0]!r}. {near(words[0], commands)}")
        commands[words[0]](words[1:])
    except IRWidgetError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


def _targets(_: list[str]) -> None:
    print(reports.targets())


def _doctor(_: list[str]) -> None:
    print(reports.doctor())


def _one_file(words: list[str], command: str) -> argparse.Namespace | None:
    """The arguments of a command that takes one file; None when its help was all that was asked for."""
    parsed = arguments.parse(words, command, objects=True)
    if getattr(parsed, "help_shown", False):
        return None
    if len(parsed.names) != 1:
        raise UsageError(f"{command} takes one file")
    if not Path(parsed.names[0]).is_file():
        raise UsageError(f"There is no file {parsed.names[0]}")
    return parsed


def _export(words: list[str]) -> None:
    """Run a notebook and write what it lowered as a page."""
    from irwidget import notebooks
    from irwidget.lowering import page

    parsed = _one_file(words, "irwidget export")
    if parsed is None:
        return
    path = Path(parsed.names[0])
    target = Path(parsed.html or path.with_suffix(".html").name)
    page(notebooks.lowerings(path), notebooks.introduction(path)[0], target)
    print(f"wrote {target} ({target.stat().st_size / 2**20:.1f} MB)")


def _lower(words: list[str]) -> None:
    """Run a Python file as a cell and lower what it asks for."""
    from irwidget import views
    from irwidget.commands import lower_all, targets_of
    from irwidget.frontends.pairing import Call, Candidate, collected, explore, find
    from irwidget.lowering import page
    from irwidget.progress import ProgressLine

    parsed = _one_file(words, "irwidget lower")
    if parsed is None:
        return
    path = Path(parsed.names[0])
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        parsed.to = parsed.to or "raw_ir"
        candidates = [Candidate(path.name, source, (Call((), told=True),))]
    else:
        with collected(source) as pairs:
            namespace: dict[str, Any] = runpy.run_path(str(path), {"__explore__": explore})
        candidates = pairs or find(source, namespace, model=parsed.model, inputs=arguments.split(parsed.inputs) or None)
    with ProgressLine(enabled=False) as progress:
        done, problems = lower_all(candidates, targets_of(parsed), parsed, progress)
    if parsed.html:
        page(list(done.values()), path.name, parsed.html)
    elif parsed.no_dumps:
        print("\n".join(lowering.text for lowering in done.values()))
    else:
        print(views.text([lowering.trace for lowering in done.values()]))
    if problems:
        raise problems[0]


if __name__ == "__main__":
    sys.exit(main())
