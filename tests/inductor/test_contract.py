"""PyTorch's private names that opening torch.compile hangs on."""

import importlib
import inspect

import pytest

from irwidget.errors import UnsupportedError
from irwidget.inductor import private


@pytest.mark.parametrize("name", private.SITES)
def test_pytorch_has_every_name(name):
    assert private.get(name) is not None


@pytest.mark.parametrize("module", private.WARM)
def test_what_is_imported_beforehand_is_there(module):
    importlib.import_module(module)


def test_a_name_that_is_gone_is_said(monkeypatch):
    monkeypatch.setitem(private.SITES, "gone", ("torch._inductor.graph", "GraphLowering.nothing_of_the_kind"))
    with pytest.raises(UnsupportedError, match=r"has no torch\._inductor\.graph\.GraphLowering\.nothing_of_the_kind"):
        private.get("gone")


def test_the_backends_of_pytorchs_own_are_known():
    known = set(private.get("list_backends")(exclude_tags=()))
    assert known >= private.BACKENDS
    others = {name for name in known - private.BACKENDS if not name.startswith("irwidget")}
    assert all(name.endswith("TESTING_ONLY") for name in others)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("run_pre_grad_passes", ["model_", "example_inputs_"]),
        ("run_node", ["self", "n"]),
        ("fuse_nodes_once", ["self", "nodes"]),
        ("can_fuse", ["self", "node1", "node2"]),
        ("module_of_lines", ["self", "wrapper_code"]),
        ("define_kernel", ["self", "kernel_name", "kernel_body"]),
        ("generate_kernel_call", ["self", "kernel_name"]),
        ("reorder_for_peak_memory", ["nodes"]),
        ("memory_timeline", ["nodes", "name_to_freeable_input_buf", "graph_outputs"]),
        ("lowering_pattern", ["self", "match", "graph", "node"]),
        ("graph_pattern", ["self", "match", "graph", "node"]),
        ("replacement_pattern", ["self", "match", "graph", "node"]),
        ("recompilation_reasons", ["cache_entries", "frame"]),
        ("log_graph_break", ["self", "code_options", "reason", "exc"]),
        ("shorten_filename", ["fn"]),
        ("set_text", ["obj"]),
        ("writeline", ["self", "line"]),
        ("ir_node_made", ["self"]),
        ("is_of_modules", ["self"]),
    ],
)
def test_they_take_what_we_expect(name, parameters):
    taken = list(inspect.signature(private.get(name)).parameters)
    assert taken[: len(parameters)] == parameters


def test_observers_know_graph_pass_and_subsystem():
    taken = inspect.signature(private.get("observer")).parameters
    assert list(taken)[:3] == ["gm", "passname", "subsystem"]
