"""Single nodes: normalise, import, inline."""

from __future__ import annotations

import operator
import re
from types import SimpleNamespace

import helion
import helion.language as hl
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from irwidget.errors import UnsupportedError, UsageError
from irwidget.helion import (
    TextBuilder,
    TorchMLIRNodeImporter,
    emit_kernel,
    import_aten_node_to_mlir,
    inline_torch_mlir_output,
    normalize_helion_node,
    synthesize_tensor_meta,
)
from irwidget.toolchain import mlir

ATEN = ("raw", "linalg-on-tensors", "tosa", "stablehlo")
aten = torch.ops.aten


def node(target, *shapes, args=(), dtype=torch.float32, **kwargs):
    graph = torch.fx.Graph()
    inputs = []
    for position, shape in enumerate(shapes):
        placeholder = graph.placeholder(f"x{position}")
        placeholder.meta["val"] = torch.empty(shape, dtype=dtype, device="meta")
        inputs.append(placeholder)
    return graph.call_function(target, (*inputs, *args), kwargs)


@pytest.mark.parametrize("output_type", ATEN)
def test_imports_one_node(output_type: str):
    marks = {
        "raw": "torch.aten.mm",
        "linalg-on-tensors": "linalg.matmul",
        "tosa": "tosa.matmul",
        "stablehlo": "stablehlo.dot_general",
    }
    importer = TorchMLIRNodeImporter(output_type=output_type)
    text = importer.import_node(node(aten.mm.default, (4, 8), (8, 5)), [torch.empty(4, 8), torch.empty(8, 5)])
    assert marks[output_type] in text


@pytest.mark.parametrize("output_type", ATEN)
def test_tuple_results_come_back_as_several(output_type: str):
    text = import_aten_node_to_mlir(node(aten.max.dim, (4, 8), args=(1,)), output_type=output_type)
    builder = TextBuilder()
    results = inline_torch_mlir_output(text, ["%x"], builder)
    assert len(results) == 2


def test_what_is_no_aten_call_gives_none():
    assert import_aten_node_to_mlir(node(operator.add, (4,), (4,))) is None


def test_wrong_number_of_inputs():
    with pytest.raises(UsageError, match="2 tensor arguments, not 1"):
        TorchMLIRNodeImporter().import_node(node(aten.add.Tensor, (4,), (4,)), [torch.empty(4)])


def test_synthesises_tensor_meta():
    meta = synthesize_tensor_meta((torch.empty(2, 3, requires_grad=True), torch.empty(3, 2).T))
    assert meta[0].shape == (2, 3)
    assert meta[0].requires_grad
    assert meta[0].memory_format is torch.contiguous_format
    assert meta[1].stride == (1, 2)
    assert meta[1].memory_format is None
    assert not meta[0]["is_quantized"]
    assert meta[0][1] is meta[0]["dtype"] is torch.float32
    assert synthesize_tensor_meta(3) is None


def test_normalisation_removes_data_and_restores_arguments():
    n = node(aten.mul.Tensor, (4,), (4,))
    n.meta["val"] = torch.ones(4)
    n.meta["irwidget_arguments"] = (n.args, {})
    before = n.args
    n.args = (n.args[0], None)
    normalize_helion_node(n)
    assert n.args == before
    assert n.meta["val"].device.type == "meta"
    assert n.meta["tensor_meta"].shape == (4,)
    with FakeTensorMode():
        n.meta["val"] = fake = torch.empty(4)
    assert normalize_helion_node(n).meta["val"] is fake


