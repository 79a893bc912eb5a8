"""`python -m irwidget toolchains` and `bisect`: other releases, on the command line."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from irwidget import arguments, output, terminal
from irwidget.errors import UsageError


def toolchains(words: list[str]) -> None:
    """List the environments of other releases, or delete some."""
    from irwidget.toolchains import environments

    made = arguments.own("irwidget toolchains", toolchains.__doc__)
    made.add_argument("--delete", action="append", metavar="NAME", help="delete one, by its name or its releases")
    made.add_argument("--all", action="store_true", help="delete all")
    made.add_argument("--json", action="store_true", help="print data: sizes in bytes, times in seconds since 1970")
    if arguments.helped(made, words):
        return
    parsed = made.parse_args(words)
    if parsed.all and parsed.delete:
        raise UsageError("irwidget toolchains takes --delete NAME or --all, not both")
    deletes = bool(parsed.all or parsed.delete)
    listed = environments.delete(parsed.delete) if deletes else environments.cached()
    if parsed.json:
        print(output.as_json({**environments.as_json(listed), "deleted": deletes}))
    elif deletes:
        print("\n".join(f"deleted {one}" for one in listed) or "There was nothing to delete")
    else:
        print(environments.report(listed))


def bisect(words: list[str]) -> None:
    """Find the release of a package that changed the lowering of a file, or broke it."""
    made = arguments.own("irwidget bisect", f"{bisect.__doc__} Other options: irwidget lower --help")
    made.add_argument("--package", required=True, metavar="NAME", help="the package: triton, llvmlite, helion ...")
    made.add_argument("--versions", metavar="LIST", help="releases, the oldest first; by default all")
    made.add_argument("--contains", metavar="TEXT", help="bad is a lowering whose last dump contains this")
    made.add_argument("--json", action="store_true", help="print data")
    if arguments.helped(made, words):
        return
    known, rest = made.parse_known_args(words)
    parsed = arguments.parse(rest, "irwidget bisect", objects=True)

    def tried(version: str, said: str) -> None:
        print(f"{known.package} {version}: {said}", file=sys.stderr, flush=True)

    text: str | None = known.contains
    predicate = None if text is None else lambda low: text in low.text
    found = _found(
        parsed,
        package=known.package,
        versions=None if known.versions is None else arguments.split(known.versions),
        predicate=predicate,
        progress=tried,
        aside=known.json,
    )
    if known.json:
        print(output.as_json(found.to_dict()))
    else:
        terminal.show(str(found), parsed.color)


def _found(parsed: argparse.Namespace, *, aside: bool, **how: Any) -> Any:
    """Run the file, and look for the release that changes what its one model or kernel becomes. Raises UsageError."""
    from irwidget import bisecting, cells, files
    from irwidget.commands import first_that_fits, targets_of
    from irwidget.frontends.cell import Call, Candidate

    path = files.one(parsed.names, "irwidget bisect")
    source = files.read(path)
    python = path.suffix == ".py" or parsed.source == "python"
    parsed.source, parsed.to = "python" if python else "text", parsed.to or ("" if python else "raw_ir")
    wanted = targets_of(parsed)
    if len(wanted) != 1:
        raise UsageError(f"irwidget bisect takes one IR type, not {len(wanted)}")
    shell = files.FileShell(path, source, aside=aside)
    with shell.as_main():
        candidates = [Candidate(path.name, source, (Call((), told=True),))]
        if python:
            candidates = list(cells.unrefused(cells.candidates(shell, "", source, wanted, parsed, elsewhere=True)))
        if len(candidates) != 1:
            names = ", ".join(one.name for one in candidates)
            raise UsageError(f"irwidget bisect takes one model or kernel, and there are {names}: choose with --model")
        options = {**arguments.lower_options(parsed), **arguments.target_options(parsed, wanted)}
        options = {name: value for name, value in options.items() if name not in ("toolchain", "progress")}
        return first_that_fits(candidates[0], partial(bisecting.bisect, to=wanted[0], **how, **options))
