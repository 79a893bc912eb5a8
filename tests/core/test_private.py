"""Names that other packages do not document are in one file per package, and do what they are used for.

Those of PyTorch are in `test_contract.py`, Triton's and Helion's in the tests of these.
"""

from __future__ import annotations

import ast
import ctypes
import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import numpy
import pytest
import torch
from IPython.terminal.interactiveshell import TerminalInteractiveShell
from torch._subclasses.fake_tensor import FakeTensorMode

import irwidget
from irwidget import private_ipython, private_numpy, private_python, private_torch, private_torch_mlir
from irwidget.toolchain import forked, mlir
from irwidget.trace import Location

ROOT = Path(irwidget.__file__).parent
HOMES = {
    "private.py", "triton_private.py", "private_torch.py", "private_torch_export.py", "private_torch_library.py",
    "private_torch_mlir.py",
    "private_ipython.py", "private_python.py", "private_numpy.py",
}  # fmt: skip
DOCUMENTED = {
    "_repr_mimebundle_": "IPython: what an object shows itself by",
    "_esm": "anywidget: the code of a widget",
    "_css": "anywidget: the style of a widget",
    "_getframe": "sys",
    "_exit": "os",
    "_fields": "collections.namedtuple, ctypes.Structure",
    "_fields_": "ctypes.Structure",
    "_actions": "argparse; there is no other list of a parser's options",
}
ATEN = re.compile(r"^(torch\.ops\.)?aten\._")
"""Operators of ATen are public, whatever their names."""


def _private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__")) and name not in DOCUMENTED


def _ours(nodes: list[ast.AST]) -> set[str]:
    """The private names that a file of irwidget defines: functions, classes, attributes, fields, variables."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
    return found


def _foreign(nodes: list[ast.AST], here: set[str]) -> Iterator[tuple[str, str]]:
    """What reaches for a private name that this file does not define; of `self`, with the name that a file may."""
    for node in nodes:
        match node:
            case ast.ImportFrom(module=module, names=names) if module and module.split(".")[0] != "irwidget":
                if any(map(_private, [*module.split("."), *(alias.name for alias in names)])):
                    yield ast.unparse(node), ""
            case ast.Import(names=names) if any(_private(part) for one in names for part in one.name.split(".")):
                yield ast.unparse(node), ""
            case ast.Attribute(value=value, attr=name) if _private(name) and name not in here:
                own = isinstance(value, ast.Name) and value.id in ("self", "cls")
                if not ATEN.match(ast.unparse(node)):
                    yield ast.unparse(node), name if own else ""
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, ast.Constant(value=str(name)), *_]
            ):
                if _private(name) and name not in here:
                    yield ast.unparse(node), ""


def test_private_names_of_other_packages_are_in_the_files_for_them():
    """File by file: the trees of all are half a gigabyte."""
    ours: set[str] = set()
    found: list[tuple[Path, str, str]] = []
    for path in (path for path in ROOT.rglob("*.py") if path.name not in HOMES):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        here = _ours(nodes)
        found += [(path, *one) for one in _foreign(nodes, here)]
        ours |= here
    assert [f"{path.relative_to(ROOT)}: {text}" for path, text, name in found if name not in ours] == []


def test_a_private_name_would_be_found():
    code = """
