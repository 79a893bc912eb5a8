"""Why one-shot-bufferize copies: what its analysis says, and that the outcome flips when the read goes."""

import json

import pytest
import torch

import irwidget
from irwidget import UsageError
from irwidget.bufferization import Bufferization
from irwidget.views.widget import PassDiff

SLICES = """\
func.func @f(%x: tensor<8xf32>, %v: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %w = tensor.insert_slice %v into %x[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  %r = tensor.extract_slice %x[2] [4] [1] : tensor<8xf32> to tensor<4xf32>
  return %w, %r : tensor<8xf32>, tensor<4xf32>
}
"""
KEPT = """\
func.func @f(%x: tensor<8xf32>, %v: tensor<4xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %w = tensor.insert_slice %v into %x[2] [4] [1] : tensor<4xf32> into tensor<8xf32>
  return %w, %x : tensor<8xf32>, tensor<8xf32>
}
"""
BUFFERIZE = "mlir-opt --one-shot-bufferize=bufferize-function-boundaries=true"


def lowered(text: str) -> irwidget.Lowering:
    return irwidget.lower(text, to="raw_ir", pipeline=BUFFERIZE)


def test_a_value_that_is_still_read_is_not_overwritten():
    low = lowered(SLICES)
    found = low.bufferization()
    before = found.dump.text.splitlines()
    (conflict,) = found.conflicts
    assert before[conflict.write.line - 1].lstrip().startswith("%inserted_slice = tensor.insert_slice")
    assert (conflict.write.operation, conflict.write.what) == ("tensor.insert_slice", "operand 1")
    assert (conflict.definition.operation, conflict.definition.what) == ("func.func", "argument 0")
    assert before[conflict.definition.line - 1].lstrip().startswith("func.func @f")
    assert before[conflict.read.line - 1].lstrip().startswith(("return", "%extracted_slice"))
    assert [(one.operand.what, one.operand.operation, one.conflicts) for one in found.own] == [
        ("operand 1", "tensor.insert_slice", (conflict,))
    ]
    assert "would overwrite argument 0 of func.func" in repr(found)
    assert low.text.count("memref.alloc()") == len(found.own)


def test_without_the_read_it_is_written_in_place():
    alone = SLICES.replace("(tensor<8xf32>, tensor<4xf32>) {", "tensor<8xf32> {").replace(
        "return %w, %r : tensor<8xf32>, tensor<4xf32>", "return %w : tensor<8xf32>"
    )
    low = lowered("\n".join(line for line in alone.splitlines() if "extract_slice" not in line) + "\n")
    found = low.bufferization()
    assert (found.own, found.conflicts) == ((), ())
    assert "memref.alloc" not in low.text


def test_attributes_behind_a_region_are_the_operations_that_opens_it():
    text = """\
func.func @f(%x: tensor<8xf32>, %n: index) -> (tensor<8xf32>, tensor<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v = arith.constant 1.0 : f32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%t = %x) -> tensor<8xf32> {
    %u = tensor.insert %v into %t[%i] : tensor<8xf32>
    scf.yield %u : tensor<8xf32>
  }
  return %r, %x : tensor<8xf32>, tensor<8xf32>
}
"""
    found = lowered(text).bufferization()
    assert [(one.operand.operation, one.operand.what) for one in found.own] == [("scf.for", "operand 3")]
    assert found.dump.text.splitlines()[found.own[0].operand.line - 1].lstrip().startswith("%0 = scf.for")


def test_of_a_model_lines_lead_to_the_users():
    class Model(torch.nn.Module):
        def forward(self, x, v):
            y = x.slice_scatter(v, 0, 2, 4)
            return torch.relu(y), x + 1

    low = irwidget.lower(Model(), torch.randn(8, 4), torch.randn(2, 4), to="llvm_mlir")
    found = low.bufferization()
    (first, *_) = found.own
    (conflict,) = first.conflicts
    lines = Model.forward.__code__.co_firstlineno
    assert (first.operand.location.line, conflict.read.location.line) == (lines + 1, lines + 2)


def test_what_nothing_may_write_into_is_named():
    text = "func.func @f(%x: tensor<4xf32> {bufferization.writable = false}, %v: f32) -> tensor<4xf32> {\n  %c = arith"
    text += ".constant 0 : index\n  %r = tensor.insert %v into %x[%c] : tensor<4xf32>\n  return %r : tensor<4xf32>\n}\n"
    found: Bufferization = lowered(text).bufferization()
    assert [(one.what, one.operation) for one in found.not_writable] == [("argument 0", "func.func")]
    assert [one.operand.operation for one in found.own] == ["tensor.insert"]


@pytest.mark.parametrize(
    ("index", "message"), [(None, "lower to llvm_mlir"), (0, "not of"), (1, "Dump 1 is not of"), (9, "not of")]
)
def test_where_nothing_was_bufferized(index, message):
    low = irwidget.lower("module {\n}\n", to="raw_ir", pipeline="mlir-opt --canonicalize")
    with pytest.raises(irwidget.UsageError, match=message):
        low.bufferization(index)


def test_a_view_answers_with_all_of_it_for_the_dump_that_it_shows():
    low = lowered(KEPT)
    view = PassDiff([low.trace], lowerings=[low])
    (own,) = json.loads(view.why_copies(0, 1))["own"]
    insert = {"line": 3, "said": "operand 1 of tensor.insert_slice, line 3", "user": "", "place": 0}
    definition = {"line": 2, "said": "argument 0 of func.func, line 2", "user": "", "place": 0}
    read = {"line": 4, "said": "operand 1 of return, line 4", "user": "", "place": 0}
    assert own == {
        "operand": insert,
        "conflicts": [{"definition": definition, "write": insert, "read": read}],
        "related": [],
    }
    with pytest.raises(UsageError, match="Dump 0 is not of one-shot-bufferize"):
        view.why_copies(0, 0)
    view.close()
