"""What `--check` says: plain data and words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Number = int | float | complex | bool
EAGER = "eager PyTorch"
VerdictState = Literal["equal", "differs", "not checked"]


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a result, as the lowered program and as eager PyTorch have it."""

    result: str
    """Which result: `result 0`, `buffer 'seen'`, `input 'x'`."""
    index: tuple[int, ...]
    got: Number
    want: Number

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.index))}]" if self.index else ""
        got, want = f"{self.got:.9g}", f"{self.want:.9g}"
        if got == want:
            got, want = f"{self.got:.17g}", f"{self.want:.17g}"
        return f"{self.result}{place} is {got}, eager has {want}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """How what a lowering made compares with eager PyTorch, or another reference, when both are executed alike."""

    state: VerdictState
    dump: str = ""
    """The pass after which the IR was executed last; of one that differs, the first wrong pass; empty: none was."""
    index: int | None = None
    """The number of that dump."""
    reason: str = ""
    """Why it was not checked, in what it differs, or what of an equal one was not executed."""
    error: float | None = None
    """The largest distance of an element from the exact value, which a float64 evaluation of the program gives;
    None where nothing was executed."""
    eager_error: float | None = None
    """The same of eager PyTorch's own results; None where there is no exact value to compare with."""
    element: Element | None = None
    """The element that is furthest from what it may be, where it differs."""
    each: tuple[Verdict, ...] = ()
    """With `check="each"`, a verdict for every dump that was considered, in order."""
    reference: str = EAGER
    """What it was compared with."""

    @property
    def brief(self) -> str:
        """The verdict without numbers: `equal`, `differs after NAME`, `not checked`; of `each`, how many of which."""
        if self.each:
            states = [one.state for one in self.each]
            counts = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
            return f"{replace(self, each=()).brief} (of {len(states)} dumps: {counts})"
        return f"differs after {self.dump}" if self.state == "differs" else self.state

    @property
    def by_dump(self) -> dict[int, VerdictState]:
        """`equal` or `differs` for each dump that was executed, by its number."""
        judged = [one for one in self.each or (self,) if one.state != "not checked"]
        return {one.index: one.state for one in judged if one.index is not None}

    @property
    def ok(self) -> bool:
        """Whether it was executed and is equal."""
        return self.state == "equal"

    @property
    def message(self) -> str:
        """The verdict as a diagnostic has it."""
        return f"check: {self}"

    def __str__(self) -> str:
        """The verdict in words."""
        if self.state == "not checked":
            return f"not checked: {self.reason}"
        if self.state == "equal":
            but = f", but {self.reason}" if self.reason else ""
            return f"equal to {self.reference} after {self.dump}{self._errors}{but}"
        return f"DIFFERS from {self.reference} after {self.dump}: {self.reason}{self._errors}"

    @property
    def _errors(self) -> str:
        if self.error is None:
            return ""
        own = "" if self.eager_error is None else f"; eager's own is {self.eager_error:.2g}"
        return f" (largest error {self.error:.2g}{own})"


def not_checked(reason: str) -> Verdict:
    """The verdict on what was not executed at all."""
    return Verdict("not checked", reason=reason)
