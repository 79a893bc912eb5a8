"""Operators that torch-mlir refuses or lowers to something else, and irwidget decomposes.

Every run computes each of them by itself beside eager PyTorch; of the programs it lowers some, `--exhaustive` all.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.ao.quantization.fx._decomposed  # pyright: ignore[reportUnusedImport]  # defines the operators
from torch import nn
from torch.fx import Interpreter, Node
from torch.fx.experimental.proxy_tensor import make_fx

import irwidget
from irwidget import private_torch_mlir
from irwidget.checking import expected, unsettled
from irwidget.errors import ExportError
from irwidget.frontends import decompositions, decompositions_integers, decompositions_resize
from irwidget.frontends.erfc import erfc
from irwidget.private_torch import pytree
from tests.core.decomposed import (
    BYTES,
    PROGRAMS,
    averaged,
    bags,
    beyond,
    ceiled,
    convolved,
    copied,
    crashing,
    cut,
    edges,
    few,
    floats,
    grouped,
    images,
    infinite,
    known,
    large,
    largest,
    lengths,
    many,
    masked,
    means,
    mixed,
    narrow,
    near,
    numbers,
    orders,
    outside,
    own,
    paired,
    placed,
    places,
    powers,
    products,
    put,
    right_in_linalg,
    right_in_stablehlo,
    rolled,
    rooted,
    selected,
    shifted,
    short,
    signs,
    single,
    sliced,
    small,
    summed,
    tails,
    truths,
    unsigned,
    windows,
    writes,
    written_last,
)
from tests.sampling import sampled

TAKEN = Path(__file__).with_name("taken_apart.json")
LANGUAGES = {"linalg": "", "TOSA": "TOSA", "StableHLO": "StableHLO"}


class Watched(Interpreter):
    """A program with what its operators are given and return."""

    def __init__(self, model: Callable[..., Any], inputs: tuple[torch.Tensor, ...]) -> None:
        traced = make_fx(model, decomposition_table=private_torch_mlir.decompositions())(*_copies(inputs))
        super().__init__(traced)
        self.calls: list[tuple[Node, Any, Any]] = []
        self.run(*_copies(inputs))

    def run_node(self, n: Node) -> Any:
        given = _copies(self.fetch_args_kwargs_from_env(n))
        n.meta["val"] = value = super().run_node(n)
        if n.op == "call_function":
            self.calls.append((n, given, _copies(value)))
        return value

    def taken_apart(self, language: str) -> Iterator[tuple[Node, Any, Any]]:
        """Each operator that is, what it becomes returns, and what it returns itself."""
        held = SimpleNamespace(inputs_to_parameters=(), inputs_to_buffers=(), inputs_to_lifted_tensor_constants=())
        program: Any = SimpleNamespace(graph_module=self.module, graph_signature=held)
        chosen = decompositions.of(program, language)
        for node, (args, named), want in self.calls:
            if node.target in (*chosen.refused, *chosen.wrong):
                got = chosen.table[node.target](*_copies(args), **named)
                if got is not NotImplemented:
                    yield node, got, want


def _copies(values: Any) -> Any:
    return pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, values)


def _taken(model: Callable[..., Any]) -> dict[str, str]:
    """The operators of a program that are taken apart, by language, each as eager PyTorch has it."""
    watched, found = Watched(model, PROGRAMS[model]), dict[str, str]()
    for called, language in LANGUAGES.items():
        names: set[str] = set()
        for node, got, want in watched.taken_apart(language):
            names.add(str(node.target).removeprefix("aten."))
            if "empty" in str(node.target):  # memory that nothing has written
                assert (got.shape, got.dtype) == (want.shape, want.dtype)
                continue
            if "embedding_bag" in str(node.target):  # the rest is for gradients
                got, want = got[:1], want[:1]
            torch.testing.assert_close(got, want, equal_nan=True, msg=lambda said, node=node: f"{node.target}: {said}")
        found[called] = " ".join(sorted(names))
    return found


@pytest.mark.parametrize("model", PROGRAMS, ids=lambda model: model.__name__)
def test_what_each_operator_becomes_is_what_eager_pytorch_has(model: Callable[..., Any]) -> None:
    assert _taken(model) == json.loads(TAKEN.read_text())[model.__name__]


@pytest.fixture(autouse=True)
def _few_evaluations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each program: most results are integers, or exact."""
    monkeypatch.setattr(expected, "OTHERS", 1)
    monkeypatch.setattr(expected, "SAMPLES", 4)
    monkeypatch.setattr(unsettled, "_SEEDS", range(3))


