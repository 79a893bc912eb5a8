"""What is said of a compilation, as text and data: made of what was captured, nothing is compiled."""

import re
import types

import numpy
import pytest
import sympy
import torch

from irwidget.inductor import breaks, guards, traffic
from irwidget.inductor.data import (
    Alive,
    Break,
    CapturedCompilation,
    FusionRejection,
    Guard,
    InductorOp,
    MemoryEstimate,
    Moment,
    Recompilation,
    Rewrite,
)
from irwidget.inductor.report import report
from irwidget.inductor.why import Compilation, same_kernel
from irwidget.trace import Location

CELL = "/home/ada/cell.py"


def at(line, name=""):
    return Location(CELL, line, name=name)


def op(name, kernel, kind="loops", group="", graph=0, direction="", targets=("aten.sin",), places=(), **more):
    more = {"reads": {}, "writes": {}, **more}
    return InductorOp(name, kernel, kind, group or name, graph, direction, (), targets, places, **more)


OPS = (
    op("op0", "triton_a", group="op0_op1", places=(at(2), at(3)), reads={"arg0": 64}, writes={"buf0": 64},
       inside=frozenset({"buf0"})),
    op("op1", "triton_a", group="op0_op1", targets=("aten.cos", "aten.add"), reads={"buf0": 64}, writes={"buf1": 32}),
    op("op2", "extern_kernels.mm", "extern", targets=("aten.mm",), places=(at(4), at(5, "layers.0")),
       reads={"buf1": -1}, writes={"buf2": 8}),
    op("op3", "aten.sort.default", "fallback", targets=("aten.sort",), places=(at(6),)),
    op("op4", "MultiOutput", "extern", targets=("aten.sort",)),
    op("op5", "", "none", targets=("aten.view",)),
    op("op0", "triton_a", group="op0_op1", graph=1, direction="backward", places=(at(9),)),
    op("op1", "triton_a", group="op0_op1", graph=1, direction="backward", places=(at(10),)),
    op("op2", "triton_c", graph=1, direction="backward", places=(at(11),)),
)  # fmt: skip


def rejected(first, second, reason="no shared data", graph=0, direction=""):
    return FusionRejection(first, second, reason, 0, graph, direction)


