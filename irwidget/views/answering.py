"""Answers to what a page asks of a view, made on threads of their own, so that the kernel stays free."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from irwidget.errors import IRWidgetError


def answer(view: Any, number: int, do: Callable[[], bytes | None]) -> None:
    """Do what the message with this number asks for; the page gets what was made, or what is wrong."""
    threading.Thread(target=_do, args=(view, number, do), daemon=True).start()


def _do(view: Any, number: int, do: Callable[[], bytes | None]) -> None:
    try:
        made = do()
    except IRWidgetError as error:
        view.send({"id": number, "error": str(error)})
    except Exception as error:  # a defect of ours must not leave the page without an answer
        view.send({"id": number, "error": f"{type(error).__name__}: {error}"})
    else:
        view.send({"id": number}, [made] if made else None)
