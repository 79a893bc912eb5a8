"""What CPython itself does not document."""

from __future__ import annotations

import _imp


def give_back_import_lock() -> None:
    """Give back the lock of Python's imports, which an import that Ctrl-C ended on this thread may have kept.

    Python takes it for an instant only, and not while it runs a module: who has it and is not importing lost it for
    good.
    """
    while _imp.lock_held():
        try:
            _imp.release_lock()
        except RuntimeError:
            return  # another thread's
