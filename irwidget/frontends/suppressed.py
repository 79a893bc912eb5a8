"""Keep torch's own chatter out of a cell: our errors say the same, shorter."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import warnings
from collections.abc import Generator

_GRAPH = "\n\ndef forward(self, arg"
"""How torch.export begins the graph that it prints beside a data-dependent error."""


@contextlib.contextmanager
def suppressed_output() -> Generator[None]:
    """Hold back torch's log lines, deprecation warnings and printed graphs; what user code prints is kept."""
    handlers = [handler for logger in _torch_loggers() for handler in logger.handlers]
    captured = io.StringIO()
    for handler in handlers:
        handler.addFilter(_nothing)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(captured):
            warnings.filterwarnings("ignore", message=r".*treespec", category=FutureWarning)
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(_nothing)
        sys.stderr.write(captured.getvalue().split(_GRAPH, 1)[0].rstrip("\n"))


def _torch_loggers() -> list[logging.Logger]:
    """Torch gives many of its loggers a handler of their own."""
    known = logging.root.manager.loggerDict
    return [logging.getLogger(name) for name in list(known) if name.split(".")[0] == "torch"]


def _nothing(record: logging.LogRecord) -> bool:
    return False
