"""Complex numbers in real and imaginary parts: every operator against PyTorch's own, and whole programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import irwidget
from irwidget.errors import ExportError
from irwidget.frontends import complex_fourier
from irwidget.frontends.complex_math import Pair
from irwidget.frontends.complex_parts import _OnPairs, as_real  # pyright: ignore[reportPrivateUsage]
from irwidget.private_torch import make_fx, pytree

Z = torch.randn(4, 6, dtype=torch.complex128, generator=torch.Generator().manual_seed(1))
W = torch.randn(4, 6, dtype=torch.complex128, generator=torch.Generator().manual_seed(2))
M = torch.randn(6, 5, dtype=torch.complex128, generator=torch.Generator().manual_seed(3))
V = torch.randn(2, 3, 8, dtype=torch.complex128, generator=torch.Generator().manual_seed(4))
K = torch.randn(4, 3, 3, dtype=torch.complex128, generator=torch.Generator().manual_seed(5))
B = torch.randn(4, dtype=torch.complex128, generator=torch.Generator().manual_seed(6))
R = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(7))
EDGES = torch.tensor([0, 1, -1, 1j, -1j, 1e-9 - 4j, -4 + 0j, 300 + 1e-8j, -300 - 2j, 40 + 40j], dtype=torch.complex128)
OPERATORS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "sum": (lambda a, b: a + b - 2 * a + (1 + 2j) + 3, (Z, W)),
    "add with a factor": (lambda a, b: torch.add(a, b, alpha=2) + torch.sub(a, b, alpha=1j), (Z, W)),
    "rsub": (lambda a: 1 - a + (2j - a), (Z,)),
    "product": (lambda a, b, r: a * b * r * 2.5 * (1 - 1j), (Z, W, R)),
    "quotient": (lambda a, b, r: a / b + r / a + a / 3 + 1 / b + b / (1 - 2j), (Z, W, R)),
    "power": (lambda a: a**2 + a**-3 + a**0 + a.pow(0.5), (Z,)),
    "power of a power": (lambda a, b: a**b + a ** (1 + 1j), (Z, W)),
    "mm": (lambda a, b: a @ b, (Z, M)),
    "mm of a real one": (lambda a, b: (a + 0j) @ b, (R, M)),
    "mv, dot, outer": (lambda a, b: (a @ b[:, 0], torch.dot(b[:, 0], b[:, 1]), torch.outer(b[0], b[1])), (Z, M)),
    "vdot": (lambda b: torch.vdot(b[:, 0], b[:, 1]), (M,)),
    "bmm": (lambda a: a @ a.transpose(1, 2).conj(), (V,)),
    "einsum": (lambda a: torch.einsum("abc,dbc->ad", a, a), (V,)),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=2, alpha=3), (torch.ones(4, 5) * B[:, None], Z, M)),
    "linear": (lambda a, w, b: nn.functional.linear(a, w, b), (Z, W, B)),
    "convolution": (lambda a, k, b: nn.functional.conv1d(a, k, b, padding=1), (V, K, B)),
    "exp, log": (lambda a: torch.exp(a) + torch.log(a), (Z,)),
    "sin, cos, tan": (lambda a: (a.sin(), a.cos(), a.tan()), (Z,)),
    "sinh, cosh, tanh": (lambda a: (a.sinh(), a.cosh(), a.tanh()), (Z,)),
    "sigmoid, silu": (lambda a: (a.sigmoid(), nn.functional.silu(a)), (Z,)),
    "sqrt": (torch.sqrt, (EDGES,)),
    "tanh at the edges": (torch.tanh, (EDGES,)),
    "rsqrt, reciprocal, square": (lambda a: (a.rsqrt(), a.reciprocal(), a.square()), (Z,)),
    "sgn": (torch.sgn, (EDGES,)),
    "abs, angle": (lambda a: (a.abs(), a.angle()), (EDGES,)),
    "abs, quotient of what has no square": (lambda a: (a.abs(), a.reciprocal(), 3 / a, a / a), (EDGES[1:] * 1e200,)),
    "quotient by what has no square": (lambda a: (a.reciprocal(), a / (a * 2)), (EDGES[1:] * 1e-200,)),
    "reciprocal of zero": (torch.reciprocal, (EDGES,)),
    "parts": (lambda a: (a.real, a.imag, torch.view_as_real(a), a.conj().resolve_conj()), (Z,)),
    "made of parts": (lambda a, b: (torch.complex(a, b), torch.polar(a, b)), (R, R.flip(0))),
    "view_as_complex": (lambda a: torch.view_as_complex(a.reshape(4, 3, 2)) * 2, (R,)),
    "shapes": (lambda a: a.T.reshape(3, 8)[1:, ::2].unsqueeze(0).expand(2, 2, 4).permute(2, 0, 1).flip(0), (Z,)),
    "cat, stack": (lambda a, r: (torch.cat([a, r + 0j]), torch.stack([a, a.conj()])), (Z, R)),
    "split, chunk": (lambda a: (a.split(3, 1), a.chunk(2), a.unbind(0)), (Z,)),
    "where": (lambda a, b, r: torch.where(r > 0, a, b) + torch.where(r > 0, a, 0), (Z, W, R)),
    "pad": (lambda a: nn.functional.pad(a, (1, 2)) + nn.functional.pad(a, (1, 2), value=3.0), (Z,)),
    "masked_fill, tril": (lambda a: a.masked_fill(a.real > 0, 2 + 1j).tril(), (Z,)),
    "sums": (lambda a: (a.sum(), a.sum(1), a.mean(0, keepdim=True), a.cumsum(1), a.prod(), a.prod(1)), (Z,)),
    "spread": (lambda a: (a.var(), a.std(1), a.var(0, correction=2, keepdim=True)), (Z,)),
    "spread and mean": (lambda a: (*torch.var_mean(a), *torch.std_mean(a, 1, correction=0, keepdim=True)), (Z,)),
    "norms": (lambda a: (torch.linalg.vector_norm(a), torch.linalg.vector_norm(a, 2, dim=1)), (Z,)),
    "comparisons": (lambda a, b: (a == b, a != b, torch.isfinite(a), torch.isnan(a)), (Z, torch.where(R > 0, Z, W))),
    "logic": (
        lambda a, b, r: (a.logical_not(), a.logical_and(b), r.logical_or(b), a.logical_xor(b)),
        (EDGES, 0 * EDGES, EDGES.real),
    ),
    "unbind_copy": (lambda a: torch.unbind_copy(a), (Z,)),
    "dtypes": (lambda a, r: (a.to(torch.complex64), r.to(torch.complex64), r * 1j), (Z, R)),
    "gather": (lambda a: (a[torch.tensor([1, 0])], a.index_select(1, torch.tensor([2, 2])), a.roll(1, 0)), (Z,)),
    "fft": (lambda a: (torch.fft.fft(a), torch.fft.ifft(a, dim=0), torch.fft.fft(a, n=9, norm="ortho")), (Z,)),
    "fft2": (lambda a: torch.fft.ifft2(torch.fft.fft2(a)) + torch.fft.fftn(a, norm="forward"), (Z,)),
    "rfft": (lambda r: (torch.fft.rfft(r), torch.fft.rfft2(r), torch.fft.fft(r), torch.fft.rfft(r, n=5)), (R,)),
    "irfft": (lambda a: (torch.fft.irfft(a), torch.fft.irfft(a, n=7), torch.fft.irfft2(a, norm="ortho")), (Z,)),
    "hfft": (lambda a, r: (torch.fft.hfft(a), torch.fft.ihfft(r)), (Z, R)),
    "fftshift": (lambda a: torch.fft.ifftshift(torch.fft.fftshift(torch.fft.fft(a))), (Z,)),
}


def in_parts(function: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> Any:
    """What the operators of a function make of pairs."""
    graph = make_fx(function)(*inputs)
    given = [Pair(one.real, one.imag) if one.is_complex() else one for one in inputs]
    made = _OnPairs(graph, frozenset(), complex_fourier.matrices).run(*given)
    return pytree.tree_map(lambda one: torch.complex(one.re, one.im) if isinstance(one, Pair) else one, made)


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_in_parts_gives_what_pytorch_gives(name: str) -> None:
    function, inputs = OPERATORS[name]
    want, got = (pytree.tree_leaves(one) for one in (function(*inputs), in_parts(function, inputs)))
    assert [one.dtype for one in got] == [one.dtype for one in want]
    for one, other in zip(got, want, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8, equal_nan=True)


class Spectral(nn.Module):
    """A layer of a Fourier neural operator: complex weights, transforms of real data."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 5, dtype=torch.complex64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(torch.fft.rfft(x) * self.weight, n=x.shape[-1])


