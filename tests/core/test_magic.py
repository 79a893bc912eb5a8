"""%%lower and %lower in a real IPython shell."""

import io
import re
import threading
import time
from contextlib import redirect_stdout

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.terminal.interactiveshell import TerminalInteractiveShell

import irwidget
from irwidget.course import PASSES, Course
from irwidget.errors import UsageError, near
from irwidget.frontends.cell import variable
from irwidget.phases import TEXTS
from irwidget.progress import ProgressLine

NET = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
    def forward(self, x):
        return torch.relu(self.fc(x))
"""


@pytest.fixture(scope="module")
def shell():
    made = TerminalInteractiveShell.instance()
    made.run_line_magic("load_ext", "irwidget")
    made.run_cell(NET)
    yield made
    TerminalInteractiveShell.clear_instance()


@pytest.fixture
def run(shell):
    """Run a cell; gives what it printed, or raises what it raised."""

    def run(cell):
        shell.user_ns.pop("_lowering", None)
        out = io.StringIO()
        with redirect_stdout(out):
            result = shell.run_cell(cell)
        result.raise_error()
        return out.getvalue()

    return run


def test_a_cell_is_run_and_its_model_lowered(shell, run):
    printed = run("%%lower --to tosa_mlir --text\nnet = Net()\nx = torch.randn(2, 4)\nprint('ran')")
    assert printed.startswith("ran\n")
    assert "convert-torch-to-tosa" in printed
    assert "tosa.matmul" in shell.user_ns["_lowering"].text
    assert isinstance(shell.user_ns["net"], shell.user_ns["Net"])


def test_a_page_is_written_when_asked_for(shell, run, tmp_path):
    run(f"%%lower --to tosa_mlir,stablehlo_mlir --text --html {tmp_path}/page.html\nnet = Net()\nx = torch.randn(2, 4)")
    page = (tmp_path / "page.html").read_text()
    assert "<title>tosa_mlir; stablehlo_mlir</title>" in page
    assert "convert-torch-to-tosa" in page


PAIRINGS = {
    "first tensor that fits": ("y = torch.randn(3, 5)\nz = torch.randn(2, 4)\nnet = Net()", "tensor<2x4xf32>"),
    "parameter names": ("a = torch.randn(7, 4)\nx = torch.randn(2, 4)\nnet = Net()", "tensor<2x4xf32>"),
    "closing call": ("a = torch.randn(7, 4)\nx = torch.randn(2, 4)\nnet = Net()\nnet(a)", "tensor<7x4xf32>"),
    "function": ("def f(p, q):\n    return p @ q\np = torch.randn(5, 6)\nq = torch.randn(6, 7)", "tensor<5x7xf32>"),
    "a tuple of inputs": (
        "def f(p, q):\n    return p @ q\nexample_inputs = (torch.randn(5, 6), torch.randn(6, 7))",
        "tensor<5x7xf32>",
    ),
    "a dict of inputs": (
        "def f(p, q):\n    return p @ q\nq = 1\ngiven = {'q': torch.randn(6, 7), 'p': torch.randn(5, 6)}",
        "tensor<5x7xf32>",
    ),
    "lines of IPython's own": (
        "!true\nfiles = !true\n%time p = torch.randn(5, 6)\ndef f(p, q):\n    return p @ q\nq = torch.randn(6, 7)",
        "tensor<5x7xf32>",
    ),
    "explore": ("import irwidget\nirwidget.explore(Net(), torch.randn(3, 4))", "tensor<3x4xf32>"),
    "explorer's own call": ("__explore__(Net(), torch.randn(6, 4))", "tensor<6x4xf32>"),
    "explorer's own call, several inputs": (
        "class Two(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n"
        "__explore__(Two(), (torch.randn(5, 6), torch.randn(6, 7)))",
        "tensor<5x7xf32>",
    ),
    "submodules are no models": (
        "inner = nn.Linear(4, 4)\nnet = nn.Sequential(inner, nn.ReLU())\nx = torch.randn(9, 4)",
        "tensor<9x4xf32>",
    ),
}


@pytest.mark.parametrize("case", PAIRINGS)
def test_models_find_their_inputs(case, shell, run):
    cell, expected = PAIRINGS[case]
    run(f"%%lower --to tosa_mlir --text\n{cell}")
    assert isinstance(shell.user_ns["_lowering"], irwidget.Lowering)
    assert expected in shell.user_ns["_lowering"].dumps[-1].text
    assert "__explore__" not in shell.user_ns


def test_several_models_and_one_that_fails(shell, run):
    cell = (
        "class Bad(nn.Module):\n    def forward(self, x):\n        return torch.linalg.det(x @ x.T)\n"
        "good, bad, x = Net(), Bad(), torch.randn(2, 4)"
    )
    with pytest.raises(irwidget.PassError, match="linalg_det"):
        run(f"%%lower --to tosa_mlir --text\n{cell}")
    done = shell.user_ns["_lowering"]
    assert list(done) == ["good", "bad"]
    assert "tosa.matmul" in done["good"].text
    assert done["bad"].failure.pass_name == "convert-torch-to-tosa"


def test_the_line_numbers_are_those_of_the_cell(run):
    cell = "%%lower --to tosa_mlir\ndef f(x):\n    if x.sum() > 0:\n        return x\n    return -x\nx = torch.ones(2)"
    with pytest.raises(irwidget.ExportError, match=r"at In\[\d+\] line 3: if x.sum\(\) > 0:"):
        run(cell)


def test_line_magic_takes_objects_that_exist(shell, run):
    run("net = Net()\nx = torch.randn(2, 4)")
    run("%lower net x --to stablehlo_mlir,tosa_mlir --text --out both")
    assert list(shell.user_ns["both"]) == ["stablehlo_mlir", "tosa_mlir"]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%%lower --to tosa\nx = 1", "Did you mean tosa_mlir"),
        ("%%lower --to tosa_mlir\n\n%%time\nx = 1", "Put %%time above %%lower"),
        ("%%lower --too tosa_mlir\nx = 1", "no option '--too'"),
        ("%%lower\nx = 1", "Say what to lower to"),
        ("%%lower --to tosa_mlir\nx = 1", "found no model"),
        ("%%lower --to tosa_mlir\nnet = Net()", "no input that fits"),
        ("%%lower --to tosa_mlir --model nett --inputs x\nnet, x = Net(), torch.ones(2, 4)", "no variable 'nett'"),
        ("%%lower --to tosa_mlir\nnet = Net()\nx = torch.randn(3, 3)", "shapes do not fit"),
        ("%lower nothing --to tosa_mlir", "no variable 'nothing'"),
        ("%lower --to tosa_mlir", "needs the name of a model"),
        ("%%lower --to 'tosa_mlir\nx = 1", "No closing quotation"),
    ],
)
def test_bad_input_is_a_clear_error(cell, expected, run):
    with pytest.raises(irwidget.IRWidgetError) as caught:
        run(cell)
    assert expected in str(caught.value)
    assert caught.value._render_traceback_() == [f"{type(caught.value).__name__}: {caught.value}"]


@pytest.mark.parametrize("to", ["tosa_mlir", "triton_ir", "raw_ir --from python"])
@pytest.mark.parametrize(
    ("code", "said"),
    [("1 / 0", "ZeroDivisionError: division by zero"), ("def", "SyntaxError: invalid syntax"), ("raise E", "E: e")],
)
def test_an_error_of_the_cell_itself_ends_it_and_is_shown_once(to, code, said, shell, capsys):
    """What executes notebooks reports its name, and the page showed a second one, `AlreadyShown:`."""
    shell.user_ns["E"] = type("E", (Exception,), {"__str__": lambda _: "e"})
    error = shell.run_cell(f"%%lower --to {to}\n{code}").error_in_exec
    assert f"{type(error).__name__}: {error}".startswith(said)
    assert "_lowering" not in shell.user_ns
    printed = "".join(capsys.readouterr())
    assert printed.count(said.partition(":")[2]) == 1, printed
    assert "AlreadyShown" not in printed


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%%lower --to to", {"torch_mlir", "tosa_mlir"}),
        ("%%lower --to tosa_mlir --ti", {"--timeout"}),
        ("%lower net x --to tosa_mlir,st", {"tosa_mlir,stablehlo_mlir"}),
        ("%%lower --no", {"--no-dumps", "--no-elide"}),
    ],
)
def test_completion(line, expected, shell):
    with provisionalcompleter():
        assert expected <= {c.text for c in shell.Completer.completions(line, len(line))}


AS_WRITTEN = """user-tool awk '{print}' | user-tool sed 's/$x/{x}/' | mlir-opt --canonicalize=top-down=false"""


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("%%lower --to raw_ir --text", "\nmodule {}"),
        ("%lower text --to raw_ir --text", ""),
        ("%%lower --interactive --to raw_ir", "\nmodule {}"),
        ("%lower --interactive text", ""),
    ],
)
def test_ipython_expands_nothing_in_our_lines(line, body, run, shell):
    shell.user_ns.update(x=5, text="module {}\n")
    run(f'{line} --pipeline "{AS_WRITTEN}"{body}')
    made = shell.user_ns["_pipeline"] if "--interactive" in line else shell.user_ns["_lowering"]
    if "--interactive" in line:
        assert made.pipeline == AS_WRITTEN
        made.run()
        made = made.lowering
    assert [dump.text for dump in made.dumps] == ["module {\n}\n"] * 4
    assert [step.arguments for step in made.steps][:2] == ["awk '{print}'", "sed 's/$x/{x}/'"]


def test_the_command_that_shows_a_failure_again_is_quoted(run):
    with pytest.raises(irwidget.ToolError) as caught:
        run("""%%lower --to raw_ir --text --pipeline "user-tool sh -c 'exit $0' 3"\nmodule {}""")
    assert """--pipeline 'user-tool sh -c '"'"'exit $0'"'"' 3'""" in str(caught.value)


def test_tables(run):
    assert "tosa_mlir" in run("%lower --targets")
    doctor = run("%lower --doctor")
    assert "torch-mlir" in doctor
    assert "missing" not in doctor


def test_what_a_line_does_not_say_is_configured(shell, run):
    cell = "%%lower --to llvm_mlir --text {}\nnet = Net()\nx = torch.randn(2, 4)"
    assert "LowerMagics(Magics) options" in run("%config LowerMagics")
    try:
        run("%config LowerMagics.timeout = 0.001")
        with pytest.raises(irwidget.errors.ToolError, match=r"timed out \(after 0.001 s"):
            run(cell.format(""))
        run("%config LowerMagics.route = 'explorer'")
        run(cell.format("--timeout 60"))
        assert shell.user_ns["_lowering"].steps[-1].name == "explorer"
        run(cell.format("--timeout 60 --route robust"))
        assert shell.user_ns["_lowering"].steps[-1].name == "loops-to-llvm"
    finally:
        run("%config LowerMagics.timeout = 600")
        run("%config LowerMagics.route = 'robust'")


def test_the_course_of_a_lowering_has_phases_passes_and_the_time_before():
    course = Course("Net", 100.0)
    course.enter("torch.export", 100.0)
    course.enter("torch.export", 101.0)  # said again by a part of it
    course.enter("torch-mlir's importer", 102.0)
    course.enter("", 103.0)
    assert course.line(103.5) == "Net · 4 s"
    course.begin_pass("canonicalize", "mlir-opt", 104.0)
    course.begin_pass("cse", "mlir-opt", 105.0)
    assert [(one.name, one.seconds(107.0), one.began) for one in course.phases] == [
        ("torch.export", 2.0, None), ("torch-mlir's importer", 1.0, None), (PASSES, 3.0, 104.0),
    ]  # fmt: skip
    assert course.line(135.0) == "Net · mlir-opt · pass 2 cse for 30 s · 35 s"
    course.begin_pass("SROAPass", "opt", 135.0, over=True)  # taken from what a program printed
    assert course.line(138.0) == "Net · opt · pass 3 SROAPass ended 3 s ago · 38 s"
    again = Course("Net", 0.0, course.took(106.0))
    again.begin_pass("canonicalize", "mlir-opt", 1.0)
    assert again.line(2.0) == "Net · mlir-opt · pass 1 of 3 canonicalize for 1 s · 2 s, last time 6.0 s"


def test_a_phase_that_goes_on_after_another_is_one_phase():
    course = Course("Net", 0.0)
    for second, name in enumerate(("Dynamo", "AOTAutograd", "Dynamo", "", "AOTAutograd")):
        course.enter(name, float(second))
    course.enter("blink", 7.0)
    course.enter("AOTAutograd", 7.0001)
    assert [(one.name, round(one.seconds(8.0), 3)) for one in course.phases] == [("Dynamo", 2.0), ("AOTAutograd", 5.0)]
    assert course.phase is course.phases[1]
    assert course.line(8.0) == "Net · AOTAutograd · 8 s"


def test_a_result_that_waits_for_texts_can_be_told_to_stop(shell, capsys):
    told: list[bool] = []

    class Waits:
        def _repr_mimebundle_(self, **_):
            try:
                threading.Thread(target=lambda: told.append(line.stop())).start()
                time.sleep(10)
            except KeyboardInterrupt:
                return {"text/plain": "stopped"}
            return {"text/plain": "waited"}

    with ProgressLine(enabled=False) as line:
        line.begin("Net", "waits")
        time.sleep(0.01)
        line.finish()
        before = line.course.took(time.monotonic()).seconds
        line.show(Waits())
        assert not line.stop()
    assert (capsys.readouterr().out, told) == ("stopped\n", [True])
    line.begin("Net", "waits")
    assert line.course.last is not None
    assert line.course.last.seconds > before  # with the time until it was shown


def test_a_command_that_prints_its_passes_is_one_phase():
    course = Course("", 0.0)
    for number in (1, 2):
        course.hear(f"pass {number} cse", float(number))
    assert course.line(3.0) == "the command · pass 2 cse · 3 s"
    assert len(course.phases) == 1


def test_only_what_came_to_its_end_says_how_long_it_takes():
    line = ProgressLine(enabled=False)
    line.begin("Net", "failed")
    line.fail()
    line.begin("Net", "done")
    line.finish()
    line.begin("Net", "failed")
    assert line.course.last is None
    line.begin("Net", "done")
    assert line.course.last is not None
    assert line.course.last.passes == 0


def test_a_lowering_says_its_phases(shell):
    import torch

    with ProgressLine(enabled=False) as line:
        irwidget.lower(torch.nn.ReLU(), torch.randn(3), to="torch_mlir", progress=line.report)
    names = [
        one.name for one in line.course.phases if not one.name.startswith("the import of")
    ]  # where that is still on
    assert names == ["torch.export", "torch-mlir's importer", PASSES, TEXTS]
    assert line.course.passes > 1


@pytest.mark.parametrize(
    ("first", "shown"),
    [("%precision 3", "%precision 3"), ("y = %env HOME", "y = %env HOME"), ("!true \\\n  or so", None)],
)
def test_the_source_of_a_lowering_is_the_cell_as_it_was_written(shell, first, shown):
    cell = f"{first}\nimport torch, irwidget\ndef double(x):\n    return x + x\n"
    shell.run_cell(cell + "low = irwidget.lower(double, torch.ones(2), to='torch_mlir')", store_history=True)
    (text,) = shell.user_ns["low"].trace.sources.values()
    if shown is None:  # lines that IPython has joined: the numbers are those of what ran
        assert text.startswith("get_ipython().system('true    or so')\nimport torch")
    else:
        assert text == cell + "low = irwidget.lower(double, torch.ones(2), to='torch_mlir')\n"
    numbered = [place for place in shell.user_ns["low"].dumps[0].locations if place]
    assert "x + x" in text.split("\n")[numbered[0].line - 1]


def test_the_source_of_a_cell_with_the_magic_is_the_cell_as_it_was_written(shell):
    cell = "%%lower --to torch_mlir --text\nimport torch\ndef double(x):\n    return x + x\ndouble(torch.ones(2))\n"
    shell.run_cell(cell, store_history=True)
    assert list(shell.user_ns["_lowering"].trace.sources.values()) == [cell]


@pytest.mark.parametrize("first", ["%%lower --to torch_mlir", "%%lower --to triton_ir"])
def test_an_error_in_a_cell_is_of_the_cell_that_the_user_ran(shell, capsys, first):
    """IPython has counted on before: what a magic runs was called by the number of the next cell."""
    shell.run_cell("1", store_history=True)
    number = shell.execution_count
    shell.run_cell(f"{first}\nimport torch\nx = torch.ones(2)\n1 / 0", store_history=True)
    said = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert re.findall(r"In ?\[(\d+)\], line (\d+)", said) == [(str(number), "4")]
    assert shell.execution_count == number + 1
    shell.run_cell(f"{first}\nimport torch\nx = torch.ones(2)\n0 / 0")
    said = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert re.findall(r"In ?\[(\d+)\], line (\d+)", said) == [(str(number + 1), "4")], "it is in no history"
    shell.run_cell("2 / 0", store_history=True)
    said = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert re.findall(r"In ?\[(\d+)\], line (\d+)", said) == [(str(number + 1), "1")]


ROW = """
import torch
class Row(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 4)
    def forward(self, x, scale=None):
        return self.fc(x) if scale is None else self.fc(x) * scale
