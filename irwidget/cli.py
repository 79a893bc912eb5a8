"""`python -m irwidget lower|targets|doctor|export`: the text fallback of the magic."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irwidget import arguments, display, files, output, reports, terminal
from irwidget.cells import AlreadyShown
from irwidget.errors import IRWidgetError, UsageError, near

if TYPE_CHECKING:
    from irwidget.experiments.comparison import Comparison
    from irwidget.result import Lowering

USAGE = """usage: irwidget lower FILE --to TYPE [options]   lower the models of a Python file, or a file of IR
                      -o OUT | -o -              the IR itself; --passes: a table; --diff PASS: one pass
       irwidget show FILE.irtrace [--html PAGE] what low.save("x.irtrace") or --save has kept, as text or as a page
       irwidget open FILE|DIR|- [--html PAGE]   a compiler's log or folder of dumps, pass by pass, as text or as a page
       irwidget open FILE|DIR|- --follow        the passes of a log that grows, as they come
       irwidget compare A.irtrace B.irtrace     the first pass after which two kept lowerings differ, and the costs
       irwidget reduce FILE --pipeline TEXT     the smallest IR that it still fails on, as a report; -o OUT, -o -
       irwidget reduce FILE.py --to TYPE        the smallest Python program: a model, a Triton or Helion kernel
       irwidget export NOTEBOOK --html FILE     its lowerings as one offline, interactive page
       irwidget targets [--json]                the IR types
       irwidget doctor [--json]                 this machine against toolchain.lock
       irwidget bisect FILE --to TYPE --package NAME   the release of a package that changed the lowering, or broke it
       irwidget toolchains [--delete NAME|--all] what --toolchain has had pip install: sizes, paths; deletes it
       irwidget mcp                             a server of the Model Context Protocol, on standard input and output"""


def main(argv: list[str] | None = None) -> int:
    """Run a command.

    0 when it went well, 1 when the file or a lowering failed, 2 for a bad command line, 130 for Ctrl-C, 141 when who
    reads what is printed has gone.
    """
    words = sys.argv[1:] if argv is None else argv
    commands = {
        "lower": _lower,
        "open": _open,
        "show": _show_file,
        "compare": _compare,
        "reduce": _other("cli_reduce", "reduce"),
        "export": _export,
        "targets": partial(_report, "targets"),
        "doctor": partial(_report, "doctor"),
        "mcp": _mcp,
        "bisect": _other("cli_toolchains", "bisect"),
        "toolchains": _other("cli_toolchains", "toolchains"),
    }
    if not words or words[0] in ("-h", "--help"):
        print(USAGE)
        return 0 if words else 2
    as_json = "--json" in words
    try:
        if words[0] not in commands:
            raise UsageError(f"irwidget has no command {words[0]!r}. {near(words[0], commands)}")
        if argv is None:
            terminal.ready()
        commands[words[0]](words[1:])
        sys.stdout.flush()
    except IRWidgetError as error:
        print(_as_data(error) if as_json else _said(error), file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    except AlreadyShown as shown:
        if as_json:
            print(_of_file(shown.__cause__ or shown), file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        print(_as_data(stop) if as_json else str(stop) or "interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # who reads what we print has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno not in _FULL:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        problem = UsageError(f"Standard output cannot be written: {error.strerror}")
        print(_as_data(problem) if as_json else _said(problem), file=sys.stderr)
        return 1
    return 0


_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""How writing to standard output fails; files that are named have errors of their own."""


def _said(error: IRWidgetError) -> str:
    """An error as it is printed."""
    return "\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])


def _of_file(error: BaseException) -> str:
    """An error of the file itself, as --json has it."""
    if isinstance(error, SystemExit):
        how = "os._exit" if isinstance(error, files.Left) else "sys.exit"
        said = SystemExit(f"the file ended by {how}({error.code!r})")
        return _as_data(said, "What it had made by then is not lowered: leave that out where irwidget runs it")
    return _as_data(error, "This is an error of the file itself: mend the line that is named before this")


def _as_data(error: BaseException, *notes: str) -> str:
    """What ended a command, as --json has it."""
    place = getattr(error, "location", None)
    about = {"type": type(error).__name__, "message": str(error) or type(error).__name__}
    about |= {"notes": [*getattr(error, "__notes__", []), *notes], "location": str(place) if place else None}
    return output.as_json({"error": about})


def _other(module: str, name: str) -> Callable[[list[str]], None]:
    """A command of another module."""

    def command(words: list[str]) -> None:
        getattr(importlib.import_module(f"irwidget.{module}"), name)(words)

    return command


def _mcp(words: list[str]) -> None:
    """Answer questions until standard input ends."""
    from irwidget.queries import server

    if arguments.helped(arguments.own("irwidget mcp", server.__doc__), words):
        return
    if words:
        raise UsageError("irwidget mcp takes no arguments")
    server.run()


