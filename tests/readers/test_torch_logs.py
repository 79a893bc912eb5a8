"""What torch.compile logs under TORCH_LOGS."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

import irwidget
from irwidget.trace import Location, predecessors

LOG = Path(__file__).parent / "data" / "torch_logs.log.gz"
_PREFIX = re.compile(r"^.*?\] \[0/\d\] \[__\w+\] ?")


def test_each_compilation_is_a_lowering_and_the_halves_of_a_training_step_are_apart():
    found = irwidget.open(LOG)
    assert found.format == "torch-logs"
    named = [
        [(dump.name, str(dump.scope), before) for dump, before in zip(low.dumps, predecessors(low.dumps), strict=True)]
        for low in found
    ]
    assert [low.name for low in found] == ["[0/0]", "[0/1]"]
    assert named == [
        [
            ("dynamo_output_graph", "module", -1), ("aot_joint_graph", "module", 0),
            ("aot_forward_graph", "forward", 1), ("aot_backward_graph", "backward", 1),
            ("after_post_grad_graph", "forward", 2), ("ir_post_fusion", "forward", 4),
            ("inductor_output_code", "forward", 5), ("after_post_grad_graph", "backward", 3),
            ("ir_post_fusion", "backward", 7), ("inductor_output_code", "backward", 8),
        ],
        [
            ("dynamo_output_graph", "module", -1), ("aot_forward_graph", "forward", 0),
            ("after_post_grad_graph", "forward", 1), ("ir_post_fusion", "forward", 2),
            ("inductor_output_code", "forward", 3),
        ],
    ]  # fmt: skip


def test_nothing_of_the_log_is_lost():
    """Every line is of a text, but for heads and what is among the diagnostics."""
    lines = [_PREFIX.sub("", line).rstrip() for line in gzip.decompress(LOG.read_bytes()).decode().split("\n")]
    logged = Counter(re.sub(r"^ \S+ (?=class )", "", line) for line in lines if line)
    dumps = [dump for low in irwidget.open(LOG) for dump in low.dumps]
    texts = Counter(line.rstrip() for dump in dumps for line in dump.text.split("\n") if line.strip())
    heads = r"TRACED GRAPH| =====.*=====|AFTER FUSION|Output code:"
    said = r"aot_config id: .*|Output code written to: .*|Recompiling .*| {4}triggered by .*| {4}- 0/0: .*"
    assert not texts - logged
    assert [line for line in logged - texts if not re.fullmatch(f"{heads}|{said}", line)] == []


def test_each_line_of_a_graph_leads_to_the_users():
    dump = irwidget.open(LOG)[0].dumps[0]
    places = {
        line.split(":")[0].strip(): place for line, place in zip(dump.text.split("\n"), dump.locations, strict=False)
    }
    line_5, line_6 = Location("/home/me/f.py", 5), Location("/home/me/f.py", 6)
    assert {name: places[name] for name in ("l_x_ = L_x_", "matmul", "y", "softmax", "add", "return (add,)")} == {
        "l_x_ = L_x_": None, "matmul": line_5, "y": line_5, "softmax": line_6, "add": line_6, "return (add,)": None,
    }  # fmt: skip


LINES = """\
V1125 23:33:49.111000 7 torch/_inductor/graph.py:2722] [0/0_1] [__output_code] Output code:
V1125 23:33:49.111000 7 torch/_inductor/graph.py:2722] [0/0_1] [__output_code] x = 1
V1125 23:33:49.222000 7 torch/a.py:5] [rank1]: [__graph_breaks] Graph break in user code at a.py:5
V1125 23:33:49.222000 7 torch/a.py:5] [rank1]: [__graph_breaks] because
V1125 23:33:49.333000 7 torch/_inductor/graph.py:2722] [rank0]:[0/0_1] [__output_code] Output code:
V1125 23:33:49.333000 7 torch/_inductor/graph.py:2722] [rank0]:[0/0_1] [__output_code] y = 2
a word of the program
"""


def test_messages_ranks_attempts_and_what_is_between(tmp_path):
    path = tmp_path / "a.log"
    path.write_bytes(LINES.encode().replace(b"x = 1", b"x = '\xff'"))  # which is no UTF-8
    (low,) = irwidget.open(path)
    assert (low.name, [dump.text for dump in low.dumps]) == ("[0/0] attempt 1", ["x = '\udcff'\n", "y = 2\n"])
    first, last = (one.message for one in low.diagnostics)
    assert first.endswith("because")
    assert last == "a word of the program"


def test_graphs_that_are_logged_at_one_time_are_apart():
    line = "V1125 23:33:49.111000 7 torch/_inductor/compile_fx.py:1] [0/0] [__post_grad_graphs] "
    graph = f"{line}TRACED GRAPH\n{line} ===== AFTER POST GRAD =====\n{line} a.py class G:\n"
    (low,) = irwidget.open(graph + graph.replace("class G", "class H"))
    assert [dump.text for dump in low.dumps] == ["class G:\n", "class H:\n"]


def test_code_of_which_no_graph_says_it_is_of_neither_half():
    """Both graphs of a training step are printed before the forward one is compiled."""
    lines = gzip.decompress(LOG.read_bytes()).decode().splitlines(keepends=True)
    low = irwidget.open("".join(line for line in lines if "[__post_grad" not in line))[0]
    scopes = [(dump.name, str(dump.scope)) for dump in low.dumps]
    assert scopes[2:] == [
        ("aot_forward_graph", "forward"), ("aot_backward_graph", "backward"), ("ir_post_fusion", "module"),
        ("inductor_output_code", "module"), ("ir_post_fusion", "module"), ("inductor_output_code", "module"),
    ]  # fmt: skip
