"""What is compared of a graph with eager PyTorch, and the verdict on a lowering that it leads to."""

import pytest
import torch
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from irwidget.inductor import checks, executing, reference
from irwidget.inductor.data import CapturedCompilation, InductorStage, InductorText, Stopped
from irwidget.inductor.executing import Graph, Slot
from irwidget.private_torch import FakeTensorMode
from irwidget.trace import Scope, Trace, Verdict, dump

X = torch.arange(6.0).reshape(2, 3) + 0.5
WANTED = X.clone().requires_grad_()
SHARED = torch.rand(96, generator=torch.Generator().manual_seed(0))
trace = torch.fx.symbolic_trace


def stage(name, phase="dynamo", **more):
    return InductorStage(name, phase, "python", InductorText(name), **more)


def judged(eager, other, *args):
    graph = Graph(trace(eager), calls=[list(args)])
    ((_, verdict),) = executing.verdicts(graph, {0: stage("a pass")}, {0: trace(other)}, each=True)
    return verdict


def in_two(x):
    made = x + 1
    made.mul_(2)
    return made


def through(x, y):
    x.exp_()
    return y.softmax(0), x.norm()


def through_powers(x, y):
    x.copy_(torch.exp2(x * 1.44269504))
    return y.softmax(0), x.norm()


def not_through(x, y):
    before = y.clone()
    x.exp_()
    return before.softmax(0), x.norm()


def flipped_gradient(x):
    return x.detach() + x.flip(0) - x.flip(0).detach()


def taken(x, n):
    return x[: n.item()] * 2


def gives(what):
    return ("differs", f"{what} is not what eager PyTorch gives")


@pytest.mark.parametrize(("eager", "other", "args", "verdict"), [
    (lambda x: x.sum(0), lambda x: x.sum(0, keepdim=True), [X],
     ("differs", "result 0 has shape [1, 3], not [3]")),
    (lambda x: (x, x + 1), lambda x: (x,), [X], gives("result 1")),
    (lambda x: (x,), lambda x: (x, x + 1), [X], gives("result 1")),
    (lambda x: x * 2, lambda x: x.double() * 2, [X], ("differs", "result 0 is torch.float64, not torch.float32")),
    (lambda x: x + 1, lambda x: x.add_(1), [X], gives("input 'x'")),
    (lambda x: x + 1, lambda x: x + 1, [torch.full((2,), torch.nan)], ("equal", "")),
    (lambda x: x.as_strided((3,), (2,)) + 0, lambda x: x[:3] + 0, [torch.arange(12.0)[::2]], ("equal", "")),
    (in_two, lambda x: (x + 1) * 2, [X], ("equal", "")),
    (in_two, lambda x: (x + 1) * 3, [X], ("differs", "result 0[")),
    (lambda x: x.sort().values, lambda x: x.flip(0), [torch.arange(8.0).flip(0)],
     ("differs", "on your inputs it is equal, but with others of their kind result 0[")),
    (through, through_powers, [SHARED[:64], SHARED[32:]], ("equal", "")),
    (through, not_through, [SHARED[:64], SHARED[32:]], ("differs", "result 0[")),
    (lambda x: x * x, lambda x: x * x.detach(), [WANTED], ("differs", "gradient of 'x'[")),
    (lambda x: x * 1, flipped_gradient, [WANTED], ("differs", "gradient of 'x'[")),
    (lambda x: torch.rand_like(x), lambda x: x, [X], ("not checked", "random")),
    (taken, lambda x, n: (x + x)[: n.item()], [X, torch.tensor(1)], ("equal", "")),
    (taken, lambda x, n: (x * x)[: n.item()], [X, torch.tensor(1)], ("differs", "result 0[")),
])  # fmt: skip
def test_all_that_a_graph_does_is_compared(eager, other, args, verdict):
    found = judged(eager, other, *args)
    assert (found.state, found.reason[: len(verdict[1])]) == verdict, found


def test_other_inputs_are_told_apart_where_all_of_a_tensors_elements_are_equal():
    """The weight of a norm that is not trained, in all shapes of memory; the sign stays."""
    names = ("x", "ones", "minus", "expanded", "zeros", "infinite", "counts")
    given = [X.flip(1), torch.ones(3), torch.tensor(-2.0), torch.ones(1, 3).expand(2, 3),
             torch.zeros(3).half(), torch.full((3,), -torch.inf), torch.ones(3, dtype=torch.int64)]  # fmt: skip
    like = dict(zip(names, reference._like(given), strict=True))
    assert [name for name, one in zip(names, given, strict=True) if like[name].equal(one)] == ["infinite", "counts"]
    assert [like[name].unique().numel() for name in names[1:5]] == [3, 1, 3, 3]
    assert like["expanded"].stride() == (0, 1)
    assert like["minus"] < 0 <= like["zeros"].min()


def test_what_fails_at_another_size_says_so():
    eager = trace(lambda x: x * 2)
    symbolic = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=False).from_tensor(X)
    eager.graph.find_nodes(op="placeholder")[0].meta["example_value"] = symbolic
    graph = Graph(eager, calls=[[X]])
    ((_, found),) = executing.verdicts(graph, {0: stage("a pass")}, {0: trace(lambda x: x.view(3, 2).view(2, 3) * 2)},
                                       each=True)  # fmt: skip
    assert (found.state, found.reason) == (
        "not checked", "after a pass: not executed with others of your inputs, of shape [5, 7]: RuntimeError: "
        "shape '[3, 2]' is invalid for input of size 35",
    )  # fmt: skip