x = torch.randn(2, 4)
"""


@pytest.mark.parametrize(
    ("end", "name", "types"),
    [
        ("Row()(torch.randn(3, 4))", "Row", ["[3,4],f32"]),
        ("net = Row()\ny = net(torch.randn(5, 4))", "net", ["[5,4],f32"]),
        ("net = Row().half()\nprint(net(x.half(), scale=torch.ones(4).half()))", "net", ["[2,4],f16", "[4],f16"]),
        ("net = Row()\nnet(net(x)[:1])", "net", ["[1,4],f32"]),
        ("net = Row()\nwith torch.no_grad():\n    y = net(*[torch.randn(6, 4)])", "net", ["[6,4],f32"]),
        ("net = Row()\nif __name__ == '__main__':\n    print(net(x[:, :4][1:]))", "net", ["[1,4],f32"]),
        ("torch.compile(Row())(x[:1])", "Row", ["[1,4],f32"]),
        ("net = Row()\nnet.forward(x=x[:1], scale=x[0])", "Row", ["[1,4],f32", "[4],f32"]),
        (
            "from functools import partial\ny = torch.vmap(torch.neg)(x)\ndouble = partial(torch.add, alpha=1)\n"
            "twice = partial(lambda k, v: v * k, 2)\ntwice(x[:1])",
            "twice",
            ["[1,4],f32"],
        ),
        ("torch.vmap(Row())(torch.ones(3, 4))", "wrapped", ["[3,4],f32"]),
        ("net, other = Row(), torch.nn.ReLU()\nother(x[:1])", "other", ["[1,4],f32"]),
        ("def row(x, y):\n    return x + y\nrow(torch.ones(7), y=torch.ones(1, 7))", "row", ["[7],f32", "[1,7],f32"]),
        ("net = Row()\ny = [net(torch.randn(n, 4)) for n in (8, 9)]", "net", ["[2,4],f32"]),  # not its last line's
    ],
)
def test_the_call_at_the_end_of_a_cell_says_what_goes_in(shell, end, name, types):
    shell.run_cell(f"%%lower --to torch_mlir --text{ROW}{end}")
    low = shell.user_ns["_lowering"]
    assert low.name == name
    head = next(line for line in low.text.split("\n") if "func.func" in line)
    assert re.findall(r"%arg\d: !torch.vtensor<(.*?)>", head) == types
    assert not [one for one in shell.user_ns if "irwidget" in one and one != "irwidget"]
    assert shell.ast_transformers == []


@pytest.mark.parametrize(
    ("end", "shown"),
    [
        ("net(x) * 0", "[0., 0.]"),
        ("net(x);", ""),
        ("net(x); # a remark\n", ""),
        ("y = ';'\ny", "';'"),
        ("net(x);\n1 +", "SyntaxError"),
    ],
)
def test_a_semicolon_at_the_end_of_a_cell_keeps_its_value_back(shell, capsys, end, shown):
    begin = "import torch\nnet = torch.nn.ReLU()\nx = torch.ones(2)\n"
    before = shell.ast_node_interactivity
    shell.run_cell(f"%%lower --to torch_mlir --text\n{begin}{end}")
    said = re.sub(r"\x1b\[[\d;]*m", "", "".join(capsys.readouterr()))
    assert (shown in said) if shown else "tensor(" not in said
    assert shell.ast_node_interactivity == before


def test_what_a_closing_call_is_given_is_made_once(shell, capsys):
    shell.run_cell(f"%%lower --to torch_mlir --text{ROW}made = []\nRow()(made.append(1) or x)")
    assert shell.user_ns["made"] == [1]
    shell.run_cell(f"%%lower --to torch_mlir --text{ROW}Row()(x[0, :3])")
    said = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    assert "mat1 and mat2 shapes cannot be multiplied" in said
    assert "last_line.py" not in said
    assert re.findall(r"-> +(\d+) Row\(\)\(x\[0, :3\]\)", said) == ["10"]


def test_of_missing_variables_those_of_the_user_are_named(shell):
    given = {**shell.user_ns_hidden, "net": 1, "exit": 3, "_made": 4}
    with pytest.raises(irwidget.errors.UsageError, match=r"no variable 'y' to take for the input. Known: net, exit\.$"):
        variable("y", dict(sorted(given.items(), key=lambda one: one[0] == "exit")), "input")
    assert variable("_made", given) == 4


def test_of_words_as_near_the_first_are_suggested():
    known = ["sm_30", "sm_80", "sm_86", "sm_87", "sm_89"]
    assert near("sm_8", known) == "Did you mean sm_80 or sm_86 or sm_87?"
    assert near("sm_87x", known) == "Did you mean sm_87 or sm_80 or sm_86?"


DYNAMIC = "net, x, n = Net(), torch.ones(3, 4), torch.export.Dim.AUTO\n"


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("", "dynamic_shapes = ({0: n},)"),
        ("", "dynamic_shapes = {'x': {0: n}}\nnet(x)"),
        (" --model net --inputs x", "dynamic_shapes = [{0: n}]"),
        (" --dynamic-shapes shapes", "dynamic_shapes, shapes = ({1: n},), ({0: n},)"),
        ("", "dynamic_shapes = ({1: n},)\nirwidget.explore(net, x, dynamic_shapes=({0: n},))"),
        ("", "dynamic_shapes = ({0: n},)\nnet = torch.export.export(net, (x,), dynamic_shapes=dynamic_shapes)"),
    ],
)
def test_the_dynamic_shapes_of_a_cell_are_taken(shell, run, line, body):
    shell.user_ns["irwidget"] = irwidget
    run(f"%%lower --to torch_mlir --text{line}\n{DYNAMIC}{body}")
    assert "@main(%arg0: !torch.vtensor<[?,4],f32>) -> !torch.vtensor<[?,8],f32>" in shell.user_ns["_lowering"].text


def test_a_variable_of_that_name_that_is_no_dynamic_shapes_says_nothing(shell, run):
    run(f"%%lower --to torch_mlir --text\n{DYNAMIC}dynamic_shapes = False")
    assert "@main(%arg0: !torch.vtensor<[3,4],f32>)" in shell.user_ns["_lowering"].text


def test_dynamic_shapes_are_named_on_a_line_and_in_what_reproduces_it(shell, run):
    run(f"{DYNAMIC}shapes = ({{0: n}},)")
    run("%lower net x --to torch_mlir --dynamic-shapes shapes --text")
    assert "@main(%arg0: !torch.vtensor<[?,4],f32>)" in shell.user_ns["_lowering"].text
    run("%lower net x --to torch_mlir --dynamic-shapes shapes --interactive")
    made = shell.user_ns["_pipeline"]
    assert made.magic == "%%lower --to torch_mlir --model net --inputs x --dynamic-shapes shapes"
    assert made.call == "irwidget.lower(net, x, to='torch_mlir', dynamic_shapes=shapes)"


def test_dynamic_shapes_beside_ir_are_refused(run):
    run(f"{DYNAMIC}shapes = ({{0: n}},)")
    with pytest.raises(UsageError, match="which has no part in lowering IR text: leave it out"):
        run("%%lower --to raw_ir --dynamic-shapes shapes --pipeline 'mlir-opt --cse' --text\nmodule {}")


@pytest.mark.parametrize(
    ("line", "body", "said"),
    [
        (
            "--to torch_mlir",
            "dynamic_shapes = ({2: n},)",
            r"dynamic_shapes\[0\] names dimension 2 of an input with 2",
        ),
        (
            "--to torch_mlir",
            "dynamic_shapes = {'x': {-1: n}}",
            r"\['x'\] names dimension -1 .*; count from .*: 1",
        ),
        (
            "--to torch_mlir --dynamic-shapes shaped",
            "shapes = 1",
            "no variable 'shaped' to take for the dynamic",
        ),
        (
            "--to inductor_fx",
            "dynamic_shapes = ({0: n},)",
            "torch.export's, which has no part .*: torch.compile has",
        ),
        (
            "--to torch_mlir --dynamic-shapes shapes",
            "shapes = ({0: n},)\nnet = torch.export.export(net, (x,))",
            "which has made net already: give them to torch.export.export",
        ),
        (
            "--to torch_mlir",
            "dynamic_shapes = ({0: n},)\nnet = torch.jit.trace(net, x)",
            "A TorchScript program has",
        ),
    ],
)
def test_dynamic_shapes_that_would_say_nothing_are_refused(run, line, body, said):
    with pytest.raises(UsageError, match=said):
        run(f"%%lower {line} --text\n{DYNAMIC}{body}")


@pytest.mark.parametrize(("page", "said"), [("a cell", 2), (None, 0)])
def test_a_page_says_what_its_cell_waits_for_until_there_is_more_to_say(shell, capsys, monkeypatch, page, said):
    cleared = []
    monkeypatch.setattr("irwidget.imports.wait", lambda names=(), late=lambda: None: late())
    monkeypatch.setattr("irwidget.display.cell_id", lambda *_: page)
    monkeypatch.setattr("irwidget.magic.clear_output", lambda wait: cleared.append(wait))
    with pytest.raises(irwidget.UsageError):
        shell.run_cell_magic("lower", "--to tosa_mlir", "nothing = 0")
    assert capsys.readouterr().out == "importing what lowerings need, once in each kernel\n" * said
    assert cleared == [True] * said
    with pytest.raises(irwidget.IRWidgetError):
        shell.run_line_magic("lower", "nothing --to tosa_mlir")
    assert cleared == [True] * said, "what the cell has shown before stays"
