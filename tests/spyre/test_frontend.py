"""The front end of a checkout, in a process of its own: an invented one, and the real one where there is a checkout."""

from __future__ import annotations

import os

import pytest
import sympy
import torch

from irwidget import spyre
from irwidget.errors import ToolError, UnsupportedError, UsageError
from irwidget.private_torch import SizeVarAllocator
from irwidget.spyre.capture import capture
from irwidget.spyre.options import make_options
from irwidget.spyre.picture import picture
from irwidget.spyre.upstream import graphs, stub
from irwidget.spyre.upstream.adapting import adapt
from tests.spyre.tinyfront import HOST, checkout

REAL = os.environ.get("IRWIDGET_TORCH_SPYRE", "")
"""A checkout of torch-spyre, for the tests that need one."""
SPECS = [spyre.TensorSpec((4, 128))]


def add(x):
    return x + x


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    with spyre.FrontEnd(checkout(tmp_path_factory.mktemp("tiny"))) as front:
        yield front, spyre.compile(add, SPECS, 2, frontend=front)


def test_its_passes_host_code_and_opspecs_are_shown(made):
    front, program = made
    assert front.semantics == f"torch-spyre 0.tiny, on torch {torch.__version__}"
    names = [(dump.name, dump.changed) for dump in program.trace.dumps]
    assert names == [
        ("capture", True),
        ("lower", True),
        ("first", True),
        ("second", False),
        ("opspec", True),
        ("host_module", True),
    ]
    assert program.trace.dumps[2].text == "op0: a tiny operation\nop1: a tiny operation\n"
    assert program.host == HOST
    assert [d.message for d in program.trace.diagnostics if d.message.startswith("SizeVarAllocator")]
    assert program.options.semantics == front.semantics
    assert picture(program)["semantics"] == front.semantics


def test_sizes_are_numbers_under_the_name_that_it_knows(monkeypatch):
    monkeypatch.setattr(SizeVarAllocator, "size_hint", None, raising=False)
    monkeypatch.delattr(SizeVarAllocator, "size_hint")  # and away again afterwards
    adapt()
    sizes, chosen = SizeVarAllocator(), sympy.Symbol("tmp0", integer=True)
    assert sizes.size_hint(sympy.Integer(3)) == 3
    with pytest.raises(TypeError):  # by which a front end knows what is chosen at run time
        sizes.size_hint(chosen)


def test_cores_reach_its_settings_and_its_tiles_are_drawn(made):
    _, program = made
    (op,) = picture(program)["ops"]
    assert [(d["size"], d["split"]) for d in op["dims"]] == [(4, 2), (128, 1)]
    assert op["cores"] == 2
    tiles = [[(tile["box"], tile["address"], tile["cores"]) for tile in t["tiles"]] for t in op["tensors"]]
    base = 1 << 34
    assert tiles == [
        [([[0, 1], [0, 127]], 0, [0]), ([[2, 3], [0, 127]], 256, [1])],
        [([[0, 1], [0, 127]], base, [0]), ([[2, 3], [0, 127]], base + 256, [1])],
    ]


def test_it_is_not_executed_and_says_why(made):
    _, program = made
    with pytest.raises(UsageError, match="is not executed: compile its function"):
        program.run(torch.zeros(4, 128))


@pytest.mark.parametrize(
    ("options", "said"),
    [({"beam_width": 3}, "no option 'beam_width'"), ({"unroll_loops": False}, "config has no unroll_loops")],
)
def test_an_option_that_it_has_not_is_refused(made, options, said):
    front, _ = made
    with pytest.raises((UsageError, ToolError), match=said):
        spyre.compile(add, SPECS, frontend=front, **options)
    assert spyre.compile(add, SPECS, 2, frontend=front).kernels  # and it goes on


def hinted(x):
    with spyre.spyre_hint(slices={"M": 2}), spyre.spyre_hint(work_div={"N": 2}):
        return x + x


def test_hints_and_names_of_dims_are_handed_on(made):
    front, _ = made
    program = spyre.compile(hinted, [spyre.TensorSpec((4, 128), dims=("M", "N"))], 2, frontend=front)
    hints = [{"_hint_1": {"slices": {"M": 2}}, "_hint_2": {"work_div": {"N": 2}}}]
    names = [("M", 4), ("N", 128), ([2, 4, 64], ["M", "N"])]
    assert program.trace.dumps[1].text == f"op0 {hints} {names}: a tiny operation\n"


def test_one_that_takes_no_names_of_dims_says_so(tmp_path):
    with (
        spyre.FrontEnd(checkout(tmp_path, named="")) as front,
        pytest.raises(ToolError, match="it does not take names of dims: .*declare_tensor_dim"),
    ):
        front.compile(hinted, [spyre.TensorSpec((4, 128), dims=("M", "N"))])


def test_a_folder_that_is_no_checkout_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"no checkout of torch-spyre: it has no torch_spyre/__init__\.py"):
        spyre.compile(add, SPECS, frontend=tmp_path)


