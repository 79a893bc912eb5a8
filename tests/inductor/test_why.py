"""Why two things are not one kernel; an answer is true when changing what it names changes the outcome."""

import math
import re

import pytest
import torch

import irwidget
from irwidget.errors import UsageError
from tests.inductor import programs

X, W = torch.randn(64, 64), torch.randn(64, 64)


def kernels(low):
    return {op.kernel for op in low.results["compilation"].captured.ops if op.kind == "loops"}


@pytest.fixture(scope="module")
def low():
    return irwidget.lower(programs.attended, X, W, to="inductor_triton")


def test_two_lines_in_one_kernel(low):
    answer = low.why("relu", "softmax")
    assert (answer.answer, answer.reasons) == ("fused", ())


def test_one_or_two_things_are_asked_for(low):
    for asked in ((), ("op0", "op1", "op2")):
        with pytest.raises(irwidget.UsageError, match="takes one or two of: a kernel's name"):
            low.why(*asked)


def test_a_call_is_not_fused_and_says_what_would_change_it(low):
    answer = low.why("x @ w", "relu")
    assert answer.answer == "not fused"
    assert "extern_kernels.mm" in str(answer)
    assert "max_autotune" in str(answer)
    assert low.why("x @ w").answer == "called"


def agreed(x, w):
    y = torch.relu(x)
    return (y @ w).half().float().cos().sum(0)


def denied(x, w):
    y = w.cos().sum(1)
    return x.sum(0) - y


def chosen(x, w):
    y = x.double().float().sin()
    z = torch.cond(x.sum() > 0, agreed, denied, (y, w))
    return torch.relu(z), (torch.relu(w) @ x).tan()


@pytest.fixture(scope="module")
def branched():
    return irwidget.lower(chosen, X, W, to="inductor_loop_ir", arch="sm_90")


def test_a_call_that_is_none_of_a_library_says_what_it_is(branched):
    assert str(branched.why("op3")).split("\n")[0] == (
        f"op3 (line {programs.line(chosen, 'torch.cond')}) calls Conditional: it runs true_graph_0, false_graph_0, "
        "compiled by themselves; to change it: compute outside of it what is to be one kernel with what is outside"
    )
    assert "calls MultiOutput: it takes one result of the call before it, and computes nothing; " in str(
        branched.why("op4")
    )


def test_what_is_in_branches_follows_their_call_with_its_own_lines_and_bytes(branched):
    ops = branched.results["compilation"].captured.ops
    kernels = {op.kernel: None for op in ops if op.kind == "loops"}
    first, repeated, summed, denial, last, tangent = kernels
    inside = [(op.name, op.kernel, op.places[-1].line, sum(op.reads.values())) for op in ops if op.subgraph]
    mm, cosines, difference = (programs.line(agreed, "y @ w"), programs.line(agreed, "cos"), programs.line(denied, "-"))
    assert inside == [
        ("true_graph_0_op0", repeated, programs.line(agreed, "relu"), 64 * 64 * 4),
        ("true_graph_0_op1", "extern_kernels.mm", mm, 2 * 64 * 64 * 4),
        ("true_graph_0_op2", summed, cosines, 64 * 64 * 4),
        ("false_graph_0_op0", denial, difference, 64 * 64 * 4),
        ("false_graph_0_op1", denial, programs.line(denied, "cos"), 64 * 64 * 4),
        ("false_graph_0_op2", denial, difference, 2 * 64 * 4),
    ]
    launches = branched.results["compilation"].schedule()
    assert [(one.kernel, one.subgraph) for one in launches] == [
        (first, ""), ("Conditional", ""), (repeated, "true_graph_0"), ("extern_kernels.mm", "true_graph_0"),
        (summed, "true_graph_0"), (denial, "false_graph_0"), ("MultiOutput", ""), (last, ""),
        (repeated, ""), ("extern_kernels.mm", ""), (tangent, ""),
    ]  # fmt: skip
    (report,) = [dump.text for dump in branched.dumps if dump.name == "why"]
    assert f"  2 [true_graph_0] {repeated}: loops, reads 16384 bytes, writes 16384 bytes\n" in report
    assert "  without the memory inside of true_graph_0, false_graph_0\n" in report


