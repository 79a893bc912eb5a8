"""What all views share: where their code comes from, their twins, how they close, and which one a cell shows."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any, ClassVar, TypeVar, cast

import anywidget
import traitlets
from ipywidgets import DOMWidget, VBox

from irwidget.errors import UsageError
from irwidget.views.bundle import bundle, static


class Shown(DOMWidget):
    """A widget with twins, which are seen where no widget can be; closed, it leaves nothing behind."""

    def twins(self) -> tuple[str, str]:
        """What is seen as HTML, and as text."""
        raise NotImplementedError

    def close(self) -> None:
        """Take the view off the page."""
        layout = cast(Any, self.layout)  # pyright: ignore[reportUnknownMemberType]
        super().close()
        if layout is not None:
            layout.close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        html, text = self.twins()
        plain = {"text/html": html, "text/plain": text}
        shown: Any = super()._repr_mimebundle_(**kwargs)
        if isinstance(shown, tuple):
            found = cast("tuple[dict[str, Any], dict[str, Any]]", shown)
            return {**found[0], **plain}, found[1]
        return {**(shown or {}), **plain}


class View(Shown, anywidget.AnyWidget):
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

    def twins(self) -> tuple[str, str]:
        twins = [child.twins() for child in self.children]
        return "\n".join(html for html, _ in twins), "\n\n".join(text for _, text in twins)

    def close(self) -> None:
        """Take the views off the page and let go of what they show."""
        for child in self.children:
            child.close()
        super().close()


_shown: dict[str, Shown] = {}
_AnyShown = TypeVar("_AnyShown", bound=Shown)


def replace(key: str | None, made: _AnyShown) -> _AnyShown:
    """Note that the cell `key` shows this view, and close the one that it showed before.

    So running a cell again and again does not pile up dumps in the kernel and the browser.
    """
    if key is not None:
        if (before := _shown.pop(key, None)) is not None:
            before.close()
        _shown[key] = made
    return made


def packed(data: Any) -> bytes:
    """JSON, gzipped: equal for equal data. What was not UTF-8 in a text is sent as its escape."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return gzip.compress(text.encode("utf-8", "backslashreplace"), 6, mtime=0)
