"""--check of torch.compile: what is executed, what is not, and which pass is named."""

import random
import shutil
from unittest import mock

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

import irwidget
from irwidget import private_torch
from irwidget.errors import UsageError
from irwidget.frontends import modes
from irwidget.frontends.cell import Call
from irwidget.inductor import executing, printing, reference
from irwidget.inductor.cells import Compiled
from irwidget.inductor.data import InductorStage, InductorText
from irwidget.inductor.executing import Graph
from tests.inductor import programs

X = torch.randn(12, 16)
aten = torch.ops.aten
needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="takes g++")


def swapping(wrong):
    """A pass that puts other operations in the place of some."""

    def swap(graph):
        for node in graph.nodes:
            node.target = wrong.get(node.target, node.target)

    return swap


def rooted(x, w):
    return torch.tanh(x * w).sum()


def test_a_pass_that_breaks_a_graph_is_named():
    wrong = swapping({aten.mul.Tensor: aten.add.Tensor})
    low = irwidget.lower(
        programs.apart, X, to="inductor_fx", check="each", patches={"post_grad_custom_post_pass": wrong}
    )
    assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_post_pass")
    assert low.check.element.result == "result 1"
    states = low.check.by_dump
    assert {state for index, state in states.items() if index < low.check.index} == {"equal"}
    assert {state for index, state in states.items() if index >= low.check.index} == {"differs"}
    assert len(states) > 20


def with_its_size(*, asked):
    """A pass that takes the size of the example for that of all inputs, with a guard if it has asked."""

    def replace(graph):
        for node in (one for one in graph.nodes if one.target is aten.div.Tensor):
            numerator, size = node.args
            if not asked or size.meta["val"] == size.meta["val"].node.hint:
                node.args = (numerator, size.meta["val"].node.hint)

    return replace


