"""What the analysis of one-shot-bufferize found, as data for the browser."""

from __future__ import annotations

from irwidget import bufferization
from irwidget.views.schema import bufferization as schema


def said(found: bufferization.Bufferization) -> schema.Bufferization:
    """Operands with buffers of their own, each with its conflicts, and what nothing may write into."""
    return {
        "own": [
            {
                "operand": _place(one.operand),
                "conflicts": [_conflict(conflict) for conflict in one.conflicts],
                "related": [_conflict(conflict) for conflict in one.related],
            }
            for one in found.own
        ],
        "not_writable": [_place(place) for place in found.not_writable],
    }


def _conflict(one: bufferization.BufferConflict) -> schema.BufferConflict:
    return {"definition": _place(one.definition), "write": _place(one.write), "read": _place(one.read)}


def _place(place: bufferization.Place) -> schema.BufferPlace:
    where = place.location
    return {
        "line": place.line,
        "said": str(place),
        "user": where.file if where else "",
        "place": where.line if where else 0,
    }
