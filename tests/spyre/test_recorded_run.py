"""What a run leaves opens as the program that it was: host modules, bundle folders, damaged ones."""

from __future__ import annotations

import json
import math
import shutil

import pytest
import torch

import irwidget
from irwidget import spyre
from irwidget.errors import UnsupportedError, UsageError
from irwidget.spyre.expressions import Coordinate, Term
from irwidget.spyre.formats import DeviceFormat
from irwidget.spyre.layout import DeviceLayout
from irwidget.spyre.picture import picture
from irwidget.spyre.recorded.data import FoundArg, FoundBuffer, FoundCall, FoundKernel, FoundOp
from irwidget.spyre.recorded.hostcode import read_host
from irwidget.spyre.recorded.terms import coordinate
from tests.spyre import recorded

NAMES = [name for name, one in recorded.functions().items() if not one["error"]][::48]
"""Of the recorded functions those that are written and opened again."""


def attention(q, k, v):
    return torch.softmax(q @ k.transpose(-1, -2), -1) @ v


@pytest.fixture(scope="module")
def program():
    return spyre.compile(attention, [spyre.TensorSpec((4, 128, 64))] * 3, 8)


@pytest.fixture
def folder(program, tmp_path):
    return program.write(tmp_path / "run")


def files(program):
    return {kernel.name: dict(kernel.files()) for kernel in program.kernels}


def tiles(program):
    def of(tensor):
        return tensor.arg.allocation, [(x.address, x.bytes, x.run, x.repeats, x.cores) for x in tensor.tiles]

    return [(op.spec.op, [of(tensor) for tensor in op.tensors]) for _, op in program.tiled]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_opens_as_the_same_program(name, tmp_path):
    one = recorded.functions()[name]
    specs = [spyre.TensorSpec(shape, dtype, stride=stride) for shape, dtype, stride in one["inputs"]]
    made = spyre.compile(recorded.function(one["code"]), specs)
    again = spyre.open(made.write(tmp_path))
    assert files(again) == files(made)
    assert again.host == made.host
    assert recorded.ops_of(again) == recorded.ops_of(made)
    assert tiles(again) == tiles(made)
    assert [len(k["arguments"]) for k in picture(again)["kernels"]] == [
        len(k["arguments"]) for k in picture(made)["kernels"]
    ]
    assert again.write(tmp_path / "again")
    assert files(spyre.open(tmp_path / "again")) == files(made)


def test_boxes_are_those_of_the_tensors_that_the_host_module_names(program, folder):
    again = spyre.open(folder)
    known = {i.name for i in program.graph.inputs} | program.graph.output_buffers
    mine, theirs = (
        [
            (t.arg.name, [(x.box, x.cores) for x in t.tiles])
            for _, op in one.tiled
            for t in op.tensors
            if t.arg.name in known
        ]
        for one in (program, again)
    )
    assert mine == theirs
    assert len(mine) == 4


def test_a_bundle_alone_opens_with_what_its_files_say(program, folder):
    (kernel,) = program.kernels
    alone = spyre.open(folder / kernel.name)
    assert files(alone) == {kernel.name: dict(kernel.files())}
    assert spyre.compare(program, alone).equal
    assert [op.us for op in program.estimate().ops] == [op.us for op in alone.estimate().ops]
    drawn = picture(alone)
    assert drawn["semantics"] == "a recorded run"
    assert [op["func"] for op in drawn["ops"]] == [execution.spec.op for execution in alone.kernels[0].executions]
    assert [dump.name for dump in alone.trace.dumps] == ["opspec", "superdsc", "bundle_mlir"]


def test_a_host_module_alone_says_that_its_files_are_ours(program, folder):
    alone = spyre.open(folder / "host.py")
    assert alone.options.semantics == "OpSpecs of a recorded run; SuperDSC by ours, June 2026 semantics"
    assert recorded.ops_of(alone) == recorded.ops_of(program)


@pytest.mark.parametrize("written", ["IndirectAccess('arg1_1')", "sympify('IndirectAccess(arg1_1)')"])
def test_the_index_of_a_gather_is_read(tmp_path, written):
    program = spyre.compile(lambda x, i: x[i], [spyre.TensorSpec((8, 128)), spyre.TensorSpec((4,), "int64")])
    assert program.host.count("IndirectAccess('arg1_1')") == program.host.count(", name='arg1_1')") == 1
    (tmp_path / "host.py").write_text(program.host.replace("IndirectAccess('arg1_1')", written))
    again = spyre.open(tmp_path / "host.py")
    assert recorded.ops_of(again) == recorded.ops_of(program)
    assert not [d for d in again.trace.diagnostics if "no coordinate" in d.message]


