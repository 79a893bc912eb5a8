"""A Triton kernel at one point of its compilation: a module of libtriton, or the text that came out of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from irwidget.errors import ToolError
from irwidget.toolchain import debug_lines, scratch, triton_names, triton_private
from irwidget.trace import Content

FILE = "irwidget-input.mlir"
"""What libtriton's parser calls the text."""
_FOLDER = re.compile(r'[^\s"(]*/irwidget-\d+-\w+(?:/(?=irwidget-input\.mlir)|(?="))')
"""Where a text lies while libtriton reads it, another folder each time."""
_ONE_WARP = re.compile(r"\bctaLayout = \{(?![^{}]*\bwarp = )([^{}]*)\}")
"""The part of a WMMA layout that Triton prints without its warps where there is one, and cannot read so."""
_last: tuple[str, str, Content] = ("", "", Content(""))
"""Language, raw text and content rendered last: passes that change nothing are rendered once."""


def require() -> None:
    """Raise ToolError when Triton is not installed."""
    try:
        import triton  # noqa: F401 # pyright: ignore[reportUnusedImport, reportMissingImports]
    except ImportError as error:
        raise ToolError(
            f"Triton is not installed here ({error}). Install it with: pip install irwidget[triton]", tool="triton"
        ) from None


@dataclass(slots=True)
class TritonState:
    """The kernel after one pass. Either `module` (of libtriton, changed in place) or `text` is set."""

    language: str
    """`mlir`, `llvm`, `ptx`, `amdgcn` or `sass`."""
    text: str = ""
    """As libtriton prints it, with its locations."""
    arguments: triton_names.Arguments = ()
    """The locations of block arguments that the text leaves out."""
    module: Any = None
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    """What Triton's stages tell each other: `name`, `shared`, `num_warps` ..."""
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    binary: bytes = b""
    """The cubin or hsaco, once there is one."""
    waiting: list[TritonState] = field(default_factory=list["TritonState"], repr=False, compare=False)
    """Snapshots of this run that are not rendered yet."""
    content: Content | None = field(default=None, init=False, repr=False, compare=False)
    """What `render` gave; not copied by `dataclasses.replace`."""

    def raw(self) -> str:
        """The text with locations; a module is printed once per state."""
        if not self.text and self.module is not None:
            self.text = anywhere(triton_private.printed(self.module))
            self.arguments = triton_names.collect(self.module, self.text)
        return self.text

    def snapshot(self) -> TritonState:
        """A copy that later passes leave alone. libtriton cannot clone a module, so it is printed at once."""
        self.raw()
        copy = replace(self, module=None, metadata=dict(self.metadata), facts=dict(self.facts), waiting=[])
        self.waiting.append(copy)
        return copy

    def render_waiting(self) -> None:
        """Render the snapshots so far, for when there is nothing better to do: while ptxas runs."""
        while self.waiting:
            self.waiting.pop(0).render(True)

    def render(self, elide: bool) -> Content:
        """The text, with the user's source line for each of its lines."""
        global _last
        if self.content is None:
            raw = self.raw()
            if _last[:2] != (self.language, raw):
                _last = (self.language, raw, content(self.language, raw))
            self.content = _last[2]
        return self.content


def content(language: str, raw: str) -> Content:
    """What libtriton or nvdisasm printed, as text to show and a source line per line."""
    match language:
        case "mlir":
            text, places = debug_lines.mlir(raw)
            return Content(text, True, places)
        case "llvm":
            return Content(raw, True, debug_lines.llvm(raw))
        case "ptx" | "amdgcn":
            return Content(raw, True, debug_lines.assembly(raw))
        case "sass":
            text, places = debug_lines.sass(raw)
            return Content(text, True, places)
        case _:
            return Content(raw)


def read(text: str) -> TritonState:
    """Text of TTIR or TTGIR as a state to start from. It is parsed by the step that needs it."""
    return TritonState("mlir", *triton_names.split(text))


def anywhere(text: str) -> str:
    """What libtriton has made of a text that it read, as if that had lain in no folder: the same in each run."""
    return _FOLDER.sub("", text) if FILE in text else text


def parsable(text: str) -> str:
    """A printed text as libtriton's parser takes it: a WMMA layout of one warp, as it is printed, ends the process."""
    return _ONE_WARP.sub(lambda found: f"ctaLayout = {{{', '.join(filter(None, [found[1], 'warp = []']))}}}", text)


def parse(state: TritonState, load_dialects: Callable[[Any], None]) -> Any:
    """A libtriton module from a state's text. The bindings read files only.

    Raises RuntimeError when it does not parse; libtriton writes the reason to stderr.
    """
    ir = triton_private.libtriton("ir")
    context = ir.context()
    ir.load_dialects(context)
    load_dialects(context)
    with scratch.folder() as folder:
        path = Path(folder, FILE)
        path.write_text(parsable(state.text))
        module = ir.parse_mlir_module(str(path), context)
    triton_names.restore(module, state.arguments, ir.builder(context))
    module.context = context  # keeps it alive
    return module