def test_why_what_is_in_a_branch_is_no_kernel_with_what_is_outside(branched):
    answer = branched.why("true_graph_0_op0", "op6")
    assert (answer.answer, answer.reasons) == (
        "not fused", ("one is in true_graph_0, the other outside: each of these graphs is scheduled by itself",),
    )  # fmt: skip
    assert branched.why("true_graph_0", "false_graph_0").reasons[0].startswith("one is in true_graph_0, the other in f")
    assert branched.why("false_graph_0_op0", "false_graph_0_op2").answer == "fused"
    assert branched.why("true_graph_0_op0", "true_graph_0_op2").answer == "not compared"


def test_one_operation_asked_for_twice_is_not_fused_with_itself():
    low = irwidget.lower(lambda x: torch.cond(x.sum() > 0, lambda x: x.relu().softmax(0), lambda x: x.exp(), (x,)), X,
                         to="inductor_cpp")  # fmt: skip
    apart, one = low.why("true_graph_0", "true_graph_0_op0"), low.why("true_graph_0_op0")
    assert (apart.text, len(apart.first), apart.second) == (one.text, len(low.why("true_graph_0").first), one.first)
    assert one.text.startswith("true_graph_0_op0 (line ")
    assert one.text.endswith(", in loops of its own")


def test_a_pattern_is_not_said_of_a_node_with_that_name_in_another_graph(branched):
    inside, outside = (str(branched.why(one)) for one in ("true_graph_0_op2", "op2"))
    assert ("f16[64, 64]" in inside, "f64[64, 64]" in inside) == (True, False)
    assert ("f16[64, 64]" in outside, "f64[64, 64]" in outside) == (False, True)
    assert "made of" not in str(branched.why("false_graph_0"))


def test_loops_of_branches_are_dumps_of_their_own(branched):
    scopes = [str(dump.scope) for dump in branched.dumps if dump.name == "schedule"]
    assert scopes == ["module", "true_graph_0", "false_graph_0"]
    last = branched.dumps[-1]
    titles = [line for line in last.text.split("\n") if line.startswith("//")]
    assert titles == ["// graph 0", "// graph 0, true_graph_0", "// graph 0, false_graph_0"]
    lines = zip(last.text.split("\n"), last.locations, strict=False)
    bodies = {line.split("(")[0].strip(): place.line for line, place in lines if "_loop_body" in line and place}
    assert bodies["class false_graph_0_op1_loop_body:"] == programs.line(denied, "cos")
    assert bodies["class true_graph_0_op0_loop_body:"] == programs.line(agreed, "relu")


def test_the_view_has_the_text_and_the_graph_of_what_is_in_branches(branched):
    from irwidget.views import schedule

    (drawn,) = schedule._drawn([branched])
    made, called = (branched.trace.facts[f"kernels {what}"] for what in ("generated", "called"))
    assert f"{made + 1} generated, {called} called" in schedule.title(drawn), "the one of a branch runs outside, too"
    conditional, _, mm = drawn["launches"][1:4]
    assert [line.split(" = ")[1] for line in conditional["text"].split("\n")] == [
        "true_graph_0(true_graph_0_args)", "false_graph_0(false_graph_0_args)",
    ]  # fmt: skip
    assert (mm["subgraph"], mm["lines"]) == ("true_graph_0", [programs.line(agreed, "y @ w")])
    assert "extern_kernels.mm [true_graph_0]" in schedule.text(drawn)


def test_the_counter_of_a_loop_has_the_line_of_the_loop():
    def summed(x):
        return torch._higher_order_ops.scan(lambda carry, row: (carry + row, carry.sin()), x[0], x)

    low = irwidget.lower(summed, X, to="inductor_loop_ir", fullgraph=True)
    inside = [op for op in low.results["compilation"].captured.ops if op.subgraph]
    assert [op.subgraph for op in inside if "aten.lt.Scalar" in op.targets] == ["while_loop_cond_graph_0_0"]
    assert {op.places[-1].line for op in inside} == {programs.line(summed, "scan")}


