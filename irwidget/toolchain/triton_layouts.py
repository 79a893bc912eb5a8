"""Layouts asked of Triton's own library: `toLinearLayout` of a type's encoding, and the code of a conversion.

The library aborts on some encodings, so `ask` runs in a copy of the process and asks again one by one where it died.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irwidget.toolchain import forked, scratch, triton_glue, triton_private, triton_state
from irwidget.toolchain.triton_archs import find


@dataclass(frozen=True)
class Question:
    """A type to ask the layout of, or with `code` the LLVM dialect of a function."""

    header: str
    """Aliases of attributes."""
    attributes: str
    """Of the module: warps, threads, target."""
    type: str = ""
    shape: tuple[int, ...] = ()
    """The shape that was allocated, where it is not the type's."""
    code: str = ""
    """A `tt.func` to lower."""
    arch: str = ""


@dataclass(frozen=True)
class Answer:
    """The bases by input name, or the text of the code; or why there are none."""

    bases: dict[str, list[list[int]]] = field(default_factory=dict[str, "list[list[int]]"])
    shape: tuple[int, ...] = ()
    """Of what is laid out: of a ring of buffers, one."""
    padding: tuple[tuple[int, int], ...] = ()
    """Of shared memory: after so many elements, so many are left out."""
    text: str = ""
    why: str = ""


Ask = Callable[[Sequence[Question]], list[Answer]]
"""Asks the library: of this process, or of another with another release. Raises ToolError where it cannot."""


def ask(questions: Sequence[Question], *, seconds: float | None = None) -> list[Answer]:
    """The answers, in order. Raises ToolError without Triton, `forked.TimedOut` after `seconds`."""
    triton_state.require()
    if not questions:
        return []
    triton_private.gluon_layouts()  # once, here, and not in each copy
    with contextlib.suppress(forked.Died):
        return forked.call(lambda: [_answered(one) for one in questions], seconds=seconds, cuda=False)
    if len(questions) == 1:
        return [Answer(why="Triton's library ends the process on this layout")]
    half = len(questions) // 2
    return ask(questions[:half], seconds=seconds) + ask(questions[half:], seconds=seconds)


def _answered(question: Question) -> Answer:
    with triton_glue.captured_stderr() as said:
        try:
            return Answer(text=_code(question)) if question.code else _layout(question)
        except Exception as error:
            found = triton_glue.failure(str(error), said())
            return Answer(why=" ".join(str(found).split())[:400] or type(error).__name__)


def _parsed(question: Question, function: str) -> Any:
    ir = triton_private.libtriton("ir")
    context = ir.context()
    ir.load_dialects(context)
    for vendor in ("nvidia", "amd"):
        triton_private.libtriton(vendor).load_dialects(context)
    with scratch.folder() as folder:
        path = Path(folder, triton_state.FILE)
        text = f"{question.header}module {question.attributes} {{\n{function}\n}}\n"
        path.write_text(triton_state.parsable(text))
        module = ir.parse_mlir_module(str(path), context)
    module.context = context  # keeps it alive
    return module


def _layout(question: Question) -> Answer:
    module = _parsed(question, f"tt.func @f(%arg0: {_asked(question.type)}) {{\ntt.return\n}}")
    value = module.get_function("f").args(0)
    builder = triton_private.gluon_builder(module.context)
    if question.type.startswith("tensor<"):
        layout = builder.get_gluon_layout_from_tensor(value)
        shape = question.shape
    else:
        layout = builder.get_gluon_layout_from_memdesc(value)
        if layout is None:
            return Answer(why="Triton's bindings give no layout of such a description")
        shape = question.shape[-_rank(layout) :]
    if math.prod(shape) == 1 and not question.type.startswith("tensor<"):
        return Answer({"offset": []}, tuple(shape))  # which the library does not make a layout of
    if pairs := getattr(layout, "interval_padding_pairs", None):
        bases = {"offset": layout.offset_bases, "block": layout.cga_layout}
        return Answer(_listed(bases), tuple(layout.shape), tuple((int(a), int(b)) for a, b in pairs))
    found = triton_private.linear_layout(builder, layout, list(shape))
    names = {
        "register": "reg_bases", "lane": "lane_bases", "warp": "warp_bases", "offset": "offset_bases",
        "row": "rows", "col": "cols", "block": "block_bases",
    }  # fmt: skip
    bases = {name: getattr(found, attribute) for name, attribute in names.items() if hasattr(found, attribute)}
    return Answer(_listed(bases), tuple(shape))


def _rank(layout: Any) -> int:
    """The number of axes that a layout of shared memory is of; a ring of buffers has one more."""
    axes = getattr(layout, "order", None) or getattr(layout, "offset_bases", [[0, 0]])[0]
    return int(getattr(layout, "rank", len(axes)))


def _asked(text: str) -> str:
    """A type that has the same layout and is of a tensor or of memory: a descriptor stands for a piece of memory."""
    if not text.startswith("!tt.tensordesc<"):
        return text
    return f"!ttg.memdesc<{text.removeprefix('!tt.tensordesc<')[:-1]}, #ttg.shared_memory>"


def _listed(bases: dict[str, Any]) -> dict[str, list[list[int]]]:
    return {name: [[int(at) for at in vector] for vector in vectors] for name, vectors in bases.items()}


def _code(question: Question) -> str:
    """The function in the LLVM dialect, by the passes of Triton's that allocate shared memory and lower operations."""
    module = _parsed(question, question.code)
    arch = find(question.arch)
    manager = triton_private.libtriton("ir").pass_manager(module.context)
    triton_private.add_lowering_of_layouts(manager, arch)
    triton_private.run_passes(manager, module, "layout")
    return str(module.str_nodebug())
