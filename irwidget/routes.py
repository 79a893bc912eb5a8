"""The table of IR types: what each starts from and the steps that lead to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from irwidget import registry
from irwidget.errors import UsageError, near
from irwidget.registry import Target

__all__ = ["Target", "find", "needs", "resolve", "targets"]


def targets() -> dict[str, Target]:
    """Every IR type by name, in the order of a lowering; then those of other packages."""
    return dict(registry.targets.all())


def find(name: str) -> Target:
    """The target of that name. Raises UsageError with the near matches."""
    return registry.targets.find(name, "IR type")


def resolve(names: Sequence[str], route: str = "robust", options: Mapping[str, Any] | None = None) -> list[Target]:
    """The targets of these names, with the steps that the route and the options of the targets ask for.

    Raises UsageError before anything has run.
    """
    options = options or {}
    wanted = [find(name) for name in names]
    planned: dict[str, Target] = {}
    for front_end in dict.fromkeys(target.front_end for target in wanted):
        group = [target for target in wanted if target.front_end == front_end]
        made = registry.frontends.find(front_end, "front end").plan(group, options, route)
        planned.update({target.name: target for target in made})
    return [planned[name] for name in names]


def check_names(wanted: Sequence[Target], given: Mapping[str, Any], common: Sequence[str]) -> None:
    """Raise UsageError for an option that one of the targets does not have; `common` are those of every lowering."""
    for target in wanted:
        known = registry.described(target.options)
        if taken := sorted(set(known) & {*common, "to"}):
            owner = registry.targets.owner(target.name)
            raise UsageError(f"{target.name} of {owner} has an option {taken[0]!r}, which every lowering has")
        unknown = sorted(set(given) - set(known))
        if unknown and not target.more_options:
            hint = near(unknown[0], [*common, "to", *known])
            raise UsageError(f"lower(to={target.name!r}) has no option {unknown[0]!r}. {hint}")


def needs(target: Target) -> list[str]:
    """The Python packages that an IR type needs: its front end's, its tools', and its own."""
    front_end: Any = registry.frontends.find(target.front_end, "front end")
    tools = (registry.tools.get(step.tool) for step in target.steps)
    found = (*front_end.packages, *(tool.package for tool in tools if tool), *target.needs)
    return [name for name in dict.fromkeys(found) if name]
