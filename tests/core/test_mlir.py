"""Pipelines taken apart, and locations taken out of printed IR."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import irwidget
from irwidget.toolchain import locations, mlir
from irwidget.trace import Location


@pytest.fixture(scope="module")
def context():
    return mlir.new_context()


@pytest.mark.parametrize(
    ("pipeline", "expected"),
    [
        ("builtin.module(cse)", ["builtin.module(cse)"]),
        (
            "builtin.module(func.func(cse,cse),cse)",
            ["builtin.module(func.func(cse))", "builtin.module(func.func(cse))", "builtin.module(cse)"],
        ),
        (
            "builtin.module(gpu.module(cse,llvm.func(mem2reg)))",
            ["builtin.module(gpu.module(cse))", "builtin.module(gpu.module(llvm.func(mem2reg{region-simplify=true})))"],
        ),
        ("builtin.module(nvvm-attach-target{chip=sm_80 O=2})", None),
        ("builtin.module(one-shot-bufferize{dialect-filter=tensor,scf})", None),
        ("builtin.module(llvm-use-default-visibility)", ["builtin.module(llvm-use-default-visibility)"]),
        ("builtin.module(func.func(torch-reduce-op-variants{extra-library=}))", None),
    ],
)
def test_a_pipeline_is_its_passes(pipeline, expected, context):
    passes = mlir.plan(pipeline, context)
    if expected is not None:
        assert [p.pipeline for p in passes] == expected
    for one in passes:
        assert [again.pipeline for again in mlir.plan(one.pipeline, context)] == [one.pipeline]


BAD = ["canonicalize", "builtin.module(nope)", "builtin.module(cse{x=1})", "builtin.module(", ""]


@pytest.mark.parametrize("pipeline", BAD)
def test_a_bad_pipeline_is_an_error(pipeline, context):
    with pytest.raises(mlir.PipelineError):
        mlir.plan(pipeline, context)


LOCATIONS = [
    ("loc(unknown)", []),
    ('loc("m.py":3:0)', ["m.py:3"]),
    ('loc(callsite("a.py":1:2 at callsite("b.py":3:4 at "c.py":5:6)))', ["a.py:1:2", "b.py:3:4", "c.py:5:6"]),
    ("loc(callsite(#loc1 at #loc2))", ["x.py:1", "y.py:2"]),
    ('loc("name"("m.py":3:1))', ["m.py:3:1"]),
    ('loc(fused["a.py":1:0, "b.py":2:0])', ["a.py:1", "b.py:2"]),
    ('loc("only a name")', []),
]


@pytest.mark.parametrize(("text", "expected"), LOCATIONS)
def test_frames(text, expected):
    aliases = {"#loc1": '"x.py":1:0', "#loc2": '"y.py":2:0'}
    assert [str(frame) for frame in locations.frames(text, aliases)] == expected


def test_the_users_frames_are_linked_innermost_first():
    text = 'callsite("/x/site-packages/torch/linear.py":1:0 at callsite("cell":8:0 at "cell":20:0))'
    assert locations.user_location(text) == Location("cell", 8, 0, Location("cell", 20, 0))


NAMES = st.text(st.characters(codec="ascii", exclude_characters="\x00"), max_size=12)


@given(NAMES, NAMES)
def test_stripping_gives_what_mlir_prints_without_locations(name, value):
    """Any attribute string, `loc(...)` in it included, survives."""
    context = mlir.new_context()
    with context:
        module = mlir.ir.Module.parse(
            'module {\n func.func @f(%a: i32) -> i32 { %0 = arith.addi %a, %a : i32 loc("m.py":7:3)\n'
            ' return %0 : i32 loc(callsite("in.py":1:1 at "m.py":8:1))\n }\n}'
        )
        module.operation.attributes["x.name"] = mlir.ir.StringAttr.get(name + ' loc("a" ' + value)
        text, places = locations.strip(module.operation.get_asm(enable_debug_info=True))
        assert text == module.operation.get_asm()
        assert [p.line for p in places if p] == [7, 1]


LOOPS = """#map = affine_map<(d0) -> (d0)>
module {
  func.func @f(%a: tensor<2xf32>, %n: index, %c: i1) -> tensor<2xf32> {
    %0 = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel"]} outs(%a : tensor<2xf32>) {
    ^bb0(%x: f32):
      linalg.yield %x : f32 loc("m.py":2:1)
    } -> tensor<2xf32> loc("m.py":1:1)
    scf.for %i = %n to %n step %n {
      scf.if %c {
        "test.use"(%i) : (index) -> () loc("m.py":5:1)
      } else {
        "test.use"(%n) : (index) -> () loc("m.py":6:1)
      } loc("m.py":4:1)
    }
    "test.regions"() ({
      "test.end"() : () -> () loc("m.py":8:1)
    }, {
      "test.end"() {text = "}"} : () -> () loc("m.py":9:1)
    }) : () -> () loc("m.py":7:1)
    return %0 : tensor<2xf32> loc("m.py":10:1)
  } loc("m.py":11:1)
}
"""


def test_a_line_that_opens_a_region_has_the_location_of_its_operation():
    """MLIR prints it where the last region ends."""
    context = mlir.new_context()
    context.allow_unregistered_dialects = True
    with context:
        asm = mlir.ir.Module.parse(LOOPS).operation.get_asm(enable_debug_info=True)
    text, places = locations.strip(asm)
    lines = zip(text.split("\n"), places, strict=False)
    assert [(line.strip()[:18], place.line) for line, place in lines if place and place.file == "m.py"] == [
        ("func.func @f(%arg0", 11),
        ("%0 = linalg.generi", 1),
        ("linalg.yield %out ", 2),
        ("} -> tensor<2xf32>", 1),
        ("scf.if %arg2 {", 4),
        ('"test.use"(%arg3) ', 5),
        ("} else {", 4),
        ('"test.use"(%arg1) ', 6),
        ("}", 4),
        ('"test.regions"() (', 7),
        ('"test.end"() : () ', 8),
        ("}, {", 7),
        ('"test.end"() {text', 9),
        ("}) : () -> ()", 7),
        ("return %0 : tensor", 10),
        ("}", 11),
    ]


ASSERTS = """module {
  llvm.mlir.global private constant @assert_msg_1("mine")
  func.func @main(%a: i1, %b: i1) {
    cf.assert %a, "first"
    cf.assert %b, "second"
    cf.assert %a, "another"
    return
  }
}"""


def test_the_messages_of_assertions_are_numbered_from_zero_in_every_module():
    texts = [irwidget.lower(ASSERTS, to="raw_ir", pipeline="mlir-opt --convert-cf-to-llvm").text for _ in range(2)]
    assert texts[0] == texts[1]
    assert 'assert_msg_1("mine")' in texts[0]
    names = {"assert_msg", "assert_msg_0", "assert_msg_2"}
    assert set(re.findall(r"global.*@(assert_msg\w*)", texts[0])) == {*names, "assert_msg_1"}
    assert set(re.findall(r"addressof @(assert_msg\w*)", texts[0])) == names
