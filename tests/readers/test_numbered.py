"""Folders of files that no tool has a format of its own for: texts of IR with numbers in their names, and logs."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

import irwidget

DATA = Path(__file__).parent / "data"
FUNCTION = "func.func @{}(%x: i32) -> i32 {{\n  return %x : i32\n}}\n"
LLVM = "define i32 @f(i32 %x) {\n  ret i32 %x\n}\n"


def written(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def said(low: irwidget.Lowering) -> list[tuple[str, str]]:
    return [(one.severity, one.message) for one in low.diagnostics]


ORDER = (
    "remark",
    "The order is that of the numbers in the files' names; nothing in them says that each was made of the one before",
)


def test_catalyst(tmp_path):
    """The passes of a stage lie in its folder, and what the stage ends in beside it."""
    with tarfile.open(DATA / "catalyst.tar.xz") as packed:
        packed.extractall(tmp_path, filter="data")
    (low,) = irwidget.open(tmp_path / "f")
    assert low.name == "f"
    texts = {path.relative_to(tmp_path / "f").as_posix(): path.read_text() for path in (tmp_path / "f").rglob("*.*l*")}
    names: list[str] = []
    for number in range(1, 7):
        inside = [name for name in texts if name.startswith(f"{number}_") and "/" in name]
        names += sorted(inside, key=lambda name: int(name.partition("/")[2].partition("_")[0]))
        names += [name for name in texts if name.startswith(f"{number}_After")]
    names.insert(0, "0_f.mlir")
    assert [dump.name for dump in low.dumps] == [Path(name).stem.partition("_")[2] for name in names]
    assert len(names) == 107
    nested = names.index("1_QuantumCompilationStage/2_ApplyTransformSequencePass.mlir")
    for name, dump in zip(names, low.dumps, strict=True):
        if name != names[nested]:
            assert dump.text.strip() == texts[name].strip(), name
    assert low.dumps[nested].text.strip() == texts[names[nested + 1]].strip()  # put back into its module
    assert low.dumps[-1].language == "llvm"
    steps = [low.steps[dump.step].name for dump in low.dumps]
    folders = [name.partition("/")[0].partition("_")[2] if "/" in name else "" for name in names]
    ends = [
        folders[at - 1] if "_After" in name else own for at, (name, own) in enumerate(zip(names, folders, strict=True))
    ]
    assert steps == [*ends[:-1], ""]
    assert said(low) == [ORDER]


@pytest.mark.parametrize(
    ("files", "lowerings"),
    [
        (("02-cse.mlir", "10-llvm.ll", "1-import.mlir"), {"f": ["import", "cse", "llvm"]}),
        (("g.0.mlir", "g.1.mlir", "g.10.ll"), {"g": ["g.0", "g.1", "g.10"]}),
        (("m.1.input.mlir", "m.2.abi.mlir", "n.1.input.mlir"), {"m": ["input", "abi"], "n": ["input"]}),
        (("a/1.mlir", "a/2.mlir", "b/1.mlir"), {"a": ["1", "2"], "b": ["1"]}),
        (("2_S/1_a.mlir", "1_R/3_c.mlir", "2_S.mlir", "1_R/4_d/1_e.mlir"), {"f": ["c", "e", "a", "S"]}),
    ],
)
def test_orders(tmp_path, files, lowerings):
    written(tmp_path, **{name: LLVM if name.endswith(".ll") else FUNCTION.format("f") for name in files})
    lows = irwidget.open(tmp_path)
    assert {low.name: [dump.name for dump in low.dumps] for low in lows} == lowerings
    assert all(said(low) == [ORDER] for low in lows)


def test_what_has_no_place_is_told(tmp_path):
    written(tmp_path, **{name: FUNCTION.format("f") for name in ("1_a.mlir", "2_c.mlir", "2_b.mlir", "last.mlir")})
    (tmp_path / "3_notes.txt").write_text("nothing\n")
    (tmp_path / "5_build.log").write_text(f"$ opt\n// -----// IR Dump After a (a) //----- //\n{FUNCTION}")
    (tmp_path / "4_object.o").write_bytes(b"\x7fELF\0\n" + FUNCTION.format("f").encode())
    (low,) = irwidget.open(tmp_path)
    assert [dump.name for dump in low.dumps] == ["a", "b", "c"]
    assert said(low) == [
        ORDER,
        ("remark", "Left out, for their names have no number as those beside them do: last.mlir"),
        ("warning", "Files of one number are in the order of their names: 2_b.mlir, 2_c.mlir"),
    ]


@pytest.mark.parametrize("files", [("a.mlir", "b.mlir"), ("1_a.mlir", "b.mlir"), ("test1.mlir", "test2.mlir")])
def test_without_numbers_there_is_no_order(tmp_path, files):
    written(tmp_path, **{name: FUNCTION.format("f") for name in files})
    with pytest.raises(irwidget.UsageError, match="is no dump that a reader knows"):
        irwidget.open(tmp_path)


def test_a_tree_has_a_number_for_each_folder(tmp_path):
    """`1_0_cse` in a function's folder is MLIR's; `1_Stage/1_cse` is not, whose dumps would come after all of 1."""
    written(tmp_path / "tree", **{
        "builtin_module_m/0_inline.mlir": FUNCTION.format("f"),
        "builtin_module_m/func_func_f/0_0_cse.mlir": FUNCTION.format("f"),
    })  # fmt: skip
    module = tmp_path / "tree" / "builtin_module_m"
    for folder, names in ((tmp_path / "tree", ["inline", "cse"]), (module, ["inline", "cse"])):
        (low,) = irwidget.open(folder)
        assert [(dump.name, dump.step) for dump in low.dumps] == [(name, 0) for name in names]
        assert ([step.tool for step in low.steps], low.diagnostics) == (["mlir"], ())
    (low,) = irwidget.open(module / "func_func_f")
    assert ([dump.name for dump in low.dumps], low.diagnostics) == (["cse"], ())


def test_a_folder_of_logs_has_the_lowerings_of_each(tmp_path):
    banner = "// -----// IR Dump After {0} ({1}) //----- //\n"
    logs = {
        f"sub/{name}.log": f"$ make {name}\n"
        + "".join(banner.format(one.upper(), one) + FUNCTION.format(name) for one in passes)
        for name, passes in (("f10", "ab"), ("f9", "c"))
    }
    logs["sub/f10.log"] = "".join(
        f"12:00:0{n % 10} | {line}" for n, line in enumerate(logs["sub/f10.log"].splitlines(True))
    )
    written(tmp_path, **logs, **{"notes.txt": "IR Dump After all\n"})
    (tmp_path / "x.o").write_bytes(b"\0\1\2")
    lows = irwidget.open(tmp_path)
    assert lows.format == "passes-dir"
    assert [(low.name, [dump.name for dump in low.dumps]) for low in lows] == [("f9", ["c"]), ("f10", ["a", "b"])]
    assert [low.steps[0].arguments for low in lows] == ["f9.log", "f10.log"]
    (said,) = lows[1].diagnostics
    assert (said.message, said.location.file, said.location.line) == ("$ make f10", str(tmp_path / "sub/f10.log"), 1)
    assert [low.dumps[-1].text for low in lows] == [FUNCTION.format("f9"), FUNCTION.format("f10")]