LINALG, TOSA, STABLEHLO = "linalg_on_tensors_mlir", "tosa_mlir", "stablehlo_mlir"
ALWAYS = [
    *((unsigned, LINALG), (few, LINALG), (known, LINALG), (unsigned, TOSA), (many, TOSA), (truths, TOSA)),
    *((near, TOSA), (narrow, STABLEHLO), (truths, STABLEHLO), (near, STABLEHLO), (sliced, STABLEHLO)),
    *((written_last, LINALG), (cut, LINALG), (mixed, LINALG), (infinite, TOSA)),
]
"""Where torch-mlir takes bytes and truths for numbers with a sign, folds what it knows, never ends, or crashes."""
SOMETIMES = [
    *((one, LINALG) for one in (images, orders, writes, numbers, products, signs, means, bags, beyond, edges, tails)),
    *((one, LINALG) for one in (lengths, powers, put, floats, large, crashing, summed, copied, narrow, outside)),
    *((one, TOSA) for one in (rolled, rooted, small, narrow, floats, outside)),
    *((one, STABLEHLO) for one in (windows, beyond, ceiled, floats, infinite, outside)),
    *((infinite, LINALG), (paired, LINALG), (short, TOSA), (short, LINALG)),
    *((one, target) for one in (shifted, masked) for target in (LINALG, TOSA, STABLEHLO)),
    *((grouped, LINALG), (grouped, TOSA), (places, LINALG), (own, TOSA), (own, STABLEHLO)),
    *((selected, LINALG), (windows, TOSA)),
    *((single, target) for target in (LINALG, TOSA, STABLEHLO)),
    *((convolved, target) for target in (LINALG, TOSA, STABLEHLO)),
    *((averaged, TOSA), (largest, TOSA), (sliced, TOSA), (sliced, LINALG), (cut, TOSA), (mixed, TOSA)),
    *((mixed, STABLEHLO), (placed, TOSA), (placed, STABLEHLO)),
]


def _named(row: Any) -> str:
    return f"{row[0].__name__}-{row[1]}"


