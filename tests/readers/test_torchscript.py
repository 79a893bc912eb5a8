"""What TorchScript and Taichi log of the graphs between their passes: real logs, split here by a line at a time."""

from __future__ import annotations

import gzip
import lzma
import re
import tarfile
import zipfile
from pathlib import Path

import pytest

import irwidget

DATA = Path(__file__).parent / "data"
TORCHSCRIPT, TAICHI = (
    lzma.decompress((DATA / f"{name}.log.xz").read_bytes()).decode() for name in ("torchscript", "taichi")
)
TITLE = re.compile(r"(After|Before) (.+?)(?:, before .+| \((?:end|beginning) of \w+\))?:? ?|(\w+ Graph): ?")
LOGGED = re.compile(r"(\[\w+ [\w.]+:\d+\]) ((?:After|Before)[\w, ]+?(?=graph))?(.*\n)")


def graphs() -> list[tuple[str, str, str]]:
    """When, the pass and the text of each graph in the log."""
    found: list[list[str]] = []
    last = ""
    for place, glued, text in LOGGED.findall(TORCHSCRIPT):
        if text.startswith("graph("):
            found.append([place, glued or last, text])
        elif text.startswith((" ", "return")):
            assert found[-1][0] == place
            found[-1][2] += text
        last = text.rstrip("\n")
    titles = [TITLE.fullmatch(title).groups() for _, title, _ in found]
    return [
        (when or "After", name or other, text) for (when, name, other), (_, _, text) in zip(titles, found, strict=True)
    ]


def test_each_graph_of_torchscript_has_its_title_and_its_text():
    found = irwidget.open(TORCHSCRIPT)
    assert found.format == "torchscript"
    printed = graphs()
    assert len(printed) == TORCHSCRIPT.count("graph(") == 110
    texts = [dump.text for low in found for dump in low.dumps]
    assert set(texts) == {text for _, _, text in printed}
    after = sorted((name, text) for when, name, text in printed if when == "After")
    assert sorted((dump.name, dump.text) for low in found for dump in low.dumps if dump.step >= 0) == after


def test_executors_run_others_in_their_midst():
    found = irwidget.open(TORCHSCRIPT)
    assert [(low.name, len(low.dumps)) for low in found if len(low.dumps) > 1] == [
        ("graph()", 3),
        ("graph(x, y) (2)", 51),
        ("graph() (2)", 3),
        ("graph(x) (2)", 51),
    ]
    assert all("does not name its graphs" in low.diagnostics[-1].message for low in found)
    last = irwidget.open(f"{TORCHSCRIPT}what the program says\n")[-1]
    assert [one.message for one in last.diagnostics[-2:-1]] == ["what the program says"]


def test_what_passes_log_by_themselves_is_one_graph_while_its_operations_are():
    graph = "graph(%x : Tensor):\n  %1 : Tensor = aten::{}(%x)\n  %2 : Tensor = aten::{}(%1)\n  return (%2)"
    log = "".join(
        f"[DUMP dead_code_elimination.cpp:485] {line}\n"
        for graph in (graph.format("neg", "abs"), graph.format("neg", "exp"), graph.format("sin", "cos"))
        for line in ("After EliminateDeadCode: ", *graph.split("\n"))
    )
    assert [(low.name, len(low.dumps)) for low in irwidget.open(log)] == [("graph(x)", 2), ("graph(x) (2)", 1)]


LINE = re.compile(r"^\[I [^\]]*\] \[ir_printer\.cpp:[^\]]*\] \[(\w+?)(?:\.simplify)?\] (.+):\n", re.M)


def test_each_dump_of_taichi_is_of_its_kernel():
    found = irwidget.open(TAICHI)
    assert (found.format, [low.name for low in found]) == ("taichi", ["fill_c80_0", "total_c82_0"])
    _, *parts = LINE.split(TAICHI)
    printed = [
        (kernel, name, text[: text.index("\n}\n") + 3]) for kernel, name, text in zip(*[iter(parts)] * 3, strict=True)
    ]
    assert len(printed) == 381
    assert [(low.name, dump.name, dump.text) for low in found for dump in low.dumps] == printed
    assert found[1].diagnostics[-1].message == "256.0"  # what the program printed


