"""The layouts of one dump: of every tensor in it, and of every conversion between two."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from irwidget import display
from irwidget.errors import UsageError, near
from irwidget.layouts import text as texts
from irwidget.layouts.moving import Movement, movements, summary
from irwidget.layouts.placement import Layout, arch_of, layouts
from irwidget.layouts.types import Module, Move, Tensor, TensorType, module, moves, tensor_type, tensors
from irwidget.toolchain import triton_layouts
from irwidget.toolchain.triton_layouts import Ask
from irwidget.trace import Dump, Trace


class Layouts:
    """Every tensor of a dump with its layout; shows itself beside the dump's text."""

    def __init__(self, trace: Trace, dump: Dump, ask: Ask = triton_layouts.ask) -> None:
        """`ask` asks the library that the dump was made with."""
        self.trace = trace
        self.dump = dump
        self._ask = ask
        self.results: Mapping[str, Any] = {"layouts": self}
        self.module: Module = module(dump.text)
        self.tensors: Sequence[Tensor] = tensors(dump.text)
        self.moves: Sequence[Move] = moves(dump.text)

    @cached_property
    def by_type(self) -> Mapping[str, Layout]:
        """The layout of each type, by its text. Raises ToolError without Triton."""
        kinds = {one.type.text: one.type for one in self.tensors}
        for move in self.moves:
            kinds |= {move.source.text: move.source, move.result.text: move.result}
        return dict(zip(kinds, layouts(self.module, list(kinds.values()), ask=self._ask), strict=True))

    @cached_property
    def conversions(self) -> Sequence[tuple[int, str, Movement]]:
        """Each operation that moves a tensor: its line (from 1), its name, and what Triton does for it.

        Raises ToolError without Triton, UsageError for a GPU that it does not know.
        """
        pairs = {(one.source.text, one.result.text): one for one in self.moves}
        known = self.by_type
        arch = str(self.trace.facts.get("arch", "")) or arch_of(next(iter(known.values()))) if known else ""
        done = movements([(known[a], known[b]) for a, b in pairs], arch) if pairs else []
        found = dict(zip(pairs, done, strict=True))
        return [(one.line, one.operation, found[one.source.text, one.result.text]) for one in self.moves]

    def __getitem__(self, what: str | int) -> Layout:
        """The layout of a value (`"%acc"`), of a type as the dump writes it, or of the tensor of a line (from 1).

        Raises UsageError when the dump has none such.
        """
        return self.by_type[self._type(what).text]

    def _type(self, what: str | int) -> TensorType:
        if isinstance(what, int):
            found = [one for one in self.tensors if one.line == what]
            if not found:
                lines = sorted({one.line for one in self.tensors})
                raise UsageError(
                    f"line {what} of {self.dump.name} has no tensor with a layout; lines {_spans(lines)} do"
                )
            return next((one for one in found if one.name), found[-1]).type
        for one in self.tensors:
            if what in (one.name, one.type.text):
                return one.type
        if re.match(r"tensor<|!", what) and (kind := tensor_type(what)) and kind.text in self.by_type:
            return kind
        names = list(dict.fromkeys(one.name for one in self.tensors if one.name))
        raise UsageError(f"{self.dump.name} has no tensor {what!r} with a layout. {near(what, names)}")

    def to_html(self, path: Any = None) -> str:
        """One interactive page that needs no kernel and no network; written to `path` when given.

        Raises UsageError when it cannot be written.
        """
        return display.page([self], f"{self.trace.name}: layouts after {self.dump.name}", path)

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return display.mimebundle([self])

    @property
    def text(self) -> str:
        """The layouts with the values that have them, and the conversions."""
        names: dict[str, list[str]] = {}
        for one in self.tensors:
            names.setdefault(one.type.text, []).append(one.name or f"line {one.line}")
        lines = [f"{self.trace.name}, after {self.dump.name}: {len(self.by_type)} layouts"]
        for text, layout in self.by_type.items():
            used = list(dict.fromkeys(names.get(text, [])))
            shown = ", ".join(used[:6]) + (f" and {len(used) - 6} more" if len(used) > 6 else "")
            lines += [f"  {texts.described(layout)}", f"    {layout.encoding}", f"    {shown}"]
        if self.conversions:
            lines.append("conversions:")
            lines += [f"  line {line}, {name}: {summary(one)}" for line, name, one in self.conversions]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text


def _spans(numbers: Sequence[int]) -> str:
    """`3-5, 8`"""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def of(trace: Trace, dump: int | Dump | None = None, ask: Ask = triton_layouts.ask) -> Layouts:
    """The layouts of a dump of a trace, by its number or as it is; by default of the last that has any.

    `ask` asks the library that made the trace.

    Raises UsageError when there is none: TTIR has no layouts yet, LLVM IR none any more.
    """
    if dump is not None:
        found = Layouts(trace, trace.dumps[dump] if isinstance(dump, int) else dump, ask)
        if not found.tensors:
            raise UsageError(f"dump {found.dump.index}, {found.dump.name}, has no tensor with a layout: TTGIR has them")
        return found
    for one in reversed(trace.dumps):
        if one.language == "mlir" and "#ttg." in one.text and (found := Layouts(trace, one, ask)).tensors:
            return found
    raise UsageError(f"{trace.target} of {trace.name or 'this IR'} has no dump with layouts: triton_gpu_ir has them")
