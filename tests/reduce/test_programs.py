"""Python programs made small: PyTorch as graphs, and files by their syntax tree."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import irwidget
from irwidget import ExportError, UsageError, cli
from irwidget.frontends.torch import traced
from irwidget.reducing import exported, graph, python
from irwidget.reducing.engine import Plain
from tests.models import MLP


class Eigen(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*(layer for _ in range(3) for layer in (nn.Linear(16, 16), nn.GELU())))

    def forward(self, x):
        y = self.layers(x)
        values, vectors = torch.linalg.eigh(y)
        return self.layers(values + 1), vectors


def test_a_graph_is_the_program():
    """Run as Python, what stands for a model has its calls and gives results of its shapes and dtypes."""
    model, x = Eigen().eval(), torch.randn(16, 16)
    program = exported.program(traced(model, (x,), {}, None, "Eigen"))
    namespace = {}
    exec(program.text.replace("irwidget.explore(", "found = ("), namespace)
    made, *inputs = namespace["found"]
    expected, given = model(x), made(*inputs)
    assert [(one.shape, one.dtype) for one in given] == [(one.shape, one.dtype) for one in expected]
    assert len(program.nodes) == graph.count(program) == 6 + 3 + 1 + 6
    assert sum(one.weight for one in program.given) == 6


def told(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Calls with dtypes, devices, lists and numbers that Python has no words for."""
    far = x.clamp(max=float("-inf")), torch.full((2,), float("nan"), dtype=torch.float16, device="cpu")
    return x.to(torch.float64), x.sum([0, 1], dtype=torch.float64), *far, x.div(2, rounding_mode="floor")


def test_arguments_of_a_graph_are_written_as_python():
    program = exported.program(traced(told, (torch.ones(2, 3),), {}, None, "told"))
    namespace = {}
    exec(program.text.replace("irwidget.explore(", "found = ("), namespace)
    made, x = namespace["found"]
    torch.testing.assert_close(made(x), told(x), rtol=0, atol=0, equal_nan=True)


def test_what_is_left_of_a_graph_is_a_graph():
    program = exported.program(traced(Eigen().eval(), (torch.randn(16, 16),), {}, None, "Eigen"))

    def holds(tried):
        assert graph.shaped(tried) is not None, tried.text
        return ".linalg_eigh.default(" in tried.text

    *_, best = graph.smaller(program, Plain(holds))
    assert [node.function for node in best.nodes] == ["torch.ops.aten.linalg_eigh.default", "operator.getitem"]
    assert [(one.name, one.of.shape, one.weight) for one in best.given] == [("gelu_2", (1, 1), False)]
    *_, best = graph.smaller(program, Plain(lambda tried: bool(graph.shaped(tried)) and ".linear." in tried.text))
    weight = ("p_layers_0_weight", (1,), False)  # as an input
    assert [(one.name, one.of.shape, one.weight) for one in best.given] == [weight, ("x", (1,), False)]
    assert "linear = torch.ops.aten.linear.default(x, p_layers_0_weight)\n        return linear\n" in best.text


def test_a_model_that_cannot_be_lowered_becomes_small():
    with pytest.raises(ExportError) as error:
        irwidget.lower(Eigen().eval(), torch.randn(16, 16), to="linalg_on_tensors_mlir")
    reduced = error.value.lowering.reduce()
    assert (reduced.operations, reduced.complete, reduced.language) == (2, True, "python")
    assert (reduced.failure.kind, reduced.failure.pass_name) == ("unsupported", "front end (pytorch)")
    assert "linalg_eigh" in reduced.text
    assert "Linear" not in reduced.text
    assert "--to linalg_on_tensors_mlir" in reduced.report
    assert "\nVersions: torch 2." in reduced.report
    assert reduced.tools.keys() == {"torch", "torch-mlir"}, "no tool ran"
    namespace = {}
    exec(reduced.text.replace("irwidget.explore(", "found = ("), namespace)
    with pytest.raises(ExportError, match="linalg_eigh"):
        irwidget.lower(*namespace["found"], to="linalg_on_tensors_mlir")


class Branching(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def test_what_no_graph_says_is_refused():
    dynamic = {"x": {0: torch.export.Dim("n", min=2, max=64)}}
    with pytest.raises(UsageError, match="dynamic shapes"):
        irwidget.reduce(MLP(), torch.randn(4, 8), to="tosa_mlir", dynamic_shapes=dynamic)
    for model, why in (
        (torch.nonzero, "its calls are not those of a plain graph"),
        (Branching(), "control flow .true_graph_0."),
    ):
        with pytest.raises(UsageError, match=f"cannot be taken apart: .*{why}"):
            exported.program(traced(model, (torch.ones(4),), {}, None, "f"))
    low = irwidget.lower("func.func @f() {\n  return\n}", to="raw_ir")
    with pytest.raises(UsageError, match=r"low.reduce\(\) makes that small"):
        low.reduce(program=True)
    with pytest.raises(UsageError, match="The file is no Python"):
        irwidget.reduce("def f(:\n  pass\n", to="tosa_mlir")


SOURCE = '''\
import os

# a comment
def unused(a, b):
    """Says something."""
    return a + b


def wanted(x, y, n):
    total = 0
    for i in range(n):
        if i % 2:
            total = total + max(x, y) * 3
    with open(os.devnull) as file:
        total += len(file.read())
    return helper([total, x, y], key=1)


def helper(values, key):
    return values


wanted(1, 2, n=8)
'''


def test_statements_parameters_and_expressions_go():
    def holds(text):
        assert python.unbound(text) == set(), text
        return "max(" in text and "def wanted" in text

    normal = python.normal(SOURCE)
    *_, best = python.smaller(normal, Plain(holds))
    assert best == "def wanted():\n    max()\n"
    assert python.count(normal) == 10
    assert python.count(best) == 1


def test_what_nothing_uses_goes_at_once():
    tried = []

    def holds(text):
        tried.append(text)
        return "one(" in text and "def one" in text

    idle = "".join(
        f"class K{i}:\n    'Says.'\n    x = {i}\n    def f(self):\n        return self.x\n" for i in range(9)
    )
    source = python.normal(f"import os\n{idle}def one(x):\n    'Says.'\n    return x\none(1)\n")
    first, *_ = python.smaller(source, Plain(holds))
    assert (tried[0], first) == (first, "def one(x):\n    return x\none(1)\n")


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import a.b as c\nfrom x import y\nc, y, print, __name__, z", {"z"}),
        ("def f(q):\n  w = q\n  def g():\n    nonlocal w\n    return w + v\n  return [t for t in q]", {"v"}),
        ("@d.jit\ndef f(x: T) -> U:\n  global G\n  G = later\nlater = G", {"d", "T", "U"}),
        ("class K:\n  m = 1\n  def h(self):\n    return m\nfor i in K: i", {"m"}),
        ("from x import *\ny", set()),
    ],
)
def test_names_that_nothing_defines(source, names):
    assert python.unbound(source) == names