REJECTED = (
    rejected(("op0", "op1"), ("op2",)),
    rejected(("op1",), ("op2",)),
    rejected(("op1",), ("op2",), "exceeds max fusion"),
    rejected(("op0",), ("op1",)),
    rejected(("gone",), ("op2",)),
    rejected(("op2",), ("gone", "op1")),
    rejected(("op0",), ("op2",), "tiling mismatch", graph=1, direction="backward"),
)
MEMORY = (
    MemoryEstimate(0, "", 64, (Moment("triton_a", 64), Moment("mm", 33), Moment("out", 0)),
                   (Alive("buf0", 64, "op0", at(3)), Alive("arg0", 8, "", None)), (Moment("sin", 96), Moment("x", 1))),
    MemoryEstimate(1, "backward", -1, (Moment("none", 0),)),
)  # fmt: skip
CAPTURED = CapturedCompilation(
    (), (), OPS, REJECTED,
    breaks=(Break("called\n print \nDeveloper debug context: x", at(7), "leave it out"), Break("left", None)),
    guards=(Guard("a == 1", at(1), "a is 1", "pass a tensor"), Guard("torch", None), Guard("b", at(2))),
    recompilations=(Recompilation("f", at(1), "size", "it grew", "dynamic=True"), Recompilation("g", None, "other")),
    rewrites=(Rewrite("fold", "post_grad", ("a", "b"), (), ("a",), at(8), 0, ""),),
    memory=MEMORY,
)  # fmt: skip
REPORT = """\
 - schedule:
 3   0 triton_a: loops, reads 64 bytes, writes 32 bytes
 3       op0 (line 3): aten.sin
 -       op1: aten.cos, aten.add
 5   1 extern_kernels.mm: extern, reads an unknown number of bytes, writes 8 bytes
 5       op2 (line 5, layers.0): aten.mm
 6   2 aten.sort.default: fallback, reads 0 bytes, writes 0 bytes
 6       op3 (line 6): aten.sort
 -   3 MultiOutput: extern, reads 0 bytes, writes 0 bytes
 -       op4: aten.sort
 -   4 no code: none, reads 0 bytes, writes 0 bytes
 -       op5: aten.view
10   5 [backward] triton_a: loops, reads 0 bytes, writes 0 bytes
 9       op0 (line 9): aten.sin
10       op1 (line 10): aten.sin
11   6 [backward] triton_c: loops, reads 0 bytes, writes 0 bytes
11       op2 (line 11): aten.sin
 - not fused, and why (4):
 5   triton_a | extern_kernels.mm: no shared data
 5   triton_a | extern_kernels.mm: exceeds max fusion
 -   extern_kernels.mm | triton_a: no shared data
11   triton_a | triton_c: tiling mismatch
 - called, not generated (2):
 5   op2 (line 5, layers.0) calls extern_kernels.mm: a library does it; to change it: max_autotune=True makes \
a Triton template of it, into which what surrounds it can be fused
 6   op3 (line 6) calls aten.sort.default: Inductor has no loops for it; to change it: write it with \
operations that Inductor lowers, or register a lowering or decomposition for it
 - rewritten by a pattern (1):
 8   the pattern fold (post-grad passes) made of a; b: nothing
 - graph breaks (2):
 7   called print
 7     to change it: leave it out
 -   left
 - compiled again (2):
 1   f: it grew
 1     to change it: dynamic=True
 -   g: other
 - guards (1 of what is given, 2 others):
 1   a is 1; to change it: pass a tensor
 -   torch
 2   b
 - peak memory of graph 0, as Inductor estimates: 64 bytes
 -     0 ##############################           64 bytes  triton_a
 -     1 ###############                          33 bytes  mm
 -     2                                           0 bytes  out
 -   alive at the peak:
 3     buf0: 64 bytes, of op0
 -     arg0: 8 bytes, an input
 -   one operation after the other, as eager PyTorch: 96 bytes
 - peak memory of graph 1, backward, as Inductor estimates: an unknown number of bytes
 -     0                                           0 bytes  none
 -   alive at the peak:"""


def test_all_of_the_report_with_its_lines():
    lines = [f"{line.line if line else '-':>2} {text}" for text, line in report(Compilation(CAPTURED))]
    assert "\n".join(lines) == REPORT


def test_a_pattern_of_a_branch_is_not_said_of_another_on_the_same_line():
    ops = [op(f"{branch}_op0", "", places=(at(2),), subgraph=branch) for branch in ("true", "false")]
    one = Rewrite("fold", "post_grad", ("a",), ("b",), (), at(2), 0, "", "true")
    asked = Compilation(CapturedCompilation((), (), tuple(ops), rewrites=(one,)))
    assert [asked.rewrites([each]) for each in ops] == [(one,), ()]


@pytest.mark.parametrize(("other", "same"), [
    (op("op9", "", group="op0_op1"), True),
    (op("op9", "", "template", group="op0_op1"), True),
    (op("op9", "", group="op0_op1", graph=1), False),
    (op("op9", "", group="op0_op1", direction="backward"), False),
    (op("op9", "", group="op9"), False),
    (op("op9", "", "extern", group="op0_op1"), False),
    (op("op0", "", "extern", group="op9"), True),
    (op("op0", "", "extern", graph=1), False),
    (op("op0", "", "none", direction="backward"), False),
])  # fmt: skip
def test_what_is_one_kernel(other, same):
    one = op("op0", "", group="op0_op1")
    assert (same_kernel(one, other), same_kernel(other, one)) == (same, same)


KEPT = "give it the same each time: it is compiled once for each"
GLOBAL = "pass it as an argument, or as a tensor: a global is compiled in also with dynamic=True"
SHAPE = "tensor 'x' size mismatch at index 1. expected 16, actual 24"
FRAME = f"  # return x + y  # {CELL}:12 in f (HINT: none)"