@pytest.mark.parametrize(("factors", "each", "found", "together"), [
    ((2, 2), False, [(0, "equal"), (1, "equal")], {1, 2}),
    ((2, None), False, [(0, "equal"), (1, "not checked"), (2, "equal")], {1}),
    ((3, 2), False, [(0, "differs"), (1, "equal"), (2, "equal")], {1}),
    ((2, 3), False, [(0, "equal"), (1, "differs"), (2, "equal")], {1, 2}),
    ((2, 2), True, [(0, "equal"), (1, "equal"), (2, "equal")], {1, 2}),
])  # fmt: skip
def test_graphs_are_executed_where_the_code_does_not_settle_it(factors, each, found, together):
    """The code of a backward half with that of the forward half, where this is right."""

    def code(factor):
        slot = Slot()
        slot.code = None if factor is None else (lambda args: [args[0] * factor])
        slot.first = trace(lambda x: x * 2)
        return slot

    slots = dict(zip(("", "backward"), map(code, factors), strict=True))
    chosen = []

    def compiled(*args):
        put = [slot for slot in slots.values() if slot.put]
        chosen.append(len(put))
        return (put or [slots[""]])[-1]([*args])

    graph = Graph(trace(lambda x: x * 2), compiled, slots, [[X]])
    stages = {0: stage("code", "code"), 1: stage("code", "code", direction="backward"), 2: stage("graph")}
    verdicts = executing.verdicts(graph, stages, {2: trace(lambda x: x * 2)}, each=each)
    assert [(number, verdict.state) for number, verdict in verdicts] == found
    assert set(chosen) == together


@pytest.mark.parametrize(("returned", "state"), [
    ([X, (3, None)], "equal"), ([X + 1, (3, None)], "differs"), ([X.double(), (3, None)], "differs"),
    ([X, (3.0, None)], "differs"), ([X], "differs"), ([X, (3, None), 4], "differs"), ([X[:1], (3, None)], "differs"),
])  # fmt: skip
def test_what_dynamo_returns(returned, state):
    assert executing.of_dynamo(returned, [X, 3, None]).state == state


def test_a_nan_is_a_nan():
    lost = torch.tensor(torch.nan)
    assert executing.of_dynamo([lost, float("nan")], [lost, float("nan")]).state == "equal"


STAGES = (
    stage("dynamo"), stage("same", "joint"), stage("same", "joint"),
    stage("f", "post_grad", direction="forward"), stage("b", "post_grad", direction="backward"),
)  # fmt: skip
EQUAL = [Verdict("equal", error=i / 8, eager_error=i / 16) for i in range(5)]


def verdict(*verdicts, target="aot_backward", arch=None, each=False, **more):
    captured = CapturedCompilation(STAGES, verdicts=verdicts, **more)
    dumps = (
        dump(one.name, one.content.text, step=0, language="python", scope=Scope("", one.direction)) for one in STAGES
    )
    return checks.verdict(captured, Trace(target, tuple(dumps)), target, arch, each=each)


def test_a_lowering_is_equal_where_all_its_ends_are():
    found = verdict(*enumerate(EQUAL), each=True)
    assert (found.state, found.dump, found.index, found.error, found.eager_error) == ("equal", "b", 4, 4 / 8, 4 / 16)
    assert [(one.index, one.dump, one.error) for one in found.each] == [
        (number, one.name, number / 8) for number, one in enumerate(STAGES)
    ]
    turned = verdict(*enumerate(EQUAL[:3]), (3, EQUAL[4]), (4, EQUAL[3]))
    assert (turned.error, turned.each) == (4 / 8, ()), "the largest of both halves"
    assert verdict((0, EQUAL[0]), (3, EQUAL[3]), (4, EQUAL[4])).state == "equal", "halves stand for the joint graph"


@pytest.mark.parametrize(("verdicts", "more", "said"), [
    ([(0, EQUAL[0]), (3, EQUAL[0])], {}, "the last graph was not executed; the last dump that was, after f, is equal"),
    ([*enumerate(EQUAL[:4]), (4, Verdict("not checked", reason="why"))], {},
     "why; the last dump that was, after f, is equal"),
    ([*enumerate(EQUAL[:4]), (4, Verdict("not checked"))], {"unbuilt": "no g++"},
     "the code was not built: no g++; the last dump that was, after f, is equal"),
    ([*enumerate(EQUAL)], {"target": "inductor_python", "arch": "sm_90"},
     "the code is not executed: --check runs on the CPU; the last dump that was, after b, is equal"),
    ([*enumerate(EQUAL)], {"target": "inductor_loop_ir"},
     "loop IR is not executed; the last dump that was, after b, is equal"),
    ([*enumerate(EQUAL)], {"stopped": Stopped("it stopped", "post_grad", None)},
     "torch.compile failed as it compiled it once more, to execute it: it stopped"),
    ([(0, EQUAL[0]), *((number, Verdict("not checked", reason="random")) for number in range(1, 5))],
     {"target": "inductor_loop_ir"}, "random; the last dump that was, after dynamo, is equal"),
    ([], {}, "nothing of it could be executed"),
])  # fmt: skip
def test_what_is_not_executed_is_not_checked(verdicts, more, said):
    found = verdict(*verdicts, **more)
    assert (found.state, found.reason) == ("not checked", said)


def test_the_first_wrong_dump_is_named_with_what_was_not_executed_before_it():
    wrong = Verdict("differs", reason="wrong")
    found = verdict((0, EQUAL[0]), (2, wrong), (3, wrong))
    assert (found.state, found.dump, found.index) == ("differs", "same", 2)
    assert found.reason == "wrong; it was equal after dynamo, and 1 dump between were not executed"
    assert verdict((0, EQUAL[0]), (1, Verdict("not checked")), (2, wrong)).reason == found.reason
    assert verdict((0, EQUAL[0]), (1, wrong)).reason == "wrong"
    assert verdict((0, EQUAL[0]), (4, wrong)).reason == "wrong", "what is before it is of other halves"
