"""What executed launches compute, where Python, NumPy and compiled Triton would differ: the values are a GPU's."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from irwidget.frontends import triton as frontend
from irwidget.toolchain.ttir_library import library_function
from irwidget.toolchain.ttir_numbers import from_bits, rounded, to_bits
from irwidget.toolchain.ttir_program import Type, functions


def written(kernel, *arguments, like, grid=(1,), **constants):
    """What a launch writes into a tensor that begins as zeros, and what there is to say of it."""
    with frontend.recording("sm_90", values=True) as launches:
        out = torch.zeros_like(like, device="cuda")
        kernel[grid](*(one.to("cuda") if torch.is_tensor(one) else one for one in arguments), out, **constants)
        values = out.tolist()
    return values, [note.message for note in launches.diagnostics]


@triton.jit
def of_loops(small, out):
    """A loop's variable is an int32, as is a number by name; a constant has the type of what it meets."""
    hundred: tl.constexpr = 100
    x = tl.load(small)  # an int8 of 100
    tl.store(out, x + hundred)  # int8: wraps around
    for i in range(100, 101):
        tl.store(out + 1, x + i)  # int32
    for i in range(-7, -6):
        tl.store(out + 2, i // 2)
        tl.store(out + 3, i % 2)
        tl.store(out + 4, (i / 2 * 100).to(tl.int32))
    for i in range(70000, 70001):
        tl.store(out + 5, i * i)
    for i in tl.static_range(100, 101):
        tl.store(out + 6, x + i)  # a constant
    for i in range(5, 0, -2):
        tl.store(out + 7 + i, i)
    number = 100
    tl.store(out + 14, x + number)
    total = 0
    for _ in range(3):
        total += x
    tl.store(out + 13, total)


def test_numbers_have_the_types_that_they_are_compiled_with():
    values, notes = written(of_loops, torch.tensor([100], dtype=torch.int8), like=torch.zeros(15, dtype=torch.int64))
    assert values == [-56, 200, -3, -1, -350, 605032704, -56, 0, 1, 0, 3, 0, 5, 300, 200]
    assert notes == []


@triton.jit
def of_halves(halves, out):
    tenth: tl.constexpr = 0.1
    x = tl.load(halves + tl.arange(0, 4))
    tl.store(out + tl.arange(0, 4), x * tenth)  # in 16 bits
    for i in range(3, 4):
        tl.store(out + 4 + tl.arange(0, 4), x * (i * 1.0))  # in 32 bits


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_a_constant_is_as_narrow_as_what_it_meets(kind):
    x = torch.tensor([1, 3, 7, 11.5], dtype=kind)
    values, _ = written(of_halves, x, like=torch.zeros(8))
    narrow = (x.float() * torch.tensor(0.1, dtype=kind).float()).to(kind).tolist()
    wide = (x.float() * 3).tolist()
    assert values == narrow + wide


@triton.jit
def of_integers(x, y, out, n: tl.constexpr):
    i = tl.arange(0, n)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, a // b)
    tl.store(out + n + i, a % b)
    tl.store(out + 2 * n + i, a > b)
    tl.store(out + 3 * n + i, a >> 1)
    tl.store(out + 4 * n + i, tl.maximum(a, b))
    tl.store(out + 5 * n + i, (a - b).to(tl.float32) / 16)
    tl.store(out + 6 * n + i, tl.cumsum(a, reverse=True))
    tl.store(out + 7 * n + i, a.to(tl.int8).to(tl.int64) + tl.sum(a))


@pytest.mark.parametrize("kind", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.uint32, torch.int64])
def test_integers_divide_compare_shift_and_wrap_as_compiled(kind):
    low, high = torch.iinfo(kind).min, torch.iinfo(kind).max
    x = torch.tensor([high, high - 1, 7, low + 1], dtype=torch.int64).to(kind)
    y = torch.tensor([3, 5, 2, high], dtype=torch.int64).to(kind)
    values, notes = written(of_integers, x, y, like=torch.zeros(32, dtype=torch.int64), n=4)
    name = str(kind).removeprefix("torch.")
    a, b = (one.numpy().astype(name) for one in (x, y))
    wide = (
        a.astype("i8" if a.dtype.kind == "i" else "u8")
        if a.dtype.itemsize == 8
        else a.astype("i4" if a.dtype.kind == "i" else "u4")
    )
    with np.errstate(over="ignore"):
        rest = np.fmod(a, b)
        rows = [
            (a - rest) // b,
            rest,
            a > b,
            a >> 1,
            np.maximum(a, b),
            (a - b).astype(np.float32) / 16,
            np.cumsum(wide[::-1], dtype=wide.dtype)[::-1],
            a.astype(np.int8).astype(np.int64) + np.sum(wide, dtype=wide.dtype).astype(np.int64),
        ]
    assert np.array(values).reshape(8, 4).tolist() == [row.astype(np.int64).tolist() for row in rows]
    assert notes == []


