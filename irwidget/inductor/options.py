"""Settings of torch._inductor.config as a user writes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from irwidget.errors import UsageError

Patches = Mapping[str, Any]
_SETTING = re.compile(r"\s*([\w.]+)\s*=\s*(.*?)\s*$", re.S)


def patches(given: str | Patches | None) -> dict[str, Any]:
    """`"epilogue_fusion=False, triton.max_tiles=2"` as settings by name. Raises UsageError for what is none."""
    if not given:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    found: dict[str, Any] = {}
    for part in re.split(r",(?![^(\[{]*[)\]}])", given):
        setting = _SETTING.match(part)
        if setting is None:
            raise UsageError(f"patches are settings by name, as in 'epilogue_fusion=False', not {part.strip()!r}")
        try:
            found[setting[1]] = ast.literal_eval(setting[2])
        except (ValueError, SyntaxError):
            found[setting[1]] = setting[2]
    return found


def check_names(given: Patches, config: Any) -> None:
    """Raises UsageError for a setting that torch._inductor.config does not have."""
    from irwidget.errors import near

    known = config.get_config_copy()
    for name in given:
        if name not in known:
            raise UsageError(f"torch._inductor.config has no setting {name!r}. {near(name, known)}")
