"""python -m irwidget."""

import json
import os
import shlex
import sys
from pathlib import Path

import pytest

from irwidget import cli, commands, notebooks, routes
from irwidget.frontends.cell import Candidate
from irwidget.result import Lowering
from irwidget.trace import Trace, dump
from tests.core.test_kernel_cells import HELION, LAUNCH, REFUSED, TRITON

MODEL = """
import torch
net = torch.nn.Linear(4, 8)
x = torch.randn(2, 4)
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def test_a_file_is_lowered_like_a_cell(model, capsys):
    assert cli.main(["lower", str(model), "--to", "tosa_mlir"]) == 0
    assert "convert-torch-to-tosa" in capsys.readouterr().out


def test_the_reproducer_of_an_error_reproduces_it(tmp_path, capsys):
    path = tmp_path / "before.mlir"
    path.write_text("func.func @f() -> i32 {\n  %0 = arith.constant 1 : i32\n  return %0 : i32\n}\n")
    words = ["lower", str(path), "--to", "raw_ir", "--pipeline", "mlir-opt --convert-func-to-llvm", "--no-dumps"]
    assert cli.main(words) == 0
    assert "llvm.func @f" in capsys.readouterr().out


def test_what_a_pipeline_fails_on_is_made_small(tmp_path, capsys):
    path = tmp_path / "erf.mlir"
    sums = "".join(f"  %x{i} = arith.addf %{f'x{i - 1}' if i else 'a'}, %a : f32\n" for i in range(30))
    path.write_text(f"func.func @f(%a: f32) -> f32 {{\n{sums}  %e = math.erf %x7 : f32\n  return %e : f32\n}}\n")
    failing = [
        "--pipeline",
        "mlir-opt --convert-arith-to-llvm --convert-func-to-llvm | mlir-translate --mlir-to-llvmir",
    ]
    assert cli.main(["reduce", str(path), *failing, "-o", str(tmp_path / "small.mlir")]) == 0
    report, progress = capsys.readouterr()
    assert "Reduced from 33 operations to 3." in report
    assert "3 of 33 operations" in progress
    assert (tmp_path / "small.mlir").read_text().count("math.erf") == 1
    assert cli.main(["reduce", str(path), "--pipeline", "mlir-opt --canonicalize"]) == 2
    assert "The pipeline does not fail on" in capsys.readouterr().err
    assert cli.main(["reduce", str(path)]) == 2
    assert "takes a file of IR and the --pipeline that fails on it" in capsys.readouterr().err


def test_a_notebook_becomes_an_offline_page(tmp_path, model, capsys):
    cells = ["%load_ext irwidget", f"%%lower --to tosa_mlir\n{MODEL}", "%lower net x --to stablehlo_mlir"]
    notebook = tmp_path / "n.ipynb"
    words = "# The title\n\nSee [line 3](#pass=1&line=3) of `x`, <i>not</i> [this](javascript:alert(1))."
    made = [{"cell_type": "markdown", "source": [words]}]
    notebook.write_text(json.dumps({"cells": made + [{"cell_type": "code", "source": [cell]} for cell in cells]}))
    page = tmp_path / "n.html"
    assert cli.main(["export", str(notebook), "--html", str(page)]) == 0
    text = page.read_text()
    paragraph = '<p>See <a href="#pass=1&amp;line=3">line 3</a> of <code>x</code>, &lt;i&gt;not&lt;/i&gt; this).</p>'
    assert text.count("<h1>The title</h1>") == 1
    assert text.index(paragraph) < text.index("%load_ext irwidget") < text.index('data-bundle="viewer"')
    assert text.count('data-bundle="viewer"') == 2, "a view for each cell that lowered something"
    assert "<script" in text
    assert "http://" not in text.replace("http://www.w3.org", "")


def test_a_notebook_of_kernels_and_programs_shows_their_own_views(tmp_path):
    spyre = "import torch\ndef f(a):\n    return torch.exp(a)\na = torch.zeros(64, 128, dtype=torch.float16)"
    cells = [
        "%load_ext irwidget",
        f"%%lower --to spyre_superdsc,spyre_host\n{spyre}",
        f"%%lower --to helion_mlir{HELION}",
        "import irwidget.spyre\nprogram = irwidget.spyre.compile(f, [a], name='again')\nprogram",
        "program",
    ]
    notebook = tmp_path / "n.ipynb"
    notebook.write_text(json.dumps({"cells": [{"cell_type": "code", "source": [cell]} for cell in cells]}))
    assert cli.main(["export", str(notebook), "--html", str(tmp_path / "n.html")]) == 0
    text = (tmp_path / "n.html").read_text()
    views = {name: text.count(f'data-bundle="{name}"') for name in ("spyre", "helion", "viewer")}
    assert views == {"spyre": 2, "helion": 1, "viewer": 3}
    assert all(text.count(f'id="irw-bundle-{name}"') == 1 for name in views)
    assert "spyre_host" in text
    assert "again" in text


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["x = 1", "# words", "assert x == 2, x"], "code cell 2 fails: 1"),
        (["x = 1", "x =", "1 / 0"], "code cell 2 fails: invalid syntax"),
        (["x = 1", "# words"], "lowers nothing: no cell begins with %%lower or %lower, or ends with a lowering"),
        ([{"source": []}], "is no notebook: it has no cells, or none with a type and a text"),
    ],
)
def test_a_notebook_that_gives_no_page_says_which_cell(cells, said, tmp_path, capsys):
    kinds = {True: "markdown", False: "code"}
    made = [{"cell_type": kinds[one[0] == "#"], "source": [one]} if isinstance(one, str) else one for one in cells]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": made}))
    before = os.getcwd()
    assert cli.main(["export", str(tmp_path / "n.ipynb"), "--html", str(tmp_path / "n.html")]) == 2
    assert said in capsys.readouterr().err
    assert (os.getcwd(), os.listdir(tmp_path)) == (before, ["n.ipynb"])


def test_a_notebook_is_run_in_its_folder_and_shows_what_each_cell_lowered_once(tmp_path):
    cells = ["# A *title*\n\n  Words of `x`\nin two lines.\n\nMore.", "not words"]
    code = ["import irwidget", "low = irwidget.lower(open('a.mlir').read(), to='raw_ir')\nlow", "x = 2", "low"]
    made = [{"cell_type": "markdown" if at < 1 else "raw", "source": [one]} for at, one in enumerate(cells)]
    (tmp_path / "n.ipynb").write_text(
        json.dumps({"cells": made + [{"cell_type": "code", "source": one.splitlines(True)} for one in code]})
    )
    (tmp_path / "a.mlir").write_text("module {\n}\n")
    parts = notebooks.told(tmp_path / "n.ipynb")
    assert [(part.words, part.code, len(part.lowerings)) for part in parts] == [
        (cells[0], "", 0),
        *(("", one, int(one.endswith("\nlow"))) for one in code),
    ]
    assert notebooks.introduction(tmp_path / "n.ipynb") == ("A *title*", "Words of x in two lines.")
    (tmp_path / "bare.ipynb").write_text(json.dumps({"cells": []}))
    assert notebooks.introduction(tmp_path / "bare.ipynb") == ("bare", "")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["lowr"], 2, "Did you mean lower"),
        (["lower", "nowhere.py", "--to", "tosa_mlir"], 2, "no file nowhere.py"),
        (["export", "nowhere.ipynb"], 2, "no file nowhere.ipynb"),
        (["lower"], 2, "takes one file"),
        (["lower", "--interactive"], 2, "no option '--interactive': it is for %%lower in a notebook"),
        (["export", __file__], 2, "is no notebook"),
    ],
)
def test_bad_commands(words, code, message, capsys):
    assert cli.main(words) == code
    assert message in capsys.readouterr().err


def test_lowerings_and_models_of_one_name_are_told_apart():
    dumps = (dump("input", "module {\n}\n", step=-1),)
    names = ["f", "", "f", "g", ""]
    found = commands._by_name([Lowering(Trace("raw_ir", dumps, (), name=name)) for name in names])
    assert [(key, low.name) for key, low in found.items()] == [
        ("f:0", "f"), ("1", ""), ("f:2", "f"), ("g", "g"), ("4", "")
    ]  # fmt: skip
    models = [Candidate(name, None, ()) for name in ("f", "g", "f", "f")]
    assert list(commands.named(models)) == ["f", "g", "f_2", "f_3"]
    keys = [
        commands._key("f", "tosa_mlir", models[:several], ["x"] * wanted) for several in (1, 2) for wanted in (1, 2)
    ]
    assert keys == ["tosa_mlir", "tosa_mlir", "f", "f:tosa_mlir"]


def test_tables(capsys):
    assert cli.main(["targets"]) == cli.main(["doctor"]) == 0
    assert "spyre_superdsc" in capsys.readouterr().out


GUARDED = """
import sys, torch
class Net(torch.nn.Module):
    def forward(self, x, scale: float = 2.0):
        return torch.relu(x) * scale
