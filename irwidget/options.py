"""The options of every lowering: one dataclass, which Python calls, the magics and the command line all go by.

Those of an IR type are its target's own (`Target.options`).
"""

from __future__ import annotations

import numbers
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from irwidget.errors import UsageError
from irwidget.registry import check, option
from irwidget.registry.fields import short
from irwidget.toolchain.run import Options, Progress


def _above_zero(most: float) -> Callable[[Any], bool]:
    def allows(value: Any) -> bool:
        if value is None:
            return True
        return not isinstance(value, bool) and isinstance(value, numbers.Real) and 0 < float(value) <= most

    return allows


def _by_name(value: Any) -> bool:
    return value is None or (isinstance(value, Mapping) and all(isinstance(name, str) for name in value))  # pyright: ignore[reportUnknownVariableType]


@dataclass(frozen=True, kw_only=True)
class LowerOptions:
    """What `lower` takes whatever the IR type."""

    kwargs: Mapping[str, Any] | None = option(
        None, "keyword inputs, by name", says="a mapping from names to values", allows=_by_name
    )
    dynamic_shapes: Any = option(None, "as torch.export takes them")
    pipeline: str | None = option(
        None,
        "go on with a custom pipeline: 'mlir-opt --cse | opt -O2'",
        says="one line of text, as in 'mlir-opt --cse | opt -O2'",
        metavar="TEXT",
    )
    external: bool = option(False, "run the pipeline's tools as real programs")
    route: Literal["robust", "explorer"] = option(
        "robust",
        "robust, or explorer: PyTorch Explorer's, what torch-mlir alone makes of a model, right or wrong",
        says="'robust' or 'explorer'",
        metavar="ROUTE",
    )
    check: bool | Literal["each"] = option(
        False,
        "execute the result and compare it with eager PyTorch; each: every dump",
        says="True, False or 'each'",
        allows=lambda value: isinstance(value, bool) or value == "each",
        known=("each",),
        read=str,
        bare=True,
        metavar="each",
    )
    toolchain: str | None = option(
        None,
        "lower with another release ('triton==3.6.0'), which pip installs apart, or in the environment PATH",
        says="a release, as in 'triton==3.6.0', or the path of an environment",
        metavar="SPEC",
    )
    dumps: bool = option(True, "keep the last dump only")
    elide: bool = option(True, "print large constants in full")
    isolate: bool = option(True, "run the passes in this process, not in the worker", flag="--in-process")
    timeout: float | None = option(
        None,
        "seconds for all of it",
        says="a number of seconds above 0",
        allows=_above_zero(threading.TIMEOUT_MAX),
        metavar="S",
    )
    memory: float | None = option(
        None,
        "most memory for the worker, in GiB",
        says="a number of GiB above 0",
        allows=_above_zero(2**32),
        metavar="GIB",
    )
    name: str | None = option(None, "what to call it in the view", says="a text")
    progress: Progress | None = option(
        None,
        "called as each pass begins",
        says="a function",
        allows=lambda value: value is None or callable(value),
        flag="",
    )

    def __post_init__(self) -> None:
        """Raises UsageError for the first option that cannot have its value."""
        check(LowerOptions, {one.name: getattr(self, one.name) for one in fields(self)})

    def run(self, target_options: Mapping[str, Any]) -> Options:
        """How the passes run."""
        return Options(
            isolate=self.isolate,
            timeout=self.timeout and float(self.timeout),
            dumps=self.dumps,
            elide=self.elide,
            progress=self.progress,
            keep_constants=bool(self.check),
            memory=memory_bytes(self.memory),
            target=tuple(sorted((key, str(value)) for key, value in target_options.items())),
        )


NAMES = tuple(one.name for one in fields(LowerOptions))


def split(given: Mapping[str, Any]) -> tuple[LowerOptions, dict[str, Any]]:
    """The options of every lowering, checked, and those that belong to the IR type. Raises UsageError."""
    return (
        LowerOptions(**{name: value for name, value in given.items() if name in NAMES}),
        {name: value for name, value in given.items() if name not in NAMES},
    )


def targets(to: Any, known: Iterable[str]) -> list[str]:
    """The names of IR types in `to`, a name or several. Raises UsageError for anything else, and for none."""
    first = next(iter(known))
    names: list[Any] = [to] if isinstance(to, str) else list(to) if isinstance(to, list | tuple | set | Mapping) else []
    if not names:
        raise UsageError(f"Say what to lower to: to={first!r}, or a list of names; to is {short(to)}")
    for name in names:
        if not isinstance(name, str):
            kind = f"the name of an IR type, as in {first!r}, or a list of names"
            raise UsageError(f"to is {kind}; {short(name)} is none")
    return names


def memory_bytes(gib: float | None) -> int | None:
    """A memory limit in bytes."""
    return int(float(gib) * 2**30) if gib else None