def test_irwidget_open_shows_it_in_the_view_of_spyre_programs(folder):
    (low,) = irwidget.open(folder)
    assert low.program.recorded == str(folder)
    assert low.text == low.program.host
    page = low.to_html()
    assert 'data-bundle="spyre"' in page
    assert irwidget.open(folder).format == "spyre"
    (text,) = irwidget.open((folder / "host.py").read_text())
    assert [op.func for op in text.program.graph.ops] == [op.func for op in low.program.graph.ops]


def test_what_is_asked_of_a_recorded_program_and_is_not_known_is_refused(folder):
    from irwidget.spyre.recompile import recompile

    opened = spyre.open(folder)
    with pytest.raises(UsageError, match="was read from .* and is not executed"):
        opened.run()
    with pytest.raises(UsageError, match="does not know what it was compiled from"):
        recompile(opened, {"cores": 4})
    assert "why it is divided and placed so was not written down" in opened.explain()
    assert all(op["division"] is None for op in picture(opened)["ops"])


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda bundle: (bundle / "sdsc_0.json").write_text("{"), "sdsc_0.json is no SuperDSC"),
        (lambda bundle: (bundle / "sdsc_0.json").write_text("[]"), "an object is wanted"),
        (lambda bundle: _without(bundle / "sdsc_1.json", "numCoresUsed_"), "sdsc_1.json is no SuperDSC.*numCoresUsed_"),
        (shutil.rmtree, "neither SuperDSC files"),
    ],
    ids=["cut", "list", "field", "gone"],
)
def test_damaged_bundles_are_refused_by_name(program, folder, harm, said):
    (folder / "host.py").unlink()
    harm(folder / program.kernels[0].name)
    with pytest.raises(UsageError, match=said):
        spyre.open(folder)


def _without(path, field):
    ((name, top),) = json.loads(path.read_text()).items()
    path.write_text(json.dumps({name: {k: v for k, v in top.items() if k != field}}))


@pytest.mark.parametrize("text", ["x = 1\n", "x = (\n", "k = async_compile.sdsc('k', [OpSpec(op=1)])\n"])
def test_what_is_no_host_module_is_refused(tmp_path, text):
    (tmp_path / "host.py").write_text(text)
    with pytest.raises(UsageError, match=r"host\.py"):
        spyre.open(tmp_path / "host.py")


def test_there_is_no_such_path(tmp_path):
    with pytest.raises(UsageError, match="no file or folder"):
        spyre.open(tmp_path / "none")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("0", Coordinate()),
        ("c0 + 2", Coordinate((Term("c0"),), 2)),
        ("floor(c1/64)", Coordinate((Term("c1", 1, 0, 64),))),
        ("Mod(c1, 64)", Coordinate((Term("c1", 1, 64),))),
        ("2*Mod(floor(c1/64), 3) + c0", Coordinate((Term("c1", 2, 192, 64), Term("c0")))),
        ("floor(Mod(c1, 128)/64)", Coordinate((Term("c1", 1, 128, 64),))),
        ("IndirectAccess(arg1_1)", Coordinate(indirect="arg1_1")),
    ],
)
def test_coordinates_are_read_from_text(text, made):
    assert coordinate(text) == made
    if text != "floor(Mod(c1, 128)/64)":  # which is printed in the other way
        assert coordinate(str(made)) == made


@pytest.mark.parametrize("text", ["c0*c1", "Mod(2*c0, 3)", "sin(c0)", "c0 +", "__import__('os')"])
def test_other_coordinates_are_refused(text):
    with pytest.raises(UnsupportedError, match="no coordinate that is understood"):
        coordinate(text)


