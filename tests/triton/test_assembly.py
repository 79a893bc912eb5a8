"""Inline assembly of executed launches: PTX, computed as its manual defines it."""

import inspect
import math

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from irwidget.frontends import triton as frontend
from irwidget.toolchain import ttir_ptx


def executed(kernel, *tensors, **constants):
    """The last tensor after a launch, and what there is to say of it."""
    with frontend.recording("sm_90", values=True) as launches:
        given = [one.to("cuda") for one in tensors]
        kernel[(1,)](*given, **constants)
        values = given[-1].tolist()
    return values, [note.message for note in launches.diagnostics]


@triton.jit
def by_assembly(x, y, out, ASM: tl.constexpr, HOW: tl.constexpr, PACK: tl.constexpr, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    made = tl.inline_asm_elementwise(ASM, HOW, [a, b], dtype=out.dtype.element_ty, is_pure=True, pack=PACK)
    tl.store(out + i, made)


X = torch.tensor([1.5, -2.5, 0.0, float("nan"), 3e38, -0.0, 7.25, -1e-40])
Y = torch.tensor([2.0, 0.5, -0.0, 1.0, 3e38, 0.0, -8.0, 1.0])
ONE, OTHER = torch.tensor([5, -7, 2**31 - 1, -(2**31), 0, 12345, -1, 255]), torch.tensor([3, 33, 1, -1, 31, 4, 2, 40])


@pytest.mark.parametrize(
    ("asm", "expected"),
    [
        ("add.f32 $0, $1, $2;", lambda x, y: x + y),
        ("{ .reg .f32 t; mul.rn.f32 t, $1, 0f40000000; sub.f32 $0, t, $2; }", lambda x, y: x * 2 - y),
        ("fma.rn.f32 $0, $1, $2, $2; // once", lambda x, y: (x.double() * y + y).float()),
        ("max.f32 $0, $1, $2;", lambda x, y: torch.tensor([2, 0.5, 0.0, 1, 3e38, 0.0, 7.25, 1])),
        ("min.NaN.f32 $0, $1, $2;", lambda x, y: torch.tensor([1.5, -2.5, -0.0, np.nan, 3e38, -0.0, -8, -1e-40])),
        ("add.ftz.f32 $0, $1, $1;", lambda x, y: torch.where(x.abs() < 1e-38, 0 * x, x + x)),
        ("mul.ftz.f32 $0, $2, 0f00800000;", lambda x, y: torch.where(y.abs() < 1, 0 * y, y * 2.0**-126)),
        ("add.sat.f32 $0, $1, $2;", lambda x, y: (x + y).nan_to_num(0, 1).clamp(0, 1)),
        ("tanh.approx.f32 $0, $1;", lambda x, y: x.tanh()),
        ("cvt.rpi.f32.f32 $0, $1;", lambda x, y: x.ceil()),
        ("{ .reg .pred p; setp.lt.f32 p, $1, $2; selp.f32 $0, $1, $2, p; }", lambda x, y: torch.where(x < y, x, y)),
        (
            "{ .reg .pred p; setp.geu.f32 p, $1, $2; mov.f32 $0, $2; @p mov.f32 $0, 1.5; }",
            lambda x, y: torch.where(x < y, y, 1.5),
        ),
        (
            "{ .reg .pred p; setp.lt.f32 p, $1, $2; mov.f32 $0, $2; @!p mov.f32 $0, 1.5; }",
            lambda x, y: torch.where(x < y, y, 1.5),
        ),
        (
            "cvt.rna.tf32.f32 $0, $1;",
            lambda x, y: (
                torch.where(x.abs() < 1e38, x, torch.tensor([0x7F61B000], dtype=torch.int32).view(torch.float32)).where(
                    x == x, x
                )
                * (x.abs() != 1e-40)
            ),
        ),
    ],
)
def test_floats(asm, expected):
    values, notes = executed(by_assembly, X, Y, torch.zeros(8), ASM=asm, HOW="=f,f,f", PACK=1, N=8)
    wanted = expected(X, Y)
    if "tf32" in asm:  # the last 13 bits are rounded away
        wanted = torch.tensor([(int(one) + 0x1000) & 0xFFFFE000 for one in X.view(torch.int32)], dtype=torch.int64)
        wanted = wanted.to(torch.int32).view(torch.float32)
    np.testing.assert_allclose(values, wanted.tolist(), rtol=1e-7)
    assert [np.signbit(one) for one in values if one == one] == [
        np.signbit(one) for one in wanted.tolist() if one == one
    ]
    assert notes == []


def _wrapped(number):
    return (int(number) + 2**31) % 2**32 - 2**31


def _without_sign(number):
    return number % 2**32


@pytest.mark.parametrize(
    ("asm", "expected"),
    [
        ("mad.lo.s32 $0, $1, $2, $1;", lambda i, j: i * j + i),
        *(
            (f"{{ .reg .pred p; setp.{name}.u32 p, $1, $1; selp.b32 $0, 1, 2, p; }}", lambda i, j, same=same: same)
            for name, same in (("lo", 2), ("ls", 1), ("hi", 2), ("hs", 1))
        ),
        ("mul.hi.s32 $0, $1, $2;", lambda i, j: (i * j) >> 32),
        ("mul.hi.u32 $0, $1, $2;", lambda i, j: (_without_sign(i) * _without_sign(j)) >> 32),
        ("{ .reg .b64 t; mul.wide.s32 t, $1, $2; mov.b64 {$0, _}, t; }", lambda i, j: i * j),
        ("shl.b32 $0, $1, $2;", lambda i, j: i << j if 0 <= j < 32 else 0),
        ("shr.u32 $0, $1, $2;", lambda i, j: _without_sign(i) >> j if 0 <= j < 32 else 0),
        ("shr.s32 $0, $1, $2;", lambda i, j: i >> (j if 0 <= j < 32 else 31)),
        ("lop3.b32 $0, $1, $2, 0xF0, 0xEA;", lambda i, j: (i & j) | 0xF0),
        ("prmt.b32 $0, $1, $2, 0xC410;", lambda i, j: (i & 0xFFFF) | (j & 0xFF) << 16 | (-(j >> 7 & 1) & 0xFF) << 24),
        ("{ not.b32 $0, $1; xor.b32 $0, $0, $2; }", lambda i, j: ~i ^ j),
        ("{ and.b32 $0, $1, 0b1011; xor.b32 $0, $0, 0B100U; add.s32 $0, $0, 017; }", lambda i, j: ((i & 11) ^ 4) + 15),
        ("bfe.u32 $0, $1, 4, 8;", lambda i, j: (i >> 4) & 0xFF),
        ("bfi.b32 $0, $1, $2, 8, 16;", lambda i, j: (j & 0xFF0000FF) | (i & 0xFFFF) << 8),
        ("{ .reg .u16 t; cvt.u16.u32 t, $1; cvt.s32.s16 $0, t; }", lambda i, j: (i + 2**15) % 2**16 - 2**15),
        ("{ .reg .s8 t; cvt.sat.s8.s32 t, $1; cvt.s32.s8 $0, t; }", lambda i, j: max(min(i, 127), -128)),
        ("min.u32 $0, $1, $2;", lambda i, j: min(_without_sign(i), _without_sign(j))),
        ("popc.b32 $0, $1;", lambda i, j: bin(_without_sign(i)).count("1")),
        (
            "{ .reg .f32 t; cvt.rn.f32.s32 t, $1; cvt.rzi.s32.f32 $0, t; }",
            lambda i, j: min(int(np.float32(i)), 2**31 - 1),
        ),
        (
            "{ .reg .pred p<2>; setp.hi.u32 p0, $1, $2; selp.b32 $0, 1, 0, p0; }",
            lambda i, j: int(_without_sign(i) > _without_sign(j)),
        ),
    ],
)
def test_integers(asm, expected):
    x, y, out = ONE.int(), OTHER.int(), torch.zeros(8, dtype=torch.int32)
    values, notes = executed(by_assembly, x, y, out, ASM=asm, HOW="=r,r,r", PACK=1, N=8)
    assert values == [_wrapped(expected(i, j)) for i, j in zip(ONE.tolist(), OTHER.tolist(), strict=True)]
    assert notes == []


@pytest.mark.parametrize(
    ("kind", "asm", "expected"),
    [
        (torch.float16, "fma.rn.f16x2 $0, $1, $2, $2;", lambda x, y: (x.double() * y + y).half()),
        (torch.bfloat16, "sub.bf16x2 $0, $1, $2;", lambda x, y: x - y),
        (
            torch.float16,
            "{ .reg .pred p<2>; .reg .b16 c<2>, d<2>; setp.lt.f16x2 p0|p1, $1, $2; mov.b32 {c0, c1}, $1; "
            "mov.b32 {d0, d1}, $2; selp.b16 c0, c0, d0, p0; selp.b16 c1, c1, d1, p1; mov.b32 $0, {c0, c1}; }",
            torch.minimum,
        ),
    ],
)
def test_two_floats_share_a_register(kind, asm, expected):
    x = torch.tensor([1.25, -3, 0.1, 7, 100, 0.5, -0.25, 9]).to(kind)
    y = torch.tensor([2, 5, -0.3, 1e-3, 3, 0.7, 4, -9]).to(kind)
    values, notes = executed(by_assembly, x, y, torch.zeros(8, dtype=kind), ASM=asm, HOW="=r,r,r", PACK=2, N=8)
    assert values == expected(x, y).tolist()
    assert notes == []


@triton.jit
def in_eights(x, out, back, N: tl.constexpr):
    i = tl.arange(0, N)
    narrow = tl.load(x + i).to(tl.float8e4b15)  # four in a register, by Triton's own assembly
    tl.store(back + i, narrow.to(tl.uint8, bitcast=True).to(tl.int32))
    tl.store(out + i, narrow.to(tl.float16))


def test_tritons_own_assembly_for_floats_of_8_bits():
    every = torch.arange(1, 8) / 8 + 1
    x = torch.cat(
        [every[:4] * 2.0**-5, -every[:4], torch.tensor([1.75, 0.0, 9.0, 2.0**-14, -0.5, 1.0, 0.25, 1.5])]
    ).half()
    out, back = torch.zeros(16, dtype=torch.float16), torch.zeros(16, dtype=torch.int32)
    with frontend.recording("sm_80", values=True) as launches:
        given, values, bits = x.to("cuda"), out.to("cuda"), back.to("cuda")
        in_eights[(1,)](given, values, bits, N=16)
        values, bits = values.tolist(), bits.tolist()
    assert launches.diagnostics == []
    assert values == [1.75 if one == 9 else one for one in x.tolist()]
    decoded = [
        (-1.0 if b >> 7 else 1.0) * ((b & 7) / 8 + (b >> 3 & 15 > 0)) * 2.0 ** (max(b >> 3 & 15, 1) - 15) for b in bits
    ]
    assert decoded == values


@triton.jit
def unpacks(x, out, more, N: tl.constexpr):
    i = tl.arange(0, N)
    low, high = tl.inline_asm_elementwise(
        "{ .reg .b32 t; lop3.b32 t, $2, $3, $4, $5; fma.rn.f16x2 t, t, $6, $7; mov.b32 {$0, $1}, t; }",
        "=h,=h,r,n,n,n,r,r",
        [tl.load(x + i), 0x00F000F0, 0x64006400, 0xEA, 0x2C002C00, 0xD400D400 - (1 << 32)],
        dtype=(tl.float16, tl.float16),
        is_pure=True,
        pack=1,
    )
    tl.store(more + i, high)
    tl.store(out + i, low)


def test_several_results():
    x = torch.tensor([0x00300070, 0x00F00000, 0x00100020, 0], dtype=torch.int32)
    low, notes = executed(unpacks, x, torch.zeros(4).half(), torch.zeros(4).half(), N=4)
    assert (low, notes) == ([3, 15, 1, 0], [])  # what is stored last: the upper halves


@triton.jit
def pairs(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    made = tl.inline_asm_elementwise(
        "add.s32 $0, $2, $3; sub.s32 $1, $2, $3;", "=r,=r,r,r", [tl.load(x + i)], dtype=tl.int32, is_pure=True, pack=2
    )
    tl.inline_asm_elementwise("bar.sync 0;", "=r", [], dtype=tl.int32, is_pure=False, pack=1)
    tl.store(out + i, made)


def test_what_depends_on_which_elements_go_together_is_in_doubt():
    values, notes = executed(pairs, torch.arange(4, dtype=torch.int32), torch.zeros(4, dtype=torch.int32), N=4)
    assert values == [1, -1, 5, -1]
    assert ["which ones the layout decides" in one for one in notes] == [True]


@pytest.mark.parametrize(
    "asm",
    ["{ .reg .b32 t; mov.b32 t, $1; }", "{ .reg .pred p; setp.lt.s32 p, $1, $2; @p mov.b32 $0, $2; }"],
)
def test_what_is_not_set_has_no_value(asm):
    out = torch.zeros(8, dtype=torch.int32)
    with frontend.recording("sm_90", values=True) as launches:
        by_assembly[(1,)](*(one.to("cuda") for one in (ONE, OTHER, out)), ASM=asm, HOW="=r,r,r", PACK=1, N=8)
    (note,) = launches.diagnostics
    assert "computes with what inline assembly has not set" in note.message


@pytest.mark.parametrize(
    ("asm", "said"),
    [
        ("mov.u32 $0, %smid;", "reads %smid"),
        ("ld.global.b32 $0, [$1];", "ld.global.b32 reaches memory"),
        ("st.shared.b32 [$1+4], $2; mov.b32 $0, $1;", "st.shared.b32 reaches memory"),
        ("shf.l.wrap.b32 $0, $1, $2, 3;", "shf.l.wrap.b32"),
        ("add.cc.u32 $0, $1, $2;", "add.cc.u32"),
        ("bra done; done: mov.b32 $0, $1;", "the label done:"),
        ("add.rz.f32 $0, $1, $2;", "add.rz.f32"),
    ],
)
def test_what_is_not_executed_is_named_with_its_line(asm, said):
    x = torch.zeros(8, dtype=torch.int32)
    with frontend.recording("sm_90", values=True) as launches:
        by_assembly[(1,)](x.to("cuda"), x.to("cuda"), x.to("cuda"), ASM=asm, HOW="=r,r,r", PACK=1, N=8)
    (note,) = launches.diagnostics
    lines, first = inspect.getsourcelines(by_assembly.fn)
    (at,) = (first + number for number, line in enumerate(lines) if "inline_asm_elementwise" in line)
    assert note.message.startswith("the cell was run up to here: by_assembly is not executed: inline assembly is not ")
    assert f"{said} (at {__file__}:{at}:" in note.message


def test_floats_of_8_bits_are_made_and_read_by_their_instructions():
    with np.errstate(all="ignore"):
        x = np.array([1.0, 500, -0.3, np.nan], np.float32).view(np.uint32).astype(np.uint64)
        (made,) = ttir_ptx.instruction("", "cvt", ["rn", "satfinite", "e4m3x2", "f32"], [x, x])
        assert made.tolist() == [0x3838, 0x7E7E, 0xAAAA, 0x7F7F]
        (halves,) = ttir_ptx.instruction("", "cvt", ["rn", "f16x2", "e4m3x2"], [made])
        assert (halves & np.uint64(0xFFFF)).astype(np.uint16).view(np.float16)[:3].tolist() == [1, 448, -0.3125]


@triton.jit
def packs_fours(x_ptr, y_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    packed = tl.inline_asm_elementwise(
        """
        {
            .reg .b8 byte<2>;
            cvt.rn.satfinite.e2m1x2.f32 byte0, $2, $1;
            cvt.rn.satfinite.e2m1x2.f32 byte1, $1, $2;
            mov.b32 $0, {byte0, byte1, byte0, byte1};
        }
        """,
        "=r,f,f",
        [x, -x],
        dtype=tl.int32,
        is_pure=True,
        pack=1,
    )
    tl.store(y_ptr + tl.arange(0, BLOCK), packed)


def test_floats_of_4_bits_are_made_and_read_by_their_instructions():
    """Halves go to the even one, what is too large to 6, NaN to the positive 6."""
    values = [0.0, 0.25, 0.26, 0.75, 1.25, 1.26, 1.75, 2.5, 3.5, 5.0, 5.1, 6.9, math.inf, math.nan, -1.0, -0.2]
    wanted = [0, 0, 1, 2, 2, 3, 4, 4, 6, 6, 7, 7, 7, 7, 10, 8]
    with frontend.recording("sm_100", values=True) as launches:
        x = torch.tensor(values, device="cuda")
        y = torch.zeros(16, dtype=torch.int32, device="cuda")
        packs_fours[(1,)](x, y, BLOCK=16)
        made = y.tolist()
    assert not launches.diagnostics
    bits = [one % (1 << 32) for one in made]
    assert [one & 15 for one in bits] == wanted
    assert [one >> 4 & 15 for one in bits] == [
        7 if one != one else code ^ 8 for one, code in zip(values, wanted, strict=True)
    ]
    assert [(one >> 12 & 15, one >> 8 & 15) for one in bits] == [(one & 15, one >> 4 & 15) for one in bits]
    assert [one >> 16 for one in bits] == [one & 0xFFFF for one in bits]
    (halves,) = ttir_ptx.instruction("", "cvt", ["rn", "f16x2", "e2m1x2"], [np.array([0x2F], dtype=np.uint64)])
    assert halves.view(np.float16)[:2].tolist() == [-6, 1]
