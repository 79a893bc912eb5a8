"""Functions of CUDA's libdevice and AMD's OCML, as executed launches compute them."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from irwidget.frontends import triton as frontend
from irwidget.toolchain.ttir_library import library_function
from irwidget.toolchain.ttir_program import Type

KINDS = {"f": Type("f32"), "d": Type("f64"), "i": Type("i32"), "l": Type("i64")}


def computed(symbol, kinds, made, *given):
    found = library_function(symbol, [KINDS[one] for one in kinds], KINDS[made])
    assert found is not None, symbol
    with np.errstate(all="ignore"):
        return found(*(np.array(one, dtype=KINDS[kind].dtype) for one, kind in zip(given, kinds, strict=True)))


def numbers(kind, count):
    """Floats of all magnitudes, and some near 1."""
    random = np.random.default_rng(count)
    bits = random.integers(0, 2**kind.bits, count, dtype=np.uint64).astype(kind.bits_dtype).view(kind.dtype)
    most = np.finfo(kind.dtype)
    ends = np.array([0, -0.0, 1, -1, most.max, -most.max, most.tiny, most.smallest_subnormal], kind.dtype)
    found = np.concatenate([bits, random.standard_normal(count).astype(kind.dtype), ends])
    return random.permutation(found[np.isfinite(found)][:count])


EXACT = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x,
    "fma": lambda x, y, z: x * y + z,
}


def lies(exact, made, way):
    """Whether a float is what an exact number is rounded to in a direction."""
    if way == "rz":
        way = "rd" if exact > 0 else "ru"
    far = Fraction(2) ** 3000
    with np.errstate(over="ignore"):
        after = np.nextafter(made, made.dtype.type(np.inf if way == "rd" else -np.inf))
    one, other = (Fraction(float(end)) if math.isfinite(end) else far * (1 if end > 0 else -1) for end in (made, after))
    return one <= exact < other if way == "rd" else other < exact <= one


@pytest.mark.parametrize("way", ["rz", "rd", "ru"])
@pytest.mark.parametrize("letter", ["f", "d"])
def test_arithmetic_is_rounded_as_its_name_says(letter, way):
    for name, exact in EXACT.items():
        count = exact.__code__.co_argcount
        given = [numbers(KINDS[letter], 300 + one)[:300] for one in range(count)]
        if name in ("div", "rcp"):
            given[-1] = np.where(given[-1] == 0, given[-1].dtype.type(3), given[-1])
        symbol = f"__nv_{letter}{name}_{way}" if name != "fma" else f"__nv_fma{letter.replace('d', '')}_{way}"
        made = computed(symbol, letter * count, letter, *given)
        for one, *parts in zip(made, *given, strict=True):
            assert lies(exact(*(Fraction(float(part)) for part in parts)), one, way), (symbol, parts, one)
    squares = np.abs(numbers(KINDS[letter], 300))
    for root, of in zip(computed(f"__nv_{letter}sqrt_{way}", letter, letter, squares), squares, strict=True):
        exact = Fraction(float(of))
        end = np.nextafter(root, root.dtype.type(-1 if way == "ru" else np.inf))
        low, high = sorted(Fraction(float(one)) for one in (root, end))
        assert exact == 0 or max(low, 0) ** 2 <= exact <= high**2
        assert (exact == high**2 or low < 0 or exact > low**2) if way == "ru" else exact < high**2


def test_zeros_and_ends_of_rounded_arithmetic():
    assert np.signbit(computed("__nv_fadd_rd", "ff", "f", [1, -0.0, 0.0], [-1, 0.0, 0.0])).tolist() == [
        True,
        True,
        False,
    ]
    assert np.signbit(computed("__nv_fadd_rz", "ff", "f", [1], [-1])).tolist() == [False]
    assert computed("__nv_fdiv_rd", "ff", "f", [1, -1, 0], [0, 0, 0]).tolist()[:2] == [math.inf, -math.inf]
    assert computed("__nv_fadd_ru", "ff", "f", [math.inf, math.nan], [1, 1]).tolist()[:1] == [math.inf]
    assert computed("__nv_fma", "ddd", "d", [1e300, -1e300], [1e300, 1e300], [1, 1]).tolist() == [math.inf, -math.inf]


def test_floats_become_whole_numbers_as_ptx_converts_them():
    x = [1.5, 2.5, -1.5, 3e9, -3e9, math.nan, math.inf, -0.5]
    most, least = 2**31 - 1, -(2**31)
    assert {way: computed(f"__nv_float2int_{way}", "f", "i", x).tolist() for way in ("rn", "rz", "rd", "ru")} == {
        "rn": [2, 2, -2, most, least, 0, most, 0],
        "rz": [1, 2, -1, most, least, 0, most, 0],
        "rd": [1, 2, -2, most, least, 0, most, -1],
        "ru": [2, 3, -1, most, least, 0, most, 0],
    }
    assert computed("__nv_float2uint_rd", "f", "i", x).view(np.uint32).tolist() == [
        1,
        2,
        0,
        3 * 10**9,
        0,
        0,
        2**32 - 1,
        0,
    ]
    assert computed("__nv_double2int_rn", "d", "i", [math.nan]).tolist() == [least]
    assert computed("__nv_float2ll_rn", "f", "l", [math.nan, 1e30, -5.5]).tolist() == [-(2**63), 2**63 - 1, -6]
    assert computed("__nv_llround", "d", "l", [2.5, -2.5, 0.49999999999999994]).tolist() == [3, -3, 0]
    assert computed("__nv_llrintf", "f", "l", [2.5, 3.5]).tolist() == [2, 4]


def test_numbers_become_floats_in_a_direction():
    x = [2**24 + 1, -(2**24) - 1, 2**31 - 1]
    assert computed("__nv_int2float_rz", "i", "f", x).tolist() == [2**24, -(2**24), 2**31 - 128]
    assert computed("__nv_int2float_rd", "i", "f", x).tolist() == [2**24, -(2**24) - 2, 2**31 - 128]
    assert computed("__nv_int2float_ru", "i", "f", x).tolist() == [2**24 + 2, -(2**24), 2**31]
    assert computed("__nv_ull2double_rz", "l", "d", [-1]).tolist() == [2**64 - 2048]
    assert computed("__nv_uint2float_rn", "i", "f", [-1]).tolist() == [2**32]
    assert computed("__nv_double2float_rz", "d", "f", [1e300, -math.inf]).tolist() == [
        float(np.finfo("f4").max),
        -math.inf,
    ]


def test_bits_are_moved_as_defined():
    x, y = 0x12345678, -2
    assert computed("__nv_brev", "i", "i", [1, x]).tolist() == [-(2**31), 0x1E6A2C48]
    assert computed("__nv_brevll", "l", "l", [2]).tolist() == [2**62]
    assert computed("__nv_byte_perm", "iii", "i", [x], [y], [0x3210]).tolist() == [x]
    assert computed("__nv_byte_perm", "iii", "i", [x], [y], [0x0124]).view(np.uint32).tolist() == [0x785634FE]
    assert computed("__nv_mulhi", "ii", "i", [x], [y]).tolist() == [(x * y) >> 32]
    assert computed("__nv_umulhi", "ii", "i", [x], [y]).tolist() == [(x * (y + 2**32)) >> 32]
    assert computed("__nv_mul64hi", "ll", "l", [x << 32], [y << 32]).tolist() == [x * y]
    assert computed("__nv_mul24", "ii", "i", [0xFFFFFF], [5]).tolist() == [-5]
    assert computed("__nv_umul24", "ii", "i", [0xFFFFFF], [5]).tolist() == [5 * 0xFFFFFF]
    assert computed("__nv_hadd", "ii", "i", [2**31 - 1, -3], [2**31 - 1, 0]).tolist() == [2**31 - 1, -2]
    assert computed("__nv_urhadd", "ii", "i", [-1], [-2]).tolist() == [-1]
    assert computed("__nv_sad", "iii", "i", [-5], [7], [1]).tolist() == [13]
    assert computed("__nv_usad", "iii", "i", [-1], [0], [2]).tolist() == [1]
    assert computed("__nv_float_as_int", "f", "i", [-0.0]).tolist() == [-(2**31)]
    assert computed("__nv_hiloint2double", "ii", "d", [0x3FF00000], [0]).tolist() == [1]
    assert computed("__nv_double2hiint", "d", "i", [-2.0]).tolist() == [-(2**30)]


def test_functions_at_their_ends():
    inf, nan = math.inf, math.nan
    for name, given, expected in (
        ("sinpi", [0.5, 1, 1e6 + 0.5, -0.25, inf], [1, 0, 1, -math.sqrt(0.5), nan]),
        ("cospi", [0.5, 1, 1e6, 1 / 3], [0, -1, 1, 0.5]),
        ("tgamma", [5, 0, -0.0, -1, 200, 0.5], [24, inf, -inf, nan, inf, math.sqrt(math.pi)]),
        ("erfcinv", [1, 0, 2, 0.15729920705028513], [0, inf, -inf, 1]),
        ("logb", [8, 0.3, 0, -inf, nan], [3, -2, -inf, inf, nan]),
    ):
        np.testing.assert_allclose(computed(f"__nv_{name}", "d", "d", given), expected, rtol=1e-12, atol=1e-16)
        np.testing.assert_allclose(computed(f"__nv_{name}f", "f", "f", given), expected, rtol=3e-6, atol=1e-7)
    assert computed("__nv_tgamma", "d", "d", [-1e-310, 1e-310]).tolist() == [-inf, inf]
    assert computed("__nv_ilogbf", "f", "i", [0, inf, nan, 0.3]).tolist() == [-(2**31), 2**31 - 1, -(2**31), -2]
    assert computed("__nv_rnorm3df", "fff", "f", [2], [3], [6]).tolist() == pytest.approx([1 / 7])
    assert computed("__ocml_fma_f32", "fff", "f", [3], [4], [5]).tolist() == [17]


@triton.jit
def by_libdevice(x, y, out):
    i = tl.arange(0, 4)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, libdevice.div_rz(a, b))
    tl.store(out + 4 + i, libdevice.fma(a, b, a))
    tl.store(out + 8 + i, libdevice.float2int_rn(a))
    tl.store(out + 12 + i, libdevice.float_as_int(a) >> 23)


def test_a_kernel_calls_them():
    x, y = torch.tensor([1, 2, 10, 2.5]), torch.tensor([3.0, 7, 3, 1])
    with frontend.recording("sm_90", values=True) as launches:
        given, other, out = x.to("cuda"), y.to("cuda"), torch.zeros(16, device="cuda")
        by_libdevice[(1,)](given, other, out)
        values = out.reshape(4, 4).tolist()
    assert launches.diagnostics == []
    quotients, products, whole, exponents = values
    assert [float(np.float32(one)) for one in quotients] == quotients
    assert all(0 <= a / b - q < 1e-6 for q, a, b in zip(quotients, x.tolist(), y.tolist(), strict=True))
    assert products == [4, 16, 40, 5]
    assert whole == [1, 2, 10, 2]
    assert exponents == [127, 128, 130, 128]