@pytest.mark.parametrize(("said", "meant"), [
    ("check_tensor(L['x'], Tensor, DispatchKeySet(CPU), torch.float32, device=None, size=[16, 2], stride=[1])",
     ("x is a torch.float32 of size [16, 2]",
      "dynamic=True, or torch._dynamo.mark_dynamic of the dimension that changes")),
    (SHAPE, ("dimension 1 of x was 16 and is 24",
             "dynamic=True, or torch._dynamo.mark_dynamic(x, 1) before the first call")),
    ("tensor 'L['self']._buffers['a']' dtype mismatch. expected Float",
     ("self.a: dtype mismatch. expected Float", "call it with tensors of one kind")),
    ("L['x'].size()[0] < 3", ("x.size()[0] < 3", "mark_dynamic without bounds, or drop the comparison of sizes")),
    ("len(L['xs']) == 2", ("xs has 2 elements", "give it as one stacked tensor, or with the same length each time")),
    ("___check_type_id(L['x'], 7)", ("the type of x", "call it with objects of one class")),
    ("tensor 'x' stride\nmismatch. expected 1",
     ("x: stride\nmismatch. expected 1", "call it with tensors of one kind")),
    ("tensor 'x' stride mismatch at index 0. expected 6, actual 1",
     ("x: stride mismatch at index 0. expected 6, actual 1",
      "lay it out in memory the same way each time, as x.contiguous() does")),
    ("check_tensor(G['w'], Tensor, K, torch.float16, device=None, size=[2], stride=[1])",
     ("w is a torch.float16 of size [2]", "dynamic=True, or torch._dynamo.mark_dynamic of the dimension that changes")),
    ("___check_obj_id(L['self']._modules['norm'], 7)",
     ("self.norm is this very object", "make it once and keep it, not anew for each call")),
    ("L['n'] == 3", ("n is 3: a value of Python's is compiled in", "dynamic=True, or pass a tensor")),
    ("L['k'].r == 2.5e-05", ("k.r is 2.5e-05: a value of Python's is compiled in", "dynamic=True, or pass a tensor")),
    ("t[1] == 2", ("t[1] is 2: a value of Python's is compiled in", "dynamic=True, or pass a tensor")),
    ("G['n'] == 'a'", ("n is 'a': a value of Python's is compiled in", GLOBAL)),
    ("G['__builtins_dict___0'] == 1", ("", "")),
    ("L['k'] is None", ("k is None", "give it each time, or never")),
    ("L['k'] is not None", ("k is not None", "give it each time, or never")),
    ("L['x'] is L['y']", ("x and y are one object", "give two tensors, or one and the same, each time")),
    ('Duplicate tensors found: ["x", "y"]', ('"x", "y" are different tensors', "give no tensor twice, or copies")),
    ("check_no_aliasing(L['x'], L['y'])", ("x, y are different tensors", "give no tensor twice, or copies")),
    ("list(dict.keys(L['d']))[1] == 'a'", ("key 1 of d is 'a'", "give it the same keys in the same order each time")),
    ("len(d) != 1", ("d has 1 elements", "give it as one stacked tensor, or with the same length each time")),
    ("not set.__contains__(L['s'], 3)", ("whether 3 is in s", KEPT)),
    ("___check_obj_id(f, ...), type=<class 'function'>",
     ("f is this very object", "make it once and keep it, not anew for each call")),
    ("___check_obj_id(G['f'], ...), type=<class 'function'>", ("", "")),
    ("___check_type_id(L['s'].__dict__['_modules'], ...), type=<class 'dict'>", ("", "")),
    ("___check_type_id(L['s'].__dict__['_modules']['l'], ...), type=<class 'dict'>",
     ("the type of s.l", "call it with objects of one class")),
    ("hasattr(L['x'], '_dynamo_dynamic_indices') == False", ("", "")),
    ("utils_device.CURRENT_DEVICE == None", ("", "")),
    ("tensor '___from_numpy(x)' size mismatch at index 0. expected 4, actual 5",
     ("dimension 0 of x was 4 and is 5", "dynamic=True")),
    ("expected type of 'x' to be a tensor type, ' but found <class 'torch.nn.parameter.Parameter'>",
     ("x is a torch.nn.parameter.Parameter, and was of another class", "call it with tensors of one class")),
    ("x.size()[1] == x.size()[0]  # duck sizing added this equality because",
     ("x.size()[1] == x.size()[0]: sizes that were equal are taken for one",
      "torch._dynamo.mark_dynamic of each of the dimensions before the first call, or "
      "torch.fx.experimental._config.use_duck_shape=False")),
    ("2 <= L['x'].size()[0]", ("dimension 0 of x is 2 or more: sizes of 0 and 1 are compiled for themselves",
                               "torch._dynamo.decorators.mark_unbacked(x, 0) before the first call")),
    ("2 <= L['s'].stop <= 4", ("2 <= s.stop <= 4", "mark_dynamic without bounds, or drop the comparison of sizes")),
    ("L['self']._modules['a'].training == True", ("self.a.training is True",
                                                  "compile once for train() and once for eval()")),
    ("L['self'].trained == True", ("self.trained is True: a value of Python's is compiled in",
                                   KEPT)),
    ("torch.is_grad_enabled() == 1", ("the grad mode, autocast and other global settings",
                                      "call it under the same settings each time")),
    ("something else", ("", "")),
])  # fmt: skip
def test_guards_in_words(said, meant):
    assert guards.meant(said) == meant


