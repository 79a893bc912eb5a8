"""What irwidget can do, as registered objects: front ends, IR types, tools and views, each with typed options.

What irwidget brings and what other packages add come in the same way, by entry points (docs/extending.md). Nothing is
imported before somebody asks for it.
"""

from irwidget.registry.doors import (
    BUILT_IN,
    Door,
    Problem,
    frontends,
    packages,
    problems,
    readers,
    targets,
    tools,
    views,
)
from irwidget.registry.fields import NoOptions, Option, check, described, option
from irwidget.registry.kinds import Program, Target, Tool, View, imported

__all__ = [
    "BUILT_IN",
    "Door",
    "NoOptions",
    "Option",
    "Problem",
    "Program",
    "Target",
    "Tool",
    "View",
    "check",
    "described",
    "frontends",
    "imported",
    "option",
    "packages",
    "problems",
    "readers",
    "targets",
    "tools",
    "views",
]
