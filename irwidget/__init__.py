"""irwidget: every pass of an ML compiler's lowering, as a diff, in Jupyter."""

from irwidget.errors import (
    ExportError,
    IRWidgetError,
    LoweringInterrupted,
    PassError,
    ToolError,
    UnsupportedError,
    UsageError,
)

__version__ = "0.1.0"

__all__ = [
    "ExportError",
    "IRWidgetError",
    "LoweringInterrupted",
    "PassError",
    "ToolError",
    "UnsupportedError",
    "UsageError",
    "__version__",
]
