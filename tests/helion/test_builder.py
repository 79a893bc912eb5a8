"""The idioms that rules are written in: which op each becomes, and what is folded."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_mlir import ir
from torch_mlir.dialects import func

from irwidget.errors import UnsupportedError
from irwidget.helion.builder import Builder, _reassociation
from irwidget.toolchain import mlir

CONTEXT = mlir.new_context()


def built(types: list[str], make: Callable[..., Any]) -> list[str]:
    """The ops, as text, of a function with arguments of these types, whose body `make` builds."""
    builder = Builder(CONTEXT)
    with CONTEXT, ir.Location.unknown():
        module = ir.Module.create()
        kinds = [ir.Type.parse(text) for text in types]
        function = func.FuncOp("f", (kinds, []), ip=ir.InsertionPoint(module.body))
        block = function.add_entry_block()
        builder.start_function(block)
        with ir.InsertionPoint(block):
            make(builder, *block.arguments)
            func.return_([])
        assert module.operation.verify()
        return [line.strip() for line in str(function).splitlines()[1:-2]]


@pytest.mark.parametrize(
    ("relation", "integer", "floating"),
    [
        ("eq", "eq", "oeq"),
        ("ne", "ne", "une"),
        ("lt", "slt", "olt"),
        ("le", "sle", "ole"),
        ("gt", "sgt", "ogt"),
        ("ge", "sge", "oge"),
    ],
)
def test_comparisons_are_pythons(relation: str, integer: str, floating: str):
    def compare(builder: Builder, left: ir.Value, right: ir.Value) -> None:
        builder.compare(relation, left, right)

    assert built(["i32", "i32"], compare) == [f"%0 = arith.cmpi {integer}, %arg0, %arg1 : i32"]
    assert built(["f32", "f32"], compare) == [f"%0 = arith.cmpf {floating}, %arg0, %arg1 : f32"]


@pytest.mark.parametrize(
    ("source", "target", "unsigned", "ops"),
    [
        ("i32", "f32", False, ["sitofp"]),
        ("i32", "f32", True, ["uitofp"]),
        ("i1", "f32", False, ["uitofp"]),
        ("f32", "i32", False, ["fptosi"]),
        ("f32", "i32", True, ["fptoui"]),
        ("i8", "i32", False, ["extsi"]),
        ("i8", "i32", True, ["extui"]),
        ("i1", "i32", False, ["extui"]),
        ("i32", "i8", False, ["trunci"]),
        ("f16", "f32", False, ["extf"]),
        ("f32", "f16", False, ["truncf"]),
        ("f16", "bf16", False, ["extf", "truncf"]),
        ("index", "i64", False, ["index_cast"]),
        ("index", "f32", False, ["index_cast", "sitofp"]),
        ("i64", "index", False, ["index_cast"]),
        ("i1", "index", False, ["index_castui"]),
        ("i32", "i1", False, ["constant", "cmpi"]),
        ("f32", "f32", False, []),
    ],
)
def test_conversions(source: str, target: str, unsigned: bool, ops: list[str]):
    lines = built([source], lambda b, v: b.convert(v, ir.Type.parse(target), unsigned=unsigned))
    assert [line.split("arith.")[1].split(" ")[0] for line in lines] == ops


@pytest.mark.parametrize(("kind", "predicate"), [("i32", "ne"), ("f32", "une")])
def test_what_is_not_zero_is_true(kind: str, predicate: str):
    constant, line = built([kind], lambda b, v: b.convert(v, b.i1))
    assert "arith.constant 0" in constant
    assert f" {predicate}, %arg0, %c" in line


@pytest.mark.parametrize(
    ("name", "left", "right", "line"),
    [
        ("add", "x", 0, None),
        ("add", 0, "x", None),
        ("add", 5, "x", "arith.addi %arg0, %c5 : index"),
        ("subtract", "x", 5, "arith.subi %arg0, %c5 : index"),
        ("subtract", 5, "x", "arith.subi %c5, %arg0 : index"),
        ("multiply", 1, "x", None),
        ("multiply", "x", 3, "arith.muli %arg0, %c3 : index"),
    ],
)
def test_arithmetic_on_sizes(name: str, left: Any, right: Any, line: str | None):
    def make(builder: Builder, x: ir.Value) -> None:
        getattr(builder, name)(*(x if operand == "x" else operand for operand in (left, right)))

    lines = built(["index"], make)
    assert (line is None and lines == []) or lines[-1] == f"%0 = {line}"


def test_sizes_that_are_numbers_are_folded():
    builder = Builder(CONTEXT)
    assert (builder.add(2, 3), builder.subtract(2, 3), builder.multiply(2, 3)) == (5, -1, 6)


def test_a_minimum_is_one_affine_min():
    lines = built(["index", "index"], lambda b, x, end: b.minimum([16], [(x, -1)], end))
    assert lines == ["%0 = affine.min affine_map<(d0, d1) -> (16, -d0 + d1)>(%arg0, %arg1)"]
    lines = built(["index"], lambda b, x: b.minimum([16], [(x, -1)], 100))
    assert lines == ["%0 = affine.min affine_map<(d0) -> (16, -d0 + 100)>(%arg0)"]


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [(255, "i8", "-1 : i8"), (-1, "i8", "-1 : i8"), (128, "i8", "-128 : i8"), (1, "i1", "true"), (7, "index", "7")],
)
def test_constants_wrap_around(value: int, kind: str, text: str):
    (line,) = built([], lambda b: b.constant(value, ir.Type.parse(kind)))
    assert f"arith.constant {text}" in line


def test_a_constant_is_made_once_at_the_start():
    def make(builder: Builder, x: ir.Value) -> None:
        for _ in range(2):
            builder.add(x, 5)
        builder.constant(5.0, builder.f64)

    lines = built(["index"], make)
    assert [line.split(" = ")[1].split(" ")[0] for line in lines] == ["arith.constant"] * 2 + ["arith.addi"] * 2


def test_a_conjunction_leaves_out_what_always_holds():
    assert built([], lambda b: b.conjunction(None, None)) == []
    assert built(["i1"], lambda b, x: b.conjunction(None, x)) == []
    assert built(["i1", "i1"], lambda b, x, y: b.conjunction(x, None, y)) == ["%0 = arith.andi %arg0, %arg1 : i1"]


def test_a_reduction_starts_where_it_is_told_and_runs_over_one_more_dim():
    def make(builder: Builder, x: ir.Value) -> None:
        element = builder.element(torch.float32)
        start = builder.constant(7.0, element)
        builder.generic([(x, [0, 1])], [4], element, lambda args, _: args[1], over=8, start=start)

    text = "\n".join(built(["tensor<4x8xf32>"], make))
    assert "linalg.fill ins(%cst : f32)" in text
    assert 'iterator_types = ["parallel", "reduction"]' in text
    assert "affine_map<(d0, d1) -> (d0, d1)>" in text
    assert "linalg.yield %out" in text


def test_a_broadcast_walks_trailing_dims_and_index_0_of_those_of_size_1():
    text = "\n".join(built(["tensor<1x8xf32>"], lambda b, x: b.broadcast(x, [2, 4, 8])))
    assert "affine_map<(d0, d1, d2) -> (0, d2)>" in text


def test_a_view_keeps_what_is_known_apart_from_what_is_not():
    lines = built(
        ["tensor<8x8xf32>", "index"],
        lambda b, t, i: b.insert(b.slice(t, [i, 2], [1, 4], [4]), t, [0, i], [1, 4]),
    )
    assert lines == [
        "%extracted_slice = tensor.extract_slice %arg0[%arg1, 2] [1, 4] [1, 1] : tensor<8x8xf32> to tensor<4xf32>",
        "%inserted_slice = tensor.insert_slice %extracted_slice into %arg0[0, %arg1] [1, 4] [1, 1] : "
        "tensor<4xf32> into tensor<8x8xf32>",
    ]


SHAPES = st.lists(st.sampled_from([1, 2, 3, 4]), max_size=4)


@given(SHAPES, st.data())
def test_dims_are_grouped_in_order_each_once_with_equal_products(longer: list[int], data: st.DataObject):
    cuts = data.draw(st.lists(st.integers(0, len(longer)), max_size=3).map(sorted))
    pieces = [longer[a:b] for a, b in zip([0, *cuts], [*cuts, len(longer)], strict=True)]
    shorter = [math.prod(piece) for piece in pieces]
    groups = _reassociation(longer, shorter) if len(shorter) < len(longer) else None
    if groups:
        assert [dim for group in groups for dim in group] == list(range(len(longer)))
        assert [math.prod(longer[dim] for dim in group) for group in groups] == shorter


@pytest.mark.parametrize(
    ("source", "target", "ops"),
    [
        ("6x4", [24], ["collapse_shape"]),
        ("24", [6, 4], ["expand_shape"]),
        ("6x4", [4, 6], ["collapse_shape", "expand_shape"]),
        ("6x4", [6, 4], []),
        ("1x6", [6], ["collapse_shape"]),
        ("6x1x1", [6], ["collapse_shape"]),
        ("6", [6, 1], ["expand_shape"]),
    ],
)
def test_reshapes(source: str, target: list[int], ops: list[str]):
    lines = built([f"tensor<{source}xf32>"], lambda b, t: b.reshape(t, target))
    assert [line.split("tensor.")[1].split(" ")[0] for line in lines] == ops


def test_a_reshape_to_another_number_of_elements_is_refused():
    with pytest.raises(UnsupportedError, match=r"\[6\] cannot take the shape \[5\]"):
        built(["tensor<6xf32>"], lambda b, t: b.reshape(t, [5]))
