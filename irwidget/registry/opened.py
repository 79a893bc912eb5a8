"""Importing this opens every door: what comes in by them is there, imported whole, before a magic looks for it."""

from irwidget.registry import doors

for _door in (doors.frontends, doors.targets, doors.tools, doors.views, doors.readers):
    _door.all()
