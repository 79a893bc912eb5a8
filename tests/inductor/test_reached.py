"""--check of branches that the user's inputs do not take."""

import pytest
import torch

import irwidget
from tests.inductor.test_check import X, aten, swapping


def swapping_in_branches(wrong):
    """The same pass on the branches of a graph, too."""

    def swap(graph):
        swapping(wrong)(graph)
        for node in graph.find_nodes(op="get_attr"):
            part = getattr(graph.owning_module, node.target)
            if isinstance(part, torch.fx.GraphModule):
                swap(part.graph)
                part.recompile()

    return swap


def nested(x):
    return torch.cond(
        x.sum() > 0, lambda x: torch.cond(x.max() > 50, torch.cos, torch.tan, (x,)), lambda x: x.sin(), (x,)
    )


ALIKE = X.abs() + 0.1
SELDOM = {
    "the other branch": (lambda x: torch.cond(x.sum() > 0, torch.sin, torch.cos, (x,)), [ALIKE], "differs"),
    "a branch in a branch": (nested, [ALIKE], "differs"),
    "another element": (lambda x: torch.where(x > 0, x.sin(), x.cos()), [ALIKE], "differs"),
    "by a method": (lambda x: x.sin().where(x > 0, x.cos()), [ALIKE], "differs"),
    "by truths": (lambda x, mask: torch.where(mask, x.sin(), x.cos()), [X, torch.ones(16, dtype=bool)], "differs"),
    "never": (lambda x: torch.cond(x.sum() < -1e9, torch.cos, torch.sin, (x,)), [ALIKE], "the true branch of cond"),
    "never of elements": (lambda x: torch.where(x == 1.5e9, x.cos(), x), [ALIKE], "a True in where"),
    "by a number": (lambda x, n: torch.cond(n > 3, torch.cos, torch.sin, (x,)), [X, torch.tensor(1)],
                    "the true branch of cond"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SELDOM)
def test_a_pass_that_breaks_what_the_inputs_do_not_come_to(kind):
    """It is named, or the verdict says what was not come to."""
    function, inputs, found = SELDOM[kind]
    wrong = swapping_in_branches({aten.cos.default: aten.exp.default})
    low = irwidget.lower(function, *inputs, to="inductor_fx", check=True, patches={"post_grad_custom_post_pass": wrong})
    if found == "differs":
        assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_post_pass")
        assert low.check.reason.startswith("on your inputs it is equal, but with others of their kind")
    else:
        line = function.__code__.co_firstlineno
        assert (low.check.state, low.check.reason) == ("equal", f"no inputs were found for {found} of line {line}")


@pytest.mark.parametrize("kind", ["the other branch", "a branch in a branch", "another element"])
def test_a_program_with_branches_that_are_right_is_equal(kind):
    function, inputs, _ = SELDOM[kind]
    low = irwidget.lower(function, *inputs, to="inductor_fx", check=True)
    assert (low.check.state, low.check.reason) == ("equal", "")
