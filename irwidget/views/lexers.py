"""Pygments lexers for the IRs that Pygments does not know. Registered by entry point, so this imports only Pygments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

__all__ = ["HLOLexer", "MLIRLexer"]


class MLIRLexer(RegexLexer):
    """MLIR's textual format, of any dialect ("MLIR Language Reference", mlir.llvm.org)."""

    name = "MLIR"
    aliases: ClassVar[Sequence[str]] = ["mlir"]
    filenames: ClassVar[Sequence[str]] = ["*.mlir"]
    mimetypes: ClassVar[Sequence[str]] = ["text/x-mlir"]
    url = "https://mlir.llvm.org/docs/LangRef/"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"//.*", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"%[\w$.-]+(?:[:#]\d+)?", Name.Variable),
            (r'@(?:"[^"\n]*"|[\w$.-]+)', Name.Function),
            (r"\^\w+", Name.Label),
            (r"#[a-zA-Z_][\w.$-]*", Name.Constant),
            (r"![a-zA-Z_][\w.$-]*", Keyword.Type),
            (r"0x[0-9a-fA-F]+\b", Number.Hex),
            (r"-?\d+\.\d*(?:[eE][+-]?\d+)?", Number.Float),
            # The dimensions of a shaped type: 2x?x3xf32.
            (r"(?:(?:\d+|\?|\[\d+\])x)+", Number.Integer),
            (r"-?\d+", Number.Integer),
            (r"(?:b|t)?f\d+\w*\b|[su]?i\d+\b|index\b|none\b", Keyword.Type),
            (r"(?:tensor|memref|vector|tuple|complex)(?=<)", Keyword.Type),
            (r"(?:true|false|unit|dense|dense_resource|sparse|array)\b", Keyword.Constant),
            (r"(?:affine_map|affine_set|loc)(?=[<(])", Keyword),
            (r"(?:attributes|private|public|nested|ins|outs|iter_args|to|step)\b", Keyword),
            (r"(?:module|func|return)\b(?!\.)", Keyword.Declaration),
            (r"[a-zA-Z_]\w*(?:\.[\w$]+)+", Name.Builtin),
            (r"[a-zA-Z_][\w$-]*", Name),
            (r"->|::|==|>=|<=|[-+*=?]", Operator),
            (r"[()\[\]{}<>,:;/|.]", Punctuation),
            (r".", Text),
        ],
    }

    @staticmethod
    def analyse_text(text: str) -> float:
        """How likely a text is MLIR."""
        marks = ("func.func @", "builtin.module", "linalg.generic", "arith.constant", "torch.aten.")
        return 0.6 if any(mark in text for mark in marks) else 0.0


class HLOLexer(RegexLexer):
    """XLA's HLO text."""

    name = "HLO"
    aliases: ClassVar[Sequence[str]] = ["hlo"]
    filenames: ClassVar[Sequence[str]] = ["*.hlo"]
    url = "https://openxla.org/xla/hlo_dumps"

    tokens: ClassVar[dict[str, list[object]]] = {
        "root": [
            (r"\s+", Text.Whitespace),
            (r"//.*|/\*.*?\*/", Comment.Single),
            (r'"(?:[^"\\\n]|\\.)*"', String),
            (r"^(?:HloModule|FileNames|FunctionNames|FileLocations|StackFrames)\b", Keyword.Declaration),
            (r"(?:ENTRY|ROOT)\b", Keyword),
            (r"%[\w.-]+", Name.Variable),
            (r"(?:pred|token|opaque|tuple|bf16|[su]\d+|[fc]\d+\w*)\b(?=\[|\)|,)", Keyword.Type),
            (r"[a-z][\w-]*(?==)", Name.Attribute),
            (r"[a-z][\w-]*(?=\()", Name.Builtin),
            (r"-?\d+\.\d*(?:[eE][+-]?\d+)?|-?\d+(?:[eE][+-]?\d+)", Number.Float),
            (r"-?\d+", Number.Integer),
            (r"[a-zA-Z_][\w.-]*", Name),
            (r"->|[=*+-]", Operator),
            (r"[()\[\]{}<>,:;/|.@]", Punctuation),
            (r".", Text),
        ],
    }

    @staticmethod
    def analyse_text(text: str) -> float:
        """How likely a text is HLO."""
        return 0.9 if text.startswith("HloModule ") else 0.0
