"""What a line of IR says, and that a column for each shape says the same of every line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irwidget.trace import codec, syntax
from irwidget.views import columns

BLANK = json.loads((Path(__file__).parent / "blank.json").read_text())


@pytest.mark.parametrize(("text", "names"), json.loads((Path(__file__).parent / "left_out.json").read_text()))
def test_constants_without_values(text, names):
    assert syntax.left_out(text) == names


@pytest.mark.parametrize(("line", "blanked"), BLANK)
def test_blanking(line, blanked):
    assert syntax.blank(line) == blanked


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ('  func.func private @"a b"(%x: f32) {', '"a b"'),
        ("llvm.func @malloc(i64) -> !llvm.ptr", "malloc"),
        ('  memref.global "private" constant @c_1 : memref<2xf32> = dense<1.0>', "c_1"),
        ("define internal void @f.1(ptr %0) #0 {", "f.1"),
        ("declare float @expf(float)", "expf"),
        ("@g = private constant i32 1", "g"),
        (".visible .entry main_kernel(", "main_kernel"),
        (".func  (.param .b32 func_retval0) helper(", "helper"),
        ("    %1 = func.call @helper(%0) : (f32) -> f32", ""),
        ("module attributes {gpu.container_module} {", ""),
        ("  tt.func public @add(%x: !tt.ptr<f32>) {", "add"),
    ],
)
def test_symbols(line, name):
    assert syntax.symbol(line) == name


@pytest.mark.parametrize(
    ("line", "language", "operation"),
    [
        ("    %0 = arith.addf %a, %b : f32", "mlir", "arith.addf"),
        ("    linalg.yield %5 : f32", "mlir", "linalg.yield"),
        ('    %0 = "tosa.const"() : () -> f32', "mlir", "tosa.const"),
        ("    return %0 : f32", "mlir", "func.return"),
        ("module {", "mlir", "builtin.module"),
        ("    } -> tensor<4xf32>", "mlir", ""),
        ("    outs(%0 : tensor<4xf32>)", "mlir", ""),
        ("  ^bb0(%a: f32):", "mlir", ""),
        ('      torch_tensor_4_torch.float32: "0x0400",', "mlir", ""),
        ("  %3 = fadd float %1, %2", "llvm", "fadd"),
        ("  %3 = tail call float @f()", "llvm", "call"),
        ("  br label %5", "llvm", "br"),
        ("define void @f() {", "llvm", ""),
        ("  @%p1 bra $L__BB0_2;", "ptx", "bra"),
        ("  ld.param.u64 %rd1, [f_param_0];", "ptx", "ld.param.u64"),
        ("  s_waitcnt vmcnt(0)", "amdgcn", "s_waitcnt"),
        ("    %2 = call @erff(%1) : (f32) -> f32", "mlir", "func.call"),
        ("    %f = constant @f : () -> ()", "mlir", "func.constant"),
        ("    call_indirect %f() : () -> ()", "mlir", "func.call_indirect"),
        ("  %3 = unrealized_conversion_cast to i32", "mlir", "builtin.unrealized_conversion_cast"),
        ("    i32 0, label %1", "llvm", ""),
        ("          to label %2 unwind label %3", "llvm", ""),
        ("          cleanup", "llvm", ""),
        ("          catch ptr null", "llvm", ""),
        ("          filter [0 x ptr] undef", "llvm", ""),
        ("  %4 = catchpad within %5 []", "llvm", "catchpad"),
        ("\tcall.uni (retval0), ", "ptx", "call.uni"),
        ("\tvprintf, ", "ptx", ""),
        ("\tparam0", "ptx", ""),
        ("\tparam1, ", "ptx", ""),
        ("\tprototype_0 : .callprototype ()_ (.param .b32 _);", "ptx", ""),
        (
            "\tcp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%r2];",
            "ptx",
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes",
        ),
        ("\tret;", "ptx", "ret"),
        ("\tretq", "x86asm", "retq"),
        ("        /*00a0*/                   LDG.E R8, [R2.64] ;", "sass", "LDG.E"),
        ("        /*0080*/              @!P0 EXIT ;", "sass", "EXIT"),
        ("        .size           main_kernel,(.L_x_1 - main_kernel)", "sass", ""),
        ("\t%61 = OpFunction %18 None %19           ; -- Begin function main", "spirv", "OpFunction"),
        ("\tOpReturn", "spirv", "OpReturn"),
    ],
)
def test_operations(line, language, operation):
    assert syntax.operation(line, syntax.syntax_of(language)) == operation


def test_what_has_no_operations_has_no_syntax():
    assert [syntax.syntax_of(language) for language in ("python", "json", "fx", "text")] == [None] * 4


def entries(data: bytes) -> Iterator[int]:
    value = shift = 0
    for byte in data:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            yield value
            value = shift = 0


def filled(shape: bytes, spans: list[tuple[int, int]], line: str) -> list[str]:
    """The text of a line in spans of its shape."""
    rest = iter(codec_numbers(shape, line))
    places = [next(rest) if byte == 255 else bytes([byte]) for byte in shape]
    return [b"".join(places[start:stop]).decode() for start, stop in spans]


def codec_numbers(shape: bytes, line: str) -> list[bytes]:
    """The numbers of a line that its shape leaves out."""
    data, found, at = line.encode(), list[bytes](), 0
    for byte in shape:
        end = at + 1
        while byte == 255 and data[end : end + 1].isdigit():
            end += 1
        if byte == 255:
            found.append(data[at:end])
        at = end
    return found


words = st.sampled_from(
    ["%", "^bb", "#map", "#", "!", "$L__BB", "_", "@", "func.func ", "define ", " = ", "(", ".entry ", "é", "ÿ", " ",
     "\t", '"', "bb.", ":", "llvm.", "arith.addi", "return", "tail ", "x", "-", ".", "$", "else"]
)  # fmt: skip
digits = st.sampled_from(["0", "00", "007", "1", "12", "999999999", "1000000000"])
lines = st.lists(words | digits, max_size=9).map("".join)


@given(st.lists(lines, min_size=1, max_size=6))
def test_the_column_of_a_shape_says_the_same_of_all_its_lines(texts):
    shapes, shape_of, _ = codec.lines(texts)
    made = columns.of_shapes(shapes, ["mlir", "llvm", "ptx", "json"])
    assert set(made) == {"shape.renumbered", "shape.symbol", "shape.op.mlir", "shape.op.llvm", "shape.op.asm"}
    read = {name: entries(data) for name, data in made.items()}
    known = []
    for shape in shapes.split(b"\n"):
        spans, end = [], 0
        for _ in range(next(read["shape.renumbered"])):
            start = end + next(read["shape.renumbered"])
            end = start + next(read["shape.renumbered"])
            spans.append((start, end))
        kept = list(zip([0, *(stop for _, stop in spans)], [*(start for start, _ in spans), len(shape)], strict=True))
        start = next(read["shape.symbol"])
        symbol = [(start - 1, start - 1 + next(read["shape.symbol"]))] if start else []
        operations = []
        for one in ("mlir", "llvm", "asm"):
            if start := next(read[f"shape.op.{one}"]):
                length, dialect = islice(read[f"shape.op.{one}"], 2)
                operations.append((columns.DIALECTS[dialect], [(start - 1, start - 1 + length)]))
            else:
                operations.append(("", []))
        known.append((shape, kept, symbol, operations))
    for number, text in zip(entries(shape_of), texts, strict=True):
        shape, kept, symbol, operations = known[number]
        assert "".join(filled(shape, kept, text)) == syntax.blank(text)
        assert "".join(filled(shape, symbol, text)) == syntax.symbol(text)
        for one, (dialect, spans) in zip(("mlir", "llvm", "asm"), operations, strict=True):
            assert dialect + "".join(filled(shape, spans, text)) == syntax.operation(text, one)


def test_a_lone_surrogate_counts_as_the_escape_that_is_shown():
    shown = columns.of_shapes(b"\\udcff %a", [])
    assert columns.of_shapes("\udcff %a".encode("utf-8", "surrogatepass"), []) == shown
