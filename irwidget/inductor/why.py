"""Why a compilation came out as it did: what was fused and what not, what is called, where graphs break."""

from __future__ import annotations

from irwidget.inductor.data import Captured


class Compilation:
    """What torch.compile said of one compilation, to be asked."""

    def __init__(self, captured: Captured) -> None:
        self.captured = captured
