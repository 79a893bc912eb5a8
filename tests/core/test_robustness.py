"""What nobody should have to lower, open or write to: an error of ours that says why, and a kernel that goes on."""

from __future__ import annotations

import os

import pytest

import irwidget
from irwidget import cli
from irwidget.errors import PassError, ToolError, UsageError

ADD = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"


@pytest.fixture(scope="module")
def low():
    return irwidget.lower(ADD, to="raw_ir")


def _lowered(text, **options):
    return irwidget.lower(text, to="raw_ir", **options)


def test_a_stack_that_ends_is_told_by_what_is_nested():
    with pytest.raises(ToolError, match="SIGSEGV; the IR has 30000 brackets open at once"):
        _lowered("module {\n" * 30_000 + "}\n" * 30_000)
    assert "addi" in _lowered(ADD).text


def test_arrows_and_stray_brackets_do_not_count_as_nesting():
    from irwidget.toolchain.parsing import deepest

    assert deepest("(i32) -> (i32) -> [<{()}>]") == 4
    assert deepest(")))((") == 2
    assert deepest("") == 0


def test_what_a_message_quotes_of_a_long_line_is_cut():
    with pytest.raises(PassError, match=r"(?s)custom op 'x.* [.][.][.] x.*at line 1, column 1") as caught:
        _lowered("x" * 100_000, pipeline="mlir-opt --cse")
    assert len(str(caught.value)) < 3000


def test_the_ir_of_triton_is_not_called_mlir_that_is_not_mlir():
    with pytest.raises(UsageError, match="mlir-opt reads MLIR, but it was given that of Triton, which triton-opt"):
        _lowered("module { tt.func @f() { tt.return } }\n", pipeline="mlir-opt --cse")


@pytest.mark.parametrize(("data", "said"), [
    (b"BC\xc0\xde\x00\x01", "LLVM bitcode: llvm-dis makes text of it"),
    (b"ML\xefR\x01\x00", "MLIR bytecode: mlir-opt makes text of it"),
    (b"\x7fELF\x02\x01\x01\x00", "an ELF file"),
])  # fmt: skip
def test_bytes_are_called_by_what_they_are(data, said, tmp_path, capsys):
    (tmp_path / "x.mlir").write_bytes(data)
    with pytest.raises(UsageError, match=said):
        _lowered(data)
    with pytest.raises(UsageError, match=said):
        irwidget.open(tmp_path / "x.mlir")
    assert cli.main(["lower", str(tmp_path / "x.mlir")]) == 2
    assert said in capsys.readouterr().err


def test_text_in_utf_16_is_opened_and_not_lowered(tmp_path):
    data = b"\xff\xfe" + ADD.encode("utf-16-le")
    with pytest.raises(UsageError, match="text in UTF-16: save it as UTF-8"):
        _lowered(data)
    assert irwidget.open(data)[0].text == ADD


def _nowhere(folder):
    """Names that no file can be written to, or read from."""
    (folder / "file").write_text("")
    (folder / "loop").symlink_to("loop")
    return [folder, folder / "file" / "x", folder / "loop", f"{folder}/nul\0", folder / ("x" * 300), "x/" * 3000]


@pytest.mark.parametrize("which", range(6))
def test_a_name_that_nothing_can_be_written_to_is_said(which, low, tmp_path):
    path = _nowhere(tmp_path)[which]
    for write in (low.save, low.to_html, low.edit(0, ADD).save):
        if which == 0 and write not in (low.save, low.to_html):
            continue
        with pytest.raises(UsageError, match="cannot be (written|made a folder): .* Name another"):
            write(path)
    with pytest.raises(UsageError, match="cannot be written"):
        low.save(f"{path}/x.irtrace" if which else f"{path}/none/x.irtrace")


@pytest.mark.parametrize("option", ["-o", "--html", "--save"])
def test_the_command_line_says_it_too(option, tmp_path, capsys):
    (tmp_path / "add.mlir").write_text(ADD)
    assert cli.main(["lower", str(tmp_path / "add.mlir"), option, "."]) == 2
    assert "UsageError" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["lower", "open", "show", "export", "reduce"])
def test_names_that_no_file_has(command, tmp_path, capsys):
    os.mkfifo(tmp_path / "fifo")
    names = [*_nowhere(tmp_path), tmp_path / "none", *([tmp_path / "fifo"] if command != "open" else [])]
    for name in names:
        assert cli.main([command, str(name), *(["--pipeline", "mlir-opt"] if command == "reduce" else [])]) == 2
        assert capsys.readouterr().err.startswith("UsageError: ")


@pytest.mark.parametrize("path", [None, 3, b"x.irtrace"])
def test_what_is_no_path_is_not_loaded(path):
    with pytest.raises(UsageError, match="load takes the path of an .irtrace file, not a"):
        irwidget.load(path)


def test_bytes_that_are_no_text_are_written_as_they_were_read(tmp_path):
    log = b"// -----// IR Dump After A (a) //----- //\nmodule {\n  // caf\xe9\n}\n"
    (opened,) = irwidget.open(log)
    opened.save(tmp_path / "out.mlir")
    assert b"caf\xe9" in (tmp_path / "out.mlir").read_bytes()
    opened.to_html(tmp_path / "out.html")
    opened.save(tmp_path / "out.irtrace")
    assert irwidget.load(tmp_path / "out.irtrace").text == opened.text