@pytest.mark.parametrize(("text", "said", "place"), [
    (f"L['x'] == 3{FRAME}", "L['x'] == 3", at(12)),
    (f"a (HINT: try\nthat)  # {CELL}:3 in f", "a", at(3)),
    ("a (HINT: try\nthat) ", "a", None),
    (f"id 0x7f00 and 123456789012, not 12345678901  # {CELL}:3 in f", "id ... and ..., not 12345678901", at(3)),
    ("a  # torch/_dynamo/utils.py:3 in f", "a", None),
    ("a # of no line", "a # of no line", None),
])  # fmt: skip
def test_what_a_guard_says_and_where_it_is_from(text, said, place):
    assert guards.split(text) == (said, place)


class Held:
    """A manager of guards as Dynamo makes them: of what is given, of parts, of a dict's keys and values."""

    def __init__(self, *texts, parts=(), last=()):
        self.texts, self.parts, self.last = texts, parts, last

    def get_leaf_guards(self):
        return [types.SimpleNamespace(verbose_code_parts=lambda: self.texts)]

    def get_child_managers(self):
        return self.parts

    def get_epilogue_lambda_guards(self):
        return [types.SimpleNamespace(verbose_code_parts=lambda: self.last)]


class HeldDict(Held):
    def get_key_value_managers(self):
        return {0: (Held("L['key'] == 1"), None), 1: (None, Held("L['value'] == 2"))}


def test_the_guards_of_all_parts_each_once(monkeypatch):
    root = Held("L['x'] == 1", "odd", parts=[HeldDict("L['x'] == 1", last=("in a part",))], last=("at last",))
    entry = types.SimpleNamespace(guard_manager=types.SimpleNamespace(root=root))
    monkeypatch.setattr(guards.private, "get", lambda name: {"cache_entries": lambda code: [entry] * code}[name])
    held = guards.Guards().held([2, 1, 2])
    texts = ["L['x'] == 1", "odd", "L['key'] == 1", "L['value'] == 2", "in a part", "at last"]
    assert held == tuple(Guard(text, None, *guards.meant(text)) for text in texts)


