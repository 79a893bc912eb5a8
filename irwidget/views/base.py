"""What all views share: where their code comes from, their fallbacks, how they close, and which one a cell shows."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar, cast

import anywidget
import traitlets
from ipywidgets import DOMWidget, VBox

from irwidget import display
from irwidget.errors import UsageError
from irwidget.views.bundle import bundle, static

SAVED = "application/vnd.irwidget+json"
"""The type of what a notebook keeps of a view, so that it comes back without a kernel; js/src/lab.ts draws it."""
MOST_SAVED = 2_000_000
"""Bytes that a notebook keeps of a view, before they are coded as text; of more, only the fallbacks."""


class Omitted(Exception):
    """A notebook keeps no more than the fallbacks of a view; the message says why."""


class Shown(DOMWidget):
    """A widget with fallbacks, which are seen where no widget can be; closed, it leaves nothing behind."""

    def fallbacks(self) -> tuple[str, str]:
        """What is seen as HTML, and as text. Every view has them."""
        raise TypeError(f"{type(self).__name__} has no fallbacks")  # IPython is silent about a NotImplementedError

    def saved(self) -> list[dict[str, Any]]:
        """What a notebook keeps: for each view the `bundle` that draws it, its `state`, and `data` as bytes.

        Raises Omitted where that is too much, or not possible.
        """
        raise Omitted("This view is not kept in the notebook")

    def follow(self, before: Shown) -> None:
        """Take over what the reader has chosen in the view that the cell showed before."""

    def close(self) -> None:
        """Take the view off the page."""
        layout = cast(Any, self.layout)  # pyright: ignore[reportUnknownMemberType]
        super().close()
        if layout is not None:
            layout.close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        html, text = self.fallbacks()
        plain = {"text/html": html, "text/plain": text, SAVED: _kept(self)}
        shown: Any = super()._repr_mimebundle_(**kwargs)
        if isinstance(shown, tuple):
            found = cast("tuple[dict[str, Any], dict[str, Any]]", shown)
            return {**found[0], **plain}, found[1]
        return {**(shown or {}), **plain}


class BundledView(Shown, anywidget.AnyWidget):
    """A view whose code is a bundle of its own."""

    _esm = traitlets.Unicode().tag(sync=True)
    _code: ClassVar[str]
    """The name of the bundle."""

    bundle = anywidget.WidgetTrait().tag(sync=True)

    def __init__(self, **state: Any) -> None:
        if unknown := state.keys() - set(self.trait_names(sync=True)):
            raise UsageError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}.")
        super().__init__(_esm=static("stub.js"), bundle=bundle(self._code), **state)


class Stack(Shown, VBox):
    """Views one above the other."""

    children: Sequence[Shown]

    def fallbacks(self) -> tuple[str, str]:
        fallbacks = [child.fallbacks() for child in self.children]
        return "\n".join(html for html, _ in fallbacks), "\n\n".join(text for _, text in fallbacks)

    def saved(self) -> list[dict[str, Any]]:
        return [one for child in self.children for one in child.saved()]

    def follow(self, before: Shown) -> None:
        if isinstance(before, Stack) and len(before.children) == len(self.children):
            for child, old in zip(self.children, before.children, strict=True):
                child.follow(old)

    def close(self) -> None:
        """Take the views off the page and let go of what they show."""
        for child in self.children:
            child.close()
        super().close()


def _kept(shown: Shown) -> dict[str, Any]:
    """What the notebook keeps of a view. Of what is executed where nobody looks on, it is the fallbacks only."""
    if display.cell_id() is None:
        return {"omitted": "The cell was executed without a page"}
    try:
        views = shown.saved()
    except Omitted as why:
        return {"omitted": str(why)}
    if (size := sum(len(view["data"]) + len(json.dumps(view["state"])) for view in views)) > MOST_SAVED:
        return {"omitted": f"The notebook keeps views of up to {MOST_SAVED / 1e6:.0f} MB; this has {size / 1e6:.1f} MB"}
    return {"views": [{**view, "data": base64.b64encode(view["data"]).decode()} for view in views]}


_shown: dict[str, Shown] = {}
_AnyShown = TypeVar("_AnyShown", bound=Shown)


def replace(key: str | None, made: _AnyShown) -> _AnyShown:
    """Note that the cell `key` shows this view, and close the one that it showed before.

    So running a cell again and again does not pile up dumps in the kernel and the browser.
    """
    if key is not None:
        if (before := _shown.pop(key, None)) is not None:
            made.follow(before)
            before.close()
        _shown[key] = made
    return made


def packed(data: Any) -> bytes:
    """JSON, gzipped: equal for equal data. What was not UTF-8 in a text is sent as its escape."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)