@triton.jit
def of_floats(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    a = tl.load(x + i)
    tl.store(out + i, tl.maximum(a, 1.0))
    tl.store(out + n + i, tl.maximum(a, 1.0, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 2 * n + i, (a < 1.0).to(tl.float32) + 2 * (a != a).to(tl.float32))
    tl.store(out + 3 * n + i, tl.max(a, 0))
    tl.store(out + 4 * n + i, tl.fma(a, a, -a * a))
    tl.store(out + 5 * n + i, a % 2.0)
    tl.store(out + 6 * n + i, tl.sort(tl.where(a == a, a, 9.0)))
    tl.store(out + 7 * n + i, a.to(tl.float8e5, fp_downcast_rounding="rtz").to(tl.float32))


def test_floats_compare_round_and_propagate_as_compiled():
    x = torch.tensor([float("nan"), -2.7, 0.3, 1.1])
    values, notes = written(of_floats, x, like=torch.zeros(32), n=4)
    a = x.numpy()
    exact = [float(np.float32(float(one) ** 2 - float(np.float32(one * one)))) for one in a]
    with np.errstate(invalid="ignore"):
        rows = [
            np.fmax(a, 1),
            np.maximum(a, 1),
            [2, 1, 1, 0],
            np.full(4, a[3]),
            exact,
            np.fmod(a, np.float32(2)),
            [a[1], a[2], a[3], 9],
            [np.nan, -2.5, 0.25, 1.0],
        ]
    np.testing.assert_array_equal(np.array(values, np.float32).reshape(8, 4), np.array(rows, np.float32))
    assert notes == []


@triton.jit
def of_indices(x, out, LEFT: tl.constexpr):
    a = tl.load(x + tl.arange(0, 8))
    tl.store(out, tl.argmax(a, 0, tie_break_left=LEFT))
    tl.store(out + 1, tl.argmin(a, 0, tie_break_left=LEFT))


@pytest.mark.parametrize(
    ("x", "left", "expected"),
    [
        ([1.0, 5, 5, 0, 5, 0, 1, 2], True, [1, 3]),
        ([1.0, 5, 4, 0, 3, 0.5, 1, 2], False, [1, 3]),
        ([1.0, 5, 5, 0, 5, 0, 1, 2], False, None),
        ([1.0, 5, 4, 0, 3, 0.5, 1, float("nan")], True, None),
    ],
)
def test_which_of_equal_elements_is_found_is_said_where_the_layout_decides(x, left, expected):
    values, notes = written(of_indices, torch.tensor(x), like=torch.zeros(2, dtype=torch.int32), LEFT=left)
    assert ["whose result depends on the order of elements" in one for one in notes] == ([] if expected else [True])
    assert expected is None or values == expected


@triton.jit
def of_zeros(x, y, out, n: tl.constexpr):
    i = tl.arange(0, n)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(out + i, tl.maximum(a, b))
    tl.store(out + n + i, tl.minimum(a, b))
    tl.store(out + 2 * n + i, tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 3 * n + i, tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL))
    tl.store(out + 4 * n + i, tl.clamp(a, 0.0, 1.0))
    tl.store(out + 5 * n + i, tl.max(a, 0))
    tl.store(out + 6 * n + i, tl.min(a, 0))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_a_negative_zero_is_less_than_zero(kind):
    x, y = torch.tensor([0.0, -0.0] * 8, dtype=kind), torch.tensor([-0.0, 0.0] * 8, dtype=kind)
    values, _ = written(of_zeros, x, y, like=torch.zeros(7, 16, dtype=kind), n=16)
    assert [{float(np.copysign(1, one)) for one in row} for row in values] == [{1}, {-1}, {1}, {-1}, {1}, {1}, {-1}]


@triton.jit
def sums_and_differences(a, b):
    return a + b, a - b


@triton.jit
def doubles(a, b):
    return a * 2, b * 2


@triton.jit
def in_an_order(x, out, WHAT: tl.constexpr):
    i, j = tl.arange(0, 4)[:, None], tl.arange(0, 4)[None, :]
    a = tl.load(x + i * 4 + j)
    if WHAT == "view":
        tl.store(out + tl.arange(0, 16), tl.view(a, (16,)))
    elif WHAT == "cat":
        tl.store(out + tl.arange(0, 8), tl.cat(tl.sum(a, 0), tl.sum(a, 1), can_reorder=True))
    elif WHAT == "pairs":
        tl.store(out + i * 4 + j, tl.map_elementwise(sums_and_differences, a, pack=2)[0])
    elif WHAT == "matched":  # each element of one with that of the other
        tl.store(out, tl.sum(tl.view(a, (16,)) * (tl.arange(0, 16) + 1), 0))
    elif WHAT == "place":  # beside places, which keep their order
        tl.store(out, tl.argmax(tl.view(a, (16,)), 0))
    elif WHAT == "same":
        tl.store(out + tl.arange(0, 16), tl.view(tl.full((4, 4), 3.0, tl.float32), (16,)))
    elif WHAT == "alike":
        tl.store(out + i * 4 + j, tl.map_elementwise(doubles, a, pack=2)[0])
    else:
        tl.store(out, tl.sum(a))
        tl.store(out + 1, tl.sum(tl.view(a, (2, 8))))
        tl.store(out + 2, tl.max(a))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("view", "tl.view or can_reorder"),
        ("matched", "tl.view or can_reorder"),
        ("place", "tl.view or can_reorder"),
        ("cat", "tl.cat"),
        ("pairs", "tl.map_elementwise of several elements"),
        ("same", ""),
        ("alike", ""),
        ("sums", ""),
    ],
)
def test_an_order_that_is_not_defined_is_said_where_what_is_written_depends_on_it(what, said):
    x = torch.arange(16).reshape(4, 4) / 3
    values, notes = written(in_an_order, x, like=torch.zeros(16), WHAT=what)
    assert [f"in_an_order computes with {said}" in one for one in notes] == ([True] if said else [])
    if what == "alike":
        assert values == (x * 2).reshape(-1).tolist()
    if what == "sums":
        assert values[:3] == pytest.approx([40, 40, 5])
        x[1, 1] = float("nan")
        assert written(in_an_order, x, like=torch.zeros(16), WHAT=what)[1] == []