@pytest.mark.parametrize(("asked", "state"), [(False, "differs"), (True, "equal")])
def test_a_pass_that_is_wrong_for_other_sizes_is_named(asked, state):
    """The rows are an even number, by a guard, and lie in memory behind the columns."""
    patches = {"post_grad_custom_post_pass": with_its_size(asked=asked)}
    mean = lambda x: x.view(x.shape[0] // 2, 2, -1).sum(0) / (x.shape[0] % 3 + 1)  # noqa: E731
    low = irwidget.lower(mean, X.T.contiguous().T, to="inductor_fx", dynamic=True, check=True, patches=patches)
    assert low.check.state == state
    if not asked:
        assert low.check.dump == "post_grad_custom_post_pass"
        assert low.check.reason.startswith(
            "on your inputs it is equal, but with others of their kind, of shape [16, 20], result 0["
        )


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = torch.nn.Conv2d(4, 3, 3), torch.nn.BatchNorm2d(3)

    def forward(self, x):
        return self.norm(self.convolution(x)).relu()


def test_training_with_running_statistics_is_checked_to_its_code():
    """The graphs write into buffers; the gradient of a convolution has None beside tensors.

    The code of the backward half takes what the convolution made in the order of that of the forward half.
    """
    x = torch.randn(2, 4, 6, 6)
    lows = irwidget.lower(Normed(), x, to=["inductor_fx", "inductor_cpp"], check=True)
    assert [low.check.state for low in lows.values()] == ["equal", "equal"]
    patch = {"joint_custom_post_pass": swapping({aten.mul.Tensor: aten.add.Tensor})}
    low = irwidget.lower(Normed(), x, to="inductor_fx", check=True, patches=patch)
    assert (low.check.state, low.check.dump) == ("differs", "joint_custom_post_pass")
    assert "running_mean" in low.check.reason


def test_floats_of_a_module_can_be_compiled_in_under_dynamic_shapes():
    """Dynamo gives up the graph that has them as inputs, and makes another: one graph is run, with its gradients."""
    low = irwidget.lower(torch.nn.BatchNorm1d(3), torch.randn(4, 3), to="aot_forward", dynamic=True, check="each")
    assert "var_mean" in low.text
    assert (low.check.state, low.check.reason, low.trace.facts["graphs"]) == ("equal", "", 1)
    assert {low.check.by_dump.get(i) for i, one in enumerate(low.dumps) if one.scope.kernel == "graph 1"} == {"equal"}
    assert low.diagnostics[0].message == (
        "graph 0 is given up in AOTAutograd: Dynamo takes numbers of Python's in it for constants, and begins anew as "
        "graph 1"
    )


OPEN = {
    "memory": lambda x: torch.empty_like(x),
    "temporaries in place": lambda x: torch.nanquantile(x, 0.5),
    "tensors that are shapes": lambda x: torch.func.hessian(lambda row: row.pow(3).sum())(x[0]),
    "effects": lambda x: torch.linalg.solve(x[:, :12] + 9 * torch.eye(12), x),
}


@pytest.mark.parametrize("kind", OPEN)
def test_a_verdict_on_what_is_hard_to_execute(kind):
    low = irwidget.lower(OPEN[kind], X, to="inductor_fx", check=True)
    assert low.check.state in ("equal", "not checked" if kind == "memory" else ""), low.check


@torch._dynamo.disable(recursive=False)
def under(mode, function, *args):
    with mode:
        return function(*args)


def scaled_in_place(w, x):
    return w.add_(x, alpha=-0.1) * x


def product(x, w):
    return x @ w


UNDER = {
    "no gradients": lambda x, w: under(torch.no_grad(), scaled_in_place, w, x.sin()),
    "autocast": lambda x, w: under(torch.autocast("cpu", torch.bfloat16), product, x.sin(), w),
}


@pytest.mark.parametrize("mode", UNDER)
def test_a_graph_is_judged_under_the_modes_that_it_is_called_under(mode):
    low = irwidget.lower(UNDER[mode], X, torch.eye(16)[:12 if mode == "no gradients" else 16].requires_grad_(),
                         to="inductor_fx", check=True)  # fmt: skip
    assert low.check.state == "equal", low.check


def test_gradients_are_judged_outside_of_the_modes_of_the_first_call():
    torch.manual_seed(108)
    x, w = torch.randn(8, 8), torch.randn(8, 8, requires_grad=True)
    compiled = Compiled(lambda x, w: (x @ w).relu(), calls=[Call((x, w)), Call((x, w), modes=modes.current())])
    with torch.autocast("cpu", torch.bfloat16):
        low = irwidget.lower(compiled, x, w, to="inductor_fx", check=True)
    assert low.trace.facts["graphs"] == 2
    assert low.check.state == "equal", low.check


def test_an_optimizers_step_is_checked_pass_by_pass():
    """What it changes is no input of its graph."""
    weight = torch.arange(1.0, 4.0, requires_grad=True)
    weight.grad = torch.ones(3)
    wrong = swapping({aten.add.Tensor: aten.sub.Tensor, aten.mul.Tensor: aten.add.Tensor})
    low = irwidget.lower(torch.optim.SGD([weight], 0.1).step, to="inductor_fx", check="each",
                         patches={"post_grad_custom_post_pass": wrong})  # fmt: skip
    assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_post_pass")
    assert low.check.reason.startswith("input 'self___param_groups_0__params___0'[0]")
    assert {low.check.by_dump[i] for i in range(2, low.check.index)} == {"equal"}
    assert weight.tolist() == [1, 2, 3]


def counted(x):
    return x.reshape(-1)[: (x > 0).sum().item()] * 2


def scaled(x):
    return x * x.sum().item()


@pytest.mark.parametrize(("function", "reason"), [
    (counted, ""), (scaled, "item is a number of Python's made of floats, which rounding would change"),
])  # fmt: skip
def test_a_graph_with_a_number_in_it_is_checked_where_rounding_does_not_change_it(function, reason):
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        low = irwidget.lower(function, X, to="inductor_fx", check=True)
    assert (low.check.state, low.check.reason.split(";")[0]) == ("not checked" if reason else "equal", reason)
    assert low.trace.facts["graph breaks"] == 0


@torch.compiler.nested_compile_region
def block(x, w):
    return torch.sin(x @ w) + 1


def repeated(x, w):
    return block(block(block(x, w), w), w).sum()


def test_regions_are_checked_with_their_gradients():
    """Each is partitioned by itself first: those halves are not the graph's."""
    wrong = swapping({aten.cos.default: aten.sin.default})
    inputs = torch.eye(12), torch.randn(12, 12, requires_grad=True)
    patches = {"post_grad_custom_post_pass": wrong}
    low = irwidget.lower(repeated, *inputs, to="inductor_fx", check="each", patches=patches)
    assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_post_pass")
    assert low.check.reason.startswith("gradient of ")
    assert "invoke_subgraph" in low.dumps[low.check.index].text
    states = low.check.by_dump
    assert {states.get(i, "of a region") for i in range(2, low.check.index)} == {"equal", "of a region"}


def overwritten(x, y):
    return x.mul_(2), y + 1


@pytest.mark.parametrize("inputs", [lambda base: (base[:6], base[3:]), lambda base: (base.view(2, 5).t()[1:], base)])
def test_inputs_that_share_memory_share_it_when_they_are_checked(inputs):
    wrong = swapping({aten.add.Tensor: aten.sub.Tensor})
    given = inputs(torch.randn(10))
    assert irwidget.lower(overwritten, *given, to="inductor_fx", check="each").check.state == "equal"
    patches = {"post_grad_custom_pre_pass": wrong}
    low = irwidget.lower(overwritten, *given, to="inductor_fx", check="each", patches=patches)
    assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_pre_pass")


def test_copies_of_views_of_a_tensor_are_views_of_its_copy():
    base = torch.arange(10.0)
    one, other = reference.own([base[:6], base[3:]])
    of = private_torch.viewed(one)
    assert (of is private_torch.viewed(other), of is base, of.tolist()) == (True, False, base.tolist())
    assert (one.tolist(), other.tolist()) == (base[:6].tolist(), base[3:].tolist())


def grown(x):
    def body(count, kept):
        return count + 1, {"y": (kept["y"][0] * 2, kept["y"][1] + 1)}

    _, kept = torch._higher_order_ops.while_loop(
        lambda count, _: count < 3, body, (torch.tensor(0), {"y": (x, x.sum())})
    )
    return kept["y"][0]


def test_a_loop_over_structures_of_tensors_is_checked():
    """Eager PyTorch compiles such a call itself, also while what the user compiles runs as it is written."""
    low = irwidget.lower(grown, X, to="dynamo_fx", check=True)
    assert (low.check.state, low.check.reason) == ("equal", "")


BIAS = torch.tensor([0.5, 2.0])


def flexible(q, k, v):
    return flex_attention(q * 3, k, v, score_mod=lambda score, b, h, i, j: score * BIAS[h] + (i - j))


def test_flex_attention_is_checked():
    q, k, v = (torch.randn(1, 2, 8, 16) for _ in range(3))
    wrong = swapping({aten.mul.Tensor: aten.add.Tensor})
    low = irwidget.lower(flexible, q, k, v, to="inductor_fx", check="each", patches={"joint_custom_post_pass": wrong})
    assert (low.check.state, low.check.dump) == ("differs", "joint_custom_post_pass")
    assert {low.check.by_dump[i] for i in range(2, low.check.index)} == {"equal"}


SEEN = torch.zeros(2)


def counts(x):
    SEEN.add_(2 if torch.compiler.is_compiling() else 1)
    return x + 1


def test_what_a_program_leaves_behind_is_compared():
    low = irwidget.lower(counts, X, to="dynamo_fx", check=True)
    assert (low.check.state, low.check.dump) == ("differs", "dynamo")
    assert low.check.reason == "tensor 0 that it leads to is not what eager PyTorch leaves"


LOSES = {
    "the logarithm of about one": (lambda x: torch.log_softmax(x, -1), (64, 5)),
    "samples between elements": (
        lambda x: torch.nn.functional.interpolate(x, scale_factor=1.7, mode="bicubic"), (2, 3, 5, 5)
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LOSES)
def test_what_is_small_may_lose_a_part_of_something_large(what):
    function, shape = LOSES[what]
    x = 6 * torch.randn(shape, generator=torch.Generator().manual_seed(3))
    low = irwidget.lower(function, x, to="inductor_fx", check=True)
    assert low.check.state == "equal", low.check


def test_what_cannot_be_executed_on_copies_is_said_to_be_that():
    low = irwidget.lower(lambda x: x.as_strided((2, 2), (1, 2)), torch.ones(9)[3:5], to="inductor_fx", check=True)
    assert low.check.state == "not checked"
    assert "the graph fails on copies of its inputs: RuntimeError: setStorage" in low.check.reason


def rounded(product):
    return product, (product * 100).int(), product.round()


def summed_in_order(seed):
    """What is said of a pass that adds up the products one after another."""
    x = torch.randn(60, 240, generator=torch.Generator().manual_seed(seed))
    graph = Graph(torch.fx.symbolic_trace(lambda x: rounded(x @ x.T)), calls=[[x]])
    in_order = torch.fx.symbolic_trace(lambda x: rounded(sum(x[:, i : i + 1] * x[:, i] for i in range(240))))
    stage = InductorStage("a pass", "dynamo", "python", InductorText("in order"))
    ((_, verdict),) = executing.verdicts(graph, {0: stage}, {0: in_order}, each=True)
    return verdict


def test_of_very_many_sums_none_is_called_wrong_that_rounds(monkeypatch):
    """Few evaluations with noise are by chance all near the exact value somewhere; where no more can be made, it is
    not checked.
    """
    with monkeypatch.context() as patched:
        patched.setattr(executing.Reference, "look_closer", mock.Mock(side_effect=MemoryError("no room")))
        unsettled = ((seed, one) for seed in range(8, 60) if (one := summed_in_order(seed)).state != "equal")
        seed, verdict = next(unsettled)
    assert verdict.state == "not checked"
    assert verdict.reason.endswith(", which rounding may explain: no room")
    assert summed_in_order(seed).state == "equal"


def test_a_joint_pass_that_breaks_only_the_gradients_is_named():
    wrong = swapping({aten.sub.Tensor: aten.add.Tensor})
    low = irwidget.lower(
        rooted, X.clone().requires_grad_(), torch.randn(12, 16), to="aot_backward", check="each",
        patches={"joint_custom_post_pass": wrong},
    )  # fmt: skip
    assert (low.check.state, low.check.dump) == ("differs", "joint_custom_post_pass")
    assert low.check.element.result.startswith("gradient of ")
    assert any(one.dump == "aot autograd" and one.state == "equal" for one in low.check.each)


@pytest.mark.exhaustive
@needs_compiler
def test_the_code_for_the_cpu_is_executed():
    lows = irwidget.lower(programs.apart, X, to=["inductor_cpp", "inductor_loop_ir"], check=True)
    assert lows["inductor_cpp"].check.ok
    assert lows["inductor_cpp"].check.error is not None
    assert lows["inductor_loop_ir"].check.state == "not checked"
    assert "loop IR is not executed" in lows["inductor_loop_ir"].check.reason


@pytest.mark.exhaustive  # g++
@needs_compiler
def test_code_of_several_threads_is_executed():
    """Also where this process has used OpenMP's, which are not in a copy of it."""
    x = torch.randn(600, 600)
    (x @ x).relu().sum()
    with mock.patch.object(torch, "get_num_threads", return_value=2):
        low = irwidget.lower(lambda x: x.sin().softmax(-1), x, to="inductor_cpp", check=True)
    assert "num_threads(2)" in low.text
    assert low.check.ok, low.check


@pytest.mark.exhaustive  # g++
@needs_compiler
def test_code_of_a_wrong_graph_differs():
    wrong = swapping({aten.mul.Tensor: aten.add.Tensor})
    low = irwidget.lower(programs.apart, X, to="inductor_cpp", check=True, patches={"post_grad_custom_pre_pass": wrong})
    assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_pre_pass")


def test_without_a_compiler_the_code_is_not_checked():
    low = irwidget.lower(programs.apart, X, to="inductor_cpp", check=True, patches={"cpp.cxx": ("no-such-compiler",)})
    assert 'extern "C"' in low.text
    assert low.check.state == "not checked"
    assert "the code was not built: " in low.check.reason
    assert "post-grad passes, is equal" in low.check.reason


def test_code_for_a_gpu_is_not_checked_and_its_graphs_are():
    half = [torch.randn(1, 2, 16, 32, dtype=torch.float16) for _ in range(3)]
    low = irwidget.lower(programs.attention, *half, to="inductor_triton", arch="sm_90", check=True)
    assert low.check.state == "not checked"
    assert low.check.reason.startswith(
        "Triton kernels are not executed: --check runs on the CPU; the last dump that was"
    )


def rooted_branch(x, w):
    return torch.cond(x.sum() > 0, lambda x: (x * w).sin(), lambda x: x + torch.ones(16), (x.abs(),))


def test_branches_of_graphs_for_a_gpu_are_executed_on_the_cpu():
    wrong = swapping({aten.abs.default: aten.neg.default})
    low = irwidget.lower(rooted_branch, X, X, to="inductor_fx", arch="sm_90", check="each",
                         patches={"post_grad_custom_post_pass": wrong})  # fmt: skip
    assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_post_pass")
    assert {low.check.by_dump.get(i) for i in range(2, low.check.index)} == {"equal"}


def dropped(x):
    y = x.sin() - x
    torch._dynamo.graph_break()
    return torch.nn.functional.dropout(y, 0.5)


@pytest.mark.parametrize("wrong", [False, True])
def test_random_numbers_are_not_checked(wrong):
    """The graphs that have none are, and so is what Dynamo makes: both sides draw the same numbers."""
    patches = {"post_grad_custom_post_pass": swapping({aten.sub.Tensor: aten.add.Tensor} if wrong else {})}
    low = irwidget.lower(dropped, X, to="inductor_fx", check="each", patches=patches)
    found = (low.check.state, low.check.dump)
    assert found == (("differs", "post_grad_custom_post_pass") if wrong else ("not checked", "dynamo"))
    assert wrong or low.check.reason.startswith("random: ")
    graphs = [low.dumps[index].scope.kernel for index in low.check.by_dump]
    assert (graphs.count("graph 0") > 30, graphs.count("graph 1")) == (True, 1)


def test_what_is_random_in_a_branch_is_not_checked_and_the_numbers_of_python_are_those_of_eager():
    branched = lambda x: torch.cond(x.sum() > 0, torch.rand_like, torch.sin, (x,))  # noqa: E731
    low = irwidget.lower(branched, X.abs(), to="inductor_fx", check=True)
    assert (low.check.state, low.check.reason[:8]) == ("not checked", "random: ")
    low = irwidget.lower(lambda x: x * random.random(), X, to="inductor_fx", check=True)
    assert low.check.state == "equal"


def unscaled(graph):
    """A pass that loses the weight of a norm."""
    for node in graph.nodes:
        if node.target is aten.mul.Tensor and node.args[1].op == "placeholder":
            node.replace_all_uses_with(node.args[0])


def test_a_pass_that_loses_weights_which_are_all_ones_is_named():
    low = irwidget.lower(torch.nn.LayerNorm(16), X, to="inductor_fx", check="each", grad=False,
                         patches={"post_grad_custom_post_pass": unscaled})  # fmt: skip
    assert (low.check.state, low.check.dump) == ("differs", "post_grad_custom_post_pass")
    assert low.check.reason.startswith("on your inputs it is equal, but with others of their kind result 0[")


def test_a_model_whose_parameters_become_constants_is_checked():
    """Before they do, they are inputs of the graphs, and of what AOTAutograd calls they are none."""
    model = torch.nn.Sequential(torch.nn.Linear(16, 4), torch.nn.ReLU()).eval()
    with torch._inductor.config.patch(freezing=True):
        low = irwidget.lower(model, X, to="inductor_fx", check="each", grad=False)
    judged = {low.dumps[one.index].name: one for one in low.check.each}
    assert judged["joint-graph passes"].state == judged["before post-grad passes"].state == "equal"
    assert "_frozen_param" in low.dumps[judged["before post-grad passes"].index].text
    assert low.check.ok or "makes loops of Inductor's, and no operation" in low.check.reason


def test_output_code_is_the_same_text_each_time():
    line = "_tensor_constant0 = None  # device(type='cpu') torch.float32 (9,) (1,)"
    assert printing.output_code(f"{line} 7f51f1f53340\nx = None\n# kernel path: /tmp/a/b.py\n") == (
        f"{line}\nx = None\n# kernel path: b.py\n"
    )


def test_an_edited_dump_is_not_called_checked():
    low = irwidget.lower(programs.apart, X, to="inductor_fx")
    with pytest.raises(UsageError):
        low.edit(2, low.dumps[2].text).run()
