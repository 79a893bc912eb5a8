"""Coarse tiling: loop trees, addresses that advance over the stick-major layout, and the results."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
import torch

from irwidget import UnsupportedError, UsageError
from irwidget.spyre import TensorSpec, compile, declare_tensor_dim, name_tensor_dims, spyre_hint
from irwidget.spyre.bundlemlir import bundle_mlir

MLIR_OPT = shutil.which("mlir-opt") or shutil.which("/usr/lib/llvm-22/bin/mlir-opt")


def spec(shape, *dims):
    return TensorSpec(shape, "float16", dims=dims)


def nested(a, b, c):
    with spyre_hint(slices={"A": 2}), spyre_hint(tiles={"B": 4}):
        return (a + b) * c


def rows(x, y):
    with spyre_hint(num_tiles_per_dim={"M": 4}):
        return x @ y


def depth(x, y):
    with spyre_hint(slices={"K": 4}):
        return x @ y


def rows_and_depth(x, y):
    with spyre_hint(slices={"M": 2}), spyre_hint(slices={"K": 4}):
        return x @ y


def depth_and_rows(x, y):
    with spyre_hint(slices={"K": 4}), spyre_hint(slices={"M": 2}):
        return x @ y


def maximum_of_strips(a):
    with spyre_hint(slices={"B": 2}), spyre_hint(slices={"A": 4}):
        return torch.relu(a).amax(0)


def softmax(a):
    with spyre_hint(slices={"A": 4}):
        return torch.softmax(a, -1)


def total(a):
    with spyre_hint(slices={"A": 4}):
        return a.amax(0)


def inside_and_outside(a, b):
    with spyre_hint(slices={"A": 2}):
        y = a + b
        z = torch.relu(y)
    return z + y


CASES = [
    ("nested", nested, [((128, 512), "A", "B")] * 3, lambda a, b, c: (a + b) * c),
    ("matmul rows", rows, [((64, 128), "M", "K"), ((128, 256), "K", "N")], torch.matmul),
    ("matmul depth", depth, [((64, 256), "M", "K"), ((256, 256), "K", "N")], torch.matmul),
    ("rows, then depth", rows_and_depth, [((64, 256), "M", "K"), ((256, 256), "K", "N")], torch.matmul),
    ("depth, then rows", depth_and_rows, [((64, 256), "M", "K"), ((256, 256), "K", "N")], torch.matmul),
    ("maximum of strips", maximum_of_strips, [((256, 512), "A", "B")], lambda a: torch.relu(a).amax(0)),
    ("softmax", softmax, [((256, 512), "A", "B")], lambda a: torch.softmax(a, -1)),
    ("maximum", total, [((256, 512), "A", "B")], lambda a: a.amax(0)),
    ("inside and outside", inside_and_outside, [((128, 256), "A", "B")] * 2, lambda a, b: torch.relu(a + b) + a + b),
]


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize(("function", "inputs", "eager"), [pytest.param(*c[1:], id=c[0]) for c in CASES])
def test_tiles_give_the_eager_result(function, inputs, eager, unroll):
    torch.manual_seed(0)
    tensors = [torch.randn(shape).half() for shape, *_ in inputs]
    program = compile(function, [spec(shape, *dims) for shape, *dims in inputs], unroll_loops=unroll)
    want = eager(*tensors).float()
    assert torch.allclose(program.run(*tensors).float(), want, atol=2e-3 * want.abs().max().item())
    assert any(op["loop_depth"] for kernel in program.to_dict()["kernels"] for op in kernel["ops"])


def test_addresses_advance_by_device_offsets():
    specs = [spec((1024, 4096), "A", "B")] * 3
    (kernel,) = compile(nested, specs).kernels
    assert [arg.advances for arg in kernel.specs[0].args[:2]] == [(65536, 2097152)] * 2
    assert len(kernel.executions) == 16


def test_a_tiled_reduction_starts_from_its_identity_and_combines():
    program = compile(depth, [spec((512, 1024), "M", "K"), spec((1024, 2048), "K", "N")])
    fill, loop = program.to_dict()["kernels"]
    assert [op["opspec_op"] for op in fill["ops"]] == ["identity"]
    assert [(op["opspec_op"], op["loop_depth"]) for op in loop["ops"]] == [("batchmatmul", 1), ("add", 1)]
    assert loop["ops"][0]["iteration_space"] == {"c0": ["512", 4], "c1": ["2048", 8], "c2": ["256", 1]}
    assert "pool" in loop["ops"][0]["args"][2]["allocation"]


@pytest.mark.skipif(MLIR_OPT is None, reason="mlir-opt is not installed")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"unroll_loops": False},
        {"bundle_symbolic_args": True},
        {"unroll_loops": False, "bundle_symbolic_args": True},
    ],
)
@pytest.mark.parametrize("function", [softmax, maximum_of_strips, lambda a: torch.softmax(a, 0)])
def test_bundles_parse(function, options, tmp_path):
    for kernel in compile(function, [spec((256, 512), "A", "B")], cores=4, **options).kernels:
        path = tmp_path / "bundle.mlir"
        path.write_text(bundle_mlir(kernel, generic=True))
        subprocess.run([MLIR_OPT, "--allow-unregistered-dialect", str(path)], check=True, capture_output=True)


def test_symbolic_addresses():
    x = torch.randn(64, 512).half()
    program = compile(lambda a: torch.softmax(a, -1), [x], cores=4, lx_planning=False, bundle_symbolic_args=True)
    (kernel,) = program.kernels
    numbers = [s.id for s in kernel.symbols]
    assert numbers == [-1 - i for i in range(len(numbers))]
    top = next(iter(kernel.superdsc(kernel.executions[0]).values()))
    node = next(iter(top["dscs_"][0].values()))["scheduleTree_"][0]
    assert node["isStartAddrSymbolic_"] == 1
    assert node["startAddressCoreCorelet_"]["data_"] == {f"[{c}, 0, 0]": str(-1 - c) for c in range(4)}
    text = bundle_mlir(kernel)
    assert "%pool_base_addr" in text
    assert '"symbol_ids"=[-1, -2' in text


SCALED_ROWS = """\
#map_0 = affine_map<(d0)[s0] -> (s0 + 2048*d0)>
module {
\tfunc.func @sdsc_bundle(%arg_0_base_addr: !sdscbundle.input_arg<index>, \
%arg_1_base_addr: !sdscbundle.input_arg<index>) {
\t\t%arg_0 = sdscbundle.input_arg_extract value from %arg_0_base_addr : !sdscbundle.input_arg<index> -> index
\t\t%arg_1 = sdscbundle.input_arg_extract value from %arg_1_base_addr : !sdscbundle.input_arg<index> -> index
\t\t%c0 = arith.constant 0 : index
\t\t%c1 = arith.constant 1 : index
\t\t%loop_bound_0 = arith.constant 4 : index
\t\t%arg_0_core_offset_1024 = arith.constant 1024 : index
\t\t%arg_0_core_1024 = arith.addi %arg_0, %arg_0_core_offset_1024 : index
\t\t%arg_1_core_offset_1024 = arith.constant 1024 : index
\t\t%arg_1_core_1024 = arith.addi %arg_1, %arg_1_core_offset_1024 : index
\t\tscf.for %i_0 = %c0 to %loop_bound_0 step %c1 {
\t\t\t%addr_0 = affine.apply #map_0(%i_0)[%arg_0]
\t\t\t%addr_1 = affine.apply #map_0(%i_0)[%arg_0_core_1024]
\t\t\tsdscbundle.sdsc_execute (%addr_0, %addr_1) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2]}
\t\t\t%addr_2 = affine.apply #map_0(%i_0)[%arg_1]
\t\t\t%addr_3 = affine.apply #map_0(%i_0)[%arg_1_core_1024]
\t\t\tsdscbundle.sdsc_execute (%addr_2, %addr_3) {sdsc_filename="sdsc_1.json", "symbol_ids"=[-3, -4]}
\t\t}
\t\treturn
\t}
}
"""


def exp_of_exp(a):
    with spyre_hint(slices={"A": 4}):
        return torch.exp(torch.exp(a))


def test_each_core_has_its_addresses_in_a_counted_loop():
    loops = {"cores": 2, "unroll_loops": False}
    program = compile(exp_of_exp, [spec((64, 64), "A", "B")], **loops, bundle_symbolic_args=True)
    assert bundle_mlir(program.kernels[0]) == SCALED_ROWS
    assert not program.trace.diagnostics
    fixed = compile(exp_of_exp, [spec((64, 64), "A", "B")], **loops)
    assert 'sdsc_execute () {sdsc_filename="sdsc_1.json"}' in bundle_mlir(fixed.kernels[0])
    assert "at the addresses of the first" in fixed.trace.diagnostics[0].message


@pytest.mark.parametrize("unroll", [True, False])
@pytest.mark.parametrize(("function", "inputs"), [pytest.param(*c[1:3], id=c[0]) for c in CASES])
def test_a_bundle_passes_what_its_files_ask_for(function, inputs, unroll):
    specs = [spec(shape, *dims) for shape, *dims in inputs]
    for kernel in compile(function, specs, 4, unroll_loops=unroll, bundle_symbolic_args=True).kernels:
        asked = [{i for cores in kernel.addresses(one) for i in cores.values() if i < "0"} for one in kernel.executions]
        passed = re.findall(r'symbol_ids"=\[(.*?)\]', bundle_mlir(kernel))
        assert [set(filter(None, ids.split(", "))) for ids in passed] == asked


def test_one_address_that_moves_in_two_ways_is_two_symbols():
    def f(a):
        with spyre_hint(slices={"A": 4}):
            return a * a[:1]

    program = compile(f, [spec((64, 64), "A", "B")], cores=1, unroll_loops=False, bundle_symbolic_args=True)
    text = bundle_mlir(program.kernels[0])
    assert '(%addr_0, %arg_0, %addr_1) {sdsc_filename="sdsc_0.json", "symbol_ids"=[-1, -2, -3]}' in text


def test_names_of_what_is_made_inside():
    def f(a, names):
        with spyre_hint(slices={"A": 2}, named_dims=names):
            b = torch.full_like(a, 2.0)
        return a + b

    program = compile(lambda a: f(a, ["A", "B"]), [TensorSpec((128, 64))])
    assert [spec.loops for kernel in program.kernels for spec in kernel.specs] == [(2,), ()]
    x = torch.randn(128, 64).half()
    assert torch.equal(program.run(x), x + 2)
    with pytest.raises(UsageError, match=r"named_dims=\['A'\]\) names 1 dims, and buf1 \(copy\) has 2"):
        compile(lambda a: f(a, ["A"]), [TensorSpec((128, 64))])


def test_a_restickify_is_hinted_as_what_it_is_made_for():
    def f(a, b):
        with spyre_hint(work_div={"N": 2}):
            return torch.nn.functional.linear(a, b)

    program = compile(f, [spec((128, 64), "M", "K"), spec((256, 64), "N", "K")])
    moved, product = [[n for _, n in op.splits] for op in program.graph.ops if op.computed]
    assert moved == [2, 1]
    assert product == [1, 2, 1]


def test_names_given_inside_the_function():
    def f(x, y):
        declare_tensor_dim("M", 64)
        name_tensor_dims(x, ["M", "K"])
        return rows(x, y)

    program = compile(f, [TensorSpec((64, 128)), TensorSpec((128, 256))])
    assert program.kernels[0].specs[0].loops == (4,)


@pytest.mark.parametrize(
    ("scopes", "error", "message"),
    [
        ({"slices": {"A": 3}}, UnsupportedError, "does not divide into 3 tiles"),
        ({"slices": {"B": 16}}, UnsupportedError, "cut its sticks"),
        ({"slices": {"A": 2, "B": 2}}, UsageError, "one dim per scope"),
        ({"slices": {"X": 2}}, UsageError, "which no input has"),
        ({"slices": {"A": 0}}, UnsupportedError, "not positive"),
        ({"work_div": {"A": 2.5}}, UnsupportedError, "no integer"),
        ({"work_div": {"A": 64}}, UnsupportedError, "SENCORES"),
        ({"work_div": {"A": 16, "B": 4}}, UnsupportedError, "64 slices for 32 cores"),
        ({"work_div": {"A": 3}}, UnsupportedError, "not evenly divisible"),
    ],
)
def test_bad_hints(scopes, error, message):
    def f(a):
        with spyre_hint(**scopes):
            return torch.exp(a)

    with pytest.raises(error, match=message):
        compile(f, [spec((128, 512), "A", "B")])


def test_too_many_slices_are_refused_before_uneven_ones():
    def f(a):
        with spyre_hint(work_div={"A": 4, "B": 2}):
            return torch.exp(a)

    with pytest.raises(UnsupportedError, match="8 slices for 4 cores"):
        compile(f, [spec((128, 64), "A", "B")], cores=4)


@pytest.mark.parametrize("columns", [64, 512])
def test_more_than_one_split_reduction_is_refused(columns):
    def f(a):
        with spyre_hint(work_div={"A": 2, "B": 2}):
            return a.sum()

    with pytest.raises(UnsupportedError, match="more than one reduction dim"):
        compile(f, [spec((128, columns), "A", "B")])


def test_hints_can_be_ignored():
    program = compile(nested, [spec((128, 512), "A", "B")] * 3, ignore_hints=True)
    assert not any(s.loops for k in program.kernels for s in k.specs)
