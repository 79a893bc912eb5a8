"""`bisect(...)`: the release of a package that changed a lowering, or broke it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from irwidget import phases
from irwidget.errors import IRWidgetError, LoweringInterrupted, ToolError, UnsupportedError, UsageError
from irwidget.experiments.comparison import NO_VALUES, Comparison, compare
from irwidget.lowering import lower
from irwidget.queries import comparing
from irwidget.reducing.failing import kind_of
from irwidget.result import Lowering
from irwidget.toolchains import releases

Predicate = Callable[[Lowering], bool]
"""Whether a lowering is a bad one; it may have failed."""
Progress = Callable[[str, str], object]
"""Told of each release that was tried, and what came of it."""


_JUDGED = ("good", "bad")
"""What a predicate says of a release, false and true."""


@dataclass(frozen=True)
class Bisection:
    """What `bisect` has found. Printed, it is text; `to_dict()` is data."""

    package: str
    versions: tuple[str, ...]
    """The releases that were looked at, the oldest first."""
    good: str | None
    """The last release before the change; None where there is none."""
    bad: str | None
    """The release that brought it."""
    tried: Mapping[str, str]
    """What came of each release that was tried."""
    ends: tuple[str, str]
    """The oldest and the newest release that could be tried."""
    lowerings: Mapping[str, Lowering] = field(repr=False)
    """What each made, as far as it came; `known=` of another search takes it."""

    @property
    def comparison(self) -> Comparison | None:
        """Both releases side by side: the first diverging pass, its diff, what it costs."""
        if self.good is None or self.bad is None or not {self.good, self.bad} <= self.lowerings.keys():
            return None
        return Comparison(self.lowerings[self.good], self.lowerings[self.bad], found=self._said)

    @property
    def _said(self) -> tuple[str, ...]:
        """The summary, and what came of each release that is not in it."""
        others = {version: said for version, said in self.tried.items() if version != self.bad}
        return self.summary, *(f"{self.package} {version}: {said}" for version, said in others.items())

    @property
    def summary(self) -> str:
        """One sentence."""
        if self.bad is None:
            values = f"; {NO_VALUES}" if any(said.endswith(NO_VALUES) for said in self.tried.values()) else ""
            between = f"from {self.package} {self.ends[0]} to {self.ends[1]}"
            judged = self.tried[self.ends[0]].partition(";")[0]
            alike = f" (both are {judged})" if judged in _JUDGED else ""
            return f"No change {between}, of those that were tried{alike}{values}"
        between = self.versions[self.versions.index(self.good or self.bad) + 1 : self.versions.index(self.bad)]
        untold = f" ({', '.join(between)} cannot be told)" if between else ""
        return (
            f"{self.package} {self.bad} is the first that is another than {self.good}{untold}: {self.tried[self.bad]}"
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON-able data."""
        found = self.comparison
        return {
            "package": self.package,
            "versions": list(self.versions),
            "good": self.good,
            "bad": self.bad,
            "summary": self.summary,
            "tried": dict(self.tried),
            "comparison": comparing.answer(found) if found else None,
        }

    def _repr_mimebundle_(self, **given: Any) -> Any:
        return self.comparison._repr_mimebundle_(**given) if self.comparison else {"text/plain": str(self)}  # pyright: ignore[reportPrivateUsage]

    def __str__(self) -> str:
        return str(self.comparison) if self.comparison else "\n  ".join(self._said)


