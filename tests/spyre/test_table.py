"""Every worked case of the front end, field by field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from irwidget import UnsupportedError
from irwidget.spyre import compile
from irwidget.spyre.chunking import best_outer_split
from irwidget.spyre.division import encode_splits, granularity
from irwidget.spyre.layout import device_layout, transfer
from tests.spyre import cases

COMPILED = {case["name"]: case for case in cases.TABLE["compiled"]}
RULES = {rule["id"]: rule for rule in cases.TABLE["rules"]}


def of_kind(kind):
    return [pytest.param(rule, id=rule["id"]) for rule in RULES.values() if rule["kind"] == kind]


@pytest.mark.parametrize("name", [n for n, c in COMPILED.items() if not c["fails"]])
def test_a_program_is_what_the_front_end_makes(name):
    case = COMPILED[name]
    made = compile(cases.function(name), cases.inputs(case), cores=case["cores"], **case["options"]).to_dict()
    assert [cases.layout(i["device_layout"]) for i in made["inputs"]] == [i[3] for i in case["inputs"]]
    kernels = [cases.kernel(k) for k in made["kernels"]]
    for kernel, expected in zip(kernels, case["kernels"], strict=True):
        for op, wanted in zip(kernel["ops"], expected["ops"], strict=True):
            if "file" not in wanted:  # tile addresses in loops are ours
                del op["file"]
            assert op == wanted
        assert kernel == expected
    assert [cases.buffer(b) for b in made["op_level"]] == case["buffers"]
    if "loops" in case:
        assert made["loop_tree"] == case["loops"]
        assert made["n_sdsc_files"] == case["files"]
        assert made["named_dims"] == case["dims"]
    json.dumps(made)


@pytest.mark.parametrize("name", [n for n, c in COMPILED.items() if c["fails"]])
def test_what_the_front_end_refuses(name):
    reasons = {
        "var": "no OpFunc",
        "topk8": "not supported for this config",
        "sencores64": "invalid SENCORES value 64",
        "mm_f32": "batchmatmul on DataFormats.IEEE_FP32",
        "hint_workdiv_bad_divisor": "not evenly divisible by split=4",
    }
    case = COMPILED[name]
    with pytest.raises(UnsupportedError, match=reasons[name]):
        compile(cases.function(name), cases.inputs(case), cores=case["cores"], **case["options"])


@pytest.mark.parametrize("rule", of_kind("device_layout"))
def test_device_layouts(rule):
    made = device_layout(rule["host_shape"], rule["dtype"], rule["dim_order"], rule["host_strides"])
    assert [list(made.device_size), list(made.stride_map)] == [rule["device_size"], rule["stride_map"]]


@pytest.mark.parametrize("rule", of_kind("dma_loop_nest"))
def test_transfers(rule):
    made = transfer(device_layout(rule["host_shape"], rule["dtype"]))
    assert [list(made.ranges), list(made.device_strides), list(made.host_strides)] == [
        rule["loop_ranges"],
        rule["device_strides"],
        rule["host_strides"],
    ]


@pytest.mark.parametrize("rule", of_kind("work_division"))
def test_work_divisions(rule):
    if "inputs" not in rule:
        spec = cases.TensorSpec((1024, 128), dynamic={0: (64, 1024)})
        first, second = compile(lambda a: torch.exp(a * a), [spec], cores=rule["sencores"]).divisions
        assert list(first.splits.values()) == list(second.splits.values()) == [32, 1]
        assert first.units["d0"] == second.units["d0"] == 64
        return
    function = cases.matmul if len(rule["inputs"]) == 2 else cases.torch.abs
    specs = [cases.TensorSpec(shape, rule["dtype"]) for shape in rule["inputs"]]
    (division,) = compile(function, specs, cores=rule["sencores"]).divisions
    names = ("M", "N", "K") if function is cases.matmul else ("c0",)
    made = dict(zip(names, division.splits.values(), strict=False))
    assert made == rule["splits"]


def test_a_masked_mean_has_its_constants_as_the_real_front_end_writes_them():
    (kernel,) = compile(lambda x: x.mean(-1), [cases.TensorSpec((64, 100))]).kernels
    ((_, made),) = kernel.files()
    (described,) = made["0_mean"]["dscs_"][0].values()
    constants = {number: one["name_"] for number, one in described["constantInfo_"].items()}
    assert constants == {"0": "scaling_factor", "1": "samv-maskvalue"}
    assert described["maskingConstId_"] == 0


def test_granularity_of_dynamic_dims():
    assert granularity(512) == 16
    assert granularity(1024, 64) == 64


@pytest.mark.parametrize("rule", of_kind("restickify_cost"))
def test_restickify_is_the_cheaper_operand(rule):
    specs = [cases.TensorSpec(rule["A"], rule["dtype"]), cases.TensorSpec(rule["X"], rule["dtype"])]
    program = compile(lambda a, x: a.t() + x, specs)
    assert program.layouts.cost == rule["optimal_cost"]
    assert sum(edge.restickified for edge in program.layouts.edges) == 1


@pytest.mark.parametrize("rule", of_kind("split_encoding"))
def test_splits_are_stored_by_coefficient(rule):
    written, read = encode_splits(rule["splits"], {"i0": 4, "i1": 1}, {"i0": 16, "r0": 1})
    assert [{str(k): n for k, n in stored.items()} for stored in (written, read)] == rule["stored"]


@pytest.mark.parametrize("rule", of_kind("chunking"))
def test_spans_after_the_best_outer_split(rule):
    layout = device_layout(rule["host"], "float16")
    assert list(layout.device_size) == rule["device_size"]
    split, span = best_outer_split(layout, 2, 32)
    assert (split, span // 10**6) == (rule["best_split"], rule["per_core_span_MB"])


@pytest.mark.parametrize(
    ("name", "function", "shapes"),
    [
        ("add_4x128", cases.add, [(4, 128), (4, 128)]),
        ("mm_4x64x128", cases.matmul, [(4, 64), (64, 128)]),
    ],
)
def test_whole_superdsc_files(name, function, shapes):
    expected = json.loads((Path(cases.__file__).parent / "superdsc.json").read_text())[name]
    (kernel,) = compile(function, [cases.TensorSpec(s) for s in shapes], cores=2).kernels
    ((filename, made),) = kernel.files()
    assert filename == "sdsc_0.json"
    assert json.dumps(made) == json.dumps(expected)


@pytest.mark.parametrize(
    ("shape", "source", "target", "sizes", "gaps"),
    [
        ((48,), "float16", torch.float32, {"mb_": 1, "out_": 48}, [{}, {}]),
        ((1,), "float16", torch.float32, {"out_": 1, "x_": 64}, [{}, {"out": {"-1": "1"}}]),
        ((14, 1), "float32", torch.float16, {"out_": 14, "x_": 64}, [{}, {}]),
    ],
)
def test_the_sizes_of_a_cast_within_one_stick(shape, source, target, sizes, gaps):
    (kernel,) = compile(lambda x: x.to(target), [cases.TensorSpec(shape, source)]).kernels
    ((_, made),) = kernel.files()
    (dsc,) = next(iter(made.values()))["dscs_"][0].values()
    assert dsc["N_"] == {"name_": "n", **sizes}
    assert [node.get("backGapCore_", {}) for node in dsc["scheduleTree_"]] == gaps
    assert dsc["primaryDsInfo_"]["OUTPUT"]["layoutDimOrder_"] == [label[:-1] for label in sizes]
