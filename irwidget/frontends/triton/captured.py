"""What a captured launch returns to the cell, in place of Triton's CompiledKernel."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from irwidget.errors import UsageError
from irwidget.frontends.triton.compiling import asm, binary_facts, captured_metadata
from irwidget.frontends.triton.failures import NotExecuted
from irwidget.frontends.triton.gpu import forget_all
from irwidget.frontends.triton.launch import Launch
from irwidget.frontends.triton.specialization import Specialization
from irwidget.toolchain import triton_private

_NAME = re.compile(r'tt\.func public @"?([^"(]+)')


def _fits(kind: Any, value: Any) -> bool:
    """Whether Triton's launchers make an argument of this type of a value; they look at nothing else of it."""
    if not isinstance(kind, str) or kind.startswith("tensordesc"):
        return True
    if kind.startswith("*"):
        return value is None or isinstance(value, int) or hasattr(value, "data_ptr")
    return hasattr(value, "__index__") or (kind[0] not in "iu" and hasattr(value, "__float__"))


class CapturedKernel:
    """What a captured launch returns in place of Triton's CompiledKernel.

    Compiled, in the worker, when the cell looks into it: `asm["ptx"]`, `n_regs`, `metadata.shared`.
    """

    def __init__(self, launch: Launch, special: Specialization, again: Callable[..., None]) -> None:
        self.launch = launch
        self._again = again
        """Launches it: itself, a grid, all arguments of the kernel."""
        self.hash = hashlib.sha256(special.key.encode()).hexdigest()
        """Equal for equal specialisations; not the hash that Triton's cache would have."""
        self._special = special
        self.function = self.module = self.packed_metadata = None

    @property
    def name(self) -> str:
        """Of the compiled function, which `repr=` of `triton.jit` may choose."""
        if not triton_private.names_itself(self.launch.kernel):
            return self.launch.name
        found = _NAME.search(str(self.launch.compiled()[1].data))
        return found[1] if found else self.launch.name

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        def runner(*args: Any, stream: Any = None) -> None:
            self._again(self, grid, self._taken(grid, args))

        return runner

    def _taken(self, grid: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """What runs on the arguments: the constants are those that it is compiled for, whatever is given.

        Raises UsageError for what Triton's launchers do not take of what is compiled already.
        """
        try:
            _ = grid[0], grid[1], grid[2]
        except (TypeError, LookupError):
            raise UsageError(
                f"{self.name}, compiled, is launched on {grid!r}: here a grid has all three sizes"
            ) from None
        kinds = self._special.signature
        needed = [name for name, kind in kinds.items() if kind != "constexpr"]
        given = dict(zip(kinds, args, strict=False))
        if missing := next((name for name in needed if name not in given), ""):
            raise UsageError(f"{self.name}, compiled, takes all arguments by position, and is given no {missing}")
        if odd := next((name for name in needed if not _fits(kinds[name], given[name])), ""):
            kind = type(given[odd]).__name__
            raise UsageError(f"{self.name} is compiled for {odd}: {kinds[odd]}, which is not made of a {kind}")
        return tuple(given[name] if name in needed else value for name, value in self._special.bound.items())

    def run(self, *args: Any, **kwargs: Any) -> None:
        """Launches nothing: there is no GPU. Raises NotExecuted where tensors have values."""
        if not forget_all(f"{self.name}, launched by what Triton has inside, may have written it"):
            raise NotExecuted(f"{self.name} is launched by what Triton has inside, which is not executed")

    def _init_handles(self) -> None:
        pass

    @property
    def asm(self) -> dict[str, Any]:
        """The text of each stage and the binary, by Triton's names: ttir, ttgir, llir, ptx, cubin ..."""
        return asm(self.launch)

    @property
    def metadata(self) -> Any:
        """num_warps, num_stages, shared (bytes) ..., as attributes."""
        return SimpleNamespace(**captured_metadata(self.launch, self._special), hash=self.hash)

    @property
    def n_regs(self) -> int:
        return int(self._facts().get("registers", 0))

    @property
    def n_spills(self) -> int:
        facts = self._facts()
        return int(facts.get("spill_stores", facts.get("vector_spills", 0)))

    @property
    def n_max_threads(self) -> int:
        return 1024

    def _facts(self) -> dict[str, Any]:
        return binary_facts(self.launch)
