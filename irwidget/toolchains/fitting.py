"""Whether irwidget works with the releases that a process has: asked before anything is lowered."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from importlib import metadata

from irwidget.errors import UnsupportedError
from irwidget.toolchain import triton_private

_LLVMLITE = (
    "create_pass_builder",
    "create_pipeline_tuning_options",
    "create_new_module_pass_manager",
    "create_lljit_compiler",
    "JITLibraryBuilder",
    "parse_assembly",
)


def _llvmlite() -> list[str]:
    binding = importlib.import_module("llvmlite.binding")
    return [f"llvmlite.binding.{name}" for name in _LLVMLITE if not hasattr(binding, name)]


_MISSING: Mapping[str, tuple[str, Callable[[], list[str]]]] = {
    "triton": ("3.4 to 3.9", triton_private.missing),
    "llvmlite": ("0.44 to 0.50", _llvmlite),
}
"""By package: the releases that are known to work, and what an installed one lacks."""


def oldest(package: str) -> str:
    """The oldest release that irwidget is known to work with; `0` where nothing is known."""
    works, _ = _MISSING.get(package, ("0", list))
    return works.partition(" ")[0]


def require(packages: Iterable[str]) -> None:
    """Raises UnsupportedError for a release that does not import here, or that lacks what irwidget calls."""
    for name in packages:
        if name in _MISSING:
            _require(name)


def _require(package: str) -> None:
    version = metadata.version(package)
    works, missing = _MISSING.get(package, ("", list))
    said = f"; irwidget works with {package} {works}" if works else ""
    try:
        importlib.import_module(package.replace("-", "_"))
        lacking = missing()
    except ModuleNotFoundError as error:
        of_its_own = str(error.name).partition(".")[0] == package.replace("-", "_")
        reason = f"has no {error.name}" if of_its_own else f"imports {error.name}, which is not installed"
        raise UnsupportedError(f"{package} {version} {reason}{said}") from None
    except Exception as error:
        raise UnsupportedError(
            f"{package} {version} cannot be imported: {type(error).__name__}: {error}{said}"
        ) from None
    if lacking:
        raise UnsupportedError(f"{package} {version} has no {', '.join(lacking[:5])}{said}")