@pytest.mark.parametrize(
    ("init", "said"),
    [
        ("import no_such_package", "needs the package no_such_package: install it"),
        ("from torch_spyre._inductor import gone", "cannot be imported here: ImportError: .*gone.*Its API has moved"),
    ],
    ids=["package", "moved"],
)
def test_a_front_end_that_cannot_be_imported_says_why(tmp_path, init, said):
    with pytest.raises(ToolError, match=said):
        spyre.compile(add, SPECS, frontend=checkout(tmp_path, init))


def test_what_it_refuses_is_refused_here_and_what_fails_in_it_fails(made):
    front, _ = made
    with pytest.raises(UnsupportedError, match=r"in second: Unsupported: nothing of this kind\n  at .*passes.py:\d+"):
        front.compile(add, SPECS, 4)
    with pytest.raises(ToolError, match="in second: ZeroDivisionError: division by zero") as caught:
        front.compile(add, SPECS, 3)
    dumps = caught.value.lowering.trace.dumps
    assert [dump.name for dump in dumps][:3] == ["capture", "lower", "first"]
    assert "op1" in dumps[2].text


def test_one_that_dies_or_takes_too_long_costs_a_compilation(made):
    front, program = made
    with pytest.raises(ToolError, match="died while compiling: its process was killed by SIGABRT"):
        front.compile(add, SPECS, 6)
    again = front.compile(add, SPECS, 2)
    assert [dump.text for dump in again.trace.dumps] == [dump.text for dump in program.trace.dumps]
    front.seconds = 0.5
    with pytest.raises(ToolError, match=r"took more than 0\.5 s while compiling"):
        front.compile(add, SPECS, 5)


def test_the_extension_lays_out_as_it_is_told_and_refuses_by_its_own_errors():
    made = stub.SpyreTensorLayout([4, 128], [128, 1], torch.float16, [0, -1])
    for given in (made.device_size, made.stride_map):
        given.append(9)  # the front end changes what it is given
    assert (made.device_size, made.stride_map) == ([1, 4, 64], [-1, 128, -1])
    with pytest.raises(RuntimeError, match="Incompatible host_size and dim_order"):
        stub.SpyreTensorLayout([4, 128], [128, 1], torch.float16, [1])
    with pytest.raises(RuntimeError, match="Unsupported tensor rank: 7"):
        stub.SpyreTensorLayout([2] * 6, [32, 16, 8, 4, 2, 1], torch.float16, [0, 1, 2, 3, 4, 5, -1])


def test_graphs_arrive_node_by_node_also_what_reads_no_input():
    def filled(x):
        x[0:1] = torch.arange(128).half() + torch.tensor(2.0)
        return x + torch.ones(128)

    captured = capture(filled, SPECS, make_options(32, {}))
    sent = graphs.unpacked(graphs.packed(captured, {}))
    module = graphs.rebuilt(sent)
    assert str(module.graph) == str(captured.graph.graph)
    x = torch.randn(4, 128).half()
    for got, want in zip(module(x.clone()), captured.graph(x.clone()), strict=True):
        assert torch.equal(got, want)


def rows_and_columns(x):
    with spyre.spyre_hint(work_div={"M": 4}):
        return x * 2


def attention(q, k, v, mask):
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)


def by_hand(q, k, v, mask):
    return torch.softmax(q @ k.transpose(-2, -1) / 8 + mask, -1) @ v


HEADS = [spyre.TensorSpec((1, 4, 128, 64))] * 3


@pytest.mark.skipif(not REAL, reason="IRWIDGET_TORCH_SPYRE names no checkout of torch-spyre")
def test_the_real_front_end_takes_attention_and_hints_as_ours_does():
    with spyre.FrontEnd(REAL) as real:
        for function, specs in (
            (attention, [*HEADS, spyre.TensorSpec((128, 128))]),
            (by_hand, [*HEADS, spyre.TensorSpec((128, 128))]),
            (rows_and_columns, [spyre.TensorSpec((128, 256), dims=("M", "N"))]),
        ):
            found = spyre.compare(spyre.compile(function, specs, frontend=real), spyre.compile(function, specs))
            assert found.equal, str(found)


@pytest.mark.skipif(not REAL, reason="IRWIDGET_TORCH_SPYRE names no checkout of torch-spyre")
def test_the_real_front_end_writes_what_ours_does():
    def softmax(x, w, b):
        return torch.softmax(x @ w + b, -1)

    specs = [spyre.TensorSpec((512, 256)), spyre.TensorSpec((256, 1024)), spyre.TensorSpec((1024,))]
    ours, real = spyre.compile(softmax, specs), spyre.compile(softmax, specs, frontend=REAL)
    found = spyre.compare(real, ours)
    assert found.equal, str(found)
    assert [[t.tiles for t in op.tensors] for _, op in ours.tiled] == [
        [t.tiles for t in op.tensors] for _, op in real.tiled
    ]
