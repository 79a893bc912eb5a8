"""The core of irwidget in parts, each with the tests that guard it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    """Files, and the tests that should notice a change of them."""

    globs: tuple[str, ...]
    tests: tuple[str, ...]

    def files(self, root: Path) -> Iterator[Path]:
        for glob in self.globs:
            yield from sorted(root.glob(glob))


PARTS: Mapping[str, Part] = {
    "trace": Part(("irwidget/trace/*.py",), ("tests/core/test_trace.py", "tests/core/test_renaming.py", "tests/views")),
    "views": Part(("irwidget/views/packing.py", "irwidget/views/fallbacks.py"), ("tests/views",)),
    "queries": Part(
        tuple(f"irwidget/queries/{name}.py" for name in ("bounds", "history", "questions")),
        ("tests/queries/test_questions.py",),
    ),
    "pipelines": Part(
        ("irwidget/pipelines.py", "irwidget/editor/chain.py", "irwidget/editor/outcome.py"),
        ("tests/core/test_trace.py", "tests/core/test_pipelines.py", "tests/editor"),
    ),
    "judge": Part(("irwidget/checking/judge.py",), ("tests/core/test_checking.py",)),
    "texts": Part(
        ("irwidget/toolchain/parsing.py", "irwidget/toolchain/language.py", "irwidget/toolchain/locations.py"),
        ("tests/core/test_parsing.py", "tests/core/test_mlir.py", "tests/core/test_lower.py"),
    ),
    "spyre": Part(
        tuple(f"irwidget/spyre/{name}.py" for name in ("division", "scratchpad", "superdsc", "layout", "tiling")),
        ("tests/spyre/test_table.py", "tests/spyre/test_division.py", "tests/spyre/test_tiling.py"),
    ),
}
