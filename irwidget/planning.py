"""What a lowering is asked for, checked as far as can be before there is an object: IR types, options, pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget import options as options_of
from irwidget import pipelines, routes
from irwidget.options import LowerOptions
from irwidget.trace import Step


def planned(
    to: str | Sequence[str], given: LowerOptions, target_options: Mapping[str, Any]
) -> tuple[list[routes.Target], tuple[Step, ...]]:
    """The IR types and the steps of the custom pipeline, checked as far as can be without the object.

    Raises UsageError, and ToolError for a program that is not there.
    """
    names = options_of.targets(to, routes.targets())
    routes.check_names([routes.find(name) for name in names], target_options, options_of.NAMES)
    wanted = routes.resolve(names, given.route, target_options)
    steps = pipelines.parse(given.pipeline) if given.pipeline else ()
    extra = tuple(replace(step, program=given.external) for step in steps)
    if given.toolchain:
        return wanted, extra  # what its tools take, they say
    pipelines.check(extra, given.run(target_options))
    if len(wanted) == 1:  # of several, those that the pipeline fits are lowered
        pipelines.check_flow(extra, wanted[0].name, wanted[0].language)
    return wanted, extra
