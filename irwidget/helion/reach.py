"""What is known of how far loads and stores reach."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Reach:
    """What is known of the accesses so far."""

    unproven: bool = False
    """Whether some are not known to stay inside."""
    ends: dict[tuple[str, int], tuple[int, list[int | None]]] = field(
        default_factory=dict[tuple[str, int], tuple[int, list[int | None]]]
    )
    """Of each dim of a tensor, its size and where the loops end that walk it from 0; None for what else does."""

    node: str = ""
    """The name of the node that is being emitted."""
    pointed: dict[str, str] = field(default_factory=dict[str, str])
    """The nodes whose positions the module itself keeps inside, with what they do at one that is not."""

    def point(self, instead: str) -> None:
        """The node that is being emitted keeps its positions inside; `instead` is what it does at one that is not."""
        self.pointed[self.node] = instead

    @property
    def rests(self) -> list[str]:
        """Of the dims that only loops walk that end before them: how much is taken."""
        known = {key: (size, [end for end in ends if end is not None]) for key, (size, ends) in self.ends.items()}
        return [
            f"of dim {dim} of {name}, of {size}, the kernel takes the first {max(ends)}: its loops end there"
            for (name, dim), (size, ends) in known.items()
            if len(ends) == len(self.ends[name, dim][1]) and 0 < max(ends) < size
        ]
