"""Writes what comes from the program: `python docs/generate.py` (make docs runs it).

docs/types.md is the table of IR types with what each needs and its options, docs/magic.md the options of %%lower,
irwidget/signatures.pyi what an editor completes after `irwidget.lower(model, x, to="nvptx", `.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import irwidget
from irwidget import arguments, registry
from irwidget.options import LowerOptions
from irwidget.registry import Option, Target, described
from irwidget.routes import needs
from irwidget.toolchain import lock

DOCS = Path(__file__).resolve().parent
STUB = DOCS.parent / "irwidget" / "signatures.pyi"


def types() -> str:
    """Every IR type with its needs, in the order of a lowering, and the options of each."""
    tools, _ = lock.read()
    lines = [
        "# IR types", "",
        "Written by `make docs` from `irwidget.targets()` and `toolchain.lock`. `%lower --targets` prints the table,",
        "`%lower --doctor` says which of them work on your machine. What is embedded comes with irwidget;",
        "the others are extras: `pip install 'irwidget[triton,helion]'`. No IR type needs a GPU. A PyTorch model is a",
        "module, a function or an ExportedProgram. [Packages of your own](extending.md) can add to this table.", "",
        "| IR type | starts from | what it is | language | needs |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for target in irwidget.targets().values():
        front_end = registry.frontends.all()[target.front_end]
        cells = (f"`{target.name}`", front_end.starts_from, target.summary, target.language, ", ".join(needs(target)))
        lines.append("| " + " | ".join(cells) + " |")
    for title, options in _option_tables():
        lines += ["", f"## Options {title}", "", "| option | type | in Python | in a cell |", "|---|---|---|---|"]
        lines += [_row(option) for option in options]
    lines += ["", "## The tools", "", "| package | version | LLVM inside | kind |", "|---|---|---|---|"]
    lines += [f"| {tool.name} | {tool.version} | {tool.llvm or '-'} | {tool.kind} |" for tool in tools]
    lines += ["", "## The tools of a pipeline", "", "| tool | what it is |", "|---|---|"]
    lines += [f"| `{tool.name}` | {tool.summary} |" for tool in registry.tools if tool.in_pipelines]
    return "\n".join(lines) + "\n"


def _option_tables() -> Iterable[tuple[str, Iterable[Option]]]:
    yield "of every lowering", described(LowerOptions).values()
    for options, targets in _by_options().items():
        if described(options):
            names = f"`{targets[0].name}`" if len(targets) == 1 else f"`{targets[0].name}` ... `{targets[-1].name}`"
            yield f"of {names}", described(options).values()


def _by_options() -> dict[type, list[Target]]:
    """The IR types that share their options."""
    found: dict[type, list[Target]] = {}
    for target in irwidget.targets().values():
        found.setdefault(target.options, []).append(target)
    return found


def _row(option: Option) -> str:
    allowed = f"{option.says or '-'}; default `{option.default!r}`"
    said = f"`{option.flag}`: {option.help}" if option.flag else option.help
    cells = (option.name, f"`{option.kind}`", allowed, said)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def magic() -> str:
    """The options as the magic itself prints them."""
    help_text = arguments.parser("%lower", objects=True).format_help().strip()
    return f"""# The magic

Written by `make docs` from the parser of the magic. `%%lower` runs its cell in your namespace, like any cell, then
lowers the models and kernels that it finds in it; `%lower NAME INPUT...` does so with objects that exist already. The
result is displayed, and bound to `_lowering`. `%lower?` shows this, too.

```text
{help_text}
```
"""


def signatures() -> str:
    """`lower` with the options of each IR type, for editors and type checkers."""
    lines = [
        '"""Written by docs/generate.py from the option dataclasses; `tests/core/test_registry.py` compares."""',
        "",
        "from collections.abc import Mapping, Sequence",
        "from typing import Any, Literal, overload",
        "",
        "from irwidget.lowering import Lowering",
        "from irwidget.toolchain.run import Progress",
        "",
    ]
    common = [*map(_parameter, described(LowerOptions).values())]
    for options, targets in _by_options().items():
        own = [_parameter(option) for name, option in described(options).items() if name not in described(LowerOptions)]
        more = ["**kernel_options: Any"] if any(target.more_options for target in targets) else []
        lines += _overload(_literal([target.name for target in targets]), "Lowering", [*own, *common, *more])
    # No `**options: Any` here: it would take what the IR types above do not have.
    every = [*_every_option(), *common]
    lines += _overload("str", "Lowering", every)
    lines += _overload("Sequence[str]", "dict[str, Lowering]", every)
    return "\n".join(lines) + "\n"


def _every_option() -> list[str]:
    """The options of all IR types together, for a `to` of which nobody knows yet which it is."""
    kinds: dict[str, list[str]] = {}
    for options in _by_options():
        for name, option in described(options).items():
            if name not in described(LowerOptions) and option.kind not in kinds.setdefault(name, []):
                kinds[name].append(option.kind)
    alike = {name: "Any" if "Any" in found else " | ".join(found) for name, found in kinds.items()}
    return [f"{name}: {kind} = ...".replace("'", '"') for name, kind in alike.items()]


def _literal(names: list[str]) -> str:
    """As ruff formats it."""
    if len(names) == 1:
        return f'Literal["{names[0]}"]'
    return "Literal[\n" + "".join(f'        "{name}",\n' for name in names) + "    ]"


def _parameter(option: Option) -> str:
    return f"{option.name}: {option.kind} = ...".replace("'", '"')


def _overload(to: str, gives: str, parameters: Iterable[str]) -> list[str]:
    body = [f"    {one}," for one in ("obj: Any", "*inputs: Any", f"to: {to}", *parameters)]
    return [
        "@overload",
        "def lower(  # pyright: ignore[reportOverlappingOverload]  # str is a Sequence[str] too",
        *body,
        f") -> {gives}: ...",
    ]


def main() -> None:
    for name, text in (("types.md", types()), ("magic.md", magic())):
        (DOCS / name).write_text(text, encoding="utf-8")
    STUB.write_text(signatures(), encoding="utf-8")


if __name__ == "__main__":
    main()