def test_bytes_that_are_not_known_or_not_read_are_not_said():
    def found(x, w):
        y = x * w
        x.add_(1)
        return y @ y, x.nonzero() * 2

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        low = irwidget.lower(found, X.clone(), W, to="inductor_loop_ir")
    ops = low.results["compilation"].captured.ops
    sizes = [(*op.reads.values(), *op.writes.values()) for op in ops if op.kind == "loops"]
    whole = 64 * 64 * 4
    assert sizes == [(whole,) * 3, (whole,) * 2, (whole,) * 2, (0, -1, -1)]


def partly(x, image, table, rows, filled):
    """One kernel each, and one of two operations that read different halves."""
    filled[:, :4].fill_(1)
    return (
        x[:, :16].sum(1, keepdim=True) + x[:, 16:],
        x[:, 4:8] + x[:, 2:6],
        x[1:] - x[:-1],
        torch.nn.functional.max_pool2d(image, 3, 2),
        table[rows] * 2,
        rows.unfold(0, 4, 1).sum(1),
    )


def test_each_byte_of_a_buffer_is_counted_once():
    inputs = torch.randn(16, 32), torch.randn(1, 2, 9, 9), torch.randn(99, 2), torch.arange(7), torch.randn(3, 8)
    low = irwidget.lower(partly, *inputs, to="inductor_loop_ir", arch="sm_90")
    launches = low.results["compilation"].schedule()
    found = sorted((one.reads, one.writes, len(one.ops)) for one in launches)
    assert found == [
        (0, 48, 1),
        (56, 32, 1),
        (112, 56, 1),
        (384, 256, 1),
        (648, 128, 1),
        (2048, 1024, 2),
        (2048, 1920, 1),
    ]


INDEX = torch.tensor([[0] * 64, [2] * 64])


def scattered(how):
    return lambda x, w: (x.scatter_reduce(0, INDEX, w, how) + 1,)


@pytest.mark.parametrize(("options", "other"), [
    ({"arch": "sm_90"}, {"arch": "sm_90"}),
    ({"patches": "cpp.dynamic_threads=True"}, {"patches": "cpp.fallback_scatter_reduce_sum=False"}),
])  # fmt: skip
def test_a_scatter_that_is_called_becomes_loops_by_what_its_answer_says(options, other):
    before = irwidget.lower(scattered("amax"), X, W, to="inductor_loop_ir", **options)
    answer = before.why("aten.scatter_reduce_.two")
    assert (answer.answer, answer.cures) == ("called", (
        "reduce floats by 'sum', on the CPU with cpp.fallback_scatter_reduce_sum=False: of these there are loops",
    ))  # fmt: skip
    after = irwidget.lower(scattered("sum"), X, W, to="inductor_loop_ir", **other)
    assert {op.kind for op in after.results["compilation"].captured.ops} == {"loops"}


def test_a_piece_of_a_line_means_what_it_calls(low):
    ops = low.results["compilation"].find("softmax")
    assert ops
    assert all(any("softmax" in target for target in op.targets) for op in ops)
    assert {op.kind for op in low.results["compilation"].find("x @ w")} == {"extern"}


def test_a_reason_that_is_taken_away_is_no_longer_there():
    apart = irwidget.lower(programs.attended, X, W, to="inductor_triton", patches={"max_fusion_size": 1})
    answer = apart.why("op1", "op2")
    assert answer.answer == "not fused"
    assert "exceeds max fusion" in answer.reasons
    assert answer.cures == ("raise max_fusion_size",)
    together = irwidget.lower(programs.attended, X, W, to="inductor_triton", patches="max_fusion_size=64")
    assert together.why("op1", "op2").answer == "fused"


def several(x, w):
    total = x.sin().sum() - 1
    joined = torch.cat([x.cos(), w.exp()], 1) * 2
    z = x.sigmoid() @ w
    return total, joined, z.relu(), w[0].tan(), x.cumsum(0), (x + 1j).abs()


@pytest.fixture(scope="module")
def apart():
    """What a program's operations are called on a CPU, by what they compute, and the lowering."""
    low = irwidget.lower(several, X, W, to="inductor_loop_ir", patches={"cpp.max_horizontal_fusion_size": 1})
    ops = low.results["compilation"].captured.ops
    return lambda *names: low.why(*(next(op.name for op in ops if f"aten.{one}" in op.targets and op.kind != "none")
                                    for one in names))  # fmt: skip


