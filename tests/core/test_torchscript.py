"""torch_script_graph_ir: the program that was asked for, and the model as it was."""

import re
import threading

import pytest
import torch
from torch import nn

import irwidget


class Switched(nn.Module):
    """Keywords choose the program; buffers, counters and inputs change as it runs."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("count", torch.zeros(()))
        self.steps = 0

    def forward(self, x, *, other=None, twice=False):
        self.count += 1
        self.steps += 1
        x = self.norm(x)
        if twice:
            x = x * 2
        return x.sub_(other) if other is not None else x.relu_()


class Locked(Switched):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


X = torch.randn(3, 4)


def ops(low):
    return re.findall(r" = aten::(\w+)\(", low.text)


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({}, ["add_", "add_", "batch_norm", "relu_"]),
        ({"twice": True}, ["add_", "add_", "batch_norm", "mul", "relu_"]),
        ({"other": X, "twice": False}, ["add_", "add_", "batch_norm", "sub_"]),
        ({"twice": True, "other": X}, ["add_", "add_", "batch_norm", "mul", "sub_"]),
    ],
)
def test_keywords_choose_the_program(kwargs, expected):
    low = irwidget.lower(Switched(), X, kwargs=kwargs, to="torch_script_graph_ir")
    assert ops(low) == expected
    assert ("%other : Float(3, 4" in low.text) == ("other" in kwargs)
    lines = low.trace.sources[__file__].splitlines()
    places = [place.line for place in low.dumps[-1].locations if place]
    assert "self.count += 1" in " ".join(lines[line - 1] for line in places)


@pytest.mark.parametrize("kind", [Switched, Locked])
def test_the_model_stays_as_it_was(kind):
    model = kind().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    versions = {name: value._version for name, value in model.named_parameters()}
    x, other, state = X.clone(), X.clone(), torch.random.get_rng_state()
    irwidget.lower(model, x, kwargs={"other": other}, to="torch_script_graph_ir")
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert {name: value._version for name, value in model.named_parameters()} == versions
    assert torch.equal(x, X)
    assert torch.equal(other, X)
    assert torch.equal(torch.random.get_rng_state(), state)
    if kind is Switched:
        assert model.steps == 0


def test_random_numbers_are_drawn_from_a_copy_of_the_generator():
    state = torch.random.get_rng_state()
    low = irwidget.lower(nn.Dropout(0.5).train(), X, to="torch_script_graph_ir")
    assert "aten::dropout" in low.text
    assert torch.equal(torch.random.get_rng_state(), state)


def test_modules_that_a_function_uses_stay_as_they_were():
    norm = nn.BatchNorm1d(4).train().requires_grad_(False)

    def program(x, *, scale=2.0, shift=None):
        return norm(x) * scale + shift

    low = irwidget.lower(program, X, kwargs={"scale": 5.0, "shift": X}, to="torch_script_graph_ir")
    assert "value={5}" in low.text
    assert "%shift : Float" in low.text
    assert norm.num_batches_tracked == 0
    assert torch.equal(norm.running_mean, torch.zeros(4))


def test_weights_are_not_copied():
    model = nn.Linear(1000, 1000)
    seen = []
    model.register_forward_pre_hook(lambda module, _: seen.append(module.weight.data_ptr()))
    irwidget.lower(model, torch.ones(1, 1000), to="torch_script_graph_ir")
    assert seen == [model.weight.data_ptr()]


def test_a_pipeline_goes_on_from_it():
    pipeline = "user-tool sed s/aten::relu_/mine::relu/ | user-tool cat"
    low = irwidget.lower(Switched(), X, to="torch_script_graph_ir", pipeline=pipeline)
    assert [(dump.name, dump.language) for dump in low.dumps] == [
        ("torch.jit.trace", "torchscript"),
        ("inline", "torchscript"),
        ("sed", "torchscript"),
        ("cat", "torchscript"),
    ]
    assert low.text == low.dumps[1].text.replace("aten::relu_", "mine::relu")
    assert [dump.changed for dump in low.dumps[2:]] == [True, False]


def test_a_trace_is_the_same_again():
    """TorchScript numbers types of one name in the whole process; two of them in one graph stay two."""
    model, x = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)), torch.ones(1, 2)
    texts = [[dump.text for dump in irwidget.lower(model, x, to="torch_script_graph_ir").dumps] for _ in range(3)]
    assert texts[0] == texts[1] == texts[2]
    assert set(re.findall(r"__torch__[.\w]*Linear", texts[0][0])) == {
        "__torch__.torch.nn.modules.linear.Linear",
        "__torch__.torch.nn.modules.linear.___torch_mangle_0.Linear",
    }


def test_dynamic_shapes_say_nothing_and_a_remark_says_so() -> None:
    sizes = {0: torch.export.Dim("n")}
    fixed, dynamic = (
        irwidget.lower(nn.ReLU(), torch.ones(3, 4), to="torch_script_graph_ir", dynamic_shapes=shapes)
        for shapes in (None, {"input": sizes})
    )
    assert fixed.text == dynamic.text
    assert [str(one) for one in fixed.trace.diagnostics] == []
    assert [one.message for one in dynamic.trace.diagnostics] == [
        "dynamic_shapes say nothing here: torch.jit.trace records the sizes of these inputs"
    ]