def test_a_kernel_that_is_compiled_again_is_another_lowering():
    first = TAICHI[: [*LINE.finditer(TAICHI)][3].start()]
    assert [(low.name, len(low.dumps)) for low in irwidget.open(first * 2)] == [
        ("fill_c80_0", 3),
        ("fill_c80_0 (2)", 3),
    ]


def packed(folder: Path, how: str) -> Path:
    made = folder.with_name(f"made{how}")
    if how == ".zip":
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder.parent))
    elif how:
        with tarfile.open(made, f"w:{how.rpartition('.')[2].replace('tar', '')}") as archive:
            archive.add(folder, "logs")
    return made if how else folder


@pytest.mark.parametrize("how", ["", ".zip", ".tar", ".tar.gz", ".tar.xz"])
def test_a_folder_of_logs_of_several_compilers_may_be_packed_and_so_may_they(tmp_path, how):
    folder = tmp_path / "logs"
    (folder / "more").mkdir(parents=True)
    for name in ("tvm", "halide", "numba"):
        (folder / f"{name}.log").write_bytes(lzma.decompress((DATA / f"{name}.log.xz").read_bytes()))
    (folder / "more" / "taichi.log.gz").write_bytes(gzip.compress(TAICHI.encode()))
    (folder / "README").write_text("No log.\n")
    alone = [
        low
        for name in ("halide", "more/taichi", "numba", "tvm")
        for low in irwidget.open(next(folder.glob(f"{name}*")))
    ]
    found, plain = irwidget.open(packed(folder, how)), irwidget.open(folder)
    assert found.format == "passes-dir"
    assert [low.name for low in found] == [low.name for low in plain]
    shown = [[(dump.name, dump.text) for dump in low.dumps] for low in found]
    assert shown == [[(dump.name, dump.text) for dump in low.dumps] for low in alone]


def test_a_log_that_cannot_be_shown_is_said_with_those_that_can(tmp_path):
    (tmp_path / "a.log").write_text(TAICHI)
    (tmp_path / "b.log").write_text("*** IR Dump After A on f ***\n-  %a = add i32 1, 1\n+  %a = add i32 1, 2\n")
    found = irwidget.open(tmp_path)
    assert [low.diagnostics[-1].message[:27] for low in found] == ["Not shown: b.log has what -"] * 2


@pytest.mark.parametrize("how", [".zip", ".tar.gz"])
def test_an_archive_that_is_cut_or_too_large_is_refused(tmp_path, how):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(TAICHI)
    path = packed(tmp_path / "logs", how)
    with pytest.raises(irwidget.UsageError, match="most= is the limit"):
        irwidget.open(path, most=100_000)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(irwidget.UsageError, match="cannot be unpacked"):
        irwidget.open(path)


@pytest.mark.parametrize("cut", [True, False])
def test_a_packed_log_that_is_cut_says_so(tmp_path, cut):
    data = gzip.compress(TAICHI.encode())
    path = tmp_path / "a.log.gz"
    path.write_bytes(data[: len(data) // 2] if cut else data + b"\0" * 512)
    low = irwidget.open(path)[-1]
    said = [one.message for one in low.diagnostics if one.severity == "warning"]
    assert [any(words in one for one in said) for words in ("ends in the middle", "is damaged after")] == [cut, cut]


def test_a_log_that_is_cut_before_the_text_of_a_line_says_so():
    """Each line of a graph begins with where the log was written."""
    line = TORCHSCRIPT.index("\n", TORCHSCRIPT.index("graph(")) + 1
    for at in (line + 1, line + 5, TORCHSCRIPT.index("] ", line) + 2):
        (low,) = irwidget.open(TORCHSCRIPT[:at])
        assert any("ends in the middle" in one.message for one in low.diagnostics), TORCHSCRIPT[line:at]