@pytest.mark.parametrize("row", [*ALWAYS, *sampled(SOMETIMES, 4, _named)], ids=_named)
def test_they_are_lowered_as_eager_pytorch_has_them(row: tuple[Callable[..., Any], str]) -> None:
    model, target = row
    low = irwidget.lower(model, *PROGRAMS[model], to=target, timeout=120, check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


def test_bytes_beside_a_wider_integer_have_no_sign() -> None:
    bytes_, numbers = torch.tensor([200, 3], dtype=torch.uint8), torch.tensor([7, 5], dtype=torch.int16)
    low = irwidget.lower(lambda x, n: x < n, bytes_, numbers, to="tosa_mlir", check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


@pytest.mark.parametrize("sum_", [lambda x: x.mean(1, dtype=torch.float32), lambda x: (250 * x.to(torch.int16)).sum(1)])
def test_sums_of_few_bits_in_tosa_are_wide(sum_: Callable[..., Any]) -> None:
    bytes_ = torch.tensor([[100, 120, 90], [-100, -120, 7]], dtype=torch.int8)
    low = irwidget.lower(sum_, bytes_, to=TOSA, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


BAGS = torch.tensor([1, 2, 4, 5, 4, 3, 2, 9, 1]), torch.tensor([0, 4, 4, 7])


@pytest.mark.parametrize("options", [{"mode": "sum"}, {"mode": "mean", "padding_idx": 4}, {"mode": "max"}])
def test_bags_of_embeddings(options: dict[str, Any]) -> None:
    model = nn.EmbeddingBag(10, 3, **options).eval()
    low = irwidget.lower(model, *BAGS, to="tosa_mlir", timeout=120, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    assert "_embedding_bag.default is decomposed" in "".join(d.message for d in low.diagnostics)


class Quantised(nn.Module):
    """What converting by pt2e leaves: integers between operators, and weights of int8 by channel."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randint(-128, 127, (6, 8), dtype=torch.int8), requires_grad=False)
        self.scales, self.zeros = torch.full((6,), 0.01), torch.tensor([0, 1, 2, 0, 1, 2])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ops: Any = torch.ops.quantized_decomposed
        range_ = (-128, 127, torch.int8)
        taken = ops.dequantize_per_tensor(ops.quantize_per_tensor(x, 0.02, 3, *range_), 0.02, 3, *range_)
        weight = ops.dequantize_per_channel(self.weight, self.scales, self.zeros, 0, *range_)
        made = nn.functional.linear(taken, weight)
        unsigned = (0.05, 128, 0, 255, torch.uint8)
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(made, *unsigned), *unsigned)


@pytest.mark.parametrize("target", ["tosa_mlir", "stablehlo_mlir"])
def test_int8_of_pt2e(target: str) -> None:
    low = irwidget.lower(Quantised().eval(), torch.randn(4, 8), to=target, check=True, timeout=120)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check
    assert "xi8>" in low.text
    assert "quantize_per_tensor.default is decomposed" in "".join(d.message for d in low.diagnostics)


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8])
def test_powers_by_tensors_are_those_of_eager(kind: torch.dtype) -> None:
    x, exponents = torch.arange(-5, 6).to(kind), torch.tensor([0, 1, 2, 7, 63, 64, -1, -2, 2**40 + 1]).to(kind)
    power = decompositions_integers.TABLE[torch.ops.aten.pow.Tensor_Tensor]
    assert torch.equal(power(x[:, None], exponents), x[:, None] ** exponents)


@pytest.mark.parametrize("kind", [torch.int64, torch.int16, torch.uint8])
def test_common_divisors_and_multiples_are_those_of_eager(kind: torch.dtype) -> None:
    of_fibonacci = [1, 2]  # which take the most steps
    while (following := sum(of_fibonacci[-2:])) <= torch.iinfo(kind).max:
        of_fibonacci.append(following)
    x = torch.tensor([*of_fibonacci, 0, 12]).to(kind)
    y = torch.tensor([*of_fibonacci[1:], 0, 30, -18]).to(kind)
    divisor, multiple = (decompositions_integers.TABLE[one.default] for one in (torch.ops.aten.gcd, torch.ops.aten.lcm))
    assert torch.equal(divisor(x, y[:, None]), torch.gcd(x, y[:, None]))
    least = torch.full_like(x, torch.iinfo(kind).min)
    assert torch.equal(divisor(least, y), torch.gcd(least, y))
    assert torch.equal(divisor(y, least), torch.gcd(y, least))
    few = torch.arange(-15, 16).to(kind) % 16
    assert torch.equal(multiple(few, few[:, None]), torch.lcm(few, few[:, None]))


@pytest.mark.parametrize(("kind", "most", "error"), [(torch.float64, 26, 1e-14), (torch.float32, 9, 1e-6)])
def test_the_complement_of_the_error_function_is_right_where_it_is_next_to_nothing(
    kind: torch.dtype, most: int, error: float
) -> None:
    x = torch.cat([torch.linspace(-most, most, 4001, dtype=kind), torch.tensor([0.5, 4, 40, torch.inf, -torch.inf])])
    torch.testing.assert_close(erfc(x), torch.erfc(x.double()).to(kind), rtol=error, atol=0)


@pytest.mark.parametrize(
    ("model", "target"), [(right_in_linalg, "linalg_on_tensors_mlir"), (right_in_stablehlo, "stablehlo_mlir")]
)
def test_what_torch_mlir_lowers_right_is_left_as_it_is(model: Any, target: str) -> None:
    low = irwidget.lower(model, BYTES, to=target, check=True)
    assert [str(one) for one in low.diagnostics if "decomposed" in str(one)] == []
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


@pytest.mark.parametrize("target", [LINALG, STABLEHLO])
def test_tensors_of_no_elements_are_new_ones(target: str) -> None:
    def model(x: torch.Tensor) -> Any:
        none, wide = x[:0], x[:, :0]
        padded = nn.functional.pad(none[:, None], (1, 2), mode="replicate")
        return x.repeat(2, 0), wide @ none, none @ x.T, none.reshape(-1), padded, none.cumsum(0), none.new_zeros(0) > 1

    low = irwidget.lower(model, torch.randn(4, 6), to=target, check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check
    assert "tensors of no elements are new ones" in "".join(one.message for one in low.diagnostics)
    with pytest.raises(ExportError, match="raises errors that depend on values"):
        irwidget.lower(lambda x: torch.linalg.inv(x), torch.randn(0, 2, 2), to=target)


@pytest.mark.parametrize("to", [LINALG, TOSA, STABLEHLO])
def test_averages_of_windows_are_by_what_they_are_said_to_be(to: str) -> None:
    def pooled(x: torch.Tensor, whole: torch.Tensor) -> Any:
        images, pool = x[None], nn.functional.avg_pool2d
        made = [pool(images, 3, 2, ceil_mode=True), pool(x, 2, 3, 1, True), pool(x, 3, 2, 1, divisor_override=4)]
        made += [pool(x, 2), nn.functional.avg_pool1d(x[0], 3), nn.functional.adaptive_avg_pool2d(x, (3, 2))]
        made += [nn.functional.adaptive_avg_pool1d(x[0], 2), nn.functional.adaptive_avg_pool3d(images, (2, 3, 4))]
        if to == TOSA:
            return made
        wholes = pool(whole, 2, 3, 1, ceil_mode=True), pool(whole, 3, 2, 1, ceil_mode=True, count_include_pad=False)
        return *made, *wholes, nn.functional.avg_pool3d(images, (1, 2, 3), divisor_override=5)

    given = torch.randn(2, 9, 8), torch.randint(-9, 9, (1, 2, 9, 8))
    low = irwidget.lower(pooled, *given, to=to, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


class Branch(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: x[:0].reshape(0, 2, 3).sum() + x, lambda x: -x, (x,))


def views_of_none(x: torch.Tensor) -> Any:
    count = x.shape[0]
    return x[:, :0].reshape(count * 2, 0), x[:, :0].view(0, count, 2), x.repeat(1, 0)


@pytest.mark.parametrize(("model", "sizes"), [(Branch(), None), (views_of_none, {0: torch.export.Dim("n", min=2)})])
def test_so_are_those_in_branches_and_those_of_dynamic_sizes(model: Any, sizes: Any) -> None:
    shapes: Any = {"dynamic_shapes": (sizes,)} if sizes else {}
    low = irwidget.lower(model, torch.randn(4, 6), to=LINALG, check=True, **shapes)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


@pytest.mark.parametrize("how", [{"sparse": True}, {"scale_grad_by_freq": True}])
def test_a_look_up_to_stablehlo_says_nothing_of_gradients(how: dict[str, bool]) -> None:
    low = irwidget.lower(nn.Embedding(6, 4, **how).eval(), torch.tensor([1, 5]), to=STABLEHLO, check=True)
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


def test_what_is_lowered_to_something_else_takes_nothing_else_along() -> None:
    def model(x: torch.Tensor) -> Any:
        return (x > 0).sort(1).values, x.roll(1, 0)

    low = irwidget.lower(model, torch.randn(3, 4), to="linalg_on_tensors_mlir", check=True)
    said = "aten.sort.default is decomposed: as it is, torch-mlir lowers it to something else, or refuses it"
    assert [one.message for one in low.diagnostics if "decomposed" in one.message] == [said]
    assert "torch.aten.roll" in low.dumps[0].text
    assert str(low.check).startswith("equal to eager PyTorch"), low.check


@pytest.mark.parametrize("target", ["linalg_on_tensors_mlir", "tosa_mlir", "stablehlo_mlir"])
def test_indices_among_the_inputs_may_count_from_the_back(target: str) -> None:
    def written(x: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> Any:
        y, z = x.clone(), x.clone()
        y[rows] = 2
        y[:, columns - 1] += 3
        z[rows, columns] = 5
        return y, z, x[rows], x[:, columns * 2], x[rows, columns]

    x, columns = torch.arange(20.0).reshape(4, 5), torch.tensor([-2, 1, 0], dtype=torch.int32)
    low = irwidget.lower(written, x, torch.tensor([-1, 0, -3]), columns, to=target, check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


def test_limits_that_are_wider_than_what_they_limit_reach_stablehlo() -> None:
    def limited(x: torch.Tensor, least: torch.Tensor) -> Any:
        return x.clamp_min(least), x.clamp_max(least), torch.clamp(x, least, least + 1), torch.clamp(x.int(), least)

    low = irwidget.lower(limited, torch.randn(3, 1), torch.randn(2, 3, 4), to="stablehlo_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


def test_places_among_all_elements_may_count_from_the_back() -> None:
    def written(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return x.clone().put_(places, torch.ones(3))

    low = irwidget.lower(written, torch.zeros(4, 5), torch.tensor([-1, 0, -7]), to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "equal", low.check


def test_reads_at_indices_of_int32_lower_alone() -> None:
    index = torch.tensor([1, 0], dtype=torch.int32)
    low = irwidget.lower(
        lambda x, i: (x[:, i], x[i]), torch.randn(3, 4), index, to="linalg_on_tensors_mlir", check=True
    )
    assert low.check is not None
    assert low.check.state == "equal", low.check


def test_indices_that_count_from_the_front_are_left_as_they_are() -> None:
    def written(x: torch.Tensor, rows: torch.Tensor) -> Any:
        y = x.clone()
        y[rows - 1] = x.argmax(1)[:2, None].float()
        return y[rows]

    low = irwidget.lower(written, torch.zeros(4, 5), torch.tensor([1, 2]), to="stablehlo_mlir")
    assert not [one for one in low.diagnostics if "negative indices" in one.message]


def test_the_end_of_a_process_at_a_zero_is_remarked() -> None:
    def model(x: torch.Tensor) -> Any:
        return torch.ones_like(x) / x, 2 / x

    low = irwidget.lower(model, torch.ones(3), to="torch_mlir")
    (said,) = low.diagnostics
    assert (said.severity, said.message.split(":")[0]) == ("remark", "aten.reciprocal")
    assert said.location
    assert (said.location.file, said.location.line) == (__file__, model.__code__.co_firstlineno + 1)
    zero = torch.tensor([0.0, 2.0])
    checked = irwidget.lower(lambda x: torch.ones_like(x) / x, zero, to="linalg_on_tensors_mlir", check=True)
    assert str(checked.check).startswith("equal to eager PyTorch"), checked.check
    assert [one for one in checked.diagnostics if "reciprocal" in one.message] == []


SEED = torch.Generator().manual_seed(0)


def test_images_are_resized_as_eager_pytorch_does_it() -> None:
    table = {**decompositions_resize.TABLE, **decompositions_resize.of_bytes({})}
    kinds = "upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"
    for kind, size, count, corners in itertools.product(kinds, (1, 4, 9), (1, 3, 13), (False, True)):
        operator = getattr(torch.ops.aten, kind)
        x = torch.randint(0, 256, (2, count % 5, size, 10 - size // 2), generator=SEED, dtype=torch.uint8)
        shape, scales = [count, 11 - count // 2], [0.6, 1.7]
        for how in ((shape, corners, *scales), (shape, corners)):
            assert torch.equal(table[operator.default](x, *how), operator.default(x, *how)), (kind, x.shape, how)
        how = None, corners, [1.3, 2.0]
        assert torch.equal(table[operator.vec](x, *how), operator.vec(x, *how)), (kind, x.shape, how)
        if "aa" in kind:
            made = table[operator.default](x.double(), shape, corners)
            torch.testing.assert_close(made, operator.default(x.double(), shape, corners))
    resized = torch.ops.aten.upsample_bilinear2d.vec
    before = decompositions_resize.of_bytes({resized: lambda *given: "as before"})
    assert before[resized](torch.randn(1, 1, 2, 2), [3, 3], False, None) == "as before"


def main(arguments: list[str]) -> None:
    """Write which operators of the programs are taken apart: `python -m tests.core.test_decompositions --write`."""
    if arguments == ["--write"]:
        lines = (f"  {json.dumps(model.__name__)}: {json.dumps(_taken(model))}" for model in PROGRAMS)
        TAKEN.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