def test_what_is_compiled_again_each_once():
    def f(x, y):
        return x

    seen = guards.Guards()
    reasons = [[f"0/0: {SHAPE}", f"12/3: L['y'] == 2{FRAME}"], [f"0/1: {SHAPE}"], ["0/0: odd"]]
    asked = seen._asked(lambda entries, frame, at: reasons[at])
    for number, locals_ in enumerate(
        [{"x": torch.ones(24, 3), "y": 2}, {"x": torch.ones(24), "y": 16}, {"x": [torch.ones(2, 16)]}]
    ):
        frame = types.SimpleNamespace(f_code=f.__code__, f_locals=locals_)
        assert asked(None, frame, number) == reasons[number]
    here = Location(f.__code__.co_filename, f.__code__.co_firstlineno)
    cause, cure = guards.meant(SHAPE)
    assert seen.recompilations() == (
        Recompilation("f", here, SHAPE, cause, cure),
        Recompilation("f", at(12), "L['y'] == 2", *guards.meant("L['y'] == 2")),
        Recompilation("f", here, "odd"),
    )
    seen._asked(lambda *_: [SHAPE])(None, types.SimpleNamespace(f_code=f.__code__, f_locals={"x": [torch.ones(2, 16)]}))
    assert seen.recompilations()[-1].cure == (
        "torch._dynamo.mark_dynamic(x, 1) before the first call; dynamic=True alone first takes sizes that are equal "
        "for one, and 16 is the size of another dimension too"
    )


def test_of_what_it_was_compiled_for_before_only_what_differs_is_said():
    """A third size is compiled again once: neither the first nor the second holds."""

    def f(x):
        return x

    size = "tensor 'x' size mismatch at index 0. expected {}, actual 6"
    dtype = "tensor 'x' dtype mismatch. expected Float, actual Half"
    frame = types.SimpleNamespace(f_code=f.__code__, f_locals={"x": torch.ones(6)})
    seen = guards.Guards()
    reasons = [f"0/2: {size.format(5)}", f"0/1: {dtype}", f"0/0: {size.format(4)}"]
    compiling = seen._compiling(lambda: seen._asked(lambda *_: reasons)(None, frame))
    compiling()
    assert [one.cause for one in seen.recompilations()] == [guards.meant(size.format(5))[0], guards.meant(dtype)[0]]

    def refused():
        compiling()
        raise ValueError("too many")

    with pytest.raises(ValueError, match="too many"):
        guards.Guards._compiling(seen, refused)()
    assert len(seen.recompilations()) == 2


def test_a_whole_number_of_a_module_has_the_cure_that_dynamo_names():
    hint = " (HINT: torch.compile considers integer attributes of the nn.Module to be static. ...)"
    assert guards._guard(f"L['s'].n == 2{hint}").cure == guards._MODULE_INTEGER
    assert guards._guard("L['s'].n == 2").cure == "dynamic=True, or pass a tensor"


REASON = """Called it
  Explanation: it is
  told here.
  Hint: Leave it out.
  Hint: It may be possible to write Dynamo tracing rules for this code.

  Developer debug context: in
     graph():

 For more details about this graph break, please visit: https://x

*** While handling this graph break, another graph break occurred: ***

graph break in loop
  Hint: Leave it out.
  Hint: Unroll it.

  Developer debug context: frame
  All of f is left to eager PyTorch."""


def test_a_break_says_its_cause_on_one_line_and_only_hints_that_are_of_the_program():
    frames = [types.SimpleNamespace(filename=CELL, lineno=3), types.SimpleNamespace(filename=torch.__file__, lineno=9)]
    found = breaks.broken(REASON, frames)
    assert found == Break(REASON, at(3), "Leave it out. or: Unroll it.")
    assert found.cause == (
        "Called it Explanation: it is told here. *** While handling this graph break, another graph break occurred: "
        "*** graph break in loop All of f is left to eager PyTorch."
    )
    assert breaks.broken("x\n Hint: This graph break is fundamental - so", None).cure == breaks.OUTSIDE


