"""A program's GPU kernels side by side: each goes through the tools by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from irwidget.toolchain.tool import Pass, State, TextState
from irwidget.trace import Content, Location, Scope

_COMMENT = {"llvm": ";", "amdgcn": ";", "spirv": ";"}


@dataclass(frozen=True, slots=True)
class Kernels:
    """The texts of all kernels; shown is the one that a pass has just made, or all of them."""

    texts: Mapping[str, TextState]
    current: str = ""
    """The kernel to show; all when empty."""

    @property
    def language(self) -> str:
        shown = self.texts[self.current] if self.current else next(iter(self.texts.values()))
        return shown.language

    def snapshot(self) -> Kernels:
        return self

    def render(self, elide: bool) -> Content:
        if self.current:
            return self.texts[self.current].render(elide)
        text: list[str] = []
        places: list[Location | None] = []
        for name, state in self.texts.items():
            content = state.render(elide)
            text.append(f"{_COMMENT.get(state.language, '//')} kernel {name}\n{content.text.rstrip()}\n\n")
            lines = text[-1].count("\n") - 1
            places += [None, *(*content.locations, *[None] * lines)[:lines]]
        return Content("".join(text), True, tuple(places))

    def put(self, name: str, state: TextState) -> Kernels:
        """With another text for one kernel, which becomes the one that is shown."""
        return replace(self, texts={**self.texts, name: state}, current=name)


def on_each(
    state: State,
    name: str,
    work: Callable[[str, TextState], TextState],
    options: str,
    pipeline: str,
    *,
    needed: Callable[[TextState], bool] = lambda _: True,
) -> Iterator[Pass]:
    """The pass of a tool: on the text, or on every kernel that needs it, each with the kernel as its scope."""
    if isinstance(state, TextState) and not needed(state):
        return
    if not isinstance(state, Kernels):

        def once(before: State) -> State:
            assert isinstance(before, TextState)
            return work("", before)

        yield Pass(name, once, options, pipeline=pipeline)
        return
    for kernel, text in state.texts.items():
        if not needed(text):
            continue

        def apply(before: State, kernel: str = kernel) -> State:
            assert isinstance(before, Kernels)
            return before.put(kernel, work(kernel, before.texts[kernel]))

        yield Pass(name, apply, options, Scope(kernel), pipeline)


def show_all(state: State) -> Iterator[Pass]:
    """After the last tool: all kernels in one text."""
    if isinstance(state, Kernels):

        def apply(before: State) -> State:
            assert isinstance(before, Kernels)
            return replace(before, current="")

        yield Pass("all kernels", apply, seconds=0.0)
