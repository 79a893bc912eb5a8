"""What a lowering looks like: in Jupyter, as text, as HTML, and as one offline page. Not imported by `import irwidget`.

Everything here starts from a `Trace`, plain data; nothing knows how it was made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from irwidget.lazy import exported

if TYPE_CHECKING:
    from irwidget.views.fallbacks import html, text
    from irwidget.views.helion import KernelLinks, KernelView
    from irwidget.views.lowerings import show
    from irwidget.views.offline import page
    from irwidget.views.widget import PassDiff

__all__ = ["KernelLinks", "KernelView", "PassDiff", "html", "page", "show", "text"]

__getattr__ = exported(
    __name__,
    {
        "KernelLinks": "helion",
        "KernelView": "helion",
        "PassDiff": "widget",
        "show": "lowerings",
        "page": "offline",
        "html": "fallbacks",
        "text": "fallbacks",
    },
)
"""The Pygments lexers live here, too, and must not pull in the widgets."""