def spread(z: torch.Tensor) -> Any:
    return z.var(1, False), z.std(), torch.var_mean(z, False), torch.std_mean(z, 0), z.float(), z.to(torch.bfloat16)


def test_variances_in_all_forms_and_conversions_reach_linalg() -> None:
    low = irwidget.lower(spread, Z.to(torch.complex64), to="linalg_on_tensors_mlir", check=True, timeout=120)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_transforms_of_real_numbers_to_real_ones_have_complex_ones_inside() -> None:
    def transformed(x: torch.Tensor, z: torch.Tensor) -> Any:
        made = torch.fft.irfft(x), torch.fft.irfftn(x, norm="ortho"), torch.fft.hfft(x, n=7), torch.fft.hfft2(x)
        return *made, z == z, z != z  # of NaN

    nans = torch.complex(torch.tensor([torch.nan, 1.0, 1.0]), torch.tensor([1.0, torch.nan, 2.0]))
    low = irwidget.lower(transformed, torch.randn(4, 6), nans, to="linalg_on_tensors_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


@pytest.mark.parametrize("target", ["tosa_mlir", "stablehlo_mlir", "llvm_ir"])
def test_a_fourier_layer_reaches_every_ir_type_and_is_right(target: str) -> None:
    low = irwidget.lower(Spectral(), torch.randn(4, 8), to=target, check=target == "llvm_ir", timeout=120)
    assert "complex<" not in low.text
    assert "complex numbers of the model are real and imaginary parts" in "".join(d.message for d in low.diagnostics)
    places = {place.line for dump in low.dumps[1:] for place in dump.locations if place and place.file == __file__}
    assert Spectral.forward.__code__.co_firstlineno + 1 in places
    if target == "llvm_ir":
        assert str(low.check).startswith("equal to eager PyTorch"), low.check


ROW, NUMBER = torch.tensor([1 + 2j, 3 - 1j, 0.5j]), torch.tensor(1 - 2j)


def scaled(x: torch.Tensor) -> torch.Tensor:
    return x * ROW + NUMBER


def sized(x: torch.Tensor) -> Any:
    return x.abs(), torch.linalg.vector_norm(x, 3, dim=1)


@pytest.mark.parametrize(("model", "target"), [(scaled, "llvm_ir"), (sized, "stablehlo_mlir")])
def test_complex_constants_and_sizes_are_lowered_right(model: Callable[..., Any], target: str) -> None:
    """MLIR's bindings know no constants of complex numbers, and torch-mlir only the real parts of those it sizes."""
    low = irwidget.lower(model, Z[:, :3].to(torch.complex64), to=target, check=True, timeout=120)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def rotated(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    return x * turns.conj()


def test_complex_inputs_and_results_end_in_a_dimension_of_two() -> None:
    x, turns = torch.randn(2, 3, dtype=torch.complex64), torch.randn(3, dtype=torch.complex64)
    low = irwidget.lower(rotated, x, turns, to="tosa_mlir", check=True, timeout=120)
    assert "func.func @main(%arg0: tensor<2x3x2xf32>, %arg1: tensor<3x2xf32>) -> tensor<2x3x2xf32>" in low.text
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    assert "and of its inputs and results" in "".join(d.message for d in low.diagnostics)


def test_what_torch_mlir_lowers_is_left_as_it_lowers_it() -> None:
    x = torch.randn(2, 3, dtype=torch.complex64)
    low = irwidget.lower(torch.mul, x, x.clone(), to="linalg_on_tensors_mlir", timeout=120)
    assert "complex.mul" in low.text
    assert not low.diagnostics


def eigenvalues(x: torch.Tensor) -> Any:
    return torch.linalg.eigvals(x)


def test_what_has_no_parts_is_refused_by_operator_and_line() -> None:
    with pytest.raises(ExportError) as refused:
        irwidget.lower(eigenvalues, torch.randn(3, 3), to="tosa_mlir", timeout=60)
    said = str(refused.value)
    assert "linalg_eig" in said
    assert f"{__file__}:{eigenvalues.__code__.co_firstlineno + 1}" in said
    assert "Next step" in said


def test_what_an_input_becomes_is_a_view_of_it() -> None:
    assert torch.equal(as_real((Z, R))[0], torch.view_as_real(Z))
    assert as_real((Z, R))[1] is R