@pytest.mark.parametrize(("names", "answer", "said", "cure"), [
    (("sum.default", "sub.Tensor"), "not fused",
     "the second waits for the whole reduction: loops of one element over 4096, and one element",
     "keep an outer dimension that both have, whose loops are joined"),
    (("sin.default", "cos.default"), "not fused", "exceeds cpp.max_horizontal_fusion_size: 2 operations together",
     "raise cpp.max_horizontal_fusion_size"),
    (("cos.default", "mul.Tensor"), "not compared", "one writes a part of buf", "force_pointwise_cat=True has"),
    (("sigmoid.default", "relu.default"), "not compared", ", and that for the other",
     "compute one of them without what lies between"),
    (("cos.default", "exp.default"), "not compared", "the scheduler looks at pairs that share a buffer",
     "have them read or write a common tensor, or aggressive_fusion=True with score_fusion_memory_threshold=0"),
    (("relu.default", "tan.default"), "not compared", "the scheduler looks at pairs that share a buffer",
     "have them read or write a common tensor"),
    (("mm.default",), "called", "a library does it", "freezing=True and max_autotune=True, without gradients"),
    (("cumsum.default",), "called", "Inductor has loops for it, but not for what it is given here", "write it with"),
    (("abs.default",), "called", "Inductor has no loops of complex numbers", "compute with the real and imaginary"),
    (("add.Tensor",), "called", "Inductor has no loops of complex numbers", "compute with the real and imaginary"),
])  # fmt: skip
def test_why_on_a_cpu(apart, names, answer, said, cure):
    found = apart(*names)
    assert found.answer == answer
    assert said in found.text
    assert any(one.startswith(cure) for one in found.cures), found.cures


def test_what_the_scheduler_did_not_compare_is_said_so():
    low = irwidget.lower(lambda x, w: (x.sin(), w.cos().sum(0)), X, W, to="inductor_triton")
    assert low.why("op0", "op1").answer in ("not compared", "not fused")
    assert len(kernels(low)) == 2


def test_the_report_is_a_dump_with_lines(low):
    (report,) = [dump for dump in low.dumps if dump.name == "why"]
    assert "called, not generated (1):" in report.text
    assert "peak memory of graph 0" in report.text
    assert any(report.locations)


def test_the_peak_of_memory_is_a_curve_with_what_is_alive(low):
    (memory,) = low.results["compilation"].captured.memory
    one = 64 * 64 * 4
    assert memory.moments[0].alive == one
    assert memory.peak == max(moment.alive for moment in memory.moments) == sum(alive.size for alive in memory.alive)
    assert [(alive.size, alive.place.line) for alive in memory.alive] == [
        (one, programs.line(programs.attended, "x @ w"))
    ]
    assert memory.unfused_peak == 2 * one


def allocated(code):
    """The most bytes that are alive between the lines of output code."""
    sizes, most = {}, 0
    for line in code.split("\n"):
        if made := re.match(r" *(buf\d+) = empty_strided_cpu\(\(([\d, ]+)\), .*float32\)", line):
            sizes[made[1]] = 4 * math.prod(int(one) for one in made[2].split(",") if one.strip())
        elif made := re.match(r" *(buf\d+) = (buf\d+); del \2  # reuse", line):
            sizes[made[1]] = sizes.pop(made[2])
        elif made := re.match(r" *del (buf\d+)", line):
            sizes.pop(made[1], 0)
        most = max(most, sum(sizes.values()))
    return most


@pytest.mark.parametrize(("function", "moments"), [
    (lambda x, w: torch.relu(x @ w.repeat(1, 4)) @ w.repeat(4, 1), [4, 8, 4, 8, 9]),
    (lambda x, w: torch.cat([x @ w, w @ x, x], 1) @ torch.ones(192, 32), [3, 3, 3, 3, 4.5, 5]),
])  # fmt: skip
def test_memory_that_the_code_shares_is_counted_once(function, moments):
    """What is written in place, and parts of a concatenation: buffers of 16 KiB."""
    captured = irwidget.lower(function, X, W, to="inductor_python").results["compilation"].captured
    (memory,) = captured.memory
    assert memory.peak == allocated(captured.outputs[0]) == sum(one.size for one in memory.alive)
    assert [one.alive / (64 * 64 * 4) for one in memory.moments] == moments


