"""Reductions that the configuration takes in several turns, and kernels that reduce nothing."""

from __future__ import annotations

import ast
import re
from typing import Any

import helion
import helion.language as hl
import pytest
import torch

from irwidget.helion import lower_kernel
from irwidget.helion.triton import source

ROLLED = {"block_sizes": [4], "reduction_loops": [16]}


@helion.kernel()
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        row = x[rows, :]
        e = torch.exp(row - torch.amax(row, -1, keepdim=True))
        out[rows, :] = e / e.sum(-1, keepdim=True)
    return out


@helion.kernel()
def norm(x: torch.Tensor) -> torch.Tensor:
    """Means, and a product of a tile with itself."""
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        row = x[rows, :]
        centred = row - row.mean(-1)[:, None]
        out[rows, :] = centred * torch.rsqrt((centred * centred).mean(-1) + 1e-5)[:, None]
    return out


@helion.kernel()
def projected(x: torch.Tensor) -> torch.Tensor:
    """Means that Helion repeats in the loops after them."""
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        row = x[rows, :]
        centred = row - row.mean(-1)[:, None]
        scaled = centred * torch.rsqrt((centred * centred).mean(-1) + 1e-5)[:, None]
        wide = row * 3
        out[rows, :] = wide - wide.mean(-1)[:, None] - scaled * (wide * scaled).mean(-1)[:, None]
    return out


def eager_projected(x: torch.Tensor) -> torch.Tensor:
    scaled, wide = torch.nn.functional.layer_norm(x, x.shape[-1:]), x * 3
    return wide - wide.mean(-1, keepdim=True) - scaled * (wide * scaled).mean(-1, keepdim=True)


@helion.kernel()
def least(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows, :].amin(-1)
    return out


@helion.kernel()
def total(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype)
    for rows in hl.tile(x.size(0)):
        out[rows] = x[rows, :].sum(-1)
    return out


@helion.kernel()
def spread(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        variance, mean = torch.var_mean(x[rows, :], -1, keepdim=True, correction=0)
        out[rows, :] = (x[rows, :] - mean) * torch.rsqrt(variance + 1e-5)
    return out


def _randn(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(3))


CASES = [
    (softmax, _randn(10, 50), lambda x: torch.softmax(x, -1), 3),
    (norm, _randn(10, 50), lambda x: torch.nn.functional.layer_norm(x, [50]), 3),
    (projected, _randn(6, 37), eager_projected, 5),
    (least, -5 - torch.arange(90, dtype=torch.int32).reshape(3, 30), lambda x: x.amin(-1), 1),
    (least, 5 + _randn(3, 30).abs(), lambda x: x.amin(-1), 1),  # lanes that do not exist are not the least
    (total, torch.full([2, 4100], 1.5, dtype=torch.float16), lambda x: x.float().sum(-1).half(), 1),
]


@pytest.mark.parametrize(("kernel", "x", "wanted", "loops"), CASES)
def test_a_reduction_loop_is_a_loop(kernel, x, wanted, loops):
    low = lower_kernel(kernel, (x,), config=ROLLED, dumps=False)
    assert low.mlir.count("scf.for ") == loops
    assert f"to %c{x.size(1)} step %c16" in low.mlir
    assert low.verify() is None
    torch.testing.assert_close(low.run(opt_level=0, check_bounds=True), wanted(x))
    assert not low.diagnostics


@pytest.mark.parametrize("aten", ["tosa", "stablehlo"])
def test_it_is_one_in_the_other_output_types(aten: str):
    x = _randn(6, 40)
    low = lower_kernel(norm, (x,), aten, ROLLED, dumps=False)
    assert low.mlir.count("scf.for ") == 3
    torch.testing.assert_close(low.run(opt_level=0), torch.nn.functional.layer_norm(x, [40]))


def test_its_nodes_lead_to_the_lines_of_the_kernel():
    low = lower_kernel(total, (_randn(4, 40),), config=ROLLED)
    (node,) = (link for link in low.links if link.target == "aten.sum.dim_IntList")
    lines = low.mlir.splitlines()
    assert any("arith.addf" in lines[number - 1] for number in node.mlir_lines)
    assert "reduction_loop_" in low.device_ir


def test_what_no_loop_carries_is_taken_whole_and_a_remark_says_so():
    x = _randn(4, 40)
    low = lower_kernel(spread, (x,), config=ROLLED, dumps=False)
    assert "scf.for " not in low.mlir
    assert "reduction_loops = [16]" in low.mlir
    (said,) = low.diagnostics
    assert said.severity == "remark"
    assert said.message.startswith("reduction_loops is the attribute alone, and each reduction is taken whole: ")
    torch.testing.assert_close(low.run(opt_level=0), torch.nn.functional.layer_norm(x, [40]))


@helion.kernel()
def looped(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty([x.size(0)], dtype=x.dtype)
    for rows in hl.tile(x.size(0)):
        acc = hl.zeros([rows], dtype=torch.float32)
        for columns in hl.tile(x.size(1)):
            acc += x[rows, columns].sum(-1)
        for columns in hl.tile(x.size(1)):
            acc += x[rows, columns].amax(-1)
        out[rows] = acc
    return out


_STAGES = "Helion's Triton tells this loop 1 where range_num_stages says 3"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, []),
        ({"range_unroll_factors": [0, 2, 0], "range_num_stages": [0, 3, 2]}, [_STAGES]),  # not both, says Helion
        ({"range_flattens": [None, False, True], "range_multi_buffers": [None, True, False]}, []),
        ({"range_flattens": [None, False, None]}, []),
        ({"pid_type": "persistent_blocked", "range_unroll_factors": [4, 0, 0], "range_flattens": [True] * 3}, []),
        (
            {"indexing": "tensor_descriptor", "range_num_stages": [0, 3, 0]},
            ["Helion's Triton tells this loop nothing where range_num_stages says 3"],
        ),
    ],
)
def test_loops_say_what_helions_triton_tells_them(config: dict[str, Any], said: list[str]):
    low = lower_kernel(looped, (_randn(4, 48),), config={"block_sizes": [4, 8, 16]} | config)
    names = {
        "loop_unroll_factor": "range_unroll_factor",
        "num_stages": "range_num_stage",
        "flatten": "range_flatten",
        "disallow_acc_multi_buffer": "range_multi_buffer",
    }
    told: list[dict[str, Any]] = []
    for line in source(low.binding).splitlines():
        if " in tl.range(" in line:
            call: Any = ast.parse(line.strip() + " pass").body[0]
            given = {names[one.arg]: ast.literal_eval(one.value) for one in call.iter.keywords}
            if "range_multi_buffer" in given:
                given["range_multi_buffer"] = not given["range_multi_buffer"]
            told.append(given)
    for dump in (low.trace.dumps[2], low.trace.dumps[-1]):
        loops = [line for line in dump.text.splitlines() if "helion.range_" in line and "module" not in line]
        found = [dict(re.findall(r"helion\.(range_\w+) = (\w+)", line)) for line in loops]
        wanted = [{name: str(value).lower() for name, value in one.items()} for one in told if one]
        assert sorted(map(sorted, map(dict.items, found))) == sorted(map(sorted, map(dict.items, wanted)))
    assert [one.message for one in low.diagnostics] == said
    assert {name for name in config if name.startswith("range_")} <= low.trace.facts.keys()


