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


_READERS = (
    *("assembling", "banners", "composing", "ending", "grouping", "knowing", "llvm", "log", "loops", "mlir"),
    *("planning", "prefixes", "putting", "stages", "xla"),
)
_FORMATS = (
    *("aliases", "folders", "gcc", "homonyms", "inflating", "jax", "llvm_folder", "log_folder", "numbered", "packed"),
    *("pretty", "repeating", "rustc", "sil", "taichi", "tilelang", "torch_logs", "torchscript", "tree", "worded"),
)
_LLVM = ("llvm", "llvm_debug", "llvm_state", "debug_lines", "triples")
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
    "processes": Part(
        tuple(f"irwidget/toolchain/{name}.py" for name in ("processes", "child", "forked", "scratch")),
        ("tests/core/test_children.py", "tests/core/test_forked.py", "tests/core/test_processes.py"),
    ),
    "workers": Part(
        tuple(f"irwidget/toolchain/{name}.py" for name in ("client", "engine", "worker", "workers")),
        tuple(f"tests/core/test_{name}.py" for name in ("queue", "turns", "streams", "lower", "going_on")),
    ),
    "batch": Part(
        tuple(f"irwidget/frontends/{name}.py" for name in ("batching", "decompositions_batch", "inferring")),
        ("tests/core/test_batch.py",),
    ),
    "waiting": Part(("irwidget/toolchain/streams.py", "irwidget/toolchain/texts.py"), ("tests/core/test_streams.py",)),
    "llvm": Part(
        tuple(f"irwidget/toolchain/{name}.py" for name in _LLVM),
        ("tests/llvm/test_texts.py", "tests/llvm/test_passes.py"),
    ),
    "toolchains": Part(
        ("irwidget/hosted.py", *(f"irwidget/toolchains/{name}.py" for name in ("carry", "inside", "remote"))),
        ("tests/toolchains/test_parcels.py",),
    ),
    "inductor": Part(
        tuple(f"irwidget/inductor/{name}.py" for name in ("guards", "report", "onward", "cells")),
        ("tests/inductor/test_answers.py", "tests/inductor/test_cells.py", "tests/inductor/test_why.py"),
    ),
    "readers": Part(
        tuple(f"irwidget/readers/{name}.py" for name in _READERS),
        tuple(
            f"tests/readers/test_{name}.py"
            for name in ("mlir_texts", "llvm_banners", "places", "open", "xla", "loops", "prefixes", "printed")
        ),
    ),
    "formats": Part(
        tuple(f"irwidget/readers/{name}.py" for name in _FORMATS),
        tuple(
            f"tests/readers/test_{name}.py"
            for name in (
                "aliases",
                "folders",
                "hostile",
                "numbered",
                "pretty",
                "repeating",
                "torch_logs",
                "torchscript",
                "whole_truth",
                "worded",
            )
        ),
    ),
    "refinement": Part(("irwidget/toolchain/refinement.py",), ("tests/core/test_refinement.py",)),
    "spyre": Part(
        tuple(f"irwidget/spyre/{name}.py" for name in ("division", "scratchpad", "superdsc", "layout", "tiling")),
        ("tests/spyre/test_table.py", "tests/spyre/test_division.py", "tests/spyre/test_tiling.py"),
    ),
    "sweeps": Part(
        tuple(f"irwidget/sweeps/{name}.py" for name in ("cells", "comparison", "driver", "result", "store", "stored")),
        ("tests/sweep/test_cells.py", "tests/format/test_sweep.py"),
    ),
}
