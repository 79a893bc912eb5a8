"""Inside the pipeliner and warp specialisation: their steps as dumps, and the schedule as a table."""

import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from irwidget.errors import UsageError
from irwidget.frontends import triton as frontend
from irwidget.result import Lowering
from irwidget.toolchain import triton_inside
from irwidget.triton_schedule import read


@triton.jit
def product(a_desc, b_desc, c_desc, steps, SPECIAL: tl.constexpr):
    total = tl.zeros((128, 128), dtype=tl.float32)
    for step in tl.range(steps, warp_specialize=SPECIAL, num_stages=3):
        total = tl.dot(a_desc.load([0, step * 64]), b_desc.load([step * 64, 0]), total)
    c_desc.store([0, 0], total.to(tl.float16))


@pytest.fixture(scope="module")
def lowered():
    memory = torch.empty(512, 512, dtype=torch.float16)
    descriptors = [TensorDescriptor.from_tensor(memory, shape) for shape in ([128, 64], [64, 128], [128, 128])]

    def of(arch, special):
        launch = frontend.launch_of(product, *descriptors, 8, special, arch=arch)
        return Lowering(frontend.lower_launch(launch, "triton_gpu_ir", arch))

    return {"sm_90": of("sm_90", False), "sm_100": of("sm_100", True)}


def opened(low, name):
    index = next(i for i, dump in enumerate(low.dumps) if dump.name == name)
    return low.dumps[index], low.expand(index)


def test_the_pipeliner_shows_its_loops_before_and_after_they_are_expanded(lowered):
    own, inside = opened(lowered["sm_90"], "tritongpu-pipeline")
    assert [dump.name for dump in inside] == [
        "tritongpu-pipeline: LowerLoops", "tritongpu-pipeline: ExpandLoops", "tritongpu-pipeline"
    ]  # fmt: skip
    lower, expanded, last = inside
    assert last.text == own.text
    assert "loop.stage" in lower.text, "buffers are there, and the loop has not been pipelined"
    assert "ttng.async_tma_copy_global_to_local" in lower.text
    assert lower.text.count("async_tma_copy_global_to_local") < expanded.text.count("async_tma_copy_global_to_local")
    assert {dump.step for dump in inside} == {own.step}


def test_warp_specialisation_shows_the_passes_that_it_runs(lowered):
    low = lowered["sm_100"]
    own, inside = opened(low, "tritongpu-automatic-warp-specialization")
    names = [dump.name.partition(": ")[2] for dump in inside]
    assert names[0] == "tritongpu-partition-scheduling"
    assert names[-2:] == ["tritongpu-schedule-loops", ""]
    assert inside[-1].text == inside[-2].text == own.text
    assert not any("// -----//" in dump.text or " loc(" in dump.text for dump in inside)
    assert "%total" in inside[0].text
    before, after = inside[0].text, own.text
    assert "ttg.partition = array" in before
    assert "ttg.warp_specialize(" in after
    assert "ttg.warp_specialize(" not in before


def test_the_schedule_is_a_table_by_partition_stage_and_cluster(lowered):
    low = lowered["sm_100"]
    _, inside = opened(low, "tritongpu-automatic-warp-specialization")
    partitioned = low.schedule(inside[0])
    wanted = [line for line in inside[0].text.splitlines() if "ttg.partition = " in line and line.strip()[0] != "}"]
    assert len(partitioned.operations) == len(wanted)
    at = {one.operation: one for one in partitioned.operations}
    assert at["tt.descriptor_load"].partitions != at["ttng.tc_gen5_mma"].partitions
    staged = low.schedule()
    assert all(one.stage is not None or one.partitions for one in staged.operations)
    rows = partitioned.table()
    assert [(row["loop"], row["partition"]) for row in rows] == sorted((row["loop"], row["partition"]) for row in rows)
    assert sum(len(row["operations"]) for row in rows) == sum(len(one.partitions) for one in partitioned.operations)
    assert "partition 1" in repr(partitioned)


def test_loops_in_loops_keep_their_operations():
    text = """tt.func @f() {
  %0 = scf.for %i = %a to %b step %c -> (i32) {
    %x = arith.addi %i, %i {loop.cluster = 1 : i32, loop.stage = 0 : i32} : i32
    scf.for %j = %a to %b step %c {
      %y:2 = "op.y"(%j) {ttg.partition = array<i32: 0, 2>} : (i32) -> (i32, i32)
    }
    %z = arith.addi %i, %i {loop.cluster = 0 : i32, loop.stage = 3 : i32} : i32
    scf.yield %z : i32
  } {tt.scheduled_max_stage = 3 : i32}
  tt.return {ttg.partition = array<i32: 0>}
}
"""
    assert [(one.loop, one.operation, one.name, one.stage, one.cluster, one.partitions) for one in read(text)] == [
        (2, "arith.addi", "%x", 0, 1, ()),
        (4, "op.y", "%y", None, None, (0, 2)),
        (2, "arith.addi", "%z", 3, 0, ()),
        (0, "tt.return", "", None, None, (0,)),
    ]


def test_what_was_printed_before_a_pass_is_what_the_one_before_left():
    printed = """// -----// IR Dump Before Whole: whole{a=1} ('builtin.module' operation) //----- //
input
// -----// IR Dump Before First: first ('builtin.module' operation) //----- //
input
// -----// IR Dump Before (anonymous namespace)::Check: unknown<(anonymous namespace)::Check> ('tt.func' operation) //----- //
one
// -----// WarpSpec internal IR Dump After: doPartition
two


"""  # noqa: E501
    assert triton_inside.steps(printed) == [("first", "one\n"), ("doPartition", "two\n"), ("Check", None)]
    assert triton_inside.steps("nothing\n") == []


def test_other_passes_have_nothing_inside_and_loops_without_stages_no_schedule(lowered):
    low = lowered["sm_90"]
    cse = next(i for i, dump in enumerate(low.dumps) if dump.name == "cse")
    with pytest.raises(UsageError, match="dumps of opt, llc and Triton's pipeliner have passes inside"):
        low.expand(cse)
    with pytest.raises(UsageError, match="has no scheduled operations"):
        low.schedule(cse)
    with pytest.raises(UsageError, match="no dump of .* has scheduled operations"):
        Lowering(frontend.lower("tt.func public @f() {\n  tt.return\n}", to="triton_gpu_ir")).schedule()
