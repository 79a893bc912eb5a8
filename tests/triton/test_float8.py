"""Floats of 8 bits as executed launches round them: as each architecture's code does."""

import pytest
import torch
import triton
import triton.language as tl

from irwidget import lower
from irwidget.frontends import triton as frontend

INF, NAN = float("inf"), float("nan")
LARGE = [470.0, 1e9, INF, -INF, NAN]


@triton.jit
def to_another_type(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@pytest.mark.parametrize(
    ("arch", "of", "to", "given", "made"),
    [
        ("sm_90", "float32", "e4m3fn", LARGE, [448, 448, 448, -448, NAN]),
        ("sm_89", "bfloat16", "e5m2", LARGE, [448, 57344, 57344, -57344, NAN]),
        ("sm_90", "float32", "e4m3fn", [1.0625 + 2**-20, 1.0625, 1.1875], [1.125, 1, 1.25]),
        ("sm_89", "float32", "e4m3fn", [1.0625 + 2**-20, 1.0625 + 2**-10, 1e9], [1, 1.125, 448]),  # by way of float16
        ("sm_89", "float32", "e5m2", [1e9, INF], [57344, 57344]),
        ("sm_80", "float16", "e5m2", [1.125, -1.125, 61408, 61440, -INF], [1.25, -1.25, 57344, INF, -INF]),
        ("sm_80", "float32", "e5m2", [1e9, INF, 1.125, 2**-17], [INF, INF, 1.25, 2**-16]),
        ("sm_80", "bfloat16", "e5m2", [1.125, 57344, 61440, 1e6], [1.25, 57344, INF, -(2**-12)]),
        ("gfx90a", "float32", "e4m3fn", LARGE, [448, 448, 448, -448, NAN]),
        ("gfx942", "float16", "e4m3fn", [464, 470, 480, INF], [448, NAN, 448, 448]),
        ("gfx950", "float16", "e4m3fn", [464, 470, 480, NAN], [448, 448, 448, NAN]),
        ("gfx90a", "float32", "e4m3fnuz", LARGE, [240, 240, NAN, NAN, NAN]),
        ("gfx942", "bfloat16", "e5m2fnuz", [1e9, -1e9, 470, NAN], [57344, -57344, 448, NAN]),
    ],
)
def test_floats_of_8_bits_are_rounded_as_what_the_architecture_executes(arch, of, to, given, made):
    with frontend.recording(arch, values=True):
        x = torch.zeros(8, dtype=getattr(torch, of), device="cuda")
        x[: len(given)] = torch.tensor(given, dtype=x.dtype)
        out = torch.zeros(8, dtype=getattr(torch, f"float8_{to}"), device="cuda")
        to_another_type[(1,)](x, out, N=8)
        torch.testing.assert_close(
            out[: len(made)].float(), torch.tensor(made, dtype=torch.float32), rtol=0, atol=0, equal_nan=True
        )


@pytest.mark.parametrize(
    ("arch", "to", "given", "said"),
    [
        ("gfx942", "e4m3fnuz", INF, "what gfx942 makes of infinity as f8E4M3FNUZ is not known"),
        ("sm_80", "e5m2", NAN, "computes with NaN as a float of 8 bits"),
    ],
)
def test_what_is_not_known_of_floats_of_8_bits_is_in_doubt(arch, to, given, said):
    with frontend.recording(arch, values=True) as launches:
        out = torch.zeros(8, dtype=getattr(torch, f"float8_{to}"), device="cuda")
        to_another_type[(1,)](torch.full((8,), given, device="cuda"), out, N=8)
    assert any(said in note.message for note in launches.diagnostics)


@pytest.mark.parametrize(
    ("arch", "of", "has"),
    [("sm_90", "float32", "satfinite"), ("sm_89", "float32", "cvt.rz.f16.f32"), ("sm_80", "float16", "0x00800080")],
)
def test_floats_of_8_bits_are_compiled_as_they_are_rounded_here(arch, of, has):
    """By which code; what it computes of all floats of 16 bits was compared when it was written down."""
    launch = [torch.zeros(8, dtype=getattr(torch, of)), torch.zeros(8, dtype=torch.float8_e5m2)]
    launches = frontend.capture(lambda: to_another_type[(1,)](*(one.cuda() for one in launch), N=8), arch)
    assert has in lower(launches[0], to="triton_llvm_ir", arch=arch).trace.dumps[-1].text
