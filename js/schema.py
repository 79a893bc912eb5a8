"""Writes js/src/schema: the types of irwidget/views/schema as TypeScript, a file for each module.

npm --prefix js run schema
"""

from __future__ import annotations

import ast
import inspect
import types
from pathlib import Path
from typing import Any, Literal, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from irwidget.views.schema import (
    bufferization,
    experiments,
    layouts,
    lowerings,
    pipeline,
    progress,
    reducing,
    schedule,
    spyre,
    sweep,
)

PARTS = (bufferization, experiments, layouts, lowerings, pipeline, progress, reducing, schedule, spyre, sweep)
OUT = Path(__file__).parent / "src/schema"
_HEAD = "/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */\n"
_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def typescript() -> dict[str, str]:
    """The files by name; `index.ts` has all of them."""
    modules = {part.__name__.rpartition(".")[2]: part for part in PARTS}
    index = "\n".join(f'export type * from "./{name}";' for name in modules)
    return {f"{name}.ts": _file(part) for name, part in modules.items()} | {"index.ts": f"{_HEAD}\n{index}\n"}


def _file(part: types.ModuleType) -> str:
    found = [one for one in vars(part).values() if is_typeddict(one) and one.__module__ == part.__name__]
    return "\n".join([_HEAD, *map(_interface, found)])


def _interface(one: Any) -> str:
    hints = get_type_hints(one, include_extras=True)
    comments = _comments(one)
    lines = [_comment(inspect.getdoc(one) or "", ""), f"export interface {one.__name__} {{"]
    for name, hint in hints.items():
        if name in comments:
            lines.append(_comment(comments[name], "  "))
        optional = get_origin(hint) is NotRequired
        kind = _type(get_args(hint)[0] if optional else hint)
        lines.append(f"  readonly {name.rstrip('_')}{'?' if optional else ''}: {kind};")
    return "\n".join([*lines, "}", ""])


def _comment(text: str, indent: str) -> str:
    return f"{indent}/** {' '.join(text.split())} */"


def _comments(one: Any) -> dict[str, str]:
    """The text below each field."""
    (made,) = ast.parse(inspect.getsource(one)).body
    assert isinstance(made, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(made.body, made.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = str(below.value.value)
    return found


def _type(hint: Any) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if is_typeddict(hint):
        return hint.__name__
    kind, inner = get_origin(hint), get_args(hint)
    if kind is list:
        item = _type(inner[0])
        return f"readonly ({item})[]" if " | " in item or item.startswith("readonly ") else f"readonly {item}[]"
    if kind is tuple:
        return f"readonly [{', '.join(map(_type, inner))}]"
    if kind is dict:
        return f"Readonly<Record<{_type(inner[0])}, {_type(inner[1])}>>"
    if kind is Literal:
        return " | ".join(f'"{one}"' for one in inner)
    if kind is types.UnionType:
        return " | ".join(map(_type, inner))
    raise TypeError(f"The schema has no TypeScript for {hint}")


if __name__ == "__main__":
    for name, text in typescript().items():
        (OUT / name).write_text(text)
