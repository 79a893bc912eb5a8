"""What axe-core finds wrong with a view, in light, dark and high contrast."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[2] / "js/node_modules/axe-core/axe.min.js"
LOOKS = ("light", "dark", "forced colors")

needs_axe = pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm --prefix js ci")

_RUN = """async (view) => {
  const { violations } = await axe.run(view, { iframes: false, elementRef: true });
  // axe reads -webkit-text-fill-color, in which Chromium does not say what colour it forces.
  const forced = ({ element }) =>
    matchMedia('(forced-colors: active)').matches && getComputedStyle(element).forcedColorAdjust === 'auto';
  return violations.flatMap(({ id, nodes }) => nodes
    .filter((node) => id !== 'color-contrast' || !forced(node))
    .map(({ html, failureSummary }) => [id, html.slice(0, 200), failureSummary]));
}"""


@contextmanager
def looking(page: Any, how: str) -> Generator[None]:
    """The page as somebody sees it who has chosen one of LOOKS in the system."""
    forced = "active" if how == "forced colors" else "none"
    theme = "dark" if how == "dark" else "light"
    page.emulate_media(color_scheme=theme, forced_colors=forced)
    # Views hear of it a frame or more later.
    follows = "theme => [...document.querySelectorAll('.irw')].every(({ dataset }) => dataset.theme === theme)"
    page.wait_for_function(follows, arg=theme)
    try:
        yield
    finally:
        page.emulate_media(color_scheme="light", forced_colors="none")


def violations(page: Any, view: str) -> list[tuple[str, str, str]]:
    """Rule, element and reason of all that axe-core finds below a selector."""
    if not page.evaluate("'axe' in window"):
        # Evaluated, because a notebook's loader of modules would take it for one of its own.
        page.evaluate(AXE.read_text() + ";0")
    return [tuple(one) for one in page.evaluate(_RUN, view)]
