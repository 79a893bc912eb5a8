"""What the JavaScript build left in irwidget/static, sent to the browser once per kernel."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
import time
from functools import cache
from importlib.resources import files
from pathlib import Path

import anywidget
import traitlets

_STATIC = Path(str(files("irwidget") / "static"))
_LOOK = 0.3
"""Seconds between two looks at a file that is followed."""


@cache
def static(name: str) -> str:
    """A file that the JavaScript build left in irwidget/static."""
    return (_STATIC / name).read_text(encoding="utf-8")


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
    """The bundle of this kernel; a new one when somebody has closed it.

    With `ANYWIDGET_HMR=1` in the environment (see CONTRIBUTING.md) it follows the file that it was made of.
    """
    if name not in _bundles or _bundles[name].comm is None:
        _bundles[name] = made = Bundle(**_state(name))
        if os.environ.get("ANYWIDGET_HMR") == "1":
            threading.Thread(target=_follow, args=(name, made), daemon=True).start()
    return _bundles[name]


def _state(name: str) -> dict[str, bytes | str]:
    code = packed(name)
    return {"code": code, "version": hashlib.sha256(code).hexdigest()[:16]}


def _follow(name: str, made: Bundle) -> None:
    """Give a bundle the new code whenever its file has changed, and has been left alone since the last look."""
    file = _STATIC / f"{name}.js"
    shown = seen = file.stat().st_mtime_ns
    while made.comm is not None:
        time.sleep(_LOOK)
        now = file.stat().st_mtime_ns
        if now == seen != shown:
            static.cache_clear()
            packed.cache_clear()
            with made.hold_sync():
                for trait, value in _state(name).items():
                    made.set_trait(trait, value)
            shown = now
        seen = now