def test_a_loop_that_triton_unrolls_says_so():
    @helion.kernel()
    def counted(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x[:, 0])
        for rows in hl.tile(x.size(0)):
            acc = hl.zeros([rows], dtype=torch.float32)
            for place in hl.grid(4):
                acc += x[rows, place]
            out[rows] = acc
        return out

    low = lower_kernel(counted, (_randn(8, 4),), config={"block_sizes": [4], "static_ranges": [True]})
    assert re.findall(r"\} \{(helion\.[^}]*)\}", low.trace.dumps[-1].text) == ["helion.static_range = true"]
    assert "tl.static_range(" in source(low.binding)


@pytest.mark.parametrize(
    ("aten", "shape"), [("linalg-on-tensors", (0, 4)), ("tosa", (4, 0)), ("stablehlo", (4, 0)), ("raw", (4, 0))]
)
def test_sums_of_nothing(aten: str, shape: tuple[int, int]):
    low = lower_kernel(total, (torch.ones(shape),), aten, dumps=False)
    assert torch.equal(low.run(opt_level=0, check_bounds=True), torch.zeros(shape[0]))


def test_a_tile_that_nobody_has_filled_is_zeros_as_in_triton():
    @helion.kernel()
    def unfilled(x: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        for rows in hl.tile(x.size(0)):
            out[rows, :] = x[rows, :] + (torch.empty([8], dtype=torch.float32) + x.new_empty([8]))[None, :]
        return out

    x = torch.randn(4, 8)
    low = lower_kernel(unfilled, (x,), dumps=False)
    assert low.mlir.count("linalg.fill ins(%cst") >= 1
    assert torch.equal(low.run(opt_level=0), x)


@pytest.mark.parametrize("aten", ["tosa", "stablehlo"])
def test_products_and_means_of_nothing(aten: str):
    @helion.kernel()
    def both(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty([x.size(0), y.size(1)], dtype=x.dtype)
        for rows in hl.tile(x.size(0)):
            out[rows, :] = x[rows, :] @ y[:, :] + x[rows, :].mean(-1)[:, None]
        return out

    low = lower_kernel(both, (torch.ones(3, 0), torch.ones(0, 5)), aten, dumps=False)
    assert torch.equal(low.run(opt_level=0).isnan(), torch.ones(3, 5, dtype=torch.bool))
