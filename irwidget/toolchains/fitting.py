"""Whether irwidget works with the releases that a process has: asked before anything is lowered."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from irwidget import private_torch_mlir
from irwidget.errors import UnsupportedError
from irwidget.toolchain import locations, lock, triton_private
from irwidget.toolchains.spec import normal

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
    "torch-mlir": ("", private_torch_mlir.missing),
}
"""By package: the releases that are known to work, and what an installed one lacks."""


def oldest(package: str) -> str:
    """The oldest release that irwidget is known to work with; `0` where nothing is known."""
    works, _ = _MISSING.get(package, ("", list))
    return works.partition(" ")[0] or "0"


def require(packages: Iterable[str]) -> None:
    """Raises UnsupportedError for a release that does not import here, or that lacks what irwidget calls."""
    for name in map(normal, packages):
        if name in _MISSING:
            _require(name)


def _require(package: str) -> None:
    version = lock.installed(package) or ""
    works, missing = _MISSING.get(package, ("", list))
    said = f"; irwidget works with {package} {works}" if works else ""
    try:
        module = importlib.import_module(package.replace("-", "_"))
        _check_place(f"{package} {version}", tuple(module.__path__))
        lacking = missing()
    except UnsupportedError:
        raise
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


def _check_place(package: str, found: tuple[str, ...]) -> None:
    """Raises UnsupportedError where what is imported is not what the toolchain of this process has."""
    folders = locations.toolchain_folders()
    if folders and not any(Path(place).is_relative_to(folder) for place in found for folder in folders):
        raise UnsupportedError(
            f"{package} is not in {', '.join(folders)}: Python imports what is in {', '.join(found)}. Next step: name "
            "the folder that has its packages"
        )
