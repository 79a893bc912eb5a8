"""The arguments of `%%lower`, `%lower` and `python -m irwidget lower`: one parser, three skins.

The options of a lowering and of the IR types come from their dataclasses; here is only what is a cell's own.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from irwidget.errors import UsageError, near
from irwidget.options import NAMES, LowerOptions
from irwidget.registry import Option, Target, described, frontends, targets


class _Parser(argparse.ArgumentParser):
    """argparse that raises our own error, with the near matches, instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        prefix = "unrecognized arguments: "
        if message.startswith(prefix):
            unknown = message.removeprefix(prefix).split()[0]
            if not unknown.startswith("-"):
                raise UsageError(f"{self.prog} takes no {unknown!r} there: names stand together, before the options")
            known = option_names()
            if unknown in known:
                where = "%lower" if self.prog == "%%lower" else "%%lower in a notebook"
                raise UsageError(f"{self.prog} has no option {unknown!r}: it is for {where}")
            raise UsageError(f"{self.prog} has no option {unknown!r}. {near(unknown, known)}")
        raise UsageError(f"{self.prog}: {message}. See {self.prog} --help.")


class _Own(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}. See {self.prog} --help")


class _AndMore(argparse.Action):
    """Names separated by commas; those of an option that is there again come after."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if before in (None, self.default) else f"{before},{values}")


def own(prog: str, about: str | None) -> argparse.ArgumentParser:
    """A parser for the options that one command has alone. It raises UsageError; `helped` prints its help."""
    return _Own(prog, description=about, allow_abbrev=False, add_help=False)


def helped(made: argparse.ArgumentParser, words: Sequence[str]) -> bool:
    """Print the help of a command where its words ask for it."""
    asked = bool({"-h", "--help"} & set(words))
    if asked:
        print(made.format_help())
    return asked


def parser(prog: str, *, objects: bool) -> argparse.ArgumentParser:
    """`objects`: take names of a model and its inputs as positional arguments."""
    made = _Parser(prog, description="Lower a model, kernel or IR and see every pass.", allow_abbrev=False)
    if objects:
        made.add_argument("names", nargs="*", metavar="NAME", help="a model or kernel, then its inputs")
    _add_own(made, prog, objects)
    common = made.add_argument_group("for every IR type")
    for option in described(LowerOptions).values():
        _add(common, option, option.default, from_word=True)
    for title, options in _groups():
        group = made.add_argument_group(title)
        for option in options:
            _add(group, option, argparse.SUPPRESS, from_word=False)
    return made


def _add_own(made: argparse.ArgumentParser, prog: str, objects: bool) -> None:
    """What is neither of the lowering nor of an IR type."""
    several = "IR type, or several separated by commas; --targets lists them"
    made.add_argument("--to", action=_AndMore, metavar="TYPE", help=several)
    made.add_argument("--all", action="store_true", help="every IR type that the model can be lowered to")
    made.add_argument(
        "--from",
        dest="source",
        choices=("text", "python"),
        default="text",
        help="raw_ir: the cell is IR, or Python that prints it",
    )
    if prog.startswith("irwidget"):
        _add_terminal(made)
    else:
        made.add_argument("--interactive", action="store_true", help="edit and run the pipeline as a widget")
    if prog == "%%lower":
        made.add_argument(
            "--command", action="store_true", help="the cell is a command line; show what the compiler prints"
        )
    if objects:
        made.add_argument("--from-cache", metavar="DIR", help="open what a Triton JIT cache holds")
        made.add_argument("--open", "--load", metavar="FILE", help="open a log, a folder of dumps or an .irtrace file")
        made.add_argument("--follow", action="store_true", help="go on showing what --open names while it grows")
        made.add_argument("--format", metavar="NAME", help="the reader for --open; by default the content tells")
    made.add_argument("--model", metavar="NAME", help="the variable that holds the model")
    made.add_argument(
        "--inputs", action=_AndMore, metavar="NAMES", help="variables for its inputs, separated by commas"
    )
    made.add_argument(
        "--dynamic-shapes",
        metavar="NAME",
        help="the variable that holds dynamic_shapes, torch.export's; of a cell by default the one so called",
    )
    made.add_argument(
        "--versus",
        metavar="OTHER",
        help="beside it, with other options ('--O 1'), another release ('triton==3.6.0') or another model",
    )
    made.add_argument("--text", action="store_true", help="print the text fallback instead of the widget")
    made.add_argument("--out", metavar="VAR", help="bind the result to this variable too")
    made.add_argument("--html", metavar="FILE", help="write one offline, interactive page")
    made.add_argument("--save", metavar="FILE", help="keep all of it in an .irtrace file, which irwidget.load opens")
    made.add_argument("--targets", action="store_true", help="print the table of IR types")
    made.add_argument("--doctor", action="store_true", help="check this machine against toolchain.lock")


def _add_terminal(made: argparse.ArgumentParser) -> None:
    """What only the command line has: what it prints, and how."""
    made.add_argument("-o", "--output", metavar="FILE", help="write the IR itself, constants in full; - prints it")
    made.add_argument("--diff", metavar="PASS", help="print what a pass has changed; its name, or its number")
    made.add_argument("--passes", action="store_true", help="print the passes with their times, and no diff")
    made.add_argument("--json", action="store_true", help="print data: what was lowered, its passes, --diff, --text")
    made.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="colours of what is printed")


_OWN = frozenset(
    "names command open follow format to all source from interactive from_cache model inputs dynamic_shapes versus "
    "text out html save output diff passes json color".split()
)
_TABLES = ("targets", "doctor")


def _groups() -> Iterator[tuple[str, list[Option]]]:
    """The options of the IR types, by what these start from; one that several have is listed with the first."""
    seen = {*NAMES, *_OWN, *_TABLES}
    for front_end in frontends:
        found: dict[str, Option] = {}
        for target in targets:
            if target.front_end == front_end.name:
                found.update(described(target.options))
        new = [option for name, option in found.items() if option.flag and name not in seen]
        seen.update(found)
        if new:
            yield f"from {front_end.starts_from}", new


def _add(group: Any, option: Option, default: Any, *, from_word: bool) -> None:
    """Add an option. Those of IR types stay words until it is known which IR type is wanted."""
    if not option.flag:
        return
    said: dict[str, Any] = {"dest": option.name, "default": default, "help": option.help.replace("%", "%%")}
    if option.read is None:
        group.add_argument(option.flag, action="store_const", const=option.bare, **said)
        return
    if option.bare is not None:
        said |= {"nargs": "?", "const": option.bare}
    metavar = option.metavar or option.name.upper()
    group.add_argument(option.flag, type=option.from_word if from_word else str, metavar=metavar, **said)


def parse(
    line: str | Sequence[str], prog: str, *, objects: bool, defaults: Mapping[str, Any] | None = None
) -> argparse.Namespace:
    """Parse a line; `defaults` are of options that it does not name.

    Raises UsageError; `--help` prints and gives a namespace whose `help_shown` is true.
    """
    made = parser(prog, objects=objects)
    made.set_defaults(**(defaults or {}))
    try:
        parsed = made.parse_args(list(_joined(words(line, prog))))
    except SystemExit:
        return argparse.Namespace(help_shown=True)
    if parsed.versus is not None and not parsed.versus.strip():
        raise UsageError("--versus takes the options of the other side, a toolchain, or the name of another model")
    alone = ("command", "interactive", "open", "from_cache")
    if parsed.versus and (other := next((name for name in alone if getattr(parsed, name, None)), "")):
        raise UsageError(
            f"--versus lowers twice, which --{other.replace('_', '-')} does not: irwidget.compare holds any two beside "
            "each other"
        )
    return parsed


def _joined(given: Sequence[str]) -> Iterator[str]:
    """The words; options in a word of their own, which `--versus` takes, are no options of the line."""
    rest = iter(given)
    for word in rest:
        following = next(rest, None) if word == "--versus" else None
        yield word if following is None else f"{word}={following}"


def words(line: str | Sequence[str], prog: str) -> list[str]:
    """The words of a line, as a shell reads it. Raises UsageError."""
    try:
        return shlex.split(line) if isinstance(line, str) else list(line)
    except ValueError as error:
        raise UsageError(f"{prog}: {error} in {line!r}") from None


def option_names() -> list[str]:
    """Every long option."""
    actions: list[Any] = parser("", objects=True)._actions  # pyright: ignore[reportPrivateUsage]
    return sorted(name for action in actions for name in action.option_strings if name.startswith("--"))


def words_for(flag: str) -> list[str]:
    """The words that an option may be, where it is one of some."""
    options = [*described(LowerOptions).values(), *(option for _, group in _groups() for option in group)]
    return [word for option in options if option.flag == flag for word in option.known]


def split(names: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()] if names else []


def lower_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """The options of every lowering, as the arguments have them; dynamic shapes go with the inputs, by a variable."""
    return {name: value for name, value in vars(parsed).items() if name in NAMES and name not in _OWN}


def target_options(parsed: argparse.Namespace, wanted: Sequence[str]) -> dict[str, Any]:
    """The options of the IR types that are given, read as those that are wanted read them. Raises UsageError."""
    known = [target for name in wanted if (target := targets.get(name))] or list(targets)
    given = {name: value for name, value in vars(parsed).items() if name not in (*NAMES, *_OWN, *_TABLES)}
    return {name: _value(name, value, known) for name, value in given.items() if value != ""}


def _value(name: str, word: Any, known: Sequence[Target]) -> Any:
    if not isinstance(word, str):
        return word
    owners: Iterator[Mapping[str, Option]] = (described(target.options) for target in known)
    option = next((options[name] for options in owners if name in options), None)
    return option.from_word(word) if option else word


def pipeline_options(parsed: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `irwidget.Pipeline` that the arguments ask for. Raises UsageError for what it lacks."""
    options = lower_options(parsed)
    refused = {
        "no-dumps": not options.pop("dumps"),
        "check": options.pop("check"),
        "route": options.pop("route") != "robust",
        "toolchain": options.pop("toolchain"),
        "all": parsed.all,
        "text": parsed.text,
        "html": parsed.html,
        "save": parsed.save,
    }
    if flag := next((flag for flag, given in refused.items() if given), None):
        raise UsageError(f"--interactive shows every pass of the usual route in a widget: leave out --{flag}")
    del options["name"]  # each model has its own
    return {**options, **target_options(parsed, split(parsed.to)), "pipeline": options["pipeline"] or ""}