def test_a_pattern_that_rewrote_a_node_is_named():
    def there_and_back(x):
        return x.half().float().cos()

    low = irwidget.lower(there_and_back, X, to="inductor_triton")
    (rewrite,) = low.results["compilation"].captured.rewrites
    assert (rewrite.pattern, rewrite.phase) == ("pointless_convert", "joint")
    assert [line.split(" = ")[1] for line in rewrite.before] == [
        "prims.convert_element_type.default(arg0_1, torch.float16)",
        "prims.convert_element_type.default(convert_element_type, torch.float32)",
    ]
    assert (rewrite.after, rewrite.names) == ((), ("convert_element_type", "convert_element_type_1"))
    assert rewrite.place.line == there_and_back.__code__.co_firstlineno + 1
    assert "rewritten" not in str(low.why("cos"))
    assert "pointless_convert" in str(low.why(rewrite.place.line))


def test_what_is_compiled_again_has_its_line_cause_and_cure():
    low = irwidget.lower(programs.broken, torch.randn(16), to="inductor_triton", again=[(torch.randn(24),)])
    captured = low.results["compilation"].captured
    functions = {one.function for one in captured.recompilations}
    assert functions == {"broken", f"torch_dynamo_resume_in_broken_at_{programs.line(programs.broken, 'print')}"}
    assert len(captured.recompilations) == 2
    assert captured.recompilations[0].cause == "dimension 0 of x was 16 and is 24"
    assert "mark_dynamic(x, 0)" in captured.recompilations[0].cure
    assert captured.recompilations[0].place.file == programs.__file__
    said = {guard.cause: guard.place for guard in captured.guards}
    assert "x is a torch.float32 of size [16]" in said
    (broken,) = captured.breaks
    assert "print" in broken.cure


def test_the_cure_for_a_square_whose_rows_grow_is_the_one_that_helps():
    """`dynamic=True` would take rows and columns for one size, and compile once more."""
    square, longer = torch.randn(16, 16), torch.randn(24, 16)
    low = irwidget.lower(programs.relu, square, to="inductor_triton", again=[(longer,)])
    (one,) = low.results["compilation"].captured.recompilations
    assert one.cure.startswith("torch._dynamo.mark_dynamic(x, 0) before the first call; dynamic=True alone")
    torch._dynamo.mark_dynamic(square, 0)
    low = irwidget.lower(programs.relu, square, to="inductor_triton", again=[(longer,)])
    assert low.results["compilation"].captured.recompilations == ()


def chosen_in_python(x):
    y = x.sin()
    if y.sum() > 0:
        return y.cos()
    return y


def sliced(x):
    n = x.abs().sum().long() % 4
    return x[:n] + 1


@pytest.mark.parametrize(("function", "line", "begins", "cure", "more"), [
    (chosen_in_python, "if y.sum()", "Data-dependent branching Explanation: Detected", "torch.cond", ""),
    (sliced, "x[:n]", "Unsupported Tensor.item() call with capture_scalar_outputs=False Explanation: ",
     "capture_scalar_outputs = True", " Of this function no more is compiled."),
    (programs.clamped, "if x.sum()", "Data-dependent branching Explanation: ", "torch.cond",
     " All of clamped is left to eager PyTorch."),
])  # fmt: skip
def test_a_break_has_dynamos_reason_once_and_not_how_it_goes_on(function, line, begins, cure, more):
    """Not `generic_jump` or `step_unsupported`, which is what Dynamo notes of these."""
    try:
        low = irwidget.lower(lambda x: function(x.cos()), X, to="dynamo_fx")
    except irwidget.IRWidgetError as error:
        low = error.lowering
    (one,) = low.results["compilation"].captured.breaks
    assert (one.place.file, one.place.line) == (function.__code__.co_filename, programs.line(function, line))
    assert one.cause.startswith(begins)
    assert one.cause.endswith(more)
    assert cure in one.cure


