"""The doors for front ends, IR types, tools, views and readers: entry points, ours first, then other packages'.

An entry point gives one object or a tuple of them. One that cannot be imported, that gives something else, or that
takes a name which is taken costs only itself; `problems()` says what and why, and so does a warning.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from irwidget.errors import UsageError, near
from irwidget.registry.fields import described
from irwidget.registry.kinds import Target, Tool, View, imported

OWNER = "irwidget"
BUILT_IN: Mapping[str, Mapping[str, str]] = {
    "irwidget.frontends": {
        "torchscript": "irwidget.frontends.torchscript:FRONT_END",
        "pytorch": "irwidget.frontends.pytorch:FRONT_END",
        "triton": "irwidget.frontends.triton.entry:FRONT_END",
        "helion": "irwidget.helion.entry:FRONT_END",
        "spyre": "irwidget.spyre.entry:FRONT_END",
        "inductor": "irwidget.inductor.entry:FRONT_END",
        "raw": "irwidget.frontends.raw:FRONT_END",
    },
    "irwidget.targets": {
        "torchscript": "irwidget.frontends.torchscript:TARGETS",
        "pytorch": "irwidget.frontends.pytorch:TARGETS",
        "triton": "irwidget.frontends.triton.entry:TARGETS",
        "helion": "irwidget.helion.entry:TARGETS",
        "spyre": "irwidget.spyre.entry:TARGETS",
        "inductor": "irwidget.inductor.entry:TARGETS",
        "raw": "irwidget.frontends.raw:TARGETS",
    },
    "irwidget.tools": {
        "toolchain": "irwidget.toolchain.tools:TOOLS",
        "helion": "irwidget.helion.tools:TOOLS",
    },
    "irwidget.views": {
        "sweeps": "irwidget.sweeps.registered:VIEWS",
        "views": "irwidget.views.registered:VIEWS",
    },
    "irwidget.readers": {"readers": "irwidget.readers.registered:READERS"},
}
"""Our own entry points, as pyproject.toml declares them: a checkout that has not been installed again has them, too."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An entry point that gives nothing, and why."""

    group: str
    entry: str
    owner: str
    """The package that declares it."""
    reason: str

    def __str__(self) -> str:
        return f"{self.group}: {self.entry!r} of {self.owner} is left out: {self.reason}"


_Kind = TypeVar("_Kind")
_Answer = TypeVar("_Answer")


class Door(Generic[_Kind]):
    """All objects of one kind by name, imported when they are first asked for."""

    def __init__(self, group: str, wrong: Callable[[Any], str], *, ours_last: bool = False) -> None:
        self.group = group
        self._wrong = wrong
        """Why something cannot come in by this door; empty when it can."""
        self._ours_last = ours_last
        self._lock = threading.RLock()
        self._ours: dict[str, _Kind] = {}
        self._all: dict[str, _Kind] | None = None
        self._owners: dict[str, str] = {}
        self.problems: list[Problem] = []

    def __iter__(self) -> Iterator[_Kind]:
        return iter(self.all().values())

    def all(self) -> Mapping[str, _Kind]:
        """Every object by name: ours in their order, then other packages' (of views and readers: before ours)."""
        with self._lock:
            if self._all is None:
                ours = self._built_in()
                others = self._taken((entry.name, owner, entry.value) for entry, owner in _declared(self.group))
                self._all = {**others, **ours} if self._ours_last else {**ours, **others}
            return self._all

    def get(self, name: str) -> _Kind | None:
        """The object of that name. For one of ours nothing else is looked at."""
        with self._lock:
            return self._built_in().get(name) or self.all().get(name)

    def find(self, name: str, what: str) -> _Kind:
        """The object of that name. Raises UsageError, which calls it `what`, with the near matches."""
        found = self.get(name)
        if found is None:
            told = {known: str(getattr(one, "summary", "")) for known, one in self.all().items()}
            raise UsageError(f"Unknown {what} {name!r}. {near(name, told, told)}")
        return found

    def owner(self, name: str) -> str:
        """The package that an object comes from."""
        self.all()
        return self._owners.get(name, "a package that is tried out")

    def ask(self, one: _Kind, question: Callable[[_Kind], _Answer], otherwise: _Answer) -> _Answer:
        """What an object answers. One of another package that fails costs only itself: a warning names it."""
        try:
            return question(one)
        except Exception as error:
            name: str = getattr(one, "name")  # noqa: B009
            owner = self.owner(name)
            if owner == OWNER:
                raise
            said = f"{self.group}: {name!r} of {owner} is not asked: {type(error).__name__}: {error}"
            warnings.warn(said, RuntimeWarning, stacklevel=2)
            return otherwise

    @contextlib.contextmanager
    def trying(self, *objects: _Kind) -> Generator[None]:
        """These objects, too, while the context lasts: for trying one out before it is in a package.

        What has the name of one of ours is not taken.
        """
        before = dict(self.all())
        added: dict[str, _Kind] = {getattr(one, "name"): one for one in objects}  # noqa: B009
        self._all = {**added, **before} if self._ours_last else {**before, **added}
        try:
            yield
        finally:
            self._all = before

    def _built_in(self) -> Mapping[str, _Kind]:
        if not self._ours:
            self._ours = self._taken((name, OWNER, value) for name, value in BUILT_IN[self.group].items())
        return self._ours

    def _taken(self, entries: Iterable[tuple[str, str, str]]) -> dict[str, _Kind]:
        """What entry points give: all, or, where Ctrl-C comes in between, nothing that the next one would trip over."""
        found, owners, problems = dict[str, _Kind](), dict(self._owners), list(self.problems)
        try:
            for entry, owner, value in entries:
                self._take(found, entry, owner, value)
        except BaseException:
            self._owners, self.problems = owners, problems
            raise
        return found

    def _take(self, found: dict[str, _Kind], entry: str, owner: str, value: str) -> None:
        """Add what an entry point gives."""
        try:
            given: Any = imported(value)
            objects: list[Any] = list(given) if isinstance(given, tuple | list) else [given]
        except (Exception, SystemExit) as error:  # whatever another package's module does
            self._refuse(entry, owner, f"{value} cannot be imported ({type(error).__name__}: {error})")
            return
        for one in objects:
            name: str = getattr(one, "name", "")
            if reason := self._wrong(one):
                self._refuse(entry, owner, f"{value} {reason}")
            elif name in self._owners:
                self._refuse(entry, owner, f"{owner} brings {name!r}, which {self._owners[name]} has already")
            else:
                found[name] = one
                self._owners[name] = owner

    def _refuse(self, entry: str, owner: str, reason: str) -> None:
        problem = Problem(self.group, entry, owner, reason)
        self.problems.append(problem)
        warnings.warn(str(problem), RuntimeWarning, stacklevel=2)


