"""Literals of LLVM 24 keep every bit on their way to LLVM 22: written by the one, read by the other."""

import ctypes
import re
import struct

import llvmlite.binding as llvm
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_mlir import ir
from torch_mlir.dialects import llvm as llvm_dialect

from irwidget.toolchain import literals

MLIR_TYPES = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "x86_fp80": "f80", "fp128": "f128"}


def written_by_llvm_24(values: list[int], type_name: str) -> str:
    """LLVM IR with a global per value, printed by torch-mlir's LLVM."""
    width = literals.FORMATS[type_name].width // 4
    text = "\n".join(
        f"llvm.mlir.global constant @g{i}(0x{value:0{width}X} : {MLIR_TYPES[type_name]}) : {MLIR_TYPES[type_name]}"
        for i, value in enumerate(values)
    )
    with ir.Context() as context:
        return llvm_dialect.translate_module_to_llvmir(ir.Module.parse(text, context).operation)


def read_by_llvm_22(text: str, type_name: str) -> list[int]:
    """The bits of each global in memory, after LLVM 22 read it and put it there."""
    values = re.findall(rf"^@g\d+ = constant ({type_name} \S+)$", text, re.M)
    module = llvm.parse_assembly(f"@all = constant [{len(values)} x {type_name}] [{', '.join(values)}]")
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    used = literals.FORMATS[type_name].width // 8
    stride = 16 if used > 8 else used
    memory = ctypes.string_at(engine.get_global_value_address("all"), len(values) * stride)
    return [int.from_bytes(memory[i : i + used], "little") for i in range(0, len(memory), stride)]


@pytest.fixture(scope="module", autouse=True)
def targets():
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def specials(type_name: str) -> list[int]:
    form = literals.FORMATS[type_name]
    top, quiet = form.all_ones, 1 << (form.fraction - 1)
    fractions = [0, 1, quiet, quiet | 1, quiet - 1, (quiet << 1) - 1]
    return [
        form.pack(bool(sign), exponent, fraction)
        for sign in (0, 1)
        for exponent in (0, 1, top - 1, top)
        for fraction in fractions
    ]


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("type_name", ["half", "bfloat"])
def test_16_bit_values_round_trip(type_name: str, step: int) -> None:
    """Every seventh in every run: each value is written and read by itself."""
    values = list(range(0, 2**16, step))
    assert read_by_llvm_22(literals.rewrite(written_by_llvm_24(values, type_name)), type_name) == values


@pytest.mark.parametrize("type_name", ["half", "bfloat", "float", "double", "fp128"])
def test_zeros_denormals_infinities_and_nan_payloads_round_trip(type_name: str) -> None:
    values = specials(type_name)
    assert read_by_llvm_22(literals.rewrite(written_by_llvm_24(values, type_name)), type_name) == values


@pytest.mark.parametrize("type_name", ["float", "double", "fp128", "x86_fp80"])
@settings(max_examples=30)
@given(data=st.data())
def test_any_bits_round_trip(type_name: str, data: st.DataObject) -> None:
    form = literals.FORMATS[type_name]
    if form.explicit:  # other patterns are not numbers to x87
        number = st.builds(
            form.pack, st.booleans(), st.integers(1, form.all_ones - 1), st.integers(0, 2**form.fraction - 1)
        )
    else:
        number = st.integers(0, 2**form.width - 1)
    values = data.draw(st.lists(number, min_size=1, max_size=200))
    assert read_by_llvm_22(literals.rewrite(written_by_llvm_24(values, type_name)), type_name) == values


@pytest.mark.parametrize("type_name", ["float", "double"])
@settings(max_examples=30)
@given(data=st.data())
def test_short_decimals_round_trip(type_name: str, data: st.DataObject) -> None:
    """Numbers that LLVM 24 prints as decimals, each rounded to its own type."""
    code, width = ("<f", "<I") if type_name == "float" else ("<d", "<Q")
    pairs = st.tuples(st.integers(-(10**7), 10**7), st.integers(-44, 31))
    numbers = [float(f"{digits}e{power}") for digits, power in data.draw(st.lists(pairs, min_size=1, max_size=200))]
    values = [struct.unpack(width, struct.pack(code, number))[0] for number in numbers]
    assert read_by_llvm_22(literals.rewrite(written_by_llvm_24(values, type_name)), type_name) == values


@settings(max_examples=100)
@given(digits=st.integers(0, 10**12), power=st.integers(-60, 25))
def test_decimals_round_once(digits: int, power: int) -> None:
    """Exact arithmetic, held against Python's own single rounding."""
    text = f"{digits}.0e{power}"
    number = float(text)
    assert literals.bits(text, "double") == struct.unpack("<Q", struct.pack("<d", number))[0]


@pytest.mark.parametrize(("line", "rewritten"), [
    ("  %3 = fadd float %2, 1.000000e-01", "  %3 = fadd float %2, 0x3FB99999A0000000"),
    ("  %3 = fcmp ogt half %2, +inf", "  %3 = fcmp ogt half %2, 0xH7C00"),
    ("  %9 = phi double [ f0x3FD5555555555555, %1 ], [ %4, %2 ]",
     "  %9 = phi double [ 0x3FD5555555555555, %1 ], [ %4, %2 ]"),
    ("@p = constant [2 x float] [float 1.000000e+00, float +nan(0x1)]",
     "@p = constant [2 x float] [float 1.000000e+00, float 0x7FF8000020000000]"),
    ("@s = constant <2 x bfloat> splat (bfloat 1.000980e-01)", "@s = constant <2 x bfloat> splat (bfloat 0xR3DCD)"),
    ('@s = constant [9 x i8] c"float 1.5"', '@s = constant [9 x i8] c"float 1.5"'),
    ("  %v.1.2 = add i64 %x.3, -5 ; float +inf", "  %v.1.2 = add i64 %x.3, -5 ; float +inf"),
    ('attributes #0 = { "target-features"="+ptx80,+sm_80" }', 'attributes #0 = { "target-features"="+ptx80,+sm_80" }'),
    ("  %3 = fmul float %2, 0x3FB99999A0000000", "  %3 = fmul float %2, 0x3FB99999A0000000"),
])  # fmt: skip
def test_only_floating_point_literals_change(line: str, rewritten: str) -> None:
    assert literals.rewrite(line) == rewritten
    assert literals.rewrite(rewritten) == rewritten


@pytest.mark.parametrize(("text", "message"), [
    ("\n  ret float f0x3F80", "line 2: .* has 16 bits, but float has 32"),
    ("  ret ppc_fp128 1.000000e+00", "ppc_fp128"),
    ("  ret float +huge", r"unknown floating-point literal \+huge"),
    ("  ret i32 1.5", "no floating-point type"),
    ("  ret float 12e5", "unknown number 12e5"),
    ("  ret half 1.000000e+30", "too large"),
    ("  ret half +nan(0x200)", "payload"),
    ("  ret half +snan(0x0)", "payload"),
])  # fmt: skip
def test_an_unknown_literal_is_an_error(text: str, message: str) -> None:
    with pytest.raises(literals.UnknownLiteral, match=message):
        literals.rewrite(text)
