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
        taken = share(group, wanted, options)
        made = registry.frontends.find(front_end, "front end").plan(group, taken, route)
        planned.update({target.name: target for target in made})
    return [planned[name] for name in names]


def check_names(wanted: Sequence[Target], given: Mapping[str, Any], common: Sequence[str]) -> None:
    """Raise UsageError for an option that none of the targets has; `common` are those of every lowering."""
    for target in wanted:
        if taken := sorted(_names([target]) & {*common, "to"}):
            owner = registry.targets.owner(target.name)
            raise UsageError(f"{target.name} of {owner} has an option {taken[0]!r}, which every lowering has")
    unknown = sorted(set(given) - set(share(wanted, wanted, given)))
    if unknown:
        names = [target.name for target in wanted]
        hint = near(unknown[0], [*common, "to", *sorted(_names(wanted))])
        raise UsageError(f"lower(to={names[0] if len(names) == 1 else names!r}) has no option {unknown[0]!r}. {hint}")


def share(group: Sequence[Target], wanted: Sequence[Target], given: Mapping[str, Any]) -> dict[str, Any]:
    """Of the options of a lowering to all that is wanted, by name, those that one of a group of its targets takes.

    One that takes more options than it names gets those that no other target has by name.
    """
    mine = _names(group)
    theirs = _names(wanted) - mine
    more = any(target.more_options for target in group)
    return {name: value for name, value in given.items() if name in mine or (more and name not in theirs)}


def _names(wanted: Sequence[Target]) -> set[str]:
    return {name for target in wanted for name in registry.described(target.options)}


def needs(target: Target) -> list[str]:
    """The Python packages that an IR type needs: its front end's, its tools', and its own."""
    front_end: Any = registry.frontends.find(target.front_end, "front end")
    tools = (registry.tools.get(step.tool) for step in target.steps)
    found = (*front_end.packages, *(tool.package for tool in tools if tool), *target.needs)
    return [name for name in dict.fromkeys(found) if name]
