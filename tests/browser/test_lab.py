"""The view in JupyterLab, in a real browser, with the network blocked."""

from __future__ import annotations

import pytest
from conftest import SHOW


@pytest.fixture(scope="module")
def notebook(open_notebook):
    opened = open_notebook(SHOW + "w = views.show([lower()], key='a'); w", "x = 1")
    opened.run_all()
    return opened


def test_a_lowering_is_shown_as_a_diff_of_the_last_change(notebook):
    view = notebook.viewer()
    assert view.locator(".irw-title").all_inner_texts()[1].startswith("20\ncse (3)")
    assert "change" in view.locator(".irw-status").inner_text()
    assert view.locator(".irw-pane .cm-line.irw-gone").count() > 0
