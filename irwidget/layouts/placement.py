"""A tensor's layout as users hold it: who owns each element, and where shared memory has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from irwidget.errors import UnsupportedError, UsageError
from irwidget.layouts.code import BANK_BYTES
from irwidget.layouts.linear import Linear, Numbers, linear
from irwidget.layouts.types import Module, TensorType, one_buffer, tensor_type
from irwidget.layouts.types import module as module_of
from irwidget.toolchain import triton_layouts
from irwidget.toolchain.triton_archs import find
from irwidget.toolchain.triton_layouts import Answer, Ask, Question


@dataclass(frozen=True)
class Layout:
    """The layout of one type of a dump, from Triton's own `LinearLayout`."""

    type: TensorType
    module: Module
    linear: Linear | None
    """None where Triton gives none; `why` says why."""
    padding: tuple[tuple[int, int], ...] = ()
    """Of shared memory: after each interval of so many elements, so many are left out."""
    why: str = ""
    ask: Ask = field(default=triton_layouts.ask, repr=False, compare=False)
    """Asks the library that this layout is of."""

    @property
    def encoding(self) -> str:
        """The layout's attribute, written out."""
        return self.module.aliases.get(self.type.encoding, self.type.encoding)

    @cached_property
    def banks(self) -> int:
        """Banks of the shared memory of the GPU that the dump was written for; 0 where that is not known."""
        try:
            return find(arch_of(self)).banks
        except UsageError:
            return 0

    @property
    def known(self) -> Linear:
        """The linear layout. Raises UnsupportedError where there is none, with the reason."""
        if self.linear is None:
            raise UnsupportedError(f"Triton gives no linear layout of {self.type.text}: {self.why}")
        return self.linear

    def owners(self, *element: int) -> list[dict[str, int]]:
        """Every place that holds an element, given by its coordinates: `register`, `lane`, `warp` and `block` of a
        tensor in registers; `offset` (in elements), `byte`, `bank` (where `banks` are known) and `block` in shared
        memory; `row` and `col` of tensor memory.

        Raises IndexError outside of the tensor, UnsupportedError as `known`.
        """
        found = self.known.owners(*element)
        return [self._placed(place) for place in found] if self.type.memory == "shared" else found

    def elements(self, **places: Any) -> tuple[Numbers, ...]:
        """The coordinates of the elements at `register=`, `lane=`, `warp=`, `block=` (or `offset=`; `row=`, `col=`),
        numbers or arrays of one shape: an array for each axis of the tensor. An offset does not count padding.

        Raises UsageError for a place that this layout does not have.
        """
        known = self.known
        sizes = known.sizes
        for name, place in places.items():
            if name not in sizes:
                raise UsageError(f"{self.type.text} has no {name}; it has {', '.join(sizes)}")
            if np.min(place) < 0 or np.max(place) >= sizes[name]:
                raise UsageError(f"{self.type.text} has {sizes[name]} of {name}, from 0 on")
        return known.elements(**places)

    def table(self, place: str) -> Numbers:
        """`register`, `lane`, `warp`, `block`, `thread` (of the block), `offset`, `byte` or `bank` for every element:
        an array of the tensor's shape, of the first place that holds it (see `owners` for all).

        Raises UsageError for a place that this layout does not have.
        """
        first = self.known.first()
        if self.type.memory == "shared":
            first = {**first, **self._placed(first)}
        if "lane" in first:
            first["thread"] = first["warp"] * self.known.sizes["lane"] + first["lane"]
        if place not in first:
            raise UsageError(f"{self.type.text} has no {place}; it has {', '.join(first)}")
        return first[place]

    def _placed(self, place: dict[str, Any]) -> dict[str, Any]:
        offset = place["offset"] + sum((place["offset"] // every) * left for every, left in self.padding)
        byte = offset * self.type.bits // 8
        placed = {**place, "offset": offset, "byte": byte}
        return {**placed, "bank": byte // BANK_BYTES % self.banks} if self.banks else placed

    def __repr__(self) -> str:
        if self.linear is None:
            return f"<layout of {self.type.text}: not available: {self.why}>"
        sizes = ", ".join(f"{count} {name}s" for name, count in self.linear.sizes.items() if count > 1)
        return f"<layout of {self.type.text}: {sizes or 'one place'}>"


def arch_of(layout: Layout) -> str:
    """The architecture that a dump was written for."""
    kind, _, name = layout.module.target.partition(":")
    return name if kind == "hip" else f"sm_{name}"


def layouts(module: Module, types: Sequence[TensorType], *, ask: Ask = triton_layouts.ask) -> list[Layout]:
    """The layouts of types, all asked at once. Raises ToolError without Triton."""
    single = [one_buffer(one, module.aliases.get(one.encoding, one.encoding)) for one in types]
    questions = [Question(module.header, module.attributes, one.text, one.allocated or one.shape) for one in single]
    answers = ask(questions)
    return [_layout(module, one, answer, ask) for one, answer in zip(types, answers, strict=True)]


def _layout(module: Module, kind: TensorType, answer: Answer, ask: Ask) -> Layout:
    if answer.why:
        return Layout(kind, module, None, why=answer.why, ask=ask)
    return Layout(kind, module, linear(answer.bases, answer.shape), answer.padding, ask=ask)


def layout(
    text: str, *, aliases: str = "", num_warps: int = 4, threads_per_warp: int = 32, arch: str = "sm_80"
) -> Layout:
    """The layout of a type as text: `tensor<64x64xf16, #ttg.blocked<{...}>>`, `!ttg.memdesc<...>`.

    `aliases` are lines as dumps begin with (`#mma = #ttg.nvidia_mma<{...}>`); the rest is what a dump's module says.
    Raises UsageError when the text is no such type, ToolError without Triton.
    """
    kind = tensor_type(text) if text.startswith(("tensor<", "!ttg.memdesc<", "!tt.tensordesc<")) else None
    if kind is None:
        raise UsageError(f"{text!r} is no type of a tensor with a layout, such as tensor<64x64xf16, #ttg.blocked<...>>")
    target = f"hip:{arch}" if arch.startswith("gfx") else f"cuda:{arch.removeprefix('sm_')}"
    said = Module(module_of(aliases).aliases, num_warps, threads_per_warp, 1, target)
    return layouts(said, [kind])[0]
