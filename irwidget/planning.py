"""What a lowering is asked for, checked as far as can be before there is an object: IR types, options, pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from irwidget import options as options_of
from irwidget import pipelines, routes
from irwidget.errors import UsageError, near
from irwidget.toolchain.run import Options
from irwidget.trace import Step

TARGET_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "pytorch": ("arch", "O", "kernels", "llvm_passes"),
    "helion": ("aten", "config"),
    "raw": (),
}
"""Options that belong to what is lowered; Triton's launch options and Spyre's are checked by their front ends."""


def planned(
    to: str | Sequence[str],
    pipeline: str | None,
    route: str,
    external: bool,
    target_options: Mapping[str, Any],
    options: Options,
) -> tuple[list[routes.Target], tuple[Step, ...]]:
    """The IR types and the steps of the custom pipeline, checked as far as can be without the object.

    Raises UsageError, and ToolError for a program that is not there.
    """
    wanted = routes.resolve(options_of.targets(to, routes.targets()), route, target_options)
    _check_options(wanted, target_options)
    extra = tuple(replace(step, program=external) for step in pipelines.parse(pipeline)) if pipeline else ()
    pipelines.check(extra, options)
    if len(wanted) == 1 and wanted[0].source != "raw":  # of several, those that the pipeline fits are lowered
        pipelines.check_flow(extra, wanted[0].name, wanted[0].language)
    return wanted, extra


def _check_options(wanted: Sequence[routes.Target], given: Mapping[str, Any]) -> None:
    for target in wanted:
        known = TARGET_OPTIONS.get(target.source)
        if known is not None and (unknown := sorted(set(given) - set(known))):
            everything = [*options_of.RULES, "to", "dynamic_shapes", *known]
            raise UsageError(f"lower(to={target.name!r}) has no option {unknown[0]!r}. {near(unknown[0], everything)}")