HOST = """
async_compile = SpyreAsyncCompile()
k0 = async_compile.sdsc("k0", [
    LoopSpec(sympify("2"), [
        LoopSpec(3, [OpSpec(op="add", is_reduction=False,
            iteration_space={sympify("c0"): (Integer(4), 2), Symbol("c1"): (64, 1)},
            args=[
                TensorArg(True, -1, DataFormats.SEN169_FP16, [1, 4, 64], [sympify("0"), "c0 + 2", "c1"],
                          {"lx": 128}, stride_map=[-1, 64, 1], name="arg0_1"),
                TensorArg(is_input=False, arg_index=0, device_dtype="x", device_size=[64],
                          device_coordinates=[IndirectAccess("i")], allocation={"hbm": "64"}),
            ],
            op_info={"constants": {"low": -inf, "high": inf, "f": float("2.5"), "minus": -(1, 2), **more}})],
            tiled_symbols=["c1"]),
        OpSpec("copy", True, {}, [], {}),
    ], [Symbol("c0")]),
    OpSpec("copy", True, {}, []),
    UnimplementedOp(op="sinc"),
])
second = other.triton("k1", [])
def unused(args):
    k0.run(z)
def call(args):
    arg0_1, arg1_1 = args
    args.clear()
    assert_size_stride(arg0_1, (4, 64), (64, 1))
    assert_size_stride(unknown, (4,), (1,))
    with device(0):
        buf0 = spyre_empty_with_layout((4, 64), (64, 1), torch.float16,
            SpyreTensorLayout([1, 4, 64], [-1, 64, 1], DataFormats.IEEE_FP32, element_arrangement="KN"))
        buf1 = spyre_empty_with_layout((4,), (1,), torch.float16, None)
        assert_size_stride(buf0, (9,), (1,))
        if True:
            k0.run(arg0_1, buf0[0], *rest)
        third.run(arg0_1)
    buf2 = reinterpret_tensor(buf0, (256,), (1,), 0)
    buf3 = as_strided(elsewhere, (2,), (1,))
    buf4 = spyre_constant_tensor(1.0, d, dtype=torch.int64)
    buf5 = spyre_constant_tensor(1.0, d)
    buf6 = torch.ops.aten.sort(arg0_1)
    buf7 = buf6[0]
    buf8 = buf2
    buf9 = 3
    del buf6
    wait()
    torch.sync(arg0_1)
    return buf2, buf8
"""


def test_a_host_module_is_read_statement_by_statement():
    """Loops in loops, numbers that are no literals, blocks, other names, and calls that launch nothing of ours."""
    args = (
        FoundArg(True, -1, "SEN169_FP16", (1, 4, 64), ("0", "c0 + 2", "c1"), "lx", 128, "arg0_1", (-1, 64, 1)),
        FoundArg(False, 0, "x", (64,), ("IndirectAccess(i)",), "hbm", 64),
    )
    constants = {"low": -math.inf, "high": math.inf, "f": 2.5, "minus": "-(1, 2)"}
    space = (("c0", 4, 2), ("c1", 64, 1))
    found = read_host(HOST, "host.py")
    assert found.kernels == (
        FoundKernel(
            "k0",
            (
                FoundOp("add", False, space, args, {"constants": constants}, ((0, 2), (1, 3)), ("c0", "c1")),
                FoundOp("copy", True, (), (), {}, ((0, 2),), ("c0",)),
                FoundOp("copy", True, (), (), {}),
            ),
            unimplemented="sinc",
        ),
    )
    laid = DeviceLayout((1, 4, 64), (-1, 64, 1), DeviceFormat("IEEE_FP32", 64), "KN")
    buffers = [
        FoundBuffer("arg0_1", (4, 64), (64, 1), kind="input"),
        FoundBuffer("arg1_1", (), (), kind="input"),
        FoundBuffer("buf0", (4, 64), (64, 1), "float16", laid),
        FoundBuffer("buf1", (4,), (1,), "float16"),
        FoundBuffer("buf2", (4, 64), (64, 1), "float16", laid),
        FoundBuffer("buf3", (), ()),
        FoundBuffer("buf4", (), (), "int64", kind="constant"),
        FoundBuffer("buf5", (), (), "float16", kind="constant"),
        FoundBuffer("buf6", (), (), kind="fallback"),
        FoundBuffer("buf7", (), (), kind="fallback"),
        FoundBuffer("buf8", (4, 64), (64, 1), "float16", laid),
    ]
    assert found.buffers == {one.name: one for one in buffers}
    assert found.calls == (
        FoundCall("k0", ("arg0_1", "buf0[0]")),
        FoundCall(text="third.run(arg0_1)"),
        FoundCall(text="torch.ops.aten.sort(arg0_1)", makes="buf6"),
        FoundCall(text="torch.sync(arg0_1)"),
    )
    assert found.outputs == ("buf2", "buf8")
    assert read_host("def call(args):\n    return arg0_1\n", "host.py").outputs == ("arg0_1",)
