"""The lexers of MLIR and HLO, found by name through their entry points."""

from __future__ import annotations

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Number, String

from tests.views.lowerings import PROGRAM, lower


@pytest.fixture(scope="module")
def lexer():
    return get_lexer_by_name("mlir")


def test_real_dumps_have_no_errors_and_lose_nothing(lexer):
    for one in lower().dumps:
        tokens = list(lexer.get_tokens(one.text))
        assert "".join(text for _, text in tokens) == one.text
        assert not [text for kind, text in tokens if kind is Error]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("%arg0", Name.Variable), ("%3:2", Name.Variable), ("@main", Name.Function), ('@"a b"', Name.Function),
        ("^bb1", Name.Label), ("#map", Name.Constant), ("!torch.vtensor", Keyword.Type), ("f32", Keyword.Type),
        ("tensor<", Keyword.Type), ("linalg.matmul", Name.Builtin), ("// x", Comment.Single), ('"a"', String),
        ("1.0e-5", Number.Float), ("2x?x", Number.Integer), ("0xFF", Number.Hex), ("module", Keyword.Declaration),
    ],
)  # fmt: skip
def test_tokens(lexer, text, kind):
    assert next(iter(lexer.get_tokens(text)))[0] is kind


def test_a_text_is_recognised(lexer):
    assert lexer.analyse_text(PROGRAM) > 0.5
    assert lexer.analyse_text("def f(): pass") == 0


def test_hlo():
    import zipfile
    from pathlib import Path

    from irwidget.views.lexers import HLOLexer

    lexer = HLOLexer()
    kept = zipfile.ZipFile(Path(__file__).parents[1] / "readers" / "data" / "xla.zip")
    for name in (one for one in kept.namelist() if one.endswith(".txt")):
        text = kept.read(name).decode()
        tokens = list(lexer.get_tokens(text))
        assert "".join(word for _, word in tokens).strip() == text.strip()
        assert not [word for kind, word in tokens if kind is Error]
    tokens = {word: kind for kind, word in lexer.get_tokens("ROOT %x.1 = f32[8]{0} dot(%a, %b), dim={1}")}
    assert (tokens["ROOT"], tokens["%x.1"], tokens["f32"], tokens["dot"], tokens["dim"]) == (
        Keyword, Name.Variable, Keyword.Type, Name.Builtin, Name.Attribute,
    )  # fmt: skip
