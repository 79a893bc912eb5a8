"""StableHLO of dynamic shapes, refined for the sizes of one set of inputs: the whole function."""

from __future__ import annotations

import pytest

from irwidget.toolchain import jit, mlir, refinement
from irwidget.toolchain.events import Array

ROWS = """
func.func @main(%x: tensor<?x3xf32>, %y: tensor<3xf32>, %n: i64) -> tensor<?x3xf32> {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i64
  %d = tensor.dim %x, %c0 : tensor<?x3xf32>
  %i = arith.index_cast %d : index to i64
  %s = tensor.from_elements %i, %c3 : tensor<2xi64>
  %b = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [1] : (tensor<3xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %r = stablehlo.add %x, %b : tensor<?x3xf32>
  return %r : tensor<?x3xf32>
}"""
COMPUTED = """
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x?xf32> {
  %eight = stablehlo.constant dense<8> : tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %c0 = arith.constant 0 : index
  %d = tensor.dim %x, %c0 : tensor<?x4xf32>
  %i = arith.index_cast %d : index to i32
  %o = tensor.from_elements %i : tensor<1xi32>
  %q = stablehlo.divide %o, %two : tensor<1xi32>
  %s = stablehlo.concatenate %q, %eight, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %r = stablehlo.dynamic_reshape %x, %s : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %e = stablehlo.exponential %r : tensor<?x?xf32>
  return %e : tensor<?x?xf32>
}"""
ASSUMED = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %a = shape.shape_of %x : tensor<?xf32> -> tensor<1xindex>
  %b = shape.shape_of %y : tensor<?xf32> -> tensor<1xindex>
  %w = shape.cstr_broadcastable %a, %b : tensor<1xindex>, tensor<1xindex>
  %r = shape.assuming %w -> (tensor<?xf32>) {
    %s = shape.broadcast %a, %b : tensor<1xindex>, tensor<1xindex> -> tensor<1xindex>
    %p = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<?xf32>, tensor<1xindex>) -> tensor<?xf32>
    %q = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [0] : (tensor<?xf32>, tensor<1xindex>) -> tensor<?xf32>
    %t = stablehlo.add %p, %q : tensor<?xf32>
    shape.assuming_yield %t : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}"""
CAST = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c = tensor.cast %x : tensor<?xf32> to tensor<4xf32>
  %b = tensor.cast %c : tensor<4xf32> to tensor<?xf32>
  %r = stablehlo.add %b, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}"""
REDUCED = """
func.func @main(%x: tensor<?xf32>) -> tensor<?x?xf32> {
  %v = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %z = stablehlo.constant dense<0> : tensor<i64>
  %p = stablehlo.reduce(%v init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<2xi64>, tensor<i64>) -> tensor<i64>
  %q = stablehlo.reshape %p : (tensor<i64>) -> tensor<1xi64>
  %s = stablehlo.concatenate %q, %q, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %r = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}"""
UNKNOWN = """
func.func @main(%x: tensor<?xf32>, %n: tensor<1xi64>) -> tensor<?xf32> {
  %r = stablehlo.dynamic_reshape %x, %n : (tensor<?xf32>, tensor<1xi64>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}"""
REFINED = {
    "rows": (ROWS, [(5, 3), (3,), None], """\
  func.func @main(%arg0: tensor<5x3xf32>, %arg1: tensor<3xf32>, %arg2: i64) -> tensor<5x3xf32> {
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<5x3xf32>
    return %1 : tensor<5x3xf32>
  }
"""),
    "computed": (COMPUTED, [(6, 4)], """\
  func.func @main(%arg0: tensor<6x4xf32>) -> tensor<3x8xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<6x4xf32>) -> tensor<3x8xf32>
    %1 = stablehlo.exponential %0 : tensor<3x8xf32>
    return %1 : tensor<3x8xf32>
  }
"""),
    "assumed": (ASSUMED, [(1,), (5,)], """\
  func.func @main(%arg0: tensor<1xf32>, %arg1: tensor<5xf32>) -> tensor<5xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0] : (tensor<1xf32>) -> tensor<5xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<5xf32>) -> tensor<5xf32>
    %2 = stablehlo.add %0, %1 : tensor<5xf32>
    return %2 : tensor<5xf32>
  }
"""),
    "cast": (CAST, [(4,)], """\
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
"""),
}  # fmt: skip
REFUSED = {
    "sizes that a region computes": (REDUCED, [(25,)], "the sizes of stablehlo.dynamic_reshape do not follow from"),
    "sizes that are an input": (UNKNOWN, [(5,), (1,)], "the sizes of stablehlo.dynamic_reshape do not follow from"),
    "sizes that contradict": (ASSUMED, [(5,), (3,)], "the sizes of stablehlo.dynamic_broadcast_in_dim do not follow"),
    "a shape that is another": (ROWS, [(5, 4), (3,), None], "its operations do not fit together for the sizes of the"),
}


def refined(text, shapes):
    context = mlir.new_context()
    module = mlir.ir.Module.parse(text, context=context)
    assert refinement.is_needed(module)
    refinement.refine(module, [7 if shape is None else Array(b"", shape) for shape in shapes])
    assert not refinement.is_needed(module)
    return str(module)


@pytest.mark.parametrize("case", REFINED)
def test_all_sizes_are_found(case):
    text, shapes, want = REFINED[case]
    assert refined(text, shapes) == f"module {{\n{want}}}\n"


@pytest.mark.parametrize("case", REFUSED)
def test_sizes_that_do_not_follow_are_refused(case):
    text, shapes, said = REFUSED[case]
    with pytest.raises(jit.NotExecutable, match=said):
        refined(text, shapes)


@pytest.mark.parametrize("text", [ROWS.replace("?", "5"), UNKNOWN.replace("@main", "@other"), "func.func private @f()",
    "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n  return %x : tensor<?xf32>\n}"])  # fmt: skip
def test_what_has_no_open_sizes_or_no_stablehlo_needs_no_refinement(text):
    context = mlir.new_context()
    assert not refinement.is_needed(mlir.ir.Module.parse(text, context=context))