def test_what_else_makes_one_kernel_is_said_of_kernels_that_do_not_wait_for_one_another():
    def made(name, after=(), group="", loops=("8",), device="cuda", **more):
        return op(name, "k", group=group or name, writes={f"b{name}": 8}, after=frozenset(after), loops=loops,
                  device=device, **more)  # fmt: skip

    ops = (made("a"), made("changes a", {"ba"}), made("reads it", {"bchanges a"}), made("c"), made("d", loops=("4",)),
           made("e", device="cpu"), made("f", group="f_g"), made("g", reduced=("8",), group="f_g"),
           made("h", reduced=("64", "32")), made("i", reduced=("64", "33")))  # fmt: skip
    pairs = [("a", "c"), ("a", "d"), ("a", "e"), ("a", "f"), ("f", "h"), ("h", "i"), ("c", "changes a"),
             ("reads it", "c")]  # fmt: skip
    refusals = tuple(rejected((one,), (other,)) for one, other in pairs)
    answers = [
        Compilation(CapturedCompilation((), ops=ops, fusion_rejections=refusals[:n])) for n in (0, len(refusals))
    ]
    for answer in answers:
        found = [
            "".join(re.findall("aggressive|combo(?=_kernels)", "".join(answer.why(*pair).cures))) for pair in pairs
        ]
        assert found == ["aggressivecombo", "combo", "", "", "combo", "", "aggressive", "aggressive"]
    waits = answers[0].why("a", "reads it")
    assert (waits.answer, "one waits for changes a, and that for the other" in waits.text) == ("not compared", True)
    assert "aggressive" not in answers[0].why("a", "changes a").text


class Refusal(Exception):
    def __init__(self, msg, *frames):
        self.msg = msg
        self.real_stack = [types.SimpleNamespace(filename=file, lineno=line) for file, line in frames]


def test_breaks_are_said_once_by_the_users_line_and_with_what_they_leave(monkeypatch):
    call, library = "Call\n  Hint: Remove the `torch._dynamo.graph_break()` call.", (torch.__file__, 9)
    reasons = [
        types.SimpleNamespace(reason="step_unsupported", user_stack=Refusal("", (CELL, 2)).real_stack),
        types.SimpleNamespace(reason=call, user_stack=Refusal("", (CELL, 7)).real_stack),
        types.SimpleNamespace(reason=call, user_stack=Refusal("", (CELL, 8), library).real_stack),
    ]
    monkeypatch.setattr(breaks.private, "get", lambda name: {"graph_breaks": reasons}[name])
    seen = breaks.Breaks()
    seen._said = {0: Refusal("Item", (CELL, 3)), 1: Refusal("of another")}
    rest = compile("1", CELL, "exec").replace(co_name="torch_dynamo_resume_in_f_at_3", co_firstlineno=5)
    seen._left = [
        (rest, Refusal("Item\n  Explanation: long", (CELL, 3))),
        (rest, Refusal("Call", library)),
        (rest, Refusal("Functorch")),
    ]
    rest = "All of f after line 3 is left to eager PyTorch."
    assert [(one.cause, one.place.line, one.cure) for one in seen.found()] == [
        (f"Item Explanation: long Of this function no more is compiled. {rest}", 3, breaks.OUTSIDE),
        ("Call", 7, "Remove the `torch._dynamo.graph_break()` call."),
        ("Call", 8, breaks.OUTSIDE),
        (f"Functorch {rest}", 5, breaks.OUTSIDE),
    ]


def test_an_index_is_computed_from_its_expression_and_not_from_text():
    from torch.utils._sympy import functions

    x, y = sympy.symbols("x y", integer=True)
    numbers = numpy.arange(24)
    for index, expected in (
        (3 * functions.FloorDiv(x, 2) - y**2 - 5, 3 * (numbers // 2) - 14),
        (functions.ModularIndexing(7 * x, 3, 5), 7 * numbers // 3 % 5),
        (functions.Mod(x + 1, 4) + functions.Identity(x), (numbers + 1) % 4 + numbers),
        (functions.Min(x, 7) * functions.Max(y, 2), numpy.minimum(numbers, 7) * 3),
        (sympy.Integer(4), 4),
    ):
        assert numpy.array_equal(traffic.value_of(index, {"x": numbers, "y": 3}), expected)
    for unknown in (sympy.sin(x), x + sympy.Symbol("z")):
        with pytest.raises(KeyError):
            traffic.value_of(unknown, {"x": 1})


def test_of_a_kernels_buffers_those_are_counted_together_that_several_operations_access(monkeypatch):
    monkeypatch.setattr(traffic, "touched", dict)
    parts = [{"arg0": [1], "buf0": [2, 3]}, {"buf0": [4], "buf1": [5]}, {"buf1": [6], "arg1": [7]}]
    assert traffic.together(parts) == {"buf0": [2, 3, 4], "buf1": [5, 6]}
