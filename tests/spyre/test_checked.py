"""`--check` of what is compiled for Spyre: the tiles of every core, executed and held against eager PyTorch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import irwidget
from irwidget import spyre
from irwidget.frontends.base import Given
from irwidget.spyre import checked

from .test_execute import misplaced

HALF = torch.float16
ROUNDED = "it was executed in float32, without the roundings of the card"


def attended(q, k, v):
    return torch.softmax(q @ k.mT * 0.125, -1) @ v


def added(x, y):
    x.add_(y)
    return x.relu(), x > 0


def numbered(x):
    return x.topk(3).indices


def half(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)), dtype=torch.float32).to(HALF)


def refused(x):
    if torch.compiler.is_exporting():
        raise ValueError("not by torch.export")
    return x * 2


class Counting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(64, dtype=HALF))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.seen += x
        return x * 2


@pytest.mark.parametrize(("model", "inputs"), [
    (attended, (half(2, 64, 64), half(2, 64, 64), half(2, 64, 64))),
    (added, (half(3, 70), half(3, 70))),
    (numbered, (half(4, 128),)),
    (nn.LayerNorm(128).half(), (half(5, 128),)),
    (torch.sigmoid, (half(70, 3).t(),)),
    (lambda x, y: (torch.sin(x) + x, x + y[:, None]), (half(1, 128).expand(4, 128), half(4))),
])  # fmt: skip
def test_what_is_right_is_equal_and_says_what_it_was_executed_in(model, inputs):
    before = [one.clone() for one in inputs]
    low = irwidget.lower(model, *inputs, to="spyre_superdsc", check=True)
    assert str(low.check).startswith("equal to eager PyTorch after superdsc (largest error ")
    assert (low.check.reason, low.check.index) == (ROUNDED, len(low.dumps) - 1)
    assert all(torch.equal(one, other) for one, other in zip(inputs, before, strict=True)), "the user's own stay"


ALL = "is 0, eager has 6 (24 elements are wrong)"


@pytest.mark.parametrize(("given", "made", "where"), [
    (lambda x, y: x + y, lambda x, y: x - y, f"result 0[2, 3] {ALL}"),
    (lambda x, y: (x, x + y), lambda x, y: (x, y * 0 + x), "result 1[2, 3] is 3, eager has 6 (24 elements are wrong)"),
    (lambda x, y: x.add_(y), lambda x, y: x.sub_(y), f"input 'x'[2, 3] {ALL}; so is result 0"),
    (lambda x, y: x > y, lambda x, y: x >= y, "result 0[2, 3] is 1, eager has 0"),
    (lambda x, y: x.float(), lambda x, y: x, "result 0 is torch.float16, not torch.float32"),
])  # fmt: skip
def test_a_program_that_computes_something_else_differs(given, made, where):
    x, y = torch.full((4, 6), 3.0, dtype=HALF), torch.full((4, 6), 1.0, dtype=HALF)
    y[2, 3] = 3.0
    low = irwidget.lower(made, x.clone(), y, to="spyre_superdsc")
    found = checked.verdict(low.program, Given(given, (x, y)), low.trace, len(low.dumps) - 1)
    assert (found.state, found.reason) == ("differs", where)


def test_a_tile_that_breaks_a_rule_of_the_memory_differs():
    x = half(64, 512)
    low = irwidget.lower(lambda a: torch.log_softmax(a, -1), x, to="spyre_superdsc")
    given = Given(lambda a: torch.log_softmax(a, -1), (x,))
    found = checked.verdict(misplaced(low.program), given, low.trace, len(low.dumps) - 1)
    assert (found.state, found.dump) == ("differs", "superdsc")
    assert found.reason.startswith("it breaks a rule of the memory: ")


def test_what_is_not_executed_says_why():
    x = half(2, 64)
    reasons = {
        "spyre_fx is not executed; lower to spyre_superdsc for that": (torch.relu, "spyre_fx"),
        "what it writes into buffer 'seen' is not read back": (Counting(), "spyre_superdsc"),
        "random: aten.": (lambda x: torch.rand_like(x) + x, "spyre_host"),
        "it could not be executed: ExportError: torch.export cannot trace refused: ": (refused, "spyre_host"),
        "a program that is compiled already does not say": (spyre.compile(torch.relu, [x]), "spyre_host"),
    }
    for reason, (model, to) in reasons.items():
        given = () if isinstance(model, spyre.SpyreProgram) else (half(64),) if isinstance(model, Counting) else (x,)
        low = irwidget.lower(model, *given, to=to, check=True)
        assert low.check.state == "not checked"
        assert reason in low.check.reason, (reason, low.check.reason)


def test_of_what_a_pipeline_has_made_of_it_nothing_is_said():
    low = irwidget.lower(torch.relu, half(2, 64), to="spyre_bundle", pipeline="user-tool sed s/sdsc/SDSC/", check=True)
    assert low.check.state == "not checked"
    assert low.check.reason.endswith("; the last dump that was, after bundle_mlir, is equal")
    bundle = next(i for i, dump in enumerate(low.dumps) if dump.name == "bundle_mlir")
    edited = low.edit(bundle, low.dumps[bundle].text.replace("sdsc_0", "sdsc_1")).run(check=True)
    assert str(edited.check) == "not checked: spyre_bundle is executed as it is compiled, not as it was edited"
