"""Writes the pages that come from the program: `python docs/generate.py` (make docs runs it).

docs/types.md is the table of IR types with what each needs, docs/magic.md the options of %%lower.
"""

from __future__ import annotations

from pathlib import Path

import irwidget
from irwidget import arguments
from irwidget.toolchain import lock

DOCS = Path(__file__).resolve().parent
SOURCES = {
    "pytorch": "PyTorch",
    "triton": "Triton launch",
    "helion": "Helion kernel",
    "spyre": "PyTorch, for IBM Spyre",
    "raw": "IR text",
}


def types() -> str:
    """Every IR type with its needs, in the order of a lowering."""
    tools, _ = lock.read()
    lines = [
        "# IR types", "",
        "Written by `make docs` from `irwidget.targets()` and `toolchain.lock`. `%lower --targets` prints the table,",
        "`%lower --doctor` says which of them work on your machine. What is embedded comes with irwidget;",
        "the others are extras: `pip install 'irwidget[triton,helion]'`. No IR type needs a GPU. PyTorch stands for a",
        "module, a function or an ExportedProgram.", "",
        "| IR type | starts from | what it is | language | needs |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for target in irwidget.targets().values():
        needs = [tool.name for tool in tools if target.name in tool.targets]
        cells = (f"`{target.name}`", SOURCES[target.source], target.summary, target.language, ", ".join(needs))
        lines.append("| " + " | ".join(cells) + " |")
    lines += ["", "## The tools", "", "| package | version | LLVM inside | kind |", "|---|---|---|---|"]
    lines += [f"| {tool.name} | {tool.version} | {tool.llvm or '-'} | {tool.kind} |" for tool in tools]
    return "\n".join(lines) + "\n"


def magic() -> str:
    """The options as the magic itself prints them."""
    help_text = arguments.parser("%lower", objects=True).format_help().strip()
    return f"""# The magic

Written by `make docs` from the parser of the magic. `%%lower` runs its cell in your namespace, like any cell, then
lowers the models and kernels that it finds in it; `%lower NAME INPUT...` does so with objects that exist already. The
result is displayed, and bound to `_lowering`.

```text
{help_text}
```
"""


def main() -> None:
    for name, text in (("types.md", types()), ("magic.md", magic())):
        (DOCS / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
