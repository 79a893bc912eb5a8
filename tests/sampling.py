"""Large tables: every run takes a sample of their rows, `--exhaustive` all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def sampled(rows: Iterable[Any], keep: int, name: Callable[[Any], str] = str) -> list[Any]:
    """Rows for `pytest.mark.parametrize`; all but `keep` of them are marked `exhaustive`.

    Which rows stay is decided by a hash of what `name` says of each, so that the sample is the same everywhere, changes
    little when rows are added, and is nobody's choice.
    """
    rows = list(rows)
    kept = sorted(range(len(rows)), key=lambda index: hashlib.sha256(name(rows[index]).encode()).digest())[:keep]
    return [row if index in kept else pytest.param(row, marks=pytest.mark.exhaustive) for index, row in enumerate(rows)]


def one_of(choices: Sequence[str], name: str) -> str:
    """The choice that every run makes for `name`, by a hash of it; the others are left to `--exhaustive`."""
    return choices[hashlib.sha256(name.encode()).digest()[0] % len(choices)]
