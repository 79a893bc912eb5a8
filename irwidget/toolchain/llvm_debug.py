"""Line information in LLVM IR, PTX and AMDGCN: read it, and take it out of the text."""

from __future__ import annotations

from irwidget.dumps import Content
from irwidget.toolchain import triton_lines


def content(language: str, text: str) -> Content:
    """Text to show and a source line for each of its lines."""
    match language:
        case "llvm":
            return Content(text, True, triton_lines.llvm(text))
        case "ptx" | "amdgcn":
            return Content(text, True, triton_lines.assembly(text))
        case _:
            return Content(text)
