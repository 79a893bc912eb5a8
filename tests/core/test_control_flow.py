"""torch.cond, while_loop, map and scan: imported, executed, and both branches of a condition checked."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.map import map as torch_map  # pyright: ignore[reportUnknownVariableType]
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop

import irwidget
from irwidget.checking import expected
from irwidget.errors import ExportError
from irwidget.frontends import torch as export


class Cond(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.one(x).relu(), lambda x: self.other(x) - 1, (x,))


class Minus(nn.Module):
    """One branch of `Cond`, by itself."""

    def __init__(self, other: nn.Linear) -> None:
        super().__init__()
        self.other = other

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.other(x) - 1


class While(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + 1), (torch.tensor(0), x))


class Known(nn.Module):
    """The first condition is known: torch-mlir would make an endless loop of it."""

    def forward(self, x: torch.Tensor) -> Any:
        first = torch.zeros((), dtype=torch.int64)
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 1.5 + 1), (first + 1, x))


class Closed(nn.Module):
    """A condition and a body that use tensors from outside, and branches inside of the body."""

    def forward(self, x: torch.Tensor, limit: torch.Tensor) -> Any:
        def body(i: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return i + 1, torch.cond(x.sum() > 0, lambda x: x * 0.5 - limit, lambda x: x + limit, (x,))

        return while_loop(lambda i, x: i < limit, body, (torch.tensor(0), x))[1]


class Map(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch_map(lambda row, y: row.sin() + y, x, y)


class Scan(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(4), x)


PROGRAMS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...], str]] = {
    "cond": (Cond(), (torch.ones(3, 4),), "scf.if"),
    "while_loop": (While(), (torch.ones(3, 4),), "scf.while"),
    "while_loop of a known number": (Known(), (torch.ones(3, 4),), "scf.while"),
    "while_loop with closures": (Closed(), (torch.ones(3, 4), torch.tensor(5)), "scf.while"),
    "map": (Map(), (torch.rand(3, 4), torch.rand(4)), "scf.for"),
    "scan": (Scan(), (torch.rand(3, 4),), "scf.for"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_flow_becomes_scf_and_runs_as_eager_does(name: str) -> None:
    model, inputs, operation = PROGRAMS[name]
    low = irwidget.lower(model.eval(), *inputs, to="llvm_ir", check=True, timeout=120)
    linalg = next(dump for dump in reversed(low.dumps) if "linalg.generic" in dump.text)
    assert operation in linalg.text
    assert str(low.check).startswith("equal to eager PyTorch after mlir-to-llvmir")
    assert ", but" not in str(low.check)


def test_the_inputs_of_a_check_reach_both_branches() -> None:
    model, inputs = Cond().eval(), (torch.ones(3, 4),)
    program = expected.ExportedCopy.of(export.export(model, inputs))
    found = expected.expect(model, inputs, {}, program, seconds=60)
    assert {chosen for case in found.cases for _, chosen in case.taken} == {False, True}
    assert found.unexecuted == ()


def test_branches_inside_of_loops_are_counted() -> None:
    model, inputs = Closed().eval(), (torch.ones(3, 4), torch.tensor(5))
    program = expected.ExportedCopy.of(export.export(model, inputs))
    found = expected.expect(model, inputs, {}, program, seconds=60)
    name = "cond in while_loop_body_graph_0"
    assert found.cases[0].taken == {(name, True), (name, False)}
    assert found.unexecuted == ()


class Never(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond((x * x).sum() >= 0, lambda x: x + 1, lambda x: x - 1, (x,))


def test_a_branch_that_no_input_reaches_is_told() -> None:
    low = irwidget.lower(Never(), torch.ones(3, 4), to="linalg_on_tensors_mlir", check=True, timeout=120)
    assert str(low.check).endswith(", but no input reached cond where it is False")


class NeverInside(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return torch_map(lambda row: torch.cond((row * row).sum() >= 0, lambda r: r + 1, lambda r: r - 1, (row,)), x)


def test_a_branch_inside_of_a_loop_that_no_input_reaches_is_told() -> None:
    low = irwidget.lower(NeverInside(), torch.ones(3, 4), to="linalg_on_tensors_mlir", check=True, timeout=120)
    assert str(low.check).endswith(", but no input reached cond in body_graph_0 where it is False")


class Numbers(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> Any:
        return torch_map(lambda row, y: (row.sum(), {"more": row * y}), x, y)


def test_results_of_a_body_may_be_nested() -> None:
    low = irwidget.lower(Numbers(), torch.rand(3, 4), torch.rand(4), to="linalg_on_tensors_mlir", check=True)
    assert low.check is not None
    assert low.check.state == "equal"


@pytest.mark.parametrize(
    ("name", "target", "said"),
    [
        ("cond", "tosa_mlir", "torch.cond has no form in TOSA"),
        ("while_loop", "stablehlo_mlir", "torch.while_loop has no form in StableHLO"),
        ("map", "tosa_mlir", "torch.map has no form in TOSA"),
        ("scan", "stablehlo_mlir", "torch.scan has no form in StableHLO"),
    ],
)
def test_control_flow_is_refused_before_any_pass_where_it_has_no_form(name: str, target: str, said: str) -> None:
    model, inputs, _ = PROGRAMS[name]
    with pytest.raises(ExportError, match=said) as refused:
        irwidget.lower(model.eval(), *inputs, to=target, timeout=60)
    assert f"{__file__}:" in str(refused.value)
    assert "Next step: lower it to linalg_on_tensors_mlir" in str(refused.value)
    assert refused.value.lowering.trace.refused


def test_what_torch_refuses_of_a_branch_is_told_with_its_own_advice() -> None:
    def aliased(x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: (x, x.sum()), lambda x: (x * 2, x.mean()), (x,))

    with pytest.raises(ExportError) as refused:
        irwidget.lower(aliased, torch.ones(3), to="torch_mlir", timeout=60)
    assert "Higher order ops do not support aliasing\n" in str(refused.value)
    assert str(refused.value).endswith("Try: Replace `return input` with `return input.clone()` to avoid aliasing.")


def test_a_loop_that_begins_with_a_python_number_is_refused_with_the_next_step() -> None:
    def counted(x: torch.Tensor) -> Any:
        return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2), (0, x))

    with pytest.raises(ExportError, match=r"while_loop begins with 0: begin with torch.tensor\(0\)"):
        irwidget.lower(counted, torch.ones(3), to="linalg_on_tensors_mlir", timeout=60)


def test_what_rounds_in_a_branch_is_allowed_to() -> None:
    """As much as where it stands by itself, with the same values."""
    model, inputs = Cond().eval(), (-torch.ones(3, 4),)
    allowed: list[torch.Tensor] = []
    for one in (model, Minus(model.other)):
        program = expected.ExportedCopy.of(export.export(one.eval(), inputs))
        found = expected.expect(one, inputs, {}, program, seconds=60).cases[0].results[0].allowed
        assert found is not None
        allowed.append(found)
    assert (allowed[0] > allowed[1] / 4).all()


def test_a_tensor_that_is_made_in_a_loop_is_told_with_the_next_step() -> None:
    def counted(make: Any, x: torch.Tensor) -> Any:
        return while_loop(lambda x: x.sum() < 3, lambda x: (x + make(),), (x,))

    with pytest.raises(ExportError, match="a tensor of known values is made in .*(?s:.)*torch.zeros, ones or full"):
        irwidget.lower(partial(counted, lambda: torch.tensor([1.0, 2.0])), torch.ones(2), to="torch_mlir")
    made = partial(counted, lambda: torch.ones(2))
    assert irwidget.lower(made, torch.zeros(2), to="linalg_on_tensors_mlir").text


POSITIONS, ONES = torch.tensor([0, 2]), torch.ones(2)


def test_a_list_with_constants_is_of_the_type_that_its_operator_takes() -> None:
    for function, kind in (
        (lambda x: x[:, POSITIONS], "optional<vtensor>"),
        (lambda x: torch.cat([ONES, x[0]]), "vtensor"),
    ):
        text = irwidget.lower(function, torch.ones(3, 4), to="torch_mlir", isolate=False).dumps[0].text
        assert re.findall(r"ListConstruct .* -> !torch.list<(.*vtensor.*)>$", text, re.M) == [kind]