def _declared(group: str) -> list[tuple[Any, str]]:
    """The entry points of other packages, with the name of each package, in an order that is always the same."""
    from importlib import metadata

    found: list[tuple[Any, str]] = []
    for entry in metadata.entry_points(group=group):
        owner = entry.dist.name if entry.dist else "a package without a name"
        if owner != OWNER:
            found.append((entry, owner))
    return sorted(found, key=lambda one: (one[1], one[0].name))


def _instance_of(kind: type) -> Callable[[Any], str]:
    def wrong(one: Any) -> str:
        if not isinstance(one, kind):
            return f"gives a {type(one).__name__}, not a {kind.__name__}"
        options = getattr(one, "options", None)
        return _wrong_options(options) if options is not None else ""

    return wrong


def _wrong_options(options: Any) -> str:
    """Why a class cannot hold options; empty when it can."""
    if not (dataclasses.is_dataclass(options) and getattr(options, "__dataclass_params__").frozen):  # noqa: B009
        return f"has options that are no frozen dataclass: {options!r}"
    try:
        described(options)  # pyright: ignore[reportArgumentType]
    except Exception as error:  # a type that is not there when it runs
        return f"has options whose types cannot be read ({type(error).__name__}: {error})"
    return ""


def _named_with(*methods: str) -> Callable[[Any], str]:
    """What a front end or a reader must have; their classes are further up."""

    def wrong(one: Any) -> str:
        lacking = [method for method in ("name", *methods) if not getattr(one, method, None)]
        return f"gives a {type(one).__name__} without {', '.join(lacking)}" if lacking else ""

    return wrong


frontends: Door[Any] = Door("irwidget.frontends", _named_with("recognises", "begin", "plan"))
targets: Door[Target] = Door("irwidget.targets", _instance_of(Target))
tools: Door[Tool] = Door("irwidget.tools", _instance_of(Tool))
views: Door[View] = Door("irwidget.views", _instance_of(View), ours_last=True)
readers: Door[Any] = Door("irwidget.readers", _named_with("recognises", "read"), ours_last=True)

DOORS: tuple[Door[Any], ...] = (frontends, targets, tools, views, readers)


def problems() -> list[Problem]:
    """Every entry point that gives nothing, and why; imports all of them."""
    for door in DOORS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            door.all()
    return [problem for door in DOORS for problem in door.problems]


def packages() -> dict[str, list[str]]:
    """What other packages bring: package -> `targets: toy_asm`."""
    found: dict[str, list[str]] = {}
    for door in DOORS:
        for name in door.all():
            if (owner := door.owner(name)) != OWNER:
                found.setdefault(owner, []).append(f"{door.group.removeprefix('irwidget.')}: {name}")
    return found
