"""What the three-column view gets: nodes, links in every stage, traits, fallbacks, one page."""

from __future__ import annotations

import gzip
import json

import pytest
import torch

from irwidget import helion as irhelion
from irwidget import views
from irwidget.errors import UsageError
from irwidget.helion import linking
from irwidget.lowering import lower
from irwidget.trace import Location, Node
from irwidget.views import helion as view_module
from irwidget.views.helion import KernelLinks, KernelView
from irwidget.views.schema import lowerings as schema
from tests.helion import kernels_matmul as mm
from tests.helion import kernels_pointwise as pw
from tests.views.conforming import faults

X, Y = torch.randn(40, 30), torch.randn(30, 20)


@pytest.fixture(scope="module")
def low():
    return irhelion.lower_kernel(mm.matmul, (X, Y))


def unpacked(trace):
    return json.loads(gzip.decompress(view_module.pack(trace)))


def test_the_browser_gets_what_the_schema_says(low):
    assert list(faults(unpacked(low.trace), schema.LinkedKernel)) == []


def test_the_last_dump_is_the_readable_module_with_its_links(low):
    assert low.trace.dumps[-1].text == low.mlir
    assert linking.links(low.trace.nodes, linking.owners_of(low.trace.dumps[-1].content)) == low.links


def test_nodes_stand_in_order_under_their_loop(low):
    rows = [(node.depth, node.text) for node in low.trace.nodes if not node.symbolic]
    assert rows[:3] == [
        (0, "kernel matmul"),
        (1, "tile loop root_graph_1"),
        (2, "acc = full([block_size_0, block_size_1], 0.0, float32)  # float32[16, 16]"),
    ]
    assert (3, "acc = aten.addmm.default(_new_var, load, load_1)  # float32[16, 16]") in rows
    assert {node.target for node in low.trace.nodes if node.symbolic} == {"_get_symnode", "aten.sym_size.int"}


def test_groups_are_followed_through_the_passes(low):
    data = unpacked(low.trace)
    names = [node["name"] for node in data["nodes"]]
    product = names.index("for_loop_0.acc")
    ops = {
        "import": "torch.aten.addmm",
        "convert-torch-to-linalg": "linalg.matmul",
        "name-values": "linalg.matmul",
    }
    for stage in data["stages"]:
        pairs = zip(stage["lines"], stage["owners"], strict=True)
        lines = [data["table"][line] for line, owner in pairs if owner == product]
        assert lines, stage["name"]
        if stage["name"] in ops:
            assert any(ops[stage["name"]] in line for line in lines)


def test_later_targets_keep_the_links():
    trace = irhelion.lower(mm.matmul, (X, Y), to="llvm_mlir")
    assert trace.dumps[-1].name == "cse"
    found = linking.links(trace.nodes, linking.owners_of(trace.dumps[-1].content))
    text = trace.dumps[-1].text.splitlines()
    product = next(link for link in found if link.node == "for_loop_0.acc")
    assert any("llvm.fadd" in text[n - 1] for n in product.mlir_lines)


def test_lines_of_called_functions_stand_below_the_kernel():
    source = linking.source_lines(
        (Node("k", "kernel", "", Location("k.py", 1)), Node("k.a", "add", "", Location("h.py", 2))),
        {"k.py": "def k():\n    return f()\n\nother = 1\n", "h.py": "def f():\n    return 1\n"},
    )
    assert [(line.file, line.number) for line in source] == [("k.py", 1), ("k.py", 2), ("h.py", 2)]


def test_selection_is_traits(low):
    view = KernelLinks(low.trace)
    assert view.stage == len(low.trace.dumps) - 1
    assert view.links == low.links
    view.pinned = ["for_loop_0.acc"]
    view.stage = 2
    assert any(
        "torch.aten.addmm" in low.trace.dumps[2].text.splitlines()[n - 1]
        for k in view.links
        if k.node in view.pinned
        for n in k.mlir_lines
    )
    with pytest.raises(UsageError, match="Did you mean for_loop_0.acc"):
        view.pinned = ["for_loop_0.ac"]
    with pytest.raises(UsageError, match="Stage 0 has no linked IR"):
        view.stage = 0
    view.stage = -1
    assert view.stage == len(low.trace.dumps) - 1


def test_shown_with_the_passes_below_and_fallbacks():
    lowering = lower(pw.add, X, X, to="helion_mlir")
    shown = views.show([lowering.trace], key="a helion test")
    assert isinstance(shown, KernelView)
    assert shown.children == (*shown.links, shown.passes)
    data = shown._repr_mimebundle_()
    assert "scf.forall" in data["text/plain"].split("-> helion_mlir")[0]
    assert "<summary><code>add</code>: each line with its MLIR" in data["text/html"]
    assert "name-values" in data["text/html"]
    again = views.show([lowering.trace], key="a helion test")
    assert shown.comm is None
    again.close()
    page = views.page([lowering.trace])
    assert page.count('data-bundle="helion"') == page.count('id="irw-bundle-helion"') == 1


def test_the_passes_open_with_the_first_that_changes_the_mlir(low):
    shown = views.show([low.trace])
    names = [dump.name for dump in low.trace.dumps]
    assert (names[shown.passes.left], names[shown.passes.right]) == (
        "torch-reduce-op-variants",
        "torch-decompose-complex-ops",
    )
    assert "+++ 4 torch-decompose-complex-ops" in views.text([low.trace])


def test_a_kernel_lowering_displays_itself(low):
    data = low._repr_mimebundle_()
    assert "torch.addmm" in data["text/plain"]
    assert 'data-bundle="helion"' in low.to_html()