def _report(name: str, words: list[str]) -> None:
    """Print a report that takes no options but --json."""
    if other := next((word for word in words if word != "--json"), ""):
        raise UsageError(f"irwidget {name} takes --json and nothing else, not {other!r}")
    print(reports.report(name, as_json=bool(words)))


def _export(words: list[str]) -> None:
    """Run a notebook and write what it lowered as a page."""
    from irwidget import notebooks

    parsed = arguments.parse(words, "irwidget export", objects=True)
    if getattr(parsed, "help_shown", False):
        return
    path = files.one(parsed.names, "irwidget export")
    target = Path(parsed.html or path.with_suffix(".html").name)
    output.write(target, notebooks.page(path))
    size = target.stat().st_size
    print(
        output.as_json({"wrote": str(target), "bytes": size})
        if parsed.json
        else f"wrote {target} ({size / 2**20:.1f} MB)"
    )


def _show_file(words: list[str]) -> None:
    """Print or write as a page what a file has kept."""
    parsed = arguments.parse(words, "irwidget show", objects=True)
    if getattr(parsed, "help_shown", False):
        return
    path = files.one(parsed.names, "irwidget show")
    _show(_chosen(_kept(path), path.name, parsed), path.name, parsed)


def _kept(path: Path) -> dict[str, Lowering]:
    """What a file has kept, by number. Raises UsageError."""
    from irwidget.saved import load_all

    return {str(number): low for number, low in enumerate(load_all(path))}


def _chosen(found: Mapping[str, Lowering], what: str, parsed: argparse.Namespace) -> dict[str, Lowering]:
    """Those that --to and --model choose, by IR type and by name or number. Raises UsageError where there is none."""
    to, model = arguments.split(parsed.to), parsed.model
    chosen = {
        key: low
        for key, low in found.items()
        if (not to or low.target in to) and (not model or model in (key, low.name))
    }
    if found and not chosen:
        asked = [word for flag, value in (("--to", parsed.to), ("--model", model)) if value for word in (flag, value)]
        held = "; ".join(_called(key, low) for key, low in found.items())
        raise UsageError(f"Nothing in {what} is {' '.join(asked)}. It holds {held}")
    return chosen


def _called(key: str, low: Lowering) -> str:
    return f"{key}: {low.name or 'IR'} to {low.target}"


def _compare(words: list[str]) -> None:
    """Print where two lowerings first differ that two files have kept."""
    from irwidget.experiments.comparison import compare

    parsed = arguments.parse(words, "irwidget compare", objects=True)
    if getattr(parsed, "help_shown", False):
        return
    if not parsed.names:
        raise UsageError("irwidget compare takes .irtrace files, which --save writes, that hold two lowerings")
    held = [(name, *one) for name in parsed.names for one in _chosen(_kept(files.there(name)), name, parsed).items()]
    if len(held) != 2:
        there = "".join(f"\n  {name} {_called(key, low)}" for name, key, low in held)
        raise UsageError(f"irwidget compare takes two lowerings; --to and --model choose of these {len(held)}:{there}")
    found = compare(held[0][2], held[1][2])
    if parsed.json:
        from irwidget.queries import comparing

        print(output.as_json(comparing.answer(found, sys.maxsize)))
    else:
        terminal.show(str(found), parsed.color)


def _open(words: list[str]) -> None:
    """Print, or write as a page, what somebody's compiler has dumped."""
    from irwidget.commands import opened

    parsed = arguments.parse(words, "irwidget open", objects=True)
    if getattr(parsed, "help_shown", False):
        return
    names = parsed.names or ([parsed.open] if parsed.open else [])
    if len(names) != 1:
        raise UsageError("irwidget open takes one file or folder, or - for standard input")
    if parsed.follow and parsed.json:
        raise UsageError("--follow prints passes as they come, --json all at the end: leave one of them out")
    if parsed.follow:
        _follow(names[0], parsed)
        return
    _show(_chosen(opened(names[0], parsed.format), names[0], parsed), names[0], parsed)


def _follow(what: str, parsed: argparse.Namespace) -> None:
    """Print the passes of a log as they come, until it ends or Ctrl-C; then write the files that are asked for."""
    from irwidget.commands import followed
    from irwidget.views.terminal import Rows

    print(f"following {what}; Ctrl-C ends it", file=sys.stderr, flush=True)
    rows = Rows()
    done: Mapping[str, Lowering] = {}
    try:
        for done in followed(what, parsed.format):
            for line in rows.new([low.trace for low in done.values()]):
                print(line, flush=True)
    except KeyboardInterrupt:
        print(file=sys.stderr)
    if done and (parsed.html or parsed.save or parsed.output):
        parsed.text = False
        _show(done, what, parsed)