from torch._ops import OpOverload
import torch._dynamo.config
tensor._version
getattr(model, "_orig_mod", None)
torch.ops.aten._unsafe_view
self._own
"""
    nodes = list(ast.walk(ast.parse(code)))
    assert [name for _, name in _foreign(nodes, _ours(nodes))] == ["", "", "", "", "_own"]


# torch-mlir


def _imported(model, *inputs):
    class Importer(private_torch_mlir.node_importer()):
        seen = []  # noqa: RUF012

        def literal(self, value, info=None):
            self.seen.append(f"literal {value}")
            return super().literal(value, info)

        def cond(self, loc, node):
            predicate, *branches, operands = node.args
            argument = self.argument(loc, predicate)
            names = [self.function_name(getattr(node.graph.owning_module, one.target)) for one in branches]
            self.seen.append(f"cond {argument.type} {len(set(names))} {self.tracker is tracker}")
            assert str(self.types.create_vtensor_type(torch.float32, (2,))) == "!torch.vtensor<[2],f32>"
            assert self.mlir_context is context
            self.bind(node, [self.argument(loc, operands[0])], several=True)

    fx_importer, context = private_torch_mlir.importer(), mlir.new_context()
    tracker = fx_importer.RefTracker()
    importer = fx_importer.FxImporter(context=context, py_attr_tracker=tracker, graph_node_importer_cls=Importer)
    program = torch.export.export(model, inputs).run_decompositions(private_torch_mlir.decompositions())
    importer.import_frozen_program(program, func_name="main")
    assert "func.func @main" in str(importer.module)
    return Importer.seen


def test_the_importer_asks_its_hooks():
    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, (x + torch.tensor(1.5),))

    seen = _imported(Model(), torch.ones(2))
    assert any(one.startswith("literal") for one in seen)
    assert [one for one in seen if one.startswith("cond")] == ["cond !torch.vtensor<[],i1> 2 True"]


def test_the_importer_takes_from_us_where_a_node_comes_from():
    known = {"one": [Location("a.py", 3, 7)], "two": [Location("a.py", 1), Location("c.py", 4), Location("b.py", 2, 5)]}
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    value = x.meta["val"] = FakeTensorMode().from_tensor(torch.empty(2))
    for name in ("one", "two", "three"):
        x = graph.create_node("call_function", torch.ops.aten.relu.default, (x,), name=name)
        x.meta.update(val=value, stack_trace=f'  File "{name}.py", line 9, in forward\n')
    graph.output((x,))
    importer = private_torch_mlir.importer().FxImporter(context=mlir.new_context())
    private_torch_mlir.place_nodes(importer, lambda node: known.get(node.name, []))
    importer.import_stateless_graph(graph, func_name="main")
    (function,) = importer.module.body.operations
    found = [str(one.location) for one in function.regions[0].blocks[0].operations if one.name == "torch.aten.relu"]
    two = 'loc(callsite("b.py":2:5 at callsite("c.py":4:0 at "a.py":1:0)))'
    assert found == ['loc("a.py":3:7)', two, 'loc("three.py":9:0)']


def test_torch_mlirs_tables_and_libraries_are_there():
    fx_importer = private_torch_mlir.importer()
    assert fx_importer.TORCH_DTYPE_TO_INT[torch.float32] == 6
    assert torch.bfloat16 in fx_importer.TORCH_DTYPE_TO_NPY_TYPE
    assert fx_importer.RefTracker().track(torch.ones(2)).is_empty
    with mlir.new_context(), mlir.ir.Location.unknown():
        assert str(fx_importer.create_mlir_tensor_type(torch.ones(2, 3))) == "tensor<2x3xf32>"
    assert list(private_torch_mlir.libraries().glob("libTorchMLIRAggregateCAPI*"))
    assert {"arith.addi", "arith.cmpf"} < private_torch_mlir.operations("arith")
    assert private_torch_mlir.operations("../arith") == private_torch_mlir.operations("nothing") == frozenset()
    mlir.passmanager.PassManager.parse("builtin.module(stablehlo-legalize-to-linalg)", context=mlir.new_context())


def test_llvm_prints_the_stack_of_a_crash_and_starts_no_program():
    def dies():
        private_torch_mlir.tell_crashes()
        os.environ["LLVM_SYMBOLIZER_PATH"] = "/bin/false"
        ctypes.string_at(0)

    with pytest.raises(forked.Died, match=r"SIGSEGV in \S+, \S+$") as died:
        forked.call(dies)
    assert "llvm::sys::PrintStackTrace" in died.value.printed


# IPython, ipywidgets and anywidget


@pytest.fixture
def shell():
    yield TerminalInteractiveShell.instance()
    TerminalInteractiveShell.clear_instance()


def test_ipythons_shell_gives_what_is_read_of_it(shell):
    assert private_ipython.running() is shell
    assert private_ipython.cell_id() is None
    assert private_ipython.cell_of("model.py") == ""
    name = shell.compile.cache("1", 7)
    assert re.fullmatch(r"(In|Cell In) ?\[\d+\]", f"{private_ipython.cell_of(name)}".replace("Cell ", ""))
    assert private_ipython.raw_cell("model.py") == private_ipython.raw_cell(name) == ""
    shell.run_cell("%who\n", store_history=True)
    ran = shell.compile.cache("1", 1)
    assert private_ipython.raw_cell(ran) == "%who"
    assert not private_ipython.handles_exceptions(shell)
    shell.set_custom_exc((ValueError,), lambda *_: None)
    assert private_ipython.handles_exceptions(shell)
    shell.set_custom_exc((), None)


def test_a_cells_id_is_in_the_message_that_runs_it():
    class Shell:
        def get_parent(self):
            return {"metadata": {"cellId": "abc"}, "header": {"msg_id": "1"}}

    assert (private_ipython.cell_id(Shell()), private_ipython.run_id(Shell())) == ("abc", "1")
    assert (private_ipython.cell_id(object()), private_ipython.run_id(object())) == (None, "")


@pytest.mark.parametrize(
    ("source", "quiet"),
    [("f(x);", True), ("f(x); # said\n\n", True), ("f(x)", False), ("f(';')", False), ("f(x);\n(", False), ("", False)],
)
def test_a_semicolon_at_the_end_of_code_is_seen(source, quiet):
    assert private_ipython.ends_in_semicolon(TerminalInteractiveShell.instance(), source) is quiet
    assert not private_ipython.ends_in_semicolon(object(), source)


def test_completion_and_configuration_take_ours_once(shell):
    before = list(shell.configurables), list(shell.Completer.custom_matchers)

    class Ours: ...

    def matcher(context): ...

    for one in (Ours(), last := Ours()):
        private_ipython.configure(shell, one)
        private_ipython.add_matcher(shell, matcher)
    assert shell.configurables == [*before[0], last]
    assert shell.Completer.custom_matchers == [*before[1], matcher]
    shell.configurables.remove(last)
    private_ipython.remove_matcher(shell, matcher)
    private_ipython.remove_matcher(shell, matcher)
    assert (list(shell.configurables), list(shell.Completer.custom_matchers)) == before


def test_widgets_show_themselves_as_a_bundle_and_lose_their_comm():
    class One(anywidget.AnyWidget):
        _esm = "export default {}"
        other = anywidget.WidgetTrait().tag(sync=True)

    one = One()
    shown = one._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    assert "application/vnd.jupyter.widget-view+json" in data
    assert "text/plain" in ipywidgets.VBox([one])._repr_mimebundle_()
    assert {"_esm", "other"} <= set(one.trait_names(sync=True))
    assert one.comm is not None
    one.close()
    assert one.comm is None


def test_an_operator_says_what_it_takes() -> None:
    named = private_torch.parameters(torch.ops.aten.topk.default)
    assert named == {"self": None, "k": None, "dim": -1, "largest": True, "sorted": True}


def test_the_lock_of_imports_is_given_back_by_who_has_it():
    import _imp

    _imp.acquire_lock()
    _imp.acquire_lock()
    private_python.give_back_import_lock()
    assert not _imp.lock_held()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        _imp.acquire_lock()
        held.set()
        done.wait()
        _imp.release_lock()

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    private_python.give_back_import_lock()
    still = _imp.lock_held()
    done.set()
    other.join()
    assert still


def test_numpy_compares_arrays_by_the_function_that_is_wrapped():
    from numpy.testing import assert_allclose, assert_array_equal

    seen: list[Any] = []

    def noted(compare: Callable[..., Any], *_: str) -> Callable[..., Any]:
        def noting(*sides: Any) -> Any:
            seen.append(sides)
            return compare(*sides)

        return noting

    one = numpy.ones(2)
    with private_numpy.comparisons_wrapped(noted, noted):
        for compare in (assert_allclose, assert_array_equal, numpy.allclose, numpy.array_equal):
            compare(one, one)
        with pytest.raises(AssertionError, match="Mismatched elements: 2 / 2"):
            assert_allclose(one, one + 1)
    assert_allclose(one, one)
    assert [all(side is one for side in sides) for sides in seen] == [True] * 4 + [False]
    tensor = torch.ones(4)
    assert private_numpy.tensors(tensor.numpy()[1:]).data_ptr() == tensor.data_ptr()