def main():
    import irwidget
    from beside import SHAPE
    assert sys.argv == [__file__]
    irwidget.explore(Net(), torch.ones(SHAPE), scale=4.0)
    irwidget.explore(Net(), torch.ones(5), name="five")
if __name__ == "__main__":
    main()
    sys.exit(0)
"""
IN_MAIN = (
    TRITON
    + """
def main():
    add[(4,)](x, y, out, 1000, BLOCK=256)
    print(out.sum().item())
if __name__ == "__main__":
    main()
"""
)
FILES = {
    "several IR types": (
        MODEL,
        "--to tosa_mlir,torch_script_graph_ir",
        0,
        ["net -> tosa_mlir", "net -> torch_script_graph_ir"],
        "",
    ),
    "pairs in main": (GUARDED, "--to tosa_mlir --no-dumps", 0, ["tensor<3xf32>", "tensor<5xf32>"], ""),
    "Triton launch": (TRITON + LAUNCH, "--to triton_ir --no-dumps", 0, ["tt.load"], ""),
    "Triton launch in main": (IN_MAIN, "--to triton_gpu_ir --arch sm_80", 0, ["#ttg.blocked"], ""),
    "Triton launch for AMD": (IN_MAIN, "--to triton_amdgpu --no-dumps", 0, [".amdhsa_kernel add"], ""),
    "Triton launch, then an error": (
        TRITON + LAUNCH + "1 / 0\n",
        "--to triton_ir",
        1,
        ["add -> triton_ir"],
        "ZeroDivisionError",
    ),
    "Triton kernel that does not compile": (
        TRITON.replace("load(y", "load(z") + LAUNCH,
        "--to triton_ir",
        1,
        [],
        "file.py:8:59",
    ),
    "Triton launches, of which one does not compile": (
        f"{TRITON}{REFUSED}{LAUNCH}bad[(1,)](x, BLOCK=16)\n",
        "--to triton_ir --json -o add.mlir",
        1,
        ['"name": "add"', '"name": "bad"', '"failure": {"pass": "ast-to-ttir"'],
        "bad does not compile",
    ),
    "no launch": (TRITON, "--to triton_ir", 2, [], "add[grid](x, y, out, n, BLOCK)"),
    "Helion": (HELION, "--to helion_mlir --aten tosa --no-dumps", 0, ["tosa.add"], ""),
    "Helion to Triton": (HELION + "plus(a, b)\n", "--to triton_ir", 0, ["plus -> triton_ir"], ""),
    "Spyre": (
        "import torch\ndef f(a):\n    return torch.exp(a)\na = torch.zeros(64, 128, dtype=torch.float16)\n",
        "--to spyre_opspec",
        0,
        ["spyre_opspec"],
        "",
    ),
    "printed IR": ("print('module {}')\n", "--to raw_ir", 0, ["module {"], ""),
    "printed IR through a pipeline": (
        "print('func.func @f() { return }')\n",
        "--to raw_ir --from python --pipeline 'mlir-opt --cse' --no-dumps",
        0,
        ["func.func @f()"],
        "",
    ),
    "prints nothing": ("x = 1\n", "--to raw_ir", 2, [], "the Python code printed nothing"),
    "an error of the file": ("import torch\n1 / 0\n", "--to tosa_mlir", 1, [], "line 2, in <module>"),
    "no Python": ("def f(x:\n", "--to tosa_mlir", 1, [], "SyntaxError: '(' was never closed"),
    "leaves early": ("import sys\nsys.exit(3)\n", "--to tosa_mlir", 1, [], "file.py ended with 3"),
    "ends its process": ("import os\nos._exit(3)\n", "--to tosa_mlir --json", 1, [], "ended by os._exit(3)"),
    "ends its process well": (
        "import os\nif pid := os.fork():\n    status = os.waitpid(pid, 0)[1]\n"
        "    print('module {}' if os.waitstatus_to_exitcode(status) == 7 else '')\n    os._exit(0)\nos._exit(7)\n",
        "--to raw_ir",
        0,
        ["module {"],
        "",
    ),
    "fails for some": (
        "import torch\ndef f(x):\n    return x if x.sum() > 0 else -x\nx = torch.ones(2)\n",
        "--to tosa_mlir,torch_script_graph_ir",
        1,
        ["f -> torch_script_graph_ir"],
        "file.py:3: return x if",
    ),
    "no model": ("x = 1\n", "--to tosa_mlir", 2, [], "Nothing to lower"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_does_what_a_cell_does(case, tmp_path, monkeypatch, capsys):
    source, words, code, printed, said = FILES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "beside.py").write_text("SHAPE = 3\n")
    (tmp_path / "file.py").write_text(source)
    before = sys.modules["__main__"], sys.argv, list(sys.path)
    assert cli.main(["lower", "file.py", *shlex.split(words)]) == code
    out, err = capsys.readouterr()
    assert [one for one in printed if one not in out] == []
    assert (said in err) if said else err == ""
    assert (sys.modules["__main__"], sys.argv, sys.path) == before


TTIR = "module {\n  tt.func public @k(%a: !tt.ptr<f32>) {\n    tt.return\n  }\n}\n"


@pytest.mark.parametrize(
    ("name", "text", "words", "code", "printed", "said"),
    [
        ("a.mlir", "module {\n}\n", "", 0, "a.mlir -> raw_ir", ""),
        ("a.ll", "define i32 @f(i32 %a) {\n  ret i32 %a\n}\n", "--pipeline 'opt -O2' --no-dumps", 0, "ret i32 %a", ""),
        ("a.ttir", TTIR, "--to triton_gpu_ir", 0, "a.ttir -> triton_gpu_ir", ""),
        ("a.mlir", "module {\n  retrn\n}\n", "", 1, "a.mlir -> raw_ir", "at line 2, column 3"),
        ("a.mlir", "module {\n}\n", "--to tosa_mlir", 2, "", "IR text starts at raw_ir"),
        ("a.txt", "print('module {}')", "--from python --to raw_ir", 0, "IR -> raw_ir", ""),
        ("a.mlir", b"\xff", "", 2, "", "a.mlir is no text: byte 0 is not UTF-8"),
        ("a.mlir", b"\xff\xfe", "", 2, "", "a.mlir is text in UTF-16: save it as UTF-8"),
    ],
)
def test_a_file_of_ir_is_lowered(name, text, words, code, printed, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert cli.main(["lower", name, *shlex.split(words)]) == code
    out, err = capsys.readouterr()
    assert printed in out
    assert (said in err) if said else err == ""


def test_a_page_has_what_could_be_made(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.py").write_text(FILES["fails for some"][0])
    words = ["lower", "file.py", "--to", "torch_script_graph_ir,tosa_mlir", "--html", "page.html"]
    assert cli.main(words) == 1
    assert capsys.readouterr().out == "wrote page.html\n"
    assert "torch.jit.trace" in (tmp_path / "page.html").read_text()


def test_the_near_file_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text("")
    assert cli.main(["lower", "modle.py", "--to", "tosa_mlir"]) == 2
    assert "There is no file modle.py. Did you mean model.py?" in capsys.readouterr().err


def test_standard_output_has_data_alone(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    said = "import os, torch\nprint('a line', flush=True)\nos.system('echo a child')\n"
    Path("file.py").write_text(f"{said}def f(x):\n    return x + 1\nx = torch.ones(2)\n")
    command = ["lower", "file.py", "--to", "torch_script_graph_ir"]
    for words, first in ((["--json"], '{"lowerings"'), (["-o", "-"], "graph(")):
        assert cli.main([*command, *words]) == 0
        out, err = capfd.readouterr()
        assert out.startswith(first)
        assert err.splitlines()[:2] == ["a line", "a child"]
    for line, code, kind in (
        ("1 / 0", 1, "ZeroDivisionError"),
        ("raise SystemExit(3)", 1, "SystemExit"),
        ("raise KeyboardInterrupt", 130, "KeyboardInterrupt"),
    ):
        Path("file.py").write_text(f"{said}{line}\n")
        assert cli.main([*command, "--json"]) == code
        out, err = capfd.readouterr()
        error = json.loads(err.splitlines()[-1])["error"]
        assert (out, error["type"], bool(error["notes"])) == ("", kind, code == 1)
    assert cli.main([*command]) == 130
    assert capfd.readouterr().out == "a line\na child\n"


def test_reports_are_data_too(tmp_path, capsys):
    for words in (["targets", "--json"], ["lower", "--targets", "--json"]):
        assert cli.main(words) == 0
        assert [one["name"] for one in json.loads(capsys.readouterr().out)["targets"]] == list(routes.targets())
    assert cli.main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["target"] for one in found["targets"]] == list(routes.targets())
    assert {"tool", "here", "locked", "llvm", "kind", "verdict"} == set(found["tools"][0])
    for words, why in (
        (["doctor", "--frob"], "takes --json and nothing else, not '--frob'"),
        (["lower", "--targets", "--doctor", "--json"], "leave one of them out"),
        (["open", "-", "--follow", "--json"], "leave one of them out"),
        (["lower", str(tmp_path)], "is a folder: irwidget open takes folders of dumps"),
        (["lower", os.devnull], f"{os.devnull} is no file"),
    ):
        assert cli.main([*words]) == 2
        assert why in capsys.readouterr().err
