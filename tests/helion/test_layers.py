"""Modules of irwidget.helion import one another one way down, also inside functions and for the type checker."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

from irwidget import helion

ROOT = Path(helion.__file__).parent
MODULES = {path.stem for path in ROOT.glob("*.py")} - {"__init__"}


def imported(path: Path) -> set[str]:
    """Every module of irwidget that a file imports anywhere, by its full name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("irwidget"):
            found |= {node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def test_no_module_imports_one_that_imports_it():
    graph = {
        name: {module for module in MODULES - {name} if f"irwidget.helion.{module}" in imported(ROOT / f"{name}.py")}
        for name in MODULES
    }
    order = list(TopologicalSorter(graph).static_order())
    assert order.index("builder") < order.index("emitter") < order.index("memory") < order.index("lowering")