def bisect(
    obj: Any,
    *inputs: Any,
    to: str,
    package: str,
    versions: Sequence[str] | None = None,
    predicate: Predicate | None = None,
    known: Mapping[str, Lowering] | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Bisection:
    """Find the release of a package that changed a lowering, or broke it, by halving the releases between two.

    `obj`, `inputs`, `to` and the other options are those of `irwidget.lower`. `versions` are the releases to look at,
    from the oldest, which is good, to the newest, which is not (by default all that pip has and irwidget works with).
    `predicate`, a function of the lowering, complete or failed, says which are bad; without it these are the ones that
    fail where the oldest does not, or not in its way, or whose result is another than the oldest's, renumbering apart.
    What is halved is taken to change once. A release that cannot be tried, or for which the predicate raises, is passed
    over. `known` are lowerings that were made already, by version; `progress` is told of each release and what came of
    it.

    Raises UsageError for less than two different releases, ToolError where less than two can be told, and
    LoweringInterrupted, a KeyboardInterrupt; both hold the `lowerings` so far: `known=` goes on with them.
    """
    if isinstance(versions, str):
        raise UsageError(f"versions is a list of releases, as in ['3.6.0', '3.7.0'], not {versions!r}")
    listed = releases.of(package) if versions is None else tuple(dict.fromkeys(versions))
    if len(listed) < 2:
        raise UsageError(
            f"A change is looked for between releases: name two or more of {package}, the oldest first "
            "(versions=[...], --versions A,B)"
        )
    if predicate is not None and not callable(predicate):
        raise UsageError(f"A predicate is a function of a lowering, as in lambda low: low.failure, not {predicate!r}")
    search = _Search(package, predicate, progress, _checked(known))
    search.make = lambda version: lower(obj, *inputs, to=to, toolchain=f"{package}=={version}", **options)
    return search.run(listed)


def _checked(known: Any) -> dict[str, Lowering]:
    found: Any = {} if known is None else known
    if isinstance(found, Mapping) and all(isinstance(one, Lowering) for one in cast("list[Any]", [*found.values()])):
        return {**found}
    raise UsageError(f"known is lowerings by version, as another search has them in `.lowerings`, not {known!r}")


class _Search:
    """One search: what was tried, and the oldest, which the others are compared with."""

    make: Callable[[str], Lowering]

    def __init__(
        self, package: str, predicate: Predicate | None, progress: Progress | None, known: dict[str, Lowering]
    ) -> None:
        self.package, self.predicate, self.progress = package, predicate, progress
        self.lowerings = known
        self.tried: dict[str, str] = {}
        self._first: Lowering | None = None

    def run(self, listed: tuple[str, ...]) -> Bisection:
        """Look for the change. Raises as `bisect`."""
        try:
            return self._halved(listed)
        except KeyboardInterrupt as stop:
            said = "".join(f"\n  {version}: {said}" for version, said in self.tried.items())
            error = LoweringInterrupted(
                f"interrupted after {len(self.tried)} of {len(listed)} releases of {self.package}; "
                f"bisect(..., known=error.lowerings) goes on from there{said}"
            )
            error.lowering, error.lowerings = getattr(stop, "lowering", None), dict(self.lowerings)
            raise error from None

    def _halved(self, listed: tuple[str, ...]) -> Bisection:
        left = list(listed)
        oldest = None
        while left and oldest is None:  # the oldest that can be told is what the others are compared with
            self._first = self._lowered(left[0])
            oldest = self._is_bad(left[0])
            if oldest is None:
                del left[0]
        if not left:
            raise self._untried(f"No release of {self.package} can be tried")
        while len(left) > 1 and self._is_bad(left[-1]) is None:
            del left[-1]
        if len(left) == 1:
            raise self._untried(f"Of {self.package} only {left[0]} can be tried, and there is none to compare it with")
        ends = left[0], left[-1]
        if self._is_bad(left[-1]) == oldest:
            return self._found(listed, None, None, ends)
        low, high = 0, len(left) - 1
        while high - low > 1:
            middle = (low + high) // 2
            bad = self._is_bad(left[middle])
            if bad is None:
                del left[middle]
                high -= 1
            elif bad == oldest:
                low = middle
            else:
                high = middle
        return self._found(listed, left[low], left[high], ends)

    def _untried(self, what: str) -> ToolError:
        why = "".join(f"\n  {version}: {said}" for version, said in self.tried.items())
        error = ToolError(f"{what}{why}", tool=self.package)
        error.lowerings = dict(self.lowerings)
        return error

    def _found(self, listed: tuple[str, ...], good: str | None, bad: str | None, ends: tuple[str, str]) -> Bisection:
        tried = {version: self.tried[version] for version in listed if version in self.tried}
        return Bisection(self.package, listed, good, bad, tried, ends, self.lowerings)

    def _lowered(self, version: str) -> Lowering | None:
        """What a release makes; None where it cannot be tried, which `tried` says."""
        if version in self.lowerings or version in self.tried:
            return self.lowerings.get(version)
        phases.entering(f"{self.package} {version}")
        try:
            self.lowerings[version] = self.make(version)
        except UsageError:
            raise
        except IRWidgetError as error:
            if isinstance(error, UnsupportedError) or error.lowering is None:
                self._note(version, f"not tried: {str(error).splitlines()[0]}")
                return None
            self.lowerings[version] = error.lowering
        return self.lowerings[version]

    def _is_bad(self, version: str) -> bool | None:
        made = self._lowered(version)
        if made is None or self._first is None:
            return None
        bad, said = self._judged(made)
        if version not in self.tried:
            self._note(version, said)
        return bad

    def _judged(self, made: Lowering) -> tuple[bool | None, str]:
        """Whether it is bad, and what came of it; None where that cannot be told."""
        assert self._first is not None
        failure = made.failure
        fails = f"fails: {failure.message.splitlines()[0]}" if failure else ""
        if self.predicate is not None:
            try:
                bad = bool(self.predicate(made))
            except Exception as error:
                return None, f"not told: the predicate raised {type(error).__name__}: {error}"
            return bad, f"{_JUDGED[bad]}{'; ' if fails else ''}{fails}"
        if made is self._first:
            return False, f"what the others are compared with{'; ' if fails else ''}{fails}"
        first = self._first.failure
        if failure or first:
            return not (failure and first and kind_of(failure) == kind_of(first)), fails or "complete"
        compared = compare(self._first, made)
        if compared.ends_the_same is None and not compared.values_left_out:
            return None, compared.summary
        return compared.ends_the_same is False, compared.summary

    def _note(self, version: str, said: str) -> None:
        self.tried[version] = said
        if self.progress:
            self.progress(version, said)