def test_past_the_limit_nothing_is_compiled_again():
    longer = [(torch.ones(size),) for size in range(3, 7)]
    with torch._dynamo.config.patch(recompile_limit=3):
        low = irwidget.lower(programs.waves, torch.ones(2), to="dynamo_fx", again=longer, dynamic=False)
    captured = low.results["compilation"].captured
    assert [one.cause for one in captured.recompilations] == [
        "dimension 0 of x was 2 and is 3", "dimension 0 of x was 3 and is 4",
    ]  # fmt: skip
    (one,) = captured.breaks
    assert one.cause.startswith("Dynamo recompile limit exceeded")
    assert one.cause.endswith("All of waves that it is not compiled for yet is left to eager PyTorch.")


def test_guards_have_lines_of_files_as_they_are_named():
    """Dynamo shortens the names of files by what they share with PyTorch's."""
    low = irwidget.lower(lambda x: programs.relu(x), X, to="dynamo_fx")
    files = {one.place.file for one in low.results["compilation"].captured.guards if one.place}
    assert files <= {programs.__file__, __file__}
    assert files


def test_two_lines_with_a_graph_break_between(capfd):
    low = irwidget.lower(programs.broken, torch.randn(16), to="inductor_triton")
    answer = low.why("sin", "cos")
    assert answer.answer == "not fused"
    assert answer.reasons == ("they are in different graphs, and each is compiled alone",)
    assert answer.cures[0].endswith(f"(line {programs.line(programs.broken, 'print')})")


def test_a_line_of_a_library_is_said_to_be_in_its_file():
    low = irwidget.lower(torch.nn.Sequential(torch.nn.Linear(4, 4)), torch.randn(2, 4), to="inductor_triton")
    assert " (linear.py:" in str(low.why("op0"))


def test_a_line_that_makes_no_code_is_said_so():
    def viewed(x):
        y = x.T
        return y, x + 1

    low = irwidget.lower(viewed, X, to="inductor_triton")
    with pytest.raises(UsageError, match="is of no operation of the schedule: it makes a view"):
        low.why("x.T")


def test_the_schedule_is_shown_as_text_html_and_a_page(low):
    from irwidget.views import schedule
    from irwidget.views.schema.schedule import Schedule
    from tests.views.conforming import faults

    (drawn,) = (one for one in schedule._drawn([low]))
    assert list(faults(drawn, Schedule)) == []
    first, second = drawn["launches"]
    assert (first["kernel"], first["kind"], first["reads"], first["writes"]) == (
        "extern_kernels.mm",
        "extern",
        32768,
        16384,
    )
    assert (second["loops"], second["reduced"]) == (["64", "64"], ["64"])
    assert drawn["flows"] == [{"maker": 0, "reader": 1, "buffer": "buf0", "bytes": 16384}]
    assert [pair["answer"] for pair in drawn["pairs"]] == ["not fused"]
    assert "extern_kernels.mm(" in first["text"]
    text, html = schedule.text(drawn), schedule.html(drawn)
    for said in ("extern_kernels.mm", "64 x 64, over 64", "max_autotune"):
        assert said in text
        assert said in html
    assert 'data-bundle="schedule"' in low.to_html()


def test_what_stays_inside_of_a_kernel_is_not_written():
    from irwidget.views import schedule

    low = irwidget.lower(lambda x: torch.softmax(x, -1), torch.randn(32, 64), to="inductor_triton")
    (launch,) = next(iter(schedule._drawn([low])))["launches"]
    assert (launch["reads"], launch["writes"]) == (32 * 64 * 4, 32 * 64 * 4)
    ways = [(one["way"], one["bytes"]) for one in launch["buffers"]]
    assert sorted(ways) == [("inside", 128), ("inside", 128), ("reads", 8192), ("writes", 8192)]
    assert launch["text"].count("tl.store(") == 1


def test_names_that_are_none(low):
    with pytest.raises(UsageError, match="No operation of the schedule is of 'softmin'"):
        low.why("softmin")
    with pytest.raises(UsageError, match="of what torch.compile makes"):
        irwidget.lower(programs.apart, X, to="torch_mlir").why("x")