@helion.kernel(config=helion.Config(block_sizes=[16]))
def squared(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        v = x[tile]
        out[tile] = torch.addcmul(v * v, v, v + y[tile])
    return out


@pytest.mark.parametrize(
    "bind", [lambda *args: squared.bind(args), lambda *args: emit_kernel(squared, args).binding.bound]
)
def test_a_visitor_that_takes_the_operands_from_the_nodes(bind):
    """As helion-mlir documents it: import a node, inline it, with an operand for every node among its arguments."""
    bound, builder, values = bind(torch.randn(40), torch.randn(40)), TextBuilder(), {}
    (graph,) = (info.graph for info in bound.host_function.device_ir.graphs)
    with bound.env, bound.host_function:
        for one in graph.nodes:
            values[one.name] = f"%{one.name}"
            if (text := import_aten_node_to_mlir(one, output_type="linalg-on-tensors")) is not None:
                operands: list[torch.fx.Node] = []
                torch.fx.map_arg((one.args, one.kwargs), operands.append)
                values[one.name] = inline_torch_mlir_output(text, [values[o.name] for o in operands], builder)
    inputs = re.findall(r"linalg.generic .* ins\(([^:]*) : ", builder.text)
    assert inputs == ["%v, %v", "%v, %load_1", "%v, %t4", "%t1, %t7"]


def test_dropped_arguments_that_may_have_been_several():
    n = node(aten.addcmul.default, (4,), (4,))
    n.args = (*n.args, None)
    with pytest.raises(UnsupportedError, match=r"dropped arguments of addcmul.*emit_kernel"):
        normalize_helion_node(n)


# --- inlining of text -----------------------------------------------------------------

INLINED = [
    (aten.softmax.int, [(4, 8)], (1,)),
    (aten.addmm.default, [(4, 5), (4, 8), (8, 5)], ()),
    (aten.max.dim, [(4, 8)], (1,)),
    (aten.gelu.default, [(4, 8)], ()),
    (aten.where.ScalarOther, [(4, 8)], ()),
    (aten.sum.dim_IntList, [(4, 8)], ([0],)),
    (aten.tril.default, [(4, 8)], ()),
    (aten.gather.default, [(4, 8)], ()),
]


@pytest.mark.parametrize("output_type", ["raw", "linalg-on-tensors", "tosa", "stablehlo"])
@pytest.mark.parametrize(("target", "shapes", "args"), INLINED[:4] + INLINED[5:7], ids=lambda v: str(v)[:24])
def test_inlined_text_is_the_same_function(output_type: str, target, shapes, args):
    """Inlining a function into a function of the same signature gives the same IR."""
    text = import_aten_node_to_mlir(node(target, *shapes, args=args), output_type=output_type)
    builder = TextBuilder()
    results = inline_torch_mlir_output(text, [f"%in{i}" for i in range(len(shapes))], builder)
    assert "#map" not in builder.text
    results = (results,) if isinstance(results, str) else results
    context = mlir.new_context()
    original = mlir.parse(text, context)
    function = original.body.operations[0]
    kinds = function.type
    parameters = ", ".join(f"%in{i}: {t}" for i, t in enumerate(kinds.inputs))
    types = ", ".join(map(str, kinds.results))
    again = mlir.parse(
        f"module {{ func.func @main({parameters}) -> ({types}) {{\n{builder.text}\n"
        f"return {', '.join(results)} : {types}\n}} }}",
        context,
    )
    assert str(again) == str(original)


def test_two_inlinings_share_a_builder():
    text = import_aten_node_to_mlir(node(aten.relu.default, (4, 8)), output_type="linalg-on-tensors")
    builder = TextBuilder()
    first = inline_torch_mlir_output(text, ["%x"], builder)
    second = inline_torch_mlir_output(text, [first], builder)
    kind = "tensor<4x8xf32>"
    body = f"func.func @f(%x: {kind}) -> {kind} {{\n{builder.text}\nreturn {second} : {kind}\n}}"
    assert mlir.parse(body, mlir.new_context()).operation.verify()


def test_arguments_of_regions_that_an_op_prints_itself_get_names_too():
    """A reduction of stablehlo of two results: `%arg1` and others of its body are names of the text around it, here."""
    text = import_aten_node_to_mlir(node(aten.max.dim, (4, 8), args=(1,)), output_type="stablehlo")
    builder = TextBuilder()
    assert "reducer(%arg1: " in text
    results = inline_torch_mlir_output(text, ["%arg1"], builder)
    kinds = "tensor<4xf32>, tensor<4xi64>"
    returned = f"return {', '.join(results)} : {kinds}"
    body = f"func.func @f(%arg1: tensor<4x8xf32>) -> ({kinds}) {{\n{builder.text}\n{returned}\n}}"
    assert mlir.parse(body, mlir.new_context()).operation.verify()
    assert "%arg" not in builder.text.replace("%arg1 init", "")


def test_aliases_of_aliases_are_written_out_but_not_in_strings():
    text = """!u = tensor<4xf32>
!t = tuple<!u>
func.func @f(%x: !t) -> !t {
  %0 = "a.b"(%x) {s = "!u"} : (!t) -> !t
  return %0 : !t
}"""
    builder = TextBuilder()
    assert inline_torch_mlir_output(text, ["%y"], builder) == "%t0"
    kind = "tuple<tensor<4xf32>>"
    assert builder.lines == [f'%t0 = "a.b"(%y) {{s = "!u"}} : ({kind}) -> {kind}']


def test_text_that_cannot_be_inlined_says_so():
    with pytest.raises(UsageError, match="no func"):
        inline_torch_mlir_output("module {}", [], TextBuilder())
    with pytest.raises(UsageError, match="takes 1 arguments, not 2"):
        inline_torch_mlir_output(import_aten_node_to_mlir(node(aten.relu.default, (4,))), ["%a", "%b"], TextBuilder())
    with pytest.raises(UsageError, match="globals"):
        inline_torch_mlir_output(
            "ml_program.global private mutable @seed(dense<0> : tensor<i64>) : tensor<i64>\nfunc.func @f() { return }",
            [],
            TextBuilder(),
        )


# --- as helion-mlir documents it --------------------------------------------------------


class Visitor:
    """What helion-mlir's visitor holds, for the method that its document gives."""

    def __init__(self, names: dict[str, str], output_type: str) -> None:
        self.ctx = SimpleNamespace(node_values=dict(names), aten_output_type=output_type)
        self.builder = TextBuilder()

    def visit(self, node: torch.fx.Node) -> str:
        text = import_aten_node_to_mlir(node, output_type=self.ctx.aten_output_type)
        operands: list[str] = []
        torch.fx.map_arg((node.args, node.kwargs), lambda n: operands.append(self.ctx.node_values[n.name]))
        return inline_torch_mlir_output(text, operands, self.builder)


def test_a_node_that_takes_one_tensor_twice_has_an_operand_for_each():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = torch.empty(4, device="meta")
    square = graph.call_function(aten.mul.Tensor, (x, x))
    visitor = Visitor({"x": "%tile"}, "linalg-on-tensors")
    assert visitor.visit(square).startswith("%")
    assert "ins(%tile, %tile : tensor<4xf32>, tensor<4xf32>)" in visitor.builder.text
    importer = TorchMLIRNodeImporter()
    assert importer.import_node(square, [torch.empty(4)]).count("%arg") < importer.import_node(
        square, [torch.empty(4)] * 2
    ).count("%arg")


def test_a_whole_graph_is_imported():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(aten.mul.Tensor, (x, x))
    z = graph.call_function(aten.exp.default, (y,))
    with FakeTensorMode():
        for one in (x, y, z):
            one.meta["val"] = torch.empty(4)
    graph.output((z,))
    text = TorchMLIRNodeImporter("linalg-on-tensors").import_graph(graph, "square_exp")
    assert "func.func @square_exp(%arg0: tensor<4xf32>) -> tensor<4xf32>" in text
    assert "math.exp" in text


def test_tensor_meta_is_a_dict():
    meta = synthesize_tensor_meta(torch.empty(2, 3))
    assert isinstance(meta, dict)
    assert (meta["shape"], meta["stride"], meta["is_quantized"]) == ((2, 3), (3, 1), False)
