"""Random generators of a GPU that is not there: a seed and an offset, as `torch.cuda`'s have them.

Numbers are drawn by the CPU's generators, so an offset is what the cell's own code sets it to.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from irwidget.devices import on_cpu
from irwidget.frontends.triton.gpu import CUDA
from irwidget.frontends.triton.scopes import as_it_is

Seeded = Callable[[int | None, str], None]
"""Is told of a new seed, or why the numbers that are drawn from now on are not known."""
_SET = "the state of the random generator was set"


class Generator(torch.Generator):
    """torch.Generator, on the CPU; one of a GPU says so."""

    _shown: torch.device

    def __new__(cls, device: Any = "cpu") -> Generator:
        made = super().__new__(cls, on_cpu(device))  # pyright: ignore[reportCallIssue]
        made._shown = CUDA if on_cpu(device) != device else torch.device(device)
        return made

    @property
    def device(self) -> torch.device:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._shown


class DefaultGenerator(Generator):
    """`torch.cuda.default_generators[0]`: its state is 16 bytes, a seed and an offset."""

    _seed: int | None
    _offset: int
    _tell: Callable[[str], None]

    _seeded: Seeded

    def __new__(cls, tell: Callable[[str], None], seeded: Seeded) -> DefaultGenerator:
        made: DefaultGenerator = super().__new__(cls, CUDA)  # pyright: ignore[reportAssignmentType]
        made._seed, made._offset, made._tell, made._seeded = None, 0, tell, seeded
        return made

    def __init__(self, tell: Callable[[str], None], seeded: Seeded) -> None:
        pass

    def initial_seed(self) -> int:
        return torch.initial_seed() if self._seed is None else self._seed

    def manual_seed(self, seed: int) -> DefaultGenerator:
        self._seed, self._offset = int(seed) % (1 << 64), 0
        self._seeded(self._seed, "")
        return self

    def seed(self) -> int:
        with as_it_is():
            self.manual_seed(torch.Generator().seed())
        return self.initial_seed()

    def get_offset(self) -> int:
        self._tell("the offset of the GPU's random generator is what the cell sets: numbers are drawn by the CPU's")
        return self._offset

    def set_offset(self, offset: int) -> DefaultGenerator:
        self._offset = int(offset)
        self._seeded(None, _SET)
        return self

    def get_state(self) -> torch.Tensor:
        words = [self.initial_seed(), self.get_offset()]
        return torch.tensor([word - (1 << 64) if word >> 63 else word for word in words]).view(torch.uint8)

    def set_state(self, new_state: torch.Tensor) -> DefaultGenerator:
        """Take a state; one whose values are not known leaves the seed, and the offset, as they are."""
        from irwidget.frontends.triton.failures import needs_values

        self._seeded(None, _SET)
        try:
            seed, offset = new_state.view(torch.int64).tolist()
        except Exception as error:
            if not needs_values(error):
                raise
            return self
        self._seed, self._offset = seed % (1 << 64), offset
        return self

    def graphsafe_get_state(self) -> DefaultGenerator:
        return self.clone_state()

    def graphsafe_set_state(self, state: Any) -> DefaultGenerator:
        self._seed, self._offset = state._seed, state._offset
        self._seeded(None, _SET)
        return self

    def clone_state(self) -> DefaultGenerator:
        copy = DefaultGenerator(self._tell, lambda seed, unknown: None)
        copy.graphsafe_set_state(self)
        return copy


def random(generator: DefaultGenerator) -> dict[str, Any]:
    """What `torch.cuda` answers of random numbers."""

    def manual_seed(seed: int) -> None:
        generator.manual_seed(seed)

    def seed() -> None:
        generator.seed()

    def set_states(states: Any) -> None:
        for state in states:
            generator.set_state(state)

    return {
        "default_generators": (generator,),
        "initial_seed": lambda: generator.initial_seed(),
        "manual_seed": manual_seed,
        "manual_seed_all": manual_seed,
        "seed": seed,
        "seed_all": seed,
        "get_rng_state": lambda device=None: generator.get_state(),
        "get_rng_state_all": lambda: [generator.get_state()],
        "set_rng_state": lambda new_state, device=None: generator.set_state(new_state),
        "set_rng_state_all": set_states,
    }