def test_a_parameter_goes_with_what_is_given_for_it():
    source = "def f(a, b):\n    return b\nf[4](1, b=f(2, 3))\n"

    texts = list(python.smaller(source, Plain(lambda text: text == source or ("return b" in text and "f[4](" in text))))
    assert any("def f(b)" in text or "def f()" in text for text in texts)
    assert all(not ("def f(b)" in text and "f[4](1, b" in text) for text in texts)


def test_what_is_given_by_name_goes_with_its_parameter():
    source = "def f(a, b):\n    return a\nf[4](1, b=f(2, 3))\n"
    (best,) = python.WAYS["parameters"](source, Plain(lambda text: "def f(a):" in text))
    assert best == "def f(a):\n    return a\nf[4](1)\n"


def test_what_a_loop_counts_has_a_value_without_it():
    source = "def f(n):\n    for i in range(n):\n        print(i)\n"
    *_, best = python.smaller(source, Plain(lambda text: "print(i)" in text))
    assert best == "def f():\n    i = 0\n    print(i)\n"


KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    z = tl.arange(0, 100)
    tl.store(y_ptr + offsets, x, mask=offsets < n)


x = torch.ones(1024)
kernel[(8,)](x, x, 1024, BLOCK=128)
"""


@pytest.mark.exhaustive
def test_a_triton_kernel_in_a_file_becomes_small(tmp_path, capsys):
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    assert (
        cli.main(["reduce", str(path), "--to", "triton_gpu_ir", "--arch", "sm_90", "-o", str(tmp_path / "s.py")]) == 0
    )
    said = capsys.readouterr()
    small = (tmp_path / "s.py").read_text()
    assert "power of" in said.out
    assert "irwidget lower program.py --to triton_gpu_ir --arch sm_90" in said.out
    assert python.count(small) <= 5 < python.count(KERNEL)
    assert "tl.arange(" in small
    assert not any(word in small for word in ("load", "store", "program_id"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("to", ["inductor_triton", "spyre_superdsc", "helion_mlir"])
def test_what_other_compilers_are_given_becomes_small(to):
    """Functions of torch.compile and Spyre, and a Helion kernel, whose result a tool of the user's own refuses."""
    function = (
        "def f(x, y):\n    a = torch.softmax(x @ y, -1)\n    b = torch.relu(a) * 2.0\n    return b + a\n"
        "irwidget.explore(f, *(torch.ones(64, 64, dtype=torch.float16) for _ in range(2)))\n"
    )
    kernel = (
        "import helion\nimport helion.language as hl\n@helion.kernel(config=helion.Config(block_sizes=[32]))\n"
        "def f(x: torch.Tensor) -> torch.Tensor:\n    out = torch.empty_like(x)\n    for tile in hl.tile(x.size(0)):\n"
        "        a = torch.exp(x[tile]) * 2\n        out[tile] = a + torch.erf(x[tile])\n    return out\n"
        "irwidget.explore(f, torch.ones(256))\n"
    )
    text = f"import irwidget\nimport torch\n{kernel if to == 'helion_mlir' else function}"
    reduced = irwidget.reduce(text, to=to, pipeline="user-tool false")
    assert reduced.before > 5 >= reduced.operations
    assert str(reduced.failure) == "false: false exited with and said nothing"


def test_what_the_command_line_says_no_to(tmp_path, capsys):
    path = tmp_path / "fine.py"
    path.write_text("import irwidget\nraise ValueError(1)\n")
    assert cli.main(["reduce", str(path)]) == 2
    assert "a Python file and --to TYPE" in capsys.readouterr().err
    assert cli.main(["reduce", str(path), "--to", "linalg_on_tensors_mlir", "--arch", "sm_1"]) == 2
    assert "There is no architecture 'sm_1'" in capsys.readouterr().err
    assert cli.main(["reduce", str(path), "--to", "linalg_on_tensors_mlir"]) == 2
    assert "The file itself ends with an error" in capsys.readouterr().err


def test_nothing_of_ours_outlives_a_reduction():
    """Neither processes nor threads."""
    script = (
        "import threading, irwidget\n"
        "text = 'func.func @f(%a: i32) -> i32 {\\n  %b = arith.muli %a, %a : i32\\n  return %b : i32\\n}'\n"
        "low = irwidget.lower(text, to='raw_ir', pipeline='mlir-opt --cse')\n"
        "assert low.reduce(lambda text: 'muli' in text).operations <= 3\n"
        "print([one.name for one in threading.enumerate() if 'try' in one.name])\n"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout.strip() == "[]"
