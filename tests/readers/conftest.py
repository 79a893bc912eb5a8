"""What tests of readers share."""

from __future__ import annotations

import pytest


@pytest.fixture
def shell():
    from IPython.terminal.interactiveshell import TerminalInteractiveShell

    from irwidget.magic import LowerMagics

    made = TerminalInteractiveShell.instance()
    made.register_magics(LowerMagics)
    yield made
    TerminalInteractiveShell.clear_instance()