def _lower(words: list[str]) -> None:
    """Run a Python file as a cell and lower what it asks for, or lower a file of IR."""
    from irwidget import cells, rerun, versus
    from irwidget.commands import lower_all, targets_of
    from irwidget.frontends.cell import Call, Candidate
    from irwidget.progress import ProgressLine

    parsed = arguments.parse(words, "irwidget lower", objects=True)
    if reports.answered(parsed):
        return
    if parsed.from_cache:
        _show(cells.cached(parsed.from_cache, parsed.to or ""), parsed.from_cache, parsed)
        return
    path = files.one(parsed.names, "irwidget lower")
    source = files.read(path)
    python = path.suffix == ".py" or parsed.source == "python"
    parsed.source = "python" if python else "text"
    parsed.to = parsed.to or ("" if python or parsed.all else "raw_ir")
    parsed.elide = parsed.elide and not parsed.output  # what goes on from a file needs the values
    wanted = targets_of(parsed)
    shell = files.FileShell(path, source, aside=parsed.json or parsed.output == "-")
    with shell.as_main(), ProgressLine(enabled=False) as progress:
        if python:
            try:
                found = cells.candidates(shell, "", source, wanted, parsed)
            except AlreadyShown:
                raise AlreadyShown from shell.error
            rerun.refused(found, source, parsed, first=1)
        else:
            found = [Candidate(path.name, source, (Call((), told=True),))]
        make = partial(versus.compared, namespace=shell.user_ns) if parsed.versus else lower_all
        done, problems = make(found, wanted, parsed, progress)
    _show(done, path.name, parsed)
    if problems:
        raise problems[0]
    if shell.error:
        raise AlreadyShown from shell.error


def _show(done: Mapping[str, Lowering | Comparison], title: str, parsed: argparse.Namespace) -> None:
    """Write the files that are asked for; print the fallback, or the IR alone with --no-dumps."""
    from irwidget.versus import sides, with_passes

    if not done:
        return
    shown, results = list(done.values()), sides(list(done.values()))
    if parsed.json and parsed.output == "-":
        raise UsageError("--json and -o - print both: leave one of them out, or write the IR to a file")
    begun = with_passes(shown)
    if parsed.output and (count := len(sides(begun))) > 1 and parsed.output != "-":
        raise UsageError(f"-o {parsed.output} takes one lowering, and there are {count}: choose with --to, --model")
    aside = sys.stderr if parsed.json or parsed.output == "-" else sys.stdout
    if parsed.save:
        from irwidget.result import save

        print(f"wrote {save(results, parsed.save)}", file=aside)
    if parsed.html:
        display.page(shown, title, parsed.html)
    if parsed.output and begun:
        output.ir("\n".join(lowering.text for lowering in sides(begun)), parsed.output)
    if parsed.json:
        _print_json(results, parsed, shown)
    elif parsed.html and not parsed.text:
        print(f"wrote {parsed.html}", file=aside)
    elif begun and not parsed.output and not (parsed.save and not parsed.text):
        _print(begun, sides(begun), parsed)


def _print(shown: Sequence[Lowering | Comparison], results: Sequence[Lowering], parsed: argparse.Namespace) -> None:
    """The passes, the IR of the last, or the fallback of the views, as is asked for."""
    if parsed.passes or parsed.diff:
        from irwidget.views import terminal as fallbacks

        one = fallbacks.changed_by if parsed.diff else fallbacks.timed
        terminal.show("\n\n".join(one(lowering.trace, parsed.diff) for lowering in results), parsed.color)
    elif not parsed.dumps:
        print("\n".join(lowering.text for lowering in results))
    else:
        terminal.show(display.text(shown), parsed.color)


def _print_json(
    results: list[Lowering], parsed: argparse.Namespace, shown: Sequence[Lowering | Comparison] = ()
) -> None:
    """What was lowered and its passes; with --diff what that pass changed, with --text every line of every dump, with
    --versus where both sides differ.
    """
    from irwidget.experiments.comparison import Comparison
    from irwidget.queries import comparing
    from irwidget.queries.questions import Questions

    answers: list[dict[str, Any]] = []
    for low in results:
        asked = Questions(low.trace, most=sys.maxsize)
        answer = {**asked.overview(), "dumps": asked.passes()["items"]}
        if parsed.diff:
            answer["diff"] = asked.diff(parsed.diff)
        if parsed.text:
            answer["texts"] = [dump.text for dump in low.dumps]
        answers.append(answer)
    compared = [comparing.answer(one, sys.maxsize) for one in shown if isinstance(one, Comparison)]
    print(output.as_json({"lowerings": answers, **({"comparison": compared[0]} if compared else {})}))


if __name__ == "__main__":
    sys.exit(main())