@triton.jit
def without_a_value(x, out, n, WHAT: tl.constexpr, EVERYWHERE: tl.constexpr):
    i = tl.arange(0, 4)
    a = tl.load(x + i)
    if WHAT == "zero":
        made = 6 // a
    elif WHAT == "shift":
        made = 1 << (a + 30)
    elif WHAT == "float":
        made = (a * 2e9).to(tl.int32)
    elif WHAT == "gather":
        made = tl.gather(a, a + 2, 0)
    else:
        made = tl.histogram(a, 2)
        made = tl.reshape(tl.join(made, made), (4,))
    tl.store(out + i, made, mask=(a == 1) | EVERYWHERE)


@pytest.mark.parametrize(
    ("what", "said", "value"),
    [
        ("zero", "a division by zero", 6),
        ("shift", "a shift by all bits or more", -(2**31)),
        ("float", "a float that does not fit into i32", 2000000000),
        ("gather", "tl.gather from outside of a tensor", 2),
        ("histogram", "tl.histogram of what lies in none of its bins", None),
    ],
)
def test_what_has_no_defined_value_is_said_where_it_is_written_only(what, said, value):
    x, out = torch.tensor([0, 1, 2, 2], dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    for everywhere in (False, True):
        with frontend.recording("sm_90", values=True) as launches:
            given, made = x.to("cuda"), out.to("cuda")
            without_a_value[(1,)](given, made, 4, WHAT=what, EVERYWHERE=everywhere)
            values = made.tolist()
        notes = [note.message for note in launches.diagnostics]
        doubted = [f"without_a_value computes with {said}" in one for one in notes]
        assert doubted == ([True] if everywhere or value is None else [])
    assert value is None or values[1] == value
    with frontend.recording("sm_90") as launches:  # and where there is no --run, there is no value
        given, made = x.to("cuda"), torch.zeros(4, dtype=torch.int32, device="cuda")
        without_a_value[(1,)](given, made, 4, WHAT=what, EVERYWHERE=True)
        made.tolist()
    assert f"computes with {said}" in launches.diagnostics[-1].message


@triton.jit
def greater(a, i, b, j):
    if a > b:
        return a, i
    return b, j


@triton.jit
def both(a, b):
    return a * b, a - b


@triton.jit
def of_tensors(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    a = tl.load(x + i)
    most, at = tl.reduce((a, i), 0, greater)  # decides by single elements
    tl.store(out + i, most + at)
    running, where = tl.associative_scan((a, i), 0, greater)
    tl.store(out + n + i, running * 100 + where)
    one, other = tl.split(tl.reshape(tl.join(a, i), (n, 2)))
    tl.store(out + 2 * n + i, one * 10 + other)
    product, difference = tl.map_elementwise(both, a, i)
    tl.store(out + 3 * n + i, product + difference)
    tl.store(out + 4 * n + i, tl.gather(a, n - 1 - i, 0))
    square = tl.sum(tl.reshape(a, (4, 4, 1)) * tl.trans(tl.reshape(a, (4, 4, 1)), (2, 0, 1)), 1)
    tl.store(out + 5 * n + i, tl.reshape(square, (n,)).to(tl.int32))
    count = 0
    while count < 5:
        count += 2
    tl.store(out + 6 * n + i, tl.flip(a, 0) + count)
    tl.store(out + 7 * n + i, tl.atomic_add(out + 7 * n + i // 2, 1))
    for k in range(2):  # regions side by side name other values alike
        if k == 0:  # noqa: SIM108
            part = tl.full((n,), 2, tl.int32)
        else:
            part = tl.full((n,), 30, tl.int32)
        tl.store(out + 8 * n + k * n + i, part)
    if most > 3:
        return
    tl.store(out + i, 0)


def test_operations_on_tensors_give_what_numpys_give():
    x = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3], dtype=torch.int32)
    values, notes = written(of_tensors, x, like=torch.zeros(160, dtype=torch.int32), n=16)
    a, i = x.numpy(), np.arange(16)
    last = np.array([max(range(k + 1), key=lambda j: (a[j], j)) for k in i])  # of equal ones the later
    square = a.reshape(4, 4) @ a.reshape(4, 4)
    rows = [np.full(16, 9 + 14), a[last] * 100 + last, a * 10 + i, a * i + a - i, a[::-1], square.reshape(-1)]
    found = np.array(values).reshape(10, 16)
    assert found[:7].tolist() == np.array([*rows, a[::-1] + 6]).tolist()
    assert found[8:].tolist() == [[2] * 16, [30] * 16]
    (note,) = notes  # the largest is there three times, and `greater` takes the later: a layout has orders of its own
    assert "computes with a reduction whose result depends on the order of elements" in note


@triton.jit
def of_products(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    place = i[:, None] * n + i[None, :]
    a = tl.load(x + place)
    narrow, whole = a.to(tl.bfloat16), (a * 100).to(tl.int8)
    tl.store(out + place, tl.dot(a, a))
    tl.store(out + n * n + place, tl.dot(a, a, input_precision="ieee"))
    tl.store(out + 2 * n * n + place, tl.dot(narrow, narrow, acc=a))
    tl.store(out + 3 * n * n + place, tl.dot(whole, whole))
    scale = tl.full((n, 1), 128, tl.uint8)  # 2 ** 1
    tl.store(out + 4 * n * n + place, tl.dot_scaled(narrow, scale, "bf16", narrow, None, "bf16"))


def test_products_have_the_precision_that_they_are_compiled_with():
    torch.manual_seed(0)
    x = torch.rand(32, 32)
    values, notes = written(of_products, x, like=torch.zeros(5, 32, 32), n=32)
    short = (x.view(torch.int32) & ~0x1FFF).view(torch.float32)
    narrow, whole = x.bfloat16().float(), (x * 100).to(torch.int8).float()
    expected = torch.stack([short @ short, x @ x, narrow @ narrow + x, whole @ whole, 2 * narrow @ narrow])
    torch.testing.assert_close(torch.tensor(values), expected, rtol=1e-6, atol=1e-6)
    assert notes == []


@triton.jit
def of_blocks(x, out, h, w):
    source = tl.make_tensor_descriptor(x, [h, w], [w, 1], [4, 8], padding_option="nan")
    target = tl.make_tensor_descriptor(out, [h, w], [w, 1], [4, 8])
    for row in range(0, h, 4):
        block = source.load([row, tl.program_id(0) * 8])
        target.store([row, tl.program_id(0) * 8], block + tl.where(block != block, 1, 2))
    target.atomic_add([0, 0], tl.full((4, 8), 0.5, tl.float32))


def test_descriptors_load_and_store_what_lies_inside():
    x = torch.arange(60.0).reshape(5, 12)
    with frontend.recording("sm_90", values=True) as launches:
        given, out = x.to("cuda"), torch.zeros(5, 12, device="cuda")
        of_blocks[(2,)](given, out, 5, 12)
        values = out.cpu()
    expected = x + 2
    expected[:4, :8] += 1.0
    torch.testing.assert_close(values, expected, rtol=0, atol=0)
    assert launches.diagnostics == []


@triton.jit
def of_programs(descriptor, x, out, n):
    at = (tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(2) + tl.program_id(2)
    tl.store(out + at, at + 100 * tl.num_programs(0))
    tl.assume(n > 3)
    if at == 0:
        i = tl.arange(0, 16)
        block = descriptor.load([1, 2])  # 2 rows of 4 of a tensor of 3 x 5: inside are 2 x 3
        tl.store(out + 32 + tl.arange(0, 8), tl.reshape(block, (8,)))
        rows = tl.make_tensor_descriptor(x, [3, 5], [8, 1], [1, 8])
        tl.store(out + 48 + tl.arange(0, 64), tl.reshape(rows.gather(tl.arange(0, 8) % 4, 1), (64,)))
        one = tl.load(x + i).to(tl.uint32)
        tl.store(out + 112 + i, tl.umulhi(one << 28, one << 28))
        tl.store(out + 128 + i, tl.clamp(tl.where(i == 3, float("nan"), i * 1.0), 2.0, 9.0))
        bits = tl.arange(0, 32)
        fours = tl.dot_scaled(
            tl.join(i, i).reshape(1, 32).broadcast_to(16, 32).to(tl.uint8),
            tl.full((16, 2), 127, tl.uint8),
            "e2m1",
            (bits[:, None] == i[None, :] * 2 + 1).to(tl.uint8) * 2,  # low half: 1.0
            None,
            "e2m1",
        )
        tl.store(out + 144 + i, tl.max(fours, 0))
        tl.store(out + 160 + tl.arange(0, 4), tl.histogram(i % 8, 4, mask=i % 8 < 4))
        true = tl.full((16,), 1, tl.int1)
        tl.store(out + 164 + i, true.to(tl.int32) + (true + true).to(tl.int32) + (i == 3))


@triton.jit
def of_atomics(out, halves):
    i = tl.arange(0, 8)
    tl.atomic_max(out + i, (i * -1).to(tl.uint32, bitcast=True))  # without a sign: the largest
    tl.atomic_add(out + 8 + i // 4, 1)
    tl.store(out + 10 + i, tl.atomic_cas(out + 18 + i // 2, (i * 0).to(tl.uint32), i.to(tl.uint32)))
    tl.atomic_xchg(out + 24, 7)
    tl.atomic_and(out + 25, 1, mask=tl.program_id(0) > 0)
    tl.atomic_add(halves + i // 8, (i * 0 + 0.1).to(tl.bfloat16))


def test_programs_descriptors_and_packed_floats():
    x = torch.arange(24.0).reshape(3, 8)
    with frontend.recording("sm_90", values=True) as launches:
        given, out = x.to("cuda"), torch.zeros(192, device="cuda")
        of_programs[(2, 3, 4)](TensorDescriptor(given, [3, 5], [8, 1], [2, 4], "nan"), given, out, 4)
        values = out.cpu()
    assert launches.diagnostics == []
    assert values[:24].tolist() == [200 + at for at in range(24)]
    nan = float("nan")
    torch.testing.assert_close(
        values[32:40], torch.tensor([10, 11, 12, nan, 18, 19, 20, nan]), equal_nan=True, rtol=0, atol=0
    )
    row = torch.nn.functional.pad(x[:, 1:5], (0, 4, 0, 1))
    assert values[48:112].reshape(8, 8).tolist() == [*row.tolist(), *row.tolist()]
    assert values[112:128].tolist() == [((one << 28) % 2**32) ** 2 >> 32 for one in range(16)]
    assert values[128:144].tolist() == [2, 2, 2, 2, *range(4, 9), *[9] * 7]
    e2m1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert values[144:160].tolist() == [*e2m1, 0, *(-one for one in e2m1[1:])]
    assert values[160:164].tolist() == [4 - 2] * 4
    assert values[164:180].tolist() == [1 + (one == 3) for one in range(16)]


def test_atomics_see_one_element_after_the_other():
    with frontend.recording("sm_90", values=True) as launches:
        out = torch.zeros(26, device="cuda", dtype=torch.uint32)
        halves = torch.zeros(1, device="cuda", dtype=torch.bfloat16)
        of_atomics[(1,)](out, halves)
        found, half = out.tolist(), halves.tolist()
    assert launches.diagnostics == []
    assert found[:8] == [0, *(2**32 - one for one in range(1, 8))]
    assert found[8:10] == [4, 4]
    assert found[10:18] == [0, 0, 0, 2, 0, 4, 0, 6]
    assert found[18:26] == [1, 2, 4, 6, 0, 0, 7, 0]
    expected = torch.zeros((), dtype=torch.bfloat16)
    for _ in range(8):
        expected += torch.tensor(0.1, dtype=torch.bfloat16)
    assert half == [expected.item()]


@triton.jit
def composed(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def of_scans(out, n: tl.constexpr):
    i = tl.arange(0, n)
    at = i[:, None] * 2 + tl.arange(0, 2)[None, :]
    factor, number = tl.associative_scan((at % 3 + 1, at), 0, composed)
    tl.store(out + at, number)
    factor, number = tl.associative_scan((at % 3 + 1, at), 0, composed, reverse=True)
    tl.store(out + 2 * n + at, factor + number)


def test_scans_combine_elements_in_their_order():
    values, notes = written(of_scans, like=torch.zeros(64, dtype=torch.int64), n=16)
    at = np.arange(32).reshape(16, 2)
    expected = []
    for rows in (at, at[::-1]):
        made = [(rows[0] % 3 + 1, rows[0])]
        for row in rows[1:]:
            factor, number = made[-1]
            made.append((factor * (row % 3 + 1), number * (row % 3 + 1) + row))
        expected.append(made)
    forward = [number for _, number in expected[0]]
    backward = [factor + number for factor, number in expected[1]][::-1]
    wrapped = np.concatenate([*forward, *backward]).astype(np.int32)  # int32 arithmetic in the kernel
    assert values == wrapped.tolist()
    assert notes == []


@triton.jit
def of_threes(like, number):
    return tl.full(like.shape, number, tl.int32)


@triton.jit
def of_shapes(empty, out, VOLATILE: tl.constexpr):
    """What is loaded gives its shape only, as libraries have it that generate kernels."""
    index = tl.arange(0, 8)
    loaded = tl.load(empty + index, volatile=VOLATILE) + 1
    for i in range(2):
        unused = loaded * i
        tl.store(out + index + i * 8, of_threes(unused, 3))


@pytest.mark.parametrize("volatile", [False, True])
def test_what_compilation_leaves_out_is_not_loaded(volatile):
    with frontend.recording("sm_90", values=True) as launches:
        out = torch.zeros(16, dtype=torch.int32, device="cuda")
        of_shapes[(1,)](torch.empty(4, device="cuda"), out, VOLATILE=volatile)
        assert out.tolist() == [3] * 16
    said = [note.message.partition(" at ")[0] for note in launches.diagnostics]
    assert said == ["of_shapes reads outside of its tensors"] * volatile


@triton.jit
def half_used(x, n, out, HOW: tl.constexpr):
    """Four of eight elements are written."""
    i = tl.arange(0, 8)
    loaded = tl.load(x + i)
    if HOW == "chosen":
        loaded = tl.where(i < 4, loaded, 0.0)
    elif HOW == "times zero":
        loaded = tl.abs(loaded) * (i < 4)
    elif HOW == "largest":
        loaded = tl.maximum(tl.where(loaded < 0, 0.0, loaded), 1e9)
    elif HOW == "least":
        loaded = tl.minimum(tl.where(loaded > 0, 0.0, loaded), -1e9)
    elif HOW == "counted":
        for _ in range(tl.load(n)):
            loaded += tl.where(i < 4, tl.load(x + i), 0.0) - loaded
        loaded = tl.where(i < 4, loaded, 0.0)
    elif HOW == "asserted":
        tl.device_assert((i < 4) | (loaded < 1e9))
        loaded = tl.where(i < 4, loaded, 0.0)
    elif HOW == "places":
        loaded = tl.load(x + tl.load(n).to(tl.int64) + i % 4)
    tl.store(out + i, loaded)


@pytest.mark.parametrize("values", [False, True])
@pytest.mark.parametrize(
    "how", ["chosen", "times zero", "largest", "least", "counted", "asserted", "places", "as it is"]
)
def test_a_kernel_may_load_what_nothing_has_written_where_its_results_do_not_depend_on_it(how, values):
    if values and how in ("counted", "asserted", "places"):
        pytest.skip("does what happens to be in memory")
    with frontend.recording("sm_90", values=values) as launches:
        x, out = torch.empty(8, device="cuda"), torch.empty(8, device="cuda")
        x[:4] = 2
        n = torch.empty(1, device="cuda", dtype=torch.int32)
        half_used[(1,)](x, n, out, HOW=how, debug=how == "asserted")
        found = out.tolist()
        assert how != "chosen" or found == [2] * 4 + [0] * 4
    said = ["half_used reads memory that nothing has written" in note.message for note in launches.diagnostics]
    assert any(said) is (how != "chosen"), launches.diagnostics


@triton.jit
def of_barriers(count, out, n, ROUNDS: tl.constexpr):
    for i in range(ROUNDS):
        tl.atomic_add(count, 1)
        while tl.load(count, volatile=True) < n * (i + 1):
            pass
    tl.store(out + tl.program_id(0), tl.load(count))


@triton.jit
def of_locks(lock, out):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    while tl.load(out) < 200:  # which only what it writes ends
        tl.store(out, tl.load(out) + 1)
    tl.atomic_xchg(lock, 0)


def test_a_program_that_waits_has_others_executed_and_one_that_waits_in_vain_is_refused():
    count = torch.zeros(1, dtype=torch.int32)
    many = torch.zeros(150, dtype=torch.int32)
    assert written(of_barriers, count, like=many, grid=(150,), n=150, ROUNDS=1) == ([150] * 150, [])

    assert written(of_locks, count, like=count, grid=(3,)) == ([200], [])
    with frontend.recording("sm_90", values=True, seconds=20) as launches:
        of_barriers[(4,)](count.cuda(), many.cuda(), 4, ROUNDS=2)
    (note,) = launches.diagnostics
    vain = "program (3, 0, 0) waits in a loop for what another writes, and all others have ended or wait, too"
    assert f"of_barriers is not executed: {vain}" in note.message


@triton.jit
def fails(x, n):
    tl.device_print(" x = ", tl.load(x), n)
    tl.device_assert(tl.load(x) > 3, "x is small")


def test_assertions_of_a_kernel_hold_where_they_are_compiled_in(capsys):
    for debug in (False, True):
        with frontend.recording("sm_90", values=True) as launches:
            x = torch.full((1,), 2, device="cuda", dtype=torch.uint8)
            fails[(1,)](x, 5, debug=debug)
            x.tolist()
        said = [note.message for note in launches.diagnostics]
        assert [re.sub(r" \(launched.*", "", one) for one in said] == (
            ["the cell was run up to here: fails is not executed: AssertionError: x is small"] if debug else []
        )
    assert capsys.readouterr().out == "(0, 0, 0) x =: 2\n(0, 0, 0) x =: 5\n"


@triton.jit
def common_divisor(a, b):
    if a == b:
        return a
    while b != 0:
        a, b = b, a % b
    return a


@triton.jit
def divisors(x, out, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, 4)[None, :]
    rows = tl.load(x + i * 4 + j)
    tl.store(out + tl.arange(0, N), tl.reduce(rows, 1, common_divisor))


def test_a_function_that_decides_by_elements_goes_another_way_for_each_of_them():
    x = torch.randint(1, 9, (64, 4), dtype=torch.int32) * torch.randint(1, 99, (64, 1), dtype=torch.int32)
    values, notes = written(divisors, x, like=torch.zeros(64, dtype=torch.int32), N=64)
    assert values == [math.gcd(*row) for row in x.tolist()]
    assert notes == []


@triton.jit
def running_divisors(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.associative_scan(tl.load(x + i), 0, common_divisor))
    tl.store(out + N + i, tl.associative_scan(tl.load(x + i), 0, common_divisor, reverse=True))


def test_a_scan_by_a_function_that_decides_by_elements_is_right_in_both_directions():
    x = torch.randint(1, 9, (64,), dtype=torch.int32) * 5040
    values, notes = written(running_divisors, x, like=torch.zeros(128, dtype=torch.int32), N=64)
    forward, backward = (list(itertools.accumulate(one, math.gcd)) for one in (x.tolist(), x.tolist()[::-1]))
    assert values == [*forward, *backward[::-1]]
    assert notes == []


@triton.jit
def by_tensors_of_one(a, b):
    return tl.reshape(a + tl.zeros((1,), tl.int32), ()) + b


@triton.jit
def by_tensors_of_two(a, b):
    pair = tl.zeros((2,), tl.int32) + a
    return a + b, pair


@triton.jit
def tensors_in_functions(x, out, TWO: tl.constexpr):
    i, j = tl.arange(0, 8)[:, None], tl.arange(0, 4)[None, :]
    rows = tl.load(x + i * 4 + j)
    tl.store(out + tl.arange(0, 8), tl.reduce(rows, 1, by_two if TWO else by_tensors_of_one))


@triton.jit
def by_two(a, b):
    by_tensors_of_two(a, b)
    return a + b


def test_tensors_of_one_element_in_a_function_are_one_for_each_that_is_combined():
    """As in Inductor's `max_with_index`, whose function asks for a dtype by such a tensor."""
    x = torch.arange(32, dtype=torch.int32).reshape(8, 4)
    values, notes = written(tensors_in_functions, x, like=torch.zeros(8, dtype=torch.int32), TWO=False)
    assert values == x.sum(1).tolist()
    assert notes == []
    with frontend.recording("sm_90", values=True) as launches:
        out = torch.zeros(8, dtype=torch.int32, device="cuda")
        tensors_in_functions[(1,)](x.to("cuda"), out, TWO=True)
        out.tolist()
    assert "tt.splat to several elements, in a function that combines single ones" in launches.diagnostics[0].message


@pytest.mark.parametrize("element", ["bf16", "f8E5M2", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2FNUZ", "f16"])
def test_every_narrow_float_survives_and_is_what_is_nearest(element):
    kind = Type(element)
    bits = np.arange(1 << kind.bits, dtype=kind.bits_dtype)
    values = from_bits(bits, kind).astype(np.float64)
    known = ~np.isnan(values)
    back = to_bits(from_bits(bits, kind), kind)
    assert (back == bits)[known].all()
    finite = np.unique(values[np.isfinite(values)])
    between = (finite[:-1] + finite[1:]) / 2
    up, down = rounded(np.nextafter(between, np.inf), kind), rounded(np.nextafter(between, -np.inf), kind)
    assert (up.astype(np.float64) == finite[1:]).all()  # once: by way of float32 it would be a tie
    assert (down.astype(np.float64) == finite[:-1]).all()


@pytest.mark.parametrize(
    ("symbol", "of", "expected"),
    [
        ("__nv_tanhf", 0.5, 0.46211717),
        ("__nv_fast_expf", 1, 2.7182818),
        ("__nv_erff", 0.5, 0.52049989),
        ("__nv_roundf", -2.5, -3),
        ("__nv_rintf", 2.5, 2),
        ("__nv_fabsf", -1, 1),
        ("__nv_finitef", -1, 1),
        ("__nv_isinff", np.inf, 1),
        ("__nv_frsqrt_rn", 4, 0.5),
        ("__ocml_log1p_f32", 1, 0.69314718),
        ("__triton_hip_fast_expf", 0, 1),
        ("__nv_sinpif", 1.25, -0.70710678),
        ("__nv_rcp64h", 1, None),
    ],
)
def test_functions_of_libraries_are_known_by_name(symbol, of, expected):
    found = library_function(symbol, [Type("f32")], Type("f32"))
    assert (found is None) == (expected is None)
    if found is not None:
        assert found(np.array([of], dtype=np.float32)).tolist() == pytest.approx([expected], rel=1e-6)


def test_integers_have_functions_of_their_own():
    kind, x = Type("i32"), np.array([0, 1, 12, -1], dtype=np.int32)
    found = {name: library_function(f"__nv_{name}", [kind], kind) for name in ("popc", "clz", "ffs", "abs")}
    assert {name: one(x).tolist() for name, one in found.items() if one} == {
        "popc": [0, 1, 2, 32],
        "clz": [32, 31, 28, 0],
        "ffs": [0, 1, 3, 1],
        "abs": [0, 1, 12, 1],
    }


def test_text_that_is_not_understood_is_refused_by_its_words():
    with pytest.raises(NotImplementedError, match="the type vector<4xf32> is not known"):
        functions("tt.func public @f(%x: i32) {\n%y = arith.frob %x : vector<4xf32>\ntt.return\n}")


@triton.jit
def of_each_its_own(places, expected, descriptor, numbers, found):
    """Compares each element with a number of its own; numbers without sign in a descriptor."""
    index = tl.arange(0, 8)
    tl.store(found + index, tl.atomic_cas(places + index, tl.load(expected + index), index + 100))
    descriptor.atomic_max([4], tl.load(numbers + index).to(tl.uint32, bitcast=True))


def test_atomics_compare_each_element_with_its_own_and_without_sign():
    with frontend.recording("sm_90", values=True) as launches:
        places = torch.tensor([0, 1, 2, 3, 0, 1, 2, 3], dtype=torch.int32, device="cuda")
        expected = torch.tensor([0, 0, 2, 2, 1, 1, 3, 3], dtype=torch.int32, device="cuda")
        numbers = torch.tensor([-1, 2, -3, 4, 5, 6, 7, 8], dtype=torch.int32, device="cuda")
        into = torch.full((10,), 5, dtype=torch.uint32, device="cuda")
        found = torch.zeros(8, dtype=torch.int32, device="cuda")
        of_each_its_own[(1,)](places, expected, TensorDescriptor.from_tensor(into, [8]), numbers, found)
        assert found.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
        assert places.tolist() == [100, 1, 102, 3, 0, 105, 2, 107]
        assert into.tolist() == [5] * 4 + [2**32 - 1, 5, 2**32 - 3, 5, 5, 6]
    assert launches.diagnostics == []


@triton.jit
def of_unsigned_bounds(first, out):
    begin = tl.load(first).to(tl.uint32, bitcast=True)
    for i in range(begin, begin + 3):
        tl.store(out + (i - begin), (i >> 28).to(tl.int32))


@pytest.mark.parametrize(("begin", "wanted"), [(-5, [15, 15, 15, 0]), (2**31 - 2, [0, 0, 0, 0])])
def test_a_loop_with_bounds_without_sign_runs_as_it_is_compiled(begin, wanted):
    """Triton makes a loop with signs of it, which does not run from 2**31 - 2 to 2**31 + 1."""
    first = torch.tensor([begin], dtype=torch.int32)
    assert written(of_unsigned_bounds, first, like=torch.zeros(4, dtype=torch.int32)) == (wanted, [])


@triton.jit
def of_scales(a, a_scale, b, b_scale, out, PACKED: tl.constexpr):
    """32 x 32 by 32 x 32 of floats of 4 bits, of which the right ones are packed along the inner axis or the other."""
    index = tl.arange(0, 32)
    half = tl.arange(0, 16)
    left = tl.load(a + index[:, None] * 16 + half[None, :])
    if PACKED:
        right = tl.load(b + half[:, None] * 32 + index[None, :])
    else:
        right = tl.load(b + index[:, None] * 16 + half[None, :])
    scales = tl.load(a_scale + index[:, None]), tl.load(b_scale + index[:, None])
    made = tl.dot_scaled(left, scales[0], "e2m1", right, scales[1], "e2m1", rhs_k_pack=PACKED)
    tl.store(out + index[:, None] * 32 + index[None, :], made)


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@pytest.mark.parametrize("packed", [True, False])
def test_scaled_products_of_packed_floats(packed):
    generator = torch.Generator().manual_seed(0)
    bits = [torch.randint(0, 16, (32, 32), generator=generator, dtype=torch.uint8) for _ in range(2)]
    a, b = bits
    a[3] = b[:, 5] = 2  # ones, whose sum would be infinite
    left = a[:, 0::2] | a[:, 1::2] << 4
    right = b[0::2] | b[1::2] << 4 if packed else b[:, 0::2] | b[:, 1::2] << 4
    scales = [torch.randint(125, 130, (32,), generator=generator, dtype=torch.uint8) for _ in range(2)]
    scales[0][3] = 255  # NaN
    wanted = E2M1[a.long()] @ E2M1[b.long()] * torch.exp2(scales[0] - 127.0)[:, None] * torch.exp2(scales[1] - 127.0)
    wanted[3] = torch.nan
    out = torch.zeros(32, 32)
    values, notes = written(of_scales, left, scales[0], right, scales[1], like=out, PACKED=packed)
    torch.testing.assert_close(torch.tensor(values), wanted, rtol=0, atol=0, equal_nan=True)
    assert notes == []


@triton.jit
def of_one_rounding(a, b, c, out):
    index = tl.arange(0, 16)
    places = index[:, None] * 16 + index[None, :]
    made = tl.dot(tl.load(a + places), tl.load(b + places), tl.load(c + places), out_dtype=tl.float16)
    tl.store(out + places, made)


def test_a_product_of_half_floats_is_rounded_with_what_it_is_added_to():
    one, c = torch.full((16, 16), 0.0, dtype=torch.float16), torch.full((16, 16), -2048.0, dtype=torch.float16)
    one[:, 0] = 1.0
    b = torch.full((16, 16), 0.0, dtype=torch.float16)
    one[:, 1], b[0], b[1] = 0.5, 2048.0, 2.0  # 2049 is no float16, and 2049 - 2048 is
    assert written(of_one_rounding, one, b, c, like=c) == ([[1.0] * 16] * 16, [])
