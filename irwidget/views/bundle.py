"""What the JavaScript build left in irwidget/static, sent to the browser once per kernel."""

from __future__ import annotations

import gzip
import hashlib
from functools import cache
from importlib.resources import files

import anywidget
import traitlets


@cache
def static(name: str) -> str:
    """A file that the JavaScript build left in irwidget/static."""
    return (files("irwidget") / "static" / name).read_text(encoding="utf-8")


@cache
def packed(name: str) -> bytes:
    """The code of a view, gzipped: `viewer` for viewer.js."""
    return gzip.compress(static(f"{name}.js").encode(), mtime=0)


class Bundle(anywidget.AnyWidget):
    """The code of a view, once per kernel; views refer to it."""

    _esm = "export default {}"
    code = traitlets.Bytes().tag(sync=True)
    version = traitlets.Unicode().tag(sync=True)


_bundles: dict[str, Bundle] = {}


def bundle(name: str) -> Bundle:
    """The bundle of this kernel; a new one when somebody has closed it."""
    if name not in _bundles or _bundles[name].comm is None:
        code = packed(name)
        _bundles[name] = Bundle(code=code, version=hashlib.sha256(code).hexdigest()[:16])
    return _bundles[name]
