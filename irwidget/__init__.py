"""irwidget: every pass of an ML compiler's lowering, as a diff, in Jupyter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from irwidget.errors import (
    ExportError,
    IRWidgetError,
    LoweringInterrupted,
    PassError,
    ToolError,
    UnsupportedError,
    UsageError,
)
from irwidget.version import VERSION

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from irwidget.bisecting import bisect
    from irwidget.editor.widget import Pipeline
    from irwidget.experiments.comparison import compare
    from irwidget.frontends.pairing import explore
    from irwidget.journal import recent
    from irwidget.opened import open
    from irwidget.reduction import reduce
    from irwidget.result import Lowering
    from irwidget.routes import targets
    from irwidget.saved import load, load_all
    from irwidget.signatures import lower
    from irwidget.sweeps.driver import sweep

__version__ = VERSION

_LAZY = {
    "Lowering": "irwidget.result",
    "Pipeline": "irwidget.editor.widget",
    "bisect": "irwidget.bisecting",
    "compare": "irwidget.experiments.comparison",
    "explore": "irwidget.frontends.pairing",
    "load": "irwidget.saved",
    "load_all": "irwidget.saved",
    "lower": "irwidget.lowering",
    "open": "irwidget.opened",
    "recent": "irwidget.journal",
    "reduce": "irwidget.reduction",
    "sweep": "irwidget.sweeps.driver",
    "targets": "irwidget.routes",
}


def __getattr__(name: str) -> Any:
    """Public names are loaded when they are first used, so that `import irwidget` is quick."""
    import importlib

    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
        globals()[name] = value
        return value
    if name in ("helion", "layouts", "spyre", "views"):
        return importlib.import_module(f"irwidget.{name}")
    raise AttributeError(f"module 'irwidget' has no attribute {name!r}")


def load_ipython_extension(shell: InteractiveShell) -> None:
    """`%load_ext irwidget`: registers `%%lower` and `%lower`; starts the worker and the import of PyTorch."""
    from irwidget.magic import load

    load(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """`%unload_ext irwidget`: ends the worker, and the import after the module that it is at."""
    from irwidget.magic import unload

    unload(shell)


__all__ = [
    "ExportError",
    "IRWidgetError",
    "Lowering",
    "LoweringInterrupted",
    "PassError",
    "Pipeline",
    "ToolError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "bisect",
    "compare",
    "explore",
    "load",
    "load_all",
    "load_ipython_extension",
    "lower",
    "open",
    "recent",
    "reduce",
    "sweep",
    "targets",
    "unload_ipython_extension",
]
