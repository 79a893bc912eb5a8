"""What `%lower --targets` and `%lower --doctor` print."""

from __future__ import annotations

import argparse

from irwidget import output, registry, routes
from irwidget.errors import UsageError
from irwidget.toolchain import external, lock

PROGRAMS = {"mlir-22-tools": "mlir-opt", "llvm-22": "opt"}
"""A program of each external package, which stands for it."""


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows as aligned columns; the first row is the header."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def targets() -> str:
    """The table of IR types."""
    rows = [("IR type", "from", "language", "what it is")]
    rows += [(t.name, t.source, t.language, t.summary) for t in routes.targets().values()]
    return table(rows)


def targets_as_data() -> dict[str, list[dict[str, str]]]:
    """The same for programs: name, source, language and summary of each."""
    names = ("name", "source", "language", "summary")
    return {"targets": [{name: getattr(one, name) for name in names} for one in routes.targets().values()]}


def problems_of(tool: lock.LockedTool) -> str:
    """What is wrong with a tool on this machine; empty when nothing is."""
    if tool.kind == "external":
        program = external.find(PROGRAMS.get(tool.name, tool.name))
        return program if isinstance(program, str) else ""
    found = lock.installed(tool.name)
    if found is None:
        return _missing(tool)
    if found != tool.version:
        return f"{found} is installed, toolchain.lock has {tool.version}: results may differ"
    return ""


def _missing(tool: lock.LockedTool) -> str:
    """What a package that is not there costs to have."""
    if not tool.version:  # another package's
        return f"missing: pip install {tool.name}"
    extra = f"irwidget[{tool.name}]" if tool.kind == "optional" else f"{tool.name}=={tool.version}"
    return f"missing: pip install '{extra}'"


def _here(tool: lock.LockedTool) -> str:
    """The version on this machine."""
    if tool.kind != "external":
        return lock.installed(tool.name) or "-"
    program = external.find(PROGRAMS.get(tool.name, tool.name))
    return "-" if isinstance(program, str) else program.version


def doctor() -> str:
    """Each tool of toolchain.lock against this machine, then each IR type: does it work here?"""
    tools = [("tool", "here", "locked", "LLVM", "kind", "verdict"), *_tools()]
    types = [("IR type", "works here", "with"), *_types()]
    return "\n\n".join([table(tools), table(types), *_plugins()])


def doctor_as_data() -> dict[str, list[dict[str, str]]]:
    """The same for programs; what other packages bring is left out."""
    tools, types = ("tool", "here", "locked", "llvm", "kind", "verdict"), ("target", "works_here", "with")
    return {
        "tools": [dict(zip(tools, row, strict=True)) for row in _tools()],
        "targets": [dict(zip(types, row, strict=True)) for row in _types()],
    }


def _tools() -> list[tuple[str, ...]]:
    return [
        (tool.name, _here(tool), tool.version, tool.llvm or "-", tool.kind, problems_of(tool) or "ok")
        for tool in lock.read()[0]
    ]


def _types() -> list[tuple[str, ...]]:
    locked = {tool.name: tool for tool in lock.read()[0]}
    rows: list[tuple[str, ...]] = []
    for target in routes.targets().values():
        needs = [locked.get(name) or lock.LockedTool(name, "", "optional") for name in routes.needs(target)]
        lacking = [tool for tool in needs if lock.installed(tool.name) is None]
        with_ = ", ".join(f"{t.name} {lock.installed(t.name)}" for t in needs if t not in lacking)
        verdict = "; ".join(f"no: {t.name} {_missing(t)}" for t in lacking) or "yes"
        rows.append((target.name, verdict, with_))
    return rows


def _plugins() -> list[str]:
    """What other packages bring, and what of it is left out and why; nothing when there is none."""
    rows = [("package", "here", "brings")]
    rows += [(name, lock.installed(name) or "-", ", ".join(brings)) for name, brings in registry.packages().items()]
    left = "\n".join(map(str, registry.problems()))
    return [*([table(rows)] if len(rows) > 1 else []), *([left] if left else [])]


def report(name: str, *, as_json: bool) -> str:
    """The report `targets` or `doctor`, as text or as JSON."""
    text, data = {"targets": (targets, targets_as_data), "doctor": (doctor, doctor_as_data)}[name]
    return output.as_json(data()) if as_json else text()


def answered(parsed: argparse.Namespace) -> bool:
    """Deal with the options that lower nothing."""
    if getattr(parsed, "help_shown", False):
        return True
    asked = [name for name in ("targets", "doctor") if getattr(parsed, name)]
    as_json: bool = getattr(parsed, "json", False)  # magics have no such option
    if as_json and len(asked) > 1:
        raise UsageError("--json prints one of --targets and --doctor: leave one of them out")
    for name in asked:
        print(report(name, as_json=as_json))
    return bool(asked)
